package plannertest

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"plannerd/planner"
)

// everyAssignment visits all assignments, without a thought.
func everyAssignment(m *model, visit func(Assignment)) {
	a := make(Assignment, m.s.Len())
	var units []int
	for i := range a {
		a[i] = make([]int64, len(m.s.Instances))
		for _, d := range m.hotUnits[i] {
			a[i][d]++
		}
		for range count(m.s, i) - int64(len(m.hotUnits[i])) {
			units = append(units, i)
		}
	}
	var place func(n int)
	place = func(n int) {
		if n == len(units) {
			visit(a)
			return
		}
		for _, d := range m.openTo(units[n]) {
			a[units[n]][d]++
			place(n + 1)
			a[units[n]][d]--
		}
	}
	place(0)
}

// What the searches leave out must not matter.
func TestSearchesAreExhaustive(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 1))
	cases := 400
	if n, err := strconv.Atoi(os.Getenv("PLANNERD_ORACLE")); err == nil {
		cases = n
	}
	feasible, hot := 0, 0
	for range cases {
		c := Varied(r)
		for len(c.Items) > 6 {
			c.Items = c.Items[:6]
		}
		s := c.Snapshot()
		m := newModel(s, c.Options)
		var best *Score
		leastTheta, leastTable, fewest := math.Inf(1), int64(math.MaxInt64), int64(math.MaxInt64)
		everyAssignment(m, func(a Assignment) {
			sc := m.score(a)
			if best == nil || sc.Compare(*best) < 0 {
				best = &sc
			}
			if sc.Excess == 0 {
				leastTable = min(leastTable, sc.Table)
			}
		})
		everyAssignment(newModel(s, anywhere(c.Options)), func(a Assignment) {
			sc := m.score(a)
			if sc.TableExcess == 0 {
				leastTheta = min(leastTheta, sc.Theta)
			}
			fewest = min(fewest, sc.Table)
		})
		if a, got := Optimum(s, c.Options); got != *best || m.score(a) != got {
			t.Fatalf("optimum %+v, want %+v\n%s", got, *best, c)
		}
		if got := LeastTheta(s, c.Options); !alike(got, leastTheta) {
			t.Fatalf("least θ %v, want %v\n%s", got, leastTheta, c)
		}
		if got := FewestEntries(s); got != fewest {
			t.Fatalf("fewest entries %v, want %v\n%s", got, fewest, c)
		}
		if got, ok := LeastTable(s, c.Options); got != leastTable || ok != (leastTable < math.MaxInt64) {
			t.Fatalf("least table %v, want %v\n%s", got, leastTable, c)
		}
		if best.Violated == 0 {
			feasible++
		}
		if len(m.hot) > 0 {
			hot++
		}
	}
	if feasible < cases/2 || hot < cases/20 {
		t.Errorf("of %d cases %d are feasible and %d have hot keys: too few", cases, feasible, hot)
	}
}

func TestSearchesForBalanceAreExhaustive(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 2))
	const cases = 400
	feasible := 0
	for range cases {
		c := Varied(r)
		for len(c.Items) > 6 {
			c.Items = c.Items[:6]
		}
		LimitMigration(r, c)
		s := c.Snapshot()
		m := newModel(s, c.Options)
		var best *Balance
		leastMigration, leastTable := math.Inf(1), int64(math.MaxInt64)
		everyAssignment(m, func(a Assignment) {
			sc := m.score(a)
			within := WithinMigrationLimit(s, c.Options, a)
			b := Balance{sc.Theta, sc.Objective, sc.Table}
			if within && sc.TableExcess == 0 && (best == nil || b.Compare(*best) < 0) {
				best = &b
			}
			if sc.TableExcess == 0 {
				leastMigration = min(leastMigration, Migrated(s, c.Options, a))
			}
			if within {
				leastTable = min(leastTable, sc.Table)
			}
		})
		if _, got, ok := OptimalTheta(s, c.Options); ok != (best != nil) || ok && got != *best {
			t.Fatalf("optimum %+v %t, want %+v\n%s", got, ok, best, c)
		}
		if got := LeastMigration(s, c.Options); !alike(got, leastMigration) {
			t.Fatalf("least migration %v, want %v\n%s", got, leastMigration, c)
		}
		if got, _ := LeastTable(s, c.Options); got != leastTable {
			t.Fatalf("least table %v, want %v\n%s", got, leastTable, c)
		}
		if best != nil {
			feasible++
		}
	}
	if feasible < cases/2 {
		t.Errorf("of %d cases only %d are feasible", cases, feasible)
	}
}

// alike allows for another order of sums.
func alike(a, b float64) bool { return a == b || math.Abs(a-b) <= slack*(1+max(a, b)) }

// The cases are what they are meant to be: mostly feasible, and not for free.
func TestVariedCases(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 4))
	const cases = 1500
	var feasible, priced, idle, hot, drained, limited, retained, counted, tight, frozen, homeless int
	for range cases {
		c := Varied(r)
		s := c.Snapshot()
		if err := CheckSnapshot(s); err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		m := newModel(s, c.Options)
		a, best := Optimum(s, c.Options)
		if best.Violated == 0 {
			feasible++
			if best.Objective > 0 {
				priced++
			}
			for _, d := range m.live() {
				if l := m.loads(a)[d]; l > m.bound[d]*(1-1e-12) && l > 0 {
					tight++
					break
				}
			}
		}
		for what, n := range map[*int]bool{
			&idle: m.idle(), &hot: len(m.hot) > 0, &limited: c.Options.TableLimit != nil,
			&retained: m.retained > 0, &counted: c.Counted,
			&drained:  slices.ContainsFunc(s.Current, func(d int32) bool { return s.Instances[d].Drained }),
			&frozen:   slices.ContainsFunc(s.Instances, func(in planner.Instance) bool { return in.Frozen }),
			&homeless: slices.ContainsFunc(s.Hash, func(d int32) bool { return s.Instances[d].Frozen }),
		} {
			if n {
				*what++
			}
		}
	}
	t.Logf("%d cases: %d feasible, %d of them not for free, %d at a bound; %d idle, %d with hot keys, %d draining, %d "+
		"with a table limit, %d with retained entries, %d with counts, %d with a frozen instance, %d with keys at home there",
		cases, feasible, priced, tight, idle, hot, drained, limited, retained, counted, frozen, homeless)
	if feasible < cases*6/10 || priced < feasible/2 {
		t.Error("too few cases are feasible and not for free")
	}
	if homeless < cases/10 {
		t.Error("too few cases have keys at home on a frozen instance")
	}
}
