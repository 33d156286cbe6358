package planner

import (
	"math"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/covering"
)

// WorkOfDividing is how much work a branch and bound does, in the unit of its budget.
func WorkOfDividing(s *Snapshot, o Options, budget int) (int, error) {
	e, err := prepare(s, o)
	if err != nil {
		return 0, err
	}
	f := bound.NewProof(e.p, bound.Quick)
	m := &assign.Meter{}
	f.Meter(m)
	unknown := func() float64 { return math.Inf(1) }
	f.BranchAndBound(budget, unknown, func([]covering.Placement) {})
	return int(m.Used) * bound.WorkPerUnit, nil
}
