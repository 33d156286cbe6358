package planner_test

import (
	"math"
	"testing"

	"plannerd/planner"
)

// packedSnapshot has keys of these costs on the first of n instances.
func packedSnapshot(t *testing.T, n int32, costs ...float64) *planner.Snapshot {
	t.Helper()
	var c planner.Configuration
	for d := range n {
		c.Instances = append(c.Instances, planner.Instance{ID: d, Capacity: 1})
	}
	stats := &planner.Statistics{
		Keys: planner.NewKeys(len(costs)), Cost: costs, State: costs, HashInstance: make([]int32, len(costs)),
	}
	for i := range costs {
		stats.Keys.Append([]byte{'k', byte('a' + i)})
	}
	stats.Keys.HashAppended()
	s, err := planner.NewSnapshot(stats, c, planner.Base{Configuration: c})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPartsLast: a hot key in as few parts as can be leaves room for no more than one of
// three keys that fit whole; in parts that fill what these leave it leaves room for all.
func TestPartsLast(t *testing.T) {
	t.Parallel()
	for _, strategy := range names() {
		o := planner.Options{ThetaMax: 0.01, Splitting: &planner.Splitting{}}
		p := planOf(t, strategy, packedSnapshot(t, 3, 12, 6, 6, 6), o)
		if !p.Balanced || p.Merges() != 2 || len(p.Splits) != 1 {
			t.Errorf("%s: %v\n%s", strategy, p.Splits, p.Describe())
		}
		if c := p.Certificate; c.Infeasible || len(c.Unmet) > 0 {
			t.Errorf("%s: %+v", strategy, c)
		}
	}
}

// TestDoNotFitBeside: five keys above half of what an instance may carry do not fit on four
// of them, whichever parts the hot one has, and that is proven with the least θ.
func TestDoNotFitBeside(t *testing.T) {
	t.Parallel()
	s := packedSnapshot(t, 4, 135, 53, 53, 53, 53, 53)
	p := planOf(t, planner.Optimal, s, planner.Options{ThetaMax: 0.04, Splitting: &planner.Splitting{}})
	unmet := unmetOf(p)
	if c := p.Certificate; p.Balanced || !c.Infeasible || len(unmet) != 1 || math.Abs(unmet[0].AtLeast-0.06) > 1e-5 {
		t.Errorf("%+v, want θ at least 0.06: %+v\n%s", unmet, c, p.Describe())
	}
	if p.Theta.After > 0.0601 {
		t.Errorf("θ %v, though 0.06 is possible", p.Theta.After)
	}
}
