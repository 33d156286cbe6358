package planner

import (
	"iter"
	"math"
	"slices"
)

// glance tells at little cost, under given prices, that a key at home surely
// stays there. Its figures are in the units of the snapshot.
type glance struct {
	p         *problem
	cost      []float64 // by instance: a key of up to that cost stays, whatever its weight; −1: no telling
	fits      []float64 // by instance: it can tell of keys of up to that cost, which may stay
	perState  float64   // what leaving costs per state, at least
	rest      []float64 // by instance: what a key without state pays for leaving
	perCost   []float64 // by instance: what leaving it gains
	stateless float64   // the state of all keys where none is reported, else 0
}

const cautious = 1e-12 // more than what rounding can do

// glanceAt is the glance under given prices.
func (x *relaxation) glanceAt(y *prices) *glance {
	return x.glance(y.load, slices.Repeat([]float64{y.table}, len(y.load)), x.cheapest(y))
}

// cheapest is the least price of load.
func (x *relaxation) cheapest(y *prices) float64 {
	least := math.Inf(1)
	for _, d := range x.byRoom {
		least = min(least, y.load[d])
	}
	return least
}

// glance finds the keys that do not leave if the load on their instance has the
// price here, that on the others at least the price there, and an entry costs
// entry, by instance.
func (x *relaxation) glance(here, entry []float64, there float64) *glance {
	p, n := x.p, len(here)
	no := slices.Repeat([]float64{-1}, n)
	at := &glance{p: p, cost: no, fits: slices.Clone(no), rest: make([]float64, n), perCost: make([]float64, n)}
	// The scale of costs is a power of two, unless out of range. What rounds to
	// fixed point changes by no more than a unit.
	scale := p.cost.Scaled(x.unitCost)
	if !(scale > 0x1p-1000 && scale < 0x1p1000) {
		return at
	}
	at.perState = x.unitWeight * (1 - cautious)
	free := float64(x.unitWeight * (float64(p.o.KeyOverhead*(1-cautious)) - p.state.Float(1)))
	if p.s.State == nil {
		at.stateless = 1
	}
	for _, d := range p.live {
		if x.room[d] < 0 {
			continue
		}
		gain := max(0, here[d]-there) * (1 + cautious)
		at.perCost[d] = gain * scale
		if gain > 0 && at.perCost[d] < 0x1p-1000 {
			continue
		}
		at.fits[d] = p.cost.Float(max(x.room[d]-1, 0)) * (1 - cautious)
		at.cost[d] = at.fits[d]
		if gain > 0 {
			most := float64(entry[d]*(1-cautious))/gain - float64(2*x.unitCost)
			at.cost[d] = min(at.fits[d], max(-1, most/scale*(1-cautious)))
		}
		at.rest[d] = free + float64(entry[d]*(1-cautious)) - float64(gain*x.unitCost)
	}
	return at
}

// stays reports whether an item surely stays at home.
func (at *glance) stays(i int) bool {
	s := at.p.s
	c, d := s.Cost[i], s.Current[i]
	if d != s.Hash[i] || c > at.fits[d] {
		return false
	}
	return c <= at.cost[d] || at.rich(i, d, c)
}

// rich reports whether an item has too much state for its cost.
func (at *glance) rich(i int, d int32, c float64) bool {
	state := at.stateless
	if state == 0 {
		state = at.p.s.State[i]
	}
	return float64(state*at.perState)+at.rest[d] >= float64(at.perCost[d]*c)
}

// restless yields the items of a range of which it cannot tell that they stay.
func (at *glance) restless(begin, end int) iter.Seq[int] {
	return func(yield func(int) bool) {
		s := at.p.s
		cost, current, hash := s.Cost[begin:end], s.Current[begin:end], s.Hash[begin:end]
		current, hash = current[:len(cost)], hash[:len(cost)]
		for i, c := range cost {
			d := current[i]
			if d == hash[i] && (c <= at.cost[d] || c <= at.fits[d] && at.rich(begin+i, d, c)) {
				continue
			}
			if !yield(begin + i) {
				return
			}
		}
	}
}
