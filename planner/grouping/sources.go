package grouping

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"plannerd/planner"
)

// sourceKeys is how many keys sources are grouped by in [Stream.WithSkewedSources].
const sourceKeys = 10_000

// MaxSourceSkew is the greatest skew of sources: beyond it all messages have one source key.
const MaxSourceSkew = 100

// WithSkewedSources returns the same stream with key grouping onto the sources
// (partial-key-grouping §6.2 Q3): each message has a source key of its own, drawn from
// 10 000 in proportion to r^−z for the rank r, and comes from the source that this key
// belongs to. Only for a stream with a given order. The seed decides the draws.
func (s *Stream) WithSkewedSources(z float64, seed uint64) (*Stream, error) {
	if !(z >= 0 && z <= MaxSourceSkew) {
		return nil, planner.Invalid("SourceSkew", "must be from 0 to "+strconv.Itoa(MaxSourceSkew))
	}
	keys := planner.NewKeys(sourceKeys)
	cumulative, sum := make([]float64, sourceKeys), 0.0
	for r := range cumulative {
		keys.Append(strconv.AppendInt([]byte("key:"), int64(r), 10))
		sum += math.Pow(float64(r+1), -z)
		cumulative[r] = sum
	}
	rng := rand.New(rand.NewPCG(seed, 8))
	of := make([]int32, len(s.sample))
	for i := range of {
		r, _ := slices.BinarySearch(cumulative, rng.Float64()*sum)
		of[i] = int32(min(r, sourceKeys-1))
	}
	return s.WithSourceKeys(keys, of)
}
