// Package measure is what the tools that measure have in common: the yardstick of
// times, and figures of several runs.
package measure

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// sortedFloats is how many numbers the yardstick sorts.
const sortedFloats = 1_000_000

// SortTime is the yardstick: how long it takes to sort a million random float64.
func SortTime() time.Duration {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := make([]float64, sortedFloats)
	for i := range numbers {
		numbers[i] = r.Float64()
	}
	begin := time.Now()
	slices.Sort(numbers)
	return time.Since(begin)
}

// Quantile is the p-quantile by nearest rank: the least value that at least a share p
// of all do not exceed. Unlike an interpolation it can be infinite without being NaN.
// Without values it is zero.
func Quantile[T cmp.Ordered](values []T, p float64) (q T) {
	if len(values) == 0 {
		return q
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Milliseconds writes a time in milliseconds, to three digits.
func Milliseconds(d time.Duration) string {
	x := float64(d) / 1e6
	switch {
	case x >= 99.95:
		return fmt.Sprintf("%.0f ms", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f ms", x)
	}
	return fmt.Sprintf("%.2f ms", x)
}
