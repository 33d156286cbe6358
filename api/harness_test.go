package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/go-json-experiment/json"

	"plannerd/api"
	"plannerd/internal/lab/openapi"
	"plannerd/sdk/go/wire"
	"plannerd/store"
	"plannerd/store/sqlite"
)

// stopped is the body of a commit without a start.
const stopped = `{"stopped":true}`

// spec is the contract, and a router over it.
var spec = sync.OnceValues(func() (*openapi3.T, routers.Router) {
	doc, err := openapi.Load()
	if err != nil {
		panic(err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		panic(err)
	}
	return doc, router
})

// reached collects what answers the tests have seen: "METHOD path status", problem
// codes, statuses and causes of plans.
var reached = struct {
	sync.Mutex
	answers, codes, statuses, causes map[string]bool
}{answers: map[string]bool{}, codes: map[string]bool{}, statuses: map[string]bool{}, causes: map[string]bool{}}

// ofPlans finds the status and the causes of plans.
var ofPlans = regexp.MustCompile(`"status":"([a-z_]+)"|"causes":\["([a-z_",]+)"\]`)

// see notes what an answer says about plans.
func see(body []byte) {
	reached.Lock()
	defer reached.Unlock()
	for _, found := range ofPlans.FindAllSubmatch(body[:min(len(body), 1<<16)], -1) {
		reached.statuses[string(found[1])] = true
		for _, cause := range strings.Split(string(found[2]), `","`) {
			reached.causes[cause] = true
		}
	}
}

// env is a server over a fresh store.
type env struct {
	testing.TB
	handler http.Handler
	store   *sqlite.Store
	clock   *clock
}

// clock advances by a millisecond whenever it is read.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Millisecond)
	return c.now
}

// still is the time without that reading takes some.
func (c *clock) still() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// pass lets time go by.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// migrated is the file of an empty database, which each environment gets a copy of:
// migrating takes longer than most tests.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "plannerd")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	s, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	_, err = s.Migrator().Up(context.Background())
	if err := errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// newEnv starts a server. The options change its configuration.
func newEnv(t testing.TB, options ...func(*api.Config)) *env {
	t.Helper()
	ticking := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	path := filepath.Join(t.TempDir(), "plannerd.db")
	empty, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, empty, 0o600); err != nil {
		t.Fatal(err)
	}
	now := ticking.still
	s, err := sqlite.Open(context.Background(), path, store.WithClock(func() time.Time { return now() }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	e := &env{TB: t, store: s, clock: ticking}
	config := api.Config{Store: s, Logger: slog.New(slog.DiscardHandler), Version: "test"}
	for _, o := range options {
		o(&config)
	}
	if config.Now != nil { // the store's clock is the server's
		now = config.Now
	} else {
		config.Now = e.clock.Now
	}
	if e.handler, err = api.New(config); err != nil {
		t.Fatal(err)
	}
	return e
}

// answer is what came back.
type answer struct {
	testing.TB
	status int
	header http.Header
	body   []byte
}

// do sends a request and holds the answer against the contract. Headers are
// "Name: value"; a body without Content-Type is JSON.
func (e *env) do(method, target, body string, headers ...string) *answer {
	e.Helper()
	return e.send(context.Background(), method, target, strings.NewReader(body), headers...)
}

func (e *env) send(ctx context.Context, method, target string, body io.Reader, headers ...string) *answer {
	e.Helper()
	r := e.request(ctx, method, target, body, headers...)
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	a := &answer{TB: e, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
	a.validate(r)
	return a
}

// request is what send sends.
func (e *env) request(ctx context.Context, method, target string, body io.Reader, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, method, target, body)
	if r.ContentLength != 0 {
		r.Header.Set("Content-Type", map[bool]string{true: "application/merge-patch+json",
			false: "application/json"}[method == "PATCH"])
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return r
}

func (a *answer) validate(r *http.Request) {
	a.Helper()
	if a.header.Get("Content-Encoding") != "" {
		return // tests of compression look for themselves
	}
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/problem+json") {
		p := a.problem()
		reached.Lock()
		reached.codes[p.Code] = true
		reached.Unlock()
		if p.Status != a.status || p.Title != http.StatusText(a.status) || p.Detail == "" {
			a.Errorf("%s %s: problem does not fit its status: %s", r.Method, r.URL, a.body)
		}
	}
	see(a.body)
	doc, router := spec()
	match := *r
	if match.Method == http.MethodHead {
		match.Method = http.MethodGet
	}
	route, params, err := router.FindRoute(&match)
	if err != nil || a.status == http.StatusMethodNotAllowed {
		switch a.status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		default:
			a.Errorf("%s %s is not in the contract and answers %d", r.Method, r.URL, a.status)
		}
		problem := doc.Components.Schemas["Problem"].Value
		var tree any
		if err := json.Unmarshal(a.body, &tree); err != nil {
			a.Error(err)
		} else if err := problem.VisitJSON(tree); err != nil {
			a.Error(err)
		}
		return
	}
	reached.Lock()
	reached.answers[route.Method+" "+route.Path+" "+http.StatusText(a.status)] = true
	reached.Unlock()
	err = openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	if err != nil {
		a.Errorf("%s %s answers %d against the contract: %v\n%s", r.Method, r.URL, a.status, err, a.body)
	}
}

// want fails the test unless the status is as wanted.
func (a *answer) want(status int) *answer {
	a.Helper()
	if a.status != status {
		a.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// fails checks a problem: its status, its code, and a field that must be named.
func (a *answer) fails(status int, code, where string) *answer {
	a.Helper()
	a.want(status)
	p := a.problem()
	if p.Code != code {
		a.Fatalf("code %q, want %q: %s", p.Code, code, a.body)
	}
	if where == "" {
		return a
	}
	for _, e := range p.Errors {
		if e.Pointer == where || "?"+e.Parameter == where {
			return a
		}
	}
	a.Fatalf("no error at %q: %s", where, a.body)
	return a
}

type problem struct {
	Type, Title, Detail, Code string
	Status                    int
	Errors                    []struct{ Pointer, Parameter, Detail string }
}

func (a *answer) problem() problem {
	a.Helper()
	var p problem
	a.into(&p)
	return p
}

// into decodes the body, whose members are matched without regard to case and
// underscores.
func (a *answer) into(v any) {
	a.Helper()
	if err := json.Unmarshal(a.body, v, json.MatchCaseInsensitiveNames(true)); err != nil {
		a.Fatalf("%v: %s", err, a.body)
	}
}

type (
	// plan is a plan as clients see it.
	plan      = wire.Plan
	entry     = wire.RoutingTableEntry
	migration = wire.PlanMigration
)

func (a *answer) plan() plan {
	a.Helper()
	var p plan
	a.into(&p)
	return p
}

// entries returns the entries that a plan sets, as a map.
func entries(t wire.TableDiff) map[string]int32 {
	out := map[string]int32{}
	for _, e := range t.Set {
		out[e.Key] = e.Instance
	}
	return out
}

func equalMaps(t testing.TB, what string, got, want map[string]int32) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// operator creates an operator.
func (e *env) operator(name, config string) {
	e.Helper()
	e.do("PUT", "/v1/operators/"+name, config).want(http.StatusCreated)
}

// faults is a store some methods of which fail.
type faults struct {
	store.Store
	mu  sync.Mutex
	err map[string]error
}

func (f *faults) set(method string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = map[string]error{}
	}
	f.err[method] = err
}

func (f *faults) fault(method string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err[method]
}

func (f *faults) Operator(ctx context.Context, name string) (store.Operator, error) {
	if err := f.fault("Operator"); err != nil {
		return store.Operator{}, err
	}
	return f.Store.Operator(ctx, name)
}

func (f *faults) RecentPlans(ctx context.Context, ops []store.Operator, most int) ([]store.Recent, error) {
	if err := f.fault("RecentPlans"); err != nil {
		return nil, err
	}
	return f.Store.RecentPlans(ctx, ops, most)
}

func (f *faults) Operators(ctx context.Context, after string, limit int) ([]store.Operator, error) {
	if err := f.fault("Operators"); err != nil {
		return nil, err
	}
	return f.Store.Operators(ctx, after, limit)
}

func (f *faults) PutOperator(
	ctx context.Context, name string, config []byte, at time.Time, guards ...store.OperatorGuard,
) (store.Operator, bool, error) {
	if err := f.fault("PutOperator"); err != nil {
		return store.Operator{}, false, err
	}
	return f.Store.PutOperator(ctx, name, config, at, guards...)
}

func (f *faults) DeleteOperator(ctx context.Context, name string, at time.Time, guards ...store.OperatorGuard) error {
	if err := f.fault("DeleteOperator"); err != nil {
		return err
	}
	return f.Store.DeleteOperator(ctx, name, at, guards...)
}

func (f *faults) Table(ctx context.Context, operator string, version *int64) (store.Table, error) {
	if err := f.fault("Table"); err != nil {
		return store.Table{}, err
	}
	return f.Store.Table(ctx, operator, version)
}

func (f *faults) TableChanges(ctx context.Context, operator string, since int64) (store.Feed, error) {
	if err := f.fault("TableChanges"); err != nil {
		return store.Feed{}, err
	}
	return f.Store.TableChanges(ctx, operator, since)
}

func (f *faults) Route(ctx context.Context, operator string, key []byte) (store.Operator, *store.Entry, error) {
	if err := f.fault("Route"); err != nil {
		return store.Operator{}, nil, err
	}
	return f.Store.Route(ctx, operator, key)
}

func (f *faults) PutReport(ctx context.Context, operator string, r store.Report, data []byte, keep int) ([]store.Report,
	bool, error) {
	if err := f.fault("PutReport"); err != nil {
		return nil, false, err
	}
	return f.Store.PutReport(ctx, operator, r, data, keep)
}

func (f *faults) Reports(ctx context.Context, operator string, epoch, interval int64) ([]store.Report, error) {
	if err := f.fault("Reports"); err != nil {
		return nil, err
	}
	return f.Store.Reports(ctx, operator, epoch, interval)
}

func (f *faults) RegisterRouter(
	ctx context.Context, operator, router string, epoch *int64, lease time.Duration, at time.Time,
) (store.Router, bool, error) {
	if err := f.fault("RegisterRouter"); err != nil {
		return store.Router{}, false, err
	}
	return f.Store.RegisterRouter(ctx, operator, router, epoch, lease, at)
}

func (f *faults) Routers(ctx context.Context, operator string) ([]store.Router, error) {
	if err := f.fault("Routers"); err != nil {
		return nil, err
	}
	return f.Store.Routers(ctx, operator)
}

func (f *faults) Freeze(ctx context.Context, operator string, held *store.Freeze) error {
	if err := f.fault("Freeze"); err != nil {
		return err
	}
	return f.Store.Freeze(ctx, operator, held)
}

func (f *faults) CommentPlan(ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard) (
	store.Plan, error) {
	if err := f.fault("CommentPlan"); err != nil {
		return store.Plan{}, err
	}
	return f.Store.CommentPlan(ctx, id, by, guards...)
}

func (f *faults) Configurations(ctx context.Context, operator string, before int64, limit int) (
	[]store.Configuration, error) {
	if err := f.fault("Configurations"); err != nil {
		return nil, err
	}
	return f.Store.Configurations(ctx, operator, before, limit)
}

func (f *faults) OperatorChanges(ctx context.Context, operator string, since time.Time, steps int) (
	store.OperatorChanges, error) {
	if err := f.fault("OperatorChanges"); err != nil {
		return store.OperatorChanges{}, err
	}
	return f.Store.OperatorChanges(ctx, operator, since, steps)
}

func (f *faults) DeleteRouter(ctx context.Context, operator, router string) error {
	if err := f.fault("DeleteRouter"); err != nil {
		return err
	}
	return f.Store.DeleteRouter(ctx, operator, router)
}

func (f *faults) ReportData(ctx context.Context, operator string, revision int64) ([]byte, error) {
	if err := f.fault("ReportData"); err != nil {
		return nil, err
	}
	return f.Store.ReportData(ctx, operator, revision)
}

func (f *faults) CreatePlan(ctx context.Context, p store.NewPlan, by store.Transition) (store.Plan, bool, error) {
	if err := f.fault("CreatePlan"); err != nil {
		return store.Plan{}, false, err
	}
	return f.Store.CreatePlan(ctx, p, by)
}

func (f *faults) ExtendIdempotent(ctx context.Context, i store.Idempotency, token string, lease time.Duration,
	at time.Time) error {
	if err := f.fault("ExtendIdempotent"); err != nil {
		return err
	}
	return f.Store.ExtendIdempotent(ctx, i, token, lease, at)
}

func (f *faults) Plan(ctx context.Context, id string) (store.Plan, error) {
	if err := f.fault("Plan"); err != nil {
		return store.Plan{}, err
	}
	return f.Store.Plan(ctx, id)
}

func (f *faults) Plans(ctx context.Context, filter store.PlanFilter) ([]store.Plan, int64, error) {
	if err := f.fault("Plans"); err != nil {
		return nil, 0, err
	}
	return f.Store.Plans(ctx, filter)
}

func (f *faults) Changes(ctx context.Context, id string) ([]store.Change, error) {
	if err := f.fault("Changes"); err != nil {
		return nil, err
	}
	return f.Store.Changes(ctx, id)
}

func (f *faults) Migrations(ctx context.Context, id string) ([]byte, error) {
	if err := f.fault("Migrations"); err != nil {
		return nil, err
	}
	return f.Store.Migrations(ctx, id)
}

func (f *faults) ResolvePlan(
	ctx context.Context, id string, r store.Resolution, by store.Transition, guards ...store.PlanGuard,
) (store.Plan, error) {
	if err := f.fault("ResolvePlan"); err != nil {
		return store.Plan{}, err
	}
	return f.Store.ResolvePlan(ctx, id, r, by, guards...)
}

func (f *faults) Transitions(ctx context.Context, id string) ([]store.Transition, error) {
	if err := f.fault("Transitions"); err != nil {
		return nil, err
	}
	return f.Store.Transitions(ctx, id)
}

func (f *faults) ApprovePlan(ctx context.Context, id string, agree func(store.Plan) (store.Approval, error),
	by store.Transition, guards ...store.PlanGuard) (store.Plan, error) {
	if err := f.fault("ApprovePlan"); err != nil {
		return store.Plan{}, err
	}
	return f.Store.ApprovePlan(ctx, id, agree, by, guards...)
}

func (f *faults) RejectPlan(ctx context.Context, id string, by store.Transition,
	guards ...store.PlanGuard) (store.Plan, error) {
	if err := f.fault("RejectPlan"); err != nil {
		return store.Plan{}, err
	}
	return f.Store.RejectPlan(ctx, id, by, guards...)
}

func (f *faults) StartPlan(ctx context.Context, id string, executor store.Executor, by store.Transition,
	guards ...store.PlanGuard) (store.Plan, error) {
	if err := f.fault("StartPlan"); err != nil {
		return store.Plan{}, err
	}
	return f.Store.StartPlan(ctx, id, executor, by, guards...)
}

func (f *faults) AckPlan(
	ctx context.Context, id string, batch int64, instances []int32, by store.Transition, keep store.Retention,
	guards ...store.PlanGuard,
) (store.Plan, bool, error) {
	if err := f.fault("AckPlan"); err != nil {
		return store.Plan{}, false, err
	}
	return f.Store.AckPlan(ctx, id, batch, instances, by, keep, guards...)
}

func (f *faults) StopPlan(ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard) (store.Plan,
	error) {
	if err := f.fault("StopPlan"); err != nil {
		return store.Plan{}, err
	}
	return f.Store.StopPlan(ctx, id, by, guards...)
}

func (f *faults) Expire(ctx context.Context, at time.Time) (int, error) {
	if err := f.fault("Expire"); err != nil {
		return 0, err
	}
	return f.Store.Expire(ctx, at)
}

func (f *faults) CommitPlan(
	ctx context.Context, id string, to store.Transition, keep store.Retention, guards ...store.PlanGuard,
) (store.Plan, bool, error) {
	if err := f.fault("CommitPlan"); err != nil {
		return store.Plan{}, false, err
	}
	return f.Store.CommitPlan(ctx, id, to, keep, guards...)
}

func (f *faults) AbortPlan(
	ctx context.Context, id string, rolledBack bool, to store.Transition, guards ...store.PlanGuard,
) (store.Plan, error) {
	if err := f.fault("AbortPlan"); err != nil {
		return store.Plan{}, err
	}
	return f.Store.AbortPlan(ctx, id, rolledBack, to, guards...)
}

func (f *faults) Ready(ctx context.Context) error {
	if err := f.fault("Ready"); err != nil {
		return err
	}
	return f.Store.Ready(ctx)
}
