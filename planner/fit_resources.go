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
	queue candidates // C
	gone  []bool     // by piece: it entered C. Each does at most once.
	gives []exchangeable
	need  []int64                 // by resource, of the exchange at hand
	sizes []float64               // by piece, those in some resources while keys are ordered by them
	rank  func(item int32) uint64 // ψ of these
	list  []int32                 // the keys that were on instances before the first exchange, grouped
	start []int32                 // list[start[d]:start[d+1]]: those on d. Nil before that
}

// exchangeable is what an instance could give in exchange for a key.
type exchangeable struct {
	sums  []int64          // by resource, of the keys that are smaller than the last candidate; nil before the first
	sizes assign.LazyOrder // these by descending size
	// orders are those of all its keys, by set of broken resources: no more than mostOrders.
	orders map[uint8]*assign.LazyOrder
}

func fitResources(a *assign.Assignment, psi criterion) *assign.Assignment {
	p := *a.Problem
	p.Size = make([]float64, len(a.At))
	r := &resourceFit{
		Assignment: a, gives: make([]exchangeable, len(a.Load)), need: make([]int64, len(a.Loads)),
		gone: make([]bool, len(a.At)), sizes: p.Size, rank: psi.rank(&p),
	}
	r.takeOff()
	for k, ok := r.queue.pop(); ok; k, ok = r.queue.pop() {
		if !r.assignKey(k) {
			return nil
		}
	}
	return a
}

// takeOff is Phase II. What is taken off an instance depends on that alone: in each round all instances lose keys
// until they lack less than when the keys of all were ordered, in one pass.
func (r *resourceFit) takeOff() {
	var taken []assign.Ranked
	take := func(piece int32) {
		r.Move(piece, assign.Nowhere)
		r.gone[piece] = true
		taken = append(taken, byCostRank(r.Assignment, piece))
	}
	if len(r.Problem.Live) < len(r.Load) {
		for piece, d := range r.At {
			if !r.Problem.IsLive[d] && !r.Problem.IsHot(piece) {
				take(int32(piece))
			}
		}
	}
	lacking := make([]uint8, len(r.Load))
	for _, d := range r.Problem.Live {
		lacking[d] = r.overloaded(d, assign.None)
	}
	for slices.Max(lacking) > 0 {
		r.orderKeys(lacking)
		for d, broken := range lacking {
			for lacking[d] != 0 && lacking[d] == broken {
				piece, ok := r.next(int32(d), broken, 2)
				if !ok {
					lacking[d] = 0
					break
				}
				take(piece)
				lacking[d] = r.overloaded(int32(d), assign.None)
			}
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
	if order := r.gives[d].orders[broken]; order != nil {
		return order
	}
	var list []assign.Ranked
	for _, piece := range r.stayingOn(d) {
		list = r.appendRanked(list, piece, broken)
	}
	return r.keep(d, broken, list)
}

// orderKeys makes the orders of all instances that lack something. The columns are read from front to back, which is
// several times as fast as by instance.
func (r *resourceFit) orderKeys(lacking []uint8) {
	var parts [assign.MostParts][][]assign.Ranked
	assign.InParts(len(r.At), func(part, from, to int) {
		lists := make([][]assign.Ranked, len(lacking))
		for piece := from; piece < to; piece++ {
			if d := r.At[piece]; d != assign.Nowhere && lacking[d] != 0 && !r.Problem.IsHot(piece) {
				if lists[d] == nil {
					lists[d] = make([]assign.Ranked, 0, 2*(to-piece)/len(lacking))
				}
				lists[d] = r.appendRanked(lists[d], int32(piece), lacking[d])
			}
		}
		parts[part] = lists
	})
	for d, broken := range lacking {
		if broken == 0 {
			continue
		}
		list := parts[0][d]
		for _, more := range parts[1:] {
			if more != nil {
				list = append(list, more[d]...)
			}
		}
		r.keep(int32(d), broken, list)
	}
}

// appendRanked appends a key if it has not been in C and takes something of broken resources.
func (r *resourceFit) appendRanked(list []assign.Ranked, piece int32, broken uint8) []assign.Ranked {
	if r.gone[piece] {
		return list
	}
	if r.sizes[piece] = r.Problem.SizeIn(piece, broken); r.sizes[piece] == 0 {
		return list
	}
	return append(list, r.RankedPiece(piece, r.rank(piece)))
}

// keep keeps the order of the keys of an instance.
func (r *resourceFit) keep(d int32, broken uint8, list []assign.Ranked) *assign.LazyOrder {
	order := assign.NewLazyOrder(list, r.Problem.Items, nil)
	x := &r.gives[d]
	if x.orders == nil || len(x.orders) == mostOrders {
		x.orders = make(map[uint8]*assign.LazyOrder)
	}
	x.orders[broken] = &order
	return &order
}

// stayingOn are keys of an instance, among them all that have not been in C.
func (r *resourceFit) stayingOn(d int32) []int32 {
	if r.start == nil {
		r.list, r.start = r.Movable()
	}
	return r.list[r.start[d]:r.start[d+1]]
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
		for _, piece := range r.stayingOn(d) {
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
