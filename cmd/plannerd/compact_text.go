package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/gzip"

	"plannerd/compact"
	"plannerd/internal/cli"
	"plannerd/internal/cli/reading"
	"plannerd/internal/drive"
	"plannerd/internal/input"
	"plannerd/internal/input/lists"
)

// measure compares the records with the rows.
func (x *compacted) measure(st compact.Statistics, keys reading.KeyEncoder) (err error) {
	x.loads = loadsOf(x.Compression)
	for i, l := range x.loads {
		if e := l["error"].(float64); i == 0 || e > x.error {
			x.error, x.instance = e, x.Keys.Instances[i].ID
		}
	}
	x.before, x.zippedBefore, err = sizeOf(func(w io.Writer) error { return writeRows(w, x.input) })
	if err != nil {
		return err
	}
	x.after, x.zippedAfter, err = sizeOf(func(w io.Writer) error {
		return lists.WriteCompactJSON(w, -1, &st, bool(keys))
	})
	return err
}

// loadsOf tells, by instance, how well the records tell its load.
func loadsOf(c *compact.Compression) []cli.More {
	s := c.Keys
	n := len(s.Instances)
	actual, estimated, keys, records := make([]float64, n), make([]float64, n), make([]int64, n), make([]int, n)
	for i, d := range s.Current {
		actual[d] += s.Cost[i]
	}
	for i, r := range c.Records {
		d := c.Items.Current[i]
		records[d]++
		keys[d] += r.Count
		estimated[d] += float64(r.Count) * (r.Cost * c.Scales.Cost)
	}
	for _, k := range c.Named {
		d := s.Current[k]
		records[d]++
		keys[d]++
		estimated[d] += s.Cost[k]
	}
	loads := make([]cli.More, n)
	for d, in := range s.Instances {
		off := 0.0 // |estimated − actual| / actual
		if actual[d] != 0 {
			off = math.Abs(estimated[d]-actual[d]) / actual[d]
		}
		loads[d] = cli.More{"id": in.ID, "keys": keys[d], "records": records[d], "load": actual[d],
			"estimated": estimated[d], "error": off}
	}
	return loads
}

// sizeOf returns how much a text takes, plain and by gzip.
func sizeOf(write func(io.Writer) error) (plain, zipped int64, err error) {
	var p, z cli.Progress
	g := gzip.NewWriter(&z)
	if err := write(io.MultiWriter(&p, g)); err != nil {
		return 0, 0, err
	}
	err = g.Close()
	return p.At.Load(), z.At.Load(), err
}

// writeRows writes the rows of an input as the JSON body of a request.
func writeRows(w io.Writer, d *input.Document) error {
	s, keys, b := d.Stats, reading.KeyEncoder(d.Base64Keys), bufio.NewWriter(w)
	separator := `{"keys":[`
	for i := range s.Len() {
		_, _ = b.WriteString(separator) // the writer keeps its error
		separator = ","
		row := struct { // in the order that compresses as engines write it
			Key          string   `json:"key"`
			Cost         float64  `json:"cost"`
			State        *float64 `json:"state,omitzero"`
			Instance     *int32   `json:"instance,omitzero"`
			HashInstance *int32   `json:"hash_instance,omitzero"`
		}{keys.Encode(s.Keys.At(i)), s.Cost[i], at(s.State, i), at(s.Instance, i), at(s.HashInstance, i)}
		if err := json.MarshalWrite(b, row); err != nil {
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

// write prints the figures for people: of a file of so many bytes.
func (c *compactCmd) write(w *cli.Page, intervals []*compacted, file int64) {
	if len(intervals) == 1 {
		c.writeOne(w, intervals[0], file)
	} else {
		c.writeSeveral(w, intervals, file)
	}
}

func (c *compactCmd) writeOne(w *cli.Page, x *compacted, file int64) {
	fmt.Fprintf(w, "%s in %s, degree %d, cost scale %s, state scale %s, %s\n", cli.Plural(x.keys, "key"),
		cli.Plural(x.records, "record"), c.Degree, cli.Exact(x.scales.Cost), cli.Exact(x.scales.State),
		cli.Plural(len(x.loads), "instance"))
	fmt.Fprintf(w, "Made in %s. The greatest load error is %s, of instance %d.\n\n", cli.Duration(x.elapsed),
		cli.ErrorText(x.error), x.instance)
	line := func(title string, before, after int64) cli.More {
		return cli.More{"title": title, "keys": before, "records": after, "smaller": times(before, after)}
	}
	cli.WriteList(w, []cli.More{
		line("rows", int64(x.keys), int64(x.records)),
		line("JSON, bytes", x.before, x.after),
		line("JSON by gzip, bytes", x.zippedBefore, x.zippedAfter),
		{"title": "the file, bytes", "keys": file},
	}, "= title | keys | records | smaller right")
	fmt.Fprintf(w, "\nInstances\n\n")
	cli.WriteList(w, x.loads,
		"id id | keys | records | load si | by records = estimated si | load error = error error")
}

// times is how many times smaller something is.
func times(before, after int64) string {
	if after == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(before)/float64(after), 'f', 1, 64) + " ×"
}

// writeSeveral prints a line for each interval, and what they come to.
func (c *compactCmd) writeSeveral(w *cli.Page, intervals []*compacted, file int64) {
	total := &compacted{}
	line := func(name string, x *compacted) cli.More {
		return cli.More{
			"line": name, "keys": x.keys, "records": x.records, "before": x.before, "after": x.after,
			"smaller": times(x.before, x.after), "zipped": times(x.zippedBefore, x.zippedAfter), "error": x.error,
			"time": drive.Milliseconds(x.elapsed),
		}
	}
	var lines []cli.More
	for _, x := range intervals {
		one := line(strconv.FormatInt(x.interval, 10), x)
		one["cost"], one["state"] = x.scales.Cost, x.scales.State
		lines = append(lines, one)
		total.keys, total.records, total.elapsed = total.keys+x.keys, total.records+x.records, total.elapsed+x.elapsed
		total.before, total.after = total.before+x.before, total.after+x.after
		total.zippedBefore, total.zippedAfter = total.zippedBefore+x.zippedBefore, total.zippedAfter+x.zippedAfter
		total.error = max(total.error, x.error)
	}
	fmt.Fprintf(w, "%s, degree %d, %s, a file of %s\n\n", cli.Plural(len(intervals), "interval"), c.Degree,
		cli.Plural(len(intervals[0].loads), "instance"), cli.Plural(file, "byte"))
	cli.WriteList(w, append(lines, line("all", total)), "interval = line right | keys | records"+
		" | cost scale = cost si | state scale = state si | JSON bytes = before | by records = after | smaller right"+
		" | by gzip = zipped right | load error = error error | time time")
}
