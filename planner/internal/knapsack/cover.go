package knapsack

import (
	"math"
	"math/bits"
	"slices"

	"plannerd/internal/exact"
)

// Item can be taken towards a need.
type Item struct {
	Cost   int64   // what it covers, ≥ 0; the sum over all items does not overflow
	Weight float64 // what it takes; finite, possibly negative
	Tie    uint32  // upper half of the key's hash: most ties end here
	ID     int32
}

// Cover answers a covering problem: to reach a need at least weight.
type Cover struct {
	// taken is a cover. It may be a part of the items as they were passed. As a set
	// it does not depend on their order.
	Taken []Item
	// weight is that of taken, but for a rounding of each item, down, by less than
	// 2^−59 of the whole or, if that is more, 1e−323.
	Weight float64
	// bound is proven: no cover weighs less. +∞ if there is none.
	Bound float64
	// exact: bound and weight are the same, but for rounding.
	exact bool
	// feasible: all items together reach the need.
	Feasible bool
}

// Solver solves covering knapsacks: which items to take, of least weight in
// all, so that their costs sum to a need. Items of negative weight are always
// taken. It keeps its scratch space from one problem to the next.
//
// The order of the ratios weight/cost yields the relaxation, of which only the
// item at which the need is reached is cut, and a first cover. What that item
// leaves open is settled by dynamic programming over a core that grows from it
// to both sides, after Pisinger (A minimal algorithm for the 0-1 knapsack
// problem, 1997).
type Solver struct {
	States    int                  // partial covers to look at per problem; 0: the first cover will do
	Splits    int                  // how often to divide a problem in two that was not solved otherwise
	Canonical func(a, b int32) int // the order of ids, each of which is unique, that breaks ties

	Used           int // partial covers looked at
	current, spare []state
	steps          []step
	bounds, sorted []int64
}

// Solve solves the problem. It reorders items.
func (c *Solver) Solve(items []Item, need int64) Cover {
	c.Used = 0
	best, split := c.solveNode(items, need, node{})
	if !best.Feasible || best.exact {
		return best
	}
	open, closed := []node{{bound: best.Bound, split: split}}, best.Weight
	for splits := c.Splits; splits > 0 && len(open) > 0 && !best.good(); splits-- {
		if splits == c.Splits {
			best.Taken = slices.Clone(best.Taken) // items are about to be reordered
		}
		least := 0
		for i := range open {
			if open[i].bound < open[least].bound {
				least = i
			}
		}
		parent := open[least]
		open = slices.Delete(open, least, least+1)
		for _, n := range parent.branch() {
			got, split := c.solveNode(items, need, n)
			if got.Feasible && got.Weight < best.Weight {
				best.Weight, best.Taken = got.Weight, slices.Clone(got.Taken)
			}
			n.bound, n.split = max(parent.bound, got.Bound), split
			if got.exact || !got.Feasible {
				closed = min(closed, n.bound)
			} else {
				open = append(open, n)
			}
		}
		best.Bound = min(best.Weight, closed)
		for i := range open {
			best.Bound = min(best.Bound, open[i].bound)
		}
		best.exact = best.Bound == best.Weight
	}
	return best
}

// good reports whether weight and bound are so close that no split is worth it.
func (x *Cover) good() bool { return x.Weight-x.Bound <= goodCover*math.Abs(x.Weight) }

// goodCover is a relative difference from the bound that is not worth a split.
const goodCover = 1e-5

// node is a part of a problem: what the covers have in common that take
// some items and leave others.
type node struct {
	take, leave []Item
	bound       float64
	split       Item // its break item, that divides it further
}

// branch divides a part in two. A heavy break item spoils the relaxation, where
// it is cut, and both parts are without it.
func (n *node) branch() [2]node {
	return [2]node{
		{take: append(slices.Clone(n.take), n.split), leave: n.leave},
		{take: n.take, leave: append(slices.Clone(n.leave), n.split)},
	}
}

// solveNode looks for the best cover of a part of the problem.
func (c *Solver) solveNode(items []Item, need int64, n node) (Cover, Item) {
	k, ok := c.newKnapsack(items, need, n)
	if !ok {
		return Cover{Bound: math.Inf(1)}, Item{}
	}
	if k.need <= 0 {
		weight, below := k.settled()
		return Cover{Taken: items[:k.first], Weight: weight, Bound: below, exact: true, Feasible: true}, Item{}
	}
	k.dropHeavy()
	s := k.newSearch()
	split := k.usable()[s.split]
	s.run()
	return s.answer(), split
}

// knapsack is a covering problem without the items that are no choice.
type knapsack struct {
	*Solver
	items       []Item
	first, last int   // items[first:last] can be taken or left; those before are taken
	need        int64 // of items[first:last]
	total       int64 // Σ cost of items[first:last]
	exponent    int   // biased; those items whose weights have no greater one suffice
	heaviest    int   // the greatest biased exponent
	finest      int   // 2^(finest−1075) divides all weights
	order       ratioOrder
}

func (k *knapsack) usable() []Item { return k.items[k.first:k.last] }

// newKnapsack sifts the items. It reports false if they do not reach the need.
func (c *Solver) newKnapsack(items []Item, need int64, n node) (knapsack, bool) {
	k := knapsack{Solver: c, items: items, last: len(items), need: need, finest: math.MaxInt32}
	for _, x := range n.take {
		i := k.first + slices.Index(items[k.first:], x)
		items[i], items[k.first] = items[k.first], items[i]
		k.first++
		k.need -= x.Cost
	}
	for _, x := range n.leave {
		i := slices.Index(items[:k.last], x)
		k.last--
		items[i], items[k.last] = items[k.last], items[i]
	}
	var byExponent [1 << 11]int64 // Σ cost
	divisor := k.sift(&byExponent)
	if k.need > k.total {
		return k, false
	}
	if k.need <= 0 {
		return k, true
	}
	k.need = (k.need-1)/divisor*divisor + divisor // no sum of costs is in between
	for sum := byExponent[0]; sum < k.need; sum += byExponent[k.exponent] {
		k.exponent++
	}
	// Under this scale the least cover weighs at least ½, or is the least normal
	// number or less: no ratio that matters is subnormal.
	k.order = ratioOrder{scale: math.Ldexp(1, max(-1000, min(1022-k.exponent, 1000))), canonical: c.Canonical}
	return k, true
}

// sift puts items of negative weight first and those that only weigh last, and
// sums up the others. It returns a divisor of all their costs, the greatest.
func (k *knapsack) sift(byExponent *[1 << 11]int64) int64 {
	odd, or := uint64(0), uint64(0)
	for i := k.first; i < k.last; {
		x := &k.items[i]
		switch {
		case x.Weight < 0:
			k.need -= x.Cost
			k.items[i], k.items[k.first] = k.items[k.first], k.items[i]
			k.first++
			i++
		case x.Cost <= 0:
			k.last--
			k.items[i], k.items[k.last] = k.items[k.last], k.items[i]
		default:
			k.total += x.Cost
			e, fine := dyadic(x.Weight)
			byExponent[e] += x.Cost
			k.heaviest = max(k.heaviest, e)
			k.finest = min(k.finest, fine)
			or |= uint64(x.Cost)
			if odd != 1 {
				odd = gcd(uint64(x.Cost)>>bits.TrailingZeros64(uint64(x.Cost)), odd)
			}
			i++
		}
	}
	return max(1, int64(odd<<bits.TrailingZeros64(or)))
}

// dyadic returns the biased exponent of x ≥ 0, and the greatest y so that
// 2^(y−1075) divides it.
func dyadic(x float64) (exponent, finest int) {
	b := math.Float64bits(x)
	exponent = int(b >> 52 & (1<<11 - 1))
	b &= 1<<52 - 1
	switch {
	case exponent > 0:
		return exponent, exponent + bits.TrailingZeros64(b|1<<52)
	case b > 0:
		return 0, 1 + bits.TrailingZeros64(b)
	}
	return 0, math.MaxInt32
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// dropHeavy strikes out the items that outweigh some cover.
func (k *knapsack) dropHeavy() {
	limit := k.exponent + bits.Len(uint(k.last-k.first))
	if k.heaviest <= limit {
		return
	}
	for i := k.first; i < k.last; {
		if e, _ := dyadic(k.items[i].Weight); e <= limit {
			i++
			continue
		}
		k.total -= k.items[i].Cost
		k.last--
		k.items[i], k.items[k.last] = k.items[k.last], k.items[i]
	}
}

// settled is the weight of the items that are taken anyway, and a bound below it.
func (k *knapsack) settled() (weight, below float64) {
	if k.first == 0 {
		return 0, 0
	}
	var m exact.Magnitudes
	for i := range k.items[:k.first] {
		m.Add(math.Abs(k.items[i].Weight), 1)
	}
	f, sum := m.Scale(), int64(0)
	for i := range k.items[:k.first] {
		sum += f.Floor(k.items[i].Weight)
	}
	return f.Float(sum), f.FloatBelow(sum)
}

// AddDown is a+b, rounded down.
func AddDown(a, b float64) float64 {
	s := a + b
	t := s - a
	if (a-(s-t))+(b-t) < 0 { // what rounding added, exactly
		return math.Nextafter(s, math.Inf(-1))
	}
	return s
}
