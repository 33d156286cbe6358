package relaxation

import (
	"iter"
	"math"
	"slices"

	"plannerd/planner/internal/assign"
)

// ReducedCostFilter tells at little cost, under given prices, that a key at home surely
// stays there. Its figures are in the units of the snapshot.
type ReducedCostFilter struct {
	p         *assign.Problem
	cost      []float64 // by instance: a key of up to that cost stays, whatever its weight; −1: no telling
	fits      []float64 // by instance: it can tell of keys of up to that cost, which may stay
	perState  float64   // what leaving costs per state, at least
	rest      []float64 // by instance: what a key without state pays for leaving
	perCost   []float64 // by instance: what leaving it gains
	stateless float64   // the state of all keys where none is reported, else 0
}

const cautious = 1e-12 // more than what rounding can do

// FilterAt is the filter under given prices.
func (x *Relaxation) FilterAt(y *Prices) *ReducedCostFilter {
	return x.reducedCostFilter(y.Load, slices.Repeat([]float64{y.Table}, len(y.Load)), x.cheapest(y))
}

// cheapest is the least price of load.
func (x *Relaxation) cheapest(y *Prices) float64 {
	least := math.Inf(1)
	for _, d := range x.byRoom {
		least = min(least, y.Load[d])
	}
	return least
}

// reducedCostFilter finds the keys that do not leave if the load on their instance has the
// price here, that on the others at least the price there, and an entry costs
// entry, by instance.
func (x *Relaxation) reducedCostFilter(here, entry []float64, there float64) *ReducedCostFilter {
	p, n := x.Problem, len(here)
	no := slices.Repeat([]float64{-1}, n)
	at := &ReducedCostFilter{p: p, cost: no, fits: slices.Clone(no), rest: make([]float64, n), perCost: make([]float64, n)}
	// The scale of costs is a power of two, unless out of range. What rounds to
	// fixed point changes by no more than a unit.
	scale := p.Cost.Scaled(x.UnitCost)
	if !(scale > 0x1p-1000 && scale < 0x1p1000) {
		return at
	}
	at.perState = x.UnitWeight * (1 - cautious)
	free := float64(x.UnitWeight * (float64(p.Goal.KeyOverhead*(1-cautious)) - p.State.Float(1)))
	if p.Items.State == nil {
		at.stateless = 1
	}
	for _, d := range p.Live {
		if x.Room[d] < 0 {
			continue
		}
		gain := max(0, here[d]-there) * (1 + cautious)
		at.perCost[d] = gain * scale
		if gain > 0 && at.perCost[d] < 0x1p-1000 {
			continue
		}
		at.fits[d] = p.Cost.Float(max(x.Room[d]-1, 0)) * (1 - cautious)
		at.cost[d] = at.fits[d]
		if gain > 0 {
			most := float64(entry[d]*(1-cautious))/gain - float64(2*x.UnitCost)
			at.cost[d] = min(at.fits[d], max(-1, most/scale*(1-cautious)))
		}
		at.rest[d] = free + float64(entry[d]*(1-cautious)) - float64(gain*x.UnitCost)
	}
	return at
}

// Stays reports whether an item surely stays at home.
func (at *ReducedCostFilter) Stays(i int) bool {
	s := at.p.Items
	c, d := s.Cost[i], s.Current[i]
	if d != s.Home[i] || c > at.fits[d] {
		return false
	}
	return c <= at.cost[d] || at.outweighs(i, d, c)
}

// outweighs reports whether an item has too much state for its cost.
func (at *ReducedCostFilter) outweighs(i int, d int32, c float64) bool {
	state := at.stateless
	if state == 0 {
		state = at.p.Items.State[i]
	}
	return float64(state*at.perState)+at.rest[d] >= float64(at.perCost[d]*c)
}

// Candidates yields the items of a range of which it cannot tell that they stay.
func (at *ReducedCostFilter) Candidates(begin, end int) iter.Seq[int] {
	return func(yield func(int) bool) {
		s := at.p.Items
		cost, current, hash := s.Cost[begin:end], s.Current[begin:end], s.Home[begin:end]
		current, hash = current[:len(cost)], hash[:len(cost)]
		for i, c := range cost {
			d := current[i]
			if d == hash[i] && (c <= at.cost[d] || c <= at.fits[d] && at.outweighs(begin+i, d, c)) {
				continue
			}
			if !yield(begin + i) {
				return
			}
		}
	}
}
