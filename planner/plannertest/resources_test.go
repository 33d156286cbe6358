package plannertest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/planner"
)

// withResources makes a case of several resources, half of them under rules.
func withResources(r *rand.Rand, draw func(*rand.Rand) *Case) *Case {
	c := draw(r)
	if r.IntN(2) == 0 {
		Restrict(r, c)
	}
	AddResources(r, c)
	return c
}

// What the searches leave out must not matter with resources either.
func TestSearchesOfResourcesAreExhaustive(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 1))
	for range 400 {
		c := withResources(r, Varied)
		ScaleResources(r, c)
		c.Items = c.Items[:min(len(c.Items), 6)]
		s := c.Snapshot()
		if err := CheckSnapshot(s); err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		m := newModel(s, c.Options)
		var best *Score
		everyAssignment(m, func(a Assignment) {
			if sc := m.score(a); best == nil || sc.Compare(*best) < 0 {
				best = &sc
			}
		})
		if a, got := Optimum(s, c.Options); got.Compare(*best) != 0 || m.score(a) != got {
			t.Fatalf("optimum %+v, want %+v\n%s", got, *best, c)
		}
		giveWay := []int{r.IntN(len(m.dims)+1) - 1, r.IntN(len(m.dims)+1) - 1}
		for _, of := range giveWay {
			got, ok := Least(s, c.Options, of, giveWay...)
			want, possible := leastOfAll(s, c.Options, of, giveWay)
			if ok != possible || ok && !alike(got, want) {
				t.Fatalf("least of %d beside %v is %v (%t), want %v (%t)\n%s", of, giveWay, got, ok, want, possible, c)
			}
		}
	}
}

// leastOfAll is [Least] by trying all assignments.
func leastOfAll(s *planner.Snapshot, o planner.Options, of int, giveWay []int) (least float64, ok bool) {
	m := newModel(s, anywhere(o))
	least = math.Inf(1)
	everyAssignment(m, func(a Assignment) {
		if m.o.TableLimit != nil && !slices.Contains(giveWay, Table) && m.tableSize(a) > *m.o.TableLimit {
			return
		}
		reached := float64(m.tableSize(a))
		for r, x := range m.dims {
			level := 0.0
			for _, d := range m.live() {
				level = max(level, x.level(d, x.loads(a)[d]))
				if !slices.Contains(giveWay, r) && !fits(x.loads(a)[d], x.bound[d]) {
					return
				}
			}
			if r == of {
				reached = level
			}
		}
		least, ok = min(least, reached), true
	})
	return least, ok
}

// No strategy beats the search, and each keeps every key once, where it may be, and hot keys where
// they were placed.
func TestLiteralResources(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 2))
	for range 1500 {
		c := withResources(r, Tiny)
		s := c.Snapshot()
		m := newModel(s, c.Options)
		_, best := Optimum(s, c.Options)
		for _, name := range literals {
			if name == planner.Readj {
				continue
			}
			a, err := Literal(name, s, c.Options)
			if err != nil {
				t.Fatal(err)
			}
			if m.score(a).Compare(best) < 0 {
				t.Fatalf("%s beats the optimum: %+v against %+v\n%s", name, m.score(a), best, c)
			}
			for i, units := range a {
				where := slices.Index(units, 1)
				if slices.Max(units) != 1 || !m.may(i, where) || m.isHot(i) && m.hotUnits[i][0] != where {
					t.Fatalf("%s puts item %d on %v\n%s", name, i, units, c)
				}
			}
		}
	}
}

// A resource that is cost a second time, or of which there is more than enough, changes no optimum
// and nothing that is hot.
func TestNeedlessResources(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	for range 1000 {
		c := Varied(r)
		if r.IntN(2) == 0 {
			Restrict(r, c)
		}
		c.Counted = false
		d := c.Clone()
		d.Resources = []planner.Resource{{Name: "again", ThetaMax: c.Options.ThetaMax}, {Name: "plenty", Limited: true}}
		for i := range d.Items {
			d.Items[i].Amounts = []float64{c.Items[i].Cost, 1}
		}
		for i := range d.Instances {
			in := &d.Instances[i]
			in.Capacities, in.ResidualAmounts = []float64{in.Capacity, 1000}, []float64{in.ResidualCost, 0}
		}
		_, want := Optimum(c.Snapshot(), c.Options)
		_, got := Optimum(d.Snapshot(), d.Options)
		before, after := newModel(c.Snapshot(), c.Options), newModel(d.Snapshot(), d.Options)
		if len(before.hot) > 0 && c.Open != nil { // under rules cost alone is held against capacities, not against bounds
			continue
		}
		if !slices.Equal(before.hot, after.hot) || (got.Violated > 0) != (want.Violated > 0) ||
			want.Violated == 0 && got.Objective != want.Objective {
			t.Fatalf("optimum %+v, hot %v; without resources %+v, hot %v\n%s", got, after.hot, want, before.hot, c)
		}
	}
}

// The cases are what they are meant to be: mostly feasible, not for free, and decided by resources.
func TestCasesOfResources(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	const cases = 1500
	var feasible, priced, decided, hot, limited, empty, infeasible int
	for range cases {
		c := withResources(r, Varied)
		s := c.Snapshot()
		if err := CheckSnapshot(s); err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		m := newModel(s, c.Options)
		_, best := Optimum(s, c.Options)
		cost := c.Clone()
		cost.Resources = nil
		_, alone := Optimum(cost.Snapshot(), c.Options)
		for what, n := range map[*int]bool{
			&feasible: best.Violated == 0, &priced: best.Violated == 0 && best.Objective > 0,
			&decided: best.Violated == 0 && best.Objective > alone.Objective,
			&hot:     len(m.hot) > 0, &infeasible: best.Violated > 0 && alone.Violated == 0,
			&limited: slices.ContainsFunc(m.dims, func(x *dimension) bool { return x.Limited }),
			&empty: slices.ContainsFunc(m.dims, func(x *dimension) bool {
				return x.Limited && slices.ContainsFunc(m.live(), func(d int) bool { return x.capacity[d] == 0 })
			}),
		} {
			if n {
				*what++
			}
		}
	}
	t.Logf("%d cases: %d feasible, %d of them not for free, %d moving more because of resources; %d infeasible "+
		"because of them, %d with hot keys, %d with limits, %d of these of 0",
		cases, feasible, priced, decided, infeasible, hot, limited, empty)
	if feasible < cases/2 || priced < feasible/2 || decided < feasible/6 || infeasible < cases/20 || hot < cases/20 {
		t.Error("too few cases are feasible, not for free, decided by resources, infeasible or hot")
	}
}
