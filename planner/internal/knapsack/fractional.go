package knapsack

import (
	"cmp"
	"math"

	"plannerd/internal/exact"
)

// Ratioed is a key on an overloaded instance as a part of a fractional knapsack.
type Ratioed struct {
	Ratio float64
	Cost  int64 // fixed point, so that sums do not depend on the order
}

// CriticalRatio returns the greatest ratio that is needed to reach need when
// those of least ratio are taken first. 0 when nothing is needed, +∞ when all
// together do not reach it. It reorders e.
func CriticalRatio(e []Ratioed, need int64) float64 {
	if need <= 0 {
		return 0
	}
	at, _ := exact.SelectSum(e, need, func(x Ratioed) int64 { return x.Cost },
		func(a, b Ratioed) int { return cmp.Compare(a.Ratio, b.Ratio) })
	if at == len(e) {
		return math.Inf(1)
	}
	return e[at].Ratio
}
