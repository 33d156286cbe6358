package drive

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"plannerd/planner"
)

// byLength places key "aaa" (3 bytes) on instance 3 mod n.
type byLength int32

func (n byLength) Instance(key []byte, _ uint64) (int32, error) {
	return int32(len(key)) % int32(n), nil
}

func two() planner.Configuration {
	return planner.Configuration{Instances: []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}},
		Hash: byLength(2)}
}

func interval(rows map[string]float64, order ...string) *planner.Statistics {
	s := &planner.Statistics{Keys: planner.KeysOf(order...)}
	for _, key := range order {
		s.Cost = append(s.Cost, rows[key])
	}
	return s
}

// skewed is an interval whose keys all hash to instance 0.
func skewed(keys ...string) *planner.Statistics {
	rows := map[string]float64{}
	for _, k := range keys {
		rows[k] = 1
	}
	return interval(rows, keys...)
}

func entries(t *planner.RoutingTable) string {
	s := ""
	for i := range t.Len() {
		s += fmt.Sprintf("%s→%d ", t.At(i).Key, t.At(i).Instance)
	}
	return s
}

func TestTableCarriesOver(t *testing.T) {
	d := New(Operator{Target: two(), Strategy: planner.LLFD})
	ctx := context.Background()
	first, err := d.Step(ctx, 0, skewed("aa", "bb", "cc", "dd"))
	if err != nil {
		t.Fatal(err)
	}
	if first.Plan.TableAfter != 2 || !first.Plan.Balanced || len(first.Plan.Moves) != 2 {
		t.Fatalf("first plan: %+v", first.Plan)
	}
	table := entries(d.Table())
	again, err := d.Step(ctx, 1, skewed("dd", "cc", "bb", "aa"))
	if err != nil {
		t.Fatal(err)
	}
	if !again.Plan.Empty() || entries(d.Table()) != table {
		t.Errorf("the same interval again: %d moves, table %s, was %s", len(again.Plan.Moves), entries(d.Table()), table)
	}
}

// An entry stays while its key is absent for less than the grace, in intervals that say so,
// and goes with a plan that does something else, or that the limit of the table demands.
func TestEntryGrace(t *testing.T) {
	first, balanced := skewed("aa", "bb", "cc", "dd"), skewed("ee", "f") // aa and bb, or others, go to 1
	partial, overloaded := skewed("ee", "f"), skewed("gg", "hh")
	partial.Partial = true
	for name, c := range map[string]struct {
		grace int
		limit *int64
		then  []*planner.Statistics
		want  []int // entries after each interval
	}{
		"none":              {0, nil, []*planner.Statistics{balanced, overloaded}, []int{2, 1}},
		"one":               {1, nil, []*planner.Statistics{overloaded}, []int{1}},
		"two":               {2, nil, []*planner.Statistics{balanced, overloaded}, []int{2, 1}},
		"not yet":           {2, nil, []*planner.Statistics{overloaded, balanced}, []int{3, 3}},
		"named in between":  {2, nil, []*planner.Statistics{balanced, first, overloaded}, []int{2, 2, 3}},
		"partial":           {2, nil, []*planner.Statistics{balanced, partial, overloaded}, []int{2, 2, 1}},
		"partial tells not": {2, nil, []*planner.Statistics{partial, overloaded}, []int{2, 3}},
		"only drops":        {1, nil, []*planner.Statistics{balanced, balanced, balanced}, []int{2, 2, 2}},
		"limit":             {1, new(int64(1)), []*planner.Statistics{balanced}, []int{0}},
	} {
		d := New(Operator{Target: two(), Strategy: "llfd", EntryGrace: c.grace})
		if _, err := d.Step(context.Background(), 0, first); err != nil {
			t.Fatal(err)
		}
		d.op.Options.TableLimit = c.limit
		for i, stats := range c.then {
			step, err := d.Step(context.Background(), int64(i+1), stats)
			if err != nil {
				t.Fatal(err)
			}
			if n := d.Table().Len(); n != c.want[i] || int64(n) != step.Plan.TableAfter {
				t.Errorf("%s, interval %d: table %s, %d by the plan, want %d entries",
					name, i+1, entries(d.Table()), step.Plan.TableAfter, c.want[i])
			}
		}
	}
}

// A plan that only says where drifted keys are does something.
func TestDriftIsCarriedOn(t *testing.T) {
	table, err := planner.NewRoutingTable([]planner.Entry{{Key: []byte("gone"), Instance: 1}})
	if err != nil {
		t.Fatal(err)
	}
	d := New(Operator{Target: two(), Strategy: "llfd", Base: planner.Base{Configuration: two(), Table: table}})
	stats := skewed("aa", "bb")
	stats.Instance = []int32{1, 0}
	if _, err := d.Step(context.Background(), 0, stats); err != nil || entries(d.Table()) != "aa→1 " {
		t.Errorf("table %s: %v", entries(d.Table()), err)
	}
}

// Rows' instances count before the first plan only: afterwards the driver's own
// plans say where keys are.
func TestRowsInstancesCountOnce(t *testing.T) {
	d := New(Operator{Target: two(), Strategy: planner.Mixed})
	for i, moves := range []int{2, 0} {
		stats := skewed("a", "b", "c", "d")
		stats.Instance = []int32{0, 0, 0, 0}
		step, err := d.Step(context.Background(), int64(i), stats)
		if err != nil {
			t.Fatal(err)
		}
		if len(step.Plan.Moves) != moves {
			t.Errorf("interval %d: %d moves, want %d", i, len(step.Plan.Moves), moves)
		}
	}
}

// Two plans of any strategy at most bring an instance that is added to fifteen evenly loaded
// ones within θ_max of its fair load; then it is one as all others.
func TestScaleOut(t *testing.T) {
	const thetaMax = 0.08
	on := func(n int32) planner.Configuration {
		c := planner.Configuration{Hash: byLength(n)}
		for id := range n {
			c.Instances = append(c.Instances, planner.Instance{ID: id, Capacity: 1})
		}
		return c
	}
	var keys []string // 40 keys of each of 15 lengths
	for i := range 600 {
		keys = append(keys, fmt.Sprintf("%0*d", 5+i%15, i))
	}
	for _, strategy := range []string{planner.Optimal, planner.Mixed, planner.LLFD, "minmig", "mintable"} {
		d := New(Operator{Target: on(16), Strategy: strategy, Options: planner.Options{ThetaMax: thetaMax},
			Base: planner.Base{Configuration: on(15), HashChanged: true}})
		for i := range int64(3) {
			step, err := d.Step(context.Background(), i, skewed(keys...))
			if err != nil {
				t.Fatal(err)
			}
			last := step.Plan.Instances[15]
			if i == 1 && last.After < (1-thetaMax)*last.Fair {
				t.Errorf("%s: the new instance has %v of %v after two plans", strategy, last.After, last.Fair)
			}
			if filling := step.Snapshot.Instances[15].Filling; filling != (i == 0) {
				t.Errorf("%s: interval %d fills it: %t", strategy, i, filling)
			}
		}
	}
}

func TestBaseIsUsedOnce(t *testing.T) {
	old := planner.Configuration{Instances: []planner.Instance{{ID: 0, Capacity: 1}}, Hash: byLength(1)}
	d := New(Operator{Target: two(), Strategy: planner.Mixed, Base: planner.Base{Configuration: old, HashChanged: true}})
	step, err := d.Step(context.Background(), 0, skewed("aa", "b", "cc", "d"))
	if err != nil {
		t.Fatal(err)
	}
	if step.Plan.Theta.Before != 1 || step.Plan.Theta.After != 0 {
		t.Errorf("rescale: θ %+v, want 1 → 0", step.Plan.Theta)
	}
	step, err = d.Step(context.Background(), 1, skewed("aa", "b", "cc", "d"))
	if err != nil || step.Snapshot.HashChanged || !step.Plan.Empty() {
		t.Errorf("after the rescale: err %v, hash changed %v, empty %v", err, step.Snapshot.HashChanged, step.Plan.Empty())
	}
}

// A clock that every look moves on by a second.
func ticking() func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

func TestTotalTimeout(t *testing.T) {
	d := New(Operator{Target: two(), Strategy: planner.Mixed, TotalTimeout: 500 * time.Millisecond, Now: ticking()})
	step, err := d.Step(context.Background(), 0, skewed("aa", "bb"))
	if err != nil {
		t.Fatal(err)
	}
	if step.Elapsed < time.Second || !d.Exhausted() {
		t.Errorf("elapsed %v, exhausted %v", step.Elapsed, d.Exhausted())
	}
	step, err = d.Step(context.Background(), 1, skewed("aa", "bb"))
	if err != nil || step.Plan != nil || step.Snapshot != nil {
		t.Errorf("an exhausted driver: %+v, %v", step, err)
	}
}

func TestStepEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := New(Operator{Target: two(), Strategy: planner.Mixed}).Step(ctx, 7, skewed("aa", "bb"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled step: %v", err)
	}
	bad := skewed("aa", "bb")
	bad.Instance = []int32{0, 9}
	_, err = New(Operator{Target: two(), Strategy: planner.Mixed}).Step(context.Background(), 0, bad)
	var input *planner.InputError
	if !errors.As(err, &input) || input.Row != 1 {
		t.Errorf("unknown instance: %v", err)
	}
}

// A driver may have its own way to plan, and plan on a snapshot beside its stream.
func TestOwnPlan(t *testing.T) {
	asked := 0
	d := New(Operator{Target: two(), Strategy: planner.Mixed,
		Plan: func(s *planner.Snapshot, o planner.Options) (*planner.Plan, error) {
			asked++
			return planner.Inspect(s, o)
		}})
	step, err := d.Step(context.Background(), 0, skewed("aa", "bb"))
	if err != nil || asked != 1 || len(step.Plan.Moves) != 0 {
		t.Errorf("asked %d times: %+v, %v", asked, step.Plan, err)
	}
	table := d.Table()
	if beside, err := d.On(context.Background(), 1, step.Snapshot); err != nil || asked != 2 || beside.Plan == nil ||
		d.Table() != table {
		t.Errorf("asked %d times: %+v, %v", asked, beside, err)
	}
}

func TestSpreadOf(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{3, 1}, Spread{2, 3, 4}},
		{[]float64{9, 1, 2}, Spread{2, 9, 12}},
	} {
		if got := SpreadOf(c.values); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.values, got, c.want)
		}
	}
}

func TestSummary(t *testing.T) {
	var s Summary
	if s.Outcome() != nil {
		t.Error("an empty summary has an outcome")
	}
	for i, theta := range []float64{0.1, 0.3, 0.2} {
		p := &planner.Plan{
			Balanced: i > 0, TableWithinLimit: true, TableAfter: int64(10 - i), EndReason: planner.EndCompleted,
			Theta: planner.Comparison{Before: []float64{9, 0.4, 0.6}[i], After: theta}, Moves: make([]planner.Move, i),
			Snapshot:  &planner.Snapshot{Keys: planner.KeysOf("a")},
			Migration: planner.Migration{Keys: int64(i), State: 5, Fraction: 0.5, Objective: 7},
		}
		s.Add(Step{Interval: int64(i), Plan: p, Elapsed: time.Duration(i) * time.Second})
	}
	o := s.Outcome()
	if o == nil || *o != (planner.Outcome{Objective: 21, Table: 10, Theta: 0.5}) {
		t.Errorf("outcome %+v", o)
	}
	if r := s.Realised(); *r != (Realised{Intervals: 2, Above: 1, Median: 0.5, P95: 0.59, Excess: 0.5,
		Moved: 1, Plans: 2, Table: 10}) {
		t.Errorf("realised %+v", r)
	}
	r := s.Report()
	if r.Intervals != 3 || r.Planned != 3 || r.Balanced != 2 || r.WithinLimit != 3 || r.Acted != 2 || r.Stopped != 0 {
		t.Errorf("counts %+v", r)
	}
	if want := (Spread{1000, 2000, 3000}); r.PlanMS != want {
		t.Errorf("time %v, want %v", r.PlanMS, want)
	}
	s.Add(Step{Interval: 3})
	if r = s.Report(); s.Outcome() != nil || r.Planned != 3 || r.Intervals != 4 {
		t.Errorf("an interval without a plan: %+v", r)
	}
}

func TestQuantile(t *testing.T) {
	for q, want := range map[float64]float64{0: 1, 0.25: 1.5, 0.5: 2, 0.75: 3, 1: 4} {
		if got := Quantile([]float64{1, 2, 4}, q); got != want {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	if Quantile([]float64{3}, 0.95) != 3 {
		t.Error("of one value another is the p95")
	}
}

// What rounding adds breaks no θ_max.
func TestAbove(t *testing.T) {
	for theta, want := range map[float64]bool{0.08: false, 0.08 * (1 + 1e-13): false, 0.0801: true, 0: false} {
		if Above(theta, 0.08) != want {
			t.Errorf("%v is above 0.08: %v, want %v", theta, !want, want)
		}
	}
}

// What returns within some plans to an instance that it left has moved for nothing. One
// interval alone realises nothing, and is judged by its plan.
func TestReturned(t *testing.T) {
	for _, c := range []struct {
		plans int
		to    int32
		want  float64
	}{{1, 0, 0.5}, {ReturnWindow, 0, 0.5}, {ReturnWindow + 1, 0, 0}, {1, 2, 0}} {
		var s Summary
		step := func(moves ...planner.Move) {
			s.Add(Step{Plan: &planner.Plan{
				Moves: moves, Migration: planner.Migration{Fraction: 0.5}, Theta: planner.Comparison{Before: 3, After: 1},
				Snapshot: &planner.Snapshot{Keys: planner.KeysOf("a", "b"), State: []float64{2, 2}},
			}})
		}
		step(planner.Move{Item: 0, From: 0, To: 1})
		if o := s.Outcome(); s.Realised() != nil || o.Theta != 1 || o.Violations != 2 {
			t.Errorf("one interval: %+v, %+v", s.Realised(), o)
		}
		for range c.plans - 1 {
			step()
		}
		step(planner.Move{Item: 0, From: 1, To: c.to})
		step(planner.Move{Item: 1, From: 1, To: 0})
		if got := s.Realised().Returned; got != c.want {
			t.Errorf("to %d after %d plans: returned %v, want %v", c.to, c.plans, got, c.want)
		}
	}
}

// Of a key that is split a part moves: as much of what the key has in all, as of the state
// that was planned on.
func TestMovedParts(t *testing.T) {
	whole := &planner.Statistics{Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 1}, State: []float64{8, 24}}
	for name, c := range map[string]struct {
		state []float64
		share float64
		want  float64
	}{
		"of a state":      {[]float64{4, 4}, 1, 8.0 / 4 / 32},
		"of a number":     {nil, 0.5, 8.0 / 2 / 32},
		"without a state": {[]float64{0, 4}, 0, 0},
	} {
		p := &planner.Plan{
			Moves: []planner.Move{{Item: 0, From: 1, To: 0, Reason: planner.ReasonGather}},
			Snapshot: &planner.Snapshot{Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 1}, State: c.state,
				Shares: []planner.Share{{Row: 0, Instance: 0, State: 1}, {Row: 0, Instance: 1, State: c.share}}},
		}
		if got, _ := new(Departures).Add(&Step{Plan: p}, whole); got != c.want {
			t.Errorf("a part %s: %v, want %v", name, got, c.want)
		}
	}
}

// Over a stream the gap is that of the totals, over the plans that keep to every
// constraint.
func TestGap(t *testing.T) {
	number := func(x float64) *float64 { return &x }
	plan := func(objective, bound float64, gap *float64, met bool) Step {
		return Step{Plan: &planner.Plan{
			Migration: planner.Migration{Objective: objective}, Balanced: met, TableWithinLimit: true,
			Certificate: &planner.Certificate{LowerBound: bound, Gap: gap},
		}}
	}
	infeasible := plan(90, 0, nil, false)
	infeasible.Plan.Certificate.Infeasible = true
	imbalance := plan(90, 0.04, number(0.5), false)
	imbalance.Plan.Options.Objective, imbalance.Plan.Theta.After = planner.MinImbalance, 0.06
	for name, c := range map[string]struct {
		steps []Step
		want  *float64
	}{
		"no plans":            {nil, nil},
		"no certificates":     {[]Step{{Plan: &planner.Plan{}}}, nil},
		"no time":             {[]Step{{}}, nil},
		"one":                 {[]Step{plan(12, 10, number(0.2), true)}, number(0.2)},
		"totals":              {[]Step{plan(12, 10, number(0.2), true), plan(30, 30, number(0), true)}, number(0.05)},
		"a bound of 0 counts": {[]Step{plan(5, 0, nil, true), plan(10, 10, number(0), true)}, number(0.5)},
		"violations do not": {[]Step{plan(5, 4, nil, false), plan(5, 0, nil, false), plan(10, 10, number(0), true)},
			number(0)},
		"only violations":           {[]Step{plan(5, 4, nil, false)}, nil},
		"only infeasible":           {[]Step{infeasible}, nil},
		"infeasible does not count": {[]Step{infeasible, plan(12, 10, number(0.2), true)}, number(0.2)},
		"nothing to do":             {[]Step{plan(0, 0, number(0), true)}, number(0)},
		"only bounds of 0":          {[]Step{plan(5, 0, nil, true)}, nil},
		"imbalance":                 {[]Step{imbalance}, number(0.5)},
	} {
		var s Summary
		for _, step := range c.steps {
			s.Add(step)
		}
		got := s.Report().Proven.Gap
		if (got == nil) != (c.want == nil) || got != nil && (*got-*c.want > 1e-12 || *c.want-*got > 1e-12) {
			t.Errorf("%s: gap %v, want %v", name, got, c.want)
		}
	}
	var s Summary
	for _, step := range []Step{infeasible, plan(12, 10, number(0.2), true), plan(30, 30, number(0), true), {}} {
		s.Add(step)
	}
	if p := s.Report().Proven; p.Plans != 3 || p.Infeasible != 1 || p.LowerBound != (Spread{20, 30, 40}) {
		t.Errorf("%+v", p)
	}
}
