package planner

import "math"

// criterion is ψ: which key to take off an instance first. It returns the rank
// of an item; items of equal rank are in canonical key order.
type criterion func(p *problem) func(item int32) uint64

// highestCost is ψ of llfd and mintable.
func highestCost(p *problem) func(int32) uint64 {
	return func(item int32) uint64 { return descending(p.s.Cost[item]) }
}

// largestGamma is ψ of minmig and mixed: γ(k) = c(k)^β / S(k), the migration
// priority index of mixed-routing §III-B. Costs and states are scaled first, so
// that γ overflows only where the greatest is 10^300 times the least.
func largestGamma(p *problem) func(int32) uint64 {
	power := simplePower(p.o.beta())
	if power == nil {
		return largestLogGamma(p)
	}
	return func(item int32) uint64 {
		c, s := p.s.Cost[item]*p.unitCost, p.s.state(int(item))*p.unitState
		switch {
		case p.s.Cost[item] == 0:
			return descending(0)
		case s == 0:
			return descending(math.Inf(1))
		}
		// A γ that underflows still precedes that of no cost.
		return descending(max(power(c)/s, math.SmallestNonzeroFloat64))
	}
}

// simplePower returns x ↦ x^β where that takes no logarithm, as for the default;
// else nil.
func simplePower(beta float64) func(float64) float64 {
	switch beta {
	case 0:
		return func(float64) float64 { return 1 }
	case 0.5:
		return math.Sqrt
	case 1:
		return func(x float64) float64 { return x }
	case 1.5:
		return func(x float64) float64 { return x * math.Sqrt(x) }
	case 2:
		return func(x float64) float64 { return x * x }
	}
	return nil
}

// largestLogGamma ranks by log γ = β·log c − log S.
func largestLogGamma(p *problem) func(int32) uint64 {
	beta := p.o.beta()
	return func(item int32) uint64 {
		c, s := p.s.Cost[item], p.s.state(int(item))
		switch {
		case c == 0:
			return math.MaxUint64
		case s == 0:
			return 0
		}
		gamma := float64(beta*log2(c)) - log2(s)
		if gamma < 0 {
			return math.Float64bits(gamma) // a greater magnitude comes later
		}
		return descending(gamma) &^ (1 << 63)
	}
}

// log2 is the binary logarithm of x > 0. It gives the same bits on every
// machine, unlike math.Log2: it rounds after each operation, so that none are
// fused.
func log2(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	// log m = 2·artanh((m−1)/(m+1)), |argument| ≤ 0.172
	s := (m - 1) / (m + 1)
	square, sum := float64(s*s), 0.0
	for k := 21; k >= 1; k -= 2 {
		sum = float64(sum*square) + 1/float64(k)
	}
	return float64(e) + float64(2*math.Log2E*float64(s*sum))
}

// evenScale is the power of four that brings x, and all below, into [0,1].
func evenScale(x float64) float64 {
	if x == 0 {
		return 1
	}
	_, e := math.Frexp(x)
	e += e & 1
	return math.Ldexp(1, -max(min(e, 1000), -1000))
}
