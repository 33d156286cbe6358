package planner_test

import (
	"fmt"
	"testing"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// The state of the lighter key is far below what fixed point can tell beside the heavier
// one's; rounded up, it proved more than the optimum.
func TestBoundOfStatesFarApart(t *testing.T) {
	c := plannertest.Case{
		Instances: []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}},
		Items: []plannertest.Item{
			{Key: "a", Count: 1, Cost: 1, State: 1.6e13, Entry: planner.NoInstance},
			{Key: "b", Count: 1, Cost: 1, State: 0.19, Entry: planner.NoInstance},
		},
	}
	for _, level := range []planner.CertificateLevel{planner.CertificateFast, planner.CertificateTight} {
		c.Options.Certificate = level
		p, err := planner.Run(planner.Optimal, c.Snapshot(), c.Options)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Moves) != 1 || p.Proven() > 0.19 || p.Proven() < 0.18 {
			t.Errorf("%s: %d moves, proven at least %v; the optimum is 0.19", level, len(p.Moves), p.Proven())
		}
	}
}

// Both plans leave the same load above the bound, summed up in another order.
func TestExcessesThatRoundingMakesDiffer(t *testing.T) {
	c := plannertest.Case{Instances: []planner.Instance{{ID: 1, Capacity: 0.1}, {ID: 4, Capacity: 0.5}}}
	for i, x := range [][4]float64{{11, 19, 1, 1}, {9, 3, 0, 0}, {2, 9, 0, 1}, {5, 17, 1, 1}} {
		c.Items = append(c.Items, plannertest.Item{
			Key: string(rune('a' + i)), Count: 1, Cost: x[0], State: x[1], Current: int32(x[2]), Hash: int32(x[3]),
			Entry: planner.NoInstance,
		})
	}
	c.Options.ThetaMax = 0.08
	best, err := planner.Run(planner.Optimal, c.Snapshot(), c.Options)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range planner.Strategies() {
		p, err := info.Plan(c.Snapshot(), c.Options)
		if err != nil {
			t.Fatal(err)
		}
		if planner.Better(p, best) {
			t.Errorf("%s moves %v, optimal %v", info.Name, p.Migration.Objective, best.Migration.Objective)
		}
	}
	if best.Migration.Objective != 3 {
		t.Errorf("optimal moves %v, want 3", best.Migration.Objective)
	}
}

// An entry that a key has anyway may be priced so high that rounding leaves nothing of
// its load beside that. Three keys have to have an entry; the best of such plans has
// 11 of 21 on the instance of a quarter of all capacity.
func TestUnmetWhereEntriesAreDear(t *testing.T) {
	c := plannertest.Case{
		NoState: true, Options: planner.Options{ThetaMax: 0.08, KeyOverhead: 1, TableLimit: new(int64(3))},
		Instances: []planner.Instance{
			{ID: 0, Capacity: 3}, {ID: 1, Capacity: 1}, {ID: 2, Capacity: 1, Partial: true, Frozen: true},
		},
	}
	for i, x := range [][3]float64{{9, 1, 1}, {2, 1, 1}, {2, 1, 2}, {2, 1, 2}, {4, 1, 2}, {2, 0, 0}} {
		c.Items = append(c.Items, plannertest.Item{
			Key: fmt.Sprintf("k%d", i), Count: 1, Cost: x[0], Current: int32(x[1]), Hash: int32(x[2]),
			Entry: planner.NoInstance,
		})
	}
	p, err := planner.Run(planner.Optimal, c.Snapshot(), c.Options)
	if err != nil {
		t.Fatal(err)
	}
	const least = 11/5.25 - 1
	for _, u := range p.Certificate.Unmet {
		if u.Constraint == planner.ConstraintTheta && u.AtLeast > least {
			t.Errorf("unmet %+v, but θ = %v is possible", u, least)
		}
	}
	if !p.Certificate.Infeasible || p.Certificate.Unmet[0].Constraint != planner.ConstraintTheta {
		t.Errorf("%+v", p.Certificate)
	}
}
