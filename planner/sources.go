package planner

import (
	"runtime"
	"sync"
	"sync/atomic"

	"plannerd/planner/internal/assign"
)

// sources are the instances as sources of keys, in the order ψ.
type sources struct {
	of    *assign.Assignment
	psi   criterion
	rank  func(item int32) uint64
	list  []int32
	start []int32  // list[start[d]:start[d+1]]: the movable pieces on d after Phase I
	gone  []bool   // by piece of list: it entered C. Each does at most once.
	by    []source // by instance
}

func newSources(a *assign.Assignment, psi criterion) *sources {
	s := &sources{
		of: a, psi: psi, rank: psi.rank(a.Problem), gone: make([]bool, len(a.At)), by: make([]source, len(a.Load)),
	}
	s.list, s.start = a.Movable()
	return s
}

// source is one instance as a source of keys.
type source struct {
	ready bool
	psi   assign.LazyOrder // its keys in the order ψ; those behind the cursor are out of the question
	// What follows serves to know whether an exchange can succeed before any key
	// is taken. It is set up at the first exchange.
	summed   bool
	costs    assign.LazyOrder // the eligible keys by descending cost; unused if that is ψ
	eligible int64            // Σ cost of the keys not gone that cost less than the last candidate
}

// movableOn are the movable pieces on d after Phase I.
func (r *sources) movableOn(d int32) []int32 { return r.list[r.start[d]:r.start[d+1]] }

// prepareSources gets the overloaded instances ready as sources, at the same time
// where there are many keys.
func (r *sources) prepareSources() {
	if len(r.list) < assign.PartItems {
		return
	}
	var overloaded []int32
	for _, d := range r.of.Problem.Live {
		if r.of.Load[d] > r.of.Problem.Limit[d] {
			overloaded = append(overloaded, d)
		}
	}
	var next atomic.Int64
	var others sync.WaitGroup
	work := func() {
		for i := next.Add(1); int(i) <= len(overloaded); i = next.Add(1) {
			r.source(overloaded[i-1]).psi.Peek()
		}
	}
	for range min(runtime.GOMAXPROCS(0), len(overloaded)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// source returns d's source with ψ ready.
func (r *sources) source(d int32) *source {
	s := &r.by[d]
	if !s.ready {
		s.ready = true
		group := r.movableOn(d)
		e := make([]assign.Ranked, len(group))
		for i, piece := range group {
			e[i] = r.of.RankedPiece(piece, r.rank(r.of.Item(piece)))
		}
		s.psi = assign.NewLazyOrder(e, r.of.Problem.Items, r.of.ItemOf)
	}
	return s
}

// displace moves as many units of the first piece of s's order ψ to nowhere as
// it takes for their cost to reach need, or all. It returns them as a piece and
// their cost.
func (r *sources) displace(s *source, piece int32, need int64) (taken int32, cost int64) {
	units, unit := r.of.Count(piece), r.of.UnitCost(piece)
	if unit > 0 {
		units = min(units, (need+unit-1)/unit)
	}
	if units == r.of.Count(piece) {
		r.gone[piece] = true
		s.psi.Skip()
	} else {
		piece = r.of.Split(piece, units)
	}
	r.of.Move(piece, assign.Nowhere)
	return piece, units * unit
}

// sum sets up what exchange needs to know: the keys that cost less than rank.
func (r *sources) sum(s *source, rank uint64) {
	s.summed = true
	if r.psi.byCost {
		for e, ok := s.psi.Peek(); ok && e.Rank <= rank; e, ok = s.psi.Peek() {
			s.psi.Skip()
		}
	}
	var cheaper []assign.Ranked
	for _, e := range s.psi.E[s.psi.Next:] {
		if r.gone[e.Piece] {
			continue
		}
		if c := byCostRank(r.of, e.Piece); c.Rank > rank {
			s.eligible += r.of.UnitCost(e.Piece) * r.of.Count(e.Piece)
			cheaper = append(cheaper, c)
		}
	}
	if !r.psi.byCost {
		s.costs = assign.NewLazyOrder(cheaper, r.of.Problem.Items, r.of.ItemOf)
	}
}

// forgetCostly strikes out the keys that do not cost less than rank. Candidates
// only get cheaper, so they are out of the question for good.
func (r *sources) forgetCostly(s *source, rank uint64) {
	order := &s.costs
	if r.psi.byCost {
		order = &s.psi
	}
	for {
		e, ok := order.Peek()
		if !ok || e.Rank > rank {
			return
		}
		order.Skip()
		if !r.gone[e.Piece] {
			s.eligible -= r.of.UnitCost(e.Piece) * r.of.Count(e.Piece)
		}
	}
}
