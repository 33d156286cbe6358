package planner

import (
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/division"
	"plannerd/planner/internal/optimal"
)

// Complete makes a plan of moves that were decided on for another snapshot, which is
// like s: for classes of its keys, for example. Where keys may be split, splits are those
// that were decided on, rows ascending; with none, keys are split as every strategy begins
// to. The moves are carried out, but for those
// of hot keys, which go where every strategy puts them. met are the constraints that the
// moves meet there. Where they do not meet one here, or leave keys on instances that are
// not live, the plan is repaired, as far as least-load fit and a local search around the moves and the
// instances above their limits can. Only Item, To and Count of a move matter.
// name is what the plan says about its strategy. The error is an [InputError] or
// [ErrStopped].
func Complete(name string, s *Snapshot, o Options, moves []Move, splits []Split, met ...Constraint) (*Plan, error) {
	x, err := prepare(s, o)
	if err != nil {
		return nil, err
	}
	start := x.space.Start()
	x.divide(start.Division)
	if start.Settled && x.p.Fill.Reached(x.p.Before) {
		return x.unmoved(name), nil
	}
	if o.Splitting != nil && len(splits) > 0 {
		x.divide(x.space.Divided(splits, start.Crowded))
	}
	a, known := x.run(x.p, x.at, false, placing(func(p *assign.Problem, o Options) *assign.Assignment {
		gamma := largestGamma(o)
		a := assign.NewAssignment(p)
		carryOut(a, moves)
		return optimal.Repair(a, keptTo(met), optimal.Fit{
			Run: func(a *assign.Assignment) *assign.Assignment { return leastLoadFit(a, gamma) }, Rank: gamma.rank(p),
		})
	}))
	if a == nil {
		return nil, ErrStopped
	}
	if len(x.at.Splits) > 0 {
		best := division.Planned{Division: x.at, Assignment: a}.OrBetter(x.at.Levelled(a))
		x.divide(best.Division)
		a, known = best.Assignment, bound.Evidence{}
	}
	if x.p.Goal.Imbalance && o.Certificate != CertificateOff {
		known.LeastTheta = optimal.ProveTheta(x.p, a.Score().Theta)
	}
	return x.finish(name, x.filled(Info{}, a), known), nil
}

// carryOut makes moves of items that are not hot.
func carryOut(a *assign.Assignment, moves []Move) {
	for _, m := range moves {
		if !a.Problem.IsHot(int(m.Item)) && a.Problem.IsOpen(m.Item, m.To) {
			a.MoveUnits(m.Item, m.Count, m.To)
		}
	}
}

// keptTo are the limits of constraints.
func keptTo(met []Constraint) optimal.Kept {
	has := func(c Constraint) bool { return slices.Contains(met, c) }
	return optimal.Kept{
		Loads: has(ConstraintTheta), Table: has(ConstraintTable), Allowance: has(ConstraintMigration),
	}
}
