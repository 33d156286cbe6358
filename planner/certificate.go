package planner

import "math"

// proof is what the relaxation tells about a problem.
type proof struct {
	x     *relaxation
	y     prices
	bound float64 // scaled; a lower bound on the objective of every plan that meets all constraints
}

// infeasible reports whether no plan meets all constraints: it would have to
// move more than there is.
func (f *proof) infeasible() bool { return f.bound > f.x.everything*(1+1e-9) }

// smallCore is up to how many items all of them are part of the core at once.
const smallCore = 4096

// prove finds good prices and evaluates them over all items. It starts with a
// core of the items that are likely to move, and adds those that turn out to.
func (p *problem) prove(level CertificateLevel) *proof {
	x := newRelaxation(p)
	f := &proof{x: x, y: prices{load: make([]float64, len(x.excess))}}
	core, member := x.firstCore()
	rounds := 4
	if level == CertificateTight {
		rounds = 12
	}
	for range rounds {
		d := x.newDual(core)
		d.start()
		d.climb()
		added := 0
		value := x.evaluate(&d.best, member, func(k choice) {
			core = append(core, k)
			member[k.item] = true
			added++
		})
		if value > f.bound {
			f.bound, f.y = value, d.best
		}
		if f.infeasible() || added == 0 || value >= d.bestValue*(1-1e-4) {
			break
		}
	}
	return f
}

// firstCore are the items that have an entry or are forced to move, and those on
// overloaded instances that are among the cheapest to move per cost, or among
// the costliest.
func (x *relaxation) firstCore() (core []choice, member []bool) {
	p, s := x.p, x.p.s
	member = make([]bool, s.Len())
	all := s.Len() <= smallCore
	var limits []coreLimit
	if !all {
		limits = x.coreLimits()
	}
	for i, c := range s.Cost {
		from := s.Current[i]
		if !all && from == s.Hash[i] && !s.Instances[from].Drained {
			cost := p.cost.of(c)
			if x.excess[from] <= 0 && cost <= x.room[from] {
				continue
			}
			scaled := x.unitCost * float64(cost)
			if scaled < limits[from].cost && x.unitWeight*p.weight(int32(i)) > limits[from].ratio*scaled {
				continue
			}
		}
		if p.isHot(i) {
			continue
		}
		core = append(core, x.choiceOf(i))
		member[i] = true
	}
	return core, member
}

// coreLimit says which items of an instance belong to the first core: those of
// at most that weight per cost, and those of at least that cost.
type coreLimit struct{ ratio, cost float64 }

const (
	spareRatio = 1.25 // times what has to leave an instance, as the cheapest items
	spareCost  = 3    // times that, as the costliest
)

func (x *relaxation) coreLimits() []coreLimit {
	p, s := x.p, x.p.s
	limits := make([]coreLimit, len(x.excess))
	groups := make([][]ratioed, len(x.excess))
	for _, d := range p.live {
		if x.excess[d] > 0 {
			groups[d] = make([]ratioed, 0, p.namedOn[d])
		}
	}
	for i, c := range s.Cost {
		if g := groups[s.Current[i]]; g != nil && c > 0 && len(g) < cap(g) {
			cost := x.unitCost * float64(p.cost.of(c))
			groups[s.Current[i]] = append(g, ratioed{x.unitWeight * p.weight(int32(i)) / cost, cost * float64(s.count(i))})
		}
	}
	for d, g := range groups {
		if g == nil {
			continue
		}
		limits[d].ratio = criticalRatio(g, spareRatio*x.excess[d])
		limits[d].cost = math.Inf(1)
		if !x.limited {
			continue
		}
		for i := range g {
			g[i].ratio = -g[i].cost
		}
		limits[d].cost = -criticalRatio(g, spareCost*x.excess[d])
	}
	return limits
}

// certify proves how good any plan of p can be.
func (p *problem) certify(plan *Plan, f *proof) {
	if p.o.Certificate == CertificateOff {
		return
	}
	if f == nil {
		f = p.prove(p.o.Certificate)
	}
	c := &Certificate{Infeasible: f.infeasible()}
	plan.Certificate = c
	if c.Infeasible {
		return
	}
	c.LowerBound = max(0, f.bound/f.x.unitWeight)
	if plan.score.violated > 0 {
		return
	}
	objective := plan.Migration.Objective
	switch {
	case c.LowerBound > 0:
		gap := (objective - c.LowerBound) / c.LowerBound
		c.Gap = &gap
	case objective == 0:
		c.Gap = new(float64)
	}
}
