package jsonrows

import (
	"bytes"
	"io"

	"plannerd/internal/input/internal/columns"
)

// Lines reads rows as JSON objects, one a line. Blank lines are skipped.
type Lines struct{ rowParser }

// NewLines returns a reader of rows of the given fields, which must be closed.
func NewLines(r io.Reader, o columns.Options, fields columns.Field) *Lines {
	p := new(Lines)
	p.Start(r, o, columns.ShapeRows, fields)
	p.Context = func() string { return p.Pointer(p.Rows, "") }
	return p
}

// Next reads the next row; false at the end.
func (p *Lines) Next(r *columns.Row) (bool, error) {
	before := p.Base + int64(p.Pos)
	over, err := p.Over()
	if over || err != nil {
		return false, err
	}
	p.Ragged = p.Ragged || p.Base+int64(p.Pos) > before // blank lines, perhaps
	return true, p.Unit(func(i int) (int, bool) { return p.line(i, r) })
}

// line reads a row and the end of its line.
func (p *Lines) line(i int, r *columns.Row) (next int, ok bool) {
	next, ok = p.row(i, r)
	if !ok {
		return 0, false
	}
	b := p.Buf
	if k := bytes.IndexByte(b[i:next], '\n'); k >= 0 {
		return 0, p.Fail(i+k, "line break in a row")
	}
	return p.EndOfLine(next, "expected the end of the line")
}
