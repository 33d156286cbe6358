package job

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// zipf draws keys by Zipf's law, whose ranks change from time to time. All sources agree which
// keys are hot.
type zipf struct {
	shift, shifted time.Duration
	swaps          int
	own, shared    *rand.Rand // all sources agree which keys are hot
	cumulated      []float64
	ranks          []int
}

func newZipf(c config, source int) *zipf {
	z := &zipf{shift: c.shift, swaps: c.swaps, own: rand.New(rand.NewPCG(c.seed, uint64(source+1))),
		shared: rand.New(rand.NewPCG(c.seed, 0)), cumulated: make([]float64, c.keys)}
	sum := 0.0
	for i := range z.cumulated {
		sum += math.Pow(float64(i+1), -c.zipf)
		z.cumulated[i] = sum
	}
	z.ranks = z.shared.Perm(c.keys)
	return z
}

// next is the next key of a source, some time after the begin.
func (z *zipf) next(passed time.Duration) string {
	n := len(z.ranks)
	for ; z.shift > 0 && passed-z.shifted >= z.shift; z.shifted += z.shift {
		for range z.swaps { // some keys become what others were
			i, j := z.shared.IntN(n), z.shared.IntN(min(n, 20))
			z.ranks[i], z.ranks[j] = z.ranks[j], z.ranks[i]
		}
	}
	rank, _ := slices.BinarySearch(z.cumulated, z.own.Float64()*z.cumulated[n-1])
	return "word-" + strconv.Itoa(z.ranks[min(rank, n-1)])
}
