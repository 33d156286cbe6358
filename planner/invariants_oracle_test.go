package planner_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// names lists all registered strategies.
func names() []string {
	var ns []string
	for _, info := range planner.Strategies() {
		ns = append(ns, info.Name)
	}
	return ns
}

// costs is how the time of a strategy grows.
func costs(strategy string) planner.CostClass {
	info, _ := planner.Lookup(strategy)
	return info.Cost
}

func run(t *testing.T, strategy string, s *planner.Snapshot, o planner.Options) *planner.Plan {
	t.Helper()
	p, err := planner.Run(strategy, s, o)
	if err != nil {
		t.Fatalf("%s: %v", strategy, err)
	}
	return p
}

// checkCase runs a strategy on a case and returns what is wrong with its plan.
func checkCase(strategy string, c *plannertest.Case) error {
	c = quick(c)
	s := c.Snapshot()
	if err := plannertest.CheckSnapshot(s); err != nil {
		return err
	}
	p, err := planner.Run(strategy, s, c.Options)
	if err != nil {
		return err
	}
	return plannertest.Check(s, c.Options, p)
}

// quick is a case of little effort but in deep runs.
func quick(c *plannertest.Case) *plannertest.Case {
	if !deep.On() || testing.Short() {
		c = c.Clone()
		c.Options.Effort = planner.EffortFast
	}
	return c
}

// failShrunk reports a failing case after making it as small as it gets.
func failShrunk(t *testing.T, strategy string, c *plannertest.Case, failure func(*plannertest.Case) error) {
	t.Helper()
	if !testing.Short() {
		c = c.Shrink(func(d *plannertest.Case) bool {
			return len(d.Items) > 0 && plannertest.CheckSnapshot(d.Snapshot()) == nil && failure(d) != nil
		})
	}
	t.Errorf("%s: %v\n%s", strategy, failure(c), c)
}

func TestInvariantsTiny(t *testing.T) {
	t.Parallel()
	for _, strategy := range names() {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := deep.Rand(t, 7)
			for range deep.Cases(5000) {
				c := plannertest.Tiny(r)
				if checkCase(strategy, c) != nil {
					failShrunk(t, strategy, c, func(d *plannertest.Case) error { return checkCase(strategy, d) })
					return
				}
			}
		})
	}
}

func TestInvariantsMedium(t *testing.T) {
	t.Parallel()
	for _, strategy := range names() {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := deep.Rand(t, 8)
			for range deep.Count(10, 40) {
				c := plannertest.Medium(r, 50+r.IntN(250), 2+r.IntN(7))
				if err := checkCase(strategy, c); err != nil {
					t.Fatalf("%v\n%s", err, c)
				}
			}
		})
	}
}

// Costs and states that are no sums of powers of two, and very far apart.
func TestInvariantsFloat(t *testing.T) {
	t.Parallel()
	r := deep.Rand(t, 9)
	for range deep.Cases(3000) {
		c := plannertest.Tiny(r)
		for i := range c.Items {
			it := &c.Items[i]
			switch r.IntN(3) {
			case 0:
				it.Cost, it.State = it.Cost*0.1, it.State*0.1
			case 1:
				it.Cost, it.State = r.Float64(), r.ExpFloat64()
			case 2:
				it.Cost *= 1e-3 * r.Float64()
			}
		}
		for _, strategy := range names() {
			if err := checkCase(strategy, c); err != nil {
				t.Fatalf("%s: %v\n%s", strategy, err, c)
			}
		}
	}
}

// A work budget may cut a plan short, or stop it before there is any, but not
// make it wrong; and the work units of a plan are the budget that repeats it.
func TestInvariantsWorkBudget(t *testing.T) {
	t.Parallel()
	r := deep.Rand(t, 10)
	for range deep.Cases(150) {
		c := plannertest.Tiny(r)
		s := c.Snapshot()
		for _, strategy := range names() {
			o := c.Options
			whole := run(t, strategy, s, o)
			for o.WorkBudget = 1; o.WorkBudget < 2*whole.WorkUnits+2; o.WorkBudget += 1 + o.WorkBudget/4 {
				p, err := planner.Run(strategy, s, o)
				if errors.Is(err, planner.ErrStopped) && o.WorkBudget < whole.WorkUnits {
					continue
				}
				if err == nil {
					err = plannertest.Check(s, o, p)
				}
				if err != nil {
					t.Fatalf("%s, budget %d: %v\n%s", strategy, o.WorkBudget, err, c)
				}
				if o.WorkBudget >= whole.WorkUnits && (p.EndReason != planner.EndCompleted || !sameMoves(p, whole)) {
					t.Fatalf("%s, budget %d: %s, though %d suffice\n%s", strategy, o.WorkBudget, p.EndReason, whole.WorkUnits, c)
				}
				again := o
				if again.WorkBudget = p.WorkUnits; p.WorkUnits > 0 && !sameMoves(run(t, strategy, s, again), p) {
					t.Fatalf("%s: its %d work units do not repeat the plan\n%s", strategy, p.WorkUnits, c)
				}
			}
		}
	}
}

func sameMoves(a, b *planner.Plan) bool { return slices.Equal(a.Moves, b.Moves) }

// Stopping at any moment gives ErrStopped or a sound plan, which its work units
// repeat.
func TestInvariantsStop(t *testing.T) {
	t.Parallel()
	r := deep.Rand(t, 11)
	for n := range deep.Cases(200) {
		c := plannertest.Tiny(r)
		for _, strategy := range names() {
			asked := 0
			c.Options.Stop = func() bool { asked++; return asked > n%10 }
			s := c.Snapshot()
			p, err := planner.Run(strategy, s, c.Options)
			if errors.Is(err, planner.ErrStopped) {
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", strategy, err, c)
			}
			if err := plannertest.Check(s, c.Options, p); err != nil {
				t.Fatalf("%s: %v\n%s", strategy, err, c)
			}
			if p.EndReason != planner.EndStopped || p.WorkUnits == 0 {
				continue
			}
			replay := c.Options
			replay.Stop, replay.WorkBudget = nil, p.WorkUnits
			if q := run(t, strategy, s, replay); !sameMoves(p, q) {
				t.Fatalf("%s: its %d work units do not repeat the stopped plan\n%s", strategy, p.WorkUnits, c)
			}
		}
	}
}

func TestInputNotMutated(t *testing.T) {
	t.Parallel()
	r := deep.Rand(t, 12)
	for range deep.Cases(500) {
		c := plannertest.Tiny(r)
		s, untouched := c.Snapshot(), c.Snapshot()
		for _, strategy := range names() {
			run(t, strategy, s, c.Options)
			if !reflect.DeepEqual(s, untouched) {
				t.Fatalf("%s changed its input\n%s", strategy, c)
			}
		}
	}
}

// The checker must notice each figure that is off.
func TestCheckNoticesChanges(t *testing.T) {
	t.Parallel()
	c := figure4()
	c.Items = append(c.Items, plannertest.Item{Key: "hot", Cost: 90, State: 3, Count: 1, Current: 1, Hash: 1,
		Entry: planner.NoInstance})
	c.Absent = []planner.Entry{{Key: []byte("gone"), Instance: 1}}
	s := c.Snapshot()
	c.Options.ThetaMax = 0.01
	changes := map[string]func(p *planner.Plan){
		"balanced":        func(p *planner.Plan) { p.Balanced = !p.Balanced },
		"within limit":    func(p *planner.Plan) { p.TableWithinLimit = false },
		"theta":           func(p *planner.Plan) { p.Theta.After += 1e-6 },
		"theta before":    func(p *planner.Plan) { p.Theta.Before -= 1e-6 },
		"underload":       func(p *planner.Plan) { p.Underload.After += 1e-6 },
		"skewness":        func(p *planner.Plan) { p.Skewness.After += 1e-6 },
		"table before":    func(p *planner.Plan) { p.TableBefore++ },
		"table after":     func(p *planner.Plan) { p.TableAfter-- },
		"keys":            func(p *planner.Plan) { p.Migration.Keys++ },
		"state":           func(p *planner.Plan) { p.Migration.State += 1e-6 },
		"fraction":        func(p *planner.Plan) { p.Migration.Fraction *= 1.00001 },
		"objective":       func(p *planner.Plan) { p.Migration.Objective += 1 },
		"fair":            func(p *planner.Plan) { p.Instances[0].Fair *= 1.00001 },
		"max":             func(p *planner.Plan) { p.Instances[0].Max *= 1.00001 },
		"bound":           func(p *planner.Plan) { p.Instances[1].Bound *= 1.00001 },
		"load before":     func(p *planner.Plan) { p.Instances[1].Before *= 1.00001 },
		"load after":      func(p *planner.Plan) { p.Instances[1].After *= 1.00001 },
		"keys before":     func(p *planner.Plan) { p.Instances[1].KeysBefore++ },
		"keys after":      func(p *planner.Plan) { p.Instances[1].KeysAfter++ },
		"state in":        func(p *planner.Plan) { p.Instances[0].StateIn++ },
		"state out":       func(p *planner.Plan) { p.Instances[1].StateOut++ },
		"no hot key":      func(p *planner.Plan) { p.HotKeys = nil },
		"hot cost":        func(p *planner.Plan) { p.HotKeys[0].Cost++ },
		"hot item":        func(p *planner.Plan) { p.HotKeys[0].Item-- },
		"hot instance":    func(p *planner.Plan) { p.HotKeys[0].Instance ^= 1 },
		"pieces":          func(p *planner.Plan) { p.HotKeys[0].Pieces++ },
		"forced theta":    func(p *planner.Plan) { p.HotKeys[0].ForcedTheta *= 1.00001 },
		"move lost":       func(p *planner.Plan) { p.Moves = p.Moves[1:] },
		"move doubled":    func(p *planner.Plan) { p.Moves = append(p.Moves, p.Moves[0]) },
		"move order":      func(p *planner.Plan) { p.Moves[0], p.Moves[1] = p.Moves[1], p.Moves[0] },
		"move source":     func(p *planner.Plan) { p.Moves[0].From ^= 1 },
		"move nowhere":    func(p *planner.Plan) { p.Moves[0].To = p.Moves[0].From },
		"move unknown":    func(p *planner.Plan) { p.Moves[0].To = 9 },
		"move count":      func(p *planner.Plan) { p.Moves[0].Count = 2 },
		"reason":          func(p *planner.Plan) { p.Moves[0].Reason = planner.ReasonFill },
		"set lost":        func(p *planner.Plan) { p.Set = p.Set[1:] },
		"set doubled":     func(p *planner.Plan) { p.Set = append(p.Set, p.Set[0]) },
		"set elsewhere":   func(p *planner.Plan) { p.Set[0].To ^= 1 },
		"unset lost":      func(p *planner.Plan) { p.Unset = nil },
		"unset needless":  func(p *planner.Plan) { p.Unset = append(p.Unset, planner.Removal{Item: 0, Entry: 0}) },
		"cause lost":      func(p *planner.Plan) { p.Causes = nil },
		"cause needless":  func(p *planner.Plan) { p.Causes = append(p.Causes, planner.CauseTableLimit) },
		"end reason":      func(p *planner.Plan) { p.EndReason = planner.EndStopped },
		"strategy":        func(p *planner.Plan) { p.Strategy = "" },
		"other snapshot":  func(p *planner.Plan) { p.Snapshot = c.Snapshot() },
		"other theta_max": func(p *planner.Plan) { p.Options.ThetaMax = 0.5 },
	}
	for what, change := range changes {
		p := run(t, planner.LPT, s, c.Options)
		if err := plannertest.Check(s, c.Options, p); err != nil {
			t.Fatal(err)
		}
		if len(p.Moves) < 2 || len(p.Set) < 1 || len(p.Unset) < 1 {
			t.Fatalf("the case is too simple: %d moves, %d set, %d unset", len(p.Moves), len(p.Set), len(p.Unset))
		}
		if change(p); plannertest.Check(s, c.Options, p) == nil {
			t.Errorf("a change of %s went unnoticed", what)
		}
	}
}
