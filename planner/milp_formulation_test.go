package planner_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/milp"
	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// solved is the solver's answer to a planning problem.
type solved struct {
	status milp.Status
	// objective is that of assignment, recounted: Σ (S(k)+o). bound is what the solver has
	// proven no assignment to be below; 0 when it has proven nothing.
	objective, bound float64
	assignment       plannertest.Assignment // nil unless Optimal or Feasible
	time             time.Duration
}

var errContradiction = errors.New("the solver contradicts itself")

// solveWith finds the best assignment for planner.MinMigration: that of the least Σ (S(k)+o)
// with every load at most b_d·(1+1e-9) and the table within its limit, hot keys where the
// rules place them. It reads the problem with package plannertest, so that it shares nothing
// with the planner but its types. Merged, equal keys are one integer variable instead of a
// binary variable of each; which is solved faster depends on the case.
func solveWith(ctx context.Context, s *planner.Snapshot, o planner.Options, limit time.Duration, merged bool) (
	solved, error,
) {
	f := formulate(s, o, merged)
	switch {
	case f.impossible:
		return solved{status: milp.Infeasible}, nil
	case len(f.variables) == 0: // nothing can move, so there is nothing to solve
		a, err := f.assignment(nil)
		objective, ok := f.recount(a)
		if !ok {
			return solved{status: milp.Infeasible}, err
		}
		return solved{status: milp.Optimal, objective: objective, bound: objective, assignment: a}, err
	}
	x, err := f.program.Solve(ctx, limit)
	if err != nil {
		return solved{}, err
	}
	return f.judge(x)
}

// judge turns the solver's answer into an assignment and recounts it.
func (f *formulation) judge(x milp.Solution) (solved, error) {
	r := solved{status: x.Status, bound: x.Bound/f.weights + f.constant, time: x.Time}
	switch x.Status {
	case milp.Infeasible:
		r.bound = 0
		return r, nil
	case milp.Unknown:
		return r, nil
	}
	a, err := f.assignment(x.Values)
	if err != nil {
		return r, err
	}
	objective, ok := f.recount(a)
	if !ok { // rounding lets the solver's assignment violate a constraint
		r.status = milp.Unknown
		return r, nil
	}
	r.objective, r.assignment = objective, a
	claimed := x.Objective/f.weights + f.constant
	if math.Abs(claimed-objective) > 1e-6*max(claimed, objective, 1/f.weights) {
		return r, fmt.Errorf("%w: it says %v, its assignment has %v", errContradiction, claimed, objective)
	}
	return r, nil
}

// formulation is a problem as a mixed integer linear program. A variable counts
// the units of a class that go to an instance other than their own; what is left
// stays.
type formulation struct {
	s         *planner.Snapshot
	o         planner.Options
	problem   plannertest.Problem
	bounds    []bounds // of cost, then of other resources
	classes   []class
	variables []going // of the program
	program   milp.Program

	weights    float64 // scale of weights, a power of two
	constant   float64 // added to it: what the hot keys move
	impossible bool    // some unit has to leave, and fits nowhere
}

// bounds are those of live instances in cost or another resource.
type bounds struct {
	amount            []float64 // of each item
	background, bound []float64
	scale             float64 // of amounts, a power of two
}

// class is what the solver does not tell apart: the units of an item, or all of
// equal cost, state and places.
type class struct {
	amounts    []float64 // by what there are bounds in
	state      float64
	from, home int32
	items      []int
	units      int64
}

// going is how many units of a class go to an instance.
type going struct {
	class int
	to    int32
}

func formulate(s *planner.Snapshot, o planner.Options, merge bool) *formulation {
	f := &formulation{s: s, o: o, problem: plannertest.ProblemOf(s, o)}
	f.bounds = append(f.bounds, bounds{s.Cost, f.problem.Background, f.problem.Bound, 1})
	for _, x := range f.problem.Others {
		f.bounds = append(f.bounds, bounds{x.Amount, x.Background, x.Bound, 1})
	}
	f.classify(merge)
	f.setScales()
	f.choose()
	f.departures()
	for _, d := range f.problem.Live {
		for n := range f.bounds {
			f.load(n, int32(d))
		}
	}
	f.table()
	return f
}

// classify makes classes of the items that are not hot, and adds up what the hot
// ones move.
func (f *formulation) classify(merge bool) {
	type alike struct {
		amounts    string
		state      float64
		from, home int32
		rules      string // where it may be
		item       int    // 0 when equal items are merged
	}
	index := map[alike]int{}
	for i := range f.s.Cost {
		if places, hot := f.problem.Hot[i]; hot {
			for _, d := range places {
				if d != int(f.s.Current[i]) {
					f.constant += f.state(i) + f.o.KeyOverhead
				}
			}
			continue
		}
		var amounts []float64
		for _, x := range f.bounds {
			amounts = append(amounts, x.amount[i])
		}
		k := alike{fmt.Sprint(amounts), f.state(i), f.s.Current[i], f.s.Hash[i], "", i}
		if e := f.s.Eligibility; e != nil {
			k.rules = fmt.Sprint(e.Class[i])
		}
		if merge {
			k.item = 0
		}
		n, ok := index[k]
		if !ok {
			n = len(f.classes)
			index[k] = n
			f.classes = append(f.classes, class{amounts: amounts, state: k.state, from: k.from, home: k.home})
		}
		f.classes[n].items = append(f.classes[n].items, i)
		f.classes[n].units += f.count(i)
	}
}

func (f *formulation) state(i int) float64 {
	if f.s.State == nil {
		return 1
	}
	return f.s.State[i]
}

func (f *formulation) count(i int) int64 {
	if f.s.Count == nil {
		return 1
	}
	return f.s.Count[i]
}

func (f *formulation) weight(c class) float64 { return c.state + f.o.KeyOverhead }

// setScales leaves whole numbers up to some size alone, which the solver takes advantage of, and
// brings the greatest of others to about a million.
func (f *formulation) setScales() {
	var weights magnitude
	for _, c := range f.classes {
		weights.add(f.weight(c))
	}
	f.weights = weights.scale()
	for n := range f.bounds {
		x, amounts := &f.bounds[n], magnitude{}
		for _, c := range f.classes {
			amounts.add(c.amounts[n])
		}
		for _, d := range f.problem.Live {
			amounts.add(x.background[d])
		}
		x.scale = amounts.scale()
	}
}

type magnitude struct {
	greatest float64
	fraction bool
}

func (m *magnitude) add(x float64) {
	m.greatest = max(m.greatest, x)
	m.fraction = m.fraction || x != math.Trunc(x)
}

func (m *magnitude) scale() float64 {
	if m.greatest == 0 || !m.fraction && m.greatest < 1<<24 {
		return 1
	}
	_, e := math.Frexp(m.greatest)
	return math.Ldexp(1, 20-e)
}

// choose makes a variable of each place to which a class may go: those where it
// fits, and if it costs nothing only home, unless that is frozen.
func (f *formulation) choose() {
	for n, c := range f.classes {
		homeless := f.s.Instances[c.home].Frozen || !f.may(c, c.home)
		for _, d := range f.problem.Live {
			to := int32(d)
			if !f.may(c, to) {
				continue
			}
			fits, takes := true, slices.Max(c.amounts) > 0
			for n, x := range f.bounds {
				fits = fits && c.amounts[n] <= (x.bound[d]*(1+2e-9)-x.background[d])*(1+1e-9)
			}
			if to != c.from && (fits && (takes || homeless) || to == c.home) {
				f.variables = append(f.variables, going{n, to})
				f.program.Count(f.weight(c)*f.weights, c.units)
			}
		}
	}
}

// may reports whether a class may be on an instance.
func (f *formulation) may(c class, d int32) bool {
	e := f.s.Eligibility
	return e == nil || e.Open[e.Class[c.items[0]]][d]
}

// departures: no more units leave than there are, and all leave from drained
// instances.
func (f *formulation) departures() {
	rows := make([]map[int]float64, len(f.classes))
	for n := range rows {
		rows[n] = map[int]float64{}
	}
	for v, x := range f.variables {
		rows[x.class][v] = 1
	}
	for n, c := range f.classes {
		leave := rows[n]
		switch drained := f.s.Instances[c.from].Drained || !f.may(c, c.from); {
		case drained && len(leave) == 0:
			f.impossible = true
		case drained:
			f.program.Exactly(float64(c.units), leave)
		case len(leave) > 1: // else the variable's own bound says it
			f.program.AtMost(float64(c.units), leave)
		}
	}
}

// load bounds the load of a live instance in cost or another resource.
func (f *formulation) load(n int, d int32) {
	x := f.bounds[n]
	limit := x.bound[d]*(1+1e-9) - x.background[d]
	for _, c := range f.classes {
		if c.from == d {
			limit -= c.amounts[n] * float64(c.units)
		}
	}
	terms := f.terms(func(c class, to int32) float64 {
		switch d {
		case c.from:
			return -c.amounts[n] * x.scale
		case to:
			return c.amounts[n] * x.scale
		}
		return 0
	})
	if limit *= x.scale; x.scale == 1 && whole(terms) {
		limit = math.Floor(limit) // says the same, more sharply
	}
	f.atMost(limit, terms)
}

func whole(terms map[int]float64) bool {
	for x := range maps.Values(terms) {
		if x != math.Trunc(x) {
			return false
		}
	}
	return true
}

// terms are those of the variables whose coefficient is not 0.
func (f *formulation) terms(coefficient func(c class, to int32) float64) map[int]float64 {
	terms := map[int]float64{}
	for v, x := range f.variables {
		if by := coefficient(f.classes[x.class], x.to); by != 0 {
			terms[v] = by
		}
	}
	return terms
}

// atMost adds a constraint. One without variables holds, or the problem is infeasible.
func (f *formulation) atMost(limit float64, terms map[int]float64) {
	switch {
	case len(terms) > 0:
		f.program.AtMost(limit, terms)
	case limit < 0:
		f.impossible = true
	}
}

// table bounds the number of entries.
func (f *formulation) table() {
	if f.o.TableLimit == nil {
		return
	}
	limit := *f.o.TableLimit - f.problem.Retained
	for i, places := range f.problem.Hot {
		for _, d := range places {
			if d != int(f.s.Hash[i]) {
				limit--
			}
		}
	}
	for _, c := range f.classes {
		if c.from != c.home {
			limit -= c.units
		}
	}
	f.atMost(float64(limit), f.terms(func(c class, to int32) float64 {
		switch c.home {
		case c.from:
			return 1
		case to:
			return -1
		}
		return 0
	}))
}

// assignment distributes the units of each class over its items.
func (f *formulation) assignment(values []int64) (plannertest.Assignment, error) {
	a := plannertest.CurrentAssignment(f.s)
	for i, places := range f.problem.Hot {
		for _, d := range places {
			a[i][f.s.Current[i]]--
			a[i][d]++
		}
	}
	next := make([]int, len(f.classes)) // items of each class that have left wholly
	for v, x := range f.variables {
		c := f.classes[x.class]
		for units := values[v]; units > 0; {
			if next[x.class] == len(c.items) {
				return nil, fmt.Errorf("%w: more units leave than there are", errContradiction)
			}
			at := a[c.items[next[x.class]]]
			n := min(units, at[c.from])
			at[c.from] -= n
			at[x.to] += n
			units -= n
			if at[c.from] == 0 {
				next[x.class]++
			}
		}
	}
	return a, nil
}

// recount returns what an assignment is worth and whether it meets all
// constraints.
func (f *formulation) recount(a plannertest.Assignment) (objective float64, ok bool) {
	for i, places := range a {
		for d, n := range places {
			if n > 0 && !f.s.Instances[d].Live() {
				return float64(i), false
			}
		}
	}
	score := plannertest.ScoreOf(f.s, f.o, a)
	return score.Objective, score.Violated == 0
}

// The solver and the exhaustive search must agree on what is possible and what
// is best.
func TestSolverAgainstExhaustiveSearch(t *testing.T) {
	milp.Require(t)
	t.Parallel()
	r := rand.New(rand.NewPCG(71, 71))
	feasible, priced := 0, 0
	cases := deep.Count(45, 150)
	for n := range cases {
		c := plannertest.Tiny(r)
		if n%3 == 0 {
			c = resourceful(r, plannertest.Tiny)
		}
		s := c.Snapshot()
		got, err := solveWith(t.Context(), s, c.Options, 10*time.Second, n%2 == 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		_, want := plannertest.Optimum(s, c.Options)
		if want.Violated > 0 {
			if got.status != milp.Infeasible {
				t.Errorf("%s, but no assignment meets all constraints\n%s", got.status, c)
			}
			continue
		}
		feasible++
		if want.Objective > 0 {
			priced++
		}
		if got.status != milp.Optimal || math.Abs(got.objective-want.Objective) > 1e-9 ||
			math.Abs(got.bound-want.Objective) > 1e-6 {
			t.Errorf("%s: objective %v, bound %v, want %v\n%s", got.status, got.objective, got.bound, want.Objective, c)
		}
	}
	if feasible < cases/3 || priced < cases/5 {
		t.Errorf("%d cases are feasible, %d with an objective above 0: too few", feasible, priced)
	}
}

// When time runs out, what the solver has found and what it has proven enclose
// the optimum.
func TestSolverTimeLimit(t *testing.T) {
	milp.Require(t)
	t.Parallel()
	c := plannertest.Medium(rand.New(rand.NewPCG(73, 73)), 2000, 10)
	c.Options = planner.Options{ThetaMax: 0.0005}
	got, err := solveWith(t.Context(), c.Snapshot(), c.Options, time.Second, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s after %v: objective %v, bound %v", got.status, got.time, got.objective, got.bound)
	if got.assignment != nil && got.bound > got.objective*(1+1e-6) {
		t.Errorf("%s: bound %v above the objective %v", got.status, got.bound, got.objective)
	}
}
