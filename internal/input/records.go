package input

import (
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/compact"
)

// recordFields names the numbers of a compact record in their order in JSON.
var recordFields = [...]string{"instance", "hash_instance", "cost", "state", "count"}

// addRecord takes a row of the compact form.
func (b *builder) addRecord(n int, r *row) {
	b.requireAll(n, r.seen)
	if r.count > 0 && b.keyed <= maxCount {
		if b.keyed += r.count; b.keyed > maxCount { // once is enough
			b.problem(n, "count", detailKeyed)
		}
	}
	if len(b.problems) > 0 {
		return
	}
	b.records.add(compact.Record{
		Planned: r.instance, Current: r.instance, Hash: r.hashInstance,
		Cost: r.cost, State: r.state, Count: r.count,
	})
}

// compact reads the object "compact": its records become rows, all else a
// member of the document.
func (p *jsonParser) compact() error {
	p.pos++
	rest := []byte{'{'}
	names := map[string]bool{}
	outer := p.context
	err := p.object(func(name string) error {
		p.context = func() string { return "/compact/" + escapePointer(name) }
		defer func() { p.context = outer }()
		if names[name] {
			p.fail(p.pos, "duplicate member")
			return p.malformed()
		}
		if len(names) == maxMembers {
			return tooManyMembers("/compact")
		}
		names[name] = true
		if name == "records" {
			p.recordsSeen = true
			return p.recordList()
		}
		value, err := p.raw(maxMemberBytes)
		if err != nil {
			return err
		}
		if !p.meter.take(2 * len(value)) { // as appending may double the room
			return p.meter.refused()
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
func (p *jsonParser) recordList() error {
	if p.buf[p.pos] != '[' {
		p.problemAt("/compact/records", "must be a list of records")
		return p.skip()
	}
	p.turn(p.rowsSeen || p.columnsSeen, shapeRecords, recordRow)
	p.context = func() string { return p.pointer(p.rows, "") }
	var r row
	return p.list(
		func(i int) (int, bool) { return p.record(i, &r) },
		func() error { return p.add(&r) })
}

// record reads the JSON value at i as the next record. Problems are noted; of a
// record of the wrong length that is the only one, as its numbers have no names.
func (p *rowParser) record(i int, r *row) (next int, ok bool) {
	r.reset()
	b, known := p.buf, len(p.problems)
	if b[i] != '[' {
		if next, ok = p.value(i); ok {
			p.problem(p.rows, "", detailRecord)
		}
		r.broken = true
		return next, ok
	}
	n := 0
	for i = space(b, i+1); b[i] != ']' || n > 0; i = space(b, i+1) {
		if i, ok = p.recordValue(i, n, r); !ok {
			return 0, false
		}
		n++
		if i = space(b, i); b[i] == ']' {
			break
		}
		if b[i] != ',' {
			return 0, p.fail(i, "expected , or ]")
		}
	}
	if n != len(recordFields) {
		p.problems = p.problems[:known]
		p.problem(p.rows, "", detailRecord)
		r.broken = true
	}
	return i + 1, true
}

// recordValue reads number n of a record.
func (p *rowParser) recordValue(i, n int, r *row) (next int, ok bool) {
	switch n {
	case 0:
		r.instance, next, ok = p.idValue(i, p.rows, fieldInstance)
	case 1:
		r.hashInstance, next, ok = p.idValue(i, p.rows, fieldHashInstance)
	case 2:
		r.cost, next, ok = p.amount(i, p.rows, fieldCost)
	case 3:
		r.state, next, ok = p.amount(i, p.rows, fieldState)
	case 4:
		r.count, next, ok = p.countValue(i)
		r.seen = recordRow
	default:
		next, ok = p.value(i)
	}
	return next, ok
}

// countValue reads the number of keys of a record; 0 when it is none.
func (p *rowParser) countValue(i int) (v int64, next int, ok bool) {
	if v, next, ok = p.integer(i, maxCount); !ok || v == 0 {
		v = 0
		next, ok = p.wrong(i, p.rows, fieldCount, detailCount)
	}
	return v, next, ok
}
