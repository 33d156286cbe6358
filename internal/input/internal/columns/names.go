package columns

import (
	"strconv"

	"plannerd/compact"
	"plannerd/internal/input/internal/problem"
	"plannerd/planner"
)

// Names are those by which rows name instances. What they stand for is known when all rows are read:
// until then a row has a code in the place of an id, which is less than [planner.NoInstance].
type Names struct {
	Known []string // in the order in which they came, at most MaxNames
	codes map[string]int32
	// recent has, by its last bytes, the place in Known of a name that came, and 1 more: a row mostly
	// has one of few names.
	recent [256]int32
}

// Bounds of names.
const (
	MaxNameBytes = 255
	MaxNames     = 1 << 16 // an operator has no more instances
	nameBytes    = 96      // what keeping a name takes, beside its text
)

// firstCode is the code of the first name.
const firstCode = planner.NoInstance - 1

// Name is the name that a code stands for; "": it is an id.
func (n *Names) Name(code int32) string {
	if code > firstCode {
		return ""
	}
	return n.Known[firstCode-code]
}

// Code is that of a name; false: it is too long for one, or one too many.
func (n *Names) Code(name []byte) (int32, bool) {
	slot := uint32(len(name))
	for _, c := range name[max(0, len(name)-4):] {
		slot = slot*31 + uint32(c)
	}
	at := &n.recent[slot%uint32(len(n.recent))]
	if *at > 0 && n.Known[*at-1] == string(name) {
		return firstCode - (*at - 1), true
	}
	code, known := n.codes[string(name)]
	if !known {
		if len(name) == 0 || len(name) > MaxNameBytes || len(n.Known) == MaxNames {
			return planner.NoInstance, false
		}
		if n.codes == nil {
			n.codes = map[string]int32{}
		}
		code = firstCode - int32(len(n.Known))
		n.Known = append(n.Known, string(name))
		n.codes[n.Known[firstCode-code]] = code
	}
	*at = firstCode - code + 1
	return code, true
}

// Named is the id, or the code, of an instance that a row has as text: digits alone are an id. It
// returns what is wrong with it.
func (b *Builder) Named(text []byte) (int32, string) {
	digits := 0
	for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
		digits++
	}
	n := b.Options.Instances
	if digits == len(text) || n == nil {
		if id, err := strconv.ParseUint(string(text), 10, 31); err == nil {
			return int32(id), ""
		}
		return planner.NoInstance, DetailInstance
	}
	known := len(n.Known)
	code, ok := n.Code(text)
	if !ok {
		return code, DetailName
	}
	if len(n.Known) > known {
		b.Meter.Take(nameBytes + len(text))
	}
	return code, ""
}

// text is how rows name an instance. n may be nil.
func (n *Names) text(id int32) string {
	if name := n.Name(id); name != "" {
		return name
	}
	return strconv.Itoa(int(id))
}

// identities are what names stand for.
type identities struct {
	names   *Names
	ids     []int32
	details []string // what is wrong with a name; "": nothing
	error   *problem.Error
}

// in has ids stand for codes. at makes the place of a row that is wrong.
func (x *identities) in(column []int32, at func(row int) problem.Problem) {
	for row, v := range column {
		if v > firstCode {
			continue
		}
		if x.note(firstCode-v, func() problem.Problem { return at(row) }) {
			column[row] = x.ids[firstCode-v]
		}
	}
}

// note tells whether a name stands for an id. What is wrong with it is told once.
func (x *identities) note(name int32, at func() problem.Problem) bool {
	if x.details[name] == "" {
		return true
	}
	if x.error == nil {
		x.error = &problem.Error{Kind: problem.Invalid}
	}
	if known := x.details[name] == told; !known && len(x.error.Problems) < problem.Most {
		p := at()
		p.Detail, p.Value = x.details[name], x.names.Known[name]
		x.error.Problems = append(x.error.Problems, p)
	}
	x.details[name] = told
	return false
}

const told = "is told"

// newIdentities asks for each name what it stands for; nil: there are none.
func newIdentities(names *Names, id func(name string) (int32, string)) *identities {
	if names == nil || len(names.Known) == 0 {
		return nil
	}
	x := &identities{names: names, ids: make([]int32, len(names.Known)), details: make([]string, len(names.Known))}
	for i, name := range names.Known {
		x.ids[i], x.details[i] = id(name)
	}
	return x
}

// result is the error of names that stand for nothing; nil: there are none.
func (x *identities) result() error {
	if x.error == nil {
		return nil
	}
	return x.error
}

// Identify has ids stand for the names of instances in a document, of which the options had the names.
// id is asked for each, and says what is wrong with it; "": nothing.
func (d *Document) Identify(names *Names, id func(name string) (int32, string)) error {
	x := newIdentities(names, id)
	if x == nil {
		return nil
	}
	if s := d.Stats; s != nil {
		for _, c := range []struct {
			field Field
			ids   []int32
		}{{Instance, s.Instance}, {HashInstance, s.HashInstance}} {
			x.in(c.ids, func(row int) problem.Problem { return d.problemAt(row+len(d.Records), c.field) })
		}
	}
	for row := range d.Records {
		x.inRecord(&d.Records[row], func(f Field) problem.Problem { return d.problemAt(row, f) })
	}
	return x.result()
}

func (x *identities) inRecord(r *compact.Record, at func(Field) problem.Problem) {
	for _, c := range []struct {
		field Field
		id    *int32
	}{{Instance, &r.Current}, {Instance, &r.Planned}, {HashInstance, &r.Hash}} {
		if name := firstCode - *c.id; name >= 0 && x.note(name, func() problem.Problem { return at(c.field) }) {
			*c.id = x.ids[name]
		}
	}
}

func (d *Document) problemAt(row int, f Field) problem.Problem {
	return problem.Problem{Pointer: d.Pointer(row, f.String()), Location: d.Location(row, f.String())}
}

// Identify is that of [Document].
func (r *Resolution) Identify(names *Names, id func(name string) (int32, string)) error {
	x := newIdentities(names, id)
	if x == nil {
		return nil
	}
	for _, c := range []struct {
		field Field
		ids   []int32
	}{{From, r.From}, {To, r.To}, {HashInstance, r.HashInstance}} {
		x.in(c.ids, func(row int) problem.Problem {
			return problem.Problem{Pointer: r.Pointer(row, c.field.String()), Location: problem.Location{Row: row + 1}}
		})
	}
	return x.result()
}
