package planner

import (
	"math"

	"plannerd/internal/exact"
)

// minImbalance looks for the least θ within the migration limit by bisection:
// under a tolerance θ, strategy optimal says how little has to move, and its
// certificate how little at the least. A θ whose bound exceeds the limit is
// below that of every plan within it.
func minImbalance(p *problem) *assignment {
	b := p.newBisection()
	low, high := b.proven, p.greatestTheta()
	defer func() { p.leastTheta = b.proven }()
	if !b.try(high) {
		return b.fallback
	}
	high = b.reached
	if high > low && b.try(low) {
		return b.best
	}
	for range bisections {
		if high-low <= 1e-6*(1+high) || p.meter.reason != "" {
			break
		}
		mid := (low + high) / 2
		if b.try(mid) {
			high = min(mid, b.reached)
		} else {
			low = mid
		}
	}
	return b.best
}

// proveTheta returns a θ that no plan within the migration limit stays below, at
// most the given one, which some plan reaches.
func (p *problem) proveTheta(reached float64) float64 {
	b := p.newBisection()
	low, high := b.proven, reached
	for range bisections {
		if high-low <= 1e-6*(1+high) || p.stopped() {
			break
		}
		mid := (low + high) / 2
		q, err := newProblem(p.unweighted(), p.underTheta(mid))
		if err != nil {
			break
		}
		if !q.settled() && b.disproves(q.newProof(CertificateFast)) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

func (p *problem) newBisection() *bisection {
	b := &bisection{p: p, proven: p.forcedTheta(), budget: p.migrationBudget()}
	if p.o.MigrationLimit.Unit != MigrationKeys {
		b.unseen = p.state.Float(p.named())
	}
	return b
}

// disproves reports whether a proof shows that every plan under its tolerance
// exceeds the migration limit.
func (b *bisection) disproves(f *proof) bool {
	return f.infeasible() || f.bound/f.x.unitWeight > float64(b.budget*(1+exact.Tolerance))+b.unseen
}

// bisections bounds the steps: the interval shrinks to a thousandth or less.
const bisections = 14

// bisection keeps what is known about the least θ.
type bisection struct {
	p        *problem
	budget   float64     // in the unit of the sub-problems' objective
	unseen   float64     // in that unit, by how much that of a plan may differ from the truth
	proven   float64     // no plan within the limits has a smaller θ
	best     *assignment // within the limits
	reached  float64     // its θ
	fallback *assignment // moves more than is allowed
}

// try plans for the tolerance θ and reports whether that is within the limits.
func (b *bisection) try(theta float64) bool {
	p := b.p
	q, err := newProblem(p.unweighted(), p.underTheta(theta))
	if err != nil || p.meter.reason != "" {
		return false
	}
	if q.settled() {
		return b.offer(q.unmoved())
	}
	q.enough = b.budget
	a := minMigration(q, CertificateFast)
	p.meter.used += q.meter.used
	p.meter.reason = q.meter.reason
	if f := q.proof; f != nil && b.disproves(f) {
		b.proven = max(b.proven, theta)
	}
	if a == nil {
		return false
	}
	sc := a.score()
	if b.fallback == nil {
		b.fallback = p.adopt(a)
	}
	return sc.violated == 0 && sc.objective <= b.budget*(1+exact.Tolerance) && b.offer(a)
}

// offer keeps the assignment of a sub-problem if it is the best.
func (b *bisection) offer(a *assignment) bool {
	adopted := b.p.adopt(a)
	sc := adopted.score()
	if sc.violated > 0 {
		return false
	}
	if b.best == nil || sc.theta < b.reached {
		b.best, b.reached = adopted, sc.theta
	}
	return true
}

// adopt makes an assignment of a sub-problem one of p.
func (p *problem) adopt(a *assignment) *assignment {
	b := *a
	b.p = p
	return &b
}

// underTheta are the options of the sub-problem with that tolerance.
func (p *problem) underTheta(theta float64) Options {
	o := p.o
	o.ThetaMax, o.Objective, o.MigrationLimit, o.KeyOverhead = theta, MinMigration, nil, 0
	if o.WorkBudget > 0 {
		o.WorkBudget = max(1, o.WorkBudget-p.meter.used)
	}
	return o
}

// unweighted is the snapshot, each key of which counts 1 if the limit is on keys.
func (p *problem) unweighted() *Snapshot {
	if p.o.MigrationLimit.Unit != MigrationKeys {
		return p.s
	}
	return p.s.stateless()
}

// migrationBudget is the migration limit in units of state or keys. The states may
// have grown by a unit each when they became fixed-point numbers.
func (p *problem) migrationBudget() float64 {
	m := p.o.MigrationLimit
	switch unseen := p.state.Float(int64(p.s.Len())); m.Unit {
	case MigrationKeys:
		return m.Amount
	case MigrationFraction:
		return float64(m.Amount*p.state.Float(p.totalState)) + unseen
	default:
		return m.Amount + unseen
	}
}

// affordable reports whether so much state and so many keys are within the
// migration limit.
func (p *problem) affordable(state, keys int64) bool {
	moved := p.state.Float(state)
	if p.o.MigrationLimit.Unit == MigrationKeys {
		moved = float64(keys)
	}
	return moved <= p.migrationBudget()*(1+exact.Tolerance)
}

// forcedTheta is a θ that no assignment stays below: the costliest key has to be
// somewhere.
func (p *problem) forcedTheta() float64 {
	forced, costliest := math.Inf(1), int64(0)
	for _, c := range p.s.Cost {
		costliest = max(costliest, p.cost.Fixed(c))
	}
	for _, d := range p.live {
		forced = min(forced, relative(float64(p.residual[d]+costliest), p.fair[d]))
	}
	if p.total == 0 {
		return 0
	}
	return max(0, forced)
}

// greatestTheta is a θ that every assignment keeps to.
func (p *problem) greatestTheta() float64 {
	theta := 0.0
	for _, d := range p.live {
		if p.fair[d] > 0 {
			theta = max(theta, float64(p.total)/p.fair[d]-1)
		}
	}
	return theta * (1 + exact.Tolerance)
}
