package relaxation

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/knapsack"
)

const (
	// wholeCore is up to how many items all of them are part of the core at once.
	wholeCore = 4096
	// samples is about how many items prices are estimated from. Of those that
	// have to leave an instance each stands for at most one part in fineness,
	// if there are enough samples for all instances.
	samples  = 8_000
	fineness = 64
	// The core holds what leaves an instance at a price somewhat higher than
	// the estimate, but not much more load than has to leave.
	spare, spareLoad = 1.5, 1.5
)

// core are the items that are likely to move, over which prices are sought.
type core struct {
	*Relaxation
	choices []Choice // in canonical order
	member  []bool   // by item
}

// newCore puts the items into the core that move, or nearly so, under prices
// that it estimates from a sample. On small inputs the core is everything.
func newCore(x *Relaxation) *core {
	n := x.Problem.Items.Len()
	c := &core{Relaxation: x, member: make([]bool, n)}
	if n <= wholeCore {
		c.choices = make([]Choice, 0, n)
		for i := range n {
			if !x.Problem.IsHot(i) {
				c.choices = append(c.choices, x.ChoiceOf(i))
				c.member[i] = true
			}
		}
		c.sort()
		return c
	}
	d := newDual(x, sampleOf(x))
	d.start()
	d.maximize()
	keep := newCoreFilter(x, d)
	at := keep.reducedCosts(x)
	c.choices = assign.Collect(n, func(from, to int) (some []Choice) {
		for i := range at.Candidates(from, to) {
			if x.Problem.IsHot(i) {
				continue
			}
			if k := x.ChoiceOf(i); keep.keeps(&k) {
				some = append(some, k)
			}
		}
		return some
	})
	for i := range c.choices {
		c.member[c.choices[i].Item] = true
	}
	c.sort()
	return c
}

// extend adds items to the core that it missed. When prices went astray, since
// there was not enough to move, these are far too many; then the costliest do.
func (c *core) extend(missed []Choice) {
	if len(missed) == 0 {
		return
	}
	if len(missed) > 2*samples {
		s := c.Problem.Items
		exact.SelectLeast(missed, 2*samples, func(a, b Choice) int {
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), s.Compare(a.Item, b.Item))
		})
		missed = missed[:2*samples]
	}
	for _, k := range missed {
		c.member[k.Item] = true
	}
	c.choices = append(c.choices, missed...)
	c.sort()
}

// sort puts the core into canonical order: that of the rows must not matter.
func (c *core) sort() { c.choices = c.InOrder(c.choices) }

// InOrder puts choices into canonical order.
func (x *Relaxation) InOrder(choices []Choice) []Choice {
	return assign.InOrder(choices, x.Problem.Items, func(k *Choice) int32 { return k.Item })
}

// idleFilter finds what stays at home whatever the prices, since nothing
// has to leave its instance.
func idleFilter(x *Relaxation) *ReducedCostFilter {
	here, entry := make([]float64, len(x.Excess)), make([]float64, len(x.Excess))
	for d, excess := range x.Excess {
		if excess > 0 {
			here[d] = math.MaxFloat32 // any price that is out of proportion
		}
	}
	return x.reducedCostFilter(here, entry, 0)
}

// sampleOf returns some of the items that may move, each with the more units the
// less likely it was to be among them. Chance comes from the keys.
func sampleOf(x *Relaxation) []Choice {
	p, s := x.Problem, x.Problem.Items
	perCost, sum, others := make([]float64, len(x.Excess)), 0.0, int64(0)
	for d, load := range p.Before {
		leaving := max(x.Excess[d], 0)
		if !p.IsLive[d] {
			leaving = x.UnitCost * float64(load)
		}
		if leaving > 0 {
			perCost[d] = fineness / leaving
			sum += float64(perCost[d] * x.UnitCost * float64(load))
			others += p.NamedOn[d]
		}
	}
	scale := p.Cost.Scaled(min(1, samples/(sum+1)) * x.UnitCost)
	for d := range perCost {
		perCost[d] *= scale
	}
	even, at := float64(samples)/2/float64(others+p.Entries+1), idleFilter(x)
	some := x.InOrder(assign.Collect(s.Len(), func(from, to int) []Choice {
		var some []Choice
		for i := range at.Candidates(from, to) {
			chance := even + float64(perCost[s.Current[i]]*s.Cost[i])
			if chance < 1 && chanceOf(s.Hashes[i]) >= chance || p.IsHot(i) {
				continue
			}
			k := x.ChoiceOf(i)
			k.Units /= min(1, chance)
			some = append(some, k)
		}
		return some
	}))
	adjust(x, some)
	return some
}

// adjust makes the load of the sampled keys on an instance that of all its keys.
func adjust(x *Relaxation, sample []Choice) {
	n := len(x.Excess)
	surely, likely := make([]float64, n), make([]float64, n) // load of those with their own units, and of others
	for _, h := range x.Problem.Hot {
		cost := x.Problem.Cost.Fixed(x.Problem.Items.Cost[h.Item])
		surely[x.Problem.Items.Current[h.Item]] += float64(x.UnitCost * float64(cost*h.Count))
	}
	for i := range sample {
		k := &sample[i]
		if load := float64(k.Cost * k.Units); k.Units == float64(x.Problem.Items.UnitsOf(int(k.Item))) {
			surely[k.From] += load
		} else {
			likely[k.From] += load
		}
	}
	for i := range sample {
		k, p := &sample[i], x.Problem
		if k.Units != float64(p.Items.UnitsOf(int(k.Item))) && x.Excess[k.From] > 0 && likely[k.From] > 0 {
			all := float64(x.UnitCost * float64(p.Before[k.From]-p.Residual[k.From]))
			k.Units *= max(all-surely[k.From], 0) / likely[k.From]
		}
	}
}

// chanceOf makes a number in [0,1) of a key's hash that has nothing to do with
// where a hash function puts the key.
func chanceOf(hash uint64) float64 {
	hash ^= hash >> 32
	hash *= 0x9e3779b97f4a7c15
	hash ^= hash >> 29
	hash *= 0xbf58476d1ce4e5b9
	return float64(hash>>11) * 0x1p-53
}

// coreFilter tells which items belong to the core.
type coreFilter struct {
	y     *Prices
	m     CheapestReceiver
	ratio []float64 // by instance: of what leaving it would cost, per cost of the key
	tie   []float64 // by instance: added to what leaving costs, so that costly keys come first
}

func newCoreFilter(x *Relaxation, d *dual) *coreFilter {
	n := len(x.Excess)
	k := &coreFilter{y: &d.best, m: x.CheapestReceivers(&d.best), ratio: make([]float64, n), tie: make([]float64, n)}
	for i, u := range k.y.Load {
		k.tie[i] = 1e-6 * u * max(x.Excess[i], 0)
	}
	groups, need := make([][]knapsack.Ratioed, n), slices.Clone(x.Excess)
	for i := range d.core {
		c := &d.core[i]
		if r, ok := k.ratioOf(c); ok {
			groups[c.From] = append(groups[c.From], knapsack.Ratioed{Ratio: r, Cost: int64(c.Cost * c.Units / x.UnitCost)})
		}
		if o, _ := c.Best(k.y, k.m); o == GoHome {
			need[c.Home] += float64(c.Cost * c.Units)
		}
	}
	for i, u := range k.y.Load {
		if need[i] > 0 {
			k.ratio[i] = min(spare*u, knapsack.CriticalRatio(groups[i], int64(spareLoad*need[i]/x.UnitCost)))
		}
	}
	return k
}

// ratioOf is the price at which a key leaves its instance. False: it has to.
func (q *coreFilter) ratioOf(k *Choice) (float64, bool) {
	if k.MustLeave {
		return 0, false
	}
	_, home, away := k.Costs(q.y, q.m)
	return (min(home, away) + float64(q.y.Load[k.From]*k.Cost) + q.tie[k.From]) / k.Cost, true
}

// keeps reports whether a key belongs to the core.
func (q *coreFilter) keeps(k *Choice) bool {
	r, ok := q.ratioOf(k)
	return !ok || r <= q.ratio[k.From] || math.IsNaN(r)
}

// reducedCosts finds the keys at home that do not belong to the core.
func (q *coreFilter) reducedCosts(x *Relaxation) *ReducedCostFilter {
	entry := make([]float64, len(q.tie))
	for d := range entry {
		entry[d] = q.y.Table + q.tie[d]
	}
	return x.reducedCostFilter(q.ratio, entry, x.cheapest(q.y))
}
