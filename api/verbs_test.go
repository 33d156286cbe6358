package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plannerd/api"
	"plannerd/store"
)

// approved is reported, but for its plans, which wait for approval.
var approved = strings.Replace(reported, "{", `{"require_approval":true,`, 1)

// life is what a plan says about its life.
type life struct {
	ID, Status, EndReason string
	Executor, ExpiresAt   *string
	Awaits                []int32
	Acked                 []struct {
		Instance int32
		Actor    string
	}
	Version *int64
	Causes  []string
	Pending *struct {
		Plan, Status string
		Figures      *struct {
			Balanced  bool
			Theta     struct{ Before, After float64 }
			Migration struct {
				Keys  int64
				State float64
			}
		}
	}
	Theta      struct{ Before, After float64 }
	Migrations []migration
}

func (a *answer) life() life {
	a.Helper()
	var l life
	a.into(&l)
	return l
}

// planned posts the statistics of Fig. 4 for an interval.
func (e *env) planned(n int) life {
	e.Helper()
	return e.do("POST", "/v1/operators/clicks/plans", interval(n, "")).want(http.StatusCreated).life()
}

// verb takes a plan a step on.
func (e *env) verb(id, verb, body string) *answer {
	e.Helper()
	return e.do("POST", "/v1/plans/"+id+"/"+verb, body)
}

// trail is the audit trail of a plan.
func (e *env) trail(id string) (steps []string) {
	e.Helper()
	var list struct {
		Transitions []struct {
			From              *string
			To, Actor, Reason string
			At                time.Time
		}
	}
	a := e.do("GET", "/v1/plans/"+id+"/transitions", "").want(http.StatusOK)
	a.into(&list)
	e.do("GET", "/v1/plans/"+id+"/transitions", "", "If-None-Match: "+a.header.Get("ETag")).want(http.StatusNotModified)
	for i, t := range list.Transitions {
		from := "-"
		if t.From != nil {
			from = *t.From
		}
		steps = append(steps, fmt.Sprintf("%s→%s by %q: %q", from, t.To, t.Actor, t.Reason))
		if i > 0 && t.At.Before(list.Transitions[i-1].At) {
			e.Errorf("step %d is before the one before it", i)
		}
	}
	return steps
}

// TestApplied goes the whole way of a plan.
func TestApplied(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	p := e.planned(1)
	if p.Status != "proposed" || p.ExpiresAt == nil || p.Executor != nil || !slices.Equal(p.Awaits, []int32{0, 1}) ||
		len(p.Acked) != 0 || p.Pending != nil {
		t.Errorf("%+v", p)
	}
	e.stands(p.ID, "proposed", 0)
	for verb, body := range map[string]string{"start": `{"executor":"e"}`, "acks": `{"instances":[0]}`, "commit": "",
		"abort": ""} {
		e.verb(p.ID, verb, body).fails(http.StatusConflict, "transition_not_allowed", "")
	}
	a := e.verb(p.ID, "approve", `{"actor":"ann","reason":"quiet hour"}`).want(http.StatusOK)
	got := e.do("GET", "/v1/plans/"+p.ID, "").want(http.StatusOK)
	if a.life().Status != "approved" || string(a.body) != string(got.body) ||
		a.header.Get("ETag") != got.header.Get("ETag") {
		t.Errorf("%s", a.body)
	}
	e.verb(p.ID, "approve", "").want(http.StatusOK)
	e.verb(p.ID, "reject", "").fails(http.StatusConflict, "transition_not_allowed", "")
	e.verb(p.ID, "acks", `{"instances":[0]}`).fails(http.StatusConflict, "transition_not_allowed", "")
	if q := e.verb(p.ID, "start", `{"executor":"job-1"}`).want(http.StatusOK).life(); q.Status != "applying" ||
		q.Executor == nil || *q.Executor != "job-1" {
		t.Errorf("%+v", q)
	}
	e.stands(p.ID, "applying", 0)
	e.verb(p.ID, "start", `{"executor":"job-1","actor":"other"}`).want(http.StatusOK)
	e.verb(p.ID, "start", `{"executor":"job-2"}`).fails(http.StatusConflict, "other_executor", "")
	e.verb(p.ID, "approve", "").fails(http.StatusConflict, "transition_not_allowed", "")
	e.verb(p.ID, "commit", stopped).fails(http.StatusConflict, "acks_missing", "")
	e.verb(p.ID, "abort", `{"rolled_back":true}`).fails(http.StatusConflict, "transition_not_allowed", "")
	e.verb(p.ID, "acks", `{"instances":[0,7]}`).fails(http.StatusConflict, "not_awaited", "")
	if q := e.verb(p.ID, "acks", `{"instances":[1],"actor":"task-1"}`).want(http.StatusOK).
		life(); q.Status != "applying" || len(q.Acked) != 1 || q.Acked[0].Instance != 1 || q.Acked[0].Actor != "task-1" {
		t.Errorf("%+v", q)
	}
	e.verb(p.ID, "acks", `{"instances":[1]}`).want(http.StatusOK)
	if q := e.verb(p.ID, "acks", `{"instances":[0,1],"reason":"moved"}`).want(http.StatusOK).
		life(); q.Status != "committed" || q.Version == nil || *q.Version != 1 || len(q.Acked) != 2 {
		t.Errorf("%+v", q)
	}
	e.verb(p.ID, "acks", `{"instances":[0]}`).want(http.StatusOK)
	e.stands("", "", 1)
	want := []string{
		`-→proposed by "": ""`, `proposed→approved by "ann": "quiet hour"`, `approved→applying by "job-1": ""`,
		`applying→committed by "": "moved"`,
	}
	if got := e.trail(p.ID); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, step := range []string{`from="",`, `from="proposed",`, `from="approved",`, `from="applying",`} {
		to := map[string]string{`from="",`: "proposed", `from="proposed",`: "approved", `from="approved",`: "applying",
			`from="applying",`: "committed"}[step]
		if v := e.metric(`plannerd_plan_transitions_total{` + step + `operator="clicks",to="` + to + `"}`); v != "1" {
			t.Errorf("%s %s: %s transitions", step, to, v)
		}
	}
}

// stands checks what an operator tells an engine that starts.
func (e *env) stands(plan, status string, version int64) {
	e.Helper()
	var op struct {
		CurrentPlan, CurrentPlanStatus *string
		TableVersion, LastInterval     int64
	}
	e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK).into(&op)
	if op.TableVersion != version || op.LastInterval != 1 {
		e.Errorf("%+v", op)
	}
	if plan == "" {
		if op.CurrentPlan != nil || op.CurrentPlanStatus != nil {
			e.Errorf("%s is %s", *op.CurrentPlan, *op.CurrentPlanStatus)
		}
	} else if op.CurrentPlan == nil || *op.CurrentPlan != plan || *op.CurrentPlanStatus != status {
		e.Errorf("%+v, want plan %s %s", op, plan, status)
	}
}

// finish acknowledges a plan that is being carried out for all that it awaits.
func (e *env) finish(id string) {
	e.Helper()
	p := e.do("GET", "/v1/plans/"+id, "").want(http.StatusOK).plan()
	if len(p.Awaits) == 0 {
		e.verb(id, "commit", "").want(http.StatusOK)
		return
	}
	e.verb(id, "acks", fmt.Sprintf(`{"instances":%s}`, jsonOf(e, p.Awaits))).want(http.StatusOK)
}

// TestTakenOver: a successor with a higher epoch carries a plan on, and the executor
// before it is refused.
func TestTakenOver(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	p := e.planned(1)
	started := e.verb(p.ID, "start", `{"executor":"jm1","executor_epoch":1}`).want(http.StatusOK).plan()
	if *started.ExecutorEpoch != 1 || started.ExecutorSince == nil || started.ExecutorSince.After(e.clock.still()) {
		t.Errorf("epoch %d since %v", *started.ExecutorEpoch, started.ExecutorSince)
	}
	e.clock.pass(time.Minute)
	for _, body := range []string{`{"executor":"jm2","executor_epoch":1}`, `{"executor":"jm2"}`} {
		code := map[bool]string{true: "other_executor", false: "fenced"}[strings.Contains(body, "epoch")]
		a := e.verb(p.ID, "start", body).fails(http.StatusConflict, code, "")
		if since := started.ExecutorSince.Format(time.RFC3339); !strings.Contains(string(a.body), `jm1`) ||
			!strings.Contains(string(a.body), since) {
			t.Errorf("it does not say who carries the plan out since %s: %s", since, a.body)
		}
	}
	e.verb(p.ID, "acks", `{"instances":[1],"executor_epoch":1}`).want(http.StatusOK)
	taken := e.verb(p.ID, "start", `{"executor":"jm2","executor_epoch":2}`).want(http.StatusOK).plan()
	if *taken.Executor != "jm2" || *taken.ExecutorEpoch != 2 || len(taken.Acked) != 1 || taken.Status != "applying" {
		t.Errorf("%+v", taken)
	}
	for verb, body := range map[string]string{
		"start": `{"executor":"jm1","executor_epoch":1}`,
		"acks":  `{"instances":[0],"executor_epoch":1}`,
		"abort": `{"executor_epoch":1}`,
	} {
		e.verb(p.ID, verb, body).fails(http.StatusConflict, "fenced", "")
		e.verb(p.ID, verb, strings.Replace(body, `"executor_epoch":1`, `"reason":""`, 1)).
			fails(http.StatusConflict, "fenced", "")
	}
	e.verb(p.ID, "acks", `{"instances":[0],"executor_epoch":3}`).fails(http.StatusConflict, "other_executor", "")
	e.verb(p.ID, "start", `{"executor":"jm2","executor_epoch":2}`).want(http.StatusOK)
	if got := e.trail(p.ID); len(got) != 3 || got[2] != `applying→applying by "jm2": ""` {
		t.Errorf("%q", got)
	}
	if f := e.do("GET", feed+"?since=0", "").feed(); f.Pending.Executor != "jm2" || f.Pending.ExecutorEpoch != 2 {
		t.Errorf("%+v", f.Pending)
	}
	// A repeated ack of a fenced instance is a fact: with the epoch that is named, it counts.
	if q := e.verb(p.ID, "acks", `{"instances":[0],"executor_epoch":2}`).want(http.StatusOK).
		life(); q.Status != "committed" {
		t.Errorf("%+v", q)
	}
}

// TestStopped: what was not started is committed by an engine that has stopped.
func TestStopped(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	p := e.planned(1)
	for _, body := range []string{"", "{}", `{"stopped":false}`} {
		e.verb(p.ID, "commit", body).fails(http.StatusConflict, "transition_not_allowed", "")
	}
	e.verb(p.ID, "commit", stopped).want(http.StatusOK)
	e.verb(p.ID, "commit", "").want(http.StatusOK) // once more
}

// TestRolledBack: a plan that is carried out is given up in two steps.
func TestRolledBack(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	first := e.planned(1)
	e.verb(first.ID, "approve", "").want(http.StatusOK)
	second := e.planned(2)
	e.verb(first.ID, "start", `{"executor":"e"}`).want(http.StatusOK)
	e.verb(second.ID, "approve", "").want(http.StatusOK)
	e.verb(second.ID, "start", `{"executor":"e"}`).fails(http.StatusConflict, "plan_in_flight", "")
	e.verb(second.ID, "commit", stopped).fails(http.StatusConflict, "plan_in_flight", "")
	for range 2 {
		if q := e.verb(first.ID, "abort", `{"reason":"checkpoint failed"}`).want(http.StatusOK).
			life(); q.Status != "aborting" {
			t.Errorf("%+v", q)
		}
	}
	if op := e.do("GET", "/v1/operators/clicks", "").
		want(http.StatusOK); !strings.Contains(string(op.body), `"current_plan_status":"aborting"`) {
		t.Errorf("%s", op.body)
	}
	// No ack counts any more, and new statistics find the plan in the way.
	e.verb(first.ID, "acks", `{"instances":[0,1]}`).fails(http.StatusConflict, "transition_not_allowed", "")
	e.verb(first.ID, "commit", stopped).fails(http.StatusConflict, "transition_not_allowed", "")
	if q := e.planned(3); q.Status != "no_action" || !slices.Equal(q.Causes, []string{"plan_in_flight"}) ||
		q.Pending.Status != "aborting" {
		t.Errorf("%+v", q)
	}
	for range 2 {
		if q := e.verb(first.ID, "abort", `{"rolled_back":true}`).want(http.StatusOK).life(); q.Status != "aborted" {
			t.Errorf("%+v", q)
		}
	}
	// The table has a new version, so what was based on the old one has ended.
	if q := e.do("GET", "/v1/plans/"+second.ID, "").want(http.StatusOK).life(); q.Status != "superseded" {
		t.Errorf("%+v", q)
	}
	fourth := e.do("POST", "/v1/operators/clicks/plans", interval(4, `,"table_version":0`)).want(http.StatusCreated).life()
	if fourth.Status != "proposed" {
		t.Errorf("%+v", fourth)
	}
	e.verb(fourth.ID, "approve", "").want(http.StatusOK)
	e.verb(fourth.ID, "commit", stopped).want(http.StatusOK)
	e.verb(fourth.ID, "start", `{"executor":"e"}`).fails(http.StatusConflict, "transition_not_allowed", "")
	third := e.classPlan()
	e.verb(third.ID, "start", `{"executor":"e"}`).fails(http.StatusConflict, "resolution_required", "")
}

// TestRejected: a plan that is turned down leaves its interval to others, and so
// does one that nobody looked at in time.
func TestRejected(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	p := e.planned(1)
	if q := e.verb(p.ID, "reject", `{"reason":"too much"}`).want(http.StatusOK).life(); q.Status != "rejected" {
		t.Errorf("%+v", q)
	}
	e.verb(p.ID, "reject", "").want(http.StatusOK)
	e.verb(p.ID, "approve", "").fails(http.StatusConflict, "transition_not_allowed", "")
	q := e.planned(1)
	if q.ID == p.ID || q.Status != "proposed" {
		t.Errorf("%+v", q)
	}
	e.clock.pass(10 * time.Minute)
	if late := e.do("GET", "/v1/plans/"+q.ID, "").want(http.StatusOK).life(); late.Status != "expired" {
		t.Errorf("%+v", late)
	}
	e.verb(q.ID, "approve", "").fails(http.StatusConflict, "transition_not_allowed", "")
	want := []string{`-→proposed by "": ""`, fmt.Sprintf(`proposed→expired by %q: `, store.Expirer)}
	if got := e.trail(q.ID); len(got) != 2 || got[0] != want[0] || !strings.HasPrefix(got[1], want[1]) {
		t.Errorf("%q", got)
	}
	if r := e.planned(1); r.Status != "proposed" || r.ID == q.ID {
		t.Errorf("%+v", r)
	}
}

// TestForEver: a plan may wait for ever.
func TestForEver(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(approved, "{", `{"approval":{"ttl":"0s"},`, 1))
	p := e.planned(1)
	e.clock.pass(1e5 * time.Hour)
	if q := e.do("GET", "/v1/plans/"+p.ID, "").want(http.StatusOK).life(); q.Status != "proposed" || q.ExpiresAt != nil {
		t.Errorf("%+v", q)
	}
}

// TestOlderConfiguration: the plans of an operator that was stored before there was
// approval wait if they break limits, and all of them if it said no more than that.
func TestOlderConfiguration(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	op, err := e.store.Operator(t.Context(), "clicks")
	if err != nil {
		t.Fatal(err)
	}
	const since = `"require_approval":false,"approval":{"auto":"within_limits","max_migration":null,` +
		`"min_statistics":{"keys":1,"cost_share":0.2},"small_intervals":3,"on_pending":"keep","ttl":"10m0s"},`
	older := strings.Replace(string(op.Config), since, "", 1)
	if older == string(op.Config) {
		t.Fatalf("%s", older)
	}
	if _, _, err := e.store.PutOperator(t.Context(), "clicks", []byte(older), e.clock.Now()); err != nil {
		t.Fatal(err)
	}
	if a := e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK); !strings.Contains(string(a.body), since) {
		t.Errorf("%s", a.body)
	}
	if p := e.planned(1); p.Status != "approved" {
		t.Errorf("%+v", p)
	}
	older = strings.Replace(string(op.Config), since, `"require_approval":true,"approval":{"on_pending":"keep"},`, 1)
	if _, _, err := e.store.PutOperator(t.Context(), "clicks", []byte(older), e.clock.Now()); err != nil {
		t.Fatal(err)
	}
	if a := e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK); !strings.Contains(string(a.body),
		`"require_approval":true,"approval":{"auto":"never",`) {
		t.Errorf("%s", a.body)
	}
}

// TestVerbsAtOnce: of verbs that race each makes its transition once, or none.
func TestVerbsAtOnce(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	p := e.planned(1)
	race := func(calls ...[2]string) (statuses []int) {
		var done sync.WaitGroup
		statuses = make([]int, 4*len(calls))
		for i := range statuses {
			done.Go(func() { statuses[i] = e.verb(p.ID, calls[i%len(calls)][0], calls[i%len(calls)][1]).status })
		}
		done.Wait()
		return statuses
	}
	race([2]string{"approve", ""}, [2]string{"reject", ""})
	steps := e.trail(p.ID)
	if len(steps) != 2 {
		t.Fatalf("%q", steps)
	}
	if strings.Contains(steps[1], "→rejected") {
		p = e.planned(1)
		race([2]string{"approve", ""})
	}
	ok := 0
	for i, status := range race([2]string{"start", `{"executor":"a"}`}, [2]string{"start", `{"executor":"b"}`}) {
		if status == http.StatusOK {
			ok += 1 << (4 * (i % 2))
		}
	}
	if ok != 4 && ok != 4<<4 {
		t.Errorf("both executors started it: %#x", ok)
	}
	for i, status := range race([2]string{"acks", `{"instances":[0]}`}, [2]string{"acks", `{"instances":[1]}`}) {
		if status != http.StatusOK {
			t.Errorf("ack %d: %d", i, status)
		}
	}
	race([2]string{"commit", stopped}, [2]string{"abort", ""})
	if steps := e.trail(p.ID); len(steps) != 4 || !strings.HasPrefix(steps[3], "applying→committed") {
		t.Errorf("%q", steps)
	}
	if v := e.metric(`plannerd_plan_transitions_total{from="applying",operator="clicks",to="committed"}`); v != "1" {
		t.Errorf("%s commits", v)
	}
}

// TestSweep: what has expired is written down though nobody asks.
func TestSweep(t *testing.T) {
	swept := make(chan int, 10)
	e := newEnv(t, func(c *api.Config) {
		c.Limits.SweepEvery = time.Nanosecond
		c.Store = sweeps{c.Store, swept}
	})
	e.operator("clicks", approved)
	p := e.planned(1)
	e.clock.pass(time.Hour)
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(ended)
		e.handler.(*api.Server).Run(ctx)
	}()
	if n := <-swept; n != 1 {
		t.Errorf("%d plans expired, want 1", n)
	}
	if n := <-swept; n != 0 {
		t.Errorf("%d plans expired again", n)
	}
	cancel()
	<-ended
	if got := e.trail(p.ID); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if v := e.metric("plannerd_plans_expired_total"); v != "1" {
		t.Errorf("%s expired", v)
	}
}

// sweeps is a store that tells what each sweep found.
type sweeps struct {
	store.Store
	found chan<- int
}

func (s sweeps) Expire(ctx context.Context, at time.Time) (int, error) {
	n, err := s.Store.Expire(ctx, at)
	select {
	case s.found <- n:
	case <-ctx.Done():
	}
	return n, err
}
