package api_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"plannerd/api"
	"plannerd/store"
)

// meanwhile is a store in which something happens just before a call.
type meanwhile struct {
	store.Store
	create, commit, find, check func()
}

// once takes the function out of where it is kept, and calls it.
func once(f *func()) {
	if do := *f; do != nil {
		*f = nil
		do()
	}
}

func (m *meanwhile) CreatePlan(ctx context.Context, p store.NewPlan, by store.Transition) (store.Plan, bool, error) {
	once(&m.create)
	return m.Store.CreatePlan(ctx, p, by)
}

func (m *meanwhile) CommitPlan(
	ctx context.Context, id string, to store.Transition, keep store.Retention, guards ...store.PlanGuard,
) (store.Plan, bool, error) {
	once(&m.commit)
	return m.Store.CommitPlan(ctx, id, to, keep, guards...)
}

func (m *meanwhile) FindPlan(ctx context.Context, operator string, epoch, interval int64,
	fingerprint string) (store.Plan, error) {
	once(&m.find)
	return m.Store.FindPlan(ctx, operator, epoch, interval, fingerprint)
}

func (m *meanwhile) CheckInterval(ctx context.Context, operator string, epoch, interval int64) error {
	once(&m.check)
	return m.Store.CheckInterval(ctx, operator, epoch, interval)
}

func newMeanwhile(t *testing.T) (*env, *meanwhile) {
	m := &meanwhile{}
	e := newEnv(t, func(c *api.Config) {
		m.Store = c.Store
		c.Store = m
	})
	e.operator("clicks", reported)
	return e, m
}

// TestSameStatisticsAtOnce: of two requests with the same statistics the slower
// one gets the plan of the faster, though a commit came between their bases.
func TestSameStatisticsAtOnce(t *testing.T) {
	e, m := newMeanwhile(t)
	const plans = "/v1/operators/clicks/plans"
	older := e.do("POST", plans, interval(1, "")).want(http.StatusCreated).plan()
	var faster plan
	m.create = func() {
		e.do("POST", "/v1/plans/"+older.Id+"/commit", stopped).want(http.StatusOK)
		faster = e.do("POST", plans, interval(2, "")).want(http.StatusCreated).plan()
	}
	slower := e.do("POST", plans, interval(2, "")).want(http.StatusOK).plan()
	if slower.Id != faster.Id || slower.BaseVersion != 1 {
		t.Errorf("the slower request got %+v, the faster %+v", slower, faster)
	}
	// The same when a later interval was planned by then and the plan is history.
	e, m = newMeanwhile(t)
	older = e.do("POST", plans, interval(1, "")).want(http.StatusCreated).plan()
	m.create = func() {
		e.do("POST", "/v1/plans/"+older.Id+"/commit", stopped).want(http.StatusOK)
		faster = e.do("POST", plans, interval(2, `,"table_version":0`)).want(http.StatusCreated).plan()
		e.do("POST", plans, interval(3, "")).want(http.StatusCreated)
	}
	if slower = e.do("POST", plans, interval(2, `,"table_version":0`)).want(http.StatusOK).plan(); slower.Id != faster.Id {
		t.Errorf("the slower request got %+v, the faster %+v", slower, faster)
	}
	// Other statistics are refused truly.
	m.create = func() { e.do("POST", plans, interval(4, "")).want(http.StatusCreated) }
	other := strings.Replace(interval(4, ""), `"cost":7`, `"cost":8`, 1)
	e.do("POST", plans, other).fails(http.StatusConflict, "interval_planned", "")
	m.create = func() { e.do("POST", plans, interval(6, "")).want(http.StatusCreated) }
	e.do("POST", plans, interval(5, "")).fails(http.StatusConflict, "interval_outdated", "")
}

// TestSameProposalAtOnce: of two requests that propose the same the slower one gets
// the plan of the faster, wherever that comes in between.
func TestSameProposalAtOnce(t *testing.T) {
	e, m := newMeanwhile(t)
	for i, when := range []*func(){&m.check, &m.find, &m.create} {
		p := e.do("POST", "/v1/operators/clicks/plans", interval(i+1, "")).want(http.StatusCreated).plan()
		e.verb(p.Id, "abort", "").want(http.StatusOK)
		propose := func() *answer { return e.do("POST", "/v1/plans/"+p.Id+"/replay", `{"propose":true}`) }
		var faster plan
		*when = func() { faster = propose().want(http.StatusCreated).plan() }
		if slower := propose().want(http.StatusOK).plan(); slower.Id != faster.Id {
			t.Errorf("%d: the slower request got %+v, the faster %+v", i, slower, faster)
		}
	}
}

// TestStaleRefusal: what changes between the reads of one request is no reason to
// refuse what would be accepted before as well as after.
func TestStaleRefusal(t *testing.T) {
	e, m := newMeanwhile(t)
	const plans = "/v1/operators/clicks/plans"
	var faster plan
	m.find = func() {
		e.do("PUT", "/v1/operators/clicks", strings.Replace(reported, `"theta_max":0`, `"theta_max":0.001`, 1)).
			want(http.StatusOK)
		faster = e.do("POST", plans, interval(1, "")).want(http.StatusCreated).plan()
	}
	if slower := e.do("POST", plans, interval(1, "")).want(http.StatusOK).plan(); slower.Id != faster.Id {
		t.Errorf("the slower request got %+v, the faster %+v", slower, faster)
	}
	m.find = func() { e.do("POST", "/v1/plans/"+faster.Id+"/commit", stopped).want(http.StatusOK) }
	if p := e.do("POST", plans, interval(2, `,"table_version":1`)).want(http.StatusCreated).plan(); p.BaseVersion != 1 {
		t.Errorf("the plan is on version %d", p.BaseVersion)
	}
	e.do("POST", plans, interval(3, `,"table_version":3`)).fails(http.StatusConflict, "table_version_ahead", "")
}

// TestOtherConfiguration: the same statistics under another configuration would
// make another plan; the refusal says that this may be why.
func TestOtherConfiguration(t *testing.T) {
	e, _ := newMeanwhile(t)
	e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated)
	e.do("PUT", "/v1/operators/clicks", strings.Replace(reported, `"theta_max":0`, `"theta_max":"100%"`, 1)).want(http.StatusOK)
	a := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).fails(http.StatusConflict, "interval_planned", "")
	if !strings.Contains(a.problem().Detail, "configuration") {
		t.Errorf("%s", a.body)
	}
}

// TestCommitIsCountedOnce: of two commits of a plan at once one counts.
func TestCommitIsCountedOnce(t *testing.T) {
	e, m := newMeanwhile(t)
	p := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).plan()
	commit := func() { e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK) }
	m.commit = commit
	commit()
	want := fmt.Sprintf("\nplannerd_committed_keys_total{operator=\"clicks\"} %d\n", p.Migration.Keys)
	if metrics := string(e.do("GET", "/metrics", "").body); p.Migration.Keys == 0 || !strings.Contains(metrics, want) {
		t.Errorf("%d keys migrated, and not counted as such", p.Migration.Keys)
	}
}

// TestOldConfigurationIsCommitted: a plan may be committed though the operator
// was reconfigured since; the next one leads to the newest configuration.
func TestOldConfigurationIsCommitted(t *testing.T) {
	e := newEnv(t)
	const plans = "/v1/operators/clicks/plans"
	body := func(interval string) string {
		return `{"interval":` + interval +
			`,"keys":[{"key":"a","cost":1},{"key":"b","cost":1},{"key":"c","cost":1},{"key":"d","cost":1}]}`
	}
	configure := func(instances string) {
		e.do("PUT", "/v1/operators/clicks", `{"instances":`+instances+`,"hash":{"function":"modulo"}}`)
	}
	pinned := func(want int64) {
		t.Helper()
		var table struct{ ConfigVersion int64 }
		a := e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK)
		if a.into(&table); table.ConfigVersion != want || !strings.Contains(string(a.body), `"pending":null`) {
			t.Errorf("configuration %d is pinned, want %d: %s", table.ConfigVersion, want, a.body)
		}
	}
	configure("2")
	configure("3")
	p := e.do("POST", plans, body("1")).want(http.StatusCreated).plan()
	configure("4")
	pinned(1)
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	pinned(2)
	p = e.do("POST", plans, body("2")).want(http.StatusCreated).plan()
	if p.ConfigVersion != 3 || p.BaseVersion != 1 || p.Status != "approved" {
		t.Errorf("%+v", p)
	}
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	pinned(3)
}

// hangingUp is a store during whose call the client hangs up.
type hangingUp struct {
	store.Store
	hangUp func()
}

func (h *hangingUp) Operator(ctx context.Context, _ string) (store.Operator, error) {
	h.hangUp()
	return store.Operator{}, ctx.Err()
}

// TestHangUp: a client that hangs up is no failure of the service.
func TestHangUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var logged bytes.Buffer
	e := newEnv(t, func(c *api.Config) {
		c.Store = &hangingUp{c.Store, cancel}
		c.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	w := httptest.NewRecorder()
	if !aborted(e.handler, w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/operators/clicks", nil)) {
		t.Error("the connection is not cut")
	}
	if w.Body.Len() > 0 || w.Header().Get("Content-Type") != "" {
		t.Errorf("answered %v %s", w.Header(), w.Body)
	}
	if !strings.Contains(logged.String(), "level=DEBUG") || strings.Contains(logged.String(), "level=ERROR") {
		t.Errorf("logged %s", &logged)
	}
	want := `plannerd_http_requests_total{method="GET",route="/v1/operators/{operator}",status="499"} 1`
	if metrics := string(e.do("GET", "/metrics", "").body); !strings.Contains(metrics, want) {
		t.Error("not counted as 499")
	}
}

// TestEncodedPaths: how a path is encoded makes no difference.
func TestEncodedPaths(t *testing.T) {
	e := newEnv(t)
	e.do("PUT", "/v1/operators/%6fdd%2Dname", `{"instances":2,"theta_max":0}`).want(http.StatusCreated)
	e.do("GET", "/v1/operators/odd-name", "").want(http.StatusOK)
	p := e.do("POST", "/v1/operators/od%64-name/plans", `{"interval":1,"keys":[{"key":"a","cost":1}]}`).
		want(http.StatusCreated).plan()
	if p.Operator != "odd-name" {
		t.Errorf("%+v", p)
	}
	e.do("GET", "/v1/plans/"+strings.ReplaceAll(p.Id, "-", "%2d"), "").want(http.StatusOK)
	e.do("GET", "/v1/operators/odd%25name", "").fails(unprocessable, "invalid", "?operator")
}
