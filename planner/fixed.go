package planner

import (
	"math"
	"math/bits"
)

// fixed converts a quantity into integers under a power-of-two scale, so that
// its sums do not depend on their order. The scale is the largest under which no
// sum overflows: integers below 2^53 stay exact unless their sum needs more
// than 62 bits.
type fixed struct{ up, up2, down, down2 float64 }

// newFixed chooses the scale for n values of at most max.
func newFixed(max float64, n int64) fixed {
	if max == 0 {
		return fixed{1, 1, 1, 1}
	}
	_, exp := math.Frexp(max)
	e := 62 - exp - bits.Len64(uint64(n))
	// Two factors, since 2^e alone can be out of a float64's range.
	e1 := min(e, 1000)
	e2 := e - e1
	return fixed{math.Ldexp(1, e1), math.Ldexp(1, e2), math.Ldexp(1, -e1), math.Ldexp(1, -e2)}
}

func (f fixed) of(x float64) int64 { return int64(math.RoundToEven(x * f.up * f.up2)) }

func (f fixed) float(v int64) float64 { return float64(v) * f.down2 * f.down }

// tolerance is the relative slack of the one predicate x ≤ b·(1+tolerance) that
// decides balance, hotness and what fits.
const tolerance = 1e-9

// tolerant returns the greatest integer that counts as ≤ b.
func tolerant(b float64) int64 {
	v := b * (1 + tolerance)
	if v >= math.MaxInt64/2 {
		return math.MaxInt64 / 2
	}
	return int64(v)
}
