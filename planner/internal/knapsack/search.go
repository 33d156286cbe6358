package knapsack

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"

	"plannerd/internal/exact"
)

// search looks for the best cover and for a proof that none is better. It
// starts with the items before the break item taken, and decides about one item
// after the other, now the next one after the break item, then the next before.
//
// Weights are integers here, rounded down: below, a weight is such an integer.
// Thus the weight of what is decided is never above the true one, and bounds on
// the rest are on true weights.
type search struct {
	*knapsack
	weights exact.Scale
	grain   int64 // all weights are multiples of this power of two
	// allowance is more than what bounds can be off because the order is one of
	// rounded ratios. An item that belongs before another, but comes after, is
	// wrong by less than 2^−51 of its weight. No better cover differs from the
	// items before the break item in more than twice the weight of the first cover.
	allowance int64
	near      int64 // the difference from a bound that is none

	split     int     // the index of the break item in usable()
	over      int64   // what the items before it cover beyond the need; negative
	prefix    int64   // what they weigh
	ratio     float64 // of the break item, weight per cost
	relaxed   int64   // no cover weighs less
	queues    [2]lazyItems
	fillers   int     // so many items of the first queue come first, out of order
	after     float64 // no item left to add has a lesser ratio, a little reduced
	before    float64 // no item left to remove has a greater one, a little raised
	removable int64   // nor do they weigh more in all

	best     int64 // the weight of the best cover
	bestOver int64
	bestStep int32 // how it came about, or −1
	// The cover of bestStep −1:
	firstAdded, firstRemoved Item
	removes                  bool // whether there is a firstRemoved

	floor  int64 // covers that were given up weigh no less
	sifted int64 // the best weight when queues were last sifted
}

// The queues.
const (
	toAdd = iota
	toRemove
)

// state is a partial cover: the items before the break item, but for what
// was decided differently so far.
type state struct {
	over, weight int64
	step         int32 // the last such decision, or −1
}

// step is a decision: to add or remove an item.
type step struct {
	before int32 // the decision before it, or −1
	at     int32 // which item of its queue
	queue  int8
}

const (
	endless       = math.MaxInt64 / 2
	stepOverhead  = 8  // an item costs as much time as so many partial covers
	greatestCover = 60 // bits: the weight of the first cover is at most 2 to that
)

// newSearch finds the break item and the first cover.
func (k *knapsack) newSearch() *search {
	e := k.usable()
	s := &search{knapsack: k, bestStep: -1, floor: endless, sifted: endless}
	at, before := k.order.breakItem(e, k.need)
	s.split, s.over = at, before-k.need
	s.chooseScale(e[:at+1])
	for i := range e[:at] {
		s.prefix += s.weigh(&e[i])
	}
	s.ratio = s.ratioOf(&e[at])
	s.complete(e[:at], e[at:])
	s.allowance = s.best>>48 + 2
	s.near = min(s.allowance<<4, s.best>>41) // weights that are subnormal become small integers
	s.after, s.removable = s.ratio*(1-0x1p-50), s.prefix
	s.relaxed = s.under(s.over, s.prefix)
	reverse := k.order
	reverse.reverse = true
	s.queues = [2]lazyItems{toAdd: newLazyItems(k.order, e[at:]), toRemove: newLazyItems(reverse, e[:at])}
	return s
}

// chooseScale makes integers of weights so that those of the items sum to less
// than 2^greatestCover.
func (s *search) chooseScale(e []Item) {
	var m exact.Magnitudes
	for i := range e {
		m.Add(e[i].Weight, 1)
	}
	s.weights = m.Scale().Coarser(62 - greatestCover)
	s.grain = 1
	if m.Greatest > 0 {
		s.grain <<= max(0, min(s.finest-1075-m.Exponent()+greatestCover, greatestCover))
	}
}

// scaled is the weight of an item before it is rounded.
func (s *search) scaled(x *Item) float64 {
	return s.weights.Scaled(x.Weight)
}

func (s *search) weigh(x *Item) int64 { return int64(s.scaled(x)) }

func (s *search) ratioOf(x *Item) float64 { return s.scaled(x) / float64(x.Cost) }

// complete finds the first cover: the best of those that add the break item and
// remove one that is superfluous then, or add some other item instead.
func (s *search) complete(before, after []Item) {
	add := &after[0]
	s.best, s.bestOver, s.firstAdded = s.prefix+s.weigh(add), s.over+add.Cost, *add
	var remove *Item
	for i := range before {
		x := &before[i]
		if x.Cost <= s.bestOver && x.Weight > 0 && (remove == nil || s.heavier(x, remove)) {
			remove = x
		}
	}
	if remove != nil {
		s.firstRemoved, s.removes = *remove, true
		s.best -= s.weigh(remove)
		s.bestOver -= remove.Cost
	}
	for i := range after {
		if x := &after[i]; x.Cost >= -s.over && s.heavier(add, x) {
			add = x
		}
	}
	if w := s.prefix + s.weigh(add); w < s.best {
		s.best, s.bestOver, s.firstAdded, s.removes = w, s.over+add.Cost, *add, false
	}
}

// run searches until nothing better can remain, or too much was looked at.
func (s *search) run() {
	if s.roundUp(s.relaxed) >= s.best-s.near {
		return
	}
	s.queues[toAdd].sorted = s.fill(s.queues[toAdd].e)
	s.fillers = s.queues[toAdd].sorted
	s.current = append(s.current[:0], state{s.over, s.prefix, -1})
	s.steps = s.steps[:0]
	s.peek(toAdd)
	s.setRatios()
	limit := (s.Used + s.States) / 2 // what is left is for other parts of the problem
	for queue := toAdd; len(s.current) > 0; queue = 1 - queue {
		if s.peek(queue) == nil {
			queue = 1 - queue
			if s.peek(queue) == nil {
				return
			}
		}
		s.Used += len(s.current) + stepOverhead
		if s.Used > limit {
			for _, x := range s.current {
				s.giveUp(s.bound(x.over, x.weight))
			}
			return
		}
		s.decide(queue)
	}
}

// fill puts items of all costs first, by descending cost, and returns their
// number: two of each binary magnitude below what is missing, those whose weight
// exceeds the price of their cost least. They let partial covers meet the need
// closely, which those of next best ratio may be too costly for.
func (s *search) fill(e []Item) int {
	type filler struct {
		at    int
		extra float64
	}
	var best [128]filler // by magnitude and the bit below the first, descending
	for i := range best {
		best[i].at = -1
	}
	for i := range e {
		x := &e[i]
		if x.Cost > -s.over {
			continue
		}
		magnitude := bits.Len64(uint64(x.Cost))
		f := &best[127-2*magnitude-int(uint64(x.Cost)<<(65-magnitude)>>63)]
		extra := s.scaled(x) - float64(s.ratio*float64(x.Cost))
		if f.at < 0 || extra < f.extra || extra == f.extra && s.order.compare(x, &e[f.at]) < 0 {
			*f = filler{i, extra}
		}
	}
	n := 0
	for i := range best {
		at := best[i].at
		if at < 0 {
			continue
		}
		e[n], e[at] = e[at], e[n]
		for j := i + 1; j < len(best); j++ {
			if best[j].at == n {
				best[j].at = at
			}
		}
		n++
	}
	return n
}

// peek returns the next item of a queue that a better cover can treat otherwise
// than the relaxation does, or nil.
func (s *search) peek(queue int) *Item {
	q := &s.queues[queue]
	for {
		for ; q.next < q.sorted; q.next++ {
			if x := &q.e[q.next]; s.open(x) {
				return x
			}
		}
		if s.best-s.relaxed < (s.sifted-s.relaxed)/2 {
			s.sifted = s.best
			for i := range s.queues {
				s.queues[i].sift(s.open)
			}
		}
		if !q.sortMore() {
			return nil
		}
	}
}

// open reports whether a better cover than the best may treat an item otherwise
// than the relaxation: the price of its cost and its weight do not differ enough
// to tell.
func (s *search) open(x *Item) bool {
	weight, worth := s.scaled(x), float64(s.ratio*float64(x.Cost))
	if weight > float64(s.best) {
		return false
	}
	difference := math.Abs(weight-worth) - float64((weight+worth)*0x1p-50)
	return difference <= 0 || difference < endless && s.roundUp(s.relaxed+int64(difference)) < s.best
}

// setRatios prepares bounds for what is left in the queues.
func (s *search) setRatios() {
	s.after, s.before = math.Inf(1), 0
	if x := s.peek(toAdd); s.queues[toAdd].next < s.fillers {
		s.after = s.ratio * (1 - 0x1p-50)
	} else if x != nil {
		s.after = s.ratioOf(x) * (1 - 0x1p-50)
	}
	if x := s.peek(toRemove); x != nil {
		s.before = s.ratioOf(x) * (1 + 0x1p-50)
	} else {
		s.removable = 0
	}
}

// under returns a bound on the covers that can come of a partial one: what it
// lacks is added, or what it has too much removed, at the best ratio left.
func (s *search) under(over, weight int64) int64 {
	if over < 0 {
		if more := float64(-over) * s.after; more < endless {
			return weight + int64(more) - s.allowance
		}
		return endless
	}
	if less := float64(over) * s.before; less < float64(s.removable) {
		return weight - int64(less) - s.allowance
	}
	return weight - s.removable - s.allowance
}

func (s *search) bound(over, weight int64) int64 { return s.roundUp(s.under(over, weight)) }

// roundUp: a cover weighs a multiple of the grain.
func (s *search) roundUp(weight int64) int64 {
	return (max(0, weight) + s.grain - 1) &^ (s.grain - 1)
}

// giveUp counts covers of at least that weight out.
func (s *search) giveUp(weight int64) { s.floor = min(s.floor, weight) }

// decide takes the next item of a queue: each partial cover goes on with the
// item as it was, and otherwise. Of two, one that covers less but does not weigh
// less is dropped: current is in descending order of both.
func (s *search) decide(queue int) {
	q := &s.queues[queue]
	at := int32(q.next)
	cost, weight := q.e[at].Cost, s.weigh(&q.e[at])
	if queue == toRemove {
		cost, weight = -cost, -weight
	}
	q.next++
	s.setRatios()
	old, next := s.current, s.spare[:0]
	least := int64(math.MaxInt64)
	for i, j := 0, 0; i < len(old) || j < len(old); {
		var x state
		changed := i == len(old)
		if j < len(old) {
			x = state{old[j].over + cost, old[j].weight + weight, old[j].step}
			changed = changed || x.over > old[i].over || x.over == old[i].over && x.weight < old[i].weight
		}
		if changed {
			j++
		} else {
			x = old[i]
			i++
		}
		if x.weight >= least {
			continue
		}
		better := x.over >= 0 && x.weight < s.best
		bound := s.bound(x.over, x.weight)
		if changed && (better || bound < s.best-s.near) {
			s.steps = append(s.steps, step{x.step, at, int8(queue)})
			x.step = int32(len(s.steps) - 1)
		}
		if better {
			s.best, s.bestOver, s.bestStep = x.weight, x.over, x.step
		}
		if bound >= s.best-s.near {
			s.giveUp(bound)
			continue
		}
		least = x.weight
		next = append(next, x)
	}
	s.current, s.spare = next, old
	s.narrow()
}

// narrow gives up the partial covers of the greatest bounds when there are too
// many, among equals those that are farthest from the need.
func (s *search) narrow() {
	width := max(64, s.States>>7)
	if len(s.current) <= 2*width {
		return
	}
	s.bounds = s.bounds[:0]
	for _, x := range s.current {
		s.bounds = append(s.bounds, s.bound(x.over, x.weight))
	}
	s.sorted = append(s.sorted[:0], s.bounds...)
	slices.Sort(s.sorted)
	limit := s.sorted[width]
	s.giveUp(limit)
	below, _ := slices.BinarySearch(s.sorted, limit)
	lo, hi := s.nearest(limit, width-below)
	n := 0
	for i, x := range s.current {
		if b := s.bounds[i]; b < limit || b == limit && lo <= i && i < hi {
			s.current[n] = x
			n++
		}
	}
	s.current = s.current[:n]
}

// nearest returns a range of partial covers, around those that just meet the
// need, in which n have that bound.
func (s *search) nearest(bound int64, n int) (lo, hi int) {
	lo = sort.Search(len(s.current), func(i int) bool { return s.current[i].over < 0 })
	hi = lo
	for n > 0 {
		if hi < len(s.current) {
			if s.bounds[hi] == bound {
				n--
			}
			hi++
		}
		if n > 0 && lo > 0 {
			lo--
			if s.bounds[lo] == bound {
				n--
			}
		}
	}
	return lo, hi
}

// answer puts the best cover first and sums up.
func (s *search) answer() Cover {
	e, size := s.usable(), s.split
	added, removed := s.changes()
	for len(added) > 0 && len(removed) > 0 {
		i, j := added[len(added)-1], removed[len(removed)-1]
		e[i], e[j] = e[j], e[i]
		added, removed = added[:len(added)-1], removed[:len(removed)-1]
	}
	slices.Sort(added)
	for _, i := range added {
		e[i], e[size] = e[size], e[i]
		size++
	}
	slices.Sort(removed)
	for _, i := range slices.Backward(removed) {
		size--
		e[i], e[size] = e[size], e[i]
	}
	bound := max(min(s.best, s.floor), s.roundUp(s.relaxed))
	if bound < s.best-s.near {
		size = s.shed(e[:size])
	}
	weight, below := s.settled()
	return Cover{
		Taken:    s.items[:s.first+size],
		Weight:   weight + s.weights.Float(s.best),
		Bound:    AddDown(below, s.weights.FloatBelow(min(bound, s.best))),
		exact:    bound >= s.best-s.near,
		Feasible: true,
	}
}

// changes returns where in usable() the items are that the best cover adds to
// and removes from those before the break item.
func (s *search) changes() (added, removed []int) {
	if s.bestStep < 0 {
		e := s.usable()
		added = []int{s.split + slices.Index(e[s.split:], s.firstAdded)}
		if s.removes {
			removed = []int{slices.Index(e[:s.split], s.firstRemoved)}
		}
		return added, removed
	}
	for at := s.bestStep; at >= 0; at = s.steps[at].before {
		if x := s.steps[at]; x.queue == toAdd {
			added = append(added, s.split+int(x.at))
		} else {
			removed = append(removed, int(x.at))
		}
	}
	return added, removed
}

// shed drops from a cover what is superfluous, the heaviest first, and returns
// how many items are left, which it puts first. What exceeds the surplus once
// exceeds it ever after, so each item is looked at once.
func (s *search) shed(taken []Item) int {
	left := 0
	for i := range taken {
		if x := &taken[i]; x.Cost > s.bestOver || x.Weight <= 0 {
			taken[i], taken[left] = taken[left], taken[i]
			left++
		}
	}
	droppable := taken[left:]
	slices.SortFunc(droppable, func(a, b Item) int {
		if c := cmp.Compare(b.Weight, a.Weight); c != 0 {
			return c
		}
		return s.order.compare(&a, &b)
	})
	for i := range droppable {
		if x := &droppable[i]; x.Cost > s.bestOver {
			droppable[i], taken[left] = taken[left], droppable[i]
			left++
		} else {
			s.best -= s.weigh(x)
			s.bestOver -= x.Cost
		}
	}
	return left
}

// heavier breaks ties in the order of ratios.
func (s *search) heavier(a, b *Item) bool {
	return a.Weight > b.Weight || a.Weight == b.Weight && s.order.compare(a, b) < 0
}
