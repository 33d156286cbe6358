package grouping

import (
	"math"
	"math/bits"

	"plannerd/planner"
)

// Weights turns costs ≥ 0 of keys into frequencies. Whole numbers that make a
// stream of their own are kept. Others become whole numbers in proportion, for
// [Independent] draws: as large as an urn can hold, none of a cost above 0 being
// 0. The error is a [planner.InputError].
func Weights(cost []float64) ([]int64, error) {
	greatest, whole, sum := 0.0, true, 0.0
	for k, c := range cost {
		if !(c >= 0 && c <= planner.MaxAmount) {
			return nil, planner.InvalidRow(k, "Cost", "must be ≥ 0 and finite")
		}
		greatest = max(greatest, c)
		whole = whole && c == math.Trunc(c)
		sum = min(sum+c, math.MaxFloat64)
	}
	weights := make([]int64, len(cost))
	if greatest == 0 {
		return weights, nil
	}
	shift := 0
	if !whole || sum > MaxMessages || sum > maxUrn/float64(len(cost)) {
		shift = urnShift(cost, greatest)
	}
	for k, c := range cost {
		if c > 0 {
			weights[k] = max(1, int64(math.Round(math.Ldexp(c, shift))))
		}
	}
	return weights, nil
}

// urnShift is the power of two by which costs are multiplied so that their sum
// times their number nearly fills an urn.
func urnShift(cost []float64, greatest float64) int {
	_, exponent := math.Frexp(greatest)
	sum := 0.0 // in units of 2^exponent, from ½ to the number of costs
	for _, c := range cost {
		sum += math.Ldexp(c, -exponent)
	}
	return 61 - bits.Len(uint(len(cost))) - bits.Len(uint(math.Ceil(sum))) - exponent
}
