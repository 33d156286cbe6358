package plannertest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/planner"
)

var literals = []string{
	planner.LLFD, planner.LPT, planner.MinTable, planner.MinMig, planner.Mixed, planner.MixedBruteForce, planner.Readj,
}

// No heuristic may beat the exhaustive search, and the search must beat every
// single random assignment.
func TestOptimumIsBest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1500 {
		c := Tiny(r)
		s := c.Snapshot()
		m := newModel(s, c.Options)
		best, score := Optimum(s, c.Options)
		if got := m.score(best); got != score {
			t.Fatalf("score of the optimum is %+v, want %+v", got, score)
		}
		for _, name := range literals {
			a, err := Literal(name, s, c.Options)
			if err != nil {
				t.Fatal(err)
			}
			if m.score(a).Compare(score) < 0 {
				t.Fatalf("%s beats the optimum: %+v against %+v\n%s", name, m.score(a), score, c)
			}
		}
	}
}

// Every literal strategy keeps each unit exactly once, off drained instances,
// and hot keys where they were placed.
func TestLiteralAssignments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		c := Tiny(r)
		s := c.Snapshot()
		m := newModel(s, c.Options)
		for _, name := range literals {
			a, err := Literal(name, s, c.Options)
			if err != nil {
				t.Fatal(err)
			}
			for i, units := range a {
				var sum int64
				for d, n := range units {
					sum += n
					if n > 0 && s.Instances[d].Drained {
						t.Fatalf("%s leaves item %d on a drained instance\n%s", name, i, c)
					}
				}
				if sum != count(s, i) {
					t.Fatalf("%s has %d units of item %d, want %d", name, sum, i, count(s, i))
				}
				for _, d := range m.hotUnits[i] {
					units[d]--
				}
				if m.isHot(i) && slices.ContainsFunc(units, func(n int64) bool { return n != 0 }) {
					t.Fatalf("%s moves hot item %d\n%s", name, i, c)
				}
			}
		}
	}
}

func TestLiteralUnknown(t *testing.T) {
	c := Case{Instances: []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}},
		Items: []Item{{Key: "a", Cost: 2, Count: 1}, {Key: "b", Cost: 1, Count: 1}}}
	if _, err := Literal("guess", c.Snapshot(), planner.Options{}); err == nil {
		t.Fatal("no error")
	}
}
