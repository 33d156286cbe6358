package input

import (
	"io"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"plannerd/planner"
)

// arrowBatchRows is how many rows a written record batch has at most.
const arrowBatchRows = 1 << 16

// ArrowWriter writes statistics of keys as a stream of Arrow IPC, which
// [DecodeArrow] and [Stream] read.
type ArrowWriter struct {
	w       io.Writer
	columns []field     // of the first interval
	out     *ipc.Writer // nil before it
	rows    *array.RecordBuilder
}

// NewArrowWriter returns a writer to w, which must be closed.
func NewArrowWriter(w io.Writer) *ArrowWriter { return &ArrowWriter{w: w} }

// Write writes the rows of an interval, under a column interval unless that is
// negative. All intervals must have the columns of the first one. It fails with
// [ErrKeyText] when a key is not valid UTF-8.
func (w *ArrowWriter) Write(interval int64, s *planner.Statistics) error {
	if w.out == nil {
		w.start(interval, s)
	}
	for from := 0; from < s.Len(); from += arrowBatchRows {
		if err := w.batch(interval, s, from, min(from+arrowBatchRows, s.Len())); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the stream; it does not close the underlying writer. A stream
// without a single interval has no schema, and cannot be read.
func (w *ArrowWriter) Close() error {
	if w.out == nil {
		return nil
	}
	w.rows.Release()
	return w.out.Close()
}

func (w *ArrowWriter) start(interval int64, s *planner.Statistics) {
	var columns []arrow.Field
	column := func(f field, t arrow.DataType, has bool) {
		if has {
			w.columns = append(w.columns, f)
			columns = append(columns, arrow.Field{Name: f.String(), Type: t, Nullable: f&(fieldInstance|fieldHashInstance) != 0})
		}
	}
	column(fieldInterval, arrow.PrimitiveTypes.Int64, interval >= 0)
	column(fieldKey, arrow.BinaryTypes.String, true)
	column(fieldCost, arrow.PrimitiveTypes.Float64, true)
	column(fieldState, arrow.PrimitiveTypes.Float64, s.State != nil)
	column(fieldInstance, arrow.PrimitiveTypes.Int32, s.Instance != nil)
	column(fieldHashInstance, arrow.PrimitiveTypes.Int32, s.HashInstance != nil)
	schema := arrow.NewSchema(columns, nil)
	w.out = ipc.NewWriter(w.w, ipc.WithSchema(schema))
	w.rows = array.NewRecordBuilder(memory.DefaultAllocator, schema)
}

// batch writes rows as a record batch.
func (w *ArrowWriter) batch(interval int64, s *planner.Statistics, from, to int) error {
	for i, f := range w.columns {
		switch b := w.rows.Field(i); f {
		case fieldInterval:
			for range to - from {
				b.(*array.Int64Builder).Append(interval)
			}
		case fieldKey:
			for row := from; row < to; row++ {
				if !utf8.Valid(s.Keys.At(row)) {
					return ErrKeyText
				}
				b.(*array.StringBuilder).BinaryBuilder.Append(s.Keys.At(row))
			}
		case fieldCost:
			b.(*array.Float64Builder).AppendValues(s.Cost[from:to], nil)
		case fieldState:
			b.(*array.Float64Builder).AppendValues(s.State[from:to], nil)
		case fieldInstance:
			appendInstances(b.(*array.Int32Builder), s.Instance[from:to])
		case fieldHashInstance:
			appendInstances(b.(*array.Int32Builder), s.HashInstance[from:to])
		}
	}
	batch := w.rows.NewRecordBatch()
	defer batch.Release()
	return w.out.Write(batch)
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
