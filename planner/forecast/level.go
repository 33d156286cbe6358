package forecast

import "plannerd/planner/internal/assign"

// noise is what method level has learnt of the errors ε of a key with share x: their
// variance is about u·x + b·x². The first is the noise of an observation, which falls
// with the messages in an interval, the second is change. Two sums tell them apart:
// that of (ε/x)², which the small keys decide, and that of ε², which the great ones do.
// Older intervals count less.
type noise struct {
	relative float64 // Σ (ε/x)²/n² over n keys
	z, ones  float64 // Σ 1/(n²·x), Σ 1/n²
	square   float64 // Σ ε²
	x1, x2   float64 // Σ x, Σ x²
}

// fields are all sums, in the order in which they are encoded.
func (n *noise) fields() []*float64 {
	return []*float64{&n.relative, &n.z, &n.ones, &n.square, &n.x1, &n.x2}
}

const (
	// noiseMemory is by how much the sums of the intervals before are discounted.
	noiseMemory = 0.9
	// leastGain keeps keys from standing still.
	leastGain = 0.05
	// unknownGain is that of keys while nothing is known of noise.
	unknownGain = 0.5
	// leastShare is the part of the mean share below which keys say nothing of noise:
	// they may be gone.
	leastShare = 1. / 64
	// mostRelative bounds what one key counts for when it comes up from nearly nothing.
	mostRelative = 100
)

// learn takes in the errors of an interval.
func (n *noise) learn(level, share []float32) {
	keys := float64(len(level))
	var parts [assign.MostParts][6]sum
	assign.InParts(len(level), func(part, from, to int) {
		var sums [6]sum
		for id := from; id < to; id++ {
			x := float64(level[id])
			if share[id] < 0 || x*keys < leastShare {
				continue
			}
			e, z := float64(share[id]-level[id]), 1/(keys*x)
			relative := min(mostRelative, e/x*e/x) / keys / keys
			for i, v := range [6]float64{relative, z / keys, 1 / keys / keys, e * e, x, x * x} {
				sums[i].add(v)
			}
		}
		parts[part] = sums
	})
	for i, of := range n.fields() {
		all := sum{}
		for part := range parts {
			all.fixed += parts[part][i].fixed
		}
		*of = float64(*of*noiseMemory) + all.value()
	}
}

// gains returns the gain of a Kalman filter for a key by its share: the part of an error
// that is change.
func (n *noise) gains() func(x float64) float64 {
	det := float64(n.z*n.x2) - float64(n.ones*n.x1)
	u := max(0, float64(n.relative*n.x2)-float64(n.square*n.ones))
	b := max(0, float64(n.square*n.z)-float64(n.relative*n.x1))
	if det <= 0 || u+b == 0 {
		return func(float64) float64 { return unknownGain }
	}
	return func(x float64) float64 {
		if x == 0 {
			return unknownGain
		}
		return max(leastGain, b*x/(u+float64(b*x)))
	}
}
