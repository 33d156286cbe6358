package planner_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/milp"
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
	y := certify(t, oracleCases(t, 2000), 82, levels[:1], func(r *rand.Rand, c *plannertest.Case) {
		plannertest.Restrict(r, c)
		plannertest.LimitBy(r, c)
	})
	if y.reached < y.feasible*99/100 {
		t.Errorf("optimal reaches the optimum in %d of %d feasible cases, want 99 %%", y.reached, y.feasible)
	}
}

// TestFairLoadsUnderRules holds fair loads of random rules against a search of all sets of
// instances, and lets a class of keys be on one more instance: the greatest fair load per capacity
// does not rise.
func TestFairLoadsUnderRules(t *testing.T) {
	t.Parallel()
	r := deep.Rand(t, 26)
	greatest := func(c *plannertest.Case) (rate float64) {
		s := c.Snapshot()
		p, err := planner.Inspect(s, planner.Options{Certificate: planner.CertificateOff})
		if err != nil {
			t.Fatal(err)
		}
		for d, fair := range plannertest.ProblemOf(s, planner.Options{}).Fair {
			got := p.Instances[d].Fair
			if math.Abs(got-fair) > 1e-9*max(got, fair) {
				t.Fatalf("the fair load of %d is %v, want %v\n%s", d, got, fair, c)
			}
			rate = max(rate, got/s.Instances[d].Capacity)
		}
		return rate
	}
	for range deep.Cases(10_000) {
		c := ruled(r, func(r *rand.Rand) *plannertest.Case { return plannertest.Medium(r, 5+r.IntN(20), 1+r.IntN(6)) })
		before := greatest(c)
		open := c.Open[r.IntN(len(c.Open))]
		for d := range open {
			open[d] = open[d] || c.Instances[d].Live()
		}
		if after := greatest(c); after > before*(1+1e-9) {
			t.Fatalf("it rises from %v to %v\n%s", before, after, c)
		}
	}
}

// pools are rules by which keys that begin with a letter are on one pool of instances alone.
type pools []pool

type pool struct {
	letter byte
	on     []int32
}

func (p pools) Rule(key []byte, _ uint64) int {
	return slices.IndexFunc(p, func(x pool) bool { return key[0] == x.letter })
}
func (p pools) Stays(int) bool       { return false }
func (p pools) Len() int             { return len(p) }
func (p pools) Name(rule int) string { return "pool " + string(p[rule].letter) }
func (p pools) Without(rule int) planner.Placement {
	return slices.Delete(slices.Clone(p), rule, rule+1)
}

// Eligible gives keys that no pool has what is left.
func (p pools) Eligible(rule int) []int32 {
	if rule >= 0 {
		return p[rule].on
	}
	return slices.DeleteFunc([]int32{0, 1, 2, 3}, func(id int32) bool {
		return slices.ContainsFunc(p, func(x pool) bool { return slices.Contains(x.on, id) })
	})
}

// TestUnmetRule names the rule that stands in the way of θ_max, and no other one.
func TestUnmetRule(t *testing.T) {
	t.Parallel()
	stats := &planner.Statistics{
		// The pool of a has one key for each instance, which cost 5 and 2.
		Keys: planner.KeysOf("a1", "a2", "b1", "b2", "c1", "c2"), Cost: []float64{5, 2, 4, 4, 6, 6},
		Instance: []int32{0, 1, 2, 2, 3, 3},
	}
	target := planner.Configuration{
		Instances: []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}, {ID: 2, Capacity: 1}, {ID: 3, Capacity: 1}},
		Hash:      constant(3), Placement: pools{{'a', []int32{0, 1}}, {'b', []int32{2}}},
	}
	s, err := planner.NewSnapshot(stats, target, planner.Base{Configuration: target})
	if err != nil {
		t.Fatal(err)
	}
	p := run(t, planner.Optimal, s, planner.Options{ThetaMax: 0.25})
	var named []string
	for _, u := range p.Certificate.Unmet {
		if u.Constraint == planner.ConstraintPlacement {
			named = append(named, u.Rule)
			if u.AtLeast <= u.Limit || u.Without > u.Limit {
				t.Errorf("%+v", u)
			}
		}
	}
	if !slices.Equal(named, []string{"pool a"}) {
		t.Errorf("unmet %+v", p.Certificate.Unmet)
	}
}

// constant is the hash function that puts all keys on one instance.
type constant int32

func (c constant) Instance([]byte, uint64) (int32, error) { return int32(c), nil }

// TestRulesSolverOracle holds plans and bounds under rules against a general solver on cases too
// large for exhaustive search:
//
//	PLANNERD_RULES=300 go test -run 'Test(Rules|Resources)SolverOracle' -v ./planner
func TestRulesSolverOracle(t *testing.T) {
	holdAgainstSolver(t, deep.Rand(t, 27), deep.Count(3, 6), func(r *rand.Rand) *plannertest.Case {
		c := ruled(r, func(r *rand.Rand) *plannertest.Case { return plannertest.Medium(r, 100+r.IntN(1900), 3+r.IntN(8)) })
		plannertest.LimitBy(r, c)
		return c
	})
}

// holdAgainstSolver compares strategy optimal with a solver on some cases, or as many as a variable says.
func holdAgainstSolver(t *testing.T, r *rand.Rand, cases int, draw func(*rand.Rand) *plannertest.Case) {
	t.Helper()
	milp.Require(t)
	limit := time.Second
	if v := os.Getenv("PLANNERD_RULES"); v != "" {
		var err error
		if cases, err = strconv.Atoi(v); err != nil {
			t.Fatalf("PLANNERD_RULES is no number: %v", err)
		}
		limit = 2 * time.Second
	}
	close, far := 0, 0
	for n := range cases {
		c := draw(r)
		s, o := c.Snapshot(), c.Options
		x := comparison{name: fmt.Sprintf("case %d", n)}
		x.solve(t, s, o, limit)
		for _, level := range levels {
			o.Certificate = level
			x.plan = run(t, planner.Optimal, s, o)
			if err := plannertest.Check(s, o, x.plan); err != nil {
				t.Errorf("%s: %v", x.name, err)
			}
			x.judge(t, x.plan)
		}
		met := plannertest.ScoreOf(s, o, plannertest.AssignmentOf(x.plan)).Violated == 0
		switch {
		case x.solver.status == milp.Infeasible:
		case met && x.plan.Migration.Objective <= 1.05*x.solver.bound || met && x.proven() && x.ratio() <= 1.05:
			close++
		case x.solver.assignment != nil && (!met || x.ratio() > 1.05):
			far++
			t.Logf("%s: %v (within limits: %t), the solver has %v, bound %v", x.name, x.plan.Migration.Objective, met,
				x.solver.objective, x.solver.bound)
		}
	}
	t.Logf("the plan is proven to be within 5 %% of the optimum in %d of %d cases, and not to be in %d", close, cases, far)
	if cases >= 100 && close < (close+far)*95/100 {
		t.Error("want 95 %")
	}
}
