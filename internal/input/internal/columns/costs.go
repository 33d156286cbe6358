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

// CostColumn has what the rows take of the resource in a place.
func (b *Builder) CostColumn(at int) *Column[float64] {
	for len(b.costs) <= at {
		b.costs = append(b.costs, Column[float64]{meter: b.Meter, hint: b.expected})
	}
	return &b.costs[at]
}

// addCosts takes what row n takes of resources. Rows that say nothing of one take nothing of it.
func (b *Builder) addCosts(n int, r *Row) {
	for at, x := range r.Costs {
		if r.costs>>at&1 != 0 {
			c := b.CostColumn(at)
			c.Fill(0, n)
			c.Add(x)
		}
	}
}

// takeCosts are the amounts of all rows, by the names of their resources. Those of which a body has
// columns are there even if no row says anything.
func (b *Builder) takeCosts(rows int) (all []planner.Amounts) {
	for at, field := range b.Resources {
		if c := b.CostColumn(at); c.Len() > 0 || b.Columns&Costs != 0 {
			c.Fill(0, rows)
			all = append(all, planner.Amounts{Name: field[len(costField):], Rows: c.Take()})
		}
	}
	slices.SortFunc(all, func(x, y planner.Amounts) int { return cmp.Compare(x.Name, y.Name) })
	return all
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
