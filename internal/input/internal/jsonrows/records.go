package jsonrows

import (
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/window"
)

// compact reads the object "compact": its records become rows, all else a
// member of the document.
func (p *parser) compact() error {
	rest, members := []byte{'{'}, 0
	err := p.object(func(name string) error {
		if members++; members > columns.MaxMembers {
			return tooManyMembers("/compact")
		}
		if name == "records" {
			p.recordsSeen = true
			return p.recordList()
		}
		value, err := p.raw(maxMemberBytes)
		if err != nil {
			return err
		}
		if !p.Meter.Take(2 * len(value)) { // as appending may double the room
			return p.Meter.Refused()
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest, _ = jsontext.AppendQuote(rest, name) // the name is valid UTF-8
		rest = append(append(rest, ':'), value...)
		return nil
	})
	p.members["compact"] = append(rest, '}')
	return err
}

// recordList reads the value of "records".
func (p *parser) recordList() error {
	if p.Buf[p.Pos] != '[' {
		p.WrongAt("/compact/records", "must be a list of records")
		return p.skip()
	}
	p.turn(p.rowsSeen || p.columnsSeen, columns.ShapeRecords, columns.RecordRow)
	p.Context = func() string { return p.Pointer(p.Rows, "") }
	var r columns.Row
	return p.list(
		func(i int) (int, bool) { return p.record(i, &r) },
		func() error { return p.Add(&r) })
}

// record reads the JSON value at i as the next record. Problems are noted; of a
// record of the wrong length that is the only one, as its numbers have no names.
func (p *rowParser) record(i int, r *columns.Row) (next int, ok bool) {
	r.Reset()
	b, known := p.Buf, len(p.Problems)
	if b[i] != '[' {
		if next, ok = p.value(i); ok {
			p.Wrong(p.Rows, "", columns.DetailRecord)
		}
		r.Broken = true
		return next, ok
	}
	n := 0
	for i = window.Space(b, i+1); b[i] != ']' || n > 0; i = window.Space(b, i+1) {
		if i, ok = p.recordValue(i, n, r); !ok {
			return 0, false
		}
		n++
		if i = window.Space(b, i); b[i] == ']' {
			break
		}
		if b[i] != ',' {
			return 0, p.Fail(i, "expected , or ]")
		}
	}
	if n != len(columns.RecordFields) {
		p.Problems = p.Problems[:known]
		p.Wrong(p.Rows, "", columns.DetailRecord)
		r.Broken = true
	}
	return i + 1, true
}

// recordValue reads number n of a record.
func (p *rowParser) recordValue(i, n int, r *columns.Row) (next int, ok bool) {
	switch n {
	case 0:
		r.Instance, next, ok = p.number(i, p.Rows, columns.Instance)
	case 1:
		r.HashInstance, next, ok = p.number(i, p.Rows, columns.HashInstance)
	case 2:
		r.Cost, next, ok = p.amount(i, p.Rows, columns.Cost.String())
	case 3:
		r.State, next, ok = p.amount(i, p.Rows, columns.State.String())
	case 4:
		r.Count, next, ok = p.countValue(i)
		r.Seen = columns.RecordRow
	default:
		next, ok = p.value(i)
	}
	return next, ok
}

// countValue reads the number of keys of a record; 0 when it is none.
func (p *rowParser) countValue(i int) (v int64, next int, ok bool) {
	if v, next, ok = p.integer(i, columns.MaxCount); !ok || v == 0 {
		v = 0
		next, ok = p.wrong(i, p.Rows, columns.Count.String(), columns.DetailCount)
	}
	return v, next, ok
}
