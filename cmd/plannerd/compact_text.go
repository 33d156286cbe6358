package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/gzip"

	"plannerd/compact"
	"plannerd/internal/cli"
	"plannerd/internal/cli/offline"
	"plannerd/internal/cli/reading"
	"plannerd/internal/input"
	"plannerd/internal/input/lists"
)

// compactReport gathers what plannerd compact writes.
type compactReport struct {
	cmd       *compactCmd
	input     *reading.Input
	records   []intervalRecords
	intervals []compactedFigures
	loads     []loadOf // of the newest interval
}

// fileBytes is the length of the input, in bytes.
func (r *compactReport) fileBytes() int64 { return r.input.Progress.At.Load() }

// compactedFigures are the figures of one interval.
type compactedFigures struct {
	interval      int64
	keys, records int
	scales        compact.Scales
	worst         loadOf
	elapsed       time.Duration
	before, after textSize // of the rows and of the records in JSON
}

// textSize is the length of a text, in bytes.
type textSize struct{ plain, zipped int64 }

func (s textSize) add(o textSize) textSize { return textSize{s.plain + o.plain, s.zipped + o.zipped} }

// measure takes in an interval.
func (r *compactReport) measure(c compacted) error {
	r.loads = loadsOf(c.Compression)
	x := compactedFigures{
		interval: c.interval, keys: c.Keys.Len(), records: c.Items.Len(), scales: c.Scales,
		worst: greatest(r.loads, loadOf.error), elapsed: c.elapsed,
	}
	var err error
	if x.before, err = sizeOf(func(w io.Writer) error { return writeRows(w, c.input) }); err != nil {
		return err
	}
	st := c.Statistics(c.homes)
	x.after, err = sizeOf(func(w io.Writer) error { return lists.WriteCompactJSON(w, -1, &st, bool(c.keys)) })
	r.intervals = append(r.intervals, x)
	return err
}

// sizeOf returns how much a text takes, plain and by gzip.
func sizeOf(write func(io.Writer) error) (textSize, error) {
	var plain, zipped countingWriter
	z := gzip.NewWriter(&zipped)
	if err := write(io.MultiWriter(&plain, z)); err != nil {
		return textSize{}, err
	}
	err := z.Close()
	return textSize{int64(plain), int64(zipped)}, err
}

// countingWriter counts what is written to it.
type countingWriter int64

func (n *countingWriter) Write(b []byte) (int, error) {
	*n += countingWriter(len(b))
	return len(b), nil
}

// writeRows writes the rows of an input as the JSON body of a request.
func writeRows(w io.Writer, d *input.Document) error {
	type row struct {
		Key          string   `json:"key"`
		Cost         float64  `json:"cost"`
		State        *float64 `json:"state,omitzero"`
		Instance     *int32   `json:"instance,omitzero"`
		HashInstance *int32   `json:"hash_instance,omitzero"`
	}
	s, keys, b := d.Stats, reading.KeyEncoder(d.Base64Keys), bufio.NewWriter(w)
	separator := `{"keys":[`
	for i := range s.Len() {
		_, _ = b.WriteString(separator) // the writer keeps its error
		separator = ","
		r := row{keys.Encode(s.Keys.At(i)), s.Cost[i], at(s.State, i), at(s.Instance, i), at(s.HashInstance, i)}
		if err := json.MarshalWrite(b, r); err != nil {
			return err
		}
	}
	_, _ = b.WriteString("]}")
	return b.Flush()
}

// at is the value of a row in a column that may not be there.
func at[T any](column []T, row int) *T {
	if column == nil {
		return nil
	}
	return &column[row]
}

// write prints the figures for people.
func (r *compactReport) write(w *cli.Page) {
	if len(r.intervals) == 1 {
		r.writeOne(w)
	} else {
		r.writeSeveral(w)
	}
}

func (r *compactReport) writeOne(w *cli.Page) {
	x := r.intervals[0]
	fmt.Fprintf(w, "%s in %s, degree %d, %s, %s\n", cli.Plural(x.keys, "key"), cli.Plural(x.records, "record"),
		r.cmd.Degree,
		scalesText(x.scales), cli.Plural(len(r.loads), "instance"))
	fmt.Fprintf(w, "Made in %s. The greatest load error is %s, of instance %d.\n\n", cli.Duration(x.elapsed),
		cli.ErrorText(x.worst.error()), x.worst.id)
	r.writeSizes(w, x)
	fmt.Fprintf(w, "\nInstances\n\n")
	var rows [][]string
	for _, l := range r.loads {
		rows = append(rows, []string{cli.ID(l.id), cli.Integer(l.keys), cli.Integer(l.records), cli.SI(l.actual),
			cli.SI(l.estimated), cli.ErrorText(l.error())})
	}
	cli.WriteTable(w, []cli.Column{
		cli.Number("id"), cli.Number("keys"), cli.Number("records"), cli.Number("load"), cli.Number("by records"),
		cli.Number("load error"),
	}, rows)
}

// writeSizes compares the input with the records.
func (r *compactReport) writeSizes(w *cli.Page, x compactedFigures) {
	line := func(title string, before, after int64) []string {
		return []string{title, cli.Integer(before), cli.Integer(after), times(before, after)}
	}
	cli.WriteTable(w, []cli.Column{cli.Text(""), cli.Number("keys"), cli.Number("records"), cli.Number("smaller")},
		[][]string{
			line("rows", int64(x.keys), int64(x.records)),
			line("JSON, bytes", x.before.plain, x.after.plain),
			line("JSON by gzip, bytes", x.before.zipped, x.after.zipped),
			{"the file, bytes", cli.Integer(r.fileBytes()), "", ""},
		})
}

// times is how many times smaller something is.
func times(before, after int64) string {
	if after == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(before)/float64(after), 'f', 1, 64) + " ×"
}

// writeSeveral prints a line for each interval, and what they come to.
func (r *compactReport) writeSeveral(w *cli.Page) {
	total := compactedFigures{}
	var rows [][]string
	for _, x := range r.intervals {
		rows = append(rows, []string{
			strconv.FormatInt(x.interval, 10), cli.Integer(x.keys), cli.Integer(x.records), cli.SI(x.scales.Cost),
			cli.SI(x.scales.State),
			cli.Integer(x.before.plain), cli.Integer(x.after.plain), times(x.before.plain, x.after.plain),
			times(x.before.zipped, x.after.zipped),
			cli.ErrorText(x.worst.error()), offline.Cell(x.elapsed),
		})
		total.keys += x.keys
		total.records += x.records
		total.before, total.after = total.before.add(x.before), total.after.add(x.after)
		total.elapsed += x.elapsed
	}
	worst := greatest(r.intervals, func(x compactedFigures) float64 { return x.worst.error() }).worst
	rows = append(rows, []string{
		"all", cli.Integer(total.keys), cli.Integer(total.records), "", "", cli.Integer(total.before.plain),
		cli.Integer(total.after.plain),
		times(total.before.plain, total.after.plain), times(total.before.zipped, total.after.zipped),
		cli.ErrorText(worst.error()), offline.Cell(total.elapsed),
	})
	fmt.Fprintf(w, "%s, degree %d, %s, a file of %s\n\n", cli.Plural(len(r.intervals), "interval"), r.cmd.Degree,
		cli.Plural(len(r.loads), "instance"), cli.Plural(r.fileBytes(), "byte"))
	cli.WriteTable(w, []cli.Column{
		cli.Number("interval"), cli.Number("keys"), cli.Number("records"), cli.Number("cost scale"),
		cli.Number("state scale"),
		cli.Number("JSON bytes"),
		cli.Number("by records"), cli.Number("smaller"), cli.Number("by gzip"), cli.Number("load error"), cli.Number("time"),
	}, rows)
}
