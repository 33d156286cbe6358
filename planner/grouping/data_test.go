package grouping

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"plannerd/internal/lab/streams"
)

// scale is the size of the experiments as a part of the paper's, with 20 seeds and
// on all streams, when PLANNERD_GROUPING says it: 1 takes hours, 0.1 half of one.
var scale, scaled = func() (float64, bool) {
	if x, err := strconv.ParseFloat(os.Getenv("PLANNERD_GROUPING"), 64); err == nil {
		return x, true
	}
	return 0.01, false
}()

// sequence is a stream with an order, by its name.
type sequence struct {
	name string
	*Stream
}

// sequences are the streams with an order that are not made for one experiment: the
// own ones, and those recorded beside the project, if any.
var sequences = sync.OnceValues(func() (all []sequence, err error) {
	sources, err := streams.Sequences()
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		keys, messages, err := source.Read()
		if err != nil {
			return nil, err
		}
		s, err := NewStream(keys, messages)
		if err != nil {
			return nil, err
		}
		all = append(all, sequence{source.Name, s})
	}
	return all, nil
})

// logNormal is a stream of m draws of exp(μ + σ·N(0,1)), the key being the draw
// rounded to a whole number: so LN1 and LN2 of partial-key-grouping have the p1 of
// its Table 1.
func logNormal(t *testing.T, mu, sigma float64, m int, seed uint64) *Stream {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	numbers := map[float64]int32{}
	sample := make([]int32, m)
	for i := range sample {
		x := math.Round(math.Exp(mu + sigma*rng.NormFloat64()))
		n, ok := numbers[x]
		if !ok {
			n = int32(len(numbers))
			numbers[x] = n
		}
		sample[i] = n
	}
	s, err := NewStream(numbered(len(numbers)), sample)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
