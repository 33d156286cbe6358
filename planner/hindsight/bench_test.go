package hindsight_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"plannerd/planner"
	"plannerd/planner/hindsight"
)

// BenchmarkBracket encloses what any policy moves on 60 intervals and 8 instances: keys of
// Zipf's distribution, as noisy as independent messages, whose shares drift.
func BenchmarkBracket(b *testing.B) {
	for _, keys := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			h := noisy(keys, 60, 8)
			tables := make(hindsight.Tables, h.Len())
			caps := h.Absolute(0.08, nil, 3)
			b.ReportAllocs()
			for b.Loop() {
				got := h.Bracket(caps, tables, hindsight.DefaultEffort)
				b.ReportMetric(got.Bound, "bound")
				if got.Found != nil {
					b.ReportMetric(*got.Found, "found")
				}
			}
		})
	}
}

func noisy(keys, intervals, instances int) *hindsight.History {
	r := rand.New(rand.NewPCG(40, 40))
	c := planner.Configuration{}
	for d := range instances {
		c.Instances = append(c.Instances, planner.Instance{ID: int32(d), Capacity: 1})
	}
	mean := make([]float64, keys)
	for k := range mean {
		mean[k] = float64(keys) / 10 / math.Pow(float64(k+1), 0.85)
	}
	h := hindsight.NewHistory(c)
	for range intervals {
		s := &planner.Statistics{Keys: planner.NewKeys(keys)}
		for k := range mean {
			mean[k] *= math.Exp(0.05 * r.NormFloat64())
			cost := math.Floor(max(0, mean[k]+math.Sqrt(mean[k])*r.NormFloat64()+r.Float64()))
			s.Keys.Append(strconv.AppendInt(nil, int64(k), 10))
			s.Cost, s.State = append(s.Cost, cost), append(s.State, mean[k])
			s.HashInstance = append(s.HashInstance, int32(s.Keys.Hash(k)%uint64(instances)))
		}
		if err := h.Add(s); err != nil {
			panic(err)
		}
	}
	return h
}
