package milp

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Program is one of variables between 0 and 1, numbered from 0, for those who formulate
// one themselves.
type Program struct {
	objective  []float64
	continuous []bool
	rows       []row
}

// Variable adds one that is 0 or 1, and returns its number. Its coefficient in the
// objective, which is minimised, is not negative.
func (p *Program) Variable(coefficient float64) int {
	p.objective, p.continuous = append(p.objective, coefficient), append(p.continuous, false)
	return len(p.objective) - 1
}

// Fraction adds one that may have any value from 0 to 1.
func (p *Program) Fraction(coefficient float64) int {
	v := p.Variable(coefficient)
	p.continuous[v] = true
	return v
}

// AtMost demands that the variables, times their coefficients, do not exceed a limit.
func (p *Program) AtMost(limit float64, coefficients map[int]float64) {
	p.add(limit, false, coefficients)
}

// Exactly demands that they reach it exactly.
func (p *Program) Exactly(limit float64, coefficients map[int]float64) {
	p.add(limit, true, coefficients)
}

func (p *Program) add(limit float64, exact bool, coefficients map[int]float64) {
	r := row{limit: limit, exact: exact}
	for _, v := range slices.Sorted(maps.Keys(coefficients)) { // the solver is not to depend on chance
		r.terms = append(r.terms, term{v, coefficients[v]})
	}
	p.rows = append(p.rows, r)
}

// Solve returns the least value of the objective, and what is proven of it, within the
// solver's tolerance of 1e-6 of the figure. The status says whether the value is that of a
// solution.
func (p *Program) Solve(ctx context.Context, limit time.Duration) (status Status, value, bound float64, err error) {
	f := &formulation{rows: p.rows, weights: 1}
	for n, c := range p.objective {
		f.classes = append(f.classes, class{state: c, units: 1})
		f.variables = append(f.variables, variable{class: n, continuous: p.continuous[n]})
	}
	a, err := run(ctx, f, limit)
	return a.status, a.objective, a.bound, err
}
