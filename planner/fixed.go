package planner

import (
	"math"
	"math/bits"
)

// magnitudes bounds a sum of non-negative numbers by counting their binary
// exponents. Unlike a sum of floats it does not depend on their order.
type magnitudes struct {
	exponents [1 << 11]int64 // how many numbers have the biased exponent
	greatest  float64
}

func (m *magnitudes) add(x float64, n int64) {
	m.exponents[math.Float64bits(x)>>52&(1<<11-1)] += n
	if x > m.greatest {
		m.greatest = x
	}
}

// addAll adds a range of numbers, with their counts if there are any.
func (m *magnitudes) addAll(values []float64, counts []int64, from, to int) {
	switch {
	case values == nil:
	case counts == nil:
		for _, v := range values[from:to] {
			m.add(v, 1)
		}
	default:
		for i := from; i < to; i++ {
			m.add(values[i], counts[i])
		}
	}
}

// merge adds the numbers of another one.
func (m *magnitudes) merge(other *magnitudes) {
	for e, n := range &other.exponents {
		m.exponents[e] += n
	}
	m.greatest = max(m.greatest, other.greatest)
}

// exponent returns an e, the least or one more, for which the sum is at most 2^e.
func (m *magnitudes) exponent() int {
	top := len(m.exponents) - 1
	for top > 0 && m.exponents[top] == 0 {
		top--
	}
	sum := int64(0)
	for _, n := range m.exponents[:top+1] {
		sum = (sum+1)/2 + n // in units of 2^(e−1022), which no number of exponent e reaches
	}
	return top - 1022 + bits.Len64(uint64(sum))
}

// fixed converts a quantity into integers under a power-of-two scale, so that
// its sums do not depend on their order. The scale is about the largest under
// which the sum of all does not overflow: integers below 2^53 stay exact unless
// they sum to more than 2^61, and what is below 2^−62 of the sum counts as
// nothing.
type fixed struct{ up, up2, down, down2 float64 }

func newFixed(m *magnitudes) fixed {
	if m.greatest == 0 {
		return fixed{1, 1, 1, 1}
	}
	e := 62 - m.exponent()
	// Two factors, since 2^e alone can be out of a float64's range.
	e1 := max(min(e, 1000), -1000)
	e2 := e - e1
	return fixed{math.Ldexp(1, e1), math.Ldexp(1, e2), math.Ldexp(1, -e1), math.Ldexp(1, -e2)}
}

func (f fixed) of(x float64) int64 { return int64(math.RoundToEven(x * f.up * f.up2)) }

func (f fixed) float(v int64) float64 { return float64(float64(float64(v)*f.down2) * f.down) }

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
