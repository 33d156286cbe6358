package planner_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/internal/lab/deep"
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
			for n := 0; n < 4 && !cut; n++ {
				c := plannertest.Medium(r, 100, 4)
				for budget := int64(1); budget < 1<<22 && !cut; budget *= 4 {
					p, err := info.Plan(c.Snapshot(), planner.Options{
						TableLimit: new(int64), WorkBudget: budget, Effort: planner.EffortFast,
						Certificate: planner.CertificateOff,
					})
					if err != nil && !errors.Is(err, planner.ErrStopped) {
						t.Fatal(err)
					}
					cut = err == nil && p.EndReason == planner.EndWorkBudget
				}
			}
			if cut != info.Anytime {
				t.Errorf("has a plan when cut short: %v, registered: %v", cut, info.Anytime)
			}
		})
	}
}

// More effort gives better plans of optimal; the default is normal. Where the gap is
// closed already, it does nothing more.
func TestEffort(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(93, 93))
	efforts := []planner.Effort{planner.EffortFast, planner.EffortNormal, planner.EffortThorough}
	better, closed := [2]int{}, 0
	for n := range deep.Count(6, 8) {
		c := plannertest.Medium(r, 150, 6)
		var plans []*planner.Plan
		tried := efforts
		if n == 0 {
			tried = append(tried[:3:3], "")
		}
		for _, effort := range tried {
			o := c.Options
			o.Effort, o.Certificate = effort, planner.CertificateFast
			p, err := planner.Run(planner.Optimal, c.Snapshot(), o)
			if err != nil {
				t.Fatal(err)
			}
			plans = append(plans, p)
		}
		for i := range better {
			switch less, more := plans[i], plans[i+1]; {
			case planner.Better(less, more):
				better[i]--
			case planner.Better(more, less):
				better[i]++
			}
		}
		if g := plans[0].Certificate.Gap; g != nil && *g == 0 {
			closed++
			if plans[2].WorkUnits != plans[0].WorkUnits {
				t.Errorf("thorough does %d work units on a proven plan, fast %d", plans[2].WorkUnits, plans[0].WorkUnits)
			}
		}
		if n == 0 && !plannertest.AssignmentOf(plans[3]).Equal(plannertest.AssignmentOf(plans[1])) {
			t.Error("the default is not normal")
		}
	}
	if slices.Min(better[:]) <= 0 || closed == 0 {
		t.Errorf("better than worse in %v more cases, closed in %d", better, closed)
	}
	var input *planner.InputError
	_, err := planner.Run(planner.Optimal, plannertest.Tiny(r).Snapshot(), planner.Options{Effort: "slow"})
	if !errors.As(err, &input) || input.Field != "Effort" {
		t.Errorf("%v, want a word on the effort", err)
	}
}
