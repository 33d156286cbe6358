// Package columnar turns Parquet files, and Arrow streams whose columns have other names than
// plannerd's, into CSV, which package input reads. It knows how values are written as text; what
// columns mean is for package columns to know.
package columnar

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/parquet-go/parquet-go"

	"plannerd/internal/input"
)

// NewArrow returns CSV of an Arrow stream.
func NewArrow(r io.Reader) (io.Reader, error) {
	batches, err := ipc.NewReader(r)
	if err != nil {
		return nil, malformed(err)
	}
	var names []string
	for _, column := range batches.Schema().Fields() {
		names = append(names, column.Name)
	}
	return newReader(names, func(out *csv.Writer) error {
		if !batches.Next() {
			return cmp.Or(batches.Err(), io.EOF)
		}
		return writeBatch(out, batches.RecordBatch())
	}), nil
}

// NewParquet returns CSV of a Parquet file of at most so many bytes, which is read into memory.
func NewParquet(r io.Reader, limit int64) (io.Reader, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading statistics: %w", err)
	case int64(len(text)) > limit:
		return nil, refused(input.TooLarge, fmt.Sprintf("more than %d bytes", limit))
	}
	f, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, malformed(err)
	}
	var names []string
	for _, path := range f.Schema().Columns() {
		names = append(names, strings.Join(path, "."))
	}
	groups := f.RowGroups()
	var rows parquet.Rows
	batch := make([]parquet.Row, batchRows)
	return newReader(names, func(out *csv.Writer) error {
		if rows == nil {
			if len(groups) == 0 {
				return io.EOF
			}
			rows, groups = groups[0].Rows(), groups[1:]
		}
		n, err := rows.ReadRows(batch)
		writeRows(out, batch[:n], len(names))
		if errors.Is(err, io.EOF) {
			err, rows = rows.Close(), nil
		}
		return err
	}), nil
}

// batchRows is how many rows of a Parquet file are turned into text at a time.
const batchRows = 1 << 10

func malformed(err error) error { return refused(input.Malformed, err.Error()) }

func refused(kind input.Kind, detail string) error {
	return &input.Error{Kind: kind, Problems: []input.Problem{{Detail: detail}}}
}

// reader is CSV of batches, which write writes until it returns io.EOF.
type reader struct {
	write func(out *csv.Writer) error
	text  bytes.Buffer
	out   *csv.Writer
}

func newReader(names []string, write func(out *csv.Writer) error) *reader {
	r := &reader{write: write}
	r.out = csv.NewWriter(&r.text) // which never fails
	_ = r.out.Write(names)
	r.out.Flush()
	return r
}

// Read reads CSV.
func (r *reader) Read(b []byte) (int, error) {
	for r.text.Len() == 0 {
		err := r.write(r.out)
		if r.out.Flush(); errors.Is(err, io.EOF) && r.text.Len() == 0 {
			return 0, io.EOF
		} else if err != nil && !errors.Is(err, io.EOF) {
			return 0, malformed(err)
		}
	}
	return r.text.Read(b)
}

func writeRows(out *csv.Writer, rows []parquet.Row, columns int) {
	cells := make([]string, columns)
	for _, row := range rows {
		clear(cells)
		for _, v := range row {
			if !v.IsNull() { // of a list only the last value is told
				cells[v.Column()] = v.String()
			}
		}
		_ = out.Write(cells)
	}
}

func writeBatch(out *csv.Writer, batch arrow.RecordBatch) error {
	cells := make([]string, batch.NumCols())
	for row := range int(batch.NumRows()) {
		for c, column := range batch.Columns() {
			cells[c] = textOf(column, row)
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	return nil
}

// textOf is the text of a value; empty for null.
func textOf(column arrow.Array, row int) string {
	if column.IsNull(row) {
		return ""
	}
	switch column := column.(type) {
	case *array.Binary: // written by others in base64
		return string(column.Value(row))
	case *array.LargeBinary:
		return string(column.Value(row))
	case *array.Dictionary:
		return textOf(column.Dictionary(), column.GetValueIndex(row))
	}
	return column.ValueStr(row)
}
