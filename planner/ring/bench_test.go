package ring

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"plannerd/planner"
)

// zipfCounts are the frequencies of keys 1…n under Zipf's law, about total together.
func zipfCounts(n int, z float64, total float64) ([]int64, *planner.Keys) {
	weights, sum := make([]float64, n), 0.0
	keys := planner.NewKeys(n)
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -z)
		sum += weights[i]
		keys.Append([]byte("user:" + strconv.Itoa(i)))
	}
	counts := make([]int64, n)
	for i, w := range weights {
		counts[i] = int64(math.Round(w / sum * total))
	}
	return counts, keys
}

func benchmarkLoad(n int) *planner.Statistics {
	counts, keys := zipfCounts(n, 0.85, 1e7)
	l := &planner.Statistics{Keys: keys, Cost: make([]float64, n), State: make([]float64, n)}
	rng := rand.New(rand.NewPCG(3, 4))
	for i, c := range counts {
		l.Cost[i], l.State[i] = float64(c), float64(1+rng.IntN(1000))
	}
	return l
}

func benchmarkMembers(n, tokens int) []Member {
	members := make([]Member, n)
	for i := range members {
		members[i] = Member{ID: int32(i), Tokens: tokens}
	}
	return members
}

func BenchmarkRebalance(b *testing.B) {
	for _, keys := range []int{10_000, 1_000_000} {
		load := benchmarkLoad(keys)
		for _, method := range []Method{Halving, Doubling, Fitted} {
			tokens := 128
			if method == Doubling {
				tokens = 1
			}
			b.Run("method="+string(method)+"/keys="+strconv.Itoa(keys)+"/nodes=16", func(b *testing.B) {
				b.ReportAllocs()
				var p *Rebalancing
				for b.Loop() {
					var err error
					p, err = Rebalance(benchmarkMembers(16, tokens), load,
						RebalanceOptions{Method: method, ThetaMax: 0.08, MaxRounds: 3})
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(p.Effect.Theta.Before, "theta-before")
				b.ReportMetric(p.Effect.Theta.After, "theta-after")
				b.ReportMetric(p.Effect.Fraction, "moved")
			})
		}
	}
}
