package service_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/refusal"
	"plannerd/internal/service"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/life"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/store"
	"plannerd/store/metered"
	"plannerd/store/sqlite"
)

// env is a service on a store of its own, with a clock that the test moves.
type env struct {
	*testing.T
	*service.Service
	store    store.Store
	budget   *admission.Budget
	observed *observed

	mu  sync.Mutex
	now time.Time
}

// observed is what the service told.
type observed struct {
	mu        sync.Mutex
	planned   []string // strategies
	moved     []string // from → to
	committed []string // plans
	sizes     map[string]int64
	deleted   []string
	expired   int
	waiting   []store.WaitingPlan
}

func (o *observed) Start(ctx context.Context, _, _, _ string) (context.Context, func(error)) {
	return ctx, func(error) {}
}
func (*observed) HashBuilt()                     {}
func (*observed) Analysed(string, time.Duration) {}
func (*observed) Waited(string, time.Duration)   {}

func (o *observed) Planned(strategy string, _ time.Duration) {
	o.note(func() { o.planned = append(o.planned, strategy) })
}
func (o *observed) Created(p store.Plan, _ *planner.Plan, _ []reading.Levels) { o.Moved(p, "") }
func (o *observed) Moved(p store.Plan, from store.Status) {
	o.note(func() { o.moved = append(o.moved, fmt.Sprintf("%s→%s", from, p.Status)) })
}
func (o *observed) Committed(p store.Plan) {
	o.note(func() { o.committed = append(o.committed, p.ID) })
}
func (o *observed) TableSize(name string, entries int64) {
	o.note(func() { o.sizes[name] = entries })
}
func (o *observed) Deleted(name string) {
	o.note(func() { o.deleted = append(o.deleted, name) })
}
func (o *observed) Expired(n int)        { o.note(func() { o.expired += n }) }
func (*observed) Delivered(string, bool) {}
func (o *observed) Outstanding(_ time.Time, waiting []store.WaitingPlan, _ []store.Receiver) {
	o.note(func() { o.waiting = waiting })
}

func (o *observed) note(add func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	add()
}

func newEnv(t *testing.T, options ...func(*service.Config)) *env {
	t.Helper()
	e := &env{T: t, observed: &observed{sizes: map[string]int64{}}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "plannerd.db"), store.WithClock(e.clock))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.store, e.budget = s, admission.NewBudget(1<<30, time.Second)
	log := slog.New(slog.DiscardHandler)
	c := service.Config{
		Store: s, Measured: metered.Options{Registry: prometheus.NewRegistry(), Log: log},
		Observer: e.observed, Logger: log,
		Now: e.clock, Memory: e.budget,
		Limits: service.Limits{Plans: 2, Analyses: 2, Queue: 10, PlanTime: time.Minute, Rows: 1000, Waiting: 10,
			SweepEvery: time.Hour},
	}
	for _, set := range options {
		set(&c)
	}
	e.Service = service.New(c)
	return e
}

func (e *env) clock() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now
}

// pass lets time pass.
func (e *env) pass(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now = e.now.Add(d)
}

// lease is memory for one call.
func (e *env) lease() *admission.Lease {
	l := e.budget.Lease(e.Context())
	e.Cleanup(l.Release)
	return l
}

// configuration has n instances and keys that hash to key modulo n.
func configuration(n int) operator.Configuration {
	c := operator.Configuration{
		Scheme: operator.SchemeTable, Strategy: "mixed",
		Parameters: operator.Parameters{Values: parameters.Defaults()},
		Hash:       operator.Hash{Function: "modulo"}, Trigger: &operator.Trigger{Theta: new(0.1)},
		TableOwner: operator.OwnerPlanner,
		Reports:    operator.ReportOptions{Missing: operator.MissingFail, MaxAge: 3},
		Retention:  operator.Retention{Inputs: 20, Plans: 100, Versions: 100}, StoreInputs: true,
	}
	c.ThetaMax = 0.1
	for i := range n {
		c.Instances = append(c.Instances, operator.Instance{ID: int32(i), Capacity: 1})
	}
	return c
}

func anyway(*reading.Operator) error { return nil }

// configure creates or changes an operator.
func (e *env) configure(name string, c operator.Configuration) reading.Operator {
	e.Helper()
	complete, err := operator.NewConfiguration(c)
	if err != nil {
		e.Fatal(err)
	}
	op, err := e.Configure(e.Context(), name, complete, anyway, true, nil)
	if err != nil {
		e.Fatal(err)
	}
	return op
}

// skewed are statistics of an interval in which 20 keys hash to instance 0 of 2, and
// one to instance 1.
func skewed(interval int64) *scheme.Statistics {
	st := &planner.Statistics{Keys: planner.NewKeys(21)}
	left := [2]int{20, 1}
	for i := 0; left[0]+left[1] > 0; i++ {
		key := fmt.Append(nil, "key ", i)
		if home := planner.KeyHash(key) % 2; left[home] > 0 {
			left[home]--
			st.Keys.Append(key)
			st.Cost, st.State = append(st.Cost, 1), append(st.State, 1)
		}
	}
	return &scheme.Statistics{Statistics: st, Interval: interval}
}

func (e *env) tryPropose(name string, st *scheme.Statistics) (*intake.StoredPlan, error) {
	return e.Propose(e.Context(), name, intake.Proposal{Statistics: st, Memory: e.lease()})
}

func (e *env) propose(name string, st *scheme.Statistics) *intake.StoredPlan {
	e.Helper()
	p, err := e.tryPropose(name, st)
	if err != nil {
		e.Fatal(err)
	}
	return p
}

// step is a step on a plan that nothing guards.
func step(p *intake.StoredPlan) life.Step {
	return life.Step{Plan: p.ID, Guard: func(store.Plan) error { return nil }}
}

// want fails unless a step brought the plan there.
func (e *env) want(status store.Status) func(store.Plan, error) store.Plan {
	return func(p store.Plan, err error) store.Plan {
		e.Helper()
		if err != nil || p.Status != status {
			e.Fatalf("%s, want %s: %v", p.Status, status, err)
		}
		return p
	}
}

// refused fails unless an error is a refusal for that reason.
func (e *env) refused(err error, reason refusal.Reason) *refusal.Error {
	e.Helper()
	var refused *refusal.Error
	if !errors.As(err, &refused) || refused.Reason != reason {
		e.Fatalf("%v, want %s", err, reason)
	}
	return refused
}

// invalid fails unless an error is about that field of the input.
func (e *env) invalid(err error, field string) {
	e.Helper()
	var input *planner.InputError
	if !errors.As(err, &input) || input.Field != field {
		e.Fatalf("%v, want one about %s", err, field)
	}
}
