package policy_test

import (
	"errors"
	"testing"

	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/policy"
)

// situation is two instances, of which the first has loads a and b, and the second c; the
// state of each key is its cost.
func situation(t *testing.T, history [][3]float64) policy.Situation {
	t.Helper()
	state, err := forecast.New(forecast.Config{Method: forecast.EWMA, Alpha: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	var f *forecast.Forecast
	for _, costs := range history {
		stats := &planner.Statistics{Keys: planner.KeysOf("a", "b", "c"), Cost: costs[:], Instance: []int32{0, 0, 1},
			State: []float64{5, 3, 2}, HashInstance: []int32{0, 0, 1}}
		if f, err = state.Observe(stats); err != nil {
			t.Fatal(err)
		}
	}
	live := []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}}
	s, err := planner.NewSnapshot(f.Statistics, planner.Configuration{Instances: live}, planner.Base{})
	if err != nil {
		t.Fatal(err)
	}
	return policy.Situation{Snapshot: s, Forecast: f}
}

func steady(n int) (history [][3]float64) {
	for i := range n {
		wave := float64(i % 2)
		history = append(history, [3]float64{50 + wave, 30 - wave, 20})
	}
	return history
}

// TestDecide: the loads to expect are 80 and 20; moving b makes them 50 and 50.
func TestDecide(t *testing.T) {
	ewma := forecast.Config{Method: forecast.EWMA, Alpha: 0.5}
	type pol = policy.Policy
	type trigger = policy.Trigger
	above := func(theta float64) trigger { return trigger{Theta: &theta} }
	likely := func(p float64) trigger { return trigger{Probability: &p} }
	for name, c := range map[string]struct {
		policy    pol
		intervals int
		since     int
		thetaMax  float64
		reason    policy.Reason
		moves     int
	}{
		"plain":                    {pol{}, 1, 0, 0.1, policy.Planned, 1},
		"within theta_max":         {pol{}, 1, 0, 0.7, policy.Balanced, 0},
		"target":                   {pol{TargetTheta: new(0.1)}, 1, 0, 0.7, policy.Planned, 1},
		"target above theta_max":   {pol{TargetTheta: new(2.)}, 1, 0, 0.1, policy.Planned, 1},
		"trigger":                  {pol{TargetTheta: new(0.1), Trigger: above(0.65)}, 1, 0, 0.5, policy.Balanced, 0},
		"beyond the trigger":       {pol{TargetTheta: new(0.1), Trigger: above(0.55)}, 1, 0, 0.5, policy.Planned, 1},
		"nothing predicted":        {pol{Trigger: likely(1.)}, 2, 0, 0.1, policy.Planned, 1},
		"probable":                 {pol{Trigger: likely(0.9)}, 9, 0, 0.1, policy.Planned, 1},
		"improbable":               {pol{TargetTheta: new(0.1), Trigger: likely(0.1)}, 9, 0, 0.9, policy.Improbable, 0},
		"cooldown":                 {pol{CooldownIntervals: 2}, 1, 2, 0.1, policy.Cooldown, 0},
		"cooldown over":            {pol{CooldownIntervals: 2}, 1, 3, 0.1, policy.Planned, 1},
		"no plan before":           {pol{CooldownIntervals: 2}, 1, 0, 0.1, policy.Planned, 1},
		"worth it":                 {pol{MinimumBenefit: 1}, 9, 0, 0.1, policy.Planned, 1},
		"not worth it":             {pol{MinimumBenefit: 3}, 9, 0, 0.1, policy.LittleWorth, 0},
		"enough budget":            {pol{Budget: new(0.3)}, 1, 0, 0.1, policy.Planned, 1},
		"not enough, nothing fits": {pol{Budget: new(0.2)}, 1, 0, 0.1, policy.Planned, 0},
	} {
		in := situation(t, steady(c.intervals))
		in.Since = c.since
		c.policy.Forecast = ewma
		if err := c.policy.Validate(); err != nil {
			t.Fatal(err)
		}
		d, err := c.policy.Decide(planner.Run, planner.Optimal, in, planner.Options{ThetaMax: c.thetaMax})
		if err != nil {
			t.Fatal(err)
		}
		if d.Reason != c.reason || len(d.Plan.Moves) != c.moves {
			t.Errorf("%s: %q and %d moves, want %q and %d", name, d.Reason, len(d.Plan.Moves), c.reason, c.moves)
		}
		if known := c.intervals > forecast.LeastInnovations; known != (d.Without != nil) || known != (d.With != nil) {
			t.Errorf("%s: predicted %v and %v after %d intervals", name, d.Without, d.With, c.intervals)
		}
		if d.With != nil && (d.With.Expected < d.Without.Expected) != (c.moves > 0) {
			t.Errorf("%s: from %v to %v with %d moves", name, *d.Without, *d.With, c.moves)
		}
	}
}

// What has to be done is held back by nothing.
func TestMust(t *testing.T) {
	hold := policy.Policy{Forecast: forecast.Config{Method: forecast.EWMA}, CooldownIntervals: 9, MinimumBenefit: 1e9,
		Trigger: policy.Trigger{Theta: new(1e9)}}
	for name, c := range map[string]func(*policy.Situation, *planner.Options){
		"drained": func(in *policy.Situation, _ *planner.Options) { in.Snapshot.Instances[1].Drained = true },
		"hash":    func(in *policy.Situation, _ *planner.Options) { in.Snapshot.HashChanged = true },
		"fill": func(in *policy.Situation, o *planner.Options) {
			in.Snapshot.Instances[1].Filling, o.ThetaMax = true, 0.5 // it has 20 of 100
		},
		"least": func(_ *policy.Situation, o *planner.Options) {
			o.ThetaMin, o.ThetaMax = new(0.5), 0.7
		},
		"table": func(in *policy.Situation, o *planner.Options) {
			in.Snapshot.Hash = []int32{1, 0, 1}
			o.TableLimit = new(int64(0))
		},
	} {
		in := situation(t, steady(9))
		in.Since = 1
		o := planner.Options{ThetaMax: 0.1}
		c(&in, &o)
		d, err := hold.Decide(planner.Run, planner.Optimal, in, o)
		if err != nil || d.Reason != policy.Planned || len(d.Plan.Moves) == 0 {
			t.Errorf("%s: %q, %v", name, d.Reason, err)
		}
	}
}

func TestValidate(t *testing.T) {
	last := forecast.Config{Method: forecast.Last}
	for field, p := range map[string]policy.Policy{
		"Forecast.Method":     {},
		"TargetTheta":         {Forecast: last, TargetTheta: new(-1.)},
		"Trigger.Theta":       {Forecast: last, Trigger: policy.Trigger{Theta: new(-1.)}},
		"Trigger.Probability": {Forecast: last, Trigger: policy.Trigger{Probability: new(1.1)}},
		"CooldownIntervals":   {Forecast: last, CooldownIntervals: -1},
		"Budget":              {Forecast: last, Budget: new(2.)},
		"MinimumBenefit":      {Forecast: last, MinimumBenefit: -1},
	} {
		var input *planner.InputError
		if err := p.Validate(); !errors.As(err, &input) || input.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Targets are parts of θ_max that a person reads, of a tolerance of any size, and such
// policies are valid.
func TestGrid(t *testing.T) {
	grid := policy.Grid{Forecasts: []forecast.Config{{Method: forecast.Last}}, Targets: []float64{0.6, 0.3}}
	for thetaMax, want := range map[float64][2]float64{
		0: {0, 0}, 0.1: {0.06, 0.03}, 0.7: {0.42, 0.21}, 1e-10: {6e-11, 3e-11}, 5e200: {3e200, 1.5e200},
		1e300: {planner.MaxAmount, planner.MaxAmount},
	} {
		for i, p := range grid.Policies(thetaMax, 0) {
			if err := p.Validate(); err != nil || *p.TargetTheta != want[i] {
				t.Errorf("θ_max %v: target %v, want %v: %v", thetaMax, *p.TargetTheta, want[i], err)
			}
		}
	}
}
