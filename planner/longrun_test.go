package planner_test

import (
	"errors"
	"math"
	"testing"

	"plannerd/internal/lab/workload"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// TestMinMigTableConverges reproduces mixed-routing Fig. 18: blind to the table,
// minmig ends with a key as likely on one instance as on any other, so that
// (N_D−1)/N_D of all keys have an entry.
func TestMinMigTableConverges(t *testing.T) {
	const keys, instances, adjustments = 500, 5, 2000
	var nodes []partitioner.Instance
	var config planner.Configuration
	for id := range int32(instances) {
		nodes = append(nodes, partitioner.Instance{ID: id})
		config.Instances = append(config.Instances, planner.Instance{ID: id, Capacity: 1})
	}
	hash, err := partitioner.New(partitioner.Config{Function: "modulo"}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	config.Hash = hash
	g, err := workload.New(workload.Config{Keys: keys, Instances: instances, Z: 0.85, Fluctuation: 0.5, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	current, err := g.Assign(hash)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []float64
	for range adjustments {
		stats, err := g.Next(current)
		if errors.Is(err, workload.ErrUnreachable) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		stats.Instance = current
		s, err := planner.NewSnapshot(stats, config, planner.Base{Configuration: config})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Run(planner.MinMig, s, planner.Options{ThetaMax: 0.02})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range plan.Moves {
			current[m.Item] = m.To
		}
		sizes = append(sizes, float64(plan.TableAfter))
	}
	mean := 0.0
	late := sizes[len(sizes)/2:]
	for _, x := range late {
		mean += x / float64(len(late))
	}
	want := float64(instances-1) / instances * keys
	t.Logf("table after 1, 10, 100 and %d adjustments: %.0f, %.0f, %.0f, %.0f; mean of the later half %.1f, "+
		"(N_D−1)/N_D·K = %.0f",
		len(sizes), sizes[0], sizes[9], sizes[99], sizes[len(sizes)-1], mean, want)
	if math.Abs(mean/want-1) > 0.05 {
		t.Errorf("the table has %.1f entries in the long run, want %.0f within 5 %%", mean, want)
	}
}
