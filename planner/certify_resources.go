package planner

import (
	"math"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
)

// certifyResources is certifyMigration where there are several resources.
func (f *finisher) certifyResources(x *bound.ResourceProof) {
	c, p := f.plan.Certificate, f.p
	if len(f.plan.HotKeys) > 0 {
		c.Unmet = f.hotUnmet()
	}
	if p.Settled() {
		return
	}
	if x == nil {
		x = bound.ProveResources(p, f.objective(), f.o.Certificate.level())
	}
	if !x.Infeasible() {
		c.LowerBound = x.LowerBound()
		return
	}
	c.Infeasible = true
	c.Unmet = f.unmetResources(x)
}

// hotUnmet are the resources of which one alone has to give way for the hot keys, at least so far, or all that
// have to.
func (f *finisher) hotUnmet() []Unmet {
	p := f.p
	var alone, together []Unmet
	for r, q := range p.Along {
		theta, some := 0.0, 0.0
		for _, h := range p.Hot[p.Pinned:] {
			theta = max(theta, forcedBeside(p, r, h.Item))
			some = max(some, forcedAlong(q, h.Item, p.OpenTo(h.Item)))
		}
		if !math.IsInf(theta, 1) {
			alone = append(alone, f.constraint(r, max(theta, beyond(q.Goal.ThetaMax))))
		}
		if some > q.Goal.ThetaMax {
			together = append(together, f.constraint(r, max(some, beyond(q.Goal.ThetaMax))))
		}
	}
	if len(alone) > 0 {
		return alone
	}
	return together
}

// forcedBeside is the least θ that an item comes to in one resource where it keeps within the bounds of all others;
// +∞: nowhere.
func forcedBeside(p *assign.Problem, resource int, item int32) float64 {
	least := math.Inf(1)
	for _, d := range p.OpenTo(item) {
		fits := true
		for r, q := range p.Along {
			fits = fits && (r == resource || q.AmountOf(item) <= q.Maximum[d]-q.Residual[d])
		}
		if q := p.Along[resource]; fits {
			least = min(least, assign.Relative(float64(q.Residual[d]+q.AmountOf(item)), q.Fair[d]))
		}
	}
	return least
}

// unmetResources are the constraints of an infeasible problem that could give way: each without which a plan is
// found that meets the others. Where there is none, those that are proven to be missed one by one, or all.
func (f *finisher) unmetResources(x *bound.ResourceProof) []Unmet {
	var alone, proven, all []Unmet
	for r := range f.p.Along {
		u := f.constraint(r, f.leastAlong(x, r))
		if q := x.Alone(r); q.Infeasible() {
			proven = append(proven, u)
		}
		all = append(all, u)
		if f.feasibleWithout(func(q *assign.Problem) { q.Relax(r) }) {
			alone = append(alone, u)
		}
	}
	if limit := f.p.Goal.TableLimit; limit != nil {
		u := Unmet{Constraint: ConstraintTable, Limit: float64(*limit), AtLeast: max(float64(*limit+1), x.Entries())}
		all = append(all, u)
		if f.feasibleWithout(func(q *assign.Problem) { q.Unlimit() }) {
			alone = append(alone, u)
		}
	}
	switch {
	case len(alone) > 0:
		return alone
	case len(proven) > 0:
		return proven
	}
	return all
}

// leastAlong is a θ, in one resource, that no plan stays below that meets the other constraints.
func (f *finisher) leastAlong(x *bound.ResourceProof, resource int) float64 {
	q := f.p.Along[resource]
	theta := beyond(q.Goal.ThetaMax)
	if proof := x.Alone(resource); proof.Infeasible() && len(f.p.Hot) == 0 {
		theta = max(theta, proof.LeastTheta())
	}
	total, room := float64(q.Total), 0.0
	for _, d := range q.Live {
		room += q.Fair[d]
	}
	if room > 0 {
		theta = max(theta, total/room*(1-1e-12)-1)
	}
	return theta
}

// feasibleWithout reports whether a plan is found that meets all constraints but one that is taken away.
func (f *finisher) feasibleWithout(relax func(*assign.Problem)) bool {
	q := f.p.Relaxed(relax)
	a, _ := optimally(q, f.o)
	return a != nil && a.Score().Violated == 0
}
