package planner

import (
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
)

// llfd is one run of Phases II and III on an assignment: Least-Load Fit
// Decreasing, mixed-routing §III-A, Algorithm 1. Lines are those of its pseudo-code;
// planner/plannertest holds a second implementation of it, word for word.
//
// Where an item stands for many equal keys, "k" is one of them, and as many follow
// it to the same place at once as would if they came one after the other.
type llfd struct {
	*placer
	*sources
	queue   candidates      // C
	waiting map[int32]int32 // item → the piece of it in queue that exchanges add to
}

// llfdAlone starts from where the keys are: Algorithm 1 without a Phase I.
func llfdAlone(p *assign.Problem, _ Options) *assign.Assignment {
	return leastLoadFit(assign.NewAssignment(p), highestCost)
}

// leastLoadFit runs Phases II and III, with the keys in the order ψ. It returns nil
// when the meter ran out: a is then incomplete.
func leastLoadFit(a *assign.Assignment, psi criterion) *assign.Assignment {
	if a.Loads != nil {
		return fitResources(a, psi)
	}
	r := &llfd{sources: newSources(a, psi), waiting: make(map[int32]int32)}
	r.prepare(a)
	r.placer = newPlacer(a) // lines 1 and 2
	if !r.assign() {
		return nil
	}
	return a // line 9
}

// prepare is Phase II: it takes keys off overloaded instances in the order ψ
// until the rest fits, and all off those that are not live.
func (r *llfd) prepare(a *assign.Assignment) {
	p := a.Problem
	r.prepareSources()
	var taken []assign.Ranked
	for d := range int32(len(p.Instances)) {
		if !p.IsLive[d] {
			for _, piece := range r.movableOn(d) {
				a.Move(piece, assign.Nowhere)
				r.gone[piece] = true
				taken = append(taken, byCostRank(a, piece))
			}
			continue
		}
		for excess := a.Load[d] - p.Limit[d]; excess > 0; excess = a.Load[d] - p.Limit[d] {
			e, ok := r.source(d).psi.Peek()
			if !ok {
				break
			}
			piece, _ := r.displace(r.source(d), e.Piece, excess)
			taken = append(taken, byCostRank(a, piece))
		}
	}
	r.queue = newCandidates(taken, a)
}

// assign is Phase III. It reports false when the meter ran out.
func (r *llfd) assign() bool {
	for {
		k, ok := r.queue.pop() // line 3
		if !ok {
			return true
		}
		if r.Units != nil && r.waiting[r.ItemOf[k]] == k {
			delete(r.waiting, r.ItemOf[k])
		}
		if !r.assignKey(k) {
			return false
		}
	}
}

// assignKey is lines 4 to 8 for all units of one candidate. An instance that refused
// one unit refuses the others too: neither its load nor what it could exchange
// changes in between.
func (r *llfd) assignKey(k int32) bool {
	defer r.next()
	for fillable := true; len(r.tried.E) > 0; { // line 4
		if !r.Problem.Meter.Spend(1) {
			return false
		}
		if fillable {
			r.fill(k, r.fitting)
			fillable = false
		}
		d := r.tried.E[0]
		n := int64(0)
		if r.Problem.IsOpen(r.Item(k), d) {
			n = r.adjust(k, d) // line 5
		}
		if n == 0 {
			r.refuse()
			fillable = true
			continue
		}
		done := r.place(k, d, n) // lines 6 to 8; the table follows from the places
		r.tried.Sink(0)
		if done {
			return true
		}
	}
	return r.placeAnyway(k)
}

// adjust is lines 10 to 20. It returns how many units of k instance d accepts; 0: none.
func (r *llfd) adjust(k, d int32) int64 {
	room := r.Problem.Limit[d] - r.Load[d] // line 11
	switch cost := r.UnitCost(k); {
	case cost <= room: // lines 12 and 13; "<" is a slip there: the text has "≤", and Fig. 4 needs it
		return r.unitsUntilNext(cost, min(r.Count(k), r.fitting(d, cost)))
	case r.exchange(d, k, cost-room): // lines 14 to 18
		return 1
	}
	return 0 // lines 19 and 20
}

// fitting is how many units of a cost d has room for.
func (r *llfd) fitting(d int32, cost int64) int64 {
	if cost == 0 {
		return math.MaxInt64
	}
	return max(0, (r.Problem.Limit[d]-r.Load[d])/cost)
}

// exchange makes room for one unit of a candidate on d, whose load would exceed
// its limit by need. It moves the exchangeable set E into C: cheaper keys on d in the
// order ψ, as many as it takes, or none if all of them do not suffice.
func (r *llfd) exchange(d, candidate int32, need int64) bool {
	s, rank := r.source(d), assign.Descending(r.Problem.Items.Cost[r.Item(candidate)])
	if !s.summed {
		r.sum(s, rank)
	}
	r.forgetCostly(s, rank)
	if s.eligible < need {
		return false
	}
	for need > 0 {
		e, _ := s.psi.Peek()
		if r.gone[e.Piece] || byCostRank(r.Assignment, e.Piece).Rank <= rank {
			s.psi.Skip()
			continue
		}
		cost := r.add(s, e.Piece, need)
		need -= cost
		s.eligible -= cost
	}
	return true
}

// add displaces units of a piece into C, and returns their cost. Those of an item
// that waits there already join it.
func (r *llfd) add(s *source, piece int32, need int64) int64 {
	if r.Units == nil {
		piece, cost := r.displace(s, piece, need)
		r.queue.added.Push(byCostRank(r.Assignment, piece))
		return cost
	}
	item, known := r.ItemOf[piece], int32(len(r.At))
	taken, cost := r.displace(s, piece, need)
	other, ok := r.waiting[item]
	if !ok || taken < known { // else it was just split off
		r.waiting[item] = taken
		r.queue.added.Push(byCostRank(r.Assignment, taken))
		return cost
	}
	r.Join(taken, other, r.Units[taken])
	r.DropLast()
	return cost
}

// placeAnyway places the units of a candidate that every instance refused where
// the resulting relative load is least.
func (r *llfd) placeAnyway(piece int32) bool {
	cost := r.UnitCost(piece)
	if r.Count(piece) == 1 {
		return r.Problem.Meter.Spend(1) && r.place(piece, r.LeastLoadedWith(r.Item(piece), cost), 1)
	}
	r.FillBins(r.Problem.Live, piece, assign.Unlimited, 1, func(d int32, units int64) { r.place(piece, d, units) })
	with := exact.Heap[int32]{E: slices.Clone(r.Problem.Live), Before: func(x, y int32) bool {
		a, b := r.Problem.Rate(x, r.Load[x]+cost), r.Problem.Rate(y, r.Load[y]+cost)
		return a < b || a == b && x < y
	}}
	with.Heapify()
	for done := false; !done; with.Sink(0) {
		if !r.Problem.Meter.Spend(1) {
			return false
		}
		done = r.place(piece, with.E[0], 1)
	}
	return true
}

// candidates is C: pieces by descending cost. Those of Phase II are sorted as
// they are asked for, those that exchanges add go into a heap.
type candidates struct {
	sorted assign.LazyOrder
	added  exact.Heap[assign.Ranked]
}

func newCandidates(taken []assign.Ranked, a *assign.Assignment) candidates {
	c := candidates{sorted: assign.NewLazyOrder(taken, a.Problem.Items, a.ItemOf)}
	c.added.Before = func(x, y assign.Ranked) bool {
		order := assign.PieceOrder{Items: a.Problem.Items, ItemOf: a.ItemOf} // items grows
		return order.Compare(x, y) < 0
	}
	return c
}

// pop takes the costliest piece out of C.
func (c *candidates) pop() (int32, bool) {
	e, ok := c.sorted.Peek()
	if len(c.added.E) > 0 && (!ok || c.added.Before(c.added.E[0], e)) {
		return c.added.Pop().Piece, true
	}
	if ok {
		c.sorted.Skip()
	}
	return e.Piece, ok
}
