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
		for _, d := range m.live() {
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

// Whatever the prices, the relaxation is not above the optimum.
func TestLagrangianBound(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 3))
	priced, near := 0, 0
	for range 1200 {
		c := Varied(r)
		s := c.Snapshot()
		_, best := Optimum(s, c.Options)
		if best.Violated > 0 || best.Objective == 0 {
			continue
		}
		priced++
		greatest := 0.0
		for range 20 {
			u, lambda, noise := prices(r, c)
			g := LagrangianBound(s, c.Options, u, lambda)
			if g > best.Objective+noise {
				t.Fatalf("g(%v, %v) = %v, the optimum is %v\n%s", u, lambda, g, best.Objective, c)
			}
			greatest = max(greatest, g)
		}
		if greatest > best.Objective/2 {
			near++
		}
	}
	t.Logf("%d of %d bounds are more than half of the optimum", near, priced)
	if near < priced/5 {
		t.Error("the prices are too bad to test anything")
	}
}

// prices draws prices of the order of the states per cost, and returns what the
// float64 sums of the model may lack at them: each bound has a few roundings.
func prices(r *rand.Rand, c *Case) (u []float64, lambda, noise float64) {
	m := newModel(c.Snapshot(), c.Options)
	ratio := func() float64 {
		k := r.IntN(m.s.Len())
		if x := (state(m.s, k) + m.o.KeyOverhead) / m.s.Cost[k]; x*m.total < math.MaxFloat64 {
			return x
		}
		return 0
	}
	u = make([]float64, len(m.s.Instances))
	before := m.loads(current(m.s))
	for d := range u {
		if before[d] > m.bound[d] || r.IntN(6) == 0 {
			u[d] = ratio() * pick(r, 0.5, 1, 1, 1, 1.5)
		}
		noise += 8 * 0x1p-53 * u[d] * m.bound[d]
	}
	if r.IntN(3) == 0 {
		lambda = state(m.s, r.IntN(m.s.Len())) * r.Float64()
	}
	for i := range m.s.Len() {
		noise += 8 * 0x1p-53 * (state(m.s, i) + m.o.KeyOverhead) * float64(count(m.s, i))
	}
	return u, lambda, noise
}

// Without prices nothing has to move but what is drained or hot.
func TestLagrangianBoundByHand(t *testing.T) {
	t.Parallel()
	c := Case{
		Instances: []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}, {ID: 2, Capacity: 1, Drained: true}},
		Items: []Item{
			{Key: "a", Cost: 4, State: 3, Count: 1}, {Key: "b", Cost: 4, State: 5, Count: 1},
			{Key: "c", Cost: 0, State: 7, Count: 1, Current: 2, Entry: planner.NoInstance},
		},
		Options: planner.Options{KeyOverhead: 1, TableLimit: new(int64(1))},
	}
	s := c.Snapshot()
	for _, x := range []struct {
		u      []float64
		lambda float64
		want   float64
	}{
		{[]float64{0, 0, 0}, 0, 8},  // c leaves
		{[]float64{1, 0, 0}, 0, 12}, // a goes for 4, b stays for 4: 8+4+4−4
		{[]float64{1, 0, 9}, 2, 10}, // a and b stay: 8+4+4−4−2
	} {
		if got := LagrangianBound(s, c.Options, x.u, x.lambda); math.Abs(got-x.want) > 1e-7 {
			t.Errorf("g(%v, %v) = %v, want %v", x.u, x.lambda, got, x.want)
		}
	}
	if _, best := Optimum(s, c.Options); best.Objective != 12 {
		t.Errorf("the optimum is %+v, want 12", best)
	}
}

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
