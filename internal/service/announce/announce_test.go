package announce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/service/reading"
	"plannerd/store"
	"plannerd/store/sqlite"
)

// fixture is a store whose clock the test moves, and what receivers got of it.
type fixture struct {
	*testing.T
	store.Store
	now       time.Time
	intervals int64
	// Of the plans that are made.
	figures store.Figures
	config  int64

	mu   sync.Mutex
	got  []store.WebhookEvent
	down bool // the receiver fails
}

func (*fixture) Name() string { return "receiver" }

func (f *fixture) Send(_ context.Context, e store.WebhookEvent) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return errors.New("down")
	}
	f.got = append(f.got, e)
	return nil
}

// observer counts deliveries; nothing else is told.
type observer struct {
	reading.Observer
	mu         sync.Mutex
	ok, failed int
}

func (o *observer) Delivered(_ string, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ok {
		o.ok++
	} else {
		o.failed++
	}
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{T: t, config: 1, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "plannerd.db"),
		store.WithClock(func() time.Time { return f.now }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Store = s
	f.put("clicks")
	return f
}

func (f *fixture) put(name string) {
	f.Helper()
	if _, _, err := f.PutOperator(f.Context(), name, []byte(`{"theta_max": 0.1}`), f.now); err != nil {
		f.Fatal(err)
	}
}

// plan makes the plan of the next interval, which has an expiry of 40 minutes.
func (f *fixture) plan(operator string, status store.Status, theta float64) store.Plan {
	f.Helper()
	f.intervals++
	figures := f.figures
	figures.ThetaBefore = theta
	p, _, err := f.CreatePlan(f.Context(), store.NewPlan{Plan: store.Plan{
		ID: fmt.Sprint("p", f.intervals), Operator: operator, Interval: f.intervals, Status: status, ConfigVersion: f.config,
		CreatedAt: f.now, ExpiresAt: new(f.now.Add(40 * time.Minute)), Fingerprint: fmt.Sprint(f.intervals),
		Figures: figures,
	}, OnPending: store.PendingReplace}, store.Transition{At: f.now})
	if err != nil {
		f.Fatal(err)
	}
	return p
}

func (f *fixture) announcer() (*Announcer, *courier) {
	a := New(f.Store, &observer{}, slog.New(slog.DiscardHandler), Options{Receivers: []Receiver{f}})
	return a, &courier{Announcer: a, Receiver: f, dropped: -1}
}

// want checks what the receiver gets now, as type and subject.
func (f *fixture) want(c *courier, want ...string) []store.WebhookEvent {
	f.Helper()
	f.got = nil
	if _, err := c.round(f.Context()); err != nil {
		f.Fatal(err)
	}
	var got []string
	for _, e := range f.got {
		got = append(got, strings.TrimPrefix(e.Type, "plannerd.")+" "+e.Plan)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("delivered (-want +got):\n%s", diff)
	}
	return f.got
}

func (f *fixture) look(a *Announcer) {
	f.Helper()
	if err := a.look(f.Context()); err != nil {
		f.Fatal(err)
	}
}

// TestPlansThatWait: who approved is told that nobody comes, and everybody that a plan will expire, once each.
func TestPlansThatWait(t *testing.T) {
	f := newFixture(t)
	a, c := f.announcer()
	f.want(c)
	f.put("views")
	f.plan("clicks", store.StatusProposed, 1)
	started := f.plan("views", store.StatusApproved, 1)
	f.want(c, "plan.proposed p1", "plan.approved p2")
	f.now = f.now.Add(4 * time.Minute)
	f.look(a)
	f.want(c)
	f.now = f.now.Add(time.Minute)
	f.look(a)
	e := f.want(c, "plan.not_started p2")[0]
	var data waitingData
	if err := json.Unmarshal(e.Data, &data); err != nil || data.Status != store.StatusApproved || data.Interval != 2 ||
		!data.Since.Equal(f.now.Add(-5*time.Minute)) || data.ExpiresAt == nil {
		t.Errorf("%s %v", e.Data, err)
	}
	f.look(a)
	another, _ := f.announcer() // of another process
	f.look(another)
	f.now = f.now.Add(25 * time.Minute)
	f.look(a)
	f.look(another)
	f.want(c, "plan.expiring p1", "plan.expiring p2")
	if _, err := f.StartPlan(t.Context(), started.ID, store.Executor{Name: "x"}, store.Transition{At: f.now}); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(10 * time.Minute)
	f.look(a)
	if _, err := f.Expire(t.Context(), f.now); err != nil {
		t.Fatal(err)
	}
	f.want(c, "plan.applying p2", "plan.expired p1")
}

// TestOperatorsThatGoWrong: θ above θ_max three times in a row, and statistics that stop, are told once
// each time that it comes about.
func TestOperatorsThatGoWrong(t *testing.T) {
	f := newFixture(t)
	a, c := f.announcer()
	f.want(c)
	steps := func(thetas ...float64) {
		for _, theta := range thetas {
			f.now = f.now.Add(3 * time.Minute)
			f.plan("clicks", store.StatusNoAction, theta)
			f.look(a)
		}
	}
	steps(0.2, 0.2, 0.1, 0.2, 0.2)
	f.want(c)
	steps(0.3, 0.2, 0.2)
	e := f.want(c, "operator.overloaded ")[0]
	var data operatorData
	if err := json.Unmarshal(e.Data, &data); err != nil || data.Interval != 6 || data.Intervals != 3 ||
		*data.Theta != 0.3 || *data.ThetaMax != 0.1 || !data.Since.Equal(f.now.Add(-12*time.Minute)) {
		t.Errorf("%s %v", e.Data, err)
	}
	steps(0.1, 0.2, 0.2, 0.2)
	f.want(c, "operator.overloaded ")
	f.now = f.now.Add(8 * time.Minute)
	f.look(a)
	f.want(c)
	f.now = f.now.Add(time.Minute)
	f.look(a)
	f.look(a)
	e = f.want(c, "operator.silent ")[0]
	if err := json.Unmarshal(e.Data, &data); err != nil || data.UsualSeconds != 180 || data.Interval != 12 {
		t.Errorf("%s %v", e.Data, err)
	}
	steps(0.1)
	f.now = f.now.Add(time.Hour)
	f.look(a)
	f.want(c, "operator.silent ")
	// One that stays above is told again after many intervals, and then once a day.
	for range 2 * recent {
		steps(0.5)
	}
	f.want(c, "operator.overloaded ", "operator.overloaded ")
}

// TestResourcesThatRunOut: an interval counts if any bound was broken in it, by the configuration of today; the event
// tells which ones were in the newest interval and on which instances, the most broken first.
func TestResourcesThatRunOut(t *testing.T) {
	f := newFixture(t)
	a, c := f.announcer()
	f.want(c)
	configure := func(memory string) {
		t.Helper()
		config := fmt.Sprintf(`{"theta_max": 0.1, "resources": [{"name": "cpu", "theta_max": 0.1},
			{"name": "memory", "from": "state", %s}, {"name": "network", "theta_max": 1}]}`, memory)
		if _, _, err := f.PutOperator(t.Context(), "clicks", []byte(config), f.now); err != nil {
			t.Fatal(err)
		}
		f.config++
	}
	configure(`"limit": true`)
	step := func(theta, memory, network float64) {
		t.Helper()
		f.now = f.now.Add(3 * time.Minute)
		f.figures = store.Figures{Resources: []byte(`[]`), Forecast: fmt.Appendf(nil, `{"realised": [
			{"name": "cpu", "level": %v, "theta_max": 0.1, "worst": {"id": 2}},
			{"name": "memory", "level": %v, "limit": true, "worst": {"id": 0, "name": "w1"}},
			{"name": "network", "level": %v, "theta_max": 1, "worst": {"id": 1, "name": "w2"}}]}`, theta, memory, network)}
		f.plan("clicks", store.StatusNoAction, theta)
		f.look(a)
	}
	step(0.1, 1, 1)
	step(0.05, 1.2, 0)
	step(0.2, 0.5, 0)
	f.want(c)
	step(0.2, 1.5, 1.1)
	data := string(f.want(c, "operator.overloaded ")[0].Data)
	want := `"theta":0.2,"theta_max":0.1,"intervals":3,"resources":[` +
		`{"name":"memory","level":1.5,"limit":true,"worst":{"id":0,"name":"w1"}},` +
		`{"name":"cpu","level":0.2,"theta_max":0.1,"worst":{"id":2}},` +
		`{"name":"network","level":1.1,"theta_max":1,"worst":{"id":1,"name":"w2"}}]}`
	if !strings.HasSuffix(data, want) || !strings.Contains(data, `"interval":4,"since":"2026-03-01T12:06:00Z"`) {
		t.Errorf("%s, want it to end with %s", data, want)
	}
	step(0.1, 0.9, 0)
	configure(`"theta_max": 0.5`) // what was a part of a capacity is no θ
	step(0.1, 0.9, 0)
	step(0.1, 0.9, 0)
	step(0.1, 0.9, 1.5)
	f.want(c)
	step(0.1, 0.9, 1.5)
	step(0.1, 0.9, 1.5)
	f.want(c, "operator.overloaded ")
	f.put("clicks") // without resources
	f.config++
	step(0.2, 9, 9)
	step(0.2, 9, 9)
	step(0.2, 9, 9)
	if data = string(f.want(c, "operator.overloaded ")[0].Data); !strings.HasSuffix(data, `"intervals":3}`) {
		t.Errorf("%s", data)
	}
}

// TestReceiverIsDown: what cannot be delivered is delivered later, in order, and less and less often tried.
func TestReceiverIsDown(t *testing.T) {
	f := newFixture(t)
	_, c := f.announcer()
	f.want(c)
	f.plan("clicks", store.StatusApproved, 1)
	f.plan("clicks", store.StatusApproved, 1)
	f.down = true
	for _, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		f.want(c)
		f.now = f.now.Add(pause - time.Millisecond)
		f.down = false
		f.want(c) // not yet
		f.down = true
		f.now = f.now.Add(time.Millisecond)
	}
	f.down = false
	var got []string
	for _, e := range f.want(c, "plan.approved p1", "plan.superseded p1", "plan.approved p2") {
		got = append(got, e.ID)
	}
	if diff := cmp.Diff([]string{"p1-1", "p2-1", "p1-2"}, got); diff != "" {
		t.Errorf("the order: %s", diff)
	}
	if o := c.observer.(*observer); o.ok != 3 || o.failed != 3 {
		t.Errorf("%d deliveries and %d in vain", o.ok, o.failed)
	}
	if longest := pause(1 << 40); longest != 5*time.Minute {
		t.Errorf("the longest pause is %v", longest)
	}
}

// TestOneDelivers: a process takes over from one that has ended at once, and from one that died when its
// lease is over.
func TestOneDelivers(t *testing.T) {
	f := newFixture(t)
	_, first := f.announcer()
	_, second := f.announcer()
	f.want(first)
	f.want(second)
	f.plan("clicks", store.StatusApproved, 1)
	f.want(second)
	f.want(first, "plan.approved p1")
	first.release(t.Context())
	f.plan("clicks", store.StatusNoAction, 1)
	f.plan("clicks", store.StatusApproved, 1)
	f.want(second, "plan.superseded p1", "plan.approved p3")
	third := &courier{Announcer: New(f.Store, &observer{}, second.log, second.Options), Receiver: f, dropped: -1}
	f.plan("clicks", store.StatusApproved, 1)
	f.now = f.now.Add(14 * time.Second)
	f.want(third)
	f.now = f.now.Add(time.Second)
	f.want(third, "plan.superseded p3", "plan.approved p4")
}
