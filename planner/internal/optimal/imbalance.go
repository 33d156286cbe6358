package optimal

import (
	"math"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
)

// minImbalance looks for the least θ within the migration limit by bisection:
// under a tolerance θ, strategy optimal says how little has to move, and its
// certificate how little at the least. A θ whose bound exceeds the limit is
// below that of every plan within it.
func minImbalance(p *assign.Problem, r Rivals) (*assign.Assignment, bound.Evidence) {
	b := newBisection(p)
	a := b.bisect(r)
	return a, bound.Evidence{LeastTheta: b.proven}
}

func (b *bisection) bisect(r Rivals) *assign.Assignment {
	p := b.p
	low, high := b.proven, greatestTheta(p)
	if !b.try(high, r) {
		return b.fallback
	}
	high = b.reached
	if high > low && b.try(low, r) {
		return b.best
	}
	for range bisections {
		if high-low <= 1e-6*(1+high) || p.Meter.End != assign.Running {
			break
		}
		mid := (low + high) / 2
		if b.try(mid, r) {
			high = min(mid, b.reached)
		} else {
			low = mid
		}
	}
	return b.best
}

// ProveTheta returns a θ that no plan within the table limit and the migration limit, if
// there is one, stays below, at most the given one, which some plan reaches.
func ProveTheta(p *assign.Problem, reached float64) float64 {
	b := newBisection(p)
	low, high := b.proven, min(reached, greatestTheta(p))
	for range bisections {
		if high-low <= 1e-6*(1+high) || p.Stopped() {
			break
		}
		mid := (low + high) / 2
		q := underTheta(p, mid)
		if !q.Settled() && len(q.ByResource) > 0 {
			q = q.ByResource[0] // what is true of cost alone is true of all resources
		}
		if !q.Settled() && b.disproves(bound.Prove(q, bound.Quick)) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

func newBisection(p *assign.Problem) *bisection {
	b := &bisection{p: p, proven: ForcedTheta(p), budget: math.Inf(1)}
	if !p.Goal.Imbalance {
		return b
	}
	b.budget = p.MigrationBudget()
	if p.Goal.Allowance.Unit != assign.OfKeys {
		b.unseen = p.State.Float(p.Named())
	}
	return b
}

// disproves reports whether a proof shows that every plan under its tolerance
// exceeds the migration limit.
func (b *bisection) disproves(f *bound.Proof) bool {
	return f.Infeasible() || f.Bound/f.Relaxation.UnitWeight > float64(b.budget*(1+exact.Tolerance))+b.unseen
}

// bisections bounds the steps: the interval shrinks to a thousandth or less.
const bisections = 14

// bisection keeps what is known about the least θ.
type bisection struct {
	p        *assign.Problem
	budget   float64            // in the unit of the sub-problems' objective
	unseen   float64            // in that unit, by how much that of a plan may differ from the truth
	proven   float64            // no plan within the limits has a smaller θ
	best     *assign.Assignment // within the limits
	reached  float64            // its θ
	fallback *assign.Assignment // moves more than is allowed
}

// try plans for the tolerance θ and reports whether that is within the limits.
func (b *bisection) try(theta float64, r Rivals) bool {
	p := b.p
	if p.Meter.End != assign.Running {
		return false
	}
	q := underTheta(p, theta)
	if q.Settled() {
		return b.offer(q.Unmoved())
	}
	a, disproved := b.plan(q, r)
	if disproved {
		b.proven = max(b.proven, theta)
	}
	if a == nil {
		return false
	}
	sc := a.Score()
	if b.fallback == nil {
		b.fallback = adopt(p, a)
	}
	return sc.Violated == 0 && sc.Objective <= b.budget*(1+exact.Tolerance) && b.offer(a)
}

// plan plans a sub-problem, and reports whether it is proven that each of its plans exceeds the migration limit.
func (b *bisection) plan(q *assign.Problem, r Rivals) (a *assign.Assignment, disproved bool) {
	if q.ByResource == nil {
		least := minMigration(q, r, q.Goal.Effort, b.budget, bound.Quick)
		return least.Best, b.disproves(least.proof)
	}
	least := planResources(q, r, min(q.Goal.Effort, assign.Normal), b.budget)
	if least.Best == nil {
		return nil, false
	}
	budget := float64(b.budget*(1+exact.Tolerance)) + b.unseen
	return least.Best, least.proof.Infeasible() || least.proof.LowerBound() > budget
}

// offer keeps the assignment of a sub-problem if it is the best.
func (b *bisection) offer(a *assign.Assignment) bool {
	adopted := adopt(b.p, a)
	sc := adopted.Score()
	if sc.Violated > 0 {
		return false
	}
	if b.best == nil || sc.Theta < b.reached {
		b.best, b.reached = adopted, sc.Theta
	}
	return true
}

// adopt makes an assignment of a sub-problem one of p.
func adopt(p *assign.Problem, a *assign.Assignment) *assign.Assignment {
	b := *a
	b.Problem = p
	return &b
}

// underTheta is the sub-problem of least migration with that tolerance. Each key
// counts 1 there if the allowance is one of keys.
func underTheta(p *assign.Problem, theta float64) *assign.Problem {
	s, sites := p.Items, p.Instances
	if p.Goal.Allowance.Unit == assign.OfKeys {
		s, sites = p.Stateless()
	}
	g := assign.Goal{ThetaMax: theta, TableLimit: p.Goal.TableLimit, Effort: p.Goal.Effort, AnyCost: true}
	return assign.NewProblem(s, sites, p.Retained, g, p.Meter)
}

// ForcedTheta is a θ that no assignment stays below: the costliest key has to be
// somewhere, and what no item stands for stays where it is.
func ForcedTheta(p *assign.Problem) float64 {
	forced, residual, costliest := math.Inf(1), 0.0, int64(0)
	for _, c := range p.Items.Cost {
		costliest = max(costliest, p.Cost.Fixed(c))
	}
	for _, d := range p.Live {
		forced = min(forced, assign.Relative(float64(p.Residual[d]+costliest), p.Fair[d]))
		residual = max(residual, assign.Relative(float64(p.Residual[d]), p.Fair[d]))
	}
	if p.Total == 0 {
		return 0
	}
	return max(residual, forced)
}

// greatestTheta is a θ that every assignment keeps to.
func greatestTheta(p *assign.Problem) float64 {
	theta := 0.0
	for _, d := range p.Live {
		if p.Fair[d] > 0 {
			theta = max(theta, float64(p.Total)/p.Fair[d]-1)
		}
	}
	return theta * (1 + exact.Tolerance)
}
