package planner

import (
	"math"
	"slices"

	"plannerd/planner/internal/assign"
)

// resourceFit is least-load fit where instances have bounds in several resources. An instance is
// overloaded if any bound is broken there, a key is as large as its greatest share of all of a
// resource, and the least loaded instance is the one whose fullest resource is emptiest with the key
// on it. With one resource that is Algorithm 1.
type resourceFit struct {
	*assign.Assignment
	*sources
	queue candidates // C
	gives []exchangeable
	need  []int64   // by resource, of the exchange at hand
	sizes []float64 // by item, those in some resources while keys are ordered by them
}

// exchangeable is what an instance could give in exchange for a key.
type exchangeable struct {
	sums  []int64          // by resource, of the keys that are smaller than the last candidate; nil before the first
	sizes assign.LazyOrder // these by descending size
	// orders are those of all its keys, by set of broken resources: no more than mostOrders.
	orders map[uint8]*assign.LazyOrder
}

func fitResources(a *assign.Assignment, psi criterion) *assign.Assignment {
	r := &resourceFit{
		Assignment: a, sources: newSources(a, psi), gives: make([]exchangeable, len(a.Load)),
		need: make([]int64, len(a.Loads)), sizes: make([]float64, len(a.At)),
	}
	r.takeOff()
	for k, ok := r.queue.pop(); ok; k, ok = r.queue.pop() {
		if !r.assignKey(k) {
			return nil
		}
	}
	return a
}

// takeOff is Phase II.
func (r *resourceFit) takeOff() {
	var taken []assign.Ranked
	take := func(piece int32) {
		r.Move(piece, assign.Nowhere)
		r.gone[piece] = true
		taken = append(taken, byCostRank(r.Assignment, piece))
	}
	for d := range int32(len(r.Load)) {
		if !r.Problem.IsLive[d] {
			for _, piece := range r.movableOn(d) {
				take(piece)
			}
			continue
		}
		for broken := r.overloaded(d, assign.None); broken != 0; broken = r.overloaded(d, assign.None) {
			piece, ok := r.next(d, broken, 2)
			if !ok {
				break
			}
			take(piece)
		}
	}
	r.queue = newCandidates(taken, r.Assignment)
}

// overloaded is the set of resources in which an instance would be above its limit with a key on it, or, for
// None, as it is. It sets by how much in each resource.
func (r *resourceFit) overloaded(d, with int32) (broken uint8) {
	for i, q := range r.Problem.ByResource {
		r.need[i] = r.Loads[i][d] - q.Limit[d]
		if with != assign.None {
			r.need[i] += q.AmountOf(with)
		}
		if r.need[i] > 0 {
			broken |= 1 << i
		}
	}
	return broken
}

// next is the first key on an instance, in the order ψ of what it takes of broken resources, that did not enter C
// and is smaller than a size. Sizes that are asked for only get smaller.
func (r *resourceFit) next(d int32, broken uint8, size float64) (int32, bool) {
	order := r.order(d, broken)
	for e, ok := order.Peek(); ok; e, ok = order.Peek() {
		if order.Skip(); !r.gone[e.Piece] && r.Problem.Size[e.Piece] < size {
			return e.Piece, true
		}
	}
	return assign.None, false
}

// mostOrders bounds the memory that orders take: with eight resources there are 255 sets of them.
const mostOrders = 4

// order is that of the keys on an instance that take something of broken resources.
func (r *resourceFit) order(d int32, broken uint8) *assign.LazyOrder {
	x := &r.gives[d]
	if order := x.orders[broken]; order != nil {
		return order
	}
	p := *r.Problem
	p.Size = r.sizes // in broken resources
	rank, keys := r.psi.rank(&p), r.movableOn(d)
	list := make([]assign.Ranked, 0, len(keys))
	for _, piece := range keys {
		if p.Size[piece] = p.SizeIn(piece, broken); p.Size[piece] > 0 && !r.gone[piece] {
			list = append(list, r.RankedPiece(piece, rank(piece)))
		}
	}
	order := assign.NewLazyOrder(list, p.Items, nil)
	if x.orders == nil || len(x.orders) == mostOrders {
		x.orders = make(map[uint8]*assign.LazyOrder)
	}
	x.orders[broken] = &order
	return &order
}

// assignKey places one candidate.
func (r *resourceFit) assignKey(k int32) bool {
	list := slices.Clone(r.Problem.OpenTo(k))
	for n := len(list); n > 0; n-- {
		if !r.Problem.Meter.Spend(1) {
			return false
		}
		i := r.leastFilled(k, list[:n])
		if d := list[i]; r.accepts(d, k) {
			r.Move(k, d)
			return true
		}
		list[i] = list[n-1]
	}
	if !r.Problem.Meter.Spend(1) {
		return false
	}
	open := r.Problem.OpenTo(k)
	r.Move(k, open[r.leastFilled(k, open)])
	return true
}

// leastFilled is the index of the instance of a list whose fullest resource is emptiest with a key
// on it; ties: the lower instance.
func (r *resourceFit) leastFilled(k int32, list []int32) int {
	best, least := -1, math.Inf(1)
	for i, d := range list {
		if x := r.FillingWith(k, d); best < 0 || x < least || x == least && d < list[best] {
			best, least = i, x
		}
	}
	return best
}

// accepts is adjust: an instance takes a key that fits, or that fits once smaller keys there go back to C.
func (r *resourceFit) accepts(d, k int32) bool {
	broken := r.overloaded(d, k)
	if broken == 0 {
		return true
	}
	x := r.exchangeable(d, assign.Descending(r.Problem.Size[k]))
	for i, need := range r.need {
		if need > x.sums[i] {
			return false
		}
	}
	for ; broken != 0; broken = r.overloaded(d, k) {
		piece, _ := r.next(d, broken, r.Problem.Size[k])
		r.gone[piece] = true
		r.count(x, piece, -1)
		r.Move(piece, assign.Nowhere)
		r.queue.added.Push(byCostRank(r.Assignment, piece))
	}
	return true
}

// exchangeable are the keys that are left on an instance and smaller than a candidate. Candidates
// only get smaller.
func (r *resourceFit) exchangeable(d int32, rank uint64) *exchangeable {
	x := &r.gives[d]
	if x.sums == nil {
		x.sums = make([]int64, len(r.need))
		var list []assign.Ranked
		for _, piece := range r.movableOn(d) {
			if !r.gone[piece] {
				r.count(x, piece, 1)
				list = append(list, byCostRank(r.Assignment, piece))
			}
		}
		x.sizes = assign.NewLazyOrder(list, r.Problem.Items, nil)
	}
	for e, ok := x.sizes.Peek(); ok && e.Rank <= rank; e, ok = x.sizes.Peek() {
		x.sizes.Skip()
		if !r.gone[e.Piece] {
			r.count(x, e.Piece, -1)
		}
	}
	return x
}

// count adds what a key takes to the sums, so many times.
func (r *resourceFit) count(x *exchangeable, piece int32, times int64) {
	for i, q := range r.Problem.ByResource {
		x.sums[i] += times * q.AmountOf(piece)
	}
}

// largestFirst places all keys anew, the largest first, whatever it moves.
func largestFirst(p *assign.Problem) *assign.Assignment {
	a := assign.NewAssignment(p)
	var taken []assign.Ranked
	for i := range a.At {
		if !p.IsHot(i) {
			a.Move(int32(i), assign.Nowhere)
			taken = append(taken, byCostRank(a, int32(i)))
		}
	}
	r := &resourceFit{Assignment: a}
	order := assign.NewLazyOrder(taken, p.Items, nil)
	for e := range order.All() {
		if !p.Meter.Spend(1) {
			return nil
		}
		open := p.OpenTo(e.Piece)
		a.Move(e.Piece, open[r.leastFilled(e.Piece, open)])
	}
	return a
}
