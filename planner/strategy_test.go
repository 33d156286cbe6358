package planner_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// Who knows another objective takes one, and who does not says who does.
func TestObjectives(t *testing.T) {
	t.Parallel()
	c := plannertest.Medium(rand.New(rand.NewPCG(91, 91)), 60, 3)
	for _, info := range planner.Strategies() {
		_, err := info.Plan(c.Snapshot(), planner.Options{
			Objective: planner.MinImbalance, MigrationLimit: &planner.MigrationLimit{Unit: planner.MigrationFraction,
				Amount: 0.1},
		})
		var input *planner.InputError
		switch {
		case info.Knows(planner.MinImbalance) && err != nil:
			t.Errorf("%s: %v", info.Name, err)
		case !info.Knows(planner.MinImbalance) && (!errors.As(err, &input) || input.Field != "Objective"):
			t.Errorf("%s: %v, want a word on the objective", info.Name, err)
		}
	}
}

// Only an anytime strategy has a plan when a work budget cuts it short.
func TestAnytime(t *testing.T) {
	t.Parallel()
	for _, info := range planner.Strategies() {
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(92, 92))
			cut := false
			for range 10 {
				c := plannertest.Medium(r, 100, 4)
				for budget := int64(1); budget < 1<<22; budget *= 4 {
					p, err := info.Plan(c.Snapshot(), planner.Options{TableLimit: new(int64), WorkBudget: budget})
					if err != nil && !errors.Is(err, planner.ErrStopped) {
						t.Fatal(err)
					}
					cut = cut || err == nil && p.EndReason == planner.EndWorkBudget
				}
			}
			if cut != info.Anytime {
				t.Errorf("has a plan when cut short: %v, registered: %v", cut, info.Anytime)
			}
		})
	}
}
