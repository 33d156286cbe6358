package compact

import (
	"math"
	"math/bits"

	"plannerd/planner"
)

// MaxDegree is the greatest degree of discretisation.
const MaxDegree = 1 << 30

// ValidateDegree reports a degree that is no power of two from 1 to MaxDegree, as
// a [planner.InputError].
func ValidateDegree(degree int) error {
	if degree < 1 || degree > MaxDegree || bits.OnesCount(uint(degree)) != 1 {
		return planner.Invalid("Degree", "must be a power of two from 1 to 2^30")
	}
	return nil
}

// Levels are the representative values y_1 > … > y_m of HLHE (mixed-routing
// §IV-B): s·R, (s−1)·R, …, R and then R/2, R/4, …, 1. Where a given scale leaves
// values below 1, those lie between 1 and 0.
type Levels struct {
	degree float64 // R
	steps  float64 // s
}

// NewLevels returns the levels of degree R for values up to greatest: s is
// max(1, ⌈greatest/R⌉). The degree must be valid.
func NewLevels(degree int, greatest float64) Levels {
	r := float64(degree)
	return Levels{degree: r, steps: max(1, math.Ceil(greatest/r))}
}

// Neighbours returns the levels between which 0 ≤ x ≤ y_1 lies: lower ≤ x < upper.
// They are equal for 0, which stays 0, and for y_1.
func (l Levels) Neighbours(x float64) (lower, upper float64) {
	switch {
	case x == 0:
		return 0, 0
	case x < 1:
		return 0, 1
	case x < l.degree:
		lower = math.Float64frombits(math.Float64bits(x) &^ (1<<52 - 1)) // the power of two
		return lower, 2 * lower
	}
	k := math.Floor(x / l.degree) // exact: R is a power of two
	if k >= l.steps {
		return l.steps * l.degree, l.steps * l.degree
	}
	return k * l.degree, (k + 1) * l.degree
}

// Walk discretises values one after the other so that their sum comes out right.
// They must come in non-increasing order.
type Walk struct {
	Levels Levels
	// Deviation is δ = Σ (x − φ(x)) so far. It is never more than R/2 either way.
	Deviation float64
}

// Next returns φ(x).
func (w *Walk) Next(x float64) float64 {
	lower, upper := w.Levels.Neighbours(x)
	return w.choose(x, lower, upper)
}

// choose returns φ(x), the neighbour of x that leaves |δ| smaller; on a tie the
// lower one.
func (w *Walk) choose(x, lower, upper float64) float64 {
	low, high := w.Deviation+(x-lower), w.Deviation+(x-upper)
	if math.Abs(high) < math.Abs(low) {
		w.Deviation = high
		return upper
	}
	w.Deviation = low
	return lower
}
