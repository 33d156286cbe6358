package policy_test

import (
	"math"
	"testing"

	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/policy"
)

// taking is two instances with even costs, keys a and b on the first one, c and d on the second, of which a and b take
// so much more of a resource than 10 each. With a limit each instance has capacity of it. wave is by how
// much a takes now more, now less.
func taking(t *testing.T, of planner.Resource, capacity, more, wave float64) policy.Situation {
	t.Helper()
	state, err := forecast.New(forecast.Config{Method: forecast.EWMA, Alpha: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	state.Track([]planner.Resource{of})
	var f *forecast.Forecast
	for i := range 12 {
		x := wave * float64(i%2*2-1)
		stats := &planner.Statistics{
			Keys: planner.KeysOf("a", "b", "c", "d"), Cost: []float64{10, 10, 10, 10}, Instance: []int32{0, 0, 1, 1},
			HashInstance: []int32{0, 0, 1, 1}, State: []float64{1, 1, 1, 1},
			Costs: []planner.Amounts{{Name: of.Name, Rows: []float64{10 + more + x, 10 + more, 10, 10}}},
		}
		if f, err = state.Observe(stats); err != nil {
			t.Fatal(err)
		}
	}
	two := []planner.Instance{{ID: 0, Capacity: 1, Capacities: []float64{capacity}},
		{ID: 1, Capacity: 1, Capacities: []float64{capacity}}}
	s, err := planner.NewSnapshot(f.Statistics, planner.Configuration{Instances: two, Resources: []planner.Resource{of}},
		planner.Base{})
	if err != nil {
		t.Fatal(err)
	}
	return policy.Situation{Snapshot: s, Forecast: f}
}

// TestDecideOnResources: a bound of a resource that is likely to be broken leads to a plan, one that is not does not; a
// tolerance waits as θ does, and a limit that is broken for nothing.
func TestDecideOnResources(t *testing.T) {
	type pol = policy.Policy
	network, memory := planner.Resource{Name: "network", ThetaMax: 0.2}, planner.Resource{Name: "memory", Limited: true}
	likely := policy.Trigger{Probability: new(0.1)}
	for name, c := range map[string]struct {
		of                   planner.Resource
		capacity, more, wave float64
		policy               policy.Policy
		reason               policy.Reason
		moves                bool
	}{
		"within":           {network, 1, 1, 0, pol{Trigger: likely, TargetTheta: new(0.05)}, policy.Balanced, false},
		"above":            {network, 1, 10, 0, pol{Trigger: likely, TargetTheta: new(0.05)}, policy.Planned, true},
		"about to be":      {network, 1, 4, 4, pol{Trigger: likely, TargetTheta: new(0.05)}, policy.Planned, true},
		"above its target": {network, 1, 3, 0.1, pol{Trigger: likely, TargetTheta: new(0.05)}, policy.Improbable, false},
		"cooldown":         {network, 1, 10, 0, pol{CooldownIntervals: 3}, policy.Cooldown, false},
		"little gain":      {network, 1, 10, 0, pol{MinimumBenefit: 1e6}, policy.LittleWorth, false},
		"room":             {memory, 40, 5, 0, pol{Trigger: likely, TargetTheta: new(0.05)}, policy.Balanced, false},
		"full": {memory, 28, 5, 0, pol{CooldownIntervals: 3, MinimumBenefit: 1e6, Trigger: likely}, policy.Planned,
			true},
		"nearly full":      {memory, 31, 5, 4, pol{TargetTheta: new(0.), Trigger: likely}, policy.Planned, true},
		"too full to even": {memory, 20.2, 0, 0, pol{TargetTheta: new(0.), Trigger: likely}, policy.Balanced, false},
	} {
		in := taking(t, c.of, c.capacity, c.more, c.wave)
		in.Since = 1
		c.policy.Forecast = forecast.Config{Method: forecast.EWMA, Alpha: 0.5}
		d, err := c.policy.Decide(planner.Run, planner.Optimal, in, planner.Options{ThetaMax: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		if d.Reason != c.reason || len(d.Plan.Moves) > 0 != c.moves || d.With == nil {
			t.Errorf("%s: %q and %d moves, %+v, want %q", name, d.Reason, len(d.Plan.Moves), d.Without, c.reason)
		}
		x, held := d.Plan.Resources[0], c.reason == policy.Cooldown || c.reason == policy.LittleWorth
		if d.Plan.Snapshot != in.Snapshot || x.Balanced == held || d.Plan.Balanced == held ||
			math.Abs(x.Level.Before-d.Without.Resources[1].Expected) > 1e-6 ||
			math.Abs(x.Level.After-d.With.Resources[1].Expected) > 1e-6 {
			t.Errorf("%s: %+v, expected %+v and %+v", name, x, d.Without.Resources, d.With.Resources)
		}
		for _, y := range x.Instances {
			want := map[bool]float64{true: c.capacity, false: 1.2 * y.Fair}[c.of.Limited]
			if math.Abs(y.Max-want) > 1e-9 {
				t.Errorf("%s: at most %v, want %v", name, y.Max, want)
			}
		}
		if d.With.Excess > d.Without.Excess || c.moves && d.With.Probability >= d.Without.Probability {
			t.Errorf("%s: from %+v to %+v", name, d.Without, d.With)
		}
	}
}

// TestHeldAgainstCapacity: what a plan for a part of a capacity says is about all of it.
func TestHeldAgainstCapacity(t *testing.T) {
	in := taking(t, planner.Resource{Name: "memory", Limited: true}, 33, 12, 0) // 22, 22, 10 and 10
	tight := *in.Snapshot
	tight.Instances = []planner.Instance{{ID: 0, Capacity: 1, Capacities: []float64{31}, ResidualAmounts: []float64{0}},
		{ID: 1, Capacity: 1, Capacities: []float64{31}, ResidualAmounts: []float64{0}}}
	made, err := planner.Run(planner.Optimal, &tight, planner.Options{ThetaMax: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	held := made.HeldAgainst(in.Snapshot, 0.1)
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
	if x := held.Resources[0]; !x.Balanced || !held.Balanced || made.Balanced || x.Instances[0].Max != 33 ||
		!near(x.Level.Before, 44./33) || !near(x.Level.After, 32./33) || !near(made.Resources[0].Level.After, 32./31) {
		t.Errorf("%+v, made as %+v", x, made.Resources[0])
	}
	u := held.Certificate.Unmet
	if len(u) != 1 || u[0].Resource != "memory" || !near(u[0].Limit, 31./33) || !near(u[0].AtLeast, 32./33) ||
		!near(made.Certificate.Unmet[0].AtLeast, 32./31) {
		t.Errorf("%+v, made as %+v", u, made.Certificate.Unmet)
	}
}
