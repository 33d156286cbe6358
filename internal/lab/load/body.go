package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd/internal/input/arrowout"
	"plannerd/planner"
)

// The formats of statistics.
const (
	jsonRows    = "json_rows"
	jsonColumns = "json_columns"
	ndjson      = "ndjson"
	csvFormat   = "csv"
	arrowFormat = "arrow"
)

var (
	formats    = []string{jsonRows, jsonColumns, ndjson, csvFormat, arrowFormat}
	mediaTypes = map[string]string{
		jsonRows: "application/json", jsonColumns: "application/json", ndjson: "application/x-ndjson",
		csvFormat: "text/csv", arrowFormat: "application/vnd.apache.arrow.stream",
	}
)

// identity is the Content-Encoding of what is not compressed.
const identity = "identity"

var encodings = []string{identity, "gzip", "zstd"}

// body is the statistics of one interval, ready to be sent for any interval and
// table version: those are in front of the rows in JSON, else in the query.
type body struct {
	format, encoding string
	count            int    // rows
	rows             []byte // encoded; nil: they are in file
	file             string
	length           int64 // of the rows as sent
	plain            int64 // of the rows before compression
}

// newBody encodes rows. With a file they are written there, not held in memory.
func newBody(r *planner.Statistics, format, encoding, file string) (b *body, err error) {
	b = &body{format: format, encoding: encoding, file: file, count: r.Len()}
	if file == "" {
		var encoded bytes.Buffer
		if b.plain, err = encodeRows(&encoded, r, format, encoding); err != nil {
			return nil, err
		}
		b.rows, b.length = encoded.Bytes(), int64(encoded.Len())
		return b, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	b.plain, err = encodeRows(f, r, format, encoding)
	if err := errors.Join(err, f.Sync()); err != nil { // the store's own syncs must not wait for it
		return nil, errors.Join(err, f.Close())
	}
	if b.length, err = f.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return b, f.Close()
}

// head is what a JSON body has in front of the rows.
func (b *body) head(interval int64, version *int64) []byte {
	head := fmt.Appendf(nil, `{"interval":%d,`, interval)
	if version != nil {
		head = fmt.Appendf(head, `"table_version":%d,`, *version)
	}
	return head
}

// open returns the whole body, its length, and the query that goes with it. A
// head is compressed by itself: both encodings may be put together of parts.
func (b *body) open(interval int64, version *int64) (content io.ReadCloser, length int64, query string, err error) {
	var head []byte
	if b.format == jsonRows || b.format == jsonColumns {
		head = b.head(interval, version)
		if head, err = compress(head, b.encoding); err != nil {
			return nil, 0, "", err
		}
	} else {
		query = fmt.Sprintf("?interval=%d", interval)
		if version != nil {
			query += fmt.Sprintf("&table_version=%d", *version)
		}
	}
	length = int64(len(head)) + b.length
	if b.rows != nil {
		return io.NopCloser(io.MultiReader(bytes.NewReader(head), bytes.NewReader(b.rows))), length, query, nil
	}
	f, err := os.Open(b.file)
	if err != nil {
		return nil, 0, "", err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), f), f}, length, query, nil
}

// remove deletes the file of a body that has one.
func (b *body) remove() error {
	if b.file == "" {
		return nil
	}
	return os.Remove(b.file)
}

// compress returns text in an encoding.
func compress(text []byte, encoding string) ([]byte, error) {
	var out bytes.Buffer
	z, err := compressor(&out, encoding)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(text)
	err = errors.Join(err, z.Close())
	return out.Bytes(), err
}

// compressor writes to w in an encoding. Closing it leaves w open.
func compressor(w io.Writer, encoding string) (io.WriteCloser, error) {
	switch encoding {
	case "gzip":
		return gzip.NewWriter(w), nil
	case "zstd":
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return struct {
		io.Writer
		io.Closer
	}{w, io.NopCloser(nil)}, nil
}

// counter counts what is written.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

// encodeRows writes all but the head of a body and returns its length before
// compression.
func encodeRows(out io.Writer, r *planner.Statistics, format, encoding string) (int64, error) {
	z, err := compressor(out, encoding)
	if err != nil {
		return 0, err
	}
	counted := &counter{Writer: z}
	w := bufio.NewWriterSize(counted, 256<<10)
	switch format { // Flush returns the first error
	case jsonRows:
		_, _ = w.WriteString(`"keys":[`)
		objects(w, r, ",")
		_, _ = w.WriteString("]}")
	case jsonColumns:
		members := columnsOf(r, `"`)
		for i, c := range members {
			_, _ = fmt.Fprintf(w, "%s%q:[", [2]string{`"columns":{`, ","}[min(i, 1)], c.name)
			lines(w, r.Len(), ",", func(line []byte, row int) []byte { return c.append(line, row) })
			_ = w.WriteByte(']')
		}
		_, _ = w.WriteString("}}")
	case ndjson:
		objects(w, r, "\n")
		_ = w.WriteByte('\n')
	case csvFormat:
		members := columnsOf(r, "")
		for i, c := range members {
			_, _ = w.WriteString([2]string{"", ","}[min(i, 1)] + c.name)
		}
		_ = w.WriteByte('\n')
		lines(w, r.Len(), "\n", func(line []byte, row int) []byte { return joined(line, members, row, false) })
		_ = w.WriteByte('\n')
	case arrowFormat:
		stream := arrowout.NewWriter(w)
		err = errors.Join(stream.Write(-1, r), stream.Close())
	}
	err = errors.Join(err, w.Flush(), z.Close())
	return counted.n, err
}

// column is one member of the rows.
type column struct {
	name   string
	append func(line []byte, row int) []byte
}

// columnsOf are the members of the rows; keys, which need no escaping, are in quotes.
func columnsOf(r *planner.Statistics, quote string) []column {
	number := func(of []float64) func([]byte, int) []byte {
		return func(line []byte, row int) []byte { return strconv.AppendFloat(line, of[row], 'f', -1, 64) }
	}
	all := []column{
		{"key", func(line []byte, row int) []byte {
			return append(append(append(line, quote...), r.Keys.At(row)...), quote...)
		}},
		{"cost", number(r.Cost)}, {"state", number(r.State)},
	}
	if r.Instance != nil {
		all = append(all, column{"instance", func(line []byte, row int) []byte {
			return strconv.AppendInt(line, int64(r.Instance[row]), 10)
		}})
	}
	return all
}

// joined appends the members of a row; named: under their names.
func joined(line []byte, members []column, row int, named bool) []byte {
	for i, c := range members {
		if i > 0 {
			line = append(line, ',')
		}
		if named {
			line = append(append(append(line, '"'), c.name...), `":`...)
		}
		line = c.append(line, row)
	}
	return line
}

// lines writes what add appends for each row, with a separator between them.
func lines(w *bufio.Writer, rows int, separator string, add func(line []byte, row int) []byte) {
	before := ""
	for row := range rows {
		_, _ = w.Write(add(append(w.AvailableBuffer(), before...), row))
		before = separator
	}
}

// objects writes a JSON object for each row.
func objects(w *bufio.Writer, r *planner.Statistics, separator string) {
	members := columnsOf(r, `"`)
	lines(w, r.Len(), separator, func(line []byte, row int) []byte {
		return append(joined(append(line, '{'), members, row, true), '}')
	})
}
