package grouping

import "math/bits"

// headChoices solves the constraints of D-Choices (see Stream.headKeys) for a
// head with these counts, in descending order, out of n messages. Where stop says so,
// which may be nil, it does not look any further.
func headChoices(counts []int64, n int64, workers, choices int, epsilon float64, stop func() bool) int {
	if len(counts) == 0 {
		return choices
	}
	c := constraints{workers: float64(workers), tailChoices: choices, slack: 1 + float64(epsilon*float64(workers))}
	var head int64
	for _, x := range counts {
		head += x
		c.upTo = append(c.upTo, float64(head)/float64(n))
	}
	c.tail = float64(n-head) / float64(n)
	hi, lo := bits.Mul64(uint64(counts[0]), uint64(workers))
	least, rest := bits.Div64(hi, lo, uint64(n))
	if rest > 0 {
		least++
	}
	for d := max(choices, int(least)); d < workers; d++ {
		if c.satisfied(d) || stop != nil && stop() {
			return d
		}
	}
	return workers
}

// constraints are in shares of all workers rather than their number: b/W.
// Products are rounded before they are added, so that no machine fuses the two.
type constraints struct {
	upTo        []float64 // Σ_{i≤h} p_i
	tail        float64
	workers     float64
	tailChoices int
	slack       float64 // 1 + ε·W
	violated    int     // the prefix that was violated last
}

func (c *constraints) satisfied(d int) bool {
	miss := power(1-1/c.workers, d) // (1−1/W)^d
	// What stood in the way of d−1 most often stands in that of d.
	if !c.holds(c.violated, d, miss) {
		return false
	}
	for h := range c.upTo {
		if !c.holds(h, d, miss) {
			c.violated = h
			return false
		}
	}
	return true
}

// holds looks at the h+1 heaviest keys.
func (c *constraints) holds(h, d int, miss float64) bool {
	inside, head := c.upTo[h], c.upTo[len(c.upTo)-1]
	b := 1 - power(miss, h+1)
	between := float64(power(b, d) * (head - inside))
	outside := float64(power(b, c.tailChoices) * c.tail)
	return inside+between+outside <= float64(b*c.slack)
}

// power is x^n by squaring, the same on every machine.
func power(x float64, n int) float64 {
	result := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = float64(result * x)
		}
		x = float64(x * x)
	}
	return result
}
