package columns

import (
	"cmp"
	"slices"
	"strings"

	"plannerd/internal/input/internal/problem"
	"plannerd/internal/nearest"
)

// Faults notes what is wrong with the rows of a document, and where.
type Faults struct {
	Shape    Shape
	Fields   Field             // that rows may have; these also tell which kind of rows it is
	Rows     int               // seen, also refused ones
	Problems []problem.Problem // up to [problem.Most]
	Columns  Field             // that the body has; none where each row names what it has
	// Resources are the fields of those that rows name beside cost, such as costs/network, in the order
	// in which they came.
	Resources []string

	Line   func() int // the line of the newest row; nil: there are no lines
	Ragged bool       // rows need not be on successive lines

	first     int // number of the first row, for pointers
	firstLine int // of the first row
}

// Pointer to a field of a row of this document.
func (b *Faults) Pointer(row int, field string) string { return b.Shape.pointer(b.first+row, field) }

// Invalid returns the problems as an error, or nil when there are none.
func (b *Faults) Invalid() error {
	if len(b.Problems) == 0 {
		return nil
	}
	return &problem.Error{Kind: problem.Invalid, Problems: append([]problem.Problem(nil), b.Problems...)}
}

// Wrong notes what is wrong with a field of a row.
func (b *Faults) Wrong(row int, field, detail string) { b.WrongValue(row, field, nil, detail) }

// WrongValue notes what is wrong with the value of a field of a row.
func (b *Faults) WrongValue(row int, field string, value []byte, detail string) {
	b.Note(problem.Problem{Pointer: b.Pointer(row, field), Detail: detail, Location: problem.Location{
		Row: b.first + row + 1, Line: b.lineOf(row), Column: columnOfField(field), Value: problem.Clip(value),
	}})
}

// WrongColumn notes what is wrong with a column.
func (b *Faults) WrongColumn(name, detail string) {
	name = columnOfField(name)
	b.Note(problem.Problem{Pointer: "/" + problem.Escape(name), Detail: detail,
		Location: problem.Location{Line: b.lineOf(0), Column: name}})
}

// WrongAt notes a problem that is not about a row.
func (b *Faults) WrongAt(pointer, detail string) { b.Note(problem.At(pointer, detail)) }

// Note notes a problem. What is beyond the greatest number of problems is dropped.
func (b *Faults) Note(p problem.Problem) {
	if p.Detail == DetailUnknown || p.Detail == DetailColumn {
		p.Near = nearest.To(p.Column, (b.Fields &^ Costs).names()) // rather cost than costs
	}
	if len(b.Problems) < problem.Most {
		b.Problems = append(b.Problems, p)
	}
}

// nameKey names the key of the newest row in its problems.
func (b *Faults) nameKey(row int, key []byte) {
	for i := len(b.Problems) - 1; i >= 0 && b.Problems[i].Row == b.first+row+1; i-- {
		b.Problems[i].Key = problem.Clip(key)
	}
}

// noteTwin notes a row whose key stands in an earlier row too.
func (b *Faults) noteTwin(d duplicate, key []byte) {
	p := problem.Problem{
		Pointer: b.Pointer(d.later, "key"), Detail: "is the same as " + b.Pointer(d.earlier, "key"),
		Location: problem.Location{
			Row: b.first + d.later + 1, Column: Key.String(), Key: problem.Clip(key), Twin: b.first + d.earlier + 1,
		},
	}
	if !b.Ragged && b.firstLine > 0 {
		p.Line, p.TwinLine = b.firstLine+d.later, b.firstLine+d.earlier
	}
	b.Note(p)
}

// lineOf is the line of a row of this document; 0 where that is not known. Only the
// newest row is still in the window.
func (b *Faults) lineOf(row int) int {
	switch {
	case b.Line == nil:
		return 0
	case row >= b.Rows-1:
		return b.Line()
	case b.Ragged || b.firstLine == 0:
		return 0
	}
	return b.firstLine + row
}

// lacks notes which fields a row lacks.
func (b *Faults) lacks(row int, seen Field) {
	b.require(seen, "", func(field, detail string) { b.Wrong(row, field, detail) })
}

// require notes which fields rows or columns lack that have some: those of keys need a key and
// either a cost or a frequency, others all that there are. what is said before what is missing.
func (b *Faults) require(seen Field, what string, wrong func(field, detail string)) {
	if b.Fields&StatisticsRow == StatisticsRow {
		RequireKeys(seen, what, wrong)
		return
	}
	for f := range (b.Fields.all() &^ seen).each {
		wrong(f.String(), what+DetailRequired)
	}
}

// RequireKeys notes what rows of keys, or their columns, lack.
func RequireKeys(seen Field, what string, wrong func(field, detail string)) {
	if seen&Key == 0 {
		wrong("key", what+DetailRequired)
	}
	switch seen & (Cost | Frequency) {
	case 0:
		wrong("cost", what+DetailNoCost)
	case Cost | Frequency:
		wrong("frequency", DetailBoth)
	}
}

// columnField is what a column of that name holds. The amounts of each resource have one.
func (b *Faults) columnField(name string) Field {
	if _, ok := ResourceOf(name); ok {
		return cmp.Or(Costs&b.Fields, Unknown)
	}
	if f := FieldOf([]byte(name), b.Fields); f != Costs {
		return f
	}
	return Unknown
}

// SetColumns returns the fields that columns of these names hold. With a count
// and no key, rows that may be of statistics are records.
func (b *Faults) SetColumns(names []string) ([]Field, error) {
	if b.Fields&StatisticsRow == StatisticsRow && slices.Contains(names, "count") && !slices.Contains(names, "key") {
		b.Fields = RecordRow | b.Fields&Interval
	}
	var columns []Field
	b.Columns = 0
	twice := map[string]bool{}
	for _, name := range names {
		f := b.columnField(name)
		if twice[name] || f&(Unknown|Costs) == 0 && b.Columns&f != 0 {
			return nil, &problem.Error{Kind: problem.Malformed, Problems: []problem.Problem{{
				Pointer: "/" + problem.Escape(name), Detail: "column stands twice",
				Location: problem.Location{Line: b.lineOf(0), Column: name},
			}}}
		}
		twice[name] = true
		b.Columns |= f
		switch {
		case f != Unknown:
		case strings.HasPrefix(name, costColumn) && b.Fields&Costs != 0:
			b.WrongColumn(name, DetailResource)
		case name == "count" && b.Fields&Cost != 0:
			b.WrongColumn(name, DetailNoCount)
		default:
			b.WrongColumn(name, DetailColumn)
		}
		columns = append(columns, f)
	}
	b.require(b.Columns, "column ", b.WrongColumn)
	return columns, b.Invalid()
}

// Faulty tells whether the newest row of a builder, since so many problems were known, is wrong or
// lacks what it needs. The builder forgets what is wrong with it, which the mapping is given.
func Faulty(b *Builder, known int, r *Row) bool {
	if len(b.Problems) == known {
		b.lacks(b.Rows, r.Seen)
	}
	if len(b.Problems) == known {
		return false
	}
	b.nameKey(b.Rows, r.Key)
	b.Options.LeaveOut(b.Problems[known])
	b.Problems = b.Problems[:known]
	b.Ragged = true
	return true
}
