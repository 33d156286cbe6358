package plannertest

import (
	"math/rand/v2"
	"testing"

	"plannerd/planner"
)

// answer is what a plan of strategy optimal and its certificate come to.
type answer struct {
	objective, bound float64
	violated         int
	infeasible       bool
	work             int64
}

func optimalAnswer(t *testing.T, c *Case) answer {
	t.Helper()
	s, o := c.Snapshot(), c.Options
	o.Certificate = planner.CertificateTight
	p, err := planner.Run(planner.Optimal, s, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(s, o, p); err != nil {
		t.Fatal(err)
	}
	x := answer{objective: p.Migration.Objective, work: p.WorkUnits, violated: ScoreOf(s, o, AssignmentOf(p)).Violated}
	if p.Certificate != nil {
		x.bound, x.infeasible = p.Certificate.LowerBound, p.Certificate.Infeasible
	}
	return x
}

// Without a component, plans and proofs are still true.
func TestWithoutComponents(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 3))
	for range 300 {
		c := Varied(r)
		s := c.Snapshot()
		_, best := Optimum(s, c.Options)
		for _, component := range Components() {
			Without(component, func() {
				x := optimalAnswer(t, c)
				if best.Violated == 0 && (x.infeasible || x.bound > best.Objective*(1+1e-9)) {
					t.Errorf("without %s: bound %v, infeasible %v, but the optimum is %v\n%v",
						component, x.bound, x.infeasible, best.Objective, c)
				}
			})
		}
	}
}

// Each switch changes what some case comes to, but for the filter, which only saves time.
func TestEveryComponentIsLeftOut(t *testing.T) {
	left := make(map[string]bool)
	for _, component := range Components() {
		left[component] = component != "reduced-cost filter"
	}
	for i := 0; i < 60 && anyOf(left); i++ {
		r := rand.New(rand.NewPCG(7, uint64(i)))
		c := Medium(r, 300+60*i, 3+r.IntN(12))
		switch {
		case i%10 == 9:
			c = Medium(rand.New(rand.NewPCG(7, uint64(11*i))), 6000, 8) // of more keys than a core holds
		case i%2 == 1:
			tighten(t, c)
		}
		for _, effort := range []planner.Effort{planner.EffortFast, planner.EffortNormal} {
			c.Options.Effort = effort
			full := optimalAnswer(t, c)
			for _, component := range Components() {
				if left[component] {
					Without(component, func() { left[component] = optimalAnswer(t, c) == full })
				}
			}
		}
	}
	for component, still := range left {
		if still {
			t.Errorf("leaving out %s changes no case", component)
		}
	}
}

// tighten makes the table limit somewhat less than what strategy mintable needs.
func tighten(t *testing.T, c *Case) {
	t.Helper()
	o := c.Options
	o.TableLimit, o.Certificate = nil, planner.CertificateOff
	p, err := planner.Run(planner.MinTable, c.Snapshot(), o)
	if err != nil {
		t.Fatal(err)
	}
	c.Options.TableLimit = new(p.TableAfter * 99 / 100)
}

func anyOf(set map[string]bool) bool {
	for _, x := range set {
		if x {
			return true
		}
	}
	return false
}
