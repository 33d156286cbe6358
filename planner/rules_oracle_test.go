package planner_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// ruled makes a varied case with rules on where keys may be.
func ruled(r *rand.Rand, make func(*rand.Rand) *plannertest.Case) *plannertest.Case {
	c := make(r)
	plannertest.Restrict(r, c)
	return c
}

// All strategies keep rules as the literal implementation does.
func TestRulesLiterally(t *testing.T) {
	t.Parallel()
	for _, strategy := range literals {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := deep.Rand(t, 24)
			for range deep.Cases(3000) {
				c := ruled(r, plannertest.Tiny)
				if differs(strategy, c) != nil {
					failShrunk(t, strategy, c, func(d *plannertest.Case) error { return differs(strategy, d) })
					return
				}
			}
		})
	}
}

func TestRulesInvariants(t *testing.T) {
	t.Parallel()
	for _, strategy := range names() {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := deep.Rand(t, 25)
			for n := range deep.Cases(2000) {
				c := ruled(r, plannertest.Tiny)
				if n%50 == 0 {
					c = ruled(r, func(r *rand.Rand) *plannertest.Case {
						return plannertest.Medium(r, 50+r.IntN(100), 2+r.IntN(6))
					})
				}
				if n%4 == 1 {
					plannertest.AskToFill(r, c)
				}
				if checkCase(strategy, c) != nil {
					failShrunk(t, strategy, c, func(d *plannertest.Case) error { return checkCase(strategy, d) })
					return
				}
			}
		})
	}
}

// TestRulesOracle holds certificates, and strategy optimal, under rules against exhaustive search.
func TestRulesOracle(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	feasible, reached := 0, 0
	n := oracleCases(t, 2000)
	eachVaried(t, n, 82, func(r *rand.Rand, c *plannertest.Case) (string, func(*plannertest.Case) error) {
		plannertest.Restrict(r, c)
		plannertest.LimitBy(r, c)
		x := newTruth(c)
		for _, strategy := range names() {
			p, err := x.judge(strategy, planner.CertificateFast)
			if err != nil {
				return fmt.Sprintf("%s, certificate %s", strategy, planner.CertificateFast), func(d *plannertest.Case) error {
					_, err := newTruth(d).judge(strategy, planner.CertificateFast)
					return err
				}
			}
			if strategy == planner.Optimal && x.feasible() {
				score := plannertest.ScoreOf(x.s, c.Options, plannertest.AssignmentOf(p))
				mu.Lock()
				feasible++
				if score.Violated == 0 && !above(score.Objective, x.best.Objective, x.noise) {
					reached++
				}
				mu.Unlock()
			}
		}
		if optimalIsBest(x) != nil {
			return planner.Optimal, func(d *plannertest.Case) error { return optimalIsBest(newTruth(d)) }
		}
		return "", nil
	})
	t.Logf("%d feasible cases, optimum reached in %d", feasible, reached)
	if feasible < n/4 || reached < feasible*99/100 {
		t.Errorf("optimal reaches the optimum in %d of %d feasible cases, want 99 %%", reached, feasible)
	}
}
