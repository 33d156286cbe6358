package storetest

import (
	"testing"

	"plannerd/store"
)

var lifecycleCases = []testCase{
	{name: "a commit makes the plan's table the operator's", run: commitMakesTable},
	{name: "a plan can be committed as it is created", run: bornCommitted},
	{name: "a commit supersedes what waited", run: commitSupersedes},
	{name: "repeating a step changes nothing", run: repeatingChangesNothing},
	{name: "a failed commit leaves nothing behind", run: failedCommit},
	{name: "any text will do as a reason", run: anyReason},
}

func commitMakesTable(t *testing.T, f *fixture) {
	ctx := t.Context()
	in := f.plan(t, "clicks", 4, store.StatusApproved, set("a", 1), set("b", 2))
	birth := f.by("engine")
	must2(f.CreatePlan(ctx, in, birth))(t)
	op := f.operator(t, "clicks")
	holds(t, op.CurrentPlan == in.ID && op.TableVersion == 0 && op.TableSize == 0, "before the commit: %+v", op)
	f.wantTable(t, "clicks", -1)

	to := f.by("someone")
	got := did(f.CommitPlan(ctx, in.ID, to, store.Retention{}))(t, "the call", true)
	want := in.Plan
	want.Status, want.Version, want.CreatedAt = store.StatusCommitted, new(int64(1)), kept(in.CreatedAt)
	same(t, "plans", want, got)
	f.wantTable(t, "clicks", -1, "a=1", "b=2")
	f.wantTable(t, "clicks", 0)
	op.TableVersion, op.TableSize, op.CurrentPlan, op.CurrentStatus, op.UpdatedAt = 1, 2, "", "", kept(to.At)
	same(t, "operators", op, f.operator(t, "clicks"))

	steps := must(f.Transitions(ctx, in.ID))(t)
	same(t, "transitions", []store.Transition{
		{From: "", To: store.StatusApproved, Actor: "engine", Reason: "because", At: kept(birth.At)},
		{From: store.StatusApproved, To: store.StatusCommitted, Actor: "someone", Reason: "because", At: kept(to.At)},
	}, steps)
}

func bornCommitted(t *testing.T, f *fixture) {
	in := f.plan(t, "clicks", 4, store.StatusCommitted, set("a", 1))
	by := f.by("engine")
	got := did(f.CreatePlan(t.Context(), in, by))(t, "the call", true)
	holds(t, got.Status == store.StatusCommitted && got.Version != nil && *got.Version == 1,
		"status %s, version %v", got.Status, got.Version)
	f.wantTable(t, "clicks", -1, "a=1")
	steps := must(f.Transitions(t.Context(), in.ID))(t)
	same(t, "transitions", []store.Transition{
		{From: "", To: store.StatusCommitted, Actor: "engine", Reason: "because", At: kept(by.At)},
	}, steps)
	// A plan without changes is a version too.
	is(t, "version", *f.commit(t, "clicks").Version, 2)
	f.wantTable(t, "clicks", 2, "a=1")
	f.wantTable(t, "clicks", 1, "a=1")
}

func commitSupersedes(t *testing.T, f *fixture) {
	ctx := t.Context()
	first := f.create(t, f.plan(t, "clicks", 1, store.StatusApproved, set("a", 1)))
	second := f.beside(t, f.plan(t, "clicks", 2, store.StatusApproved, set("a", 2)))
	f.create(t, f.plan(t, "clicks", 3, store.StatusNoAction))
	third := f.beside(t, f.plan(t, "clicks", 4, store.StatusApproved, set("a", 3)))
	is(t, "current plan", f.operator(t, "clicks").CurrentPlan, third.ID)
	to := f.by("someone")
	must2(f.CommitPlan(ctx, second.ID, to, store.Retention{}))(t)
	f.wantStatuses(t, "clicks", store.StatusSuperseded, store.StatusCommitted, store.StatusNoAction,
		store.StatusSuperseded)
	for _, p := range []store.Plan{first, third} {
		f.wantLast(t, p.ID, 2, store.Transition{
			From: store.StatusApproved, To: store.StatusSuperseded,
			Actor: "someone", Reason: "plan " + second.ID + " was committed", At: kept(to.At),
		})
	}
	is(t, "current plan", f.operator(t, "clicks").CurrentPlan, "")
	f.create(t, f.plan(t, "clicks", 5, store.StatusApproved, move("a", 2, 5)))
	f.commit(t, "clicks", move("a", 2, 6)) // one born committed supersedes too
	f.wantStatuses(t, "clicks", store.StatusSuperseded, store.StatusCommitted, store.StatusNoAction,
		store.StatusSuperseded,
		store.StatusSuperseded, store.StatusCommitted)
}

func repeatingChangesNothing(t *testing.T, f *fixture) {
	ctx := t.Context()
	aborted := f.create(t, f.plan(t, "clicks", 1, store.StatusApproved, set("a", 1)))
	first, err := f.AbortPlan(ctx, aborted.ID, false, f.by("someone"))
	need(t, err == nil && first.Status == store.StatusAborted, "status %q, error %v", first.Status, err)
	committed := f.commit(t, "clicks", set("b", 1))
	f.commit(t, "clicks", set("c", 1))
	before := read(t, f)

	again := must(f.AbortPlan(ctx, aborted.ID, false, f.by("another")))(t)
	same(t, "aborted plans", first, again)
	again, anew, err := f.CommitPlan(ctx, committed.ID, f.by("another"), store.Retention{Inputs: 1, Plans: 1, Versions: 1})
	ok(t, err)
	is(t, "committed anew", anew, false)
	same(t, "committed plans", committed, again)
	same(t, "contents", before, read(t, f))
}

// failedCommit commits a plan whose changes cannot be made: what went before them
// in the transaction must be taken back.
func failedCommit(t *testing.T, f *fixture) {
	f.commit(t, "clicks", set("a", 1), set("b", 1))
	for i, changes := range [][]store.Change{
		{set("0", 1), set("b", 2)},
		{set("0", 1), move("b", 2, 3)},
		{set("0", 1), unset("b", 2)},
		{unset("a", 1), unset("z", 1)},
	} {
		p := f.create(t, f.plan(t, "clicks", int64(10+i), store.StatusApproved, changes...))
		before := read(t, f)
		_, committed, err := f.CommitPlan(t.Context(), p.ID, f.by("x"), store.Retention{Inputs: 1, Plans: 1, Versions: 1})
		refused(t, "a plan for another table", err)
		is(t, "committed", committed, false)
		same(t, "contents", before, read(t, f))
	}
}

func anyReason(t *testing.T, f *fixture) {
	p := f.create(t, f.plan(t, "clicks", 1, store.StatusApproved))
	by := store.Transition{Actor: "bad \xff byte", Reason: "NUL \x00, “quotes”, '; --\n", At: f.now()}
	must(f.AbortPlan(t.Context(), p.ID, false, by))(t)
	f.wantLast(t, p.ID, 2, store.Transition{
		From: store.StatusApproved, To: store.StatusAborted,
		Actor: "bad \uFFFD byte", Reason: "NUL \uFFFD, “quotes”, '; --\n", At: kept(by.At),
	})
}
