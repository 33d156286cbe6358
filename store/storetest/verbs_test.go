package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"plannerd/store"
)

var verbCases = []testCase{
	{name: "the whole matrix of statuses and verbs", run: wholeMatrix, bare: true},
	{name: "a plan goes all the way", run: allTheWay},
	{name: "guards are asked under the lock and first", run: guardsComeFirst, bare: true},
	{name: "guards of operators", run: operatorGuards, bare: true},
	{name: "a plan is started once and by one executor", run: startedByOne},
	{name: "what cannot be committed is not started", run: notStarted},
	{name: "acks are a set and the last one commits", run: lastAckCommits},
	{name: "acks that are refused", run: refusedAcks},
	{name: "a plan that is being applied is aborted in two steps", run: abortInTwoSteps},
	{name: "a successor takes a plan over", run: takenOver},
	{name: "a plan that is being applied commits with all acks only", run: commitNeedsAcks},
}

// verb is one of the methods that take a plan on.
type verb struct {
	name string
	run  func(ctx context.Context, s store.Lifecycle, id string, by store.Transition,
		guards ...store.PlanGuard) (store.Plan, error)
	to   store.Status
	from []store.Status // those that it changes
	done []store.Status // those that it succeeds in without a change
}

var verbs = []verb{
	{"approve", func(ctx context.Context, s store.Lifecycle, id string, by store.Transition,
		guards ...store.PlanGuard) (store.Plan, error) {
		return s.ApprovePlan(ctx, id, unchanged, by, guards...)
	}, store.StatusApproved, []store.Status{store.StatusProposed}, []store.Status{store.StatusApproved}},
	{"reject", func(ctx context.Context, s store.Lifecycle, id string, by store.Transition,
		guards ...store.PlanGuard) (store.Plan, error) {
		return s.RejectPlan(ctx, id, by, guards...)
	}, store.StatusRejected, []store.Status{store.StatusProposed}, []store.Status{store.StatusRejected}},
	{"start", func(ctx context.Context, s store.Lifecycle, id string, by store.Transition,
		guards ...store.PlanGuard) (store.Plan, error) {
		return s.StartPlan(ctx, id, jobManager, by, guards...)
	}, store.StatusApplying, []store.Status{store.StatusApproved},
		[]store.Status{store.StatusApplying, store.StatusAborting}},
	{"ack", func(ctx context.Context, s store.Lifecycle, id string, by store.Transition,
		guards ...store.PlanGuard) (store.Plan, error) {
		p, _, err := s.AckPlan(ctx, id, 1, []int32{2, 0}, by, store.Retention{}, guards...)
		return p, err
	}, store.StatusCommitted, []store.Status{store.StatusApplying}, []store.Status{store.StatusCommitted}},
	{"commit", func(ctx context.Context, s store.Lifecycle, id string, by store.Transition,
		guards ...store.PlanGuard) (store.Plan, error) {
		p, _, err := s.CommitPlan(ctx, id, by, store.Retention{}, guards...)
		return p, err
	}, store.StatusCommitted, []store.Status{store.StatusApproved}, []store.Status{store.StatusCommitted}},
	{"abort", func(ctx context.Context, s store.Lifecycle, id string, by store.Transition,
		guards ...store.PlanGuard) (store.Plan, error) {
		return s.AbortPlan(ctx, id, true, by, guards...)
	}, store.StatusAborted, []store.Status{store.StatusApproved, store.StatusAborting},
		[]store.Status{store.StatusAborted}},
}

var allStatuses = []store.Status{
	store.StatusNoAction, store.StatusProposed, store.StatusApproved, store.StatusApplying, store.StatusAborting,
	store.StatusCommitted, store.StatusRejected, store.StatusAborted, store.StatusSuperseded, store.StatusExpired,
}

// awaiting is plan for one that awaits instances 0 and 2.
func (f *fixture) awaiting(t testing.TB, operator string, interval int64, status store.Status,
	changes ...store.Change) store.NewPlan {
	t.Helper()
	p := f.plan(t, operator, interval, status, changes...)
	p.Awaited = []int32{2, 0, 2}
	return p
}

// proposal is a plan that waits for approval for a minute.
func (f *fixture) proposal(t testing.TB, operator string, interval int64, changes ...store.Change) store.NewPlan {
	t.Helper()
	p := f.awaiting(t, operator, interval, store.StatusProposed, changes...)
	p.ExpiresAt = new(f.clock().Add(time.Minute))
	return p
}

// jobManager is who starts plans.
var jobManager = store.Executor{Name: "job manager"}

// start starts an approved plan.
func (f *fixture) start(t testing.TB, id string) store.Plan {
	t.Helper()
	return must(f.StartPlan(t.Context(), id, jobManager, f.by("engine")))(t)
}

// inStatus makes an operator and a plan of it that has a status.
func (f *fixture) inStatus(t *testing.T, operator string, status store.Status) store.Plan {
	t.Helper()
	f.put(t, operator, `{}`)
	born := status
	switch status {
	case store.StatusApplying, store.StatusAborting, store.StatusAborted, store.StatusSuperseded:
		born = store.StatusApproved
	case store.StatusRejected, store.StatusExpired:
		born = store.StatusProposed
	}
	in := f.awaiting(t, operator, 1, born, set("k", 1))
	if status == store.StatusExpired {
		in.ExpiresAt = new(f.clock().Add(time.Minute))
	}
	p := f.create(t, in)
	var err error
	switch status {
	case store.StatusApplying:
		p = f.start(t, p.ID)
	case store.StatusAborting:
		f.start(t, p.ID)
		p, err = f.AbortPlan(t.Context(), p.ID, false, f.by("x"))
	case store.StatusAborted:
		p, err = f.AbortPlan(t.Context(), p.ID, false, f.by("x"))
	case store.StatusRejected:
		p, err = f.RejectPlan(t.Context(), p.ID, f.by("x"))
	case store.StatusSuperseded:
		f.create(t, f.plan(t, operator, 2, store.StatusCommitted))
	case store.StatusExpired:
		f.ticks.Add(60)
	}
	if err != nil {
		t.Fatal(err)
	}
	if p, err = f.Plan(t.Context(), p.ID); err != nil || p.Status != status {
		t.Fatalf("a plan that is %s, error %v; want one that is %s", p.Status, err, status)
	}
	return p
}

// wholeMatrix tries each verb on a plan of each status, twice.
func wholeMatrix(t *testing.T, f *fixture) {
	for _, status := range allStatuses {
		for _, v := range verbs {
			v.try(t, f, status)
		}
	}
}

func (v verb) try(t *testing.T, f *fixture, status store.Status) {
	t.Helper()
	operator := fmt.Sprintf("%s %s", v.name, status)
	p := f.inStatus(t, operator, status)
	before := readOperator(t, f, operator)
	got, err := v.run(t.Context(), f, p.ID, f.by("someone"))
	after := readOperator(t, f, operator)
	switch {
	case slices.Contains(v.from, status):
		holds(t, err == nil && got.Status == v.to,
			"%s: status %q, error %v; want %q", operator, got.Status, err, v.to)
		steps := after.Plans[0].Transitions
		last := steps[len(steps)-1]
		if len(steps) != len(before.Plans[0].Transitions)+1 || last.From != status || last.To != v.to ||
			last.Actor != "someone" {
			t.Errorf("%s: transitions %v", operator, steps)
		}
		again, err := v.run(t.Context(), f, p.ID, f.by("another"))
		holds(t, err == nil, "%s again: %v", operator, err)
		same(t, operator+" again: plans", got, again)
		same(t, operator+" again: contents", after, readOperator(t, f, operator))
	case slices.Contains(v.done, status):
		holds(t, err == nil, "%s: %v", operator, err)
		same(t, operator+": plans", p, got)
		same(t, operator+": contents", before, after)
	case v.name == "commit" && status == store.StatusApplying:
		fails(t, operator, err, store.ErrAcksMissing)
		same(t, operator+": contents", before, after)
	default:
		fails(t, operator, err, store.ErrTransition)
		if v.name == "abort" && status != store.StatusApplying {
			_, err := f.AbortPlan(t.Context(), p.ID, false, f.by("x"))
			fails(t, operator+", not rolled back", err, store.ErrTransition)
		}
		same(t, operator+": contents", before, after)
	}
}

func allTheWay(t *testing.T, f *fixture) {
	ctx := t.Context()
	in := f.proposal(t, "clicks", 7, set("a", 1), set("b", 2))
	in.Executor, in.Acked = store.Executor{Name: "not yet"}, []store.Ack{{Instance: 2}}
	p := f.create(t, in)
	want := in.Plan
	want.CreatedAt, want.ExpiresAt = kept(in.CreatedAt), new(kept(*in.ExpiresAt))
	want.Executor, want.Acked, want.Awaited = store.Executor{}, nil, []int32{0, 2}
	current := func(id string, status store.Status) {
		t.Helper()
		if op := f.operator(t, "clicks"); op.CurrentPlan != id || op.CurrentStatus != status {
			t.Errorf("current plan %q is %q, want %q, %q", op.CurrentPlan, op.CurrentStatus, id, status)
		}
		same(t, "plans read", want, must(f.Plan(ctx, in.ID))(t))
	}
	same(t, "proposed plans", want, p)
	current(p.ID, store.StatusProposed)

	p, err := f.ApprovePlan(ctx, p.ID, unchanged, f.by("operator"))
	want.Status = store.StatusApproved
	same(t, "approved plans", want, p)
	current(p.ID, store.StatusApproved)

	p = f.start(t, p.ID)
	f.ticks.Add(3600) // what is started does not expire
	want.Status, want.Executor, want.ExecutorSince = store.StatusApplying, jobManager, p.ExecutorSince
	same(t, "applying plans", want, p)
	current(p.ID, store.StatusApplying)
	f.wantTable(t, "clicks", -1)

	first, second := f.by("zero"), f.by("two")
	p, committed, e := f.AckPlan(ctx, p.ID, 1, []int32{0}, first, store.Retention{})
	want.Acked = []store.Ack{{Instance: 0, Actor: "zero", At: kept(first.At)}}
	same(t, "acked plans", want, p)
	current(p.ID, store.StatusApplying)
	if err = errors.Join(err, e); err != nil || committed {
		t.Fatalf("committed = %v, error %v", committed, err)
	}
	second.Reason = ""
	p, committed, err = f.AckPlan(ctx, p.ID, 1, []int32{2, 0}, second, store.Retention{})
	want.Acked = append(want.Acked, store.Ack{Instance: 2, Actor: "two", At: kept(second.At)})
	want.Status, want.Version = store.StatusCommitted, new(int64(1))
	same(t, "committed plans", want, p)
	current("", "")
	ok(t, err)
	is(t, "committed", committed, true)
	f.wantTable(t, "clicks", 1, "a=1", "b=2")
	found := must(f.FindPlan(ctx, "clicks", 0, 7, in.Fingerprint))(t)
	same(t, "plans found", want, found)
	f.wantLast(t, p.ID, 4, store.Transition{
		From: store.StatusApplying, To: store.StatusCommitted, Actor: "two", Reason: "all instances have finished",
		At: kept(second.At),
	})
}

var errGuard = errors.New("the guard says no")

func guardsComeFirst(t *testing.T, f *fixture) {
	for _, v := range verbs {
		for _, status := range []store.Status{v.from[0], store.StatusNoAction} {
			operator := fmt.Sprintf("%s %s", v.name, status)
			p := f.inStatus(t, operator, status)
			before := readOperator(t, f, operator)
			asked := 0
			_, err := v.run(t.Context(), f, p.ID, f.by("x"),
				func(got store.Plan) error { asked++; same(t, operator+": plans", p, got); return nil },
				func(store.Plan) error { return errGuard },
				func(store.Plan) error { t.Error("a guard is asked after another refused"); return nil })
			fails(t, operator, err, errGuard)
			holds(t, asked != 0, "%s: the guard is not asked", operator)
			same(t, operator+": contents", before, readOperator(t, f, operator))
		}
	}
	f.put(t, "clicks", `{}`)
	p := f.create(t, f.classes(t, 1))
	_, err := f.ResolvePlan(t.Context(), p.ID, store.Resolution{}, f.by("x"), func(store.Plan) error { return errGuard })
	fails(t, "a resolution", err, errGuard)
	never := func(store.Plan) error { t.Error("a guard is asked about nothing"); return nil }
	fails(t, "no plan", errorOf(f.ApprovePlan(t.Context(), "none", unchanged, f.by("x"), never)), store.ErrNotFound)
}

func operatorGuards(t *testing.T, f *fixture) {
	ctx := t.Context()
	var seen *store.Operator
	guard := func(err error) store.OperatorGuard {
		return func(current *store.Operator) error { seen = current; return err }
	}
	fails(t, "creating", errorOf2(f.PutOperator(ctx, "clicks", []byte(`{}`), f.now(), guard(errGuard))), errGuard)
	fails(t, "an operator that a guard refused", errorOf(f.Operator(ctx, "clicks")), store.ErrNotFound)
	fails(t, "deleting nothing", f.DeleteOperator(ctx, "clicks", f.now(), guard(errGuard)), store.ErrNotFound)
	seen = &store.Operator{}
	want, created, err := f.PutOperator(ctx, "clicks", []byte(`{}`), f.now(), guard(nil))
	holds(t, err == nil && created && seen == nil && want.ConfigVersion == 1,
		"created = %v, error %v, the guard saw %v, configuration %d", created, err, seen, want.ConfigVersion)
	for what, err := range map[string]error{
		"configuring": func() error {
			return errorOf2(f.PutOperator(ctx, "clicks", []byte(`{"v":2}`), f.now(), guard(errGuard)))
		}(),
		"configuring alike": func() error {
			return errorOf2(f.PutOperator(ctx, "clicks", []byte(`{}`), f.now(), guard(errGuard)))
		}(),
		"deleting": f.DeleteOperator(ctx, "clicks", f.now(), guard(errGuard)),
	} {
		fails(t, what, err, errGuard)
		same(t, what+": operators seen", &want, seen)
		same(t, what+": operators", want, f.operator(t, "clicks"))
	}
	ok(t, f.DeleteOperator(ctx, "clicks", f.now(), guard(nil)))
}

func startedByOne(t *testing.T, f *fixture) {
	ctx := t.Context()
	one := f.create(t, f.plan(t, "clicks", 1, store.StatusApproved, set("a", 1)))
	other := f.beside(t, f.plan(t, "clicks", 2, store.StatusApproved, set("a", 2)))
	want := f.start(t, one.ID)
	before := read(t, f)
	_, err := f.StartPlan(ctx, one.ID, store.Executor{Name: "another engine"}, f.by("x"))
	fails(t, "another executor", err, store.ErrTransition)
	for _, executor := range []string{"", "a\xffb", "a\x00b"} {
		_, err = f.StartPlan(ctx, other.ID, store.Executor{Name: executor}, f.by("x"))
		refused(t, "an executor that is no text", err)
	}
	fails(t, "another plan", errorOf(f.StartPlan(ctx, other.ID, jobManager, f.by("x"))), store.ErrPlanInFlight)
	_, _, err = f.CommitPlan(ctx, other.ID, f.by("x"), store.Retention{})
	fails(t, "committing another plan", err, store.ErrPlanInFlight)
	same(t, "plans", want, f.start(t, one.ID))
	same(t, "contents", before, read(t, f))
	is(t, "current plan", f.operator(t, "clicks").CurrentPlan, one.ID)
	// Its end supersedes the other one.
	f.abort(t, one.ID)
	f.wantStatuses(t, "clicks", store.StatusAborted, store.StatusSuperseded)
	fails(t, "a superseded plan", errorOf(f.StartPlan(ctx, other.ID, jobManager, f.by("x"))), store.ErrTransition)
	// Other operators have their own.
	f.put(t, "other", `{}`)
	f.start(t, f.create(t, f.plan(t, "clicks", 4, store.StatusApproved)).ID)
	f.start(t, f.create(t, f.plan(t, "other", 4, store.StatusApproved)).ID)
}

func notStarted(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.commit(t, "clicks", set("a", 1))
	p := f.create(t, f.classes(t, 5))
	fails(t, "an unresolved plan", errorOf(f.StartPlan(ctx, p.ID, jobManager, f.by("x"))), store.ErrUnresolved)
	// No method leaves a plan behind whose base has changed; a build before this one
	// does.
	must(database(t, f).ExecContext(ctx, `UPDATE plans SET base_version = 0 WHERE status = 'approved'`))(t)
	fails(t, "a plan of another base", errorOf(f.StartPlan(ctx, p.ID, jobManager, f.by("x"))), store.ErrBaseChanged)
	f.wantStatuses(t, "clicks", store.StatusCommitted, store.StatusApproved)
	// The schema holds that one plan is applied at a time.
	f.start(t, f.beside(t, f.plan(t, "clicks", 6, store.StatusApproved)).ID)
	if _, err := database(t, f).
		ExecContext(ctx, `UPDATE plans SET status = 'applying' WHERE status = 'approved'`); err == nil {
		t.Error("the schema lets two plans be applied")
	}
	for _, status := range []string{"nonsense", ""} {
		if _, err := database(t, f).ExecContext(ctx, `UPDATE plans SET status = '`+status+
			`' WHERE status = 'approved'`); err == nil {
			t.Errorf("the schema lets a plan be %q", status)
		}
	}
}

func lastAckCommits(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.keeping(t, store.Retention{}, 3)
	p := f.create(t, f.awaiting(t, "clicks", 5, store.StatusApproved, set("a", 1)))
	f.start(t, p.ID)
	want := did(f.AckPlan(ctx, p.ID, 1, []int32{2, 2}, f.by("two"), store.Retention{}))(t, "the call", false)
	before := read(t, f)
	for _, instances := range [][]int32{{2}, {2, 2}, nil} {
		got := did(f.AckPlan(ctx, p.ID, 1, instances, f.by("again"), store.Retention{}))(t, "again", false)
		same(t, "plans", want, got)
		same(t, "contents", before, read(t, f))
	}
	did(f.AckPlan(ctx, p.ID, 1, []int32{0}, f.by("zero"), store.Retention{Plans: 1}))(t, "the call", true)
	f.wantStatuses(t, "clicks", store.StatusCommitted) // with retention
	before = read(t, f)
	got, committed, err := f.AckPlan(ctx, p.ID, 1, []int32{0, 2}, f.by("late"), store.Retention{})
	holds(t, err == nil && !committed && got.Status == store.StatusCommitted,
		"late acks: committed = %v, error %v", committed, err)
	same(t, "contents", before, read(t, f))
	// Acks that come after a commit without them are not noted.
	p = f.commitPlan(t, f.create(t, f.awaiting(t, "clicks", 6, store.StatusApproved)).ID)
	got = did(f.AckPlan(ctx, p.ID, 1, []int32{2}, f.by("late"), store.Retention{}))(t, "an ack after the commit", false)
	same(t, "plans", p, got)
}

func refusedAcks(t *testing.T, f *fixture) {
	ctx := t.Context()
	p := f.create(t, f.awaiting(t, "clicks", 5, store.StatusApproved, set("a", 1)))
	try := func(want error) {
		t.Helper()
		before := read(t, f)
		for _, instances := range [][]int32{{1}, {0, 3}, {-1}} {
			_, committed, err := f.AckPlan(ctx, p.ID, 1, instances, f.by("x"), store.Retention{})
			fails(t, fmt.Sprint("instances ", instances), err, want)
			is(t, "committed", committed, false)
		}
		same(t, "contents", before, read(t, f))
	}
	try(store.ErrTransition)
	f.start(t, p.ID)
	try(store.ErrNotAwaited)
	ok(t, f.ackPlan(ctx, p.ID, 0, 2))
	try(store.ErrNotAwaited)
}

// abort gives up a plan that is being applied.
func (f *fixture) abort(t testing.TB, id string) {
	t.Helper()
	for _, rolledBack := range []bool{false, true} {
		must(f.AbortPlan(t.Context(), id, rolledBack, f.by("x")))(t)
	}
}

func (f *fixture) ackPlan(ctx context.Context, id string, instances ...int32) error {
	return errorOf2(f.AckPlan(ctx, id, 1, instances, f.by("x"), store.Retention{}))
}

func abortInTwoSteps(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.commit(t, "clicks", set("z", 3))
	p := f.create(t, f.awaiting(t, "clicks", 5, store.StatusApproved, set("a", 1)))
	waiting := f.beside(t, f.plan(t, "clicks", 6, store.StatusApproved, set("b", 1)))
	f.start(t, p.ID)
	ok(t, f.ackPlan(ctx, p.ID, 2))
	before := read(t, f)
	_, err := f.AbortPlan(ctx, p.ID, true, f.by("x"))
	fails(t, "an abort whose acks counted until now", err, store.ErrTransition)
	same(t, "contents", before, read(t, f))

	got, err := f.AbortPlan(ctx, p.ID, false, f.by("x"))
	need(t, err == nil && got.Status == store.StatusAborting, "status %q, error %v", got.Status, err)
	if op := f.operator(t, "clicks"); op.CurrentPlan != p.ID || op.CurrentStatus != store.StatusAborting ||
		op.TableVersion != 1 {
		t.Errorf("operator %+v", op)
	}
	before = read(t, f)
	fails(t, "the last ack", f.ackPlan(ctx, p.ID, 0), store.ErrTransition)
	fails(t, "a commit", errorOf2(f.CommitPlan(ctx, p.ID, f.by("x"), store.Retention{})), store.ErrTransition)
	fails(t, "starting another plan", errorOf(f.StartPlan(ctx, waiting.ID, jobManager, f.by("x"))), store.ErrPlanInFlight)
	_, _, err = f.CreatePlan(ctx, f.plan(t, "clicks", 7, store.StatusApproved), f.by("x"))
	fails(t, "creating another plan", err, store.ErrPlanInFlight)
	same(t, "contents", before, read(t, f))

	got, err = f.AbortPlan(ctx, p.ID, true, f.by("x"))
	if err != nil || got.Status != store.StatusAborted || got.Version != nil || len(got.Acked) != 1 ||
		got.Executor != jobManager {
		t.Errorf("plan %+v, error %v", got, err)
	}
	// The table is as it was, under another version: what was reported on the way is old.
	f.wantTable(t, "clicks", 2, "z=3")
	f.wantStatuses(t, "clicks", store.StatusCommitted, store.StatusAborted, store.StatusSuperseded)
	feed, err := f.TableChanges(ctx, "clicks", 1)
	holds(t, err == nil && !feed.Full && len(feed.Changes) == 0 && feed.Version == 2 && feed.Pending == nil,
		"feed %+v, error %v", feed, err)
	before = read(t, f)
	f.abort(t, p.ID) // again
	same(t, "contents", before, read(t, f))
	// The interval may have another plan, the operator another that is applied.
	f.start(t, f.create(t, f.plan(t, "clicks", 6, store.StatusApproved)).ID)
}

func takenOver(t *testing.T, f *fixture) {
	ctx := t.Context()
	p := f.create(t, f.awaiting(t, "clicks", 5, store.StatusApproved, set("a", 1)))
	first, later := store.Executor{Name: "one", Epoch: 1}, store.Executor{Name: "two", Epoch: 2}
	by := f.by("one")
	started, err := f.StartPlan(ctx, p.ID, first, by)
	if err != nil || started.Executor != first || started.ExecutorSince == nil ||
		!started.ExecutorSince.Equal(kept(by.At)) {
		t.Fatalf("plan %+v, error %v", started, err)
	}
	ok(t, f.ackPlan(ctx, p.ID, 2))
	before := read(t, f)
	for _, executor := range []store.Executor{{Name: "two"}, {Name: "two", Epoch: 1}, {Name: "one"}} {
		_, err := f.StartPlan(ctx, p.ID, executor, f.by("x"))
		fails(t, fmt.Sprintf("a start by %+v", executor), err, store.ErrTransition)
	}
	is(t, "the executor again", must(f.StartPlan(ctx, p.ID, first, f.by("x")))(t).Executor, first)
	same(t, "contents", before, read(t, f))

	by = f.by("two")
	taken, err := f.StartPlan(ctx, p.ID, later, by)
	if err != nil || taken.Status != store.StatusApplying || taken.Executor != later ||
		!taken.ExecutorSince.Equal(kept(by.At)) || len(taken.Acked) != 1 {
		t.Errorf("plan %+v, error %v", taken, err)
	}
	steps, err := f.Transitions(ctx, p.ID)
	if err != nil || len(steps) != 3 || steps[2].From != store.StatusApplying || steps[2].To != store.StatusApplying {
		t.Errorf("transitions %v, error %v", steps, err)
	}
	fails(t, "a start by the older executor", errorOf(f.StartPlan(ctx, p.ID, first, f.by("x"))), store.ErrTransition)
	// A plan that is being aborted is taken over, too.
	must(f.AbortPlan(ctx, p.ID, false, f.by("two")))(t)
	third := store.Executor{Name: "three", Epoch: 3}
	if got, err := f.StartPlan(ctx, p.ID, third, f.by("x")); err != nil || got.Status != store.StatusAborting ||
		got.Executor != third {
		t.Errorf("plan %+v, error %v", got, err)
	}
}

func commitNeedsAcks(t *testing.T, f *fixture) {
	ctx := t.Context()
	p := f.create(t, f.awaiting(t, "clicks", 5, store.StatusApproved, set("a", 1)))
	f.start(t, p.ID)
	for _, acked := range [][]int32{nil, {0}} {
		ok(t, f.ackPlan(ctx, p.ID, acked...))
		before := read(t, f)
		_, _, err := f.CommitPlan(ctx, p.ID, f.by("x"), store.Retention{})
		fails(t, fmt.Sprint("a commit with acks of ", acked), err, store.ErrAcksMissing)
		same(t, "contents", before, read(t, f))
	}
	// One that awaits nobody is committed as it is.
	f.abort(t, p.ID)
	in := f.plan(t, "clicks", 6, store.StatusApproved, set("a", 1))
	in.Awaited = nil
	p = f.create(t, in)
	f.start(t, p.ID)
	f.commitPlan(t, p.ID)
}
