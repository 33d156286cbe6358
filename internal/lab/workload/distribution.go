package workload

import (
	"math"

	"plannerd/planner"
)

// expected returns the expected frequency of each rank, in tuples. They sum to
// c.Tuples exactly: it is their running total that is rounded, so each is
// within one tuple of its expectation and so is every range of ranks.
func expected(c Config) ([]uint32, error) {
	weight := zipf(c)
	if c.Distribution == LogNormal {
		weight = logNormal(c)
	}
	total := 0.0
	for i, w := range weight {
		total += w
		weight[i] = total
	}
	if !(total > 0) {
		return nil, planner.Invalid("mu", "leaves no tuple to any of the keys")
	}
	frequency := make([]uint32, len(weight))
	var before int64
	for i, w := range weight {
		upTo := int64(math.Round(float64(c.Tuples) * (w / total)))
		frequency[i] = uint32(upTo - before)
		before = upTo
	}
	return frequency, nil
}

// zipf returns r^−z for the ranks r = 1…K.
func zipf(c Config) []float64 {
	weight := make([]float64, c.Keys)
	for i := range weight {
		weight[i] = math.Pow(float64(i+1), -c.Z)
	}
	return weight
}

// logNormal returns the probabilities that exp(μ + σ·N(0,1)) rounds to
// m = 0…K−1.
func logNormal(c Config) []float64 {
	weight := make([]float64, c.Keys)
	above := 1.0 // the probability of a draw above m−½
	for m := range weight {
		next := math.Erfc((math.Log(float64(m)+0.5)-c.Mu)/(c.Sigma*math.Sqrt2)) / 2
		weight[m] = above - next
		above = next
	}
	return weight
}
