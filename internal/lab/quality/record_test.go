package main

import (
	"math"
	"testing"
	"time"

	"plannerd/planner"
)

var inf = math.Inf(1)

func TestPercentile(t *testing.T) {
	ten := []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	for _, c := range []struct {
		values []float64
		p      float64
		want   float64
	}{
		{ten, 50, 5}, {ten, 95, 10}, {ten, 90, 9}, {ten, 91, 10}, {ten, 100, 10}, {ten, 5, 1}, {ten, 0, 1},
		{[]float64{7}, 50, 7},
		{[]float64{1, 2, 3}, 50, 2},
		{[]float64{1, inf, inf}, 50, inf},
		{[]float64{inf, 1, 1}, 50, 1},
	} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("percentile %v of %v is %v, want %v", c.p, c.values, got, c.want)
		}
	}
	if got := percentile(nil, 50); !math.IsNaN(got) {
		t.Errorf("of nothing it is %v, want NaN", got)
	}
	if ten[0] != 10 {
		t.Error("the values were sorted in place")
	}
}

func plan(strategy string, meets bool, objective float64) result {
	return result{strategy: strategy, status: statusCompleted, meets: meets, objective: objective}
}

func (r result) with(bound float64, infeasible bool) result {
	r.proves, r.bound, r.infeasible = true, bound, infeasible
	return r
}

func TestJudge(t *testing.T) {
	cut := plan("cut", true, 3)
	cut.status = statusStopped
	none := result{strategy: "none", status: statusNoPlan, meets: true}
	for _, c := range []struct {
		name         string
		results      []result
		class        class
		bound        float64
		foundBy      string
		contradicted bool
	}{
		{"found", []result{plan("a", true, 5).with(4, false), plan("b", false, 1).with(2, false)}, classFeasible,
			4, "a", false},
		{"found at the bound", []result{plan("a", true, 4).with(4, false)}, classFeasible, 4, "a", false},
		{"the least of those that meet all", []result{plan("a", true, 5), plan("b", true, 4), plan("c", false, 1)},
			classFeasible, 0, "b", false},
		{"found by a plan cut short", []result{cut.with(1, false)}, classFeasible, 1, "cut", false},
		{"no plan is no finding", []result{none}, classUnknown, 0, "", false},
		{"proven", []result{plan("a", false, 5).with(0, false), plan("b", false, 5).with(0, true)}, classInfeasible,
			0, "", false},
		{"neither", []result{plan("a", false, 5).with(6, false)}, classUnknown, 6, "", false},
		{"refuted bound", []result{plan("a", true, 5).with(4, false), plan("b", true, 9).with(5.5, false)}, classFeasible,
			5.5, "a", true},
		{"refuted infeasibility", []result{plan("a", true, 5), plan("b", false, 9).with(0, true)}, classFeasible,
			0, "a", true},
	} {
		r := record{results: c.results}
		r.judge()
		if r.class != c.class || r.bound != c.bound || r.foundBy != c.foundBy || r.contradicted != c.contradicted {
			t.Errorf("%s: %s, bound %v, found by %q, contradicted %v; want %s, %v, %q, %v",
				c.name, r.class, r.bound, r.foundBy, r.contradicted, c.class, c.bound, c.foundBy, c.contradicted)
		}
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		name   string
		bound  float64
		result result
		want   float64
		ok     bool
	}{
		{"twice the bound", 4, plan("a", true, 8), 2, true},
		{"nothing moved, nothing needed", 0, plan("a", true, 0), 1, true},
		{"only the bound is 0", 0, plan("a", true, 8), 0, false},
		{"violated", 4, plan("a", false, 4), inf, true},
		{"violated, without a bound", 0, plan("a", false, 4), inf, true},
		{"no plan", 4, result{status: statusNoPlan}, inf, true},
	} {
		r := record{bound: c.bound, class: classFeasible}
		if got, ok := r.ratio(&c.result); got != c.want || ok != c.ok {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestTally(t *testing.T) {
	records := []record{
		{results: []result{plan("a", true, 6).with(2, false), plan("b", true, 4).with(3, false)}},
		{results: []result{plan("a", false, 6).with(1, false), plan("b", true, 4).with(2, false)}}, // a misses it
		{results: []result{plan("a", true, 1).with(0, false), plan("b", true, 0).with(0, false)}},  // bound 0
		{results: []result{plan("a", false, 1).with(0, true), plan("b", false, 2).with(0, true)}},  // infeasible
		{results: []result{{strategy: "a", status: statusNoPlan, elapsed: time.Second}, plan("b", true, 0)}},
		{results: []result{{strategy: "a", status: statusSkipped}, plan("b", true, 0)}},
	}
	a := tally{strategy: "a"}
	var pointers []*record
	for i := range records {
		records[i].judge()
		a.add(&records[i], time.Second/2)
		pointers = append(pointers, &records[i])
	}
	if a.tried != 5 || a.meets != 2 || a.missed != 2 || a.stopped != 1 || a.zero != 1 || a.late != 1 {
		t.Errorf("tried %d, meets %d, missed %d, stopped %d, bound 0 %d, late %d; want 5, 2, 2, 1, 1, 1",
			a.tried, a.meets, a.missed, a.stopped, a.zero, a.late)
	}
	if got := [...]float64{percentile(a.ratios, 30), percentile(a.ratios, 50), percentile(a.qualities, 5),
		percentile(a.qualities, 100)}; got != [...]float64{2, inf, 0.5, 2.0 / 3} {
		t.Errorf("ratios %v, bound qualities %v", a.ratios, a.qualities)
	}
	if len(a.tables) != 4 || len(a.seconds) != 5 {
		t.Errorf("%d tables and %d times, want 4 of the plans and 5 of the attempts", len(a.tables), len(a.seconds))
	}
	records[0].settled = true
	if n := countOf(pointers); n != (counts{cases: 6, settled: 1, feasible: 4, infeasible: 1}) {
		t.Errorf("counts without the settled one: %+v", n)
	}
}

// TestResultOf checks what meets every constraint: loads up to b_d, within the
// tolerance, where an instance is live, and the table within its limit.
func TestResultOf(t *testing.T) {
	of := func(after float64, drained, within bool) bool {
		p := planner.Plan{
			Snapshot:  &planner.Snapshot{Instances: []planner.Instance{{ID: 0, Drained: drained}}},
			EndReason: planner.EndCompleted, TableWithinLimit: within,
			Instances: []planner.Load{{Max: 1, Bound: 10, After: after}},
		}
		r := resultOf("a", &p, 0)
		return r.meets
	}
	for _, c := range []struct {
		after           float64
		drained, within bool
		want            bool
	}{
		{10, false, true, true}, {10 * (1 + 5e-10), false, true, true}, {10 * (1 + 2e-9), false, true, false},
		{10, false, false, false}, {11, true, true, true},
	} {
		if got := of(c.after, c.drained, c.within); got != c.want {
			t.Errorf("load %v of 10, drained %v, table within limit %v: meets %v, want %v", c.after, c.drained,
				c.within, got, c.want)
		}
	}
	p := planner.Plan{Snapshot: &planner.Snapshot{}, EndReason: planner.EndStopped}
	if r := resultOf("a", &p, 0); r.status != statusStopped || r.proves {
		t.Errorf("a plan cut short, without certificate: %+v", r)
	}
}
