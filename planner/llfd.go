package planner

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"plannerd/internal/exact"
)

// llfd is one run of Phases II and III on an assignment: Least-Load Fit
// Decreasing, mixed-routing §III-A, Algorithm 1.
type llfd struct {
	*assignment
	rank    func(item int32) uint64
	byCost  bool // ψ is highestCost
	list    []int32
	start   []int32  // list[start[d]:start[d+1]]: the movable pieces on d after Phase I
	gone    []bool   // by piece of list: it entered C. Each does at most once.
	sources []source // by instance
	queue   candidates
	waiting map[int32]int32 // item → the piece of it in queue that exchanges add to
	byLoad
	*parts
}

// parts are the pieces of a candidate that were placed already, by instance, so
// that there is one for each at most, however many units it has.
type parts struct {
	on     []int32 // piece, or nowhere
	placed []int32 // the instances that have one
}

func newParts(instances int) *parts {
	return &parts{on: slices.Repeat([]int32{nowhere}, instances)}
}

// forget is for the next candidate.
func (p *parts) forget() {
	for _, d := range p.placed {
		p.on[d] = nowhere
	}
	p.placed = p.placed[:0]
}

// byLoad yields the live instances in ascending L̂/κ, ties by id.
type byLoad struct {
	tried   exact.Heap[int32] // those that have not refused the candidate at hand
	refused []int32           // those that have, in that order
	rate    []float64         // by instance: L̂/κ
}

// source is one instance as a source of keys.
type source struct {
	ready bool
	psi   lazyOrder // its keys in the order ψ; those behind the cursor are out of the question
	// What follows serves to know whether an exchange can succeed before any key
	// is taken. It is set up at the first exchange.
	summed   bool
	costs    lazyOrder // the eligible keys by descending cost; unused if that is ψ
	eligible int64     // Σ cost of the keys not gone that cost less than the last candidate
}

// complete runs Phases II and III on a; nil when the meter ran out: a is then
// incomplete.
func (a *assignment) complete(psi criterion, byCost bool) *assignment {
	r := &llfd{
		assignment: a, rank: psi(a.p), byCost: byCost,
		gone:    make([]bool, len(a.at)),
		sources: make([]source, len(a.load)),
		waiting: make(map[int32]int32), parts: newParts(len(a.load)),
	}
	r.list, r.start = a.movable()
	r.prepare()
	r.byLoad = a.instancesByLoad()
	if !r.assign() {
		return nil
	}
	return a
}

// instancesByLoad returns the live instances, none of which has refused yet.
func (a *assignment) instancesByLoad() byLoad {
	b := byLoad{rate: make([]float64, len(a.load))}
	b.tried.Before = func(x, y int32) bool { return b.rate[x] < b.rate[y] || b.rate[x] == b.rate[y] && x < y }
	for _, d := range a.p.live {
		b.rate[d] = a.p.rate(d, a.load[d])
		b.tried.Push(d)
	}
	return b
}

// prepare is Phase II: it takes keys off overloaded instances in the order ψ
// until the rest fits, and all off those that are not live.
func (r *llfd) prepare() {
	r.prepareSources()
	var taken []ranked
	for d := range r.p.s.Instances {
		if !r.p.isLive[d] {
			for _, piece := range r.list[r.start[d]:r.start[d+1]] {
				r.move(piece, nowhere)
				r.gone[piece] = true
				taken = append(taken, r.byCostRank(piece))
			}
			continue
		}
		for excess := r.load[d] - r.p.limit[d]; excess > 0; excess = r.load[d] - r.p.limit[d] {
			e, ok := r.source(d).psi.peek()
			if !ok {
				break
			}
			piece, _ := r.displace(&r.sources[d], e.piece, excess)
			taken = append(taken, r.byCostRank(piece))
		}
	}
	r.queue = newCandidates(taken, r.assignment)
}

// prepareSources gets the overloaded instances ready as sources, at the same time
// where there are many keys.
func (r *llfd) prepareSources() {
	if len(r.list) < partItems {
		return
	}
	var overloaded []int
	for _, d := range r.p.live {
		if r.load[d] > r.p.limit[d] {
			overloaded = append(overloaded, int(d))
		}
	}
	var next atomic.Int64
	var others sync.WaitGroup
	work := func() {
		for i := next.Add(1); int(i) <= len(overloaded); i = next.Add(1) {
			r.source(overloaded[i-1]).psi.peek()
		}
	}
	for range min(runtime.GOMAXPROCS(0), len(overloaded)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// byCostRank ranks a piece for C: the costliest first.
func (a *assignment) byCostRank(piece int32) ranked {
	return a.rankedPiece(piece, descending(a.p.s.Cost[a.item(piece)]))
}

// source returns d's source with ψ ready.
func (r *llfd) source(d int) *source {
	s := &r.sources[d]
	if !s.ready {
		s.ready = true
		group := r.list[r.start[d]:r.start[d+1]]
		e := make([]ranked, len(group))
		for i, piece := range group {
			e[i] = r.rankedPiece(piece, r.rank(r.item(piece)))
		}
		s.psi = newLazyOrder(e, r.p.s.Keys, r.items)
	}
	return s
}

// displace moves as many units of the first piece of s's order ψ to nowhere as
// it takes for their cost to reach need, or all. It returns them as a piece and
// their cost.
func (r *llfd) displace(s *source, piece int32, need int64) (taken int32, cost int64) {
	units, unit := r.count(piece), r.unitCost(piece)
	if unit > 0 {
		units = min(units, (need+unit-1)/unit)
	}
	if units == r.count(piece) {
		r.gone[piece] = true
		s.psi.skip()
	} else {
		piece = r.split(piece, units)
	}
	r.move(piece, nowhere)
	return piece, units * unit
}

// assign is Phase III: every candidate, the costliest first, goes to the first
// instance that accepts it.
func (r *llfd) assign() bool {
	for {
		piece, ok := r.queue.pop()
		if !ok {
			return true
		}
		if r.units != nil && r.waiting[r.items[piece]] == piece {
			delete(r.waiting, r.items[piece])
		}
		if !r.place(piece) {
			return false
		}
	}
}

// place finds a place for all units of a candidate. An instance that refused one
// unit refuses the others too: neither its load nor what it could exchange
// changes in between.
func (r *llfd) place(piece int32) bool {
	cost := r.unitCost(piece)
	defer r.forgive()
	defer r.forget()
	for pourable := true; len(r.tried.E) > 0; {
		if !r.p.meter.spend(1) {
			return false
		}
		if pourable {
			r.pour(piece, cost)
			pourable = false
		}
		d, units := r.tried.E[0], int64(0)
		if room := r.p.limit[d] - r.load[d]; cost <= room {
			units = r.count(piece)
			if cost > 0 {
				units = min(units, room/cost)
			}
			units = r.unitsUntilNext(cost, units)
		} else if r.exchange(int(d), piece, cost-room) {
			units = 1
		}
		if units == 0 {
			r.refused = append(r.refused, r.tried.Pop())
			pourable = true
			continue
		}
		done := r.put(piece, d, units)
		r.tried.Sink(0)
		if done {
			return true
		}
	}
	return r.placeAnyway(piece, cost)
}

// pour places most units of a candidate that has many.
func (r *llfd) pour(piece int32, cost int64) {
	room := func(d int32) int64 { return max(0, (r.p.limit[d]-r.load[d])/cost) }
	if r.pourInto(r.tried.E, piece, room, 0, func(d int32, units int64) { r.put(piece, d, units) }) {
		r.tried.Heapify()
	}
}

// forgive makes the instances that refused a candidate available to the next.
func (r *llfd) forgive() {
	for _, d := range r.refused {
		r.tried.Push(d)
	}
	r.refused = r.refused[:0]
}

// put places units of a candidate on d and reports whether these were all.
func (r *llfd) put(piece, d int32, units int64) bool {
	done := units == r.count(piece)
	switch part := r.on[d]; {
	case done:
		r.move(piece, d)
	case part != nowhere:
		r.join(piece, part, units)
	default:
		part = r.split(piece, units)
		r.move(part, d)
		r.on[d], r.placed = part, append(r.placed, d)
	}
	r.rate[d] = r.p.rate(d, r.load[d])
	return done
}

// unitsUntilNext is how many of n units the least loaded instance, which accepts
// one, takes before another one that has not refused is the least loaded.
func (r *llfd) unitsUntilNext(cost, n int64) int64 {
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
		x := r.p.rate(d, r.load[d]+k*cost)
		return x < level || x == level && d < other
	}
	estimate := (float64(level*r.p.s.Instances[d].Capacity) - float64(r.load[d])) / float64(cost)
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

// exchange makes room for one unit of a candidate on d, whose load would exceed
// its limit by need: it takes cheaper keys off d in the order ψ, or none if all
// of them do not suffice.
func (r *llfd) exchange(d int, candidate int32, need int64) bool {
	s, rank := r.source(d), descending(r.p.s.Cost[r.item(candidate)])
	if !s.summed {
		r.sum(s, rank)
	}
	r.forgetCostly(s, rank)
	if s.eligible < need {
		return false
	}
	for need > 0 {
		e, _ := s.psi.peek()
		if r.gone[e.piece] || r.byCostRank(e.piece).rank <= rank {
			s.psi.skip()
			continue
		}
		cost := r.add(s, e.piece, need)
		need -= cost
		s.eligible -= cost
	}
	return true
}

// add displaces units of a piece into C, and returns their cost. Those of an item
// that waits there already join it.
func (r *llfd) add(s *source, piece int32, need int64) int64 {
	if r.units == nil {
		piece, cost := r.displace(s, piece, need)
		r.queue.added.Push(r.byCostRank(piece))
		return cost
	}
	item, known := r.items[piece], int32(len(r.at))
	taken, cost := r.displace(s, piece, need)
	other, ok := r.waiting[item]
	if !ok || taken < known { // else it was just split off
		r.waiting[item] = taken
		r.queue.added.Push(r.byCostRank(taken))
		return cost
	}
	r.join(taken, other, r.units[taken])
	r.dropLast()
	return cost
}

// sum sets up what exchange needs to know: the keys that cost less than rank.
func (r *llfd) sum(s *source, rank uint64) {
	s.summed = true
	if r.byCost {
		for e, ok := s.psi.peek(); ok && e.rank <= rank; e, ok = s.psi.peek() {
			s.psi.skip()
		}
	}
	var cheaper []ranked
	for _, e := range s.psi.E[s.psi.next:] {
		if r.gone[e.piece] {
			continue
		}
		if c := r.byCostRank(e.piece); c.rank > rank {
			s.eligible += r.unitCost(e.piece) * r.count(e.piece)
			cheaper = append(cheaper, c)
		}
	}
	if !r.byCost {
		s.costs = newLazyOrder(cheaper, r.p.s.Keys, r.items)
	}
}

// forgetCostly strikes out the keys that do not cost less than rank. Candidates
// only get cheaper, so they are out of the question for good.
func (r *llfd) forgetCostly(s *source, rank uint64) {
	order := &s.costs
	if r.byCost {
		order = &s.psi
	}
	for {
		e, ok := order.peek()
		if !ok || e.rank > rank {
			return
		}
		order.skip()
		if !r.gone[e.piece] {
			s.eligible -= r.unitCost(e.piece) * r.count(e.piece)
		}
	}
}

// placeAnyway places the units of a candidate that every instance refused where
// the resulting relative load is least.
func (r *llfd) placeAnyway(piece int32, cost int64) bool {
	if r.count(piece) == 1 {
		return r.p.meter.spend(1) && r.put(piece, r.leastLoadedWith(cost), 1)
	}
	r.pourInto(r.p.live, piece, unlimited, 1, func(d int32, units int64) { r.put(piece, d, units) })
	with := exact.Heap[int32]{E: slices.Clone(r.p.live), Before: func(x, y int32) bool {
		a, b := r.p.rate(x, r.load[x]+cost), r.p.rate(y, r.load[y]+cost)
		return a < b || a == b && x < y
	}}
	with.Heapify()
	for done := false; !done; with.Sink(0) {
		if !r.p.meter.spend(1) {
			return false
		}
		done = r.put(piece, with.E[0], 1)
	}
	return true
}

// candidates is C: pieces by descending cost. Those of Phase II are sorted as
// they are asked for, those that exchanges add go into a heap.
type candidates struct {
	sorted lazyOrder
	added  exact.Heap[ranked]
}

func newCandidates(taken []ranked, a *assignment) candidates {
	c := candidates{sorted: newLazyOrder(taken, a.p.s.Keys, a.items)}
	c.added.Before = func(x, y ranked) bool {
		order := pieceOrder{a.p.s.Keys, a.items} // items grows
		return order.compare(x, y) < 0
	}
	return c
}

// pop takes the costliest piece out of C.
func (c *candidates) pop() (int32, bool) {
	e, ok := c.sorted.peek()
	if len(c.added.E) > 0 && (!ok || c.added.Before(c.added.E[0], e)) {
		return c.added.Pop().piece, true
	}
	if ok {
		c.sorted.skip()
	}
	return e.piece, ok
}
