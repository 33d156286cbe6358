package planner_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// TestDominatingCost: one key far costlier than all others together does not
// make their loads vanish.
func TestDominatingCost(t *testing.T) {
	const light = 200_000
	s := zipfSnapshot(light+1, 64)
	for i := range s.Cost {
		s.Cost[i], s.Current[i], s.Hash[i] = 1, 0, 0
	}
	s.Cost[light], s.Current[light], s.Hash[light] = 1e14, 1, 1
	plan, err := planner.Inspect(s, planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := plan.Instances[0].Before; got != light {
		t.Errorf("the load of %d keys of cost 1 beside one of 1e14 is %v", light, got)
	}
}

// TestScaledCosts: costs in another unit give the same plan, however large or
// small.
func TestScaledCosts(t *testing.T) {
	for _, strategy := range names() {
		beta := 0.7
		for name, o := range map[string]planner.Options{"default": {ThetaMax: 0.08},
			"beta=0.7": {ThetaMax: 0.08, Beta: &beta}} {
			s := zipfSnapshot(2000, 7)
			want := run(t, strategy, s, o)
			for _, exponent := range []int{-900, -3, 900} {
				scaled := *s
				scaled.Cost = slices.Clone(s.Cost)
				for i := range scaled.Cost {
					scaled.Cost[i] = math.Ldexp(s.Cost[i], exponent)
				}
				if got := run(t, strategy, &scaled, o); !sameMoves(got, want) {
					t.Errorf("%s, %s: costs scaled by 2^%d give %d moves instead of %d", strategy, name, exponent, len(got.Moves),
						len(want.Moves))
				}
			}
		}
	}
}

// TestNegativeZero: −0 is no cost.
func TestNegativeZero(t *testing.T) {
	s := zipfSnapshot(200, 3)
	for i := range 50 {
		s.Cost[i] = 0
	}
	for _, strategy := range names() {
		want := run(t, strategy, s, planner.Options{ThetaMax: 0.01})
		negative := *s
		negative.Cost = slices.Clone(s.Cost)
		for i := range 50 {
			negative.Cost[i] = math.Copysign(0, -1)
		}
		if !sameMoves(run(t, strategy, &negative, planner.Options{ThetaMax: 0.01}), want) {
			t.Errorf("%s: −0 gives another plan than 0", strategy)
		}
	}
}

// TestStopIsAsked: a strategy that has a lot to do asks whether to stop, even if
// it places nothing: here only the table is over its limit.
func TestStopIsAsked(t *testing.T) {
	s := zipfSnapshot(20_000, 4)
	for i := range s.Current {
		s.Cost[i] = 1
		s.Current[i], s.Hash[i] = int32(i%4), int32((i+1)%4)
	}
	limit, asked := int64(0), 0
	plan, err := planner.Run(planner.MixedBruteForce, s, planner.Options{ThetaMax: 0.08, TableLimit: &limit,
		Stop: func() bool { asked++; return asked > 2 }})
	if err != nil {
		t.Fatal(err)
	}
	if plan.EndReason != planner.EndStopped {
		t.Errorf("ended %s after asking %d times", plan.EndReason, asked)
	}
}

// TestManyHotKeys: with fewer keys than instances, every key is hot.
func TestManyHotKeys(t *testing.T) {
	instances := deep.Count(300, 3000)
	s := zipfSnapshot(instances, 2*instances)
	for i := range s.Cost {
		s.Cost[i] = float64(1 + i%3)
		s.Instances[i].Capacity = float64(1 + i%2)
	}
	o := planner.Options{ThetaMax: 0.08}
	for _, strategy := range []string{planner.Mixed, planner.LPT} {
		if err := plannertest.Check(s, o, run(t, strategy, s, o)); err != nil {
			t.Errorf("%s: %v", strategy, err)
		}
	}
}

func TestRunWithoutInstances(t *testing.T) {
	for _, strategy := range names() {
		if plan, err := planner.Run(strategy, &planner.Snapshot{Keys: planner.KeysOf()}, planner.Options{}); err == nil {
			t.Errorf("%s: %v", strategy, plan)
		}
	}
}

// TestAnyBetaRanksAlike: an exponent that needs logarithms orders keys as its
// neighbours that do not.
func TestAnyBetaRanksAlike(t *testing.T) {
	s := zipfSnapshot(5000, 9)
	for _, beta := range []float64{0.5, 1.5, 2} { // under 1, all keys of this workload are alike
		near := math.Nextafter(beta, 3)
		a := run(t, planner.MinMig, s, planner.Options{ThetaMax: 0.05, Beta: &beta})
		b := run(t, planner.MinMig, s, planner.Options{ThetaMax: 0.05, Beta: &near})
		if !sameMoves(a, b) {
			t.Errorf("β = %v and the next number give %s and %s", beta, describe(a), describe(b))
		}
	}
}

func describe(p *planner.Plan) string {
	return fmt.Sprintf("%d moves of state %v", len(p.Moves), p.Migration.State)
}
