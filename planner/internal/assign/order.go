package assign

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"plannerd/internal/exact"
)

// UpTo returns 0, 1, … n−1.
func UpTo(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// InOrder returns elements in canonical order of their keys; those of the same
// key stay as they are.
func InOrder[T any](e []T, s *Items, item func(*T) int32) []T {
	type place struct {
		hash  uint64
		index int32
	}
	places := make([]place, len(e))
	for i := range e {
		places[i] = place{s.Hashes[item(&e[i])], int32(i)}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		return cmp.Or(s.Compare(item(&e[a.index]), item(&e[b.index])), cmp.Compare(a.index, b.index))
	})
	ordered := make([]T, len(e))
	for i, x := range places {
		ordered[i] = e[x.index]
	}
	return ordered
}

// Ranked is a piece with its rank under some criterion: lower ranks first, ties
// in canonical key order.
type Ranked struct {
	Rank  uint64
	Tie   uint32 // upper half of the key's hash: most ties end here
	Piece int32
}

// Ranked pairs an item, or its only piece, with its rank.
func (s *Items) Ranked(item int32, rank uint64) Ranked {
	return Ranked{Rank: rank, Tie: uint32(s.Hashes[item] >> 32), Piece: item}
}

// Descending turns a non-negative criterion into a rank that puts the greatest
// first.
func Descending(x float64) uint64 {
	if x == 0 {
		return ^uint64(0) // −0 too
	}
	return ^math.Float64bits(x)
}

// PieceOrder orders ranked pieces.
type PieceOrder struct {
	Items  *Items
	ItemOf []int32 // piece → item; nil: the same
}

// Compare is negative where a comes before b.
func (o *PieceOrder) Compare(a, b Ranked) int {
	switch {
	case a.Rank < b.Rank || a.Rank == b.Rank && a.Tie < b.Tie:
		return -1
	case a.Rank != b.Rank || a.Tie != b.Tie:
		return 1
	}
	return o.compareKeys(a, b)
}

// compareKeys is compare for equal ranks and ties.
func (o *PieceOrder) compareKeys(a, b Ranked) int {
	i, j := a.Piece, b.Piece
	if o.ItemOf != nil {
		i, j = o.ItemOf[i], o.ItemOf[j]
	}
	if i != j {
		if c := o.Items.Compare(i, j); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Piece, b.Piece)
}

// LazyOrder yields pieces in the order of their ranks, sorting no more than what
// is asked for.
type LazyOrder struct {
	exact.Lazy[Ranked]
	Next int
}

// NewLazyOrder orders pieces; itemOf tells their items, nil: they are the items. It
// reorders e.
func NewLazyOrder(e []Ranked, s *Items, items []int32) LazyOrder {
	return LazyOrder{Lazy: exact.NewLazy(e, (&PieceOrder{s, items}).Compare)}
}

// Peek returns the first piece that was not skipped yet.
func (o *LazyOrder) Peek() (Ranked, bool) {
	if o.Next >= o.Sorted && !o.SortMore() {
		return Ranked{}, false
	}
	return o.E[o.Next], true
}

// Skip moves on behind the piece that peek returned.
func (o *LazyOrder) Skip() { o.Next++ }

// All yields the pieces that were not skipped yet, and skips them.
func (o *LazyOrder) All() iter.Seq[Ranked] {
	return func(yield func(Ranked) bool) {
		for e, ok := o.Peek(); ok; e, ok = o.Peek() {
			o.Skip()
			if !yield(e) {
				return
			}
		}
	}
}
