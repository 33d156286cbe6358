package storetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"plannerd/store"
)

var pendingCases = []testCase{
	{name: "a proposed plan is kept or replaced", run: proposedIsKeptOrReplaced},
	{name: "a plan takes the place of another in its interval", run: takesThePlace},
	{name: "while a plan is applied no other is created", run: oneInFlight},
	{name: "the current plan is the one that matters", run: currentPlan},
	{name: "a plan that is not approved in time has expired", run: notApprovedInTime},
	{name: "an approved plan that is not started in time has expired", run: notStartedInTime},
	{name: "whatever comes next writes down what has expired", run: expiryIsWrittenDown, bare: true},
	{name: "how a plan does under newer statistics", run: underNewerStatistics},
	{name: "statistics that are too small leave their interval open", run: leavesIntervalOpen},
	{name: "expiry is written down without anything else", run: expiryIsSwept, bare: true},
}

func proposedIsKeptOrReplaced(t *testing.T, f *fixture) {
	ctx := t.Context()
	in := f.proposal(t, "clicks", 1, set("a", 1))
	waiting := f.create(t, in)
	f.create(t, f.plan(t, "clicks", 2, store.StatusNoAction))
	before := read(t, f)
	for _, status := range []store.Status{store.StatusProposed, store.StatusApproved, store.StatusCommitted} {
		for _, policy := range []store.PendingPolicy{"", store.PendingKeep} {
			p := f.plan(t, "clicks", 3, status, set("b", 1))
			p.OnPending = policy
			fails(t, "a plan that is "+string(status), notDone(f.CreatePlan(ctx, p, f.by("x"))), store.ErrPlanPending)
		}
	}
	odd := f.plan(t, "clicks", 3, store.StatusProposed)
	odd.OnPending = "forget"
	refused(t, "an unknown policy", errorOf2(f.CreatePlan(ctx, odd, f.by("x"))))
	if got, created, err := f.CreatePlan(ctx, in, f.by("x")); err != nil || created || got.ID != waiting.ID {
		t.Errorf("the same plan again: %s, created = %v, error %v", got.ID, created, err)
	}
	same(t, "contents", before, read(t, f))

	idle := f.plan(t, "clicks", 3, store.StatusNoAction)
	idle.OnPending = store.PendingReplace
	f.create(t, idle)
	f.wantStatuses(t, "clicks", store.StatusProposed, store.StatusNoAction, store.StatusNoAction)

	next := f.proposal(t, "clicks", 4, set("a", 2))
	next.OnPending = store.PendingReplace
	by := f.by("someone")
	must2(f.CreatePlan(ctx, next, by))(t)
	f.wantLast(t, waiting.ID, 2, store.Transition{
		From: store.StatusProposed, To: store.StatusSuperseded, Actor: "someone", Reason: "plan " + next.ID + " replaces it",
		At: kept(by.At),
	})
	// One that is committed at once replaces it too.
	last := f.plan(t, "clicks", 5, store.StatusCommitted, set("a", 3))
	last.OnPending = store.PendingReplace
	f.create(t, last)
	f.wantStatuses(t, "clicks", store.StatusSuperseded, store.StatusNoAction, store.StatusNoAction, store.StatusSuperseded,
		store.StatusCommitted)
	// A commit supersedes what is proposed.
	approved := f.create(t, f.plan(t, "clicks", 6, store.StatusApproved))
	proposed := f.create(t, f.proposal(t, "clicks", 7))
	f.commitPlan(t, approved.ID)
	for id, successor := range map[string]string{
		waiting.ID: next.ID, next.ID: last.ID, proposed.ID: approved.ID, approved.ID: "",
	} {
		if p := must(f.Plan(ctx, id))(t); p.SupersededBy != successor ||
			(p.Status == store.StatusSuperseded) != (successor != "") {
			t.Errorf("%s is %s by %q, want %q", id, p.Status, p.SupersededBy, successor)
		}
	}
	// Nothing takes the place of what an abort supersedes.
	aborted, other := f.create(t, f.plan(t, "clicks", 8, store.StatusApproved)), f.create(t, f.proposal(t, "clicks", 9))
	f.start(t, aborted.ID)
	f.abort(t, aborted.ID)
	if p := must(f.Plan(ctx, other.ID))(t); p.Status != store.StatusSuperseded || p.SupersededBy != "" {
		t.Errorf("%s by %q", p.Status, p.SupersededBy)
	}
}

// takesThePlace: a plan that is to replace the one that waits supersedes it, whatever it is,
// or nothing happens at all.
func takesThePlace(t *testing.T, f *fixture) {
	ctx := t.Context()
	waiting := f.create(t, f.proposal(t, "clicks", 1, set("a", 1)))
	replacing := func(id string, status store.Status) store.NewPlan {
		p := f.plan(t, "clicks", 1, status, set("a", 2))
		p.Replaces = id
		return p
	}
	before := read(t, f)
	_, _, err := f.CreatePlan(ctx, replacing("another", store.StatusProposed), f.by("x"))
	fails(t, "in the place of a plan that does not wait", err, store.ErrIntervalPlanned)
	late := replacing(waiting.ID, store.StatusProposed)
	late.BaseVersion++
	fails(t, "on a table that is not committed", errorOf2(f.CreatePlan(ctx, late, f.by("x"))), store.ErrBaseChanged)
	same(t, "contents", before, read(t, f))

	next := f.create(t, replacing(waiting.ID, store.StatusProposed))
	idle := f.create(t, replacing(next.ID, store.StatusNoAction))
	for _, p := range []struct{ id, by string }{{waiting.ID, next.ID}, {next.ID, idle.ID}} {
		if got := must(f.Plan(ctx, p.id))(t); got.Status != store.StatusSuperseded || got.SupersededBy != p.by {
			t.Errorf("%s by %q", got.Status, got.SupersededBy)
		}
	}
	// One that was approved meanwhile stays.
	approved := f.create(t, f.plan(t, "clicks", 2, store.StatusApproved))
	p := replacing(approved.ID, store.StatusProposed)
	p.Interval = 2
	fails(t, "in the place of an approved plan", errorOf2(f.CreatePlan(ctx, p, f.by("x"))), store.ErrIntervalPlanned)
}

// underNewerStatistics: what is told of a plan that waits or is under way is kept, until
// somebody agrees to it or something newer is told.
func underNewerStatistics(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.put(t, "views", `{}`)
	foreign := f.create(t, f.proposal(t, "views", 1))
	interval := int64(1)
	evaluated := func(id, latest string, changed bool) {
		t.Helper()
		interval++
		in := f.plan(t, "clicks", interval, store.StatusNoAction)
		in.Evaluated = &store.Evaluation{Plan: id, Latest: []byte(latest), LimitsChanged: changed}
		f.create(t, in)
	}
	want := func(id, latest string, changed bool) {
		t.Helper()
		if p := must(f.Plan(ctx, id))(t); string(p.Latest) != latest || p.LimitsChanged != changed {
			t.Errorf("%s and %v, want %s and %v", p.Latest, p.LimitsChanged, latest, changed)
		}
	}
	p := f.create(t, f.proposal(t, "clicks", 1, set("a", 1)))
	want(p.ID, "", false)
	evaluated(p.ID, `{"n":1}`, true)
	want(p.ID, `{"n":1}`, true)
	wrong := errors.New("unreadable")
	refuses := func(store.Plan) (store.Approval, error) { return store.Approval{}, wrong }
	fails(t, "an agreement that cannot be written", errorOf(f.ApprovePlan(ctx, p.ID, refuses, f.by("ann"))), wrong)
	want(p.ID, `{"n":1}`, true)
	must(f.ApprovePlan(ctx, p.ID, func(p store.Plan) (store.Approval, error) {
		return store.Approval{Latest: []byte(strings.Replace(string(p.Latest), "1", "10", 1))}, nil
	}, f.by("ann")))(t)
	want(p.ID, `{"n":10}`, false)
	evaluated(p.ID, `{"n":2}`, true)
	for range 2 { // the second time there is nothing to agree to
		must(f.ApprovePlan(ctx, p.ID, unchanged, f.by("bob")))(t)
		want(p.ID, `{"n":2}`, false)
	}
	steps := must(f.Transitions(ctx, p.ID))(t)
	if last := steps[len(steps)-1]; len(steps) != 3 || last.From != store.StatusApproved ||
		last.To != store.StatusApproved || last.Actor != "bob" {
		t.Errorf("transitions %v", steps)
	}
	f.start(t, p.ID)
	evaluated(p.ID, `{"n":3}`, false)
	f.finish(t, p)
	evaluated(p.ID, `{"n":4}`, true) // it has come to its end
	want(p.ID, `{"n":3}`, false)
	evaluated(foreign.ID, `{"n":5}`, true)
	want(foreign.ID, "", false)
}

// leavesIntervalOpen: an interval takes other statistics, and the same ones have the same
// plan as long as there are none.
func leavesIntervalOpen(t *testing.T, f *fixture) {
	ctx := t.Context()
	small := f.plan(t, "clicks", 1, store.StatusNoAction)
	small.LeavesOpen = true
	first := f.create(t, small)
	if found := must(f.FindPlan(ctx, "clicks", 0, 1, small.Fingerprint))(t); found.ID != first.ID || !found.LeavesOpen {
		t.Errorf("found %s, which leaves its interval open: %v", found.ID, found.LeavesOpen)
	}
	again := small
	again.ID = "again"
	if got, created := must2(f.CreatePlan(ctx, again, f.by("x")))(t); created || got.ID != first.ID {
		t.Errorf("the same statistics: %s, created: %v", got.ID, created)
	}
	other := f.plan(t, "clicks", 1, store.StatusNoAction)
	other.LeavesOpen = true
	f.create(t, other)
	if _, _, err := f.PutReport(ctx, "clicks", store.Report{Interval: 1, At: f.now()}, []byte("x"), 0); err != nil {
		t.Errorf("a report: %v", err)
	}
	if err := f.CheckInterval(ctx, "clicks", 0, 1); err != nil {
		t.Errorf("the interval: %v", err)
	}
	fails(t, "an older interval", f.CheckInterval(ctx, "clicks", 0, 0), store.ErrIntervalOutdated)
	whole := f.plan(t, "clicks", 1, store.StatusApproved, set("a", 1))
	whole.LeavesOpen = true // which it cannot
	is(t, "an approved plan leaves its interval open", f.create(t, whole).LeavesOpen, false)
	fails(t, "small ones afterwards", errorOf(f.FindPlan(ctx, "clicks", 0, 1, small.Fingerprint)), store.ErrNotFound)
	fails(t, "a plan of small ones afterwards", errorOf2(f.CreatePlan(ctx, again, f.by("x"))), store.ErrIntervalPlanned)
}

func oneInFlight(t *testing.T, f *fixture) {
	running := f.create(t, f.plan(t, "clicks", 1, store.StatusApproved, set("a", 1)))
	f.start(t, running.ID)
	before := read(t, f)
	for _, status := range []store.Status{store.StatusProposed, store.StatusApproved, store.StatusCommitted} {
		p := f.plan(t, "clicks", 2, status)
		p.OnPending = store.PendingReplace
		fails(t, "a plan that is "+string(status), errorOf2(f.CreatePlan(t.Context(), p, f.by("x"))), store.ErrPlanInFlight)
	}
	same(t, "contents", before, read(t, f))
	f.create(t, f.plan(t, "clicks", 2, store.StatusNoAction))
	f.finish(t, running)
	f.commit(t, "clicks", set("b", 1))
}

func currentPlan(t *testing.T, f *fixture) {
	want := func(p store.Plan, status store.Status) {
		t.Helper()
		ops := must(f.Operators(t.Context(), "", 10))(t)
		if op := ops[0]; op.CurrentPlan != p.ID || op.CurrentStatus != status {
			t.Errorf("current plan %q is %q, want %q, %q", op.CurrentPlan, op.CurrentStatus, p.ID, status)
		}
	}
	want(store.Plan{}, "")
	first := f.create(t, f.plan(t, "clicks", 1, store.StatusApproved))
	second := f.beside(t, f.plan(t, "clicks", 2, store.StatusApproved))
	want(second, store.StatusApproved)
	f.create(t, f.proposal(t, "clicks", 3))
	f.create(t, f.plan(t, "clicks", 4, store.StatusNoAction))
	want(second, store.StatusApproved) // it is to be carried out, whatever is proposed
	f.start(t, first.ID)
	want(first, store.StatusApplying)
	must(f.AbortPlan(t.Context(), first.ID, false, f.by("x")))(t)
	want(first, store.StatusAborting)
	must(f.AbortPlan(t.Context(), first.ID, true, f.by("x")))(t)
	want(store.Plan{}, "")
	proposed := f.create(t, f.proposal(t, "clicks", 5))
	want(proposed, store.StatusProposed)
	f.ticks.Add(60)
	want(store.Plan{}, "")
	second = f.create(t, f.plan(t, "clicks", 6, store.StatusApproved))
	third := f.create(t, f.plan(t, "clicks", 7, store.StatusApproved))
	want(third, store.StatusApproved)
	last := f.wantSteps(t, second.ID, 2)[1]
	is(t, "the last transition of the plan before is", last.To, store.StatusSuperseded)
	is(t, "the last transition of the plan before is", last.Reason, "plan "+third.ID+" was approved")
	proposed = f.create(t, f.proposal(t, "clicks", 8))
	must(f.ApprovePlan(t.Context(), proposed.ID, unchanged, f.by("x")))(t)
	want(proposed, store.StatusApproved)
	if p := must(f.Plan(t.Context(), third.ID))(t); p.Status != store.StatusSuperseded || p.SupersededBy != proposed.ID {
		t.Errorf("the plan before is %s by %q", p.Status, p.SupersededBy)
	}
	f.commitPlan(t, proposed.ID)
	want(store.Plan{}, "")
}

// notApprovedInTime looks at a plan before and after it expires, which nobody has
// written down.
func notApprovedInTime(t *testing.T, f *fixture) {
	ctx := t.Context()
	in := f.proposal(t, "clicks", 1, set("a", 1))
	in.ExpiresAt = new(kept(f.clock().Add(time.Hour).Truncate(time.Second)))
	p := f.create(t, in)
	forever := f.plan(t, "clicks", 1, store.StatusApproved)
	forever.Interval, forever.ExpiresAt = 0, in.ExpiresAt
	look := func(status store.Status, transitions int, missing, open error) {
		t.Helper()
		got, err := f.Plan(ctx, p.ID)
		ok(t, err)
		is(t, "status", got.Status, status)
		steps, err := f.Transitions(ctx, p.ID)
		holds(t, err == nil && len(steps) == transitions && steps[len(steps)-1].To == status,
			"transitions %v, error %v", steps, err)
		for _, s := range []store.Status{store.StatusProposed, store.StatusExpired, ""} {
			listed, _, err := f.Plans(ctx, store.PlanFilter{Operator: "clicks", Status: s, Limit: 5})
			if there := len(listed) == 1; err != nil || there != (s == "" || s == status) || there &&
				listed[0].Status != status {
				t.Errorf("%d plans with status %q, error %v", len(listed), s, err)
			}
		}
		fails(t, "finding it", errorOf(f.FindPlan(ctx, "clicks", 0, 1, in.Fingerprint)), missing)
		fails(t, "its interval", f.CheckInterval(ctx, "clicks", 0, 1), open)
		is(t, "it is the current plan", f.operator(t, "clicks").CurrentPlan == p.ID, status == store.StatusProposed)
	}
	look(store.StatusProposed, 1, nil, store.ErrIntervalPlanned)
	f.ticks.Store(int64(in.ExpiresAt.Sub(f.clock())/time.Second) + f.ticks.Load() - 1)
	look(store.StatusProposed, 1, nil, store.ErrIntervalPlanned)
	f.ticks.Add(2)
	look(store.StatusExpired, 2, store.ErrNotFound, nil)
	f.wantLast(t, p.ID, 2, store.Transition{
		From: store.StatusProposed, To: store.StatusExpired, Actor: store.Expirer, Reason: "it was not approved in time",
		At: *in.ExpiresAt,
	})
	// What leads to nothing does not expire.
	p2 := f.plan(t, "clicks", 2, store.StatusNoAction)
	p2.ExpiresAt = in.ExpiresAt
	if got := f.create(t, p2); got.ExpiresAt != nil || got.Status != store.StatusNoAction {
		t.Errorf("a plan without action is %q and expires at %v", got.Status, got.ExpiresAt)
	}
}

// notStartedInTime looks at approved plans that nobody starts, and at one that somebody
// does.
func notStartedInTime(t *testing.T, f *fixture) {
	ctx := t.Context()
	end := func(d time.Duration) *time.Time { return new(kept(f.clock().Add(d).Truncate(time.Second))) }
	p := f.create(t, f.proposal(t, "clicks", 1, set("a", 1)))
	later := end(2 * time.Hour)
	p = must(f.ApprovePlan(ctx, p.ID, func(p store.Plan) (store.Approval, error) {
		return store.Approval{ExpiresAt: later, Latest: p.Latest}, nil
	}, f.by("x")))(t)
	same(t, "the end of an approved plan", later, p.ExpiresAt)
	born := f.plan(t, "clicks", 2, store.StatusApproved, set("a", 1))
	born.ExpiresAt = end(time.Hour)
	started := f.plan(t, "clicks", 3, store.StatusApproved, set("a", 1))
	started.ExpiresAt = born.ExpiresAt
	f.beside(t, born)
	f.beside(t, started)
	f.start(t, started.ID)
	f.ticks.Add(3600)
	f.wantStatuses(t, "clicks", store.StatusApproved, store.StatusExpired, store.StatusApplying)
	for status, id := range map[store.Status]string{store.StatusApproved: p.ID, store.StatusExpired: born.ID} {
		listed, _, err := f.Plans(ctx, store.PlanFilter{Operator: "clicks", Status: status, Limit: 5})
		holds(t, err == nil && len(listed) == 1 && listed[0].ID == id,
			"%s: %d plans, error %v", status, len(listed), err)
	}
	fails(t, "starting what has expired", errorOf(f.StartPlan(ctx, born.ID, jobManager, f.by("x"))), store.ErrTransition)
	if n, err := f.Expire(ctx, f.now()); err != nil || n != 1 {
		t.Errorf("%d plans expired, error %v", n, err)
	}
	f.wantLast(t, born.ID, 2, store.Transition{
		From: store.StatusApproved, To: store.StatusExpired, Actor: store.Expirer, Reason: "it was not started in time",
		At: *born.ExpiresAt,
	})
	f.abort(t, started.ID)
	f.ticks.Add(7200)
	is(t, "current plan", f.operator(t, "clicks").CurrentPlan, "")
}

// expiryIsWrittenDown: reading and writing down make no difference to a reader.
func expiryIsWrittenDown(t *testing.T, f *fixture) {
	ctx := t.Context()
	for what, touch := range map[string]func(name string) error{
		"a plan of another interval": func(name string) error {
			return errorOf2(f.CreatePlan(ctx, f.plan(t, name, 2, store.StatusProposed), f.by("x")))
		},
		"a plan of the same interval": func(name string) error {
			return errorOf2(f.CreatePlan(ctx, f.plan(t, name, 1, store.StatusApproved), f.by("x")))
		},
		"a report": func(name string) error {
			return errorOf2(f.PutReport(ctx, name, store.Report{Interval: 1, At: f.now()}, []byte("x"), 0))
		},
		"a step of another plan": func(name string) error {
			return errorOf(f.AbortPlan(ctx, "approved "+name, false, f.by("x")))
		},
	} {
		f.put(t, what, `{}`)
		approved := f.plan(t, what, 0, store.StatusApproved)
		approved.ID = "approved " + what
		f.create(t, approved)
		p := f.create(t, f.proposal(t, what, 1, set("a", 1)))
		f.ticks.Add(60)
		before, err := f.Transitions(ctx, p.ID)
		holds(t, err == nil && len(before) == 2, "%s: transitions %v, error %v; want two", what, before, err)
		if err := touch(what); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		var status string
		row := database(t, f).QueryRowContext(ctx, `SELECT status FROM plans WHERE id = '`+p.ID+`'`)
		if err := row.Scan(&status); err != nil || status != string(store.StatusExpired) {
			t.Errorf("%s: the database says %q, error %v", what, status, err)
		}
		after := must(f.Transitions(ctx, p.ID))(t)
		same(t, what+": transitions", before, after)
	}
}

func expiryIsSwept(t *testing.T, f *fixture) {
	ctx := t.Context()
	for _, name := range []string{"a", "b", "c", "d"} {
		f.put(t, name, `{}`)
		p := f.proposal(t, name, 1)
		switch name {
		case "c":
			p.ExpiresAt = new(p.ExpiresAt.Add(time.Hour))
		case "d":
			p.ExpiresAt = nil
		}
		f.create(t, p)
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 0}, {2 * time.Minute, 2}, {2 * time.Minute, 0}, {2 * time.Hour, 1}, {10_000 * time.Hour, 0}} {
		is(t, "how many expired", must(f.Expire(ctx, f.clock().Add(c.after)))(t), c.want)
	}
	for name, want := range map[string]store.Status{"a": store.StatusExpired, "c": store.StatusExpired,
		"d": store.StatusProposed} {
		f.wantStatuses(t, name, want)
	}
}
