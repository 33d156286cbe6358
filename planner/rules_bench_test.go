package planner_test

import (
	"fmt"
	"slices"
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

// BenchmarkUnmetRules plans 20 000 keys of 16 tenants under a rule for each, where one key is hot: without the
// certificate, with it, and where three great keys do not fit on two instances.
func BenchmarkUnmetRules(b *testing.B) {
	for _, c := range []struct {
		name      string
		own, keys int // instances of a tenant, and how many keys are hot
		level     planner.CertificateLevel
	}{
		{"plan", 4, 1, planner.CertificateOff}, {"hot", 4, 1, ""}, {"pools", 2, 1, ""}, {"crowded", 2, 3, ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := tenants(b, c.own, c.keys)
			for b.Loop() {
				p, err := planner.Run(planner.Optimal, s, planner.Options{ThetaMax: 0.1, Certificate: c.level})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(p.HotKeys)), "hot")
				if p.Certificate != nil {
					b.ReportMetric(float64(len(p.Certificate.Unmet)), "unmet")
				}
			}
		})
	}
}

// tenants are 20 000 keys of 16 tenants on 34 instances. Each tenant may be on some of its own; where those
// are two, nobody else is there. Some keys of the first are great.
func tenants(b *testing.B, own, great int) *planner.Snapshot {
	stats := &planner.Statistics{Keys: planner.NewKeys(20_000)}
	for i := range 20_000 {
		stats.Keys.Append(fmt.Appendf(nil, "%02d/%d", i%16, i))
		stats.Cost = append(stats.Cost, 1+100/float64(1+i*7919%20_000))
	}
	for i := range great {
		stats.Cost[16*i] = 3000
	}
	nodes, instances := make([]partitioner.Instance, 34), make([]planner.Instance, 34)
	for i := range nodes {
		nodes[i].ID = int32(i)
		instances[i] = planner.Instance{ID: int32(i), Capacity: 1}
	}
	config := partitioner.Config{}
	for i := range 16 {
		rule := partitioner.Rule{Name: fmt.Sprint(i), Prefix: fmt.Sprintf("%02d/", i), Exclusive: own == 2}
		for k := range own {
			rule.On = append(rule.On, int32(min(2*i+k, 33)))
		}
		rule.On = slices.Compact(rule.On)
		config.Rules = append(config.Rules, rule)
	}
	hash, err := partitioner.New(config, nodes)
	if err != nil {
		b.Fatal(err)
	}
	target := planner.Configuration{Instances: instances, Hash: hash}
	if target.Placement, err = partitioner.NewPlacement(config, nodes); err != nil {
		b.Fatal(err)
	}
	s, err := planner.NewSnapshot(stats, target, planner.Base{Configuration: target})
	if err != nil {
		b.Fatal(err)
	}
	return s
}
