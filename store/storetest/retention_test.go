package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"plannerd/store"
)

var retentionCases = []testCase{
	{name: "zero keeps everything", run: zeroKeepsEverything},
	{name: "inputs of the newest plans are kept", run: inputsAreKept},
	{name: "the newest plans are kept", run: plansAreKept},
	{name: "the newest table versions are kept", run: versionsAreKept},
	{name: "the plan of the committed table is kept", run: currentPlanIsKept},
	{name: "plans that wait in vain are not kept", run: waitingPlansAreNotKept},
	{name: "a plan that is being applied is kept", run: applyingPlanIsKept},
	{name: "configurations that nothing is of are not kept", run: configurationsAreKept, bare: true},
	{name: "purged plans are forgotten in the end", run: purgedPlansAreForgotten},
	{name: "retention does not reach over to other operators", run: retentionIsPerOperator, bare: true},
}

// keeping makes committed plans n at a time under a retention.
func (f *fixture) keeping(t *testing.T, keep store.Retention, n int) []store.Plan {
	t.Helper()
	var plans []store.Plan
	for range n {
		interval := f.next(t, "clicks")
		p := f.plan(t, "clicks", interval, store.StatusCommitted, set(fmt.Sprintf("k%03d", interval), int32(interval)))
		p.Retention = keep
		plans = append(plans, f.create(t, p))
	}
	return plans
}

// keys are the entries that keeping makes of intervals below n.
func keysBelow(n int) []string {
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("k%03d=%d", i, i))
	}
	return want
}

func zeroKeepsEverything(t *testing.T, f *fixture) {
	for i, p := range f.keeping(t, store.Retention{}, 30) {
		must(f.Input(t.Context(), p.ID))(t)
		f.wantTable(t, "clicks", int64(i), keysBelow(i)...)
	}
}

func inputsAreKept(t *testing.T, f *fixture) {
	without := f.plan(t, "clicks", 0, store.StatusNoAction)
	without.Input = nil
	f.create(t, without)
	plans := f.keeping(t, store.Retention{Inputs: 3}, 8)
	for i, p := range plans {
		is(t, "forecast", must(f.ForecastState(t.Context(), p.ID))(t) != nil, i >= 5)
		input, err := f.Input(t.Context(), p.ID)
		if i < 5 {
			fails(t, fmt.Sprintf("input %d of 8", i), err, store.ErrPurged)
		} else if want := "input of " + p.ID; err != nil || string(input) != want {
			t.Errorf("input %d of 8: %q, error %v, want %q", i, input, err, want)
		}
		// Nothing else of the plan has gone.
		if migrations, err := f.Migrations(t.Context(), p.ID); err != nil || len(migrations) == 0 {
			t.Errorf("migrations %d of 8: %q, error %v", i, migrations, err)
		}
	}
	if state := must(f.ForecastState(t.Context(), without.ID))(t); state != nil {
		t.Errorf("forecast of a plan without input: %q", state)
	}
	if input, err := f.Input(t.Context(), without.ID); err != nil || input != nil {
		t.Errorf("input of a plan without: %q, error %v", input, err)
	}
	// A commit applies retention as well.
	p := f.create(t, f.plan(t, "clicks", 90, store.StatusApproved))
	must2(f.CommitPlan(t.Context(), p.ID, f.by("x"), store.Retention{Inputs: 1}))(t)
	fails(t, "the last input but one", errorOf(f.Input(t.Context(), plans[7].ID)), store.ErrPurged)
	must(f.Input(t.Context(), p.ID))(t)
}

func plansAreKept(t *testing.T, f *fixture) {
	plans := f.keeping(t, store.Retention{Plans: 3}, 8)
	for i, p := range plans[:5] {
		wantPurged(t, f, p.ID)
		// The interval is not open again.
		err := f.CheckInterval(t.Context(), "clicks", 0, int64(i))
		fails(t, "an interval whose plan was purged", err, store.ErrIntervalOutdated)
	}
	listed, next, err := f.Plans(t.Context(), store.PlanFilter{Operator: "clicks", Limit: 100})
	need(t, err == nil && next == 0, "next %d, error %v", next, err)
	slices.Reverse(listed)
	same(t, "plans", summaries(plans[5:]), listed)
	// The tables that the purged plans made are history still.
	for version := range 9 {
		f.wantTable(t, "clicks", int64(version), keysBelow(version)...)
	}
}

func versionsAreKept(t *testing.T, f *fixture) {
	plans := f.keeping(t, store.Retention{Versions: 3}, 8)
	for version := range int64(9) {
		if version > 5 {
			f.wantTable(t, "clicks", version, keysBelow(int(version))...)
			continue
		}
		fails(t, fmt.Sprintf("version %d of 8", version), errorOf(f.Table(t.Context(), "clicks", &version)), store.ErrPurged)
	}
	// The plans that made the purged tables are history still.
	for i, p := range plans {
		want := []store.Change{set(fmt.Sprintf("k%03d", i), int32(i))}
		same(t, "changes", want, must(f.Changes(t.Context(), p.ID))(t))
	}
	// What neither needs any more goes at last, and what one needs stays.
	f.keeping(t, store.Retention{Plans: 2, Versions: 2}, 1)
	f.wantTable(t, "clicks", 9, keysBelow(9)...)
	f.wantTable(t, "clicks", 8, keysBelow(8)...)
	wantPurged(t, f, plans[6].ID)
	f.keeping(t, store.Retention{Plans: 1, Versions: 1}, 1)
	f.wantTable(t, "clicks", -1, keysBelow(10)...)
	if got, err := f.Transitions(t.Context(), f.keeping(t, store.Retention{Plans: 1, Versions: 1}, 1)[0].ID); err != nil ||
		len(got) != 1 {
		t.Errorf("transitions %v, error %v", got, err)
	}
	wantDiffs(t, f, 1)
}

func currentPlanIsKept(t *testing.T, f *fixture) {
	current := f.keeping(t, store.Retention{}, 1)[0]
	idle := func(intervals ...int64) (plans []store.Plan) {
		for _, interval := range intervals {
			p := f.plan(t, "clicks", interval, store.StatusNoAction)
			p.Retention = store.Retention{Plans: 2}
			plans = append(plans, f.create(t, p))
		}
		return plans
	}
	for _, p := range idle(10, 11, 12, 13)[:2] {
		wantPurged(t, f, p.ID)
	}
	f.wantStatuses(t, "clicks", store.StatusCommitted, store.StatusNoAction, store.StatusNoAction)
	// Once another is committed, it goes like any other.
	next := f.create(t, f.plan(t, "clicks", 14, store.StatusApproved, set("w", 1)))
	must2(f.CommitPlan(t.Context(), next.ID, f.by("x"), store.Retention{Plans: 2}))(t)
	wantPurged(t, f, current.ID)
	f.wantStatuses(t, "clicks", store.StatusNoAction, store.StatusCommitted)
	idle(15, 16, 17)
	f.wantStatuses(t, "clicks", store.StatusCommitted, store.StatusNoAction, store.StatusNoAction)
	f.wantTable(t, "clicks", -1, "k000=0", "w=1")
	f.wantTable(t, "clicks", 1, "k000=0")
}

// waitingPlansAreNotKept is an engine that never commits.
func waitingPlansAreNotKept(t *testing.T, f *fixture) {
	var plans []store.Plan
	for i := range int64(8) {
		p := f.plan(t, "clicks", i, store.StatusApproved, set("w", 1))
		p.Retention = store.Retention{Plans: 3}
		plans = append(plans, f.beside(t, p))
	}
	for _, p := range plans[:5] {
		wantPurged(t, f, p.ID)
	}
	f.wantStatuses(t, "clicks", store.StatusApproved, store.StatusApproved, store.StatusApproved)
	is(t, "current plan", f.operator(t, "clicks").CurrentPlan, plans[7].ID)
	must2(f.CommitPlan(t.Context(), plans[5].ID, f.by("x"), store.Retention{}))(t)
}

func applyingPlanIsKept(t *testing.T, f *fixture) {
	in := f.awaiting(t, "clicks", 0, store.StatusApproved, set("a", 1))
	running := f.create(t, in)
	f.start(t, running.ID)
	proposed := f.proposal(t, "clicks", 1)
	idle := func(interval int64) {
		p := f.plan(t, "clicks", interval, store.StatusNoAction)
		p.Retention = store.Retention{Inputs: 1, Plans: 1, Versions: 1}
		f.create(t, p)
	}
	for i := range int64(5) {
		idle(i + 1)
	}
	f.wantStatuses(t, "clicks", store.StatusApplying, store.StatusNoAction)
	f.wantChanges(t, running.ID, set("a", 1))
	must2(f.AckPlan(t.Context(), running.ID, 1, []int32{0, 2}, f.by("x"), store.Retention{Plans: 1}))(t)
	f.wantStatuses(t, "clicks", store.StatusCommitted, store.StatusNoAction)
	// Its acks go with it, and so does what is only proposed.
	f.keeping(t, store.Retention{Plans: 1}, 1)
	wantPurged(t, f, running.ID)
	proposed.Interval, proposed.BaseVersion = 50, 2
	waiting := f.create(t, proposed)
	idle(51)
	wantPurged(t, f, waiting.ID)
	var acks int
	if err := database(t, f).QueryRowContext(t.Context(), `SELECT count(*) FROM acks`).
		Scan(&acks); err != nil || acks != 0 {
		t.Errorf("%d acks of plans that are gone, error %v", acks, err)
	}
}

func retentionIsPerOperator(t *testing.T, f *fixture) {
	f.put(t, "other", `{}`)
	f.put(t, "clicks", `{}`)
	old := f.commit(t, "other", set("a", 1))
	f.commit(t, "other", set("b", 1))
	f.keeping(t, store.Retention{Inputs: 1, Plans: 1, Versions: 1}, 4)
	for what, err := range planErrors(t, f, old.ID) {
		if err != nil && !errors.Is(err, store.ErrTransition) { // it cannot be resolved or aborted
			t.Errorf("%s: %v", what, err)
		}
	}
	f.wantTable(t, "other", 1, "a=1")
	f.wantTable(t, "other", 2, "a=1", "b=1")
}

func configurationsAreKept(t *testing.T, f *fixture) {
	put := func(times int) {
		for range times {
			next := int64(1)
			if op, err := f.Operator(t.Context(), "clicks"); err == nil {
				next = op.ConfigVersion + 1
			}
			f.put(t, "clicks", fmt.Sprintf(`{"v":%d}`, next))
		}
	}
	put(2)
	f.create(t, f.plan(t, "clicks", 1, store.StatusApproved)) // of version 2; the table is of version 1
	put(store.KeptConfigurations + 2)
	for version := range f.operator(t, "clicks").ConfigVersion {
		_, err := f.Configuration(t.Context(), "clicks", version+1)
		if gone := errors.Is(err, store.ErrNotFound); gone != (version+1 == 3 || version+1 == 4) {
			t.Errorf("configuration %d: error %v", version+1, err)
		}
	}
}

func purgedPlansAreForgotten(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.put(t, "gone", `{}`)
	first := f.keeping(t, store.Retention{Plans: 1}, 3)[0]
	early := f.now()
	with := f.create(t, f.plan(t, "gone", 1, store.StatusNoAction))
	ok(t, f.DeleteOperator(ctx, "gone", f.now()))
	want := func(purged, deleted error) {
		t.Helper()
		fails(t, "a purged plan", errorOf(f.Plan(ctx, first.ID)), purged)
		fails(t, "a plan of a deleted operator", errorOf(f.Plan(ctx, with.ID)), deleted)
	}
	want(store.ErrPurged, store.ErrPurged)
	ok(t, f.Tidy(ctx, early.Add(time.Hour), store.Keep{Keys: time.Hour, Purged: time.Hour}))
	want(store.ErrNotFound, store.ErrPurged)
	ok(t, f.Tidy(ctx, f.now().Add(time.Hour), store.Keep{Keys: time.Hour, Purged: time.Hour}))
	want(store.ErrNotFound, store.ErrNotFound)
}
