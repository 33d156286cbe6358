package planner_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/planner"
)

// Amounts come from state, from the number of keys or from rows; of an instance that is removed no
// capacities count, which may be those of other resources.
func TestNewSnapshotFindsResources(t *testing.T) {
	t.Parallel()
	all := instances(3, 4)
	for i := range all {
		all[i].Capacities = []float64{10, 1, 2}
	}
	old := instances(3, 4, 9)
	old[2].Capacities = []float64{5}
	hash := lookup{"a": 3, "b": 4}
	stats := &planner.Statistics{
		Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 2}, State: []float64{7, 8},
		Costs: []planner.Amounts{
			{Name: "disk", Rows: []float64{1, 1}}, {Name: "network", Rows: []float64{0, 5}, Residual: []float64{3}},
		},
		Partial: true, Residual: []planner.Residual{{Instance: 4, Cost: 1, State: 2, Keys: 6}},
	}
	target := planner.Configuration{Instances: all, Hash: hash, Resources: []planner.Resource{
		{Name: "memory", From: planner.FromState, Limited: true}, {Name: "keys", From: planner.FromCount, ThetaMax: 1},
		{Name: "network"},
	}}
	base := planner.Base{Configuration: planner.Configuration{
		Instances: old, Hash: hash, Resources: []planner.Resource{{Name: "memory", Limited: true}},
	}}
	s, err := planner.NewSnapshot(stats, target, base)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]float64{{7, 8}, {1, 1}, {0, 5}}, s.Amounts); d != "" {
		t.Errorf("amounts: %s", d)
	}
	for i, want := range [][]float64{{0, 0, 0}, {2, 6, 3}, {0, 0, 0}} {
		if d := cmp.Diff(want, s.Instances[i].ResidualAmounts); d != "" {
			t.Errorf("residual amounts of instance %d: %s", s.Instances[i].ID, d)
		}
	}
	stats.Costs = stats.Costs[:1]
	_, err = planner.NewSnapshot(stats, target, base)
	var in *planner.InputError
	if !errors.As(err, &in) || in.Field != "Costs" {
		t.Errorf("without amounts of a resource: %v", err)
	}
}
