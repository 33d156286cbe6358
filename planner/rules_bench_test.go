package planner_test

import (
	"fmt"
	"testing"

	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// BenchmarkRules resolves and plans a million keys on 40 instances, without rules and with a
// thousand of them, each of which leaves keys of a prefix one of 20 sets of instances.
func BenchmarkRules(b *testing.B) {
	stats := &planner.Statistics{Keys: planner.NewKeys(1e6)}
	for i := range 1_000_000 {
		stats.Keys.Append(fmt.Appendf(nil, "%03d/%d", i%1500, i))
		stats.Cost = append(stats.Cost, 1e6/float64(1+i*7919%1_000_000))
	}
	nodes, instances := make([]partitioner.Instance, 40), make([]planner.Instance, 40)
	for i := range nodes {
		nodes[i].ID = int32(i)
		instances[i] = planner.Instance{ID: int32(i), Capacity: 1}
	}
	for _, n := range []int{0, 1000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			config := partitioner.Config{}
			for i := range n {
				rule := partitioner.Rule{Name: fmt.Sprint(i), Prefix: fmt.Sprintf("%03d/", i)}
				for id := range int32(40) {
					if (int(id)+i)%20 < 14 {
						rule.On = append(rule.On, id)
					}
				}
				config.Rules = append(config.Rules, rule)
			}
			hash, err := partitioner.New(config, nodes)
			if err != nil {
				b.Fatal(err)
			}
			target := planner.Configuration{Instances: instances, Hash: hash}
			if n > 0 {
				if target.Placement, err = partitioner.NewPlacement(config, nodes); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				s, err := planner.NewSnapshot(stats, target, planner.Base{Configuration: target})
				if err != nil {
					b.Fatal(err)
				}
				p, err := planner.Run(planner.Optimal, s, planner.Options{ThetaMax: 0.02, Effort: planner.EffortFast})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(100*p.Theta.After, "%theta")
				b.ReportMetric(float64(p.Migration.Keys), "moved")
			}
		})
	}
}
