package exact

import "slices"

// FewToSort is the number of elements up to which sorting them all is cheaper than
// selecting among them.
const FewToSort = 48

// SelectLeast reorders e so that its n least elements come first, in any order;
// 0 ≤ n ≤ len(e). It is quickselect with the median of nine as pivot (Hoare 1961);
// it sorts when the pivots turn out badly. No two elements may be equal.
func SelectLeast[T any](e []T, n int, less func(a, b *T) bool) {
	for work := 8 * len(e); len(e) > FewToSort && n > 0 && n < len(e); {
		if work -= len(e); work < 0 {
			break
		}
		k := partition(e, less)
		switch {
		case k == n:
			return
		case k > n:
			e = e[:k]
		default:
			e, n = e[k:], n-k
		}
	}
	if n <= 0 || n >= len(e) {
		return
	}
	slices.SortFunc(e, func(a, b T) int {
		switch {
		case less(&a, &b):
			return -1
		case less(&b, &a):
			return 1
		}
		return 0
	})
}

// partition puts the elements before some pivot first and returns their number,
// which is at least 1 and less than len(e).
func partition[T any](e []T, less func(a, b *T) bool) int {
	var s [9]T
	step := (len(e) - 1) / 8
	for i := range s {
		s[i] = e[i*step]
		for j := i; j > 0 && less(&s[j], &s[j-1]); j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	i, j, pivot := 0, len(e)-1, s[4]
	for {
		for less(&e[i], &pivot) {
			i++
		}
		for less(&pivot, &e[j]) {
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
