package columns

import (
	"cmp"
	"slices"
	"strings"

	"plannerd/planner"
)

// MaxCosts is how many resources beside cost the rows of a body may name.
const MaxCosts = 16

// Where amounts of a resource are: columns are called cost.network, and the field of a row in JSON
// is costs/network.
const (
	costColumn = "cost."
	costField  = "costs/"
)

// columnOfField is how a column with a field is called.
func columnOfField(field string) string {
	if name, of := strings.CutPrefix(field, costField); of {
		return costColumn + name
	}
	return field
}

// isResource tells whether a text may be the name of a resource.
func isResource(name string) bool {
	for i, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= 32
}

// ResourceOf is the resource whose amounts the column of a name has.
func ResourceOf(column string) (name string, ok bool) {
	name, ok = strings.CutPrefix(column, costColumn)
	return name, ok && isResource(name)
}

// CostOf is the place of a resource among those that rows name, and what is wrong with its name.
func (b *Faults) CostOf(name []byte) (at int, detail string) {
	for at, known := range b.Resources {
		if known[len(costField):] == string(name) {
			return at, ""
		}
	}
	switch {
	case !isResource(string(name)):
		return 0, DetailResource
	case len(b.Resources) == MaxCosts:
		return 0, DetailResources
	}
	b.Resources = append(b.Resources, costField+string(name))
	return len(b.Resources) - 1, ""
}

// placeOf is the place of the resource whose amounts a column has, whose name is one.
func (b *Faults) placeOf(column string) int {
	name, _ := ResourceOf(column)
	at, detail := b.CostOf([]byte(name))
	if detail != "" {
		b.WrongColumn(column, detail)
	}
	return at
}

// SetCost sets what the row takes of the resource in a place; false: it says that already.
func (r *Row) SetCost(at int, x float64) bool {
	if r.costs>>at&1 != 0 {
		return false
	}
	r.costs |= 1 << at
	for len(r.Costs) <= at {
		r.Costs = append(r.Costs, 0)
	}
	r.Costs[at] = x
	return true
}

// Amounts are what rows take of resources.
type Amounts struct {
	columns []Column[float64] // by the places of the resources
	hint    int
	meter   *Meter
}

// Of is the column of the resource in a place.
func (a *Amounts) Of(at int) *Column[float64] {
	for len(a.columns) <= at {
		a.columns = append(a.columns, Column[float64]{meter: a.meter, hint: a.hint})
	}
	return &a.columns[at]
}

// expect sets the number of rows that are expected.
func (a *Amounts) expect(rows int) {
	a.hint = rows
	for i := range a.columns {
		a.columns[i].hint = rows
	}
}

// add takes what row n takes. Rows that say nothing of a resource take nothing of it.
func (a *Amounts) add(n int, r *Row) {
	for at, x := range r.Costs {
		if r.costs>>at&1 != 0 {
			c := a.Of(at)
			c.Fill(0, n)
			c.Add(x)
		}
	}
}

// take returns what so many rows take of the resources of these fields, by their names: of all of them, or
// of those alone that a row names.
func (a *Amounts) take(fields []string, all bool, rows int) (costs []planner.Amounts) {
	for at, field := range fields {
		if c := a.Of(at); all || c.Len() > 0 {
			c.Fill(0, rows)
			costs = append(costs, planner.Amounts{Name: field[len(costField):], Rows: c.Take()})
		}
	}
	slices.SortFunc(costs, func(x, y planner.Amounts) int { return cmp.Compare(x.Name, y.Name) })
	return costs
}

// WithResidual adds what the rest i of so many takes of a resource to the amounts of so many rows. It
// returns what is wrong with the name; "": nothing.
func WithResidual(costs []planner.Amounts, rows, rests, i int, name string, x float64) ([]planner.Amounts, string) {
	at, found := slices.BinarySearchFunc(costs, name,
		func(x planner.Amounts, name string) int { return cmp.Compare(x.Name, name) })
	switch {
	case found:
	case !isResource(name):
		return costs, DetailResource
	case len(costs) == MaxCosts:
		return costs, DetailResources
	default:
		costs = slices.Insert(costs, at, planner.Amounts{Name: name, Rows: make([]float64, rows)})
	}
	if costs[at].Residual == nil {
		costs[at].Residual = make([]float64, rests)
	}
	costs[at].Residual[i] = x
	return costs, ""
}
