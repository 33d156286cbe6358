package planner_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner/plannertest"
)

// TestGapToOptimum compares each strategy with the exhaustive search on small
// cases: none may beat it, and the table says how far each is off.
func TestGapToOptimum(t *testing.T) {
	t.Parallel()
	type tally struct {
		optimal, feasible int
		ratio             float64 // summed over the plans that are feasible and cannot be free
		priced            int     // number of those
	}
	cases := deep.Count(300, 1500)
	r := rand.New(rand.NewPCG(31, 31))
	tallies := map[string]*tally{}
	for _, strategy := range names() {
		tallies[strategy] = &tally{}
	}
	feasible := 0
	for range cases {
		c := plannertest.Tiny(r)
		s := c.Snapshot()
		_, best := plannertest.Optimum(s, c.Options)
		if best.Violated == 0 {
			feasible++
		}
		for _, strategy := range names() {
			p := run(t, strategy, s, c.Options)
			score := plannertest.ScoreOf(s, c.Options, plannertest.AssignmentOf(p))
			y := tallies[strategy]
			switch cmp := score.Compare(best); {
			case cmp < 0:
				t.Fatalf("%s beats the optimum: %+v against %+v\n%s", strategy, score, best, c)
			case cmp == 0:
				y.optimal++
			}
			if score.Violated == 0 {
				y.feasible++
				if best.Objective > 0 {
					y.ratio += score.Objective / best.Objective
					y.priced++
				}
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d cases, %d of them feasible\n%-10s %8s %9s %10s\n",
		cases, feasible, "strategy", "optimal", "feasible", "objective")
	for _, strategy := range names() {
		y := tallies[strategy]
		fmt.Fprintf(&b, "%-10s %7.1f%% %8.1f%% %8.2f ×\n", strategy,
			100*float64(y.optimal)/float64(cases), 100*float64(y.feasible)/float64(feasible), y.ratio/float64(y.priced))
		if y.feasible > feasible {
			t.Errorf("%s is feasible in %d cases, only %d can be", strategy, y.feasible, feasible)
		}
	}
	t.Log(b.String())
}
