package jsonrows

import (
	"slices"

	"plannerd/internal/input/internal/columns"
	"plannerd/internal/input/internal/problem"
	"plannerd/internal/input/internal/window"
	"plannerd/planner"
)

// rowParser reads rows written as JSON objects.
type rowParser struct {
	grammar
	unknown []string // names of the present row's unknown members
}

// row reads the JSON value at i as the next row. Problems are noted; what else
// makes a row complete is for add to check.
func (p *rowParser) row(i int, r *columns.Row) (next int, ok bool) {
	r.Reset()
	p.unknown = p.unknown[:0]
	b := p.Buf
	if b[i] != '{' {
		if next, ok = p.value(i); ok {
			p.Wrong(p.Rows, "", columns.DetailRow)
		}
		r.Broken = true
		return next, ok
	}
	i = window.Space(b, i+1)
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
			i = window.Space(b, i)
		}
		if i, ok = p.member(i, f, r); !ok {
			return 0, false
		}
		if b[i] <= ' ' {
			i = window.Space(b, i)
		}
		switch b[i] {
		case ',':
			i++
			if b[i] <= ' ' {
				i = window.Space(b, i)
			}
		case '}':
			return i + 1, true
		default:
			return 0, p.Fail(i, "expected , or }")
		}
	}
}

// memberName reads a name and the colon after it.
func (p *rowParser) memberName(i int, r *columns.Row) (f columns.Field, next int, ok bool) {
	b, start := p.Buf, i
	switch b[i+1] {
	case 'k':
		if string(b[i:i+6]) == `"key":` {
			f, i = columns.Key, i+6
		}
	case 'c':
		if string(b[i:i+7]) == `"cost":` {
			f, i = columns.Cost, i+7
		} else if string(b[i:i+8]) == `"costs":` {
			f, i = columns.Costs, i+8
		}
	case 's':
		if string(b[i:i+8]) == `"state":` {
			f, i = columns.State, i+8
		}
	case 'i':
		if string(b[i:i+11]) == `"instance":` {
			f, i = columns.Instance, i+11
		}
	case 'h':
		if string(b[i:i+16]) == `"hash_instance":` {
			f, i = columns.HashInstance, i+16
		}
	case 'f':
		if string(b[i:i+7]) == `"from":` {
			f, i = columns.From, i+7
		}
	case 't':
		if string(b[i:i+5]) == `"to":` {
			f, i = columns.To, i+5
		}
	}
	if f&p.Fields == 0 {
		if f, i, ok = p.otherName(start); !ok {
			return 0, 0, false
		}
	}
	if f != columns.Unknown && r.Seen&f != 0 {
		return 0, 0, p.FailField(start, f.String(), "duplicate member")
	}
	r.Seen |= f
	return f, i, true
}

// otherName reads a name that is written unusually or not known.
func (p *rowParser) otherName(start int) (f columns.Field, next int, ok bool) {
	name, i, ok := p.str(start, &p.name)
	if !ok {
		return 0, 0, false
	}
	f = columns.FieldOf(name, p.Fields)
	if f == columns.Unknown {
		if text := string(name); !p.refuse(start, text, problem.Escape(text), columns.DetailUnknown) {
			return 0, 0, false
		}
	}
	i = window.Space(p.Buf, i)
	if p.Buf[i] != ':' {
		return 0, 0, p.Fail(i, "expected :")
	}
	return f, i + 1, true
}

// member reads the value of a member.
func (p *rowParser) member(i int, f columns.Field, r *columns.Row) (next int, ok bool) {
	switch f {
	case columns.Key:
		r.Key, next, ok = p.keyValue(i, p.Rows)
	case columns.Cost, columns.Frequency:
		r.Cost, next, ok = p.amount(i, p.Rows, f.String())
	case columns.State:
		r.State, next, ok = p.amount(i, p.Rows, f.String())
	case columns.Costs:
		next, ok = p.costs(i, r)
	case columns.Instance:
		r.Instance, next, ok = p.instanceValue(i, p.Rows, f)
	case columns.HashInstance:
		r.HashInstance, next, ok = p.instanceValue(i, p.Rows, f)
	case columns.From:
		r.From, next, ok = p.idValue(i, p.Rows, f)
	case columns.To:
		r.To, next, ok = p.idValue(i, p.Rows, f)
	case columns.Interval:
		r.Interval, next, ok = p.intervalValue(i)
	default:
		next, ok = p.value(i)
	}
	return next, ok
}

// keyValue reads a key's text; nil when it is none.
func (p *rowParser) keyValue(i, row int) (text []byte, next int, ok bool) {
	if p.Buf[i] == '"' {
		return p.str(i, &p.text)
	}
	next, ok = p.wrong(i, row, columns.Key.String(), columns.DetailString)
	return nil, next, ok
}

// amount reads a cost, a frequency, a state, or what is taken of a resource.
func (p *rowParser) amount(i, row int, field string) (x float64, next int, ok bool) {
	if c := p.Buf[i]; c-'0' > 9 && c != '-' {
		next, ok = p.wrong(i, row, field, columns.DetailNumber)
		return 0, next, ok
	}
	x, next, ok = p.Number(i)
	if ok && !columns.IsAmount(x) {
		p.WrongValue(row, field, p.Buf[i:next], columns.AmountDetail(x))
	}
	return x, next, ok
}

// costs reads what a row takes of resources.
func (p *rowParser) costs(i int, r *columns.Row) (next int, ok bool) {
	b := p.Buf
	if b[i] != '{' {
		return p.wrong(i, p.Rows, columns.Costs.String(), columns.DetailCosts)
	}
	if i = window.Space(b, i+1); b[i] == '}' {
		return i + 1, true
	}
	for {
		if i, ok = p.costOf(i, r); !ok {
			return 0, false
		}
		switch i = window.Space(b, i); b[i] {
		case ',':
			i = window.Space(b, i+1)
		case '}':
			return i + 1, true
		default:
			return 0, p.Fail(i, "expected , or }")
		}
	}
}

// costOf reads the name of a resource and what a row takes of it.
func (p *rowParser) costOf(start int, r *columns.Row) (next int, ok bool) {
	name, i, ok := p.str(start, &p.name)
	if !ok {
		return 0, false
	}
	at, detail := p.CostOf(name)
	field := ""
	if detail != "" {
		field = columns.Costs.String() + "/" + problem.Escape(string(name))
		if !p.refuse(start, field, field, detail) {
			return 0, false
		}
	}
	if i = window.Space(p.Buf, i); p.Buf[i] != ':' {
		return 0, p.Fail(i, "expected :")
	}
	i = window.Space(p.Buf, i+1)
	if field != "" {
		return p.value(i)
	}
	x, i, ok := p.amount(i, p.Rows, p.Resources[at])
	if ok && !r.SetCost(at, x) {
		return 0, p.FailField(start, p.Resources[at], "duplicate member")
	}
	return i, ok
}

// refuse notes what is wrong with the name of a member; false: the row has it already.
func (p *rowParser) refuse(start int, name, path, detail string) bool {
	if slices.Contains(p.unknown, name) {
		return p.FailField(start, path, "duplicate member")
	}
	if len(p.unknown) < problem.Most { // with so many the row is refused anyway
		p.unknown = append(p.unknown, name)
		p.Wrong(p.Rows, name, detail)
	}
	return true
}

// instanceValue reads the id of an instance, or null.
func (p *rowParser) instanceValue(i, row int, f columns.Field) (v int32, next int, ok bool) {
	if p.Buf[i] == 'n' {
		next, ok = p.literal(i, "null")
		return planner.NoInstance, next, ok
	}
	return p.idValue(i, row, f)
}

// idValue reads the id of an instance, or its name; NoInstance when it is none.
func (p *rowParser) idValue(i, row int, f columns.Field) (v int32, next int, ok bool) {
	if p.Buf[i] != '"' || p.Options.Instances == nil {
		return p.number(i, row, f)
	}
	text, next, ok := p.str(i, &p.name)
	if !ok {
		return planner.NoInstance, next, ok
	}
	v, detail := p.Named(text)
	if detail != "" {
		p.WrongValue(row, f.String(), p.Buf[i:next], detail)
	}
	return v, next, true
}

// number reads the id of an instance; NoInstance when it is none.
func (p *rowParser) number(i, row int, f columns.Field) (v int32, next int, ok bool) {
	n, next, ok := p.integer(i, 1<<31-1)
	if !ok {
		next, ok = p.wrong(i, row, f.String(), columns.DetailInstance)
		return planner.NoInstance, next, ok
	}
	return int32(n), next, true
}

// intervalValue reads the number of an interval; −1 when it is none.
func (p *rowParser) intervalValue(i int) (v int64, next int, ok bool) {
	if v, next, ok = p.integer(i, columns.MaxInterval); !ok {
		v = -1
		next, ok = p.wrong(i, p.Rows, columns.Interval.String(), columns.DetailInterval)
	}
	return v, next, ok
}

// integer reads an integer written as digits alone. Anything else is left to
// the caller, who then reads it as any value.
func (p *rowParser) integer(i int, limit int64) (v int64, next int, ok bool) {
	b := p.Buf
	v, next = window.Digits(b, i, limit)
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
func (p *rowParser) wrong(i, row int, field, detail string) (next int, ok bool) {
	if next, ok = p.value(i); ok {
		p.WrongValue(row, field, p.Buf[i:next], detail)
	}
	return next, ok
}
