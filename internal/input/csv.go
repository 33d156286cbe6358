package input

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"plannerd/planner"
)

// DecodeCSV reads rows as records of RFC 4180 under a header that names the
// columns, in any order. Lines end in LF or CRLF; a byte order mark before the
// header and blank lines at the end are skipped. Numbers are decimal, and may
// unlike JSON's have a plus sign, leading zeros and no digit on one side of the
// point. An empty cell means that the row lacks the field.
//
// A header with the column count, and none for the key, is that of compact
// records: instance, hash_instance, cost, state and count, all of them. Rows of
// either kind may name their interval in a further column, all of them the same.
func DecodeCSV(r io.Reader, o Options) (*Document, error) {
	p, err := newCSV(r, o, statisticsRow|fieldInterval)
	defer p.close()
	if err != nil {
		return nil, err
	}
	if err := readRows(p, &p.builder); err != nil {
		return nil, err
	}
	return p.document()
}

// csvParser reads the records of a CSV text.
type csvParser struct {
	decoder
	columns []field
	keyText []byte // what the record's key is unquoted into
}

// newCSV reads the header of rows of the given fields; those of statistics may
// turn out to be of records. The parser must be closed, also after an error.
func newCSV(r io.Reader, o Options, fields field) (*csvParser, error) {
	p := new(csvParser)
	p.start(r, o, shapeRows, fields)
	p.context = func() string { return "" }
	names, err := p.columnNames()
	if err != nil {
		return p, err
	}
	p.context = func() string { return p.pointer(p.rows, "") }
	p.columns, err = p.setColumns(names)
	return p, err
}

// columnNames reads the header, or takes the names from the options: then it leaves
// the first line for a row.
func (p *csvParser) columnNames() (names []string, err error) {
	given := p.options.Header
	if len(given) > 0 {
		return given, nil
	}
	err = p.unit(func(i int) (next int, ok bool) {
		names, next, ok = p.header(i)
		if given != nil {
			next = i
		}
		return next, ok
	})
	if err == nil && given != nil {
		cells := len(names)
		names = []string{"key", "cost", "state", "instance"}
		if cells < 2 || cells > len(names) {
			p.fail(p.pos, fmt.Sprintf("%d cells without a header to name them", cells))
			return nil, p.malformed()
		}
		names = names[:cells]
	}
	return names, err
}

// header reads the names of the columns.
func (p *csvParser) header(i int) (names []string, next int, ok bool) {
	b := p.buf
	if string(b[i:i+3]) == "\uFEFF" {
		i += 3
	}
	if i >= p.end {
		return nil, 0, p.fail(i, "missing header")
	}
	for {
		text, after, ok := p.cell(i)
		if !ok {
			return nil, 0, false
		}
		names = append(names, string(text))
		if i = after; b[i] == ',' {
			i++
			continue
		}
		i, ok = p.lineEnd(i)
		return names, i, ok
	}
}

// next reads the next record; false at the end.
func (p *csvParser) next(r *row) (more bool, err error) {
	err = p.unit(func(i int) (next int, ok bool) {
		next, more, ok = p.record(i, r)
		return next, ok
	})
	return more, err
}

// record reads a record, skipping blank lines; more is false at the end.
func (p *csvParser) record(i int, r *row) (next int, more, ok bool) {
	b := p.buf
	if i >= p.end {
		if p.eof {
			return i, false, true
		}
		return 0, false, p.fail(i, "")
	}
	if b[i] == '\n' || b[i] == '\r' {
		for b[i] == '\n' || b[i] == '\r' {
			if i, ok = p.lineEnd(i); !ok {
				return 0, false, false
			}
		}
		return i, false, i >= p.end && p.eof || p.fail(i, "blank line between records")
	}
	r.reset()
	last := len(p.columns) - 1
	for c, f := range p.columns {
		if i, ok = p.field(i, f, r); !ok {
			return 0, false, false
		}
		if c == last {
			break
		}
		if b[i] != ',' {
			return 0, false, p.fail(i, fmt.Sprintf("fewer than %d cells", last+1))
		}
		i++
	}
	if b[i] == ',' {
		return 0, false, p.fail(i, fmt.Sprintf("more than %d cells", last+1))
	}
	next, ok = p.lineEnd(i)
	return next, true, ok
}

// lineEnd reads the end of a line.
func (p *csvParser) lineEnd(i int) (next int, ok bool) {
	b := p.buf
	if b[i] == '\r' {
		i++
	}
	if b[i] == '\n' {
		return i + 1, true
	}
	if i >= p.end && p.eof && (i == 0 || b[i-1] != '\r') {
		return i, true
	}
	return 0, p.fail(i, "expected the end of a line")
}

// field reads the cell of a field.
func (p *csvParser) field(i int, f field, r *row) (next int, ok bool) {
	switch f {
	case fieldKey:
		if r.key, next, ok = p.cell(i); len(r.key) == 0 {
			r.key = nil
		} else {
			r.seen |= f
		}
		p.text, p.keyText = p.keyText, p.text // the key must outlast the other cells
	case fieldCost, fieldFrequency:
		r.cost, next, ok = p.amount(i, f, r)
	case fieldState:
		r.state, next, ok = p.amount(i, f, r)
	case fieldInstance:
		r.instance, next, ok = p.id(i, f, r)
	case fieldHashInstance:
		r.hashInstance, next, ok = p.id(i, f, r)
	case fieldCount:
		r.count, next, ok = p.count(i, r)
	case fieldFrom:
		r.from, next, ok = p.id(i, f, r)
	case fieldTo:
		r.to, next, ok = p.id(i, f, r)
	case fieldInterval:
		r.interval, next, ok = p.integer(i, f, r, maxInterval, detailInterval)
	}
	return next, ok
}

// ends tells whether c may stand behind a cell.
func ends(c byte) bool { return c == ',' || c == '\n' || c == '\r' }

// amount reads a cost, a frequency or a state.
func (p *csvParser) amount(i int, f field, r *row) (x float64, next int, ok bool) {
	if x, next, ok = p.number(i); ok && ends(p.buf[next]) {
		r.seen |= f
		if !isAmount(x) {
			p.wrongValue(p.rows, f.String(), p.buf[i:next], amountDetail(x))
		}
		return x, next, true
	}
	text, next, ok := p.cell(i)
	if !ok || len(text) == 0 {
		return 0, next, ok
	}
	r.seen |= f
	if x, ok = decimal(text); !ok {
		x = -1
	}
	if !isAmount(x) {
		p.wrongValue(p.rows, f.String(), text, amountDetail(x))
	}
	return x, next, true
}

// decimal reads a decimal number, which is less than strconv takes for one.
func decimal(text []byte) (x float64, ok bool) {
	if len(bytes.Trim(text, "+-.0123456789Ee")) > 0 {
		return 0, false
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return parseFloat(text), err == nil || errors.Is(err, strconv.ErrRange)
}

// count reads the number of keys of a record.
func (p *csvParser) count(i int, r *row) (v int64, next int, ok bool) {
	v, next, ok = p.integer(i, fieldCount, r, maxCount, detailCount)
	if ok && v == 0 {
		p.problem(p.rows, fieldCount.String(), detailCount)
	}
	return v, next, ok
}

// id reads the id of an instance.
func (p *csvParser) id(i int, f field, r *row) (v int32, next int, ok bool) {
	n, next, ok := p.integer(i, f, r, 1<<31-1, detailInstance)
	return int32(n), next, ok
}

// integer reads an integer from 0 to limit. NoInstance stands for an empty cell,
// and for one that is wrong.
func (p *csvParser) integer(i int, f field, r *row, limit int64, detail string) (v int64, next int, ok bool) {
	if v, next = digits(p.buf, i, limit); next > i && ends(p.buf[next]) {
		r.seen |= f
		return v, next, true
	}
	text, next, ok := p.cell(i)
	if !ok || len(text) == 0 {
		return int64(planner.NoInstance), next, ok
	}
	r.seen |= f
	n, err := strconv.ParseUint(string(text), 10, 63)
	if err != nil || int64(n) > limit {
		p.wrongValue(p.rows, f.String(), text, detail)
		return int64(planner.NoInstance), next, true
	}
	return int64(n), next, true
}

const commas = ',' * ones

// cellStops marks the lowest byte of x that may end a plain cell, or is not
// ASCII.
func cellStops(x uint64) uint64 {
	return zeroBytes(x^commas) | zeroBytes(x^'"'*ones) | ((x-' '*ones)&^x|x)&highs
}

// cell reads any cell. The text lies in the window or in p.text.
func (p *csvParser) cell(i int) (text []byte, next int, ok bool) {
	b := p.buf
	if b[i] == '"' {
		return p.quoted(i + 1)
	}
	start, ascii := i, true
	for {
		m := cellStops(binary.LittleEndian.Uint64(b[i:]))
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		switch c := b[i]; {
		case i >= p.end && !p.eof:
			return nil, 0, p.fail(i, "")
		case ends(c) || i >= p.end:
			if !ascii && !utf8.Valid(b[start:i]) {
				return nil, 0, p.fail(start, "cell that is not UTF-8")
			}
			return b[start:i:i], i, true
		case c == '"':
			return nil, 0, p.fail(i, "quote in a cell that is not quoted")
		case c >= utf8.RuneSelf:
			ascii = false
		}
		i++
	}
}

// quoted reads a quoted cell from behind its opening quote.
func (p *csvParser) quoted(i int) (text []byte, next int, ok bool) {
	b, from := p.buf, i
	out := p.text[:0]
	for {
		for b[i] != '"' {
			if b[i] == 0 && i >= p.end {
				return nil, 0, p.fail(i, "")
			}
			i++
		}
		if i+1 >= p.end && !p.eof {
			return nil, 0, p.fail(i+1, "") // half of a doubled quote, perhaps
		}
		if b[i+1] != '"' {
			break
		}
		out = append(out, b[from:i+1]...)
		i += 2
		from = i
	}
	text = b[from:i:i]
	if len(out) > 0 {
		p.text = append(out, text...)
		text = p.text
	}
	if bytes.IndexByte(text, '\n') >= 0 {
		p.ragged = true
	}
	if !utf8.Valid(text) {
		return nil, 0, p.fail(from, "cell that is not UTF-8")
	}
	if i+1 < p.end && !ends(b[i+1]) {
		return nil, 0, p.fail(i+1, "text after a quoted cell")
	}
	return text, i + 1, true
}
