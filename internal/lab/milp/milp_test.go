package milp

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// The solver and the exhaustive search must agree on what is possible and what
// is best.
func TestAgainstExhaustiveSearch(t *testing.T) {
	Require(t)
	t.Parallel()
	r := rand.New(rand.NewPCG(71, 71))
	feasible, priced := 0, 0
	for n := range 150 {
		c := plannertest.Tiny(r)
		s := c.Snapshot()
		got, err := Solve(t.Context(), s, c.Options, Limits{Time: 10 * time.Second, Merge: n%2 == 0})
		if err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		_, want := plannertest.Optimum(s, c.Options)
		if want.Violated > 0 {
			if got.Status != Infeasible {
				t.Errorf("%s, but no assignment meets all constraints\n%s", got.Status, c)
			}
			continue
		}
		feasible++
		if want.Objective > 0 {
			priced++
		}
		if got.Status != Optimal || math.Abs(got.Objective-want.Objective) > 1e-9 ||
			math.Abs(got.Bound-want.Objective) > 1e-6 {
			t.Errorf("%s: objective %v, bound %v, want %v\n%s", got.Status, got.Objective, got.Bound, want.Objective, c)
		}
	}
	if feasible < 50 || priced < 30 {
		t.Errorf("%d cases are feasible, %d with an objective above 0: too few", feasible, priced)
	}
}

// When time runs out, what the solver has found and what it has proven enclose
// the optimum.
func TestTimeLimit(t *testing.T) {
	Require(t)
	t.Parallel()
	c := plannertest.Medium(rand.New(rand.NewPCG(73, 73)), 2000, 10)
	c.Options = planner.Options{ThetaMax: 0.0005}
	got, err := Solve(t.Context(), c.Snapshot(), c.Options, Limits{Time: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s after %v: objective %v, bound %v", got.Status, got.Time, got.Objective, got.Bound)
	if got.Assignment != nil && got.Bound > got.Objective*(1+1e-6) {
		t.Errorf("%s: bound %v above the objective %v", got.Status, got.Bound, got.Objective)
	}
}
