package knapsack

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
)

// ratioOrder sorts items by ascending weight/cost, the costlier first among
// equals. It is strict, so that what it selects does not depend on the order in
// which the items come.
type ratioOrder struct {
	scale     float64 // of weights, a power of two that keeps ratios in a float64's range
	canonical func(a, b int32) int
	reverse   bool
}

func (o *ratioOrder) ratio(x *Item) float64 { return x.Weight * o.scale / float64(x.Cost) }

func (o *ratioOrder) compare(a, b *Item) int {
	if o.reverse {
		a, b = b, a
	}
	if c := cmp.Compare(o.ratio(a), o.ratio(b)); c != 0 {
		return c
	}
	if c := cmp.Compare(b.Cost, a.Cost); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Weight, b.Weight); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Tie, b.Tie); c != 0 || a.ID == b.ID {
		return c
	}
	return cmp.Or(o.canonical(a.ID, b.ID), cmp.Compare(a.ID, b.ID))
}

func (o *ratioOrder) sort(e []Item) {
	slices.SortFunc(e, func(a, b Item) int { return o.compare(&a, &b) })
}

// partition puts the items before the pivot first. It returns their number and
// cost.
func (o *ratioOrder) partition(e []Item, pivot *Item) (n int, cost int64) {
	r := o.ratio(pivot)
	before := func(x *Item) bool {
		if y := o.ratio(x); y != r {
			return y < r != o.reverse
		}
		return o.compare(x, pivot) < 0
	}
	i, j := 0, len(e)
	for {
		for i < j && before(&e[i]) {
			cost += e[i].Cost
			i++
		}
		for i < j && !before(&e[j-1]) {
			j--
		}
		if i >= j {
			return i, cost
		}
		j--
		e[i], e[j] = e[j], e[i]
		cost += e[i].Cost
		i++
	}
}

// sample returns some items of e, spread over it, in order.
func (o *ratioOrder) sample(e []Item, room *[maxSample]Item) []Item {
	n := min(max(len(e)/128, 9), maxSample)
	s := room[:n]
	for i := range s {
		s[i] = e[i*(len(e)-1)/(n-1)]
	}
	o.sort(s)
	return s
}

const (
	maxSample  = 255
	passes     = 8 // over all items; where the samples were so bad that these do not do, it sorts
	sampleBias = 1.5
)

// breakItem partially sorts e so that the items before e[at] precede it and
// those after it follow, and their cost is less than need, but not with e[at].
// All of e must reach the need. Expected time is linear, and n·log n at worst.
func (o *ratioOrder) breakItem(e []Item, need int64) (at int, before int64) {
	total := int64(0)
	for i := range e {
		total += e[i].Cost
	}
	lo, hi := 0, len(e)
	var room [maxSample]Item
	for work := 0; hi-lo > exact.FewToSort && work <= passes*len(e); work += hi - lo {
		s := o.sample(e[lo:hi], &room)
		n, cost := o.partition(e[lo:hi], &s[aim(s, float64(need-before)/float64(total))])
		if before+cost >= need {
			hi, total = lo+n, cost
		} else {
			lo, total, before = lo+n, total-cost, before+cost
		}
	}
	o.sort(e[lo:hi])
	for at = lo; before+e[at].Cost < need; at++ {
		before += e[at].Cost
	}
	return at, before
}

// aim chooses a pivot from a sample: a little beyond where its cost is that
// fraction, on the side that leaves the smaller part. Never the first.
func aim(s []Item, fraction float64) int {
	total := 0.0
	for i := range s {
		total += float64(s[i].Cost)
	}
	i, sum := 0, float64(s[0].Cost)
	for sum < fraction*total && i+1 < len(s) {
		i++
		sum += float64(s[i].Cost)
	}
	bias := int(sampleBias * math.Sqrt(float64(len(s))) / 2)
	if 2*i < len(s) {
		return min(i+1+bias, len(s)-1)
	}
	return max(i-bias, 1)
}

// lazyItems yields items in order, sorting few more than are asked for.
type lazyItems struct {
	order  ratioOrder
	e      []Item
	next   int
	sorted int   // e[next:sorted] is in order
	bounds []int // ends of the unsorted ranges, innermost last; all before one precede all after it
	work   int
}

func newLazyItems(order ratioOrder, e []Item) lazyItems {
	return lazyItems{order: order, e: e, bounds: []int{len(e)}}
}

// sift drops items, to behind the others, that were not sorted yet.
func (q *lazyItems) sift(keep func(x *Item) bool) {
	end := q.sorted
	for i := q.sorted; i < len(q.e); i++ {
		if keep(&q.e[i]) {
			q.e[i], q.e[end] = q.e[end], q.e[i]
			end++
		}
	}
	q.e = q.e[:end]
	q.bounds = append(q.bounds[:0], end)
	q.work = 0
}

// sortMore sorts some more items. It reports false if all are.
func (q *lazyItems) sortMore() bool {
	var room [maxSample]Item
	for q.sorted < len(q.e) {
		end := q.bounds[len(q.bounds)-1]
		if end == q.sorted {
			q.bounds = q.bounds[:len(q.bounds)-1]
			continue
		}
		rest := q.e[q.sorted:end]
		if len(rest) <= exact.FewToSort || q.work > passes*len(q.e) {
			q.order.sort(rest)
			q.sorted = end
			return true
		}
		q.work += len(rest)
		s := q.order.sample(rest, &room)
		at := 1 + len(s)*exact.FewToSort/2/len(rest)
		n, _ := q.order.partition(rest, &s[at])
		q.bounds = append(q.bounds, q.sorted+n)
	}
	return false
}
