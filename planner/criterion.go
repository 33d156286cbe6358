package planner

import (
	"math"

	"plannerd/planner/internal/assign"
)

// criterion is ψ: which key to take off an instance first.
type criterion struct {
	// rank makes the ranks of the items of a problem, the first one least. Items of
	// equal rank are in canonical key order.
	rank func(p *assign.Problem) func(item int32) uint64
	// byCost: the order is that of descending cost, in which candidates are placed.
	byCost bool
}

// highestCost is ψ of llfd and mintable.
var highestCost = criterion{byCost: true, rank: func(p *assign.Problem) func(int32) uint64 {
	sizes, _ := sizesOf(p)
	return func(item int32) uint64 { return assign.Descending(sizes[item]) }
}}

// largestGamma is ψ of minmig and mixed: γ(k) = c(k)^β / S(k), the migration
// priority index of mixed-routing §III-B.
func largestGamma(o Options) criterion {
	return criterion{rank: func(p *assign.Problem) func(int32) uint64 { return gammaRank(p, o.beta()) }}
}

// sizesOf are the costs of items, or of several resources their sizes, with what brings them into [0,1].
func sizesOf(p *assign.Problem) (sizes []float64, unit float64) {
	if p.Size != nil {
		return p.Size, 1
	}
	return p.Items.Cost, p.UnitCost
}

// gammaRank scales costs and states first, so that γ overflows only where the
// greatest is 10^300 times the least.
func gammaRank(p *assign.Problem, beta float64) func(item int32) uint64 {
	power := simplePower(beta)
	if power == nil {
		return logGammaRank(p, beta)
	}
	sizes, unit := sizesOf(p)
	return func(item int32) uint64 {
		c, s := sizes[item]*unit, p.Items.StateOf(int(item))*p.UnitState
		switch {
		case sizes[item] == 0:
			return assign.Descending(0)
		case s == 0:
			return assign.Descending(math.Inf(1))
		}
		// A γ that underflows still precedes that of no cost.
		return assign.Descending(max(power(c)/s, math.SmallestNonzeroFloat64))
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

// logGammaRank ranks by log γ = β·log c − log S.
func logGammaRank(p *assign.Problem, beta float64) func(item int32) uint64 {
	sizes, _ := sizesOf(p)
	return func(item int32) uint64 {
		c, s := sizes[item], p.Items.StateOf(int(item))
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
		return assign.Descending(gamma) &^ (1 << 63)
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
