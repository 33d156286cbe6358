package parameters

import (
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// variants of what a plan may depend on, where the planner knows it as an option. The
// goals are not among them, see [planner.Info.Reads].
func variants() map[string]func(*Values) {
	out := map[string]func(*Values){}
	for _, p := range All() {
		var value any
		switch {
		case slices.Contains([]string{"theta_max", "theta_min", "key_overhead", "objective", "migration_limit"}, p.Name),
			!p.IsOption():
			continue // part of every goal, or not an option of the planner
		case p.Type == Choice:
			value = p.Choices[len(p.Choices)-1].Value
		case p.Name == "work_budget":
			value = int64(1 << 40) // a small one cuts plans short
		case p.Type == Integer:
			value = int64(3)
		case p.Default == 0.0:
			value = 5.0
		case p.Default != nil:
			value = 0.0
		default:
			value = 0.75
		}
		out[p.Name] = func(v *Values) { p.Set(v, value) }
	}
	return out
}

// A strategy reads the options that it is registered with, and no other: its moves
// stay what they are when another one changes.
func TestReads(t *testing.T) {
	t.Parallel()
	for _, info := range planner.Strategies() {
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(90, 90))
			read := map[string]bool{}
			for range 100 {
				c := plannertest.Tiny(r) // small enough for ties, which a later criterion decides
				if r.IntN(10) == 0 {
					c = plannertest.Medium(r, 50+r.IntN(50), 2+r.IntN(5))
				}
				for _, limit := range []*int64{nil, new(int64)} { // some options count where a limit binds
					plain := Defaults()
					plain.ThetaMax, plain.TableLimit = c.Options.ThetaMax, limit
					for name, vary := range variants() {
						other := plain
						vary(&other)
						read[name] = read[name] || differ(t, info, c, plain, other)
					}
				}
			}
			for name := range variants() {
				if read[name] != info.DependsOn(name) {
					t.Errorf("reads %s: %v, registered: %v", name, read[name], info.DependsOn(name))
				}
			}
		})
	}
}

// differ reports whether a strategy moves other keys under other values, where it has
// something to do under both.
func differ(t *testing.T, info planner.Info, c *plannertest.Case, a, b Values) bool {
	t.Helper()
	var plans [2]*planner.Plan
	for i, v := range []Values{a, b} {
		p, err := info.Plan(c.Snapshot(), v.Planner())
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(p.Causes, planner.CauseBalanced) {
			return false
		}
		plans[i] = p
	}
	return !plannertest.AssignmentOf(plans[0]).Equal(plannertest.AssignmentOf(plans[1]))
}
