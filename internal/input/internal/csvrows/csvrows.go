// Package csvrows reads rows from CSV. It knows cells and headers; what rows must have is for
// package columns to know.
package csvrows

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/window"
	"plannerd/planner"
)

// Rows reads rows as records of RFC 4180 under a header that names the
// columns, in any order. Lines end in LF or CRLF; a byte order mark before the
// header and blank lines before it and at the end are skipped. Numbers are decimal, and may
// unlike JSON's have a plus sign, leading zeros and no digit on one side of the
// point. An empty cell means that the row lacks the field.
//
// Cells may as well stand between semicolons, tabs, bars or runs of spaces: the header shows
// which, unless the mapping says it. A line of nothing but dashes under the header is skipped.
//
// A header with the column count, and none for the key, is that of compact
// records: instance, hash_instance, cost, state and count, all of them. Rows of
// either kind may name their interval in a further column, all of them the same.
type Rows struct {
	window.Decoder
	columns       []columns.Place
	text, keyText []byte   // what a cell, and the record's key, is unquoted into
	parts         keyParts // of the record's key, when several columns hold it
	delimiter     byte
	padded        bool // spaces around cells mean nothing
	wide          bool // a single space is a part of a cell
}

// New reads the header of rows of the given fields; those of statistics may
// turn out to be of records. The reader must be closed, also after an error.
func New(r io.Reader, o columns.Options, fields columns.Field) (*Rows, error) {
	p := new(Rows)
	p.Start(r, o, columns.ShapeRows, fields)
	p.Context = func() string { return "" }
	if o.NoLines {
		p.Line = nil
	}
	names, err := p.columnNames()
	if err != nil {
		return p, err
	}
	p.Context = func() string { return p.Pointer(p.Rows, "") }
	p.columns, err = p.Places(names, &o.Mapping)
	if key := o.Columns[columns.Key.String()]; len(key) > 1 {
		p.parts = make(keyParts, len(key))
	}
	if err == nil && o.Header == nil {
		err = p.Unit(p.rule)
	}
	return p, err
}

// columnNames reads the header, or takes the names from the options: then it leaves
// the first line for a row.
func (p *Rows) columnNames() (names []string, err error) {
	for range p.Options.Skip {
		if err := p.Unit(p.line); err != nil {
			return nil, err
		}
	}
	given := p.Options.Header
	if len(given) > 0 {
		return given, p.Unit(func(i int) (int, bool) { return i, p.chooseDelimiter(i) })
	}
	err = p.Unit(func(i int) (next int, ok bool) {
		names, next, ok = p.header(i)
		if given != nil {
			next = i
		}
		return next, ok
	})
	if err == nil && given != nil {
		cells := len(names)
		if len(p.Options.Columns) > 0 {
			return numbered(cells), nil
		}
		names = []string{"key", "cost", "state", "instance"}
		if cells < 2 || cells > len(names) {
			p.Fail(p.Pos, fmt.Sprintf("%d cells without a header to name them", cells))
			return nil, p.Malformed()
		}
		names = names[:cells]
	}
	return names, err
}

// header reads the names of the columns.
func (p *Rows) header(i int) (names []string, next int, ok bool) {
	b := p.Buf
	if string(b[i:i+3]) == "\uFEFF" {
		i += 3
	}
	for b[i] == '\n' || b[i] == '\r' {
		i++
	}
	if i >= p.End {
		return nil, 0, p.Fail(i, "missing header")
	}
	if !p.chooseDelimiter(i) {
		return nil, 0, false
	}
	i = p.unpad(i)
	for {
		text, after, ok := p.cell(i)
		if !ok {
			return nil, 0, false
		}
		names = append(names, string(text))
		if i = after; b[i] == p.delimiter {
			i = p.unpad(i + 1)
			continue
		}
		i, ok = p.lineEnd(i)
		return names, i, ok
	}
}

// Next reads the next record; false at the end.
func (p *Rows) Next(r *columns.Row) (more bool, err error) {
	for {
		known := len(p.Problems)
		err = p.Unit(func(i int) (next int, ok bool) {
			if next, more, ok = p.record(i, r); !ok && p.Options.LeaveOut != nil && p.Failed() != "" {
				r.Reset()
				p.Wrong(p.Rows, "", p.Failed())
				more = true
				next, ok = p.line(i)
			}
			return next, ok
		})
		if p.Options.LeaveOut == nil || err != nil || !more || !columns.Faulty(&p.Builder, known, r) {
			return more, err
		}
	}
}

// record reads a record, skipping blank lines; more is false at the end.
func (p *Rows) record(i int, r *columns.Row) (next int, more, ok bool) {
	b, last := p.Buf, len(p.columns)-1
	if i >= p.End {
		if p.EOF {
			return i, false, true
		}
		return 0, false, p.Fail(i, "")
	}
	if (b[i] == '\n' || b[i] == '\r') && !(p.Options.NoLines && last == 0) { // a single cell may be empty
		next, ok = p.blank(i)
		return next, false, ok
	}
	r.Reset()
	i = p.unpad(i)
	for c, f := range p.columns {
		if i, ok = p.field(i, f, r); !ok {
			return 0, false, false
		}
		if c == last {
			break
		}
		if b[i] != p.delimiter {
			return 0, false, p.Fail(i, fmt.Sprintf("fewer than %d cells", last+1))
		}
		i = p.unpad(i + 1)
	}
	if b[i] == p.delimiter {
		return 0, false, p.Fail(i, fmt.Sprintf("more than %d cells", last+1))
	}
	if p.parts != nil {
		if r.Key = p.parts.join(p.keyText[:0], p.Options.Separator()); r.Key != nil {
			p.keyText = r.Key
			r.Seen |= columns.Key
		}
	}
	next, ok = p.lineEnd(i)
	return next, true, ok
}

// blank reads blank lines, which stand at the end only.
func (p *Rows) blank(i int) (next int, ok bool) {
	for p.Buf[i] == '\n' || p.Buf[i] == '\r' {
		if i, ok = p.lineEnd(i); !ok {
			return 0, false
		}
	}
	return i, i >= p.End && p.EOF || p.Fail(i, "blank line between records")
}

// lineEnd reads the end of a line.
func (p *Rows) lineEnd(i int) (next int, ok bool) {
	b := p.Buf
	if b[i] == '\r' {
		i++
	}
	if b[i] == '\n' {
		return i + 1, true
	}
	if i >= p.End && p.EOF && (i == 0 || b[i-1] != '\r') {
		return i, true
	}
	return 0, p.Fail(i, "expected the end of a line")
}

// field reads the cell of a field.
func (p *Rows) field(i int, at columns.Place, r *columns.Row) (next int, ok bool) {
	switch f := at.Field; f {
	case 0:
		_, next, ok = p.cell(i)
	case columns.Key:
		if p.parts != nil {
			var text []byte
			text, next, ok = p.cell(i)
			p.parts[at.Part] = append(p.parts[at.Part][:0], text...)
			return next, ok
		}
		if r.Key, next, ok = p.cell(i); len(r.Key) == 0 {
			r.Key = nil
		} else {
			r.Seen |= f
		}
		p.text, p.keyText = p.keyText, p.text // the key must outlast the other cells
	case columns.Cost, columns.Frequency:
		r.Cost, next, ok = p.amount(i, at, r)
	case columns.State:
		r.State, next, ok = p.amount(i, at, r)
	case columns.Costs:
		var x float64
		x, next, ok = p.amount(i, at, r)
		r.SetCost(at.Part, x)
	case columns.Instance:
		r.Instance, next, ok = p.id(i, f, r)
	case columns.HashInstance:
		r.HashInstance, next, ok = p.id(i, f, r)
	case columns.Count:
		r.Count, next, ok = p.count(i, r)
	case columns.From:
		r.From, next, ok = p.id(i, f, r)
	case columns.To:
		r.To, next, ok = p.id(i, f, r)
	case columns.Interval:
		if p.Options.IntervalOf != nil {
			return p.time(i, r)
		}
		r.Interval, next, ok = p.integer(i, f, r, columns.MaxInterval, columns.DetailInterval)
	}
	return next, ok
}

// ends tells whether what is at i may stand behind a cell.
func (p *Rows) ends(i int) bool {
	c := p.Buf[i]
	return c == p.delimiter && (!p.wide || p.Buf[i+1] == ' ') || c == '\n' || c == '\r'
}

// amount reads a cost, a frequency, a state, or what is taken of a resource.
func (p *Rows) amount(i int, at columns.Place, r *columns.Row) (x float64, next int, ok bool) {
	x, next, ok = p.Number(i)
	if ok && p.ends(next) && !(grouped(&p.Options) && bytes.IndexByte(p.Buf[i:next], '.') >= 0) {
		r.Seen |= at.Field
		if !columns.IsAmount(x) {
			p.WrongValue(p.Rows, p.NameOf(at), p.Buf[i:next], columns.AmountDetail(x))
		}
		return x, p.unpadEnd(next), true
	}
	text, next, ok := p.cell(i)
	if !ok || len(text) == 0 {
		return 0, next, ok
	}
	r.Seen |= at.Field
	x = quantity(text, &p.Options)
	if !columns.IsAmount(x) {
		p.WrongValue(p.Rows, p.NameOf(at), text, amountDetail(x, text, p.Options.DecimalComma))
	}
	return x, next, true
}

// count reads the number of keys of a record.
func (p *Rows) count(i int, r *columns.Row) (v int64, next int, ok bool) {
	v, next, ok = p.integer(i, columns.Count, r, columns.MaxCount, columns.DetailCount)
	if ok && v == 0 {
		p.Wrong(p.Rows, columns.Count.String(), columns.DetailCount)
	}
	return v, next, ok
}

// id reads the id of an instance, or its name. NoInstance stands for an empty cell, for the dash that
// tools print for nothing, and for what is wrong.
func (p *Rows) id(i int, f columns.Field, r *columns.Row) (v int32, next int, ok bool) {
	n, next := window.Digits(p.Buf, i, math.MaxInt32)
	if next > i && p.ends(next) {
		r.Seen |= f
		return int32(n), p.unpadEnd(next), true
	}
	text, next, ok := p.cell(i)
	if !ok || len(text) == 0 {
		return planner.NoInstance, next, ok
	}
	r.Seen |= f
	if string(text) == "-" && p.Options.Instances != nil {
		return planner.NoInstance, next, true
	}
	v, detail := p.Named(text)
	if detail != "" {
		p.WrongValue(p.Rows, f.String(), text, detail)
	}
	return v, next, true
}

// integer reads an integer from 0 to limit. NoInstance stands for an empty cell,
// and for one that is wrong.
func (p *Rows) integer(
	i int, f columns.Field, r *columns.Row, limit int64, detail string,
) (v int64, next int, ok bool) {
	if v, next = window.Digits(p.Buf, i, limit); next > i && p.ends(next) {
		r.Seen |= f
		return v, p.unpadEnd(next), true
	}
	text, next, ok := p.cell(i)
	if !ok || len(text) == 0 {
		return int64(planner.NoInstance), next, ok
	}
	r.Seen |= f
	n, err := strconv.ParseUint(string(text), 10, 63)
	if err != nil || int64(n) > limit {
		p.WrongValue(p.Rows, f.String(), text, detail)
		return int64(planner.NoInstance), next, true
	}
	return int64(n), next, true
}

// cellStops marks the lowest byte of x that may end a plain cell, or is not
// ASCII. The delimiter stands in each byte of delimiters.
func cellStops(x, delimiters uint64) uint64 {
	return window.ZeroBytes(x^delimiters) | window.ZeroBytes(x^'"'*window.Ones) | ((x-' '*window.Ones)&^x|x)&window.Highs
}

// cell reads any cell. The text lies in the window or in p.text.
func (p *Rows) cell(i int) (text []byte, next int, ok bool) {
	b := p.Buf
	if b[i] == '"' {
		if text, next, ok = p.quoted(i + 1); ok {
			next = p.unpadEnd(next)
		}
		return text, next, ok
	}
	start, ascii, delimiters := i, true, uint64(p.delimiter)*window.Ones
	for {
		m := cellStops(binary.LittleEndian.Uint64(b[i:]), delimiters)
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		switch c := b[i]; {
		case i >= p.End && !p.EOF:
			return nil, 0, p.Fail(i, "")
		case p.ends(i) || i >= p.End:
			if !ascii && !utf8.Valid(b[start:i]) {
				return nil, 0, p.Fail(start, "cell that is not UTF-8")
			}
			if p.padded {
				return bytes.TrimRight(b[start:i:i], " "), p.unpadEnd(i), true
			}
			return b[start:i:i], i, true
		case c == '"':
			return nil, 0, p.Fail(i, "quote in a cell that is not quoted")
		case c >= utf8.RuneSelf:
			ascii = false
		}
		i++
	}
}

// quoted reads a quoted cell from behind its opening quote.
func (p *Rows) quoted(i int) (text []byte, next int, ok bool) {
	b, from := p.Buf, i
	out := p.text[:0]
	for {
		for b[i] != '"' {
			if b[i] == 0 && i >= p.End {
				return nil, 0, p.Fail(i, "")
			}
			i++
		}
		if i+1 >= p.End && !p.EOF {
			return nil, 0, p.Fail(i+1, "") // half of a doubled quote, perhaps
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
		p.Ragged = true
	}
	if !utf8.Valid(text) {
		return nil, 0, p.Fail(from, "cell that is not UTF-8")
	}
	if after := b[p.unpadEnd(i+1)]; i+1 < p.End && after != p.delimiter && after != '\n' && after != '\r' {
		return nil, 0, p.Fail(i+1, "text after a quoted cell")
	}
	return text, i + 1, true
}
