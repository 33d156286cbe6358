package exact

import (
	"math/bits"
	"slices"
)

// FewToSort is the number of elements up to which sorting them all is cheaper than
// selecting among them.
const FewToSort = 48

// SelectLeast reorders e so that its n least elements come first, in any order;
// 0 ≤ n ≤ len(e). It is quickselect with the median of nine as pivot (Hoare 1961);
// it sorts when the pivots turn out badly. No two elements may be equal.
func SelectLeast[T any](e []T, n int, compare func(a, b T) int) {
	if n > 0 && n < len(e) {
		SelectSum(e, int64(n)+1, func(T) int64 { return 1 }, compare)
	}
}

// SelectSum reorders e so that the elements before e[at] precede it, those after it
// follow, and what amount gives of the former sums to less than need, but not with
// e[at]; at is len(e) if all of them do not reach the need.
func SelectSum[T any](e []T, need int64, amount func(T) int64, compare func(a, b T) int) (at int, before int64) {
	lo, hi := 0, len(e)
	for work := 8 * len(e); hi-lo > FewToSort && work >= hi-lo; {
		work -= hi - lo
		n, sum := lo+partition(e[lo:hi], compare), before
		for _, x := range e[lo:n] {
			sum += amount(x)
		}
		if sum >= need {
			hi = n
		} else {
			lo, before = n, sum
		}
	}
	slices.SortFunc(e[lo:hi], compare)
	for at = lo; at < hi && before+amount(e[at]) < need; at++ {
		before += amount(e[at])
	}
	return at, before
}

// Lazy brings elements into order, sorting few more than are asked for (incremental
// quicksort, Paredes and Navarro 2006): the first k of n cost O(n + k log k).
type Lazy[T any] struct {
	E       []T
	Sorted  int // E[:Sorted] is in order
	compare func(a, b T) int
	work    int   // elements partitioned: far too many mean bad pivots, as an adversary can bring about
	bounds  []int // ends of the unsorted ranges, innermost last; all before one precede all after it
}

// NewLazy takes over e, of which nothing is sorted yet.
func NewLazy[T any](e []T, compare func(a, b T) int) Lazy[T] {
	return Lazy[T]{E: e, compare: compare, bounds: []int{len(e)}}
}

// SortMore sorts some more elements. It reports false if all are.
func (l *Lazy[T]) SortMore() bool {
	for l.Sorted < len(l.E) {
		last := len(l.bounds) - 1
		rest := l.E[l.Sorted:l.bounds[last]]
		if len(rest) <= FewToSort || l.work > 4*len(l.E)*bits.Len(uint(len(l.E))) {
			slices.SortFunc(rest, l.compare)
			l.Sorted, l.bounds = l.bounds[last], l.bounds[:last]
			if len(rest) > 0 {
				return true
			}
			continue
		}
		l.work += len(rest)
		l.bounds = append(l.bounds, l.Sorted+partition(rest, l.compare))
	}
	return false
}

// partition puts the elements before some pivot first and returns their number,
// which is at least 1 and less than len(e).
func partition[T any](e []T, compare func(a, b T) int) int {
	var s [9]T
	step := (len(e) - 1) / 8
	for i := range s {
		s[i] = e[i*step]
	}
	slices.SortFunc(s[:], compare)
	i, j, pivot := 0, len(e)-1, s[4]
	for {
		for compare(e[i], pivot) < 0 {
			i++
		}
		for compare(pivot, e[j]) < 0 {
			j--
		}
		if i >= j {
			return i
		}
		e[i], e[j] = e[j], e[i]
		i++
		j--
	}
}
