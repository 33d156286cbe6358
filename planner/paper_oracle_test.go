package planner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plannerd/internal/lab/workload"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/planner/plannertest"
)

// TestPaperDefaults runs mixed and mintable over drifting intervals of the
// defaults of mixed-routing Table II, each on the same input: what the operator
// runs on is what mixed decided. Mixed must not move more than mintable, and
// both must keep the bounds.
func TestPaperDefaults(t *testing.T) {
	t.Parallel()
	limit := int64(3000)
	o := planner.Options{ThetaMax: 0.08, TableLimit: &limit}
	var b strings.Builder
	for seed := uint64(1); seed <= 3; seed++ {
		g, config, current := paperWorkload(t, 5000*(1+int(seed%2)), 15, seed)
		var base planner.Base
		base.Configuration = config
		for interval := range 5 {
			stats, err := g.Next(current)
			if errors.Is(err, workload.ErrUnreachable) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			stats.Instance = current
			s, err := planner.NewSnapshot(stats, config, base)
			if err != nil {
				t.Fatal(err)
			}
			mixed, mintable := run(t, planner.Mixed, s, o), run(t, planner.MinTable, s, o)
			for _, p := range []*planner.Plan{mixed, mintable} {
				if err := plannertest.Check(s, o, p); err != nil {
					t.Fatalf("seed %d, interval %d, %s: %v", seed, interval, p.Strategy, err)
				}
				if !p.TableWithinLimit {
					t.Errorf("seed %d, interval %d: %s needs %d entries", seed, interval, p.Strategy, p.TableAfter)
				}
			}
			fmt.Fprintf(&b, "K=%d seed %d interval %d: mixed %.2f %% (table %d), mintable %.2f %% (table %d)\n", s.Len(),
				seed, interval,
				100*mixed.Migration.Fraction, mixed.TableAfter, 100*mintable.Migration.Fraction, mintable.TableAfter)
			if mixed.Migration.State > mintable.Migration.State {
				t.Errorf("seed %d, interval %d: mixed moves %v, mintable %v", seed, interval, mixed.Migration.State,
					mintable.Migration.State)
			}
			for _, m := range mixed.Moves {
				current[m.Item] = m.To
			}
		}
	}
	t.Log("\n" + b.String())
}

func paperWorkload(t *testing.T, keys, instances int, seed uint64) (*workload.Generator,
	planner.Configuration, []int32) {
	t.Helper()
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
	g, err := workload.New(workload.Config{Keys: keys, Instances: instances, Z: 0.85, Fluctuation: 1,
		Window: 5, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	current, err := g.Assign(hash)
	if err != nil {
		t.Fatal(err)
	}
	return g, config, current
}
