package exact

import (
	"math"
	"math/bits"
)

// Magnitudes bounds a sum of non-negative numbers by counting their binary
// exponents. Unlike a sum of floats it does not depend on their order. Its zero
// value has no numbers.
type Magnitudes struct {
	exponents [biased]int64 // how many numbers have the biased exponent
	span      int           // biased − the least biased exponent above 0; 0 without any
	// Greatest is the greatest number; 0 if there is none.
	Greatest float64
}

const biased = 1 << 11 // biased exponents there are

// Add adds n times the number x ≥ 0.
func (m *Magnitudes) Add(x float64, n int64) {
	e := int(math.Float64bits(x) >> 52 & (biased - 1))
	m.exponents[e] += n
	if e > 0 {
		m.span = max(m.span, biased-e)
	}
	if x > m.Greatest {
		m.Greatest = x
	}
}

// AddAll adds values, value i counts[i] times; nil counts are 1 each.
func (m *Magnitudes) AddAll(values []float64, counts []int64) {
	if counts == nil {
		for _, v := range values {
			m.Add(v, 1)
		}
		return
	}
	for i, v := range values {
		m.Add(v, counts[i])
	}
}

// Merge adds the numbers of other.
func (m *Magnitudes) Merge(other *Magnitudes) {
	for e, n := range &other.exponents {
		m.exponents[e] += n
	}
	m.span, m.Greatest = max(m.span, other.span), max(m.Greatest, other.Greatest)
}

// Exponent returns an e, the least or one more, for which the sum is at most 2^e.
func (m *Magnitudes) Exponent() int {
	_, top := math.Frexp(m.Greatest)
	top = max(0, top+1022)
	for top > 0 && m.exponents[top] == 0 {
		top--
	}
	if top == 0 { // all are subnormal
		_, e := math.Frexp(m.Greatest)
		return e + bits.Len64(uint64(m.exponents[0]))
	}
	least := biased - m.span
	sum := halved(m.exponents[0], least-1)
	for _, n := range m.exponents[least : top+1] {
		sum = (sum+1)/2 + n // in units of 2^(e−1022), which no number of exponent e reaches
	}
	return top - 1022 + bits.Len64(uint64(sum))
}

// halved is n divided by 2 so often, rounded up.
func halved(n int64, times int) int64 {
	if times > 62 {
		return min(n, 1)
	}
	return (n-1)>>times + 1
}

// Scale returns about the largest scale under which the sum of all numbers does
// not overflow.
func (m *Magnitudes) Scale() Scale {
	if m.Greatest == 0 {
		return Scale{1, 1, 1, 1}
	}
	return scaleBy(62 - m.Exponent())
}

// Scale converts a quantity into integers under a power-of-two scale, so that its
// sums do not depend on their order. Integers below 2^53 stay exact unless they sum
// to more than 2^61, and what is below 2^−62 of the sum counts as nothing.
type Scale struct{ up, up2, down, down2 float64 }

// ScaleOf returns the scale for values, value i counted counts[i] times; nil counts
// are 1 each.
func ScaleOf(values []float64, counts []int64) Scale {
	var m Magnitudes
	m.AddAll(values, counts)
	return m.Scale()
}

// Column is values in fixed point, and their sum.
type Column struct {
	Scale
	Of    []int64
	Total int64
}

// NewColumn converts n values; nil stands for 1 each.
func NewColumn(values []float64, n int) Column {
	c := Column{Scale: ScaleOf(values, nil), Of: make([]int64, n)}
	one := c.Fixed(1)
	for i := range c.Of {
		if c.Of[i] = one; values != nil {
			c.Of[i] = c.Fixed(values[i])
		}
		c.Total += c.Of[i]
	}
	return c
}

// ScaleFor returns a scale under which n numbers of at most greatest do not overflow
// in sum.
func ScaleFor(greatest float64, n int64) Scale {
	_, e := math.Frexp(greatest)
	return scaleBy(62 - e - bits.Len64(uint64(n)))
}

// scaleBy returns the scale 2^e. It has two factors, since 2^e alone can be out of a
// float64's range.
func scaleBy(e int) Scale {
	e1 := max(min(e, 1000), -1000)
	e2 := e - e1
	return Scale{math.Ldexp(1, e1), math.Ldexp(1, e2), math.Ldexp(1, -e1), math.Ldexp(1, -e2)}
}

// Coarser returns the scale whose unit is 2^shift times that of s.
func (s Scale) Coarser(shift int) Scale {
	factor := float64(int64(1) << shift)
	return Scale{s.up, s.up2 / factor, s.down, s.down2 * factor}
}

// Scaled returns x in units of the scale, not rounded to an integer.
func (s Scale) Scaled(x float64) float64 { return float64(x * s.up * s.up2) }

// Fixed returns x in fixed point, rounded to the nearest integer, ties to even.
func (s Scale) Fixed(x float64) int64 { return int64(math.RoundToEven(s.Scaled(x))) }

// Floor returns x in fixed point, rounded down.
func (s Scale) Floor(x float64) int64 { return int64(math.Floor(s.Scaled(x))) }

// Float returns the amount that v stands for, rounded to the nearest float64.
func (s Scale) Float(v int64) float64 { return float64(float64(float64(v)*s.down2) * s.down) }

// FloatBelow is Float, but never more than what v < 2^62 stands for.
func (s Scale) FloatBelow(v int64) float64 {
	x := float64(v)
	if int64(x) > v {
		x = math.Nextafter(x, math.Inf(-1))
	}
	y := float64(float64(x*s.down2) * s.down)
	if math.Abs(y) < 0x1p-1000 && y != 0 { // it may be subnormal, so rounded
		y = math.Nextafter(y, math.Inf(-1))
	}
	return y
}

// Tolerance is the relative slack of the one predicate x ≤ b·(1+Tolerance) that
// decides balance, hotness and what fits.
const Tolerance = 1e-9

// AtMost returns the greatest integer that counts as ≤ b.
func AtMost(b float64) int64 {
	v := b * (1 + Tolerance)
	if v >= math.MaxInt64/2 {
		return math.MaxInt64 / 2
	}
	return int64(v)
}

// AtLeast returns the least integer that counts as ≥ b, for b ≥ 0.
func AtLeast(b float64) int64 {
	v := math.Ceil(b * (1 - Tolerance))
	if v >= math.MaxInt64/2 {
		return math.MaxInt64 / 2
	}
	return int64(v)
}
