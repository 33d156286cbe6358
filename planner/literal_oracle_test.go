package planner_test

import (
	"fmt"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// literals are the strategies that the literal implementation knows.
var literals = []string{
	planner.LLFD, planner.LPT, planner.MinTable, planner.MinMig, planner.Mixed, planner.MixedBruteForce, planner.Readj,
}

// differs says how a strategy's plan differs from the literal one.
func differs(strategy string, c *plannertest.Case) error {
	s := c.Snapshot()
	want, err := plannertest.Literal(strategy, s, c.Options)
	if err != nil {
		return err
	}
	o := c.Options
	o.Certificate = planner.CertificateOff
	p, err := planner.Run(strategy, s, o)
	if err != nil {
		return err
	}
	if got := plannertest.AssignmentOf(p); !got.Equal(want) {
		return fmt.Errorf("F' is %v, literally %v\nscores %+v and %+v", got, want,
			plannertest.ScoreOf(s, c.Options, got), plannertest.ScoreOf(s, c.Options, want))
	}
	return nil
}

// On whole costs all arithmetic is exact, so the plans must be the same.
func TestLiteralTiny(t *testing.T) {
	t.Parallel()
	for _, strategy := range literals {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := deep.Rand(t, 21)
			for range deep.Cases(5000) {
				c := plannertest.Tiny(r)
				if differs(strategy, c) != nil {
					failShrunk(t, strategy, c, func(d *plannertest.Case) error { return differs(strategy, d) })
					return
				}
			}
		})
	}
}

func TestLiteralMedium(t *testing.T) {
	t.Parallel()
	cases := map[string]int{
		planner.LLFD: 100, planner.LPT: 100, planner.MinTable: 100, planner.MinMig: 100, planner.Mixed: 50,
		planner.MixedBruteForce: 12, planner.Readj: 12,
	}
	for _, strategy := range literals {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := deep.Rand(t, 22)
			for n := range cases[strategy] {
				keys, live := 50+r.IntN(250), 2+r.IntN(7)
				if costs(strategy) == planner.CostQuadratic {
					keys = 30 + r.IntN(30) // the literal ones are slow
				}
				c := plannertest.Medium(r, keys, live)
				if err := differs(strategy, c); err != nil {
					t.Fatalf("case %d: %v\n%s", n, err, c)
				}
			}
		})
	}
}

// Many equal keys are placed at once, but as if one after the other.
func TestLiteralManyUnits(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{planner.LLFD, planner.LPT, planner.MinTable, planner.MinMig, planner.Mixed} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := deep.Rand(t, 23)
			for n := range deep.Cases(150) {
				c := plannertest.Tiny(r)
				c.Counted = true
				for i := range c.Items {
					if r.IntN(2) == 0 {
						c.Items[i].Count = 1 + r.Int64N(int64(deep.Count(300, 1500)))
					}
				}
				if r.IntN(3) == 0 { // all equal, where ties are the rule
					for i := range c.Items {
						c.Items[i].Cost = 1
					}
				}
				if err := differs(strategy, c); err != nil {
					t.Fatalf("case %d: %v\n%s", n, err, c)
				}
			}
		})
	}
}

// homeless makes the items' home a frozen instance, and where they are a drained
// one.
func homeless(s *planner.Snapshot) {
	s.Instances = append(s.Instances, planner.Instance{ID: 3, Capacity: 1, Partial: true, Frozen: true})
	s.Instances[0].Drained, s.Hash[0] = true, 3
}

// The effort depends on the number of records, not on that of the keys they stand
// for.
func TestCountsCostNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		planner.Mixed, planner.Optimal, planner.MinMig, planner.MinTable, planner.LLFD, planner.LPT, planner.Readj,
	} {
		for shape, change := range []func(*planner.Snapshot){
			func(*planner.Snapshot) {},
			func(s *planner.Snapshot) { s.Instances[0].Drained, s.Hash[0] = true, 1 },
			func(s *planner.Snapshot) { s.Instances[2].ResidualCost = 1e18 }, // every key is hot
			func(s *planner.Snapshot) { s.Instances[1].Capacity = 3 },
			homeless,
			func(s *planner.Snapshot) { homeless(s); s.Cost[0] = 0 },
		} {
			s := &planner.Snapshot{
				Keys: planner.KeysOf("a"), Cost: []float64{1}, State: []float64{1}, Count: []int64{planner.MaxCount},
				Current: []int32{0}, Hash: []int32{0},
				Instances: []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}, {ID: 2, Capacity: 1}},
			}
			change(s)
			limit := int64(planner.MaxCount / 3)
			p, err := planner.Run(name, s, planner.Options{TableLimit: &limit})
			if err != nil {
				t.Fatal(err)
			}
			if p.WorkUnits > 100_000 || len(p.Moves) > len(s.Instances) {
				t.Errorf("%s, shape %d: %d moves after %d work units", name, shape, len(p.Moves), p.WorkUnits)
			}
		}
	}
}
