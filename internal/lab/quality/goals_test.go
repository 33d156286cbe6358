package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// TestGoals: what a goal does worsens no earlier one. Keys are where rules let them be; the table does not
// grow beyond its limit for loads; no load is above its bound that was not when the goal of loads began.
func TestGoals(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	worked := 0
	for n := range 300 {
		nodes, target := make([]partitioner.Instance, 4), planner.Configuration{}
		for d := range nodes {
			nodes[d].ID = int32(d)
			target.Instances = append(target.Instances, planner.Instance{ID: int32(d), Capacity: 1 + r.Float64()})
		}
		z, err := drawZones(3, uint64(n), nodes)
		if err != nil {
			t.Fatal(err)
		}
		target.Hash, target.Placement = z, z
		stats := &planner.Statistics{Keys: planner.NewKeys(0)}
		for k := range 40 {
			stats.Keys.Append(fmt.Appendf(nil, "k%d", k))
			stats.Cost = append(stats.Cost, float64(r.IntN(30)))
			stats.State = append(stats.State, float64(r.IntN(9)))
			stats.Instance = append(stats.Instance, int32(r.IntN(4)))
		}
		s, err := planner.NewSnapshot(stats, target, planner.Base{Configuration: target})
		if err != nil {
			t.Fatal(err)
		}
		o := planner.Options{ThetaMax: 0.1, TableLimit: new(int64(10 + r.IntN(20)))}
		placed := newGreedy(s, o)
		placed.place()
		placed.shrink()
		for _, even := range []bool{false, true} {
			p, err := planByGoals(s, o, even)
			if err != nil {
				t.Fatal(err)
			}
			at := append([]int32(nil), s.Current...)
			for _, m := range p.Moves {
				at[m.Item] = m.To
			}
			for i, d := range at {
				if !s.Eligibility.MayBe(i, d) {
					t.Fatalf("case %d: key %d is on %d", n, i, d)
				}
			}
			if p.TableAfter > max(*o.TableLimit, placed.entries) {
				t.Fatalf("case %d: %d entries", n, p.TableAfter)
			}
			for d, x := range p.Instances {
				if x.After > x.Bound*(1+tolerance) && placed.loads[placed.now][d] <= placed.highs[0][d] {
					t.Fatalf("case %d: instance %d comes to %v of %v", n, d, x.After, x.Bound)
				}
			}
			if p.Balanced {
				worked++
			}
		}
	}
	if worked < 100 {
		t.Errorf("%d plans of 600 reach all goals", worked)
	}
}
