// Package arrowout writes statistics of keys as a stream of Arrow IPC. It knows the columns that
// such a stream has; package input reads them.
package arrowout

import (
	"io"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"plannerd/internal/input/lists"
	"plannerd/planner"
)

// batchRows is how many rows a written record batch has at most.
const batchRows = 1 << 16

// costColumn is what the columns of resources begin with.
const costColumn = "cost."

// Writer writes statistics of keys as a stream of Arrow IPC, which
// package input reads.
type Writer struct {
	w       io.Writer
	columns []string    // of the first interval
	out     *ipc.Writer // nil before it
	rows    *array.RecordBuilder
}

// NewWriter returns a writer to w, which must be closed.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write writes the rows of an interval, under a column interval unless that is
// negative. All intervals must have the columns of the first one; resources that a later one does not
// name are 0 in it. It fails with
// [lists.ErrKeyText] when a key is not valid UTF-8.
func (w *Writer) Write(interval int64, s *planner.Statistics) error {
	if w.out == nil {
		w.start(interval, s)
	}
	for from := 0; from < s.Len(); from += batchRows {
		if err := w.batch(interval, s, from, min(from+batchRows, s.Len())); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the stream; it does not close the underlying writer. A stream
// without a single interval has no schema, and cannot be read.
func (w *Writer) Close() error {
	if w.out == nil {
		return nil
	}
	w.rows.Release()
	return w.out.Close()
}

func (w *Writer) start(interval int64, s *planner.Statistics) {
	var columns []arrow.Field
	column := func(name string, t arrow.DataType, has bool) {
		if has {
			w.columns = append(w.columns, name)
			columns = append(columns, arrow.Field{Name: name, Type: t, Nullable: t == arrow.PrimitiveTypes.Int32})
		}
	}
	column("interval", arrow.PrimitiveTypes.Int64, interval >= 0)
	column("key", arrow.BinaryTypes.String, true)
	column("cost", arrow.PrimitiveTypes.Float64, true)
	column("state", arrow.PrimitiveTypes.Float64, s.State != nil)
	column("instance", arrow.PrimitiveTypes.Int32, s.Instance != nil)
	column("hash_instance", arrow.PrimitiveTypes.Int32, s.HashInstance != nil)
	for _, x := range s.Costs {
		column(costColumn+x.Name, arrow.PrimitiveTypes.Float64, true)
	}
	schema := arrow.NewSchema(columns, nil)
	w.out = ipc.NewWriter(w.w, ipc.WithSchema(schema))
	w.rows = array.NewRecordBuilder(memory.DefaultAllocator, schema)
}

// batch writes rows as a record batch.
func (w *Writer) batch(interval int64, s *planner.Statistics, from, to int) error {
	for i, f := range w.columns {
		switch b := w.rows.Field(i); f {
		case "interval":
			for range to - from {
				b.(*array.Int64Builder).Append(interval)
			}
		case "key":
			for row := from; row < to; row++ {
				if !utf8.Valid(s.Keys.At(row)) {
					return lists.ErrKeyText
				}
				b.(*array.StringBuilder).BinaryBuilder.Append(s.Keys.At(row))
			}
		case "cost":
			b.(*array.Float64Builder).AppendValues(s.Cost[from:to], nil)
		case "state":
			b.(*array.Float64Builder).AppendValues(s.State[from:to], nil)
		case "instance":
			appendInstances(b.(*array.Int32Builder), s.Instance[from:to])
		case "hash_instance":
			appendInstances(b.(*array.Int32Builder), s.HashInstance[from:to])
		default:
			w.appendCosts(b.(*array.Float64Builder), f, s, from, to)
		}
	}
	batch := w.rows.NewRecordBatch()
	defer batch.Release()
	return w.out.Write(batch)
}

// appendCosts appends what rows take of the resource that a column is of. An interval need not name it.
func (w *Writer) appendCosts(b *array.Float64Builder, column string, s *planner.Statistics, from, to int) {
	at := slices.IndexFunc(s.Costs, func(x planner.Amounts) bool { return costColumn+x.Name == column })
	if at < 0 {
		b.AppendValues(make([]float64, to-from), nil)
		return
	}
	b.AppendValues(s.Costs[at].Rows[from:to], nil)
}

func appendInstances(b *array.Int32Builder, instances []int32) {
	for _, v := range instances {
		if v == planner.NoInstance {
			b.AppendNull()
		} else {
			b.Append(v)
		}
	}
}
