package service_test

import (
	"slices"
	"strings"
	"testing"

	"plannerd/internal/service/feed"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/store"
)

// at says where the keys of statistics are.
func at(st *scheme.Statistics, instances ...int32) *scheme.Statistics {
	st.Instance = instances
	return st
}

// keysAt are n keys of cost 1 whose hash instances are alternately 0 and 1.
func keysAt(interval int64, n int) *scheme.Statistics {
	st := &planner.Statistics{Keys: planner.NewKeys(n)}
	for i := 0; st.Len() < n; i++ {
		key := []byte{'k', byte('a' + i)}
		if int(planner.KeyHash(key)%2) == st.Len()%2 {
			st.Keys.Append(key)
			st.Cost, st.State = append(st.Cost, 1), append(st.State, 1)
		}
	}
	return &scheme.Statistics{Statistics: st, Interval: interval}
}

// pendingOf is what routers are told of the plan that is being carried out.
func (e *env) pendingOf(name string) *feed.PendingTable {
	e.Helper()
	v, err := e.Table(e.Context(), feed.TableQuery{Operator: name, Version: feed.NotAsked,
		Since: feed.NotAsked}, e.lease())
	if err != nil {
		e.Fatal(err)
	}
	return v.NextPlan
}

// TestAwaited: all who may hold state of a key whose route changes acknowledge a plan.
func TestAwaited(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(2))
	if p := e.propose("clicks", at(keysAt(1, 4), 0, 1, 0, 1)); p.Status != "no_action" || len(p.Awaited) > 0 {
		t.Fatalf("%s awaits %v", p.Status, p.Awaited)
	}
	// With another instance the routes of keys change that nobody has named yet.
	e.configure("clicks", configuration(3))
	if p := e.propose("clicks", at(keysAt(2, 4), 0, 1, 0, 1)); p.Status != "approved" ||
		!slices.Equal(p.Awaited, []int32{0, 1, 2}) {
		t.Errorf("after a rescale %s awaits %v", p.Status, p.Awaited)
	}
}

// TestDriftedKeysArePending: a key that moves to where it is routed already is paused, too.
func TestDriftedKeysArePending(t *testing.T) {
	e := newEnv(t)
	e.configure("clicks", configuration(2))
	// The hash has two keys on each instance; three of the four are on instance 0.
	p := e.propose("clicks", at(keysAt(1, 4), 0, 1, 0, 0))
	if p.Status != "approved" || p.DriftedKeys != 1 || p.MigrationKeys != 1 {
		t.Fatalf("%s moves %d keys, %d drifted", p.Status, p.MigrationKeys, p.DriftedKeys)
	}
	if changes := text(t, p.Lists.Change...); strings.Contains(changes, `"key"`) {
		t.Fatalf("the table changes by %s", changes)
	}
	e.want("applying")(e.Start(e.Context(), step(p), store.Executor{Name: "engine"}))
	if got := text(t, e.pendingOf("clicks").Parts...); strings.Count(got, `"instance":1`) != 1 {
		t.Errorf("pending is %s, which does not name the key that moves back to instance 1", got)
	}
}
