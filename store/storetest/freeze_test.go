package storetest

import (
	"errors"
	"testing"
	"time"

	"plannerd/store"
)

var freezeCases = []testCase{
	{name: "a freeze holds an operator, or all, until its time", run: freezesHold},
}

func freezesHold(t *testing.T, f *fixture) {
	ctx := t.Context()
	approved := f.create(t, f.awaiting(t, "clicks", 1, store.StatusApproved, set("a", 1)))
	refused := func(want string) {
		t.Helper()
		_, made, err := f.CreatePlan(ctx, f.plan(t, "clicks", 3, store.StatusProposed), f.by("x"))
		_, started := f.StartPlan(ctx, approved.ID, store.Executor{Name: "e"}, f.by("x"))
		_, _, committed := f.CommitPlan(ctx, approved.ID, f.by("x"), store.Retention{})
		for _, err := range []error{err, started, committed} {
			if frozen := (*store.FrozenError)(nil); !errors.As(err, &frozen) || frozen.Reason != want || made {
				t.Errorf("error %v; want one of %s", err, want)
			}
		}
		if op := f.operator(t, "clicks"); op.Freeze == nil || op.Freeze.Reason != want {
			t.Errorf("the operator is held by %v", op.Freeze)
		}
	}
	hold := func(name, reason string, d time.Duration) {
		t.Helper()
		ok(t, f.Freeze(ctx, name, &store.Freeze{Until: f.now().Add(d), Since: f.now(), Actor: "ada", Reason: reason}))
	}
	hold("clicks", "one", time.Hour)
	refused("one")
	hold("", "all", 2*time.Hour)
	refused("all") // the longest
	f.create(t, f.plan(t, "clicks", 2, store.StatusNoAction))
	ok(t, f.Freeze(ctx, "", nil))
	refused("one")
	hold("clicks", "over", -time.Hour) // its time is past
	if op := f.operator(t, "clicks"); op.Freeze != nil {
		t.Errorf("held by %v", op.Freeze)
	}
	started := f.start(t, approved.ID)
	hold("clicks", "again", time.Hour)
	f.acks(t, started.ID, 0, 2) // what is under way ends
	is(t, "version", f.operator(t, "clicks").TableVersion, started.BaseVersion+1)
	if err := f.Freeze(ctx, "none", nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such operator: error %v", err)
	}
}
