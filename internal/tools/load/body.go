package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
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
	// source, unless nil, is read in place of it all.
	source func() (io.ReadCloser, int64)
}

// newBody encodes rows. With a file they are written there, not held in memory.
func newBody(r *rows, format, encoding, file string) (b *body, err error) {
	b = &body{format: format, encoding: encoding, file: file}
	for _, i := range r.order {
		if !r.idle(i) {
			b.count++
		}
	}
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
	if b.source != nil {
		content, length = b.source()
		return content, length, query, nil
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
func encodeRows(out io.Writer, r *rows, format, encoding string) (int64, error) {
	z, err := compressor(out, encoding)
	if err != nil {
		return 0, err
	}
	counted := &counter{Writer: z}
	w := bufio.NewWriterSize(counted, 256<<10)
	switch format {
	case jsonRows:
		_, _ = w.WriteString(`"keys":[`) // Flush returns the first error
		r.objects(w, ",")
		_, _ = w.WriteString("]}")
	case jsonColumns:
		r.columns(w)
	case ndjson:
		r.objects(w, "\n")
		_ = w.WriteByte('\n')
	case csvFormat:
		r.csv(w)
	case arrowFormat:
		err = r.arrow(w)
	}
	err = errors.Join(err, w.Flush(), z.Close())
	return counted.n, err
}

// each calls write with every row to report, in their order.
func (r *rows) each(write func(i int32)) {
	for _, i := range r.order {
		if !r.idle(i) {
			write(i)
		}
	}
}

// objects writes a JSON object for each row. The keys need no escaping.
func (r *rows) objects(w *bufio.Writer, separator string) {
	before := ""
	r.each(func(i int32) {
		line := append(w.AvailableBuffer(), before...)
		before = separator
		line = append(append(line, `{"key":"`...), r.Keys.At(int(i))...)
		line = strconv.AppendFloat(append(line, `","cost":`...), r.Cost[i], 'f', -1, 64)
		line = strconv.AppendFloat(append(line, `,"state":`...), r.State[i], 'f', -1, 64)
		if r.Instance != nil {
			line = strconv.AppendInt(append(line, `,"instance":`...), int64(r.Instance[i]), 10)
		}
		_, _ = w.Write(append(line, '}'))
	})
}

func (r *rows) csv(w *bufio.Writer) {
	_, _ = w.WriteString("key,cost,state")
	if r.Instance != nil {
		_, _ = w.WriteString(",instance")
	}
	_ = w.WriteByte('\n')
	r.each(func(i int32) {
		line := append(w.AvailableBuffer(), r.Keys.At(int(i))...)
		line = strconv.AppendFloat(append(line, ','), r.Cost[i], 'f', -1, 64)
		line = strconv.AppendFloat(append(line, ','), r.State[i], 'f', -1, 64)
		if r.Instance != nil {
			line = strconv.AppendInt(append(line, ','), int64(r.Instance[i]), 10)
		}
		_, _ = w.Write(append(line, '\n'))
	})
}

// columns writes the member of that name and the end of the body.
func (r *rows) columns(w *bufio.Writer) {
	column := func(name string, value func(b []byte, i int32) []byte) {
		_, _ = w.WriteString(name)
		before := ""
		r.each(func(i int32) {
			_, _ = w.Write(value(append(w.AvailableBuffer(), before...), i))
			before = ","
		})
		_ = w.WriteByte(']')
	}
	column(`"columns":{"key":[`, func(b []byte, i int32) []byte {
		return append(append(append(b, '"'), r.Keys.At(int(i))...), '"')
	})
	column(`,"cost":[`, func(b []byte, i int32) []byte { return strconv.AppendFloat(b, r.Cost[i], 'f', -1, 64) })
	column(`,"state":[`, func(b []byte, i int32) []byte { return strconv.AppendFloat(b, r.State[i], 'f', -1, 64) })
	if r.Instance != nil {
		column(`,"instance":[`, func(b []byte, i int32) []byte { return strconv.AppendInt(b, int64(r.Instance[i]), 10) })
	}
	_, _ = w.WriteString("}}")
}

// batchRows is how many rows a record batch of Arrow has.
const batchRows = 1 << 16

// arrow writes an Arrow stream of strings, float64 and int32.
func (r *rows) arrow(w io.Writer) error {
	fields := []arrow.Field{
		{Name: "key", Type: arrow.BinaryTypes.String},
		{Name: "cost", Type: arrow.PrimitiveTypes.Float64},
		{Name: "state", Type: arrow.PrimitiveTypes.Float64},
	}
	if r.Instance != nil {
		fields = append(fields, arrow.Field{Name: "instance", Type: arrow.PrimitiveTypes.Int32})
	}
	schema := arrow.NewSchema(fields, nil)
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	stream := ipc.NewWriter(w, ipc.WithSchema(schema))
	var (
		err     error
		pending int
	)
	flush := func() {
		if pending == 0 || err != nil {
			return
		}
		batch := builder.NewRecordBatch()
		defer batch.Release()
		err, pending = stream.Write(batch), 0
	}
	r.each(func(i int32) {
		builder.Field(0).(*array.StringBuilder).BinaryBuilder.Append(r.Keys.At(int(i)))
		builder.Field(1).(*array.Float64Builder).Append(r.Cost[i])
		builder.Field(2).(*array.Float64Builder).Append(r.State[i])
		if r.Instance != nil {
			builder.Field(3).(*array.Int32Builder).Append(r.Instance[i])
		}
		if pending++; pending == batchRows {
			flush()
		}
	})
	flush()
	return errors.Join(err, stream.Close())
}
