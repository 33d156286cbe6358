package planner_test

import (
	"math/rand/v2"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// TestOutflowBounds: whatever the prices, no plan that meets the limits costs
// less than whole keys have to, and a leaf whose keys find room is a plan.
func TestOutflowBounds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(91, 1))
	placed, exact, proven := 0, 0, 0
	for range oracleCases(t, 3000) {
		c := plannertest.Varied(r)
		s := c.Snapshot()
		x := newTruth(c)
		for range 4 {
			got, err := planner.RandomOutflow(r, s, c.Options, 1+r.IntN(20_000))
			switch {
			case err != nil:
				t.Fatal(err)
			case got.TooRough:
				t.Fatalf("a rough bound is above a cover\n%s", c)
			case got.Infeasible && x.feasible():
				t.Fatalf("called infeasible, the optimum is %v\n%s", x.best.Objective, c)
			case got.Infeasible:
				proven++
				continue
			case x.feasible() && above(got.Bound, x.best.Objective, x.noise):
				t.Fatalf("bound %v above the optimum %v\n%s", got.Bound, x.best.Objective, c)
			}
			if got.Placed > 0 {
				placed++
			}
			if got.Plan == nil {
				continue
			}
			if sc := plannertest.ScoreOf(s, c.Options, plannertest.AssignmentOf(got.Plan)); sc.Violated == 0 &&
				above(got.Bound, sc.Objective, x.noise) {
				t.Fatalf("bound %v, plan %v\n%s", got.Bound, sc.Objective, c)
			}
			if x.feasible() && x.best.Objective > 0 && got.Bound >= x.best.Objective*(1-1e-9) {
				exact++
			}
		}
	}
	t.Logf("branched %d times, bound exact %d times, infeasible %d times", placed, exact, proven)
	if placed < deep.Cases(100) || exact < deep.Cases(1000) || proven < deep.Cases(100) {
		t.Error("too few cases of some kind")
	}
}

// TestOutflowOfHeavyKeys: an instance that holds 110 has two keys of 60, and no
// other has room for one. It takes an exchange, of weight 1 + 9.
func TestOutflowOfHeavyKeys(t *testing.T) {
	t.Parallel()
	c := &plannertest.Case{
		Options: planner.Options{ThetaMax: 0.1, Certificate: planner.CertificateFast},
		Instances: []planner.Instance{
			{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}, {ID: 2, Capacity: 1},
		},
		Items: []plannertest.Item{
			{Key: "a", Cost: 60, State: 1, Count: 1},
			{Key: "b", Cost: 60, State: 1, Count: 1},
			{Key: "c", Cost: 40, State: 9, Count: 1, Current: 1, Hash: 1},
			{Key: "d", Cost: 50, State: 100, Count: 1, Current: 1, Hash: 1},
			{Key: "e", Cost: 20, State: 7, Count: 1, Current: 2, Hash: 2},
			{Key: "f", Cost: 70, State: 100, Count: 1, Current: 2, Hash: 2},
		},
	}
	s := c.Snapshot()
	_, want := plannertest.Optimum(s, c.Options)
	p, err := planner.Run(planner.Optimal, s, c.Options)
	if err != nil {
		t.Fatal(err)
	}
	if want.Objective != 10 || p.Migration.Objective != 10 || p.Certificate.LowerBound != 10 || *p.Certificate.Gap != 0 {
		t.Errorf("optimum %v, plan %v, certificate %+v; want 10 of all; moves %+v", want.Objective, p.Migration.Objective,
			p.Certificate, p.Moves)
	}
}

// TestOutflowOfReturningKeys: the table may have one entry and has two. c has to return, and its home has no room for
// both c and b, nor has the home of b for b: b has to go to a third instance, at 100 beside the 1 of c.
func TestOutflowOfReturningKeys(t *testing.T) {
	t.Parallel()
	c := &plannertest.Case{Options: planner.Options{ThetaMax: 0.25, TableLimit: new(int64(1))}}
	for id := range int32(3) {
		c.Instances = append(c.Instances, planner.Instance{ID: id, Capacity: 1})
	}
	for _, k := range []plannertest.Item{
		{Key: "a", Cost: 60, State: 1000, Hash: 0, Current: 0},
		{Key: "b", Cost: 50, State: 100, Hash: 0, Current: 1},
		{Key: "c", Cost: 45, State: 1, Hash: 1, Current: 2},
		{Key: "d", Cost: 40, State: 1000, Hash: 1, Current: 1},
		{Key: "e", Cost: 45, State: 1000, Hash: 2, Current: 2},
	} {
		if k.Count, k.Entry = 1, -1; k.Current != k.Hash {
			k.Entry = k.Current
		}
		c.Items = append(c.Items, k)
	}
	c.Options.Certificate = planner.CertificateFast
	p := run(t, planner.Mixed, c.Snapshot(), c.Options)
	if p.Certificate.LowerBound != 101 {
		t.Errorf("lower bound %v, want 101", p.Certificate.LowerBound)
	}
}
