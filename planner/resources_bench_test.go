package planner_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"plannerd/planner"
)

// BenchmarkResources plans a million keys on 40 instances that carry from 0.7 to 1.3 times an even share of all: by
// cost alone, with a limit of their state, and with a third resource that has a tolerance.
func BenchmarkResources(b *testing.B) {
	const keys, instances = 1_000_000, 40
	r := rand.New(rand.NewPCG(5, 5))
	stats := &planner.Statistics{Keys: planner.NewKeys(keys), Costs: []planner.Amounts{{Name: "network"}}}
	share, state := make([]float64, instances), 0.0
	for d := range share {
		share[d] = 0.7 + 0.6*r.Float64()
	}
	for i := range keys {
		stats.Keys.Append(fmt.Appendf(nil, "k%d", i))
		stats.Cost = append(stats.Cost, 1/(0.01+r.Float64()))
		stats.State = append(stats.State, 1+10*r.ExpFloat64())
		stats.Costs[0].Rows = append(stats.Costs[0].Rows, 1/(0.001+r.Float64()))
		state += stats.State[i]
		d := r.IntN(instances)
		for r.Float64() > share[d]/1.3 {
			d = r.IntN(instances)
		}
		stats.HashInstance = append(stats.HashInstance, int32(d))
	}
	all := []planner.Resource{{Name: "memory", From: planner.FromState, Limited: true}, {Name: "network", ThetaMax: 0.1}}
	for _, strategy := range []string{planner.Mixed, planner.Optimal} {
		for n := range len(all) + 1 {
			b.Run(fmt.Sprintf("%s/resources=%d", strategy, n+1), func(b *testing.B) {
				target := planner.Configuration{Resources: all[:n]}
				for d := range int32(instances) {
					target.Instances = append(target.Instances, planner.Instance{
						ID: d, Capacity: 1, Capacities: []float64{1.1 * state / instances, 1}[:n],
					})
				}
				s, err := planner.NewSnapshot(stats, target, planner.Base{Configuration: target})
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					p, err := planner.Run(strategy, s, planner.Options{ThetaMax: 0.08, Effort: planner.EffortFast})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(p.Migration.Keys), "moved")
				}
			})
		}
	}
}
