package storetest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plannerd/store"
)

var feedCases = []testCase{
	{name: "the feed tells of the plan that may be started", run: nextInTheFeed},
	{name: "changes since a version lead to the committed table", run: changesLeadOn, bare: true},
	{name: "without an older version a feed is the whole table", run: feedOfNothing, bare: true},
	{name: "each version has an origin of its own", run: versionsHaveOrigins},
	{name: "a feed tells what is pending", run: feedTellsPending},
	{name: "changes of a random history are those of its versions", run: randomFeed, bare: true},
	{name: "watchers are told of versions and what is pending", run: watchersAreTold, bare: true},
	{name: "a slow watcher keeps nobody waiting", run: slowWatcher, bare: true},
	{name: "watching ends", run: watchingEnds, bare: true},
}

// feed returns what happened since a version.
func (f *fixture) feed(t testing.TB, since int64) store.Feed {
	t.Helper()
	return must(f.TableChanges(t.Context(), "clicks", since))(t)
}

func changesLeadOn(t *testing.T, f *fixture) {
	f.put(t, "clicks", `{"v":1}`)
	f.commit(t, "clicks", set("a", 1), set("b", 1), set("c", 1))
	f.put(t, "clicks", `{"v":2}`)
	f.commit(t, "clicks", move("a", 1, 2), unset("b", 1), set("d", 1))
	f.commit(t, "clicks", move("a", 2, 1), set("b", 3), unset("d", 1))
	for since, want := range [][]store.Change{
		{set("a", 1), set("b", 3), set("c", 1)},
		{move("b", 1, 3)},
		{move("a", 2, 1), set("b", 3), unset("d", 1)},
		nil,
	} {
		config := int64(2)
		if since < 2 {
			config = 1
		}
		same(t, fmt.Sprintf("feeds since version %d", since), store.Feed{
			Version: 3, FromConfigVersion: config, ConfigVersion: 2, Changes: want,
		}, f.feed(t, int64(since)))
	}
}

func feedOfNothing(t *testing.T, f *fixture) {
	fails(t, "a feed of no operator", errorOf(f.TableChanges(t.Context(), "clicks", 0)), store.ErrNotFound)
	f.put(t, "clicks", `{}`)
	same(t, "feeds of an empty table", store.Feed{ConfigVersion: 1, FromConfigVersion: 1}, f.feed(t, 0))
	f.keeping(t, store.Retention{Versions: 2}, 4)
	table := must(f.Table(t.Context(), "clicks", nil))(t)
	for _, since := range []int64{-1, 0, 2, 5, 1 << 60} {
		same(t, fmt.Sprintf("feeds since version %d", since), store.Feed{
			Version: 4, ConfigVersion: 1, Full: true, Entries: table.Entries,
		}, f.feed(t, since))
	}
	if got := f.feed(t, 3); got.Full || len(got.Changes) != 1 {
		t.Errorf("a feed since version 3: %+v", got)
	}
	// In another life of the operator nothing of the former one is known.
	ok(t, f.DeleteOperator(t.Context(), "clicks", f.now()))
	f.put(t, "clicks", `{}`)
	if got := f.feed(t, 4); !got.Full || got.Version != 5 || len(got.Entries) > 0 {
		t.Errorf("a feed of the next life: %+v", got)
	}
}

func versionsHaveOrigins(t *testing.T, f *fixture) {
	f.put(t, "clicks", `{}`)
	var origins []string
	for version := range int64(3) {
		if version > 0 {
			f.commit(t, "clicks", set(fmt.Sprint("k", version), 1))
		}
		origin := f.operator(t, "clicks").TableOrigin.String()
		holds(t, !slices.Contains(origins, origin), "version %d has the origin of another one", version)
		origins = append(origins, origin)
		for since, from := range origins {
			if feed := f.feed(t, int64(since)); feed.Origin.String() != origin || feed.FromOrigin.String() != from {
				t.Errorf("version %d since %d: %+v, want %s since %s", version, since, feed, origin, from)
			}
			is(t, "origin", must(f.Table(t.Context(), "clicks", new(int64(since))))(t).Origin.String(), from)
		}
	}
	p := f.plan(t, "clicks", f.next(t, "clicks"), store.StatusApproved)
	p.BaseOrigin = origins[0]
	_, _, err := f.CreatePlan(t.Context(), p, f.by("x"))
	fails(t, "a plan on a table of another origin", err, store.ErrBaseChanged)
	p.BaseOrigin = origins[len(origins)-1]
	f.create(t, p)
}

func feedTellsPending(t *testing.T, f *fixture) {
	f.commit(t, "clicks", set("a", 1))
	p := f.create(t, f.plan(t, "clicks", 5, store.StatusApproved, move("a", 1, 2), set("b", 1)))
	f.put(t, "clicks", `{"v":2}`)
	want := func(plan string, changes ...store.Change) {
		t.Helper()
		var pending *store.PendingChange
		if plan != "" {
			p := must(f.Plan(t.Context(), plan))(t)
			pending = &store.PendingChange{Plan: p, Changes: changes}
		}
		for _, since := range []int64{-1, 0, 1} {
			same(t, "what is pending", pending, f.feed(t, since).Pending)
		}
	}
	want("")
	f.start(t, p.ID)
	want(p.ID, move("a", 1, 2), set("b", 1))
	f.finish(t, p)
	want("")
	empty := f.create(t, f.plan(t, "clicks", 6, store.StatusApproved))
	f.start(t, empty.ID)
	want(empty.ID)
	must(f.AbortPlan(t.Context(), empty.ID, false, f.by("x")))(t)
	want(empty.ID)
	must(f.AbortPlan(t.Context(), empty.ID, true, f.by("x")))(t)
	want("")
}

// randomFeed applies the changes since each version to that version.
func randomFeed(t *testing.T, f *fixture) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	f.put(t, "clicks", `{}`)
	tables := []map[string]route{{}}
	for range 30 {
		next := maps.Clone(tables[len(tables)-1])
		changes := randomChanges(random, next)
		apply(t, next, changes)
		f.commit(t, "clicks", changes...)
		tables = append(tables, next)
	}
	for since, table := range tables {
		feed := f.feed(t, int64(since))
		need(t, !feed.Full, "since version %d: full", since)
		seen := map[string]bool{}
		for _, c := range feed.Changes {
			holds(t, !seen[string(c.Key)], "since version %d: key %q twice", since, c.Key)
			seen[string(c.Key)] = true
		}
		apply(t, table, feed.Changes)
		same(t, fmt.Sprintf("tables after the changes since version %d", since), tables[len(tables)-1], table)
	}
}

// apply makes changes to a table and sees that each is one of what is there.
func apply(t *testing.T, table map[string]route, changes []store.Change) {
	t.Helper()
	for _, c := range changes {
		old, there := table[string(c.Key)]
		if !there {
			old = route{Instance: store.NoInstance}
		}
		after := route{c.New, c.NewParts}
		holds(t, old == (route{c.Old, c.OldParts}) && old != after,
			"key %q goes from %v to %v, but it is at %v", c.Key, c.Old, after, old)
		if c.New == store.NoInstance {
			delete(table, string(c.Key))
		} else {
			table[string(c.Key)] = after
		}
	}
}

// watch returns a watcher's channel.
func (f *fixture) watch(t testing.TB) <-chan store.Event {
	t.Helper()
	return must(f.Watch(t.Context()))(t)
}

// patience is longer than anything takes that happens at all.
const patience = 30 * time.Second

// wantEvent takes an event.
func wantEvent(t *testing.T, what string, events <-chan store.Event, want string) {
	t.Helper()
	select {
	case got, open := <-events:
		need(t, open && got.Operator == want,
			"%s: an event of %q, open = %v; want one of %q", what, got.Operator, open, want)
	case <-time.After(patience):
		t.Fatalf("%s: no event", what)
	}
}

// watchersAreTold takes one event for each step that makes one. The steps
// between that make none would be seen by their operator's name.
func watchersAreTold(t *testing.T, f *fixture) {
	ctx := t.Context()
	first, second := f.watch(t), f.watch(t)
	told := func(what, operator string) {
		t.Helper()
		wantEvent(t, what, first, operator)
		wantEvent(t, what, second, operator)
	}
	f.put(t, "clicks", `{}`)
	told("an operator", "clicks")
	f.put(t, "odd ä\u0001'😀", `{}`)
	told("an odd operator", "odd ä\u0001'😀")
	f.put(t, "silent", `{}`)
	told("a silent operator", "silent")

	quiet := f.create(t, f.proposal(t, "silent", 1, set("a", 1)))
	f.put(t, "silent", `{"v":2}`)
	must(f.ApprovePlan(ctx, quiet.ID, unchanged, f.by("x")))(t)
	told("an approval", "silent")
	must(f.AbortPlan(ctx, quiet.ID, false, f.by("x")))(t)
	broken := f.plan(t, "silent", 2, store.StatusCommitted, unset("none", 1))
	if _, _, err := f.CreatePlan(ctx, broken, f.by("x")); err == nil {
		t.Fatal("a plan for another table was committed")
	}

	f.commit(t, "clicks", set("a", 1))
	told("a commit at once", "clicks")
	p := f.create(t, f.awaiting(t, "clicks", 7, store.StatusApproved, set("b", 1)))
	told("an approved plan", "clicks")
	f.start(t, p.ID)
	told("a start", "clicks")
	for _, rolledBack := range []bool{false, true} {
		must(f.AbortPlan(ctx, p.ID, rolledBack, f.by("x")))(t)
		told("an abort", "clicks")
	}
	next := f.create(t, f.awaiting(t, "clicks", 7, store.StatusApproved))
	told("an approved plan", "clicks")
	f.start(t, next.ID)
	told("a start", "clicks")
	taken := f.operator(t, "clicks").CurrentPlan
	must(f.StartPlan(ctx, taken, store.Executor{Name: "successor", Epoch: 1}, f.by("x")))(t)
	told("a successor", "clicks")
	f.abort(t, taken)
	told("an abort", "clicks")
	p = f.create(t, f.awaiting(t, "clicks", 8, store.StatusApproved, set("b", 1)))
	f.start(t, p.ID)
	told("a start", "clicks")
	must2(f.AckPlan(ctx, p.ID, 1, []int32{0, 2}, f.by("x"), store.Retention{}))(t)
	told("the last ack", "clicks")
	ok(t, f.DeleteOperator(ctx, "clicks", f.now()))
	told("a deletion", "clicks")
}

// slowWatcher takes nothing until much has happened.
func slowWatcher(t *testing.T, f *fixture) {
	events := f.watch(t)
	for i := range 30 {
		f.put(t, fmt.Sprintf("operator %d", i%3), `{}`)
		f.commit(t, fmt.Sprintf("operator %d", i%3))
	}
	f.put(t, "last", `{}`)
	for n := 0; ; n++ {
		select {
		case e := <-events:
			if e.Operator == "last" {
				return
			}
			if n > 60 {
				t.Fatal("more events than changes")
			}
		case <-time.After(patience):
			t.Fatal("no event of the last change")
		}
	}
}

func watchingEnds(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(t.Context())
	events := must(f.Watch(ctx))(t)
	cancel()
	wantClosed(t, "a context that ended", events)
	fails(t, "watching under a context that ended", errorOf(f.Watch(ctx)), context.Canceled)

	s := f.open(t)
	events = must(s.Watch(t.Context()))(t)
	ok(t, s.Close())
	wantClosed(t, "a store that was closed", events)
	fails(t, "watching a closed store", errorOf(s.Watch(t.Context())), store.ErrUnavailable)
	f.put(t, "clicks", `{}`)
}

func wantClosed(t *testing.T, what string, events <-chan store.Event) {
	t.Helper()
	select {
	case e, open := <-events:
		holds(t, !open, "%s: event %+v", what, e)
	case <-time.After(patience):
		t.Errorf("%s: it is watched still", what)
	}
}

func nextInTheFeed(t *testing.T, f *fixture) {
	want := func(next string, current store.Plan) {
		t.Helper()
		is(t, "the next plan", f.feed(t, 0).Next, next)
		if op := f.operator(t, "clicks"); op.CurrentPlan != current.ID || op.LimitsChanged != current.LimitsChanged {
			t.Errorf("the current plan is %q with limits_changed %t, want %+v", op.CurrentPlan, op.LimitsChanged, current.ID)
		}
	}
	p := f.create(t, f.proposal(t, "clicks", 1, set("a", 1)))
	want("", p)
	must(f.ApprovePlan(t.Context(), p.ID, func(store.Plan) (store.Approval, error) {
		return store.Approval{ExpiresAt: new(f.clock().Add(time.Minute))}, nil
	}, f.by("x")))(t)
	want(p.ID, p)
	evaluated := f.plan(t, "clicks", 2, store.StatusNoAction)
	evaluated.Evaluated = &store.Evaluation{Plan: p.ID, Latest: []byte("{}"), LimitsChanged: true}
	f.create(t, evaluated)
	p.LimitsChanged = true
	want("", p)
	newer := f.create(t, f.plan(t, "clicks", 3, store.StatusApproved, set("a", 1)))
	want(newer.ID, newer)
	f.start(t, newer.ID)
	want("", newer)
	f.abort(t, newer.ID)
	last := f.plan(t, "clicks", 4, store.StatusApproved)
	last.ExpiresAt = new(f.clock().Add(5 * time.Second))
	expiring := f.create(t, last)
	want(expiring.ID, expiring)
	f.ticks.Add(60)
	want("", store.Plan{})
}
