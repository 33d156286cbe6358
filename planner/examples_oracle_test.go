package planner_test

import (
	"slices"
	"testing"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// figure4 is the running example of mixed-routing Fig. 4.
func figure4() *plannertest.Case {
	item := func(key string, cost float64, current, hash int32) plannertest.Item {
		entry := planner.NoInstance
		if current != hash {
			entry = current + 1
		}
		return plannertest.Item{Key: key, Cost: cost, State: cost, Count: 1, Current: current, Hash: hash, Entry: entry}
	}
	return &plannertest.Case{
		TableKnown: true,
		Instances:  []planner.Instance{{ID: 1, Capacity: 1}, {ID: 2, Capacity: 1}},
		Items: []plannertest.Item{
			item("k1", 7, 0, 0), item("k2", 4, 0, 0), item("k5", 5, 0, 1),
			item("k3", 2, 1, 0), item("k4", 1, 1, 1), item("k6", 1, 1, 1),
		},
	}
}

var figure4Results = []struct {
	strategy      string
	first, second []string // keys on d1 and d2
	table         map[string]int32
}{
	{planner.LLFD, []string{"k2", "k4", "k5"}, []string{"k1", "k3", "k6"},
		map[string]int32{"k1": 2, "k3": 2, "k4": 1, "k5": 1}},
	{planner.MinTable, []string{"k1", "k3", "k4"}, []string{"k2", "k5", "k6"},
		map[string]int32{"k2": 2, "k4": 1}},
}

// In the figure k4 leaves d2, not its equal k6: a name whose hash is smaller
// has to stand for it.
func TestFigure4(t *testing.T) {
	if planner.KeyHash([]byte("k4")) > planner.KeyHash([]byte("k6")) {
		t.Fatal("the tie between k4 and k6 would go the other way")
	}
	for _, want := range figure4Results {
		orders := 0
		permute(figure4().Items, func(items []plannertest.Item) {
			orders++
			c := figure4()
			c.Items = slices.Clone(items)
			s := c.Snapshot()
			checkFigure4(t, "literal "+want.strategy, s, literal(t, want.strategy, s, c.Options), want.first, want.second)
			p, err := planner.Run(want.strategy, s, c.Options)
			if err != nil {
				t.Fatal(err)
			}
			if err := plannertest.Check(s, c.Options, p); err != nil {
				t.Fatal(err)
			}
			checkFigure4(t, want.strategy, s, plannertest.AssignmentOf(p), want.first, want.second)
			checkTable(t, p, want.table)
		})
		if orders != 720 {
			t.Fatalf("%d orders, want 720", orders)
		}
	}
}

func checkFigure4(t *testing.T, name string, s *planner.Snapshot, a plannertest.Assignment, want ...[]string) {
	t.Helper()
	for d := range want {
		var got []string
		for i := range a {
			if a[i][d] > 0 {
				got = append(got, string(s.Keys.At(i)))
			}
		}
		if slices.Sort(got); !slices.Equal(got, want[d]) {
			t.Fatalf("%s: d%d holds %v, want %v", name, d+1, got, want[d])
		}
	}
}

func checkTable(t *testing.T, p *planner.Plan, want map[string]int32) {
	t.Helper()
	table, err := p.Table()
	if err != nil {
		t.Fatal(err)
	}
	if table.Len() != len(want) || p.TableAfter != int64(len(want)) {
		t.Fatalf("%d entries, want %d", table.Len(), len(want))
	}
	for e := range table.Len() {
		if at := table.At(e); want[string(at.Key)] != at.Instance {
			t.Fatalf("%s → %d, want %d", at.Key, at.Instance, want[string(at.Key)])
		}
	}
}

// permute calls f with every order of items (Heap's algorithm).
func permute(items []plannertest.Item, f func([]plannertest.Item)) {
	var rec func(n int)
	rec = func(n int) {
		if n <= 1 {
			f(items)
			return
		}
		for i := range n {
			rec(n - 1)
			j := 0
			if n%2 == 0 {
				j = i
			}
			items[j], items[n-1] = items[n-1], items[j]
		}
	}
	rec(len(items))
}

func literal(t *testing.T, strategy string, s *planner.Snapshot, o planner.Options) plannertest.Assignment {
	t.Helper()
	a, err := plannertest.Literal(strategy, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
