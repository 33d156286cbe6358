package planner_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

var searchStarts = []string{"F", "home", "greedy", "round", "mixed"}

// improve runs the local search and checks what must hold after any run of it.
func improve(t *testing.T, l planner.LocalSearch, c *plannertest.Case) (before, after *planner.Plan) {
	t.Helper()
	s := c.Snapshot()
	before, after, err := l.Run(s, c.Options)
	if err != nil {
		t.Fatal(err)
	}
	if err := plannertest.Check(s, c.Options, after); err != nil {
		t.Fatalf("%+v: %v\n%s", l, err, c)
	}
	x, y := scoreOf(before), scoreOf(after)
	if y.Compare(x) > 0 {
		t.Fatalf("%+v: %+v became %+v\n%s", l, x, y, c)
	}
	was, is := plannertest.AssignmentOf(before), plannertest.AssignmentOf(after)
	for _, h := range after.HotKeys {
		if !slices.Equal(was[h.Item], is[h.Item]) {
			t.Fatalf("%+v: hot item %d went from %v to %v\n%s", l, h.Item, was[h.Item], is[h.Item], c)
		}
	}
	return before, after
}

func scoreOf(p *planner.Plan) plannertest.Score {
	return plannertest.ScoreOf(p.Snapshot, p.Options, plannertest.AssignmentOf(p))
}

func TestSearchNeverWorsens(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 1))
	for range deep.Cases(60) {
		c := plannertest.Medium(r, 1+r.IntN(120), 1+r.IntN(12))
		for _, start := range searchStarts {
			improve(t, planner.LocalSearch{Start: start, Priced: r.IntN(2) == 0, Effort: 1 + r.Int64N(20_000)}, c)
		}
	}
}

// TestSearchReachesOptimum compares with the exhaustive search on small cases.
func TestSearchReachesOptimum(t *testing.T) {
	t.Parallel()
	for _, start := range searchStarts {
		t.Run(start, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(7, 2))
			feasible, reached := 0, 0
			for range 400 {
				c := plannertest.Tiny(r)
				_, best := plannertest.Optimum(c.Snapshot(), c.Options)
				_, after := improve(t, planner.LocalSearch{Start: start, Effort: 50_000}, c)
				if best.Violated > 0 {
					continue
				}
				feasible++
				if x := scoreOf(after); x.Violated == 0 && x.Objective <= best.Objective*(1+1e-9) {
					reached++
				}
			}
			t.Logf("%d of %d feasible cases", reached, feasible)
			if float64(reached) < 0.99*float64(feasible) {
				t.Errorf("the optimum was reached in %d of %d feasible cases, want 99 %%", reached, feasible)
			}
		})
	}
}

// movesByKey lists moves so that they can be compared between row orders.
func movesByKey(p *planner.Plan) []string {
	var out []string
	for _, m := range p.Moves {
		out = append(out, fmt.Sprintf("%s → %d: %d", p.Snapshot.Keys.At(int(m.Item)), m.To, m.Count))
	}
	return out
}

func TestSearchIgnoresRowOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 3))
	for range deep.Cases(60) {
		c := plannertest.Medium(r, 1+r.IntN(80), 2+r.IntN(8))
		l := planner.LocalSearch{Start: searchStarts[r.IntN(len(searchStarts))], Priced: true, Effort: 30_000}
		_, want := improve(t, l, c)
		shuffled := c.Clone()
		r.Shuffle(len(shuffled.Items), func(i, j int) {
			shuffled.Items[i], shuffled.Items[j] = shuffled.Items[j], shuffled.Items[i]
		})
		_, got := improve(t, l, shuffled)
		if d := cmp.Diff(movesByKey(want), movesByKey(got)); d != "" {
			t.Fatalf("%+v: %s\n%s", l, d, c)
		}
		if want.WorkUnits != got.WorkUnits {
			t.Fatalf("%+v: %d work units, %d in another order\n%s", l, want.WorkUnits, got.WorkUnits, c)
		}
	}
}

func TestSearchKeepsToItsCore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 4))
	moved := 0
	for range deep.Cases(60) {
		c := plannertest.Medium(r, 20+r.IntN(60), 2+r.IntN(8))
		for i := range c.Items {
			c.Items[i].Cost = min(c.Items[i].Cost, 100) // so that none is hot
		}
		core := []int32{}
		for i := range c.Items {
			if r.IntN(3) == 0 {
				core = append(core, int32(i))
			}
		}
		before, after := improve(t, planner.LocalSearch{Start: "greedy", Core: core, Effort: 20_000}, c)
		if len(after.HotKeys) > 0 {
			continue
		}
		was, is := plannertest.AssignmentOf(before), plannertest.AssignmentOf(after)
		for i := range was {
			switch {
			case slices.Equal(was[i], is[i]):
			case slices.Contains(core, int32(i)):
				moved++
			default:
				t.Fatalf("item %d is not of the core %v\n%s", i, core, c)
			}
		}
	}
	if moved == 0 {
		t.Error("nothing moved in any case")
	}
}

// TestSearchStops cuts searches short: the work that was counted is the budget
// that leads to the same plan.
func TestSearchStops(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 5))
	cut := 0
	for range 40 {
		c := plannertest.Medium(r, 20+r.IntN(100), 3+r.IntN(8))
		l := planner.LocalSearch{Start: "greedy", Effort: 200_000}
		c.Options.WorkBudget = 1 + r.Int64N(300)
		_, short := improve(t, l, c)
		if short.WorkUnits > c.Options.WorkBudget {
			t.Fatalf("%d work units with a budget of %d", short.WorkUnits, c.Options.WorkBudget)
		}
		if short.EndReason != planner.EndWorkBudget {
			continue
		}
		cut++
		if short.WorkUnits > 0 { // a budget of 0 would be none
			c.Options.WorkBudget = short.WorkUnits
			_, again := improve(t, l, c)
			if d := cmp.Diff(short.Moves, again.Moves); d != "" || again.WorkUnits != short.WorkUnits {
				t.Fatalf("repeated: %d work units instead of %d, %s", again.WorkUnits, short.WorkUnits, d)
			}
		}
	}
	if cut < 10 {
		t.Errorf("only %d searches ran out of budget", cut)
	}

	c := plannertest.Medium(rand.New(rand.NewPCG(7, 6)), 400, 12)
	c.Options.ThetaMax, c.Options.TableLimit = 0, nil
	_, whole := improve(t, planner.LocalSearch{Start: "greedy", Effort: 2_000_000}, c)
	calls := 0
	c.Options.Stop = func() bool { calls++; return calls > 1 }
	_, stopped := improve(t, planner.LocalSearch{Start: "greedy", Effort: 2_000_000}, c)
	if stopped.EndReason != planner.EndStopped || stopped.WorkUnits >= whole.WorkUnits {
		t.Errorf("ended with %q after %d of %d work units, want it stopped", stopped.EndReason, stopped.WorkUnits,
			whole.WorkUnits)
	}
}

// TestSearchEffort bounds the work by the effort, but for the last step.
func TestSearchEffort(t *testing.T) {
	t.Parallel()
	c := plannertest.Medium(rand.New(rand.NewPCG(7, 7)), 400, 12)
	c.Options.ThetaMax, c.Options.TableLimit = 0, nil
	for _, effort := range []int64{0, 1, 1000, 100_000} {
		_, p := improve(t, planner.LocalSearch{Start: "greedy", Effort: effort}, c)
		if most := effort/64 + 100; p.WorkUnits > most {
			t.Errorf("effort %d: %d work units, want at most %d", effort, p.WorkUnits, most)
		}
	}
}
