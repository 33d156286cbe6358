package planner

import (
	"math"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/optimal"
)

// certifyResources is certifyMigration where there are several resources.
func (f *finisher) certifyResources(x *bound.ResourceProof) {
	c, p := f.plan.Certificate, f.p
	if len(f.at.Splits) > 0 || f.at.LeavesParts() || f.space.Priced() || f.o.Splitting != nil && len(p.Hot) > 0 {
		f.certifyDivided(x)
		return
	}
	if !p.Settled() {
		if x == nil {
			x = bound.ProveResources(p, f.objective(), f.o.Certificate.level())
		}
		if c.Infeasible = x.Infeasible(); !c.Infeasible {
			c.LowerBound = x.LowerBound()
		}
	}
	if !c.Infeasible && len(f.plan.HotKeys) == 0 {
		return
	}
	c.Unmet = (&unmetFinder{finisher: f, p: p, x: x}).find()
	if i := slices.IndexFunc(c.Unmet, func(u Unmet) bool { return u.Constraint != ConstraintTable }); i >= 0 {
		c.Unmet = append(c.Unmet, f.unmetRules(c.Unmet[i])...)
	}
}

// certifyDivided is certifyResources where keys are split: what it proves is true of every way to divide them.
// Where would keys stand that cannot be divided as far as they had to be? That depends on the division, so that
// beside them there is no bound on what moves.
func (f *finisher) certifyDivided(x *bound.ResourceProof) {
	c, p := f.plan.Certificate, f.at.Undivided(f.meter)
	if f.at.LeavesParts() {
		x = nil // other plans need not leave what this one does
	}
	switch {
	case f.space.Priced():
		c.LowerBound = f.space.PricedBound()
	case len(p.Hot) == 0 && len(f.plan.HotKeys) == 0 && !p.Settled():
		if x == nil {
			x = bound.ProveResources(p, f.objective(), f.o.Certificate.level())
		}
		if c.Infeasible = x.Infeasible(); !c.Infeasible {
			c.LowerBound = x.LowerBound()
		}
	}
	c.Unmet = (&unmetFinder{finisher: f, p: p, x: x, divided: true}).find()
}

// forcedBeside is the least θ that an item comes to in one resource where it keeps within the bounds of all others;
// +∞: nowhere.
func forcedBeside(p *assign.Problem, resource int, item int32) float64 {
	least := math.Inf(1)
	for _, d := range p.OpenTo(item) {
		fits := true
		for r, q := range p.ByResource {
			fits = fits && (r == resource || q.HasRoom(item, d))
		}
		if q := p.ByResource[resource]; fits {
			least = min(least, assign.Relative(float64(q.Residual[d]+q.AmountOf(item)), q.Fair[d]))
		}
	}
	return least
}

// unmetFinder finds which constraints could give way where there are several resources.
type unmetFinder struct {
	*finisher
	p       *assign.Problem
	x       *bound.ResourceProof // nil where all loads are within the bounds as hot keys raise them
	divided bool                 // keys of p can be split: then it has what is proven alone
}

// find lists the constraints that could give way: each without which a plan is found that meets the others,
// with no key hot. Where there is none, those that are proven to be missed one by one, or all.
func (f *unmetFinder) find() []Unmet {
	var alone, proven, all []Unmet
	few := f.s.Len() <= fewForTheta && !f.divided
	for r, q := range f.p.ByResource {
		forced, some := f.forced(r)
		var known, free *bound.Proof // of this resource, and of that without a limit of the table
		if c := f.plan.Certificate; c.Infeasible {
			known = f.x.Alone(r, bound.Quick)
			if free = known; q.Goal.TableLimit != nil && known.Infeasible() {
				free = bound.Prove(q.WithoutTable(), bound.Quick)
			}
		}
		u := f.constraint(r, f.leastIn(known, r, forced))
		switch {
		case math.IsInf(forced, 1): // some key is hot in another one, too
		case few && f.feasibleUnder(f.p.Without(1<<r, true)), !few && len(f.plan.HotKeys) > 0:
			alone = append(alone, u)
		}
		v := f.constraint(r, f.leastIn(free, r, some))
		if some > beyond(q.Goal.ThetaMax) || free != nil && free.Infeasible() {
			proven = append(proven, v)
		}
		all = append(all, v)
	}
	if limit := f.p.Goal.TableLimit; limit != nil && f.plan.Certificate.Infeasible {
		fewest := float64(bound.FewestEntries(f.p))
		u := Unmet{Constraint: ConstraintTable, Limit: float64(*limit), AtLeast: max(fewest, float64(*limit+1))}
		all = append(all, u)
		// Where loads cannot be kept whatever the table is, any number of entries is proven for those who keep them.
		u.AtLeast = max(u.AtLeast, f.x.Entries)
		switch {
		case few && f.feasibleUnder(f.p.Without(0, false)):
			alone = append(alone, u)
		case fewest > u.Limit:
			proven = append(proven, all[len(all)-1])
		case !few && f.x.Entries > u.Limit:
			proven = append(proven, u)
		}
	}
	switch {
	case len(alone) > 0:
		return alone
	case len(proven) > 0 || !few:
		return proven
	}
	return f.fewest(all)
}

// fewest leaves out, one by one, constraints that can hold while the others of a list give way.
func (f *unmetFinder) fewest(all []Unmet) []Unmet {
	gone, table := uint8(1)<<len(f.p.ByResource)-1, false
	return slices.DeleteFunc(all, func(u Unmet) bool {
		rest, limit := gone, table
		if u.Constraint == ConstraintTable {
			limit = true
		} else {
			rest &^= 1 << f.resourceOf(u)
		}
		if !f.feasibleUnder(f.p.Without(rest, limit)) {
			return false
		}
		gone, table = rest, limit
		return true
	})
}

// resourceOf is the resource that a constraint is of.
func (f *unmetFinder) resourceOf(u Unmet) int {
	return 1 + slices.IndexFunc(f.s.Resources, func(r Resource) bool { return r.Name == u.Resource })
}

// forced is the least θ in one resource that hot keys come to which keep within all other bounds, +∞ where some
// cannot, and that of hot keys that keep within none.
func (f *unmetFinder) forced(resource int) (beside, alone float64) {
	p := f.p
	if f.divided {
		for _, k := range f.plan.HotKeys {
			alone = max(alone, f.forcedByParts(resource, k.Item))
		}
		return math.Inf(1), alone
	}
	for _, h := range p.Hot[p.Pinned:] {
		beside = max(beside, forcedBeside(p, resource, h.Item))
		alone = max(alone, f.forcedIn(resource, h.Item))
	}
	return beside, alone
}

// leastIn is a θ, in one resource, that no plan stays below that meets the other constraints; forced is one, and
// known the proof of that resource, if there is one.
func (f *unmetFinder) leastIn(known *bound.Proof, resource int, forced float64) float64 {
	q := f.p.ByResource[resource]
	theta := beyond(q.Goal.ThetaMax)
	if !math.IsInf(forced, 1) {
		theta = max(theta, forced)
	}
	if known != nil && len(f.p.Hot) == 0 && known.Infeasible() {
		theta = max(theta, known.LeastTheta())
	}
	total, room := float64(q.Total), 0.0
	for d, live := range q.IsLive {
		room += q.Fair[d]
		if !live { // what no item stands for stays there
			total -= float64(q.Residual[d])
		}
	}
	if room > 0 {
		theta = max(theta, float64(total/room*(1-1e-12))-1)
	}
	return theta
}

// feasibleUnder reports whether a plan is found that meets all constraints of a problem in which no key is hot.
func (f *unmetFinder) feasibleUnder(p *assign.Problem) bool {
	if len(p.Hot) > p.Pinned {
		return false
	}
	return optimal.Feasible(p, rivals(f.o))
}
