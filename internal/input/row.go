package input

import (
	"slices"

	"plannerd/planner"
)

// rowParser reads rows written as JSON objects.
type rowParser struct {
	decoder
	unknown []string // names of the present row's unknown members
}

// row reads the JSON value at i as the next row. Problems are noted; what else
// makes a row complete is for add to check.
func (p *rowParser) row(i int, r *row) (next int, ok bool) {
	r.reset()
	p.unknown = p.unknown[:0]
	b := p.buf
	if b[i] != '{' {
		if next, ok = p.value(i); ok {
			p.problem(p.rows, "", detailRow)
		}
		r.broken = true
		return next, ok
	}
	i = space(b, i+1)
	if b[i] == '}' {
		return i + 1, true
	}
	for {
		f, after, ok := p.memberName(i, r)
		if !ok {
			return 0, false
		}
		i = after
		if b[i] <= ' ' {
			i = space(b, i)
		}
		if i, ok = p.member(i, f, r); !ok {
			return 0, false
		}
		if b[i] <= ' ' {
			i = space(b, i)
		}
		switch b[i] {
		case ',':
			i++
			if b[i] <= ' ' {
				i = space(b, i)
			}
		case '}':
			return i + 1, true
		default:
			return 0, p.fail(i, "expected , or }")
		}
	}
}

// memberName reads a name and the colon after it.
func (p *rowParser) memberName(i int, r *row) (f field, next int, ok bool) {
	b, start := p.buf, i
	switch b[i+1] {
	case 'k':
		if string(b[i:i+6]) == `"key":` {
			f, i = fieldKey, i+6
		}
	case 'c':
		if string(b[i:i+7]) == `"cost":` {
			f, i = fieldCost, i+7
		}
	case 's':
		if string(b[i:i+8]) == `"state":` {
			f, i = fieldState, i+8
		}
	case 'i':
		if string(b[i:i+11]) == `"instance":` {
			f, i = fieldInstance, i+11
		}
	case 'h':
		if string(b[i:i+16]) == `"hash_instance":` {
			f, i = fieldHashInstance, i+16
		}
	case 'f':
		if string(b[i:i+7]) == `"from":` {
			f, i = fieldFrom, i+7
		}
	case 't':
		if string(b[i:i+5]) == `"to":` {
			f, i = fieldTo, i+5
		}
	}
	if f&p.fields == 0 {
		if f, i, ok = p.otherName(start); !ok {
			return 0, 0, false
		}
	}
	if f != fieldUnknown && r.seen&f != 0 {
		return 0, 0, p.failField(start, f.String(), "duplicate member")
	}
	r.seen |= f
	return f, i, true
}

// otherName reads a name that is written unusually or not known.
func (p *rowParser) otherName(start int) (f field, next int, ok bool) {
	name, i, ok := p.str(start, &p.name)
	if !ok {
		return 0, 0, false
	}
	f = fieldOf(name, p.fields)
	if f == fieldUnknown {
		if text := string(name); slices.Contains(p.unknown, text) {
			return 0, 0, p.failField(start, escapePointer(text), "duplicate member")
		} else if len(p.unknown) < maxProblems { // with so many the row is refused anyway
			p.unknown = append(p.unknown, text)
			p.problem(p.rows, text, detailUnknown)
		}
	}
	i = space(p.buf, i)
	if p.buf[i] != ':' {
		return 0, 0, p.fail(i, "expected :")
	}
	return f, i + 1, true
}

// member reads the value of a member.
func (p *rowParser) member(i int, f field, r *row) (next int, ok bool) {
	switch f {
	case fieldKey:
		r.key, next, ok = p.keyValue(i, p.rows)
	case fieldCost, fieldFrequency:
		r.cost, next, ok = p.amount(i, p.rows, f)
	case fieldState:
		r.state, next, ok = p.amount(i, p.rows, f)
	case fieldInstance:
		r.instance, next, ok = p.instanceValue(i, p.rows, f)
	case fieldHashInstance:
		r.hashInstance, next, ok = p.instanceValue(i, p.rows, f)
	case fieldFrom:
		r.from, next, ok = p.idValue(i, p.rows, f)
	case fieldTo:
		r.to, next, ok = p.idValue(i, p.rows, f)
	case fieldInterval:
		r.interval, next, ok = p.intervalValue(i)
	default:
		next, ok = p.value(i)
	}
	return next, ok
}

// keyValue reads a key's text; nil when it is none.
func (p *rowParser) keyValue(i, row int) (text []byte, next int, ok bool) {
	if p.buf[i] == '"' {
		return p.str(i, &p.text)
	}
	next, ok = p.wrong(i, row, fieldKey, detailString)
	return nil, next, ok
}

// amount reads a cost, a frequency or a state.
func (p *rowParser) amount(i, row int, f field) (x float64, next int, ok bool) {
	if c := p.buf[i]; c-'0' > 9 && c != '-' {
		next, ok = p.wrong(i, row, f, detailNumber)
		return 0, next, ok
	}
	x, next, ok = p.number(i)
	if ok && !isAmount(x) {
		p.wrongValue(row, f.String(), p.buf[i:next], amountDetail(x))
	}
	return x, next, ok
}

// instanceValue reads the id of an instance, or null.
func (p *rowParser) instanceValue(i, row int, f field) (v int32, next int, ok bool) {
	if p.buf[i] == 'n' {
		next, ok = p.literal(i, "null")
		return planner.NoInstance, next, ok
	}
	return p.idValue(i, row, f)
}

// idValue reads the id of an instance; NoInstance when it is none.
func (p *rowParser) idValue(i, row int, f field) (v int32, next int, ok bool) {
	n, next, ok := p.integer(i, 1<<31-1)
	if !ok {
		next, ok = p.wrong(i, row, f, detailInstance)
		return planner.NoInstance, next, ok
	}
	return int32(n), next, true
}

// intervalValue reads the number of an interval; −1 when it is none.
func (p *rowParser) intervalValue(i int) (v int64, next int, ok bool) {
	if v, next, ok = p.integer(i, maxInterval); !ok {
		v = -1
		next, ok = p.wrong(i, p.rows, fieldInterval, detailInterval)
	}
	return v, next, ok
}

// integer reads an integer written as digits alone. Anything else is left to
// the caller, who then reads it as any value.
func (p *rowParser) integer(i int, limit int64) (v int64, next int, ok bool) {
	b := p.buf
	v, next = digits(b, i, limit)
	if next == i || b[i] == '0' && next > i+1 {
		return 0, 0, false
	}
	switch b[next] {
	case ',', '}', ']', ' ', '\n', '\r', '\t':
		return v, next, true
	}
	return 0, 0, false
}

// wrong reads a value of the wrong type or out of range and notes the problem.
func (p *rowParser) wrong(i, row int, f field, detail string) (next int, ok bool) {
	if next, ok = p.value(i); ok {
		p.wrongValue(row, f.String(), p.buf[i:next], detail)
	}
	return next, ok
}
