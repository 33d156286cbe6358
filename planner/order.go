package planner

import (
	"bytes"
	"cmp"
	"iter"
	"math"
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

// upTo returns 0, 1, … n−1.
func upTo(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// heavierFirst orders items by descending cost.
func (s *Snapshot) heavierFirst(a, b int32) int {
	return cmp.Or(cmp.Compare(s.Cost[b], s.Cost[a]), s.Keys.Compare(a, b))
}

// canonicalOrder returns the items in canonical key order.
func (s *Snapshot) canonicalOrder() []int32 {
	order := upTo(s.Len())
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

// pieceOrder orders ranked pieces.
type pieceOrder struct {
	keys  *Keys
	items []int32 // piece → item; nil: the same
}

func (o *pieceOrder) compare(a, b ranked) int {
	switch {
	case a.rank < b.rank || a.rank == b.rank && a.tie < b.tie:
		return -1
	case a.rank != b.rank || a.tie != b.tie:
		return 1
	}
	return o.compareKeys(a, b)
}

// compareKeys is compare for equal ranks and ties.
func (o *pieceOrder) compareKeys(a, b ranked) int {
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

// lazyOrder yields pieces in the order of their ranks, sorting no more than what
// is asked for.
type lazyOrder struct {
	exact.Lazy[ranked]
	next int
}

func newLazyOrder(e []ranked, keys *Keys, items []int32) lazyOrder {
	return lazyOrder{Lazy: exact.NewLazy(e, (&pieceOrder{keys, items}).compare)}
}

// peek returns the first piece that was not skipped yet.
func (o *lazyOrder) peek() (ranked, bool) {
	if o.next >= o.Sorted && !o.SortMore() {
		return ranked{}, false
	}
	return o.E[o.next], true
}

// skip moves on behind the piece that peek returned.
func (o *lazyOrder) skip() { o.next++ }

// all yields the pieces that were not skipped yet, and skips them.
func (o *lazyOrder) all() iter.Seq[ranked] {
	return func(yield func(ranked) bool) {
		for e, ok := o.peek(); ok; e, ok = o.peek() {
			o.skip()
			if !yield(e) {
				return
			}
		}
	}
}
