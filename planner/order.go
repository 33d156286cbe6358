package planner

import (
	"bytes"
	"cmp"
	"math"
	"math/bits"
	"slices"

	"plannerd/internal/exact"
)

// Compare orders keys i and j canonically: ascending hash, then bytes. It is
// how all ties are broken, so that the order of the rows never matters.
func (k *Keys) Compare(i, j int32) int {
	if c := cmp.Compare(k.hashes[i], k.hashes[j]); c != 0 {
		return c
	}
	return bytes.Compare(k.At(int(i)), k.At(int(j)))
}

// canonicalOrder returns the items in canonical key order.
func (s *Snapshot) canonicalOrder() []int32 {
	order := make([]int32, s.Len())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, s.Keys.Compare)
	return order
}

// inOrder returns elements in canonical order of their keys; those of the same
// key stay as they are.
func inOrder[T any](e []T, keys *Keys, item func(*T) int32) []T {
	type place struct {
		hash  uint64
		index int32
	}
	places := make([]place, len(e))
	for i := range e {
		places[i] = place{keys.hashes[item(&e[i])], int32(i)}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		return cmp.Or(keys.Compare(item(&e[a.index]), item(&e[b.index])), cmp.Compare(a.index, b.index))
	})
	ordered := make([]T, len(e))
	for i, x := range places {
		ordered[i] = e[x.index]
	}
	return ordered
}

// ranked is a piece with its rank under some criterion: lower ranks first, ties
// in canonical key order.
type ranked struct {
	rank  uint64
	tie   uint32 // upper half of the key's hash: most ties end here
	piece int32
}

// descending turns a non-negative criterion into a rank that puts the greatest
// first.
func descending(x float64) uint64 {
	if x == 0 {
		return ^uint64(0) // −0 too
	}
	return ^math.Float64bits(x)
}

// lazyOrder yields pieces in the order of their ranks, sorting no more than what
// is asked for (incremental quicksort, Paredes and Navarro 2006): the first k of
// n cost O(n + k log k).
type lazyOrder struct {
	e      []ranked
	keys   *Keys
	items  []int32 // piece → item; nil: the same
	next   int
	sorted int   // e[next:sorted] is in order
	work   int   // elements partitioned: far too many mean bad pivots, as an adversary can bring about
	bounds []int // ends of the unsorted ranges, innermost last; all before one precede all after it
}

func newLazyOrder(e []ranked, keys *Keys, items []int32) lazyOrder {
	return lazyOrder{e: e, keys: keys, items: items, bounds: []int{len(e)}}
}

func (o *lazyOrder) compare(a, b ranked) int {
	if c := cmp.Compare(a.rank, b.rank); c != 0 {
		return c
	}
	if c := cmp.Compare(a.tie, b.tie); c != 0 {
		return c
	}
	i, j := a.piece, b.piece
	if o.items != nil {
		i, j = o.items[i], o.items[j]
	}
	if i != j {
		if c := o.keys.Compare(i, j); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.piece, b.piece)
}

// peek returns the first piece that was not skipped yet.
func (o *lazyOrder) peek() (ranked, bool) {
	if o.next == len(o.e) {
		return ranked{}, false
	}
	if o.next >= o.sorted {
		o.sortMore()
	}
	return o.e[o.next], true
}

// skip moves on behind the piece that peek returned.
func (o *lazyOrder) skip() { o.next++ }

func (o *lazyOrder) sortMore() {
	for {
		end := o.bounds[len(o.bounds)-1]
		if end == o.next {
			o.bounds = o.bounds[:len(o.bounds)-1]
			continue
		}
		if end-o.next <= exact.FewToSort || o.work > 4*len(o.e)*bits.Len(uint(len(o.e))) {
			slices.SortFunc(o.e[o.next:end], o.compare)
			o.sorted = end
			o.bounds = o.bounds[:len(o.bounds)-1]
			return
		}
		o.work += end - o.next
		o.bounds = append(o.bounds, o.next+o.partition(o.e[o.next:end]))
	}
}

// partition puts the elements before some pivot first and returns their number,
// which is at least 1 and less than len(e).
func (o *lazyOrder) partition(e []ranked) int {
	pivot := o.pivot(e)
	i, j := 0, len(e)-1
	for {
		for o.less(e[i], pivot) {
			i++
		}
		for o.less(pivot, e[j]) {
			j--
		}
		if i >= j {
			break
		}
		e[i], e[j] = e[j], e[i]
		i++
		j--
	}
	return i
}

func (o *lazyOrder) less(a, b ranked) bool {
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	if a.tie != b.tie {
		return a.tie < b.tie
	}
	return o.compare(a, b) < 0
}

// pivot is the median of nine elements spread over e; never its greatest.
func (o *lazyOrder) pivot(e []ranked) ranked {
	var s [9]ranked
	step := (len(e) - 1) / 8
	for i := range s {
		s[i] = e[i*step]
	}
	slices.SortFunc(s[:], o.compare)
	return s[4]
}
