package forecast_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"plannerd/planner"
	"plannerd/planner/forecast"
)

// zipf is an interval of Zipf's distribution with z = 0.85, whose costs differ from those
// of other seeds by noise; a part of the keys is absent. Rows are shuffled where asked.
func zipf(keys int, seed uint64, absent float64, shuffled bool) *planner.Statistics {
	ranks := rand.New(rand.NewPCG(1, uint64(keys))).Perm(keys)
	r := rand.New(rand.NewPCG(seed, 0))
	rows := make([]int, keys)
	for i := range rows {
		rows[i] = i
	}
	if shuffled {
		rows = r.Perm(keys)
	}
	s := &planner.Statistics{Keys: planner.NewKeys(keys)}
	for _, i := range rows {
		if r.Float64() < absent {
			continue
		}
		mean := float64(keys) * math.Pow(float64(ranks[i]+1), -0.85)
		cost := math.Ceil(max(0, mean+math.Sqrt(mean)*r.NormFloat64()))
		s.Keys.Append(fmt.Appendf(nil, "key:%010d", i))
		s.Cost, s.State = append(s.Cost, cost), append(s.State, 64*cost)
	}
	return s
}

// BenchmarkObserve compares what a forecast takes with a plan of strategy mixed of the
// same keys.
func BenchmarkObserve(b *testing.B) {
	const keys, instances = 1e6, 40
	first := zipf(keys, 1, 0, false)
	var live []planner.Instance
	for d := range int32(instances) {
		live = append(live, planner.Instance{ID: d, Capacity: 1})
	}
	first.HashInstance = make([]int32, keys)
	for i := range first.HashInstance {
		first.HashInstance[i] = int32(first.Keys.Hash(i) % instances)
	}
	s, err := planner.NewSnapshot(first, planner.Configuration{Instances: live}, planner.Base{})
	if err != nil {
		b.Fatal(err)
	}
	first.HashInstance = nil
	b.Run("plan=mixed", func(b *testing.B) {
		for b.Loop() {
			if _, err := planner.Run(planner.Mixed, s, planner.Options{ThetaMax: 0.08}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, second := range map[string]*planner.Statistics{
		"same": zipf(keys, 2, 0, false), "absent": zipf(keys, 2, 0.1, false), "shuffled": zipf(keys, 2, 0, true),
	} {
		for _, c := range []forecast.Config{{Method: forecast.EWMA}, {Method: forecast.Level}, {Method: forecast.Combined}} {
			b.Run(fmt.Sprintf("forecast=%s/rows=%s", c.Method, name), func(b *testing.B) {
				state, err := forecast.New(c)
				if err != nil {
					b.Fatal(err)
				}
				for i := 0; b.Loop(); i++ {
					if _, err := state.Observe([]*planner.Statistics{first, second}[i%2]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
