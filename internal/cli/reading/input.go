package reading

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"plannerd/internal/cli"
	"plannerd/internal/cli/reading/columnar"
	"plannerd/internal/drive"
	"plannerd/internal/input"
)

// InputFlags say what plan, compare, compact and resolve read.
type InputFlags struct {
	File   string `arg:"" help:"Statistics: a file, or - for standard input."`
	Format string `enum:"auto,csv,ndjson,json,arrow,parquet" default:"auto" help:"Format of the input: csv, ndjson, json (a document, or one a line and interval), arrow (an IPC stream), parquet, or auto, which looks at it. Compression is always recognised."`
	TextFlags
	Interval  *int64       `placeholder:"N" help:"Take only interval N of a stream, on the given routing table (default: all)."`
	StreamToo bool         `kong:"-"` // the command has a flag --stream for one key a line
	Names     *input.Names `kong:"-"` // of instances
}

// TextFlags say how the text of statistics is to be read.
type TextFlags struct {
	Header []string `type:"header" placeholder:"none|NAME,…" default:"auto" help:"Header of CSV: auto takes the first line for it; none says that there is none, and that the columns are key, cost, state and instance, as many as there are; key,cost,interval or the like names them (default auto)."`
	EncodingFlags
	MappingFlags
}

// MappingFlags say how files that other systems write differ from plannerd's own.
type MappingFlags struct {
	Columns      map[string][]string `type:"columns" placeholder:"FIELD=COLUMN,…" group:"Files of other systems" help:"Where fields of rows are: columns of CSV, Arrow and Parquet, or members of JSON by their path, such as key=user_id,cost=requests or key=metric.user,cost=value.1. A key may be in several: key=topic+partition. Other columns are ignored (default: under their own names)."`
	KeySeparator string              `default:"/" placeholder:"TEXT" group:"Files of other systems" help:"What joins a key of several columns (default /)."`
	Delimiter    string              `type:"delimiter" default:"auto" placeholder:"CHARACTER" group:"Files of other systems" help:"The separator of cells in CSV: a comma, a semicolon, tab, | or space, which stands for any number of spaces (default auto: the header shows it)."`
	Decimal      string              `type:"decimal" default:"point" placeholder:"point|comma" group:"Files of other systems" help:"How numbers are written: point (or .) for 1.5, comma (or ,) for 1,5 (default point)."`
	Skip         int                 `placeholder:"N" group:"Files of other systems" help:"Lines to skip before the header of CSV (default 0)."`
	Records      string              `placeholder:"PATH" group:"Files of other systems" help:"JSON: the path of the list of rows, such as data.result (default: the text is a list of rows, or has a row a line)."`
	Duplicates   string              `enum:"refuse,sum" default:"refuse" group:"Files of other systems" help:"What to do with rows of one key in one interval: refuse, or sum, which adds them up."`
	BadRows      string              `enum:"refuse,skip" default:"refuse" group:"Files of other systems" help:"What to do with rows that lack a key or a number: refuse the file, or skip them, and say which."`
}

// mapping is what the decoders are told of it.
func (f *MappingFlags) mapping() input.Mapping {
	m := input.Mapping{
		Columns: f.Columns, KeySeparator: f.KeySeparator, DecimalComma: f.Decimal == "comma", Skip: max(0, f.Skip),
		Records: f.Records, SumTwins: f.Duplicates == "sum",
	}
	if f.Delimiter != "" && f.Delimiter != auto {
		m.Delimiter = f.Delimiter[0]
	}
	return m
}

const auto = "auto"

// ParseColumns reads pairs such as key=user_id.
func ParseColumns(text string) (map[string][]string, error) {
	return input.ParseMapping(strings.Split(text, ","))
}

// ParseDelimiter reads a character, or its name.
func ParseDelimiter(text string) (string, error) {
	if c, named := input.Delimiters[text]; named {
		text = string(c)
	} else if text == `\t` {
		text = "\t"
	}
	if known := ",;\t| :"; text != auto && (len(text) != 1 || !strings.Contains(known, text)) {
		return "", fmt.Errorf("%q: write a comma, a semicolon, a colon, tab, | or space", text)
	}
	return text, nil
}

// ParseDecimal reads which character begins the fraction of a number.
func ParseDecimal(text string) (string, error) {
	switch text {
	case ".", "point":
		return "point", nil
	case ",", "comma":
		return "comma", nil
	}
	return "", fmt.Errorf("%q: write point or comma", text)
}

// EncodingFlags say how keys are written.
type EncodingFlags struct {
	KeyEncoding string `enum:"utf8,base64" default:"utf8" help:"How keys are written, in all files that are read and written: utf8, as they are, or base64, for keys that are not text."`
}

// Encoder is how keys are written.
func (f *EncodingFlags) Encoder() KeyEncoder { return f.KeyEncoding == "base64" }

// Options are those of the decoders.
func (f *TextFlags) Options() input.Options {
	return input.Options{Header: f.Header, Base64Keys: bool(f.Encoder()), Mapping: f.mapping()}
}

// ParseHeader reads "auto", "none" or the names of the columns, for [input.Options].
func ParseHeader(text string) ([]string, error) {
	switch text {
	case "auto":
		return nil, nil
	case "none":
		return []string{}, nil
	}
	names := strings.Split(text, ",")
	if slices.Contains(names, "") {
		return nil, fmt.Errorf("%q: write auto, none or the names of the columns, such as key,cost", text)
	}
	return names, nil
}

// Input is an open file of statistics.
type Input struct {
	flags    *InputFlags
	Name     string // for messages
	format   input.Format
	Stream   *input.Stream
	Progress *cli.Progress
	Closers  []func() error
	seen     int             // intervals read
	first    int64           // the first interval, and
	newest   int64           // the newest one
	Last     *input.Document // what Next returned last
	again    bool            // Last is to be returned once more
	sums     *drive.Window   // nil: rows tell all state that keys have
	KeysOnly bool            // compact records are refused
	Names    *input.Names    // of instances
	Inferred bool            // the operator's instances are those that rows name
	leftOut  int             // rows
	command  string          // for messages
	head     []byte          // what a text begins with
	stderr   io.Writer
	Operator *OperatorFlags // what instances there are; nil: rows' instances do not matter
}

// Open opens the input and looks at its beginning.
func (f *InputFlags) Open(env *cli.Environment) (*Input, error) {
	in, raw, err := f.OpenRaw(env)
	if err != nil {
		return nil, err
	}
	if err := in.decode(raw); err != nil {
		in.Close()
		return nil, in.Wrap(err)
	}
	return in, nil
}

// leaveOut says which row is left out, and why.
func (in *Input) leaveOut(p input.Problem) {
	if in.leftOut++; in.leftOut <= MostProblems {
		fmt.Fprintf(in.stderr, "plannerd: %s; the row is left out\n", in.line(in.Name, p))
	}
}

// OpenRaw opens the input, and watches how much of it is read.
func (f *InputFlags) OpenRaw(env *cli.Environment) (*Input, io.Reader, error) {
	in := &Input{flags: f, Name: f.File, Names: cmp.Or(f.Names, &input.Names{}), stderr: env.Stderr, command: env.Command}
	raw, size := env.Stdin, int64(-1)
	if f.File == "-" {
		in.Name = "standard input"
		if cli.IsTerminal(env.Stdin) {
			fmt.Fprintln(env.Stderr, "plannerd: reading statistics from the terminal; end with Ctrl-D")
		}
	} else {
		file, err := os.Open(f.File)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the statistics: %w", err)
		}
		in.Closers = append(in.Closers, file.Close)
		raw = file
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	}
	in.Progress = cli.StartProgress(env.Stderr, size)
	in.Progress.Describe("reading")
	return in, in.Progress.Reader(env, raw), nil
}

// errEmpty refuses an input without any text.
var errEmpty = errors.New("the input is empty; expected CSV with a header row such as key,cost,state, or NDJSON, a " +
	"JSON document or an Arrow stream")

// BlankBytes is how much white space still counts as nothing.
const BlankBytes = 512

// headBytes is how much of a text is searched for what its records are called.
const headBytes = 32 << 10

// formats are those that --format names.
var formats = map[string]input.Format{
	"csv": input.CSV, "ndjson": input.NDJSON, "json": input.JSON, "arrow": input.Arrow, "parquet": input.Parquet,
}

// AsCSV turns Parquet, and Arrow with other names than plannerd's, into CSV; other formats stay as
// they are. The options become those of what it returns.
func AsCSV(r io.Reader, f input.Format, o *input.Options) (rows io.Reader, as input.Format, err error) {
	switch {
	case f == input.Parquet:
		limit := o.Limits.Bytes
		if limit == 0 {
			limit = input.DefaultBytes
		}
		rows, err = columnar.NewParquet(r, limit)
	case f == input.Arrow && o.Foreign():
		rows, err = columnar.NewArrow(r)
	default:
		return r, f, nil
	}
	o.Header, o.Skip, o.Delimiter, o.NoLines = nil, 0, ',', true
	return rows, input.CSV, err
}

// FormatOf is the format that --format names, else the one that was found.
func (f *InputFlags) FormatOf(found input.Format) input.Format {
	if named, ok := formats[f.Format]; ok {
		return named
	}
	return found
}

// decode puts the decompressor and the decoder on top of raw.
func (in *Input) decode(raw io.Reader) error {
	text, format, err := input.Open(raw)
	if err != nil {
		return err
	}
	in.Closers = append(in.Closers, text.Close)
	ahead := bufio.NewReaderSize(text, headBytes)
	if head, err := ahead.Peek(BlankBytes); errors.Is(err, io.EOF) && len(bytes.TrimSpace(head)) == 0 {
		return errEmpty
	}
	format = in.flags.FormatOf(format)
	if format != input.Arrow && format != input.Parquet {
		in.head, _ = ahead.Peek(headBytes)
		in.head = bytes.Clone(in.head)
	}
	options := in.flags.Options()
	options.Instances = in.Names
	if in.flags.BadRows == "skip" {
		options.LeaveOut = in.leaveOut
	}
	rows, as, err := AsCSV(ahead, format, &options)
	if err != nil {
		return err
	}
	in.format, in.Stream = format, input.NewStream(rows, as, options)
	return nil
}

// Close ends the progress bar and closes the file. It may be called again.
func (in *Input) Close() {
	in.Progress.Stop()
	if more := in.leftOut - MostProblems; more > 0 {
		fmt.Fprintf(in.stderr, "plannerd: %s: and %s more left out\n", in.Name, cli.Plural(more, "row"))
	}
	in.leftOut = 0
	for _, c := range slices.Backward(in.Closers) {
		_ = c() // only read from: nothing can be lost
	}
	in.Closers = nil
}

// SumUp has rows that tell the state which their interval has added stand for S(k,w), the sum
// of what the last w intervals have added.
func (in *Input) SumUp(w int) { in.sums = drive.NewSums(w) }

// Next returns the next interval, or the only one that --interval names; io.EOF after the last.
func (in *Input) Next() (interval int64, d *input.Document, err error) {
	if in.again {
		in.again = false
		return in.newest, in.Last, nil
	}
	for {
		interval, d, err = in.Stream.Next()
		if errors.Is(err, io.EOF) {
			return 0, nil, in.end()
		}
		if err != nil {
			return 0, nil, err
		}
		if in.seen == 0 {
			in.first = interval
		}
		in.seen++
		in.newest = interval
		if err := cmp.Or(checkMembers(d), in.identify(d), in.group(d)); err != nil {
			return 0, nil, err
		}
		if only := in.flags.Interval; only == nil || *only == interval {
			break
		}
	}
	in.Last = d
	if err = in.onlyRecords(d); err != nil || in.sums == nil {
		return interval, d, err
	}
	if d.Records != nil {
		return interval, d, cli.Usagef("--window: compact records do not say which keys they are of")
	}
	d.Stats, err = in.sums.Add(d.Stats)
	return interval, d, err
}

// onlyRecords refuses a further interval beside one of compact records: what a plan
// leaves of keys that nobody named cannot be told.
func (in *Input) onlyRecords(d *input.Document) error {
	switch {
	case d.Records == nil:
		return nil
	case in.KeysOnly:
		return errors.New("it holds compact records already; keys are needed")
	case in.flags.Interval != nil:
		return nil
	}
	_, _, err := in.Stream.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("compact records of several intervals: without keys no routing table carries over from one to " +
			"the next; plan a single one with --interval")
	}
	return err
}

// checkMembers refuses what a JSON document may say to the service, but files
// cannot: their statistics are complete, and all else is said by flags.
func checkMembers(d *input.Document) error {
	for name, value := range d.Members {
		switch {
		case name == "interval", name == "key_encoding", name == "compact" && d.Records != nil:
		case name == "coverage" && string(value) == `"complete"`:
		case name == "compact":
			return errors.New("compact: files cannot say how keys are compacted; --compact does")
		default:
			return fmt.Errorf("%s: files cannot say this; they hold the complete statistics only", name)
		}
	}
	return nil
}

// end is io.EOF, or says that nothing was found.
func (in *Input) end() error {
	switch {
	case in.Last != nil:
		return io.EOF
	case in.seen > 0:
		return fmt.Errorf("there is no interval %d: it has %s, from %d to %d",
			*in.flags.Interval, cli.Plural(in.seen, "interval"), in.first, in.newest)
	}
	return errors.New("it has no rows: nothing to plan")
}
