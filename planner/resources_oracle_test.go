package planner_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// resourceful makes a case of several resources, every other one under rules.
func resourceful(r *rand.Rand, make func(*rand.Rand) *plannertest.Case) *plannertest.Case {
	c := make(r)
	if r.IntN(2) == 0 {
		plannertest.Restrict(r, c)
	}
	plannertest.AddResources(r, c)
	return c
}

// All strategies that are defined for resources do with them as the literal implementation does.
func TestResourcesLiterally(t *testing.T) {
	t.Parallel()
	for _, strategy := range literals {
		if strategy == planner.Readj {
			continue
		}
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := deep.Rand(t, 31)
			for n := range deep.Cases(4000) {
				c := resourceful(r, plannertest.Tiny)
				if n%40 == 0 {
					c = resourceful(r, func(r *rand.Rand) *plannertest.Case { return plannertest.Medium(r, 30, 2+r.IntN(5)) })
				}
				if differs(strategy, c) != nil {
					failShrunk(t, strategy, c, func(d *plannertest.Case) error { return differs(strategy, d) })
					return
				}
			}
		})
	}
}

func TestResourcesInvariants(t *testing.T) {
	t.Parallel()
	for _, strategy := range names() {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			r := deep.Rand(t, 32)
			for n := range deep.Cases(3000) {
				c := resourceful(r, plannertest.Tiny)
				plannertest.ScaleResources(r, c)
				if n%50 == 0 {
					c = resourceful(r, func(r *rand.Rand) *plannertest.Case {
						return plannertest.Medium(r, 20+r.IntN(20), 2+r.IntN(6))
					})
				}
				if checkCase(strategy, c) != nil {
					failShrunk(t, strategy, c, func(d *plannertest.Case) error { return checkCase(strategy, d) })
					return
				}
			}
		})
	}
}

// equip gives a case resources beside cost, of amounts of all magnitudes.
func equip(r *rand.Rand, c *plannertest.Case) {
	*c = *resourceful(r, func(*rand.Rand) *plannertest.Case { return c })
	plannertest.ScaleResources(r, c)
}

// TestResourcesOracle holds certificates and strategy optimal, with several resources, against exhaustive search.
func TestResourcesOracle(t *testing.T) {
	t.Parallel()
	y := certify(t, oracleCases(t, deep.Count(1500, 3000)), 83, levels[:1], equip)
	if y.reached < y.feasible*99/100 {
		t.Errorf("optimal reaches the optimum in %d of %d feasible cases, want 99 %%", y.reached, y.feasible)
	}
}

// TestResourcesBalanceOracle does the same for the least θ within a migration limit.
func TestResourcesBalanceOracle(t *testing.T) {
	t.Parallel()
	balance(t, oracleCases(t, deep.Count(300, 600)), 84, equip)
}

// Neither the order of rows, nor what resources are called, nor their order changes what a plan moves.
func TestOrderOfResourcesDoesNotMatter(t *testing.T) {
	t.Parallel()
	r := deep.Rand(t, 33)
	for range deep.Cases(800) {
		c := quick(resourceful(r, plannertest.Tiny))
		d := c.Clone()
		r.Shuffle(len(d.Items), func(i, j int) { d.Items[i], d.Items[j] = d.Items[j], d.Items[i] })
		r.Shuffle(len(d.Resources), func(n, m int) {
			d.Resources[n], d.Resources[m] = d.Resources[m], d.Resources[n]
			swap := func(list []float64) { list[n], list[m] = list[m], list[n] }
			for i := range d.Items {
				swap(d.Items[i].Amounts)
			}
			for i := range d.Instances {
				swap(d.Instances[i].Capacities)
				swap(d.Instances[i].ResidualAmounts)
			}
		})
		for n := range d.Resources {
			d.Resources[n].Name = fmt.Sprintf("another%d", n)
		}
		for _, strategy := range names() {
			moves := func(c *plannertest.Case) (list []string) {
				p := run(t, strategy, c.Snapshot(), c.Options)
				for _, m := range p.Moves {
					list = append(list, fmt.Sprintf("%s → %d %s", p.Snapshot.Keys.At(int(m.Item)), m.To, m.Reason))
				}
				return append(list, fmt.Sprintf("%v %v", p.Migration, p.Causes))
			}
			if got, want := moves(d), moves(c); !slices.Equal(got, want) {
				t.Fatalf("%s: %q, want %q\n%s\n%s", strategy, got, want, d, c)
			}
		}
	}
}

// TestFairLoadsOfResources lets a class of keys be on one more instance: the greatest fair load per
// capacity of a resource does not rise, nor does the least part of a capacity that plans take.
func TestFairLoadsOfResources(t *testing.T) {
	t.Parallel()
	r := deep.Rand(t, 34)
	figures := func(c *plannertest.Case) (rates []float64) {
		s := c.Snapshot()
		p, err := planner.Inspect(s, planner.Options{ThetaMax: c.Options.ThetaMax, Certificate: planner.CertificateOff})
		if err != nil {
			t.Fatal(err)
		}
		for n, x := range plannertest.ProblemOf(s, planner.Options{}).Others {
			rate := 0.0
			if c.Resources[n].Limited {
				var others []int
				for r := range len(c.Resources) + 1 {
					others = append(others, r)
				}
				rate, _ = plannertest.Least(s, planner.Options{}, n+1, others...)
			}
			for d, y := range p.Resources[n].Instances {
				if math.Abs(y.Fair-x.Fair[d]) > 1e-9*max(y.Fair, x.Fair[d]) {
					t.Fatalf("the fair load of %d is %v, want %v\n%s", d, y.Fair, x.Fair[d], c)
				}
				if y.Fair > 0 {
					rate = max(rate, y.Fair/x.Capacity[d])
				}
			}
			rates = append(rates, rate)
		}
		return rates
	}
	for range deep.Cases(4000) {
		c := ruled(r, plannertest.Tiny)
		plannertest.AddResources(r, c)
		before := figures(c)
		open := c.Open[r.IntN(len(c.Open))]
		for d := range open {
			open[d] = open[d] || c.Instances[d].Live()
		}
		for n, after := range figures(c) {
			if after > before[n]*(1+1e-9) {
				t.Fatalf("resource %d rises from %v to %v\n%s", n, before[n], after, c)
			}
		}
	}
}

// A resource that is cost a second time, and one of which there is more than enough, change neither
// what the best plan moves nor what is proven of it.
func TestNeedlessResources(t *testing.T) {
	t.Parallel()
	r := deep.Rand(t, 35)
	for range deep.Cases(1500) {
		c := plannertest.Tiny(r)
		c.Counted = false
		d := c.Clone()
		d.Resources = []planner.Resource{{Name: "again", ThetaMax: c.Options.ThetaMax}, {Name: "plenty", Limited: true}}
		for i, it := range d.Items {
			d.Items[i].Amounts = []float64{it.Cost, 1}
		}
		for i := range d.Instances {
			in := &d.Instances[i]
			in.Capacities, in.ResidualAmounts = []float64{in.Capacity, 1000}, []float64{in.ResidualCost, 0}
		}
		want := run(t, planner.Optimal, c.Snapshot(), c.Options)
		got := run(t, planner.Optimal, d.Snapshot(), d.Options)
		x, y := want.Certificate, got.Certificate
		score := func(p *planner.Plan, c *plannertest.Case) plannertest.Score {
			return plannertest.ScoreOf(p.Snapshot, c.Options, plannertest.AssignmentOf(p))
		}
		before, after := score(want, c), score(got, d)
		if len(want.HotKeys) != len(got.HotKeys) || (before.Violated > 0) != (after.Violated > 0) ||
			before.Violated == 0 && (y.Infeasible || math.Abs(before.Objective-after.Objective) > 1e-9 ||
				y.LowerBound > before.Objective+1e-9) {
			t.Fatalf("%+v, certificate %+v\nwithout resources %+v, %+v\n%s", got.Migration, y, want.Migration, x, d)
		}
	}
}

// The checker must notice each figure of a resource that is off.
func TestCheckNoticesResources(t *testing.T) {
	t.Parallel()
	c := figure4()
	c.Resources = []planner.Resource{{Name: "memory", Limited: true}, {Name: "network", ThetaMax: 0.1}}
	for i := range c.Items {
		c.Items[i].Amounts = []float64{3, float64(1 + i)}
	}
	for i := range c.Instances {
		in := &c.Instances[i]
		in.Capacities, in.ResidualAmounts = []float64{100, 1}, []float64{0, 1}
	}
	c.Items[0].Amounts[0] = 200
	s := c.Snapshot()
	for what, change := range map[string]func(p *planner.Plan){
		"balanced":      func(p *planner.Plan) { p.Resources[1].Balanced = !p.Resources[1].Balanced },
		"all balanced":  func(p *planner.Plan) { p.Balanced = !p.Balanced },
		"level":         func(p *planner.Plan) { p.Resources[0].Level.After *= 1.00001 },
		"level before":  func(p *planner.Plan) { p.Resources[1].Level.Before += 1e-6 },
		"worst":         func(p *planner.Plan) { p.Resources[0].Worst ^= 1 },
		"load":          func(p *planner.Plan) { p.Resources[0].Instances[0].After++ },
		"load before":   func(p *planner.Plan) { p.Resources[1].Instances[1].Before *= 1.00001 },
		"fair":          func(p *planner.Plan) { p.Resources[1].Instances[0].Fair *= 1.00001 },
		"capacity":      func(p *planner.Plan) { p.Resources[0].Instances[0].Max++ },
		"no resource":   func(p *planner.Plan) { p.Resources = p.Resources[1:] },
		"hot resource":  func(p *planner.Plan) { p.HotKeys[0].Resource = "network" },
		"hot amount":    func(p *planner.Plan) { p.HotKeys[0].Cost++ },
		"forced level":  func(p *planner.Plan) { p.HotKeys[0].ForcedTheta *= 1.00001 },
		"cost not hot":  func(p *planner.Plan) { p.HotKeys[0].Resource = "" },
		"unknown names": func(p *planner.Plan) { p.HotKeys[0].Resource = "disk" },
	} {
		p := run(t, planner.LPT, s, c.Options)
		if err := plannertest.Check(s, c.Options, p); err != nil {
			t.Fatal(err)
		}
		if change(p); plannertest.Check(s, c.Options, p) == nil {
			t.Errorf("a change of %s went unnoticed", what)
		}
	}
}

// A plan that misses bounds does not raise the greatest part of a bound that is taken, unless keys have to leave.
func TestGreatestOverloadNeverRises(t *testing.T) {
	t.Parallel()
	r, missed, cases := deep.Rand(t, 37), 0, deep.Cases(deep.Count(1500, 3000))
	for n := range cases {
		c := plannertest.Tiny(r)
		if n%30 == 0 {
			c = plannertest.Medium(r, 20+r.IntN(20), 2+r.IntN(5))
		}
		plannertest.AddResources(r, c)
		for d := range c.Instances {
			c.Instances[d].Drained = false
		}
		s := c.Snapshot()
		for _, strategy := range names() {
			p := run(t, strategy, s, c.Options)
			before, after := 0.0, 0.0
			note := func(x, y, bound float64) {
				before, after = max(before, x/max(bound, 1e-300)), max(after, y/max(bound, 1e-300))
			}
			for d, x := range p.Instances {
				note(x.Before, x.After, x.Bound)
				for _, y := range p.Resources {
					note(y.Instances[d].Before, y.Instances[d].After, y.Instances[d].Bound)
				}
			}
			if len(p.HotKeys) > 0 || after <= 1+1e-9 {
				continue
			}
			if missed++; after > before*(1+2e-9) {
				t.Fatalf("%s: the greatest overload rises from %v to %v\n%s", strategy, before, after, c)
			}
		}
	}
	if missed < cases/4 {
		t.Errorf("bounds are missed by %d plans only", missed)
	}
}

// TestUnmetOfTable has loads that no plan keeps, whatever the table: what the proof then says of entries is no bound
// for plans that miss these, too.
func TestUnmetOfTable(t *testing.T) {
	t.Parallel()
	c := &plannertest.Case{
		NoState: true, TableKnown: true, Partial: true,
		Options: planner.Options{TableLimit: new(int64(1))},
		Instances: []planner.Instance{
			{Capacity: 1, Capacities: []float64{0.5}, ResidualAmounts: []float64{15}},
			{ID: 2, Capacity: 1, Capacities: []float64{1}, Drained: true, ResidualAmounts: []float64{0}},
			{ID: 4, Capacity: 1, Capacities: []float64{1}, ResidualAmounts: []float64{0}},
		},
		Items: []plannertest.Item{
			{Key: "k0", Cost: 5, Count: 1, Entry: 2, Amounts: []float64{3}},
			{Key: "k1", Cost: 1, Count: 1, Entry: -1, Amounts: []float64{0}},
			{Key: "k2", Cost: 4, Count: 1, Current: 2, Hash: 2, Entry: -1, Amounts: []float64{0}},
			{Key: "k3", Cost: 4, Count: 1, Entry: -1, Amounts: []float64{0}},
			{Key: "k4", Cost: 7, Count: 1, Entry: -1, Amounts: []float64{9}},
			{Key: "k5", Cost: 1, Count: 1, Current: 2, Hash: 2, Entry: -1, Amounts: []float64{0}},
			{Key: "k6", Cost: 9, Count: 1, Current: 2, Hash: 2, Entry: -1, Amounts: []float64{24}},
			{Key: "k7", Cost: 4, Count: 1, Current: 1, Hash: 0, Entry: -1, Amounts: []float64{6}},
		},
		Resources: []planner.Resource{{Name: "r1", ThetaMax: 0.5000000000000002}},
		Absent:    []planner.Entry{{Key: []byte("absent too"), Instance: 0}},
	}
	p := run(t, planner.Mixed, c.Snapshot(), c.Options)
	if got := p.Certificate.Unmet; len(got) != 2 || got[1].Constraint != planner.ConstraintTable || got[1].AtLeast != 2 {
		t.Errorf("%+v", got)
	}
}

// A key that is above θ_max of a resource by a rounding error alone keeps that bound, so that a certificate names
// the bounds of others that cannot be kept, not this one.
func TestUnmetWithinTolerance(t *testing.T) {
	t.Parallel()
	full := planner.Instance{Capacity: 1, Capacities: []float64{1, 1}, ResidualAmounts: []float64{0, 0}}
	c := &plannertest.Case{
		NoState: true, Options: planner.Options{Sigma: new(1.0)},
		Items: []plannertest.Item{
			{Key: "k0", Cost: 1, Count: 1, Current: 1, Hash: 1, Entry: -1, Amounts: []float64{0, 0.30000000000000004}},
		},
		Resources: []planner.Resource{{Name: "r2", From: "count"}, {Name: "r3", ThetaMax: 2}},
	}
	for _, id := range []int32{0, 2, 4} {
		full.ID = id
		c.Instances = append(c.Instances, full)
	}
	for _, u := range run(t, planner.Mixed, c.Snapshot(), c.Options).Certificate.Unmet {
		if u.Resource == "r3" {
			t.Errorf("%+v", u)
		}
	}
}

// A key whose amount is less than 2^−62 of all that is taken of a resource takes nothing of it; one of 2^−59 does.
func TestResourceResolution(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		amount float64
		moves  int
	}{{0x1p-64, 0}, {0x1p-59, 1}} {
		c := &plannertest.Case{
			Items: []plannertest.Item{{
				Key: "k", Cost: 1, State: 1, Count: 1, Current: 0, Hash: 0, Entry: -1, Amounts: []float64{x.amount},
			}},
			Resources: []planner.Resource{{Name: "disk", Limited: true}},
			Instances: []planner.Instance{
				{ID: 0, Capacity: 1, Capacities: []float64{0}, ResidualAmounts: []float64{0}},
				{ID: 1, Capacity: 1, Capacities: []float64{2}, ResidualAmounts: []float64{1}},
			},
			Options: planner.Options{ThetaMax: 1},
		}
		p := run(t, planner.Optimal, c.Snapshot(), c.Options)
		if len(p.Moves) != x.moves || !p.Balanced {
			t.Errorf("%v of 1: moves %+v, balanced %t", x.amount, p.Moves, p.Balanced)
		}
	}
}
