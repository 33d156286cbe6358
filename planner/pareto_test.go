package planner

import (
	"slices"
	"testing"
)

func TestParetoFront(t *testing.T) {
	plan := func(objective float64, table int64, theta float64, ok ...bool) *Plan {
		p := &Plan{Balanced: true, TableWithinLimit: true, TableAfter: table}
		p.Migration.Objective, p.Theta.After = objective, theta
		if len(ok) == 2 {
			p.Balanced, p.TableWithinLimit = ok[0], ok[1]
		}
		return p
	}
	for name, c := range map[string]struct {
		plans []*Plan
		want  []bool
	}{
		"none":       {nil, []bool{}},
		"one":        {[]*Plan{plan(5, 5, 0.5)}, []bool{true}},
		"trade-offs": {[]*Plan{plan(1, 9, 0.08), plan(9, 1, 0.08), plan(9, 9, 0.01)}, []bool{true, true, true}},
		"dominated": {[]*Plan{plan(1, 2, 0.03), plan(1, 2, 0.04), plan(2, 2, 0.03), plan(1, 3, 0.03)},
			[]bool{true, false, false, false}},
		"equal":          {[]*Plan{plan(1, 2, 0.03), plan(1, 2, 0.03)}, []bool{true, true}},
		"transitive":     {[]*Plan{plan(3, 3, 0.3), plan(2, 2, 0.2), plan(1, 1, 0.1)}, []bool{false, false, true}},
		"unbalanced":     {[]*Plan{plan(0, 0, 0.5, false, true), plan(9, 9, 0.08)}, []bool{false, true}},
		"table exceeded": {[]*Plan{plan(0, 0, 0, true, false), plan(9, 9, 0.08)}, []bool{false, true}},
		"all violate": {[]*Plan{plan(1, 1, 0.5, false, true), plan(2, 1, 0.5, false, true), plan(0, 0, 0, false, false)},
			[]bool{true, false, false}},
		"no plan": {[]*Plan{nil, plan(9, 9, 9)}, []bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ParetoFront(c.plans); !slices.Equal(got, c.want) {
				t.Errorf("front %v, want %v", got, c.want)
			}
		})
	}
}
