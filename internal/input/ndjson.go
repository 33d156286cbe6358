package input

import (
	"bytes"
	"io"
)

// rowSource reads rows one by one.
type rowSource interface {
	// next reads the next row; false at the end. Its key is valid until the next
	// call.
	next(*row) (bool, error)
}

// readRows reads all rows of a source into its builder.
func readRows(s rowSource, b *builder) error {
	var r row
	for {
		ok, err := s.next(&r)
		if err != nil || !ok {
			return err
		}
		b.checkInterval(&r)
		if err := b.add(&r); err != nil {
			return err
		}
	}
}

// DecodeNDJSON reads rows as JSON objects, one a line. Blank lines are skipped. Rows may
// name their interval, all of them the same.
func DecodeNDJSON(r io.Reader, o Options) (*Document, error) {
	p := newNDJSON(r, o, statisticsRow|fieldInterval)
	defer p.close()
	if err := readRows(p, &p.builder); err != nil {
		return nil, err
	}
	return p.document()
}

// ndjson reads rows as JSON objects, one a line.
type ndjson struct{ rowParser }

func newNDJSON(r io.Reader, o Options, fields field) *ndjson {
	p := new(ndjson)
	p.start(r, o, shapeRows, fields)
	p.context = func() string { return p.pointer(p.rows, "") }
	return p
}

// next reads the next row; false at the end.
func (p *ndjson) next(r *row) (bool, error) {
	before := p.base + int64(p.pos)
	over, err := p.over()
	if over || err != nil {
		return false, err
	}
	p.ragged = p.ragged || p.base+int64(p.pos) > before // blank lines, perhaps
	return true, p.unit(func(i int) (int, bool) { return p.line(i, r) })
}

// line reads a row and the end of its line.
func (p *ndjson) line(i int, r *row) (next int, ok bool) {
	next, ok = p.row(i, r)
	if !ok {
		return 0, false
	}
	b := p.buf
	if k := bytes.IndexByte(b[i:next], '\n'); k >= 0 {
		return 0, p.fail(i+k, "line break in a row")
	}
	return p.endOfLine(next, "expected the end of the line")
}
