package planner_test

import (
	"fmt"
	"testing"

	"plannerd/internal/lab/workload"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// BenchmarkScaleOut scales a running operator out from 15 to 16 instances on a ring, and
// fills the new one, or not. It reports what moves beside the least, and how far the new
// instance then is from its fair load.
func BenchmarkScaleOut(b *testing.B) {
	for _, keys := range []int{1e4, 1e5} {
		for _, fluctuation := range []float64{0.1, 1} {
			s := scaledOut(b, keys, fluctuation)
			for _, strategy := range []string{planner.Optimal, planner.Mixed, planner.MinTable, planner.LLFD} {
				for _, filling := range []bool{false, true} {
					b.Run(fmt.Sprintf("keys=%.0e/f=%v/strategy=%s/fill=%t", float64(keys), fluctuation, strategy, filling),
						func(b *testing.B) {
							s.Instances[15].Filling = filling
							scaleOut(b, strategy, s)
						})
				}
			}
		}
	}
}

func scaleOut(b *testing.B, strategy string, s *planner.Snapshot) {
	b.Helper()
	var plan *planner.Plan
	for b.Loop() {
		var err error
		if plan, err = planner.Run(strategy, s, planner.Options{ThetaMax: 0.08, Effort: planner.EffortFast}); err != nil {
			b.Fatal(err)
		}
	}
	y := plan.Instances[15]
	b.ReportMetric(100*plan.Migration.Fraction, "%moved")
	b.ReportMetric(plan.Migration.Objective/plan.Certificate.LowerBound, "×bound")
	b.ReportMetric(100*(y.After/y.Fair-1), "%off")
}

// scaledOut is the generated stream after some intervals on 15 instances, with a 16th.
func scaledOut(b *testing.B, keys int, fluctuation float64) *planner.Snapshot {
	b.Helper()
	g, err := workload.New(workload.Config{Keys: keys, Instances: 15, Z: 0.85, Fluctuation: fluctuation, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	before, after := ringOf(b, 15), ringOf(b, 16)
	current, err := g.Assign(before.Hash)
	if err != nil {
		b.Fatal(err)
	}
	for interval := 0; ; interval++ {
		stats, err := g.Next(current)
		if err != nil {
			b.Fatal(err)
		}
		stats.Instance = current
		target := before
		if interval == 5 {
			target = after
		}
		s, err := planner.NewSnapshot(stats, target, planner.Base{Configuration: before, HashChanged: interval == 5})
		if err != nil {
			b.Fatal(err)
		}
		if interval == 5 {
			return s
		}
		plan, err := planner.Run(planner.Optimal, s, planner.Options{ThetaMax: 0.08})
		if err != nil {
			b.Fatal(err)
		}
		for _, m := range plan.Moves {
			current[m.Item] = m.To
		}
	}
}

func ringOf(b *testing.B, instances int) planner.Configuration {
	b.Helper()
	var c planner.Configuration
	nodes := make([]partitioner.Instance, instances)
	for id := range nodes {
		nodes[id].ID = int32(id)
		c.Instances = append(c.Instances, planner.Instance{ID: int32(id), Capacity: 1})
	}
	var err error
	if c.Hash, err = partitioner.New(partitioner.Config{Function: partitioner.Ring}, nodes); err != nil {
		b.Fatal(err)
	}
	return c
}
