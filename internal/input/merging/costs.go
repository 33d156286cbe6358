package merging

import (
	"slices"
	"strconv"

	"plannerd/internal/input/internal/problem"
	"plannerd/planner"
)

// maxCosts is how many resources reports may name together: as many as the rows of one body.
const maxCosts = 16

// openCosts finds a place for each resource that a report names, and takes what its rest takes of them.
// Other reports take nothing of what they do not name.
func (m *merger) openCosts(r *reportReader) error {
	for _, x := range r.costs {
		at := slices.IndexFunc(m.out.Costs, func(y planner.Amounts) bool { return y.Name == x.Name })
		if at < 0 {
			at = len(m.out.Costs)
			m.out.Costs = append(m.out.Costs, planner.Amounts{Name: x.Name})
		}
		r.places = append(r.places, at)
		if len(r.residual) > 0 && x.Residual != nil {
			y := &m.out.Costs[at]
			before := len(m.out.Residual) - len(r.residual)
			y.Residual = append(append(y.Residual, make([]float64, before-len(y.Residual))...), x.Residual...)
		}
	}
	if len(m.out.Costs) > maxCosts {
		return problem.One(problem.Invalid, "",
			"the reports name more than "+strconv.Itoa(maxCosts)+" resources together")
	}
	return nil
}

// roomForCosts makes room for so many rows, once all reports are open.
func (m *merger) roomForCosts(rows int) {
	m.sum, m.leftCosts = make([]float64, len(m.out.Costs)), make([][]float64, len(m.reports))
	for i := range m.out.Costs {
		x := &m.out.Costs[i]
		x.Rows = make([]float64, 0, rows)
		x.Residual = append(x.Residual, make([]float64, len(m.out.Residual)-len(x.Residual))...)
	}
	for i := range m.leftCosts {
		m.leftCosts[i] = make([]float64, len(m.out.Costs))
	}
}

// costsOf are what the present row of a report takes of resources, which last until the key is closed.
func (m *merger) costsOf(r *reportReader) []float64 {
	if len(m.out.Costs) == 0 {
		return nil
	}
	if len(m.shares) == 0 {
		m.costs = m.costs[:0]
	}
	first := len(m.costs)
	m.costs = append(m.costs, make([]float64, len(m.out.Costs))...)
	costs := m.costs[first:]
	for i, at := range r.places {
		costs[at] = r.costs[i].Rows[r.at]
	}
	return costs
}

// sumOfCosts are what the gathered key takes of resources in all.
func (m *merger) sumOfCosts() []float64 {
	clear(m.sum)
	for _, s := range m.shares {
		addAll(m.sum, s.costs)
	}
	return m.sum
}

func addAll(to, xs []float64) {
	for i, x := range xs {
		to[i] += x
	}
}

func isTooGreat(x float64) bool { return x > planner.MaxAmount }
