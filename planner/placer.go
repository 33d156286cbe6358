package planner

import (
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
)

// placer places keys on the instances of least relative load, and many equal ones
// together where they would go to the same instance one after the other.
type placer struct {
	*assign.Assignment
	byLoad
	*parts
}

func newPlacer(a *assign.Assignment) *placer {
	return &placer{Assignment: a, byLoad: instancesByLoad(a), parts: newParts(len(a.Load))}
}

// byLoad yields the live instances in ascending L̂/κ, ties by id.
type byLoad struct {
	tried   exact.Heap[int32] // those that have not refused the candidate at hand
	refused []int32           // those that have, in that order
	rate    []float64         // by instance: L̂/κ
}

// instancesByLoad returns the live instances, none of which has refused yet.
func instancesByLoad(a *assign.Assignment) byLoad {
	b := byLoad{rate: make([]float64, len(a.Load))}
	b.tried.Before = func(x, y int32) bool { return b.rate[x] < b.rate[y] || b.rate[x] == b.rate[y] && x < y }
	for _, d := range a.Problem.Live {
		b.rate[d] = a.Problem.Rate(d, a.Load[d])
		b.tried.Push(d)
	}
	return b
}

// refuse takes the least loaded instance off the list, for the candidate at hand.
func (b *byLoad) refuse() { b.refused = append(b.refused, b.tried.Pop()) }

// parts are the pieces of a candidate that were placed already, by instance, so
// that there is one for each at most, however many units it has.
type parts struct {
	on     []int32 // piece, or nowhere
	placed []int32 // the instances that have one
}

func newParts(instances int) *parts {
	return &parts{on: slices.Repeat([]int32{assign.Nowhere}, instances)}
}

// forget is for the next candidate.
func (p *parts) forget() {
	for _, d := range p.placed {
		p.on[d] = assign.Nowhere
	}
	p.placed = p.placed[:0]
}

// next makes ready for the next candidate: no instance has refused it.
func (r *placer) next() {
	r.forget()
	for _, d := range r.refused {
		r.tried.Push(d)
	}
	r.refused = r.refused[:0]
}

// place places units of a candidate on d and reports whether these were all.
func (r *placer) place(piece, d int32, units int64) bool {
	done := units == r.Count(piece)
	switch part := r.on[d]; {
	case done:
		r.Move(piece, d)
	case part != assign.Nowhere:
		r.Join(piece, part, units)
	default:
		part = r.Split(piece, units)
		r.Move(part, d)
		r.on[d], r.placed = part, append(r.placed, d)
	}
	r.rate[d] = r.Problem.Rate(d, r.Load[d])
	return done
}

// unitsUntilNext is how many of n units the least loaded instance, which accepts
// one, takes before another one that has not refused is the least loaded.
func (r *placer) unitsUntilNext(cost, n int64) int64 {
	if n == 1 || cost == 0 {
		return n
	}
	other, ok := r.tried.Second()
	if !ok {
		return n
	}
	d := r.tried.E[0]
	level := r.rate[other]
	first := func(k int64) bool { // is d still tried first when it holds k units more?
		x := r.Problem.Rate(d, r.Load[d]+k*cost)
		return x < level || x == level && d < other
	}
	estimate := (float64(level*r.Problem.Instances[d].Capacity) - float64(r.Load[d])) / float64(cost)
	units := min(n, max(1, int64(estimate)))
	// Rounding can put the estimate off, either way.
	for units > 1 && !first(units-1) {
		units--
	}
	for units < n && first(units) {
		units++
	}
	return units
}

// fill places most units of a candidate that has many, as far as most allows on each
// instance for their cost.
func (r *placer) fill(piece int32, most func(d int32, cost int64) int64) {
	cost := r.UnitCost(piece)
	room := func(d int32) int64 { return most(d, cost) }
	if r.FillBins(r.tried.E, piece, room, 0, func(d int32, units int64) { r.place(piece, d, units) }) {
		r.tried.Heapify()
	}
}

// byCostRank ranks a piece for C: the costliest first, of several resources the largest.
func byCostRank(a *assign.Assignment, piece int32) assign.Ranked {
	if size := a.Problem.Size; size != nil {
		return a.RankedPiece(piece, assign.Descending(size[piece]))
	}
	return a.RankedPiece(piece, assign.Descending(a.Problem.Items.Cost[a.Item(piece)]))
}
