package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plannerd/store"
)

var webhookCases = []testCase{
	{name: "steps are announced to the receivers that there are", run: stepsAreAnnounced},
	{name: "one process at a time delivers to a receiver", run: receiversAreHeld},
	{name: "an event that cannot be delivered delays those of its operator", run: eventsAreDelayed},
	{name: "what no step says is announced once, as long as it is so", run: announcedOnce},
	{name: "what is not delivered is bounded", run: outboxIsBounded},
	{name: "plans that wait, and since when", run: waitingPlans},
}

// hold has a process hold a receiver.
func (f *fixture) hold(t testing.TB, receiver string) {
	t.Helper()
	need(t, must(f.HoldReceiver(t.Context(), receiver, "process", lease, f.now()))(t),
		"%s is held by another process", receiver)
}

// wantPending checks which events a receiver gets next, and returns them.
func (f *fixture) wantPending(t testing.TB, receiver string, want ...string) []store.WebhookEvent {
	t.Helper()
	events := must(f.PendingEvents(t.Context(), receiver, 100, f.clock()))(t)
	var got []string
	for _, e := range events {
		got = append(got, strings.TrimPrefix(e.Type, "plannerd.plan.")+" "+e.ID)
	}
	same(t, "events of "+receiver, want, got)
	return events
}

func stepsAreAnnounced(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.create(t, f.plan(t, "clicks", 1, store.StatusApproved)) // there is nobody to be told
	f.hold(t, "b")
	f.hold(t, "a")
	f.create(t, f.plan(t, "clicks", 2, store.StatusNoAction))
	in := f.proposal(t, "clicks", 3, set("k", 1))
	id := f.create(t, in).ID
	by := f.by("someone")
	by.Reason = `"Why", 'not' <ä>?`
	must(f.ApprovePlan(ctx, id, func(store.Plan) (store.Approval, error) { return store.Approval{}, nil }, by))(t)
	f.start(t, id)
	must(f.StartPlan(ctx, id, store.Executor{Name: "successor", Epoch: 1}, f.by("x")))(t) // its status stays
	f.acks(t, id, 0, 2)
	steps := []string{"proposed " + id + "-1", "superseded plan-clicks-1-2", "approved " + id + "-2",
		"applying " + id + "-3", "committed " + id + "-5"}
	f.wantPending(t, "b", steps...)
	approved := f.wantPending(t, "a", steps...)[2]
	same(t, "an event", store.WebhookEvent{
		Seq: approved.Seq, ID: id + "-2", Type: "plannerd.plan.approved", Operator: "clicks", Plan: id, At: kept(by.At),
		Data: approved.Data,
	}, approved)
	var data map[string]any
	for _, e := range must(f.PendingEvents(ctx, "a", 1, f.clock()))(t) {
		ok(t, json.Unmarshal(e.Data, &data))
	}
	var waits []any
	for _, w := range in.WaitsFor {
		waits = append(waits, w)
	}
	same(t, "the data of an event", map[string]any{
		"epoch": 0., "interval": 3., "base_version": 0., "from": "", "actor": "creator", "reason": "because",
		"expires_at": kept(*in.ExpiresAt).Truncate(time.Millisecond).Format("2006-01-02T15:04:05.000Z"), "waits_for": waits,
		"theta_before": in.ThetaBefore, "theta_after": in.ThetaAfter, "migration_keys": float64(in.MigrationKeys),
		"migration_state": in.MigrationState, "migration_fraction": in.MigrationFraction,
	}, data)
	ok(t, json.Unmarshal(approved.Data, &data))
	holds(t, data["reason"] == by.Reason && data["expires_at"] == nil && data["from"] == "proposed",
		"data of the approval: %s", approved.Data)
	ok(t, f.DeleteOperator(ctx, "clicks", f.now())) // they stay
	f.wantPending(t, "b", steps...)
}

func receiversAreHeld(t *testing.T, f *fixture) {
	hold := func(process string, lease time.Duration, want bool) {
		t.Helper()
		if held := must(f.HoldReceiver(t.Context(), "r", process, lease, f.clock()))(t); held != want {
			t.Errorf("%s holds it: %t", process, held)
		}
	}
	hold("a", 10*time.Second, true)
	hold("b", 10*time.Second, false)
	f.ticks.Add(9)
	hold("a", 10*time.Second, true)
	f.ticks.Add(9)
	hold("b", 10*time.Second, false)
	f.ticks.Add(1)
	hold("b", 10*time.Second, true)
	hold("a", 10*time.Second, false)
	hold("b", 0, true) // gives it back
	hold("a", 10*time.Second, true)
}

func eventsAreDelayed(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.put(t, "views", `{}`)
	f.hold(t, "r")
	f.hold(t, "other")
	event := func(operator string, n int) string {
		e := store.WebhookEvent{ID: fmt.Sprint(operator, n), Type: "t", Operator: operator, At: f.now(), Data: []byte("{}")}
		if !must(f.Announce(ctx, e, ""))(t) {
			t.Fatal("it was announced before")
		}
		return "t " + e.ID
	}
	c1, v1, c2, v2 := event("clicks", 1), event("views", 1), event("clicks", 2), event("views", 2)
	events := f.wantPending(t, "r", c1, v1, c2, v2)
	ok(t, f.DelayEvent(ctx, events[0].Seq, f.clock().Add(5*time.Second)))
	ok(t, f.RemoveEvents(ctx, []int64{events[1].Seq, 1 << 40}))
	f.wantPending(t, "r", v2)
	f.wantPending(t, "other", c1, v1, c2, v2)
	f.ticks.Add(5)
	if e := f.wantPending(t, "r", c1, c2, v2)[0]; e.Tries != 1 {
		t.Errorf("%d deliveries in vain", e.Tries)
	}
	if page := must(f.PendingEvents(ctx, "r", 1, f.clock()))(t); len(page) != 1 || "t "+page[0].ID != c1 {
		t.Errorf("the oldest is %v", page)
	}
	first := kept(events[0].At)
	same(t, "receivers", []store.Receiver{
		{Name: "other", Pending: 4, Oldest: &first}, {Name: "r", Pending: 3, Oldest: &first},
	}, must(f.Receivers(ctx))(t))
}

func announcedOnce(t *testing.T, f *fixture) {
	ctx := t.Context()
	p := f.create(t, f.plan(t, "clicks", 1, store.StatusApproved))
	f.hold(t, "r")
	e := store.WebhookEvent{ID: "late", Type: "t", Operator: "clicks", Plan: p.ID, At: f.now(), Data: []byte(`{"a":1}`)}
	announce := func(e store.WebhookEvent, status store.Status, want bool) {
		t.Helper()
		is(t, "announced", must(f.Announce(ctx, e, status))(t), want)
	}
	announce(e, store.StatusProposed, false)
	announce(e, store.StatusApproved, true)
	announce(e, store.StatusApproved, false)
	f.hold(t, "later")
	announce(e, store.StatusApproved, false)
	f.wantPending(t, "r", "t late")
	f.wantPending(t, "later")
	e.ID, e.Operator, e.Plan = "b", "nobody", ""
	announce(e, "", false)
	e.Operator, e.Plan = "clicks", "none"
	announce(e, "", false)
}

func outboxIsBounded(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.hold(t, "r")
	var all []string
	for i := range 10 {
		e := store.WebhookEvent{ID: strconv.Itoa(i), Type: "t", Operator: "clicks", At: f.now(), Data: []byte("{}")}
		must(f.Announce(ctx, e, ""))(t)
		all = append(all, "t "+e.ID)
	}
	tidy := func(keep store.Keep, dropped int64, want ...string) {
		t.Helper()
		keep.Purged = time.Hour
		ok(t, f.Tidy(ctx, f.clock(), keep))
		if events := f.wantPending(t, "r", want...); len(events) > 0 && events[0].Dropped != dropped {
			t.Errorf("%d were dropped, want %d", events[0].Dropped, dropped)
		}
	}
	tidy(store.Keep{}, 0, all...)
	tidy(store.Keep{MostEvents: 10, Receiver: time.Minute, Events: time.Minute}, 0, all...)
	tidy(store.Keep{MostEvents: 7}, 3, all[3:]...)
	tidy(store.Keep{Events: 4 * time.Second}, 5, all[5:]...)
	f.ticks.Add(100)
	tidy(store.Keep{Receiver: time.Minute}, 0)
	is(t, "receivers", len(must(f.Receivers(ctx))(t)), 0)
}

func waitingPlans(t *testing.T, f *fixture) {
	ctx := t.Context()
	for _, status := range allStatuses {
		f.inStatus(t, "op-"+string(status), status)
	}
	p, by := f.create(t, f.proposal(t, "clicks", 1, set("k", 1))), f.by("someone")
	must(f.ApprovePlan(ctx, p.ID, func(p store.Plan) (store.Approval, error) {
		return store.Approval{ExpiresAt: p.ExpiresAt}, nil
	}, by))(t)
	all := must(f.WaitingPlans(ctx, f.clock()))(t)
	var got []string
	for _, w := range all {
		got = append(got, w.Operator+" "+string(w.Status))
	}
	same(t, "plans that wait", []string{"op-proposed proposed", "op-approved approved", "clicks approved"}, got)
	last := all[len(all)-1]
	holds(t, last.Since.Equal(kept(by.At)), "since %v, want %v", last.Since, by.At)
	page, _ := must2(f.Plans(ctx, store.PlanFilter{Operator: "clicks", Status: store.StatusApproved, Limit: 1}))(t)
	same(t, "the plan", page[0], last.Plan)
	all = must(f.WaitingPlans(ctx, f.clock().Add(time.Hour)))(t)
	holds(t, !slices.ContainsFunc(all, func(w store.WaitingPlan) bool { return w.ExpiresAt != nil }),
		"some of %v have expired", all)
}
