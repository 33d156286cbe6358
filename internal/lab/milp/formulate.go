package milp

import (
	"fmt"
	"math"
	"slices"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// formulation is a problem as a mixed integer linear program. A variable counts
// the units of a class that go to an instance other than their own; what is left
// stays.
type formulation struct {
	s         *planner.Snapshot
	o         planner.Options
	problem   plannertest.Problem
	classes   []class
	variables []variable
	rows      []row

	costs      float64 // scale of costs, a power of two
	weights    float64 // scale of weights, a power of two
	constant   float64 // added to it: what the hot keys move
	impossible bool    // some unit has to leave, and fits nowhere
}

// class is what the solver does not tell apart: the units of an item, or all of
// equal cost, state and places.
type class struct {
	cost, state float64
	from, home  int32
	items       []int
	units       int64
}

type variable struct {
	class      int
	to         int32
	continuous bool
}

// row says Σ coefficient·variable ≤ limit, or = limit.
type row struct {
	terms []term
	limit float64
	exact bool
}

type term struct {
	variable    int
	coefficient float64
}

func formulate(s *planner.Snapshot, o planner.Options, merge bool) *formulation {
	f := &formulation{s: s, o: o, problem: plannertest.ProblemOf(s, o)}
	f.classify(merge)
	f.setScales()
	f.choose()
	f.departures()
	for _, d := range f.problem.Live {
		f.load(int32(d))
	}
	f.table()
	return f
}

// classify makes classes of the items that are not hot, and adds up what the hot
// ones move.
func (f *formulation) classify(merge bool) {
	type alike struct {
		cost, state float64
		from, home  int32
		item        int // 0 when equal items are merged
	}
	index := map[alike]int{}
	for i, c := range f.s.Cost {
		if places, hot := f.problem.Hot[i]; hot {
			for _, d := range places {
				if d != int(f.s.Current[i]) {
					f.constant += f.state(i) + f.o.KeyOverhead
				}
			}
			continue
		}
		k := alike{c, f.state(i), f.s.Current[i], f.s.Hash[i], i}
		if merge {
			k.item = 0
		}
		n, ok := index[k]
		if !ok {
			n = len(f.classes)
			index[k] = n
			f.classes = append(f.classes, class{cost: k.cost, state: k.state, from: k.from, home: k.home})
		}
		f.classes[n].items = append(f.classes[n].items, i)
		f.classes[n].units += f.count(i)
	}
}

func (f *formulation) state(i int) float64 {
	if f.s.State == nil {
		return 1
	}
	return f.s.State[i]
}

func (f *formulation) count(i int) int64 {
	if f.s.Count == nil {
		return 1
	}
	return f.s.Count[i]
}

func (f *formulation) weight(c class) float64 { return c.state + f.o.KeyOverhead }

// setScales leaves whole numbers up to some size alone, which the solver takes advantage of, and
// brings the greatest of others to about a million.
func (f *formulation) setScales() {
	var costs, weights magnitude
	for _, c := range f.classes {
		costs.add(c.cost)
		weights.add(f.weight(c))
	}
	for _, d := range f.problem.Live {
		costs.add(f.problem.Background[d])
	}
	f.costs, f.weights = costs.scale(), weights.scale()
}

type magnitude struct {
	greatest float64
	fraction bool
}

func (m *magnitude) add(x float64) {
	m.greatest = max(m.greatest, x)
	m.fraction = m.fraction || x != math.Trunc(x)
}

func (m *magnitude) scale() float64 {
	if m.greatest == 0 || !m.fraction && m.greatest < 1<<24 {
		return 1
	}
	_, e := math.Frexp(m.greatest)
	return math.Ldexp(1, 20-e)
}

// choose makes a variable of each place to which a class may go: those where it
// fits, and if it costs nothing only home, unless that is frozen.
func (f *formulation) choose() {
	for n, c := range f.classes {
		for _, d := range f.problem.Live {
			to := int32(d)
			fits := c.cost <= (f.problem.Bound[d]*(1+2e-9)-f.problem.Background[d])*(1+1e-9)
			if to != c.from && (fits && (c.cost > 0 || f.s.Instances[c.home].Frozen) || to == c.home) {
				f.variables = append(f.variables, variable{class: n, to: to})
			}
		}
	}
}

// departures: no more units leave than there are, and all leave from drained
// instances.
func (f *formulation) departures() {
	rows := make([]row, len(f.classes))
	for v, x := range f.variables {
		rows[x.class].terms = append(rows[x.class].terms, term{v, 1})
	}
	for n, c := range f.classes {
		r := rows[n]
		r.limit, r.exact = float64(c.units), f.s.Instances[c.from].Drained
		switch {
		case r.exact && len(r.terms) == 0:
			f.impossible = true
		case r.exact || len(r.terms) > 1: // else the variable's own bound says it
			f.rows = append(f.rows, r)
		}
	}
}

// load bounds the load of a live instance.
func (f *formulation) load(d int32) {
	limit := f.problem.Bound[d]*(1+1e-9) - f.problem.Background[d]
	for _, c := range f.classes {
		if c.from == d {
			limit -= c.cost * float64(c.units)
		}
	}
	r := row{limit: limit * f.costs, terms: f.terms(func(c class, to int32) float64 {
		switch d {
		case c.from:
			return -c.cost * f.costs
		case to:
			return c.cost * f.costs
		}
		return 0
	})}
	if f.costs == 1 && r.whole() {
		r.limit = math.Floor(r.limit) // says the same, more sharply
	}
	f.add(r)
}

func (r row) whole() bool {
	return !slices.ContainsFunc(r.terms, func(t term) bool { return t.coefficient != math.Trunc(t.coefficient) })
}

// terms are those of the variables whose coefficient is not 0.
func (f *formulation) terms(coefficient func(c class, to int32) float64) []term {
	var terms []term
	for v, x := range f.variables {
		if by := coefficient(f.classes[x.class], x.to); by != 0 {
			terms = append(terms, term{v, by})
		}
	}
	return terms
}

// add keeps a row. One without variables holds, or the problem is infeasible.
func (f *formulation) add(r row) {
	switch {
	case len(r.terms) > 0:
		f.rows = append(f.rows, r)
	case r.limit < 0:
		f.impossible = true
	}
}

// table bounds the number of entries.
func (f *formulation) table() {
	if f.o.TableLimit == nil {
		return
	}
	limit := *f.o.TableLimit - f.problem.Retained
	for i, places := range f.problem.Hot {
		for _, d := range places {
			if d != int(f.s.Hash[i]) {
				limit--
			}
		}
	}
	for _, c := range f.classes {
		if c.from != c.home {
			limit -= c.units
		}
	}
	f.add(row{limit: float64(limit), terms: f.terms(func(c class, to int32) float64 {
		switch c.home {
		case c.from:
			return 1
		case to:
			return -1
		}
		return 0
	})})
}

// assignment distributes the units of each class over its items.
func (f *formulation) assignment(values []int64) (plannertest.Assignment, error) {
	a := plannertest.CurrentAssignment(f.s)
	for i, places := range f.problem.Hot {
		for _, d := range places {
			a[i][f.s.Current[i]]--
			a[i][d]++
		}
	}
	next := make([]int, len(f.classes)) // items of each class that have left wholly
	for v, x := range f.variables {
		c := f.classes[x.class]
		for units := values[v]; units > 0; {
			if next[x.class] == len(c.items) {
				return nil, fmt.Errorf("%w: more units leave than there are", errContradiction)
			}
			at := a[c.items[next[x.class]]]
			n := min(units, at[c.from])
			at[c.from] -= n
			at[x.to] += n
			units -= n
			if at[c.from] == 0 {
				next[x.class]++
			}
		}
	}
	return a, nil
}

// recount returns what an assignment is worth and whether it meets all
// constraints.
func (f *formulation) recount(a plannertest.Assignment) (objective float64, ok bool) {
	for i, places := range a {
		for d, n := range places {
			if n > 0 && !f.s.Instances[d].Live() {
				return float64(i), false
			}
		}
	}
	score := plannertest.ScoreOf(f.s, f.o, a)
	return score.Objective, score.Violated == 0
}
