package planner_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// literals are the strategies that the literal implementation knows.
var literals = []string{"llfd", "lpt", "mintable", "minmig", "mixed", "mixed_bf", "readj"}

// differs says how a strategy's plan differs from the literal one.
func differs(strategy string, c *plannertest.Case) error {
	s := c.Snapshot()
	want, err := plannertest.Literal(strategy, s, c.Options)
	if err != nil {
		return err
	}
	p, err := planner.Run(strategy, s, c.Options)
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
			r := rand.New(rand.NewPCG(21, 21))
			for range 5000 {
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
	cases := map[string]int{"llfd": 300, "lpt": 300, "mintable": 300, "minmig": 300, "mixed": 150, "mixed_bf": 12, "readj": 12}
	for _, strategy := range literals {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(22, 22))
			for n := range cases[strategy] {
				keys, live := 50+r.IntN(250), 2+r.IntN(7)
				if strategy == "mixed_bf" || strategy == "readj" {
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
