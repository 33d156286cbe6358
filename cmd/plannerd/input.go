package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"plannerd/internal/statsio"
	"plannerd/planner"
)

// inputFlags say what plan, compare, compact and resolve read.
type inputFlags struct {
	File     string `arg:"" help:"Statistics: a file, or - for standard input."`
	Format   string `enum:"auto,csv,ndjson,json,arrow" default:"auto" help:"Format of the input: csv, ndjson, json (a document, or one a line and interval), arrow (an IPC stream), or auto, which looks at it. Compression is always recognised."`
	Interval *int64 `placeholder:"N" help:"Take only interval N of a stream, on the given routing table (default: all)."`
}

// input is an open file of statistics.
type input struct {
	flags    *inputFlags
	name     string // for messages
	format   statsio.Format
	stream   *statsio.Stream
	progress *progress
	closers  []func() error
	seen     int               // intervals read
	first    int64             // the first interval, and
	newest   int64             // the newest one
	last     *statsio.Document // what source returned last
	keysOnly bool              // compact records are refused
}

// open opens the input and looks at its beginning.
func (f *inputFlags) open(env *environment) (*input, error) {
	in, raw, err := f.openRaw(env)
	if err != nil {
		return nil, err
	}
	if err := in.decode(raw); err != nil {
		in.close()
		return nil, in.wrap(err)
	}
	return in, nil
}

// openRaw opens the input, and watches how much of it is read.
func (f *inputFlags) openRaw(env *environment) (*input, io.Reader, error) {
	in := &input{flags: f, name: f.File}
	raw, size := env.stdin, int64(-1)
	if f.File == "-" {
		in.name = "standard input"
		if isTerminal(env.stdin) {
			fmt.Fprintln(env.stderr, "plannerd: reading statistics from the terminal; end with Ctrl-D")
		}
	} else {
		file, err := os.Open(f.File)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the statistics: %w", err)
		}
		in.closers = append(in.closers, file.Close)
		raw = file
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	}
	in.progress = startProgress(env.stderr, size)
	in.progress.describe("reading")
	return in, &interruptible{env, in.progress.reader(raw)}, nil
}

// errEmpty refuses an input without any text.
var errEmpty = errors.New("the input is empty; expected CSV with a header row such as key,cost,state, or NDJSON, a JSON document or an Arrow stream")

// blankBytes is how much white space still counts as nothing.
const blankBytes = 512

// decode puts the decompressor and the decoder on top of raw.
func (in *input) decode(raw io.Reader) error {
	text, format, err := statsio.Open(raw)
	if err != nil {
		return err
	}
	in.closers = append(in.closers, text.Close)
	ahead := bufio.NewReaderSize(text, blankBytes)
	if head, err := ahead.Peek(blankBytes); errors.Is(err, io.EOF) && len(bytes.TrimSpace(head)) == 0 {
		return errEmpty
	}
	switch in.flags.Format {
	case "csv":
		format = statsio.CSV
	case "ndjson":
		format = statsio.NDJSON
	case "json":
		format = statsio.JSON
	case "arrow":
		format = statsio.Arrow
	}
	in.format, in.stream = format, statsio.NewStream(ahead, format, statsio.Options{})
	return nil
}

// interruptible ends reading when the command is interrupted.
type interruptible struct {
	env *environment
	io.Reader
}

func (r *interruptible) Read(b []byte) (int, error) {
	if err := r.env.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// close ends the progress bar and closes the file. It may be called again.
func (in *input) close() {
	in.progress.stop()
	for _, c := range slices.Backward(in.closers) {
		_ = c() // only read from: nothing can be lost
	}
	in.closers = nil
}

// source yields the intervals, or only the one that --interval names.
func (in *input) source() source {
	return func() (int64, *statsio.Document, error) {
		for {
			interval, document, err := in.stream.Next()
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
			if err := checkMembers(document); err != nil {
				return 0, nil, err
			}
			if only := in.flags.Interval; only == nil || *only == interval {
				in.last = document
				return interval, document, in.onlyRecords(document)
			}
		}
	}
}

// onlyRecords refuses a further interval beside one of compact records: what a plan
// leaves of keys that nobody named cannot be told.
func (in *input) onlyRecords(d *statsio.Document) error {
	switch {
	case d.Records == nil:
		return nil
	case in.keysOnly:
		return errors.New("it holds compact records already; keys are needed")
	case in.flags.Interval != nil:
		return nil
	}
	_, _, err := in.stream.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("compact records of several intervals: without keys no routing table carries over from one to the next; plan a single one with --interval")
	}
	return err
}

// checkMembers refuses what a JSON document may say to the service, but files
// cannot: their statistics are complete, and all else is said by flags.
func checkMembers(d *statsio.Document) error {
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
func (in *input) end() error {
	switch {
	case in.last != nil:
		return io.EOF
	case in.seen > 0:
		return fmt.Errorf("there is no interval %d: it has %s, from %d to %d",
			*in.flags.Interval, plural(in.seen, "interval"), in.first, in.newest)
	}
	return errors.New("it has no rows: nothing to plan")
}

// wrap puts the name of the input in front of an error, and words the ones of
// the decoder and the planner in rows as people count them, from 1.
func (in *input) wrap(err error) error {
	var (
		decoding *statsio.Error
		row      *planner.InputError
		file     *fs.PathError
		usage    usageError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &usage):
		return usage
	case errors.As(err, &decoding):
		return fmt.Errorf("%s: %s", in.document(in.seen+1), decodingText(decoding))
	case errors.As(err, &row) && row.Row >= 0 && in.last != nil:
		text := pointerText(in.last.Pointer(row.Row, row.Field), row.Detail)
		if in.last.Records == nil {
			text += " (key " + keyText(in.last.Stats.Keys.At(row.Row)) + ")"
		}
		return fmt.Errorf("%s: %s", in.document(in.seen), text)
	case errors.As(err, &row):
		return asFlag(row)
	case errors.As(err, &file):
		err = file.Err // in.name is its path
	}
	return fmt.Errorf("%s: %w", in.name, err)
}

// document names document n of the input, where there are several.
func (in *input) document(n int) string {
	if in.format == statsio.JSON && n > 1 {
		return fmt.Sprintf("%s, document %d", in.name, n)
	}
	return in.name
}

// decodingText is the first problem of a refused input.
func decodingText(err *statsio.Error) string {
	if len(err.Problems) == 0 {
		return err.Kind.String()
	}
	text := pointerText(err.Problems[0].Pointer, err.Problems[0].Detail)
	if more := len(err.Problems) - 1; more > 0 {
		text += fmt.Sprintf(" (and %s more)", plural(more, "problem"))
	}
	return text
}

// pointerText words a JSON pointer such as /17/cost: row 18, cost.
func pointerText(pointer, detail string) string {
	where := strings.Split(strings.Trim(pointer, "/"), "/")
	if record, ok := strings.CutPrefix(pointer, "/compact/records/"); ok {
		where = strings.Split(record, "/")
		if field, err := strconv.Atoi(where[len(where)-1]); err == nil && len(where) == 2 && field < len(recordFields) {
			where[1] = recordFields[field]
		}
	}
	if n, err := strconv.Atoi(where[0]); err == nil {
		where[0] = "row " + strconv.Itoa(n+1)
	}
	if where[0] == "" {
		return detail
	}
	return strings.Join(where, ", ") + ": " + detail
}

// recordFields are the numbers of a compact record.
var recordFields = []string{"instance", "hash_instance", "cost", "state", "count"}

// readRoutingTable reads a CSV file with the header key,instance.
func readRoutingTable(path string) (*planner.RoutingTable, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--routing-table: %w", err)
	}
	defer func() { _ = file.Close() }() // only read from
	entries, err := parseRoutingTable(file)
	if reading := (*fs.PathError)(nil); errors.As(err, &reading) {
		err = reading.Err // the path is in front
	}
	if err != nil {
		return nil, fmt.Errorf("--routing-table %s: %w", path, err)
	}
	table, err := planner.NewRoutingTable(entries)
	if row := (*planner.InputError)(nil); errors.As(err, &row) {
		return nil, fmt.Errorf("--routing-table %s: row %d: %s %s", path, row.Row+1, row.Field, row.Detail)
	}
	return table, err
}

func parseRoutingTable(r io.Reader) (entries []planner.Entry, err error) {
	err = readPairs(r, "key", "instance", func(key string, instance int32) error {
		if n := len(key); n == 0 || n > planner.MaxKeyBytes {
			return fmt.Errorf("key: must have 1 to %d bytes", planner.MaxKeyBytes)
		}
		entries = append(entries, planner.Entry{Key: []byte(key), Instance: instance})
		return nil
	})
	return entries, err
}

// readPairs reads CSV, compressed or not, whose rows are a text and an id under a
// header that names them.
func readPairs(r io.Reader, text, id string, add func(text string, id int32) error) error {
	plain, _, err := statsio.Open(r)
	if err != nil {
		return err
	}
	defer func() { _ = plain.Close() }()
	in := csv.NewReader(plain)
	in.FieldsPerRecord = 2
	header, err := in.Read()
	if err != nil || header[0] != text || header[1] != id {
		return fmt.Errorf("its first line must be the header %s,%s", text, id)
	}
	for row := 1; ; row++ {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		value, err := strconv.ParseInt(record[1], 10, 32)
		if err != nil || value < 0 {
			return fmt.Errorf("row %d: %s: %q is not an id ≥ 0", row, id, record[1])
		}
		if err := add(record[0], int32(value)); err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
	}
}
