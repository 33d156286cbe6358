package analyzing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"plannerd/internal/analyses"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/input"
	"plannerd/internal/parameters"
	"plannerd/planner"
)

// Analyze is the command that analyses statistics.
type Analyze struct {
	Ring    analyzeRingCmd    `cmd:"" help:"A token ring: how it is loaded, what redistribution does, a new ring."`
	PKG     analyzePKGCmd     `cmd:"" name:"pkg" help:"Partial key grouping: how schemes spread a stream over instances."`
	Ranges  analyzeRangesCmd  `cmd:"" help:"Key ranges: how instances divide the ordered keys, and what joins and leaves move."`
	Schemes analyzeSchemesCmd `cmd:"" help:"All schemes side by side, and which one to use."`
}

// analysisInput says what an analysis reads.
type analysisInput struct {
	File   string `arg:"" optional:"" help:"Statistics, or with --stream keys: a file, or - for standard input."`
	Stream bool   `help:"The input is a stream in its order, one key a line."`
	Format string `enum:"auto,csv,ndjson,json,arrow,parquet" default:"auto" help:"Format of statistics: csv, ndjson, json (one interval), arrow, parquet, or auto, which looks at them. Compression is always recognised."`
	reading.TextFlags
	Interval *int64 `placeholder:"N" help:"Take interval N of several (default: the only one)."`

	in   *reading.Input  // that was read; nil: there is none
	data *analyses.Input // what it has
}

// input is the input as other commands read it.
func (f *analysisInput) input() *reading.InputFlags {
	return &reading.InputFlags{File: f.File, Format: f.Format, TextFlags: f.TextFlags, Interval: f.Interval,
		StreamToo: true}
}

// read reads all of the input. Without a file there is none, if that may be.
func (f *analysisInput) read(env *cli.Environment, needed bool) error {
	switch {
	case f.File == "" && needed:
		return cli.Usagef("an input is needed: a file, or - for standard input")
	case f.File == "" && (f.Stream || f.Interval != nil):
		return cli.Usagef("--stream and --interval need an input: a file, or - for standard input")
	case f.File == "":
		return nil
	case f.Stream && f.Interval != nil:
		return cli.Usagef("--interval: a stream has no intervals")
	case f.Stream && f.Format != "auto":
		return cli.Usagef("--format: a stream is one key a line")
	}
	read := f.readStatistics
	if f.Stream {
		read = f.readStream
	}
	err := read(env, f.input())
	if f.in != nil {
		f.in.Close()
	}
	if refused := (*input.Error)(nil); f.Stream && errors.As(err, &refused) {
		for i := range refused.Problems {
			refused.Problems[i].Line = refused.Problems[i].Row // one key a line
		}
	}
	return f.wrap(err)
}

// readStream reads one key a line.
func (f *analysisInput) readStream(env *cli.Environment, flags *reading.InputFlags) error {
	in, raw, err := flags.OpenRaw(env)
	if err != nil {
		return err
	}
	f.in = in
	text, _, err := input.Open(raw)
	if err != nil {
		return err
	}
	in.Closers = append(in.Closers, text.Close)
	if f.data, err = analyses.ReadStream(text, flags.Options()); err != nil {
		return err
	}
	if f.data.Len() == 0 {
		return errors.New("the input is empty; expected one key a line")
	}
	return nil
}

// readStatistics reads the rows of one interval.
func (f *analysisInput) readStatistics(env *cli.Environment, flags *reading.InputFlags) error {
	in, err := flags.Open(env)
	if err != nil {
		return err
	}
	f.in = in
	in.KeysOnly = true
	_, document, err := in.Next()
	if err != nil {
		return err
	}
	if flags.Interval == nil {
		switch _, _, err := in.Next(); {
		case errors.Is(err, io.EOF):
		case err != nil:
			return err
		default:
			return errors.New("it has several intervals: name one with --interval")
		}
	}
	f.data, err = statisticsInput(document)
	return err
}

// statisticsInput takes a document for frequencies.
func statisticsInput(d *input.Document) (*analyses.Input, error) {
	if d.Stats == nil || d.Stats.Len() == 0 {
		return nil, errors.New("it has no rows: nothing to analyse")
	}
	data, err := analyses.FromStatistics(d.Stats)
	if err == nil {
		data.Base64 = d.Base64Keys
	}
	return data, err
}

// wrap words an error in terms of the input and the flags.
func (f *analysisInput) wrap(err error) error {
	if wrong := parameters.InputError(err); wrong != nil && wrong.Row < 0 {
		return fieldAsFlag(wrong)
	}
	if f.in == nil {
		return err
	}
	return f.in.Wrap(err)
}

// instanceFlags are the flags of fields in which the papers have words of their own for
// instances.
var instanceFlags = map[string]string{
	"workers": "instances", "nodes": "instances", "followers": "instances",
	"event-followers": "event-instances", "node-token-limit": "instance-token-limit",
}

// fieldAsFlag words an error about a field of a request as one about its flag.
func fieldAsFlag(err *planner.InputError) error {
	path := strings.Split(err.Field, "/")
	if path[0] == "keys" {
		return cli.Usagef("the input: %s", err.Detail)
	}
	flag := strings.ReplaceAll(path[0], "_", "-")
	if name, named := instanceFlags[flag]; named {
		flag = name
	}
	for i, part := range path[1:] {
		if n, e := strconv.Atoi(part); e == nil {
			path[i+1] = "number " + strconv.Itoa(n+1)
		}
	}
	path[0] = "--" + flag
	return cli.Usagef("%s: %s", strings.Join(path, ", "), err.Detail)
}

// watched runs an analysis and shows how far it is.
func watched[R, A any](
	env *cli.Environment, f *analysisInput,
	run func(context.Context, *analyses.Input, R, analyses.Progress) (A, error), request R,
) (A, error) {
	const steps = 1000
	bar := cli.StartProgress(env.Stderr, steps)
	defer bar.Stop()
	result, err := run(env.Ctx, f.data, request, func(phase string, done, total int64) {
		bar.Describe(phase)
		bar.At.Store(int64(float64(done) / float64(max(1, total)) * steps))
	})
	return result, f.wrap(err)
}

// listed writes a list under a title, after an empty line.
func listed[T any](w *cli.Page, title string, items []T, columns string, more ...func(item int) cli.More) {
	fmt.Fprintf(w, "\n%s\n\n", title)
	cli.WriteList(w, items, columns, more...)
}

func count(n int) string { return strconv.Itoa(n) }

// shown is a key of a result on one line.
func shown(key string) string { return cli.KeyText([]byte(key)) }
