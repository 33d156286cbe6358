package service_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plannerd/compact"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/refusal"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/propose"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/store"
)

// costing are statistics of an interval in which keys that hash to instances 0, 1 and so
// on modulo n cost so much, one key for each number.
func costing(interval int64, n int, costs ...[]float64) *scheme.Statistics {
	st := &planner.Statistics{Keys: planner.NewKeys(n)}
	next := make([]int, len(costs))
	for i, left := 0, costs; ; i++ {
		key := fmt.Append(nil, "key ", i)
		if home := int(planner.KeyHash(key) % uint64(n)); home < len(left) && next[home] < len(left[home]) {
			st.Keys.Append(key)
			st.Cost = append(st.Cost, left[home][next[home]])
			next[home]++
		}
		done := true
		for home := range costs {
			done = done && next[home] == len(costs[home])
		}
		if done {
			return &scheme.Statistics{Statistics: st, Interval: interval}
		}
	}
}

// careful is a configuration that acts on no statistics which are too small.
func careful(n int) operator.Configuration {
	c := configuration(n)
	c.Approval.MinStatistics = operator.MinStatistics{Keys: 1, CostShare: 0.2}
	c.Approval.SmallIntervals = 2
	return c
}

// TestLimitsAtBirth: by default a plan waits that a person would not expect, and says why.
func TestLimitsAtBirth(t *testing.T) {
	three := int64(3)
	for name, c := range map[string]struct {
		change func(*operator.Configuration)
		st     *scheme.Statistics
		waits  []string
	}{
		"within limits": {func(*operator.Configuration) {}, skewed(2), nil},
		"a table over its limit": {func(c *operator.Configuration) { c.TableLimit = &three }, skewed(2),
			[]string{"table_limit"}},
		"more keys than need no approval": {func(c *operator.Configuration) {
			c.Approval.MaxMigration = &parameters.MigrationLimit{Keys: &three}
		}, skewed(2), []string{"max_migration"}},
		"always": {func(c *operator.Configuration) { c.TableLimit, c.Approval.Auto = &three, operator.AutoAlways },
			skewed(2), nil},
		// The live instances are below the new fair load, and one of them gets the drained key.
		"a drain that worsens θ": {func(c *operator.Configuration) { c.Instances = c.Instances[:2] },
			costing(2, 3, []float64{10}, []float64{10}, []float64{15}), []string{"theta_worse"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			first := configuration(2)
			if name == "a drain that worsens θ" {
				first = configuration(3)
			}
			e.configure("clicks", first)
			c.change(&first)
			e.configure("clicks", first)
			p := e.propose("clicks", c.st)
			status := store.Status("approved")
			if c.waits != nil {
				status = "proposed"
			}
			if p.Status != status || !slices.Equal(p.WaitsFor, c.waits) || p.MigrationKeys == 0 {
				t.Errorf("%s, waits for %q, %d keys move, θ %v→%v", p.Status, p.WaitsFor, p.MigrationKeys, p.ThetaBefore,
					p.ThetaAfter)
			}
		})
	}
}

// TestForcedMigration: what has to move is told, and counts like all that moves.
func TestForcedMigration(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(3))
	c := configuration(2)
	two := int64(2)
	c.Approval.MaxMigration = &parameters.MigrationLimit{Keys: &two}
	e.configure("clicks", c)
	st := costing(1, 3, []float64{3, 3}, []float64{3, 3}, []float64{2, 2, 2, 2})
	st.State = []float64{1, 1, 1, 1, 1, 1, 1, 1}
	p := e.propose("clicks", st)
	if p.ForcedKeys != 4 || p.ForcedState != float64(p.ForcedKeys) ||
		!slices.Equal(p.WaitsFor, []string{"max_migration"}) {
		t.Errorf("%d of %d keys have to move, state %v; it waits for %q", p.ForcedKeys, p.MigrationKeys, p.ForcedState,
			p.WaitsFor)
	}
}

// TestLimitsAtStart: a plan is not carried out of which newer statistics say that it breaks
// limits, unless somebody agrees to that; the next statistics may bring it back.
func TestLimitsAtStart(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(2))
	as := func(interval int64) *intake.StoredPlan {
		return e.propose("clicks", costing(interval, 2, []float64{2, 2, 2, 2, 2, 2}, []float64{4}))
	}
	p := as(1)
	moves := func(p *intake.StoredPlan) map[string]int32 {
		r := router{entries: map[string]int32{}}
		r.follow(t, p.Lists.Change)
		return r.entries
	}
	moved := moves(p)
	if p.Status != "approved" || len(moved) != 2 {
		t.Fatalf("%s, %v move", p.Status, moved)
	}
	// What it moves weighs as much as all else does where it goes.
	load := 5.0
	worse := func(interval int64) store.Plan {
		st := costing(interval, 2, []float64{.5, .5, .5, .5, .5, .5}, []float64{12})
		for i := range st.Cost {
			if _, there := moved[string(st.Keys.At(i))]; there {
				st.Cost[i] = load
			}
		}
		e.propose("clicks", st)
		now, err := e.Plan(e.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	start := func() (store.Plan, error) {
		return e.Start(e.Context(), step(p), store.Executor{Name: "engine"})
	}
	if now := worse(2); !now.LimitsChanged || !strings.Contains(string(now.Latest), `"breaks":["theta_worse"]`) {
		t.Errorf("%s", now.Latest)
	}
	_, err := start()
	if refused := e.refused(err, refusal.LimitsChanged); !strings.Contains(refused.Detail, "interval 2") {
		t.Error(refused)
	}
	_, err = e.Commit(e.Context(), step(p), true)
	e.refused(err, refusal.LimitsChanged)
	guarded, stale := step(p), errors.New("read again")
	guarded.Guard = func(store.Plan) error { return stale }
	if _, err := e.Approve(e.Context(), guarded); !errors.Is(err, stale) {
		t.Errorf("approved again: %v", err)
	}
	e.want("approved")(e.Approve(e.Context(), step(p)))
	kept := func(now store.Plan) {
		t.Helper()
		if now.LimitsChanged || !strings.Contains(string(now.Latest), `"breaks":[],"agreed":{"theta":`) {
			t.Errorf("changed: %v; %s", now.LimitsChanged, now.Latest)
		}
	}
	now, err := e.Plan(e.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	kept(now)
	kept(worse(3)) // no worse than what was agreed to
	load = 6
	if now := worse(4); !now.LimitsChanged || !strings.Contains(string(now.Latest), `"breaks":["theta_worse"],"agreed"`) {
		t.Errorf("%s", now.Latest)
	}
	_, err = start()
	e.refused(err, refusal.LimitsChanged)
	load = 5
	kept(worse(5)) // it is back at what was agreed to
	e.want("applying")(start())
	load = 6
	if worse(6).LimitsChanged {
		e.want("applying")(start()) // it is under way
	}
	load = 5
	e.want("aborting")(e.Abort(e.Context(), step(p), 0, false))
	e.want("aborted")(e.Abort(e.Context(), step(p), 0, true))

	// A plan of newer statistics that is approved takes its place.
	p = as(7)
	moved = moves(p)
	worse(8)
	_, err = start()
	e.refused(err, refusal.LimitsChanged)
	p = as(9)
	e.want("applying")(start())
}

// TestSmallStatistics: what is too small moves nothing and leaves its interval open; after
// a few intervals of it a plan is made, and waits.
func TestSmallStatistics(t *testing.T) {
	e := newEnv(t)
	c := careful(2)
	c.Approval.Auto = operator.AutoAlways
	e.configure("clicks", c)
	// Where there was nothing, the number of keys alone tells.
	none := func(interval int64) *scheme.Statistics { return costing(interval, 2) }
	withheld := func(p *intake.StoredPlan) {
		t.Helper()
		if p.Status != "no_action" || !slices.Equal(p.Causes, []string{"statistics_too_small"}) || !p.LeavesOpen ||
			p.MigrationKeys != 0 {
			t.Fatalf("%s with %q, open: %v", p.Status, p.Causes, p.LeavesOpen)
		}
	}
	withheld(e.propose("clicks", none(1)))
	p := e.propose("clicks", skewed(1))
	e.want("committed")(e.Commit(e.Context(), step(p), true))
	if p := e.propose("clicks", costing(2, 2, []float64{2.1}, []float64{2.1})); p.LeavesOpen { // as much as a fifth of 21
		t.Errorf("%s with %q", p.Status, p.Causes)
	}
	// All cost of the interval before is 4.2 now.
	little := func(interval int64) *scheme.Statistics { return costing(interval, 2, nil, []float64{.4, .4}) }
	first := e.propose("clicks", little(3))
	withheld(first)
	if again := e.propose("clicks", little(3)); again.ID != first.ID || again.Created {
		t.Errorf("the same statistics again: %s, %v", again.ID, again.Created)
	}
	withheld(e.propose("clicks", none(3))) // the interval counts once
	withheld(e.propose("clicks", little(4)))
	p = e.propose("clicks", little(5))
	if p.Status != "proposed" || !slices.Equal(p.WaitsFor, []string{"statistics_too_small"}) || p.LeavesOpen {
		t.Fatalf("%s with %q, waits for %q", p.Status, p.Causes, p.WaitsFor)
	}
	// While it waits, and once it was rejected, nothing is acted upon either.
	if q := e.propose("clicks", little(6)); q.Status != "no_action" || !q.LeavesOpen ||
		!slices.Equal(q.Causes, []string{"pending_approval", "statistics_too_small"}) {
		t.Errorf("%s with %q", q.Status, q.Causes)
	}
	e.want("rejected")(e.Reject(e.Context(), step(p)))
	p = e.propose("clicks", little(7))
	if p.Status != "proposed" {
		t.Fatalf("%s with %q", p.Status, p.Causes)
	}
	// Who approves it accepts them: what comes is compared with these.
	e.want("approved")(e.Approve(e.Context(), step(p)))
	e.want("committed")(e.Commit(e.Context(), step(p), true))
	if p := e.propose("clicks", costing(8, 2, []float64{.3, .3})); p.Status == "proposed" || p.LeavesOpen {
		t.Errorf("%s with %q", p.Status, p.Causes)
	}
}

// TestWhatIsAccepted: statistics are compared with those of another interval, also of one
// before which nobody carried anything.
func TestWhatIsAccepted(t *testing.T) {
	e := newEnv(t)
	c := careful(2)
	c.Approval.Auto = operator.AutoNever
	e.configure("clicks", c)
	e.want("rejected")(e.Reject(e.Context(), step(e.propose("clicks", skewed(1)))))
	wrong := e.propose("clicks", costing(2, 2, []float64{500, 500, 500}))
	e.want("rejected")(e.Reject(e.Context(), step(wrong)))
	if p := e.propose("clicks", skewed(2)); p.LeavesOpen {
		t.Errorf("%s with %q", p.Status, p.Causes)
	}

	c = careful(2)
	c.Scheme, c.Strategy, c.Hash = operator.SchemeRanges, "", operator.Hash{}
	e.configure("views", c)
	if p := e.propose("views", skewed(1)); p.Status != "approved" {
		t.Fatalf("%s waits for %q", p.Status, p.WaitsFor)
	}
	if p := e.propose("views", costing(2, 2, []float64{1, 1})); !p.LeavesOpen {
		t.Errorf("%s with %q", p.Status, p.Causes)
	}
}

// TestSmallPartialAndCompact: keys and cost of residuals and records count.
func TestSmallPartialAndCompact(t *testing.T) {
	partial := func(cost float64, keys int64) *scheme.Statistics {
		st := costing(2, 2, []float64{1})
		st.Partial, st.Residual = true, []planner.Residual{{Instance: 1, Cost: cost, Keys: keys}}
		return st
	}
	records := func(count int64) *scheme.Statistics {
		return &scheme.Statistics{Interval: 2, Statistics: &planner.Statistics{}, Records: &compact.Statistics{
			Records: []compact.Record{{Planned: planner.NoInstance, Cost: 1, State: 1, Count: count}},
			Scales:  compact.Scales{Cost: .5, State: 1},
		}}
	}
	for name, c := range map[string]struct {
		st    *scheme.Statistics
		small bool
	}{
		"too little beside the keys": {partial(3.1, 4), true},
		"enough":                     {partial(3.3, 4), false},
		"too few keys":               {partial(30, 3), true},
		"records that cost little":   {records(8), true},
		"records that cost enough":   {records(9), false},
	} {
		e, conf := newEnv(t), careful(2)
		conf.Approval.MinStatistics.Keys = 5
		e.configure("clicks", conf)
		e.propose("clicks", skewed(1)) // all cost is 21
		if p := e.propose("clicks", c.st); p.LeavesOpen != c.small {
			t.Errorf("%s: %s with %q", name, p.Status, p.Causes)
		}
	}
}

// TestSmallReports: reports that are too small together may be replaced.
func TestSmallReports(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", careful(2))
	e.propose("clicks", skewed(1))
	report := func(instance int32, st *scheme.Statistics) {
		t.Helper()
		if _, err := e.PutReport(e.Context(), "clicks", instance, st, nil); err != nil {
			t.Fatal(err)
		}
	}
	plan := func() *intake.StoredPlan {
		t.Helper()
		p, err := e.Propose(e.Context(), "clicks", intake.Proposal{
			Statistics: &scheme.Statistics{Statistics: &planner.Statistics{Keys: planner.NewKeys(0)}, Interval: 2},
			Reports:    &intake.ReportsQuery{}, Memory: e.lease(),
		})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	report(0, costing(2, 2, []float64{1}))
	report(1, costing(2, 2, nil, []float64{1}))
	first := plan()
	if again := plan(); !first.LeavesOpen || again.ID != first.ID {
		t.Errorf("%s with %q, then %s", first.Status, first.Causes, again.ID)
	}
	report(0, costing(2, 2, []float64{5, 5, 5, 5}))
	if p := plan(); p.LeavesOpen || p.Status != "approved" {
		t.Errorf("%s with %q", p.Status, p.Causes)
	}
}

// TestSmallStatisticsAndGrace: intervals that are too small do not tell which keys are
// absent.
func TestSmallStatisticsAndGrace(t *testing.T) {
	e := newEnv(t)
	c := careful(2)
	c.EntryGrace, c.Approval.SmallIntervals = 3, 100
	e.configure("clicks", c)
	p := e.propose("clicks", skewed(1))
	e.want("committed")(e.Commit(e.Context(), step(p), true))
	c.Trigger = &operator.Trigger{Theta: new(5.)} // nothing else is to be done
	e.configure("clicks", c)
	for i, x := range []struct {
		cost float64
		idle bool
	}{{10, false}, {.1, false}, {.1, false}, {.1, false}, {10, false}, {.1, false}, {10, true}} {
		p := e.propose("clicks", costing(int64(2+i), 2, []float64{x.cost}, []float64{x.cost}))
		if p.LeavesOpen != (x.cost < 1) || (p.IdleEntries > 0) != x.idle {
			t.Errorf("interval %d: %d idle entries, left open: %v", p.Interval, p.IdleEntries, p.LeavesOpen)
		}
	}
}

// TestReplayOfSmallStatistics: a plan that somebody has made of statistics which are too
// small waits for a person.
func TestReplayOfSmallStatistics(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", careful(2))
	e.propose("clicks", skewed(1))
	small := e.propose("clicks", costing(2, 2, []float64{1, 1, 1}))
	r, err := e.Replay(e.Context(), small.ID, e.lease())
	if err != nil {
		t.Fatal(err)
	}
	under, err := r.Parameters()
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Propose(e.Context(), propose.ReplayProposal{
		Trial: propose.Trial{Strategy: "mixed", Parameters: under},
	})
	if err != nil || p.Status != "proposed" || !slices.Equal(p.WaitsFor, []string{"statistics_too_small"}) {
		t.Errorf("%+v, %v", p, err)
	}
}
