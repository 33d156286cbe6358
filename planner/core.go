package planner

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
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

// firstCore puts the items into the core that move, or nearly so, under prices
// that it estimates from a sample. On small inputs the core is everything.
func (f *proof) firstCore() {
	x, n := f.x, f.x.p.s.Len()
	if n <= wholeCore {
		f.core = make([]choice, 0, n)
		for i := range n {
			if !x.p.isHot(i) {
				f.core = append(f.core, x.choiceOf(i))
				f.member[i] = true
			}
		}
		f.sortCore()
		return
	}
	d := x.newDual(x.sample())
	d.start()
	d.climb()
	keep := x.keepers(d)
	at := keep.glance(x)
	f.core = collect(n, func(from, to int) (core []choice) {
		for i := range at.restless(from, to) {
			if x.p.isHot(i) {
				continue
			}
			if k := x.choiceOf(i); keep.keeps(&k) {
				core = append(core, k)
			}
		}
		return core
	})
	for i := range f.core {
		f.member[f.core[i].item] = true
	}
	f.sortCore()
}

// extend adds items to the core that it missed. When prices went astray, since
// there was not enough to move, these are far too many; then the costliest do.
func (f *proof) extend(missed []choice) {
	if len(missed) == 0 {
		return
	}
	if len(missed) > 2*samples {
		keys := f.x.p.s.Keys
		exact.SelectLeast(missed, 2*samples, func(a, b choice) int {
			return cmp.Or(cmp.Compare(b.cost, a.cost), keys.Compare(a.item, b.item))
		})
		missed = missed[:2*samples]
	}
	for _, k := range missed {
		f.member[k.item] = true
	}
	f.core = append(f.core, missed...)
	f.sortCore()
}

// sortCore puts the core into canonical order: that of the rows must not matter.
func (f *proof) sortCore() { f.core = inOrder(f.core, f.x.p.s.Keys, itemOf) }

func itemOf(k *choice) int32 { return k.item }

// idle is the glance at what stays at home whatever the prices, since nothing
// has to leave its instance.
func (x *relaxation) idle() *glance {
	here, entry := make([]float64, len(x.excess)), make([]float64, len(x.excess))
	for d, excess := range x.excess {
		if excess > 0 {
			here[d] = math.MaxFloat32 // any price that is out of proportion
		}
	}
	return x.glance(here, entry, 0)
}

// sample returns some of the items that may move, each with the more units the
// less likely it was to be among them. Chance comes from the keys.
func (x *relaxation) sample() []choice {
	p, s := x.p, x.p.s
	perCost, sum, others := make([]float64, len(x.excess)), 0.0, int64(0)
	for d, load := range p.before {
		leaving := max(x.excess[d], 0)
		if !p.isLive[d] {
			leaving = x.unitCost * float64(load)
		}
		if leaving > 0 {
			perCost[d] = fineness / leaving
			sum += float64(perCost[d] * x.unitCost * float64(load))
			others += p.namedOn[d]
		}
	}
	scale := p.cost.Scaled(min(1, samples/(sum+1)) * x.unitCost)
	for d := range perCost {
		perCost[d] *= scale
	}
	even, at := float64(samples)/2/float64(others+p.entries+1), x.idle()
	some := inOrder(collect(s.Len(), func(from, to int) []choice {
		var some []choice
		for i := range at.restless(from, to) {
			chance := even + float64(perCost[s.Current[i]]*s.Cost[i])
			if chance < 1 && chanceOf(s.Keys.hashes[i]) >= chance || p.isHot(i) {
				continue
			}
			k := x.choiceOf(i)
			k.units /= min(1, chance)
			some = append(some, k)
		}
		return some
	}), s.Keys, itemOf)
	x.adjust(some)
	return some
}

// adjust makes the load of the sampled keys on an instance that of all its keys.
func (x *relaxation) adjust(sample []choice) {
	n := len(x.excess)
	surely, likely := make([]float64, n), make([]float64, n) // load of those with their own units, and of others
	for _, h := range x.p.hot {
		surely[x.p.s.Current[h.item]] += float64(x.unitCost * float64(x.p.cost.Fixed(x.p.s.Cost[h.item])*h.count))
	}
	for i := range sample {
		k := &sample[i]
		if load := float64(k.cost * k.units); k.units == float64(x.p.s.count(int(k.item))) {
			surely[k.from] += load
		} else {
			likely[k.from] += load
		}
	}
	for i := range sample {
		k, p := &sample[i], x.p
		if k.units != float64(p.s.count(int(k.item))) && x.excess[k.from] > 0 && likely[k.from] > 0 {
			all := float64(x.unitCost * float64(p.before[k.from]-p.residual[k.from]))
			k.units *= max(all-surely[k.from], 0) / likely[k.from]
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

// keepers tells which items belong to the core.
type keepers struct {
	y     *prices
	m     market
	ratio []float64 // by instance: of what leaving it would cost, per cost of the key
	tie   []float64 // by instance: added to what leaving costs, so that costly keys come first
}

func (x *relaxation) keepers(d *dual) *keepers {
	n := len(x.excess)
	k := &keepers{y: &d.best, m: x.market(&d.best), ratio: make([]float64, n), tie: make([]float64, n)}
	for i, u := range k.y.load {
		k.tie[i] = 1e-6 * u * max(x.excess[i], 0)
	}
	groups, need := make([][]ratioed, n), slices.Clone(x.excess)
	for i := range d.core {
		c := &d.core[i]
		if r, ok := k.ratioOf(c); ok {
			groups[c.from] = append(groups[c.from], ratioed{r, int64(c.cost * c.units / x.unitCost)})
		}
		if o, _ := c.best(k.y, k.m); o == goHome {
			need[c.home] += float64(c.cost * c.units)
		}
	}
	for i, u := range k.y.load {
		if need[i] > 0 {
			k.ratio[i] = min(spare*u, criticalRatio(groups[i], int64(spareLoad*need[i]/x.unitCost)))
		}
	}
	return k
}

// ratioOf is the price at which a key leaves its instance. False: it has to.
func (q *keepers) ratioOf(k *choice) (float64, bool) {
	if k.must {
		return 0, false
	}
	_, home, away := k.costs(q.y, q.m)
	return (min(home, away) + float64(q.y.load[k.from]*k.cost) + q.tie[k.from]) / k.cost, true
}

// keeps reports whether a key belongs to the core.
func (q *keepers) keeps(k *choice) bool {
	r, ok := q.ratioOf(k)
	return !ok || r <= q.ratio[k.from] || math.IsNaN(r)
}

// glance is the glance at the keys at home that do not belong to the core.
func (q *keepers) glance(x *relaxation) *glance {
	entry := make([]float64, len(q.tie))
	for d := range entry {
		entry[d] = q.y.table + q.tie[d]
	}
	return x.glance(q.ratio, entry, x.cheapest(q.y))
}
