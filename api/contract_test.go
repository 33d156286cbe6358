package api_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/go-json-experiment/json"

	"plannerd/api"
	"plannerd/store"
)

// TestMain fails when the tests, run as a whole, have not reached a status or a
// code that the contract documents.
func TestMain(m *testing.M) {
	code := m.Run()
	whole := flag.Lookup("test.run").Value.String() == "" && flag.Lookup("test.fuzz").Value.String() == "" &&
		flag.Lookup("test.list").Value.String() == "" && flag.Lookup("test.skip").Value.String() == ""
	if code == 0 && whole {
		for _, missing := range unreached() {
			fmt.Println("FAIL: documented, but reached by no test:", missing)
			code = 1
		}
	}
	os.Exit(code)
}

func unreached() []string {
	doc, _ := spec()
	reached.Lock()
	defer reached.Unlock()
	var out []string
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				if status == "default" {
					continue
				}
				var n int
				fmt.Sscan(status, &n)
				if answer := method + " " + path + " " + http.StatusText(n); !reached.answers[answer] {
					out = append(out, answer)
				}
			}
		}
	}
	for _, code := range doc.Components.Schemas["Code"].Value.Enum {
		if !reached.codes[code.(string)] {
			out = append(out, "code "+code.(string))
		}
	}
	for what, list := range map[string]map[string]bool{"PlanStatus": reached.statuses, "Causes": reached.causes} {
		for _, name := range tabled(doc.Components.Schemas[what].Value.Description) {
			if !list[name] {
				out = append(out, what+" "+name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// tabled are the names in the first column of a table in a description.
func tabled(description string) (names []string) {
	for line := range strings.Lines(description) {
		if rest, is := strings.CutPrefix(line, "| `"); is {
			name, _, _ := strings.Cut(rest, "`")
			names = append(names, name)
		}
	}
	return names
}

// TestPlanStatuses: the table of the statuses is that of the transitions.
func TestPlanStatuses(t *testing.T) {
	doc, _ := spec()
	status := doc.Components.Schemas["PlanStatus"].Value
	if rows := tabled(status.Description); len(rows) != len(status.Enum) {
		t.Errorf("%d rows of %d statuses", len(rows), len(status.Enum))
	}
	for _, s := range status.Enum {
		var next []string
		for _, to := range store.Next(store.Status(s.(string))) {
			next = append(next, "`"+string(to)+"`")
		}
		for line := range strings.Lines(status.Description) {
			if strings.HasPrefix(line, "| `"+s.(string)+"` |") &&
				!strings.HasSuffix(strings.TrimSpace(line), "| "+strings.TrimPrefix(strings.Join(next, ", ")+" |", " ")) {
				t.Errorf("%s: goes on to %v, but is described as %s", s, next, line)
			}
		}
	}
}

// TestRoutes: what is served equals what is documented.
func TestRoutes(t *testing.T) {
	e := newEnv(t)
	served := map[string]bool{}
	err := chi.Walk(e.handler.(chi.Routes), func(method, route string, _ http.Handler,
		_ ...func(http.Handler) http.Handler) error {
		served[method+" "+route] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	doc, _ := spec()
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			documented[method+" "+path] = true
		}
	}
	if !maps.Equal(served, documented) {
		t.Errorf("served %v\ndocumented %v", slices.Sorted(maps.Keys(served)), slices.Sorted(maps.Keys(documented)))
	}
}

// TestCodes: the table in the description of the codes tells each of them.
func TestCodes(t *testing.T) {
	doc, _ := spec()
	code := doc.Components.Schemas["Code"].Value
	for _, c := range code.Enum {
		if !strings.Contains(code.Description, "| `"+c.(string)+"` |") {
			t.Errorf("code %s is not described", c)
		}
	}
}

// TestExamples sends every example of a request body in the contract.
func TestExamples(t *testing.T) {
	doc, _ := spec()
	sent := 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody == nil {
				continue
			}
			for media, content := range op.RequestBody.Value.Content {
				for name, example := range content.Examples {
					e := newEnv(t)
					target := e.exampleTarget(method, path, name)
					body, text := example.Value.Value.(string)
					if !text {
						b, err := json.Marshal(example.Value.Value)
						if err != nil {
							t.Fatal(err)
						}
						body = string(b)
					}
					if a := e.do(method, target, body, "Content-Type: "+media); a.status >= 300 {
						t.Errorf("%s %s, example %s: %d %s", method, path, name, a.status, a.body)
					}
					sent++
				}
			}
		}
	}
	if sent < 10 {
		t.Errorf("only %d examples", sent)
	}
}

// TestQueries: every operation refuses a query that it cannot read, and one with a
// parameter that it does not know.
func TestQueries(t *testing.T) {
	e := newEnv(t)
	doc, _ := spec()
	for path, item := range doc.Paths.Map() {
		target := strings.NewReplacer("{operator}", "clicks", "{id}", "p", "{interval}", "1", "{instance}", "0", "{router}",
			"r", "{asset}", "LICENSE", "{version}", "1").Replace(path)
		for method, o := range item.Operations() {
			for _, status := range []string{"400", "422"} {
				if o.Responses.Value(status) == nil {
					t.Errorf("%s %s does not document %s", method, path, status)
				}
			}
			e.do(method, target+"?%zz", "").fails(http.StatusBadRequest, "malformed", "")
			e.do(method, target+"?unknown=1", "").fails(http.StatusUnprocessableEntity, "invalid", "?unknown")
		}
	}
}

// exampleTarget prepares what an example for a path is about.
func (e *env) exampleTarget(method, path, name string) string {
	e.Helper()
	operator, config, body := "clicks", `{"instances":2,"theta_max":0}`,
		`{"interval":1,"keys":[{"key":"a","cost":1},{"key":"b","cost":2},{"key":"c","cost":4}]}`
	if strings.HasSuffix(path, "/approve") || strings.HasSuffix(path, "/reject") {
		config = strings.Replace(config, "{", `{"require_approval":true,`, 1)
	}
	if strings.HasPrefix(name, "queue") {
		config = `{"instances":3,"scheme":"ring"}`
	}
	if strings.HasSuffix(path, "/resolution") {
		config, body = allAtHome, `{"interval":1,"compact":{"records":[[0,0,4,1,4]]}}`
	}
	e.operator(operator, config)
	var p struct{ ID string }
	e.do("POST", "/v1/operators/clicks/plans", body).want(http.StatusCreated).into(&p)
	if strings.HasSuffix(path, "/acks") || strings.HasSuffix(path, "/stop") {
		e.do("POST", "/v1/plans/"+p.ID+"/start", `{"executor":"e"}`).want(http.StatusOK)
	}
	if strings.HasSuffix(path, "/undo") {
		e.verb(p.ID, "commit", stopped).want(http.StatusOK)
	}
	if path == "/v1/operators/{operator}/plans" {
		e.report(46, 1, `{"keys":[{"key":"a","cost":1}]}`).want(http.StatusCreated)
		e.report(47, 0, `{"keys":[{"key":"b","cost":1}]}`).want(http.StatusCreated)
	}
	if path == "/v1/operators/{operator}" && method == "PUT" {
		operator = "other"
	}
	return strings.NewReplacer("{operator}", operator, "{id}", p.ID, "{interval}", "2", "{instance}", "0",
		"{router}", "r").Replace(path)
}

// TestStoreFailures: what the store reports reaches the client as documented,
// and nothing of its insides does.
func TestStoreFailures(t *testing.T) {
	f := &faults{}
	e := newEnv(t, func(c *api.Config) {
		f.Store = c.Store
		c.Store = f
	})
	e.operator("clicks", `{"instances":2,"theta_max":0}`)
	body := `{"interval":1,"keys":[{"key":"a","cost":1},{"key":"b","cost":2},{"key":"c","cost":4},{"key":"d","cost":4}]}`
	p := e.do("POST", "/v1/operators/clicks/plans", body).want(http.StatusCreated).plan()
	later := strings.Replace(body, `"interval":1`, `"interval":2`, 1)
	for _, call := range []struct{ fault, method, target, body string }{
		{"Operators", "GET", "/v1/operators", ""},
		{"RecentPlans", "GET", "/v1/operators?include=recent", ""},
		{"RecentPlans", "GET", "/v1/operators/clicks?include=recent", ""},
		{"PutOperator", "PUT", "/v1/operators/clicks", `{"instances":3}`},
		{"PutOperator", "PATCH", "/v1/operators/clicks", `{"instances":3}`},
		{"Operator", "GET", "/v1/operators/clicks", ""},
		{"Plans", "GET", "/v1/what-if?operator=clicks", ""},
		{"DeleteOperator", "DELETE", "/v1/operators/clicks", ""},
		{"Operator", "GET", "/v1/operators/clicks/next-plan", ""},
		{"CreatePlan", "POST", "/v1/operators/clicks/plans", later},
		{"Plans", "GET", "/v1/operators/clicks/plans", ""},
		{"PutReport", "PUT", reportTarget(2, 0), `{"keys":[]}`},
		{"Reports", "GET", "/v1/operators/clicks/intervals/2/reports", ""},
		{"RegisterRouter", "PUT", clickRouters + "/r", `{"lease":"30s"}`},
		{"Routers", "GET", clickRouters, ""},
		{"DeleteRouter", "DELETE", clickRouters + "/r", ""},
		{"TableChanges", "GET", "/v1/operators/clicks/routing-table", ""},
		{"Table", "GET", "/v1/operators/clicks/routing-table?version=0", ""},
		{"Route", "GET", "/v1/operators/clicks/route?key=a", ""},
		{"Plan", "GET", "/v1/plans/" + p.Id, ""},
		{"Migrations", "GET", "/v1/plans/" + p.Id + "/migrations", ""},
		{"Migrations", "GET", "/v1/plans/" + p.Id + "/flows", ""},
		{"Changes", "GET", "/v1/plans/" + p.Id + "/routing-table", ""},
		{"ResolvePlan", "PUT", "/v1/plans/" + e.classPlan().ID + "/resolution", "key,from,to\na,0,1\nb,0,1\n"},
		{"ApprovePlan", "POST", "/v1/plans/" + p.Id + "/approve", ""},
		{"RejectPlan", "POST", "/v1/plans/" + p.Id + "/reject", ""},
		{"StartPlan", "POST", "/v1/plans/" + p.Id + "/start", `{"executor":"e"}`},
		{"AckPlan", "POST", "/v1/plans/" + p.Id + "/acks", `{"instances":[0]}`},
		{"Transitions", "GET", "/v1/plans/" + p.Id + "/transitions", ""},
		{"Migrations", "GET", "/v1/plans/" + p.Id + "/diff?with=" + p.Id, ""},
		{"CommentPlan", "POST", "/v1/plans/" + p.Id + "/comments", `{"comment":"why?"}`},
		{"Configurations", "GET", "/v1/operators/clicks/configurations", ""},
		{"Configurations", "GET", "/v1/operators/clicks/configurations/1", ""},
		{"OperatorChanges", "GET", "/v1/operators/clicks/changes?since=2020-01-01T00:00:00Z", ""},
		{"Input", "POST", "/v1/plans/" + p.Id + "/replay", ""},
		{"Input", "POST", "/v1/operators/clicks/backtest", ""},
		{"Operator", "GET", "/v1/operators/clicks/undo", ""},
		{"Freeze", "PUT", "/v1/operators/clicks/freeze", `{"until":"2100-01-01T00:00:00Z","reason":"x"}`},
		{"Freeze", "DELETE", "/v1/operators/clicks/freeze", ""},
		{"Freeze", "PUT", "/v1/freeze", `{"until":"2100-01-01T00:00:00Z","reason":"x"}`},
		{"Freeze", "DELETE", "/v1/freeze", ""},
		{"Operator", "POST", "/v1/operators/clicks/undo", ""},
		{"Input", "GET", "/v1/operators/clicks/advice", ""},
		{"CommitPlan", "POST", "/v1/plans/" + p.Id + "/commit", stopped},
		{"StopPlan", "POST", "/v1/plans/" + p.Id + "/stop", ""},
		{"AbortPlan", "POST", "/v1/plans/" + p.Id + "/abort", ""},
		{"Ready", "GET", "/readyz", ""},
	} {
		t.Run(call.fault, func(t *testing.T) {
			e := &env{TB: t, handler: e.handler}
			f.set(call.fault, fmt.Errorf("dialing 10.1.2.3: %w", store.ErrUnavailable))
			headers := []string{}
			if call.method == "PUT" && strings.HasSuffix(call.target, "/resolution") {
				headers = []string{csv}
			}
			a := e.do(call.method, call.target, call.body, headers...).fails(http.StatusServiceUnavailable, "unavailable", "")
			if a.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			f.set(call.fault, fmt.Errorf("writing to 10.1.2.3: %w", store.ErrFull))
			full := e.do(call.method, call.target, call.body, headers...).
				fails(http.StatusServiceUnavailable, "storage_full", "")
			if !strings.Contains(full.problem().Detail, "disk") {
				t.Errorf("%s", full.body)
			}
			f.set(call.fault, errors.New("secret of the database"))
			b := e.do(call.method, call.target, call.body, headers...).fails(http.StatusInternalServerError, "internal", "")
			for _, a := range []*answer{a, full, b} {
				if strings.Contains(string(a.body), "10.1.2.3") || strings.Contains(string(a.body), "secret") {
					t.Errorf("insides in the answer: %s", a.body)
				}
			}
			f.set(call.fault, nil)
		})
	}
	for _, call := range []struct {
		fault, target, body, code string
		err                       error
		status                    int
	}{
		{"CreatePlan", "/v1/operators/clicks/plans", later, "base_changed", store.ErrBaseChanged, http.StatusConflict},
		{"CreatePlan", "/v1/operators/clicks/plans", later, "configuration_changed", store.ErrConfigurationChanged,
			http.StatusConflict},
		{"CreatePlan", "/v1/operators/clicks/plans", later, "purged", store.ErrPurged, http.StatusGone},
		{"CreatePlan", "/v1/operators/clicks/plans", later, "plan_pending", store.ErrPlanPending, http.StatusConflict},
		{"CreatePlan", "/v1/operators/clicks/plans", later, "plan_in_flight", store.ErrPlanInFlight, http.StatusConflict},
		{"ApprovePlan", "/v1/plans/" + p.Id + "/approve", "", "purged", store.ErrPurged, http.StatusGone},
		{"CommentPlan", "/v1/plans/" + p.Id + "/comments", `{"comment":"?"}`, "purged", store.ErrPurged, http.StatusGone},
		{"RejectPlan", "/v1/plans/" + p.Id + "/reject", "", "purged", store.ErrPurged, http.StatusGone},
		{"StartPlan", "/v1/plans/" + p.Id + "/start", `{"executor":"e"}`, "purged", store.ErrPurged, http.StatusGone},
		{"AckPlan", "/v1/plans/" + p.Id + "/acks", `{"instances":[0]}`, "purged", store.ErrPurged, http.StatusGone},
		{"Input", "/v1/plans/" + p.Id + "/replay", "", "purged", store.ErrPurged, http.StatusGone},
		{"CommitPlan", "/v1/plans/" + p.Id + "/commit", stopped, "base_changed", store.ErrBaseChanged, http.StatusConflict},
		{"CommitPlan", "/v1/plans/" + p.Id + "/commit", stopped, "purged", store.ErrPurged, http.StatusGone},
		{"AbortPlan", "/v1/plans/" + p.Id + "/abort", "", "purged", store.ErrPurged, http.StatusGone},
		{"StopPlan", "/v1/plans/" + p.Id + "/stop", "", "purged", store.ErrPurged, http.StatusGone},
	} {
		f.set(call.fault, call.err)
		e.do("POST", call.target, call.body).fails(call.status, call.code, "")
		f.set(call.fault, nil)
	}
	f.set("Input", store.ErrPurged)
	e.do("GET", "/v1/operators/clicks/advice", "").fails(http.StatusGone, "purged", "")
	e.do("GET", "/v1/what-if?operator=clicks", "").fails(http.StatusGone, "purged", "")
	f.set("Input", nil)
	f.set("Migrations", store.ErrPurged)
	e.do("GET", "/v1/plans/"+p.Id+"/migrations", "").fails(http.StatusGone, "purged", "")
	e.do("GET", "/v1/plans/"+p.Id+"/flows", "").fails(http.StatusGone, "purged", "")
	e.do("GET", "/v1/plans/"+p.Id+"/diff?with="+p.Id, "").fails(http.StatusGone, "purged", "")
	f.set("Migrations", nil)
	f.set("Changes", store.ErrPurged)
	e.do("GET", "/v1/plans/"+p.Id+"/routing-table", "").fails(http.StatusGone, "purged", "")
	f.set("Changes", nil)
	f.set("Transitions", store.ErrPurged)
	e.do("GET", "/v1/plans/"+p.Id+"/transitions", "").fails(http.StatusGone, "purged", "")
	f.set("Transitions", nil)
	f.set("Plan", store.ErrPurged)
	e.do("GET", "/v1/plans/"+p.Id, "").fails(http.StatusGone, "purged", "")
	f.set("Plan", nil)
}

// panicking panics where a handler least expects it.
type panicking struct{ store.Store }

func (panicking) Ready(context.Context) error { panic("secret") }

func TestPanic(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Store = panicking{c.Store} })
	a := e.do("GET", "/readyz", "").fails(http.StatusInternalServerError, "internal", "")
	if strings.Contains(string(a.body), "secret") {
		t.Errorf("%s", a.body)
	}
}

// TestRace: a table or configuration that changes once while planning is
// planned for anew.
func TestRace(t *testing.T) {
	for _, err := range []error{store.ErrBaseChanged, store.ErrConfigurationChanged} {
		once := &failOnce{err: err}
		e := newEnv(t, func(c *api.Config) {
			once.Store = c.Store
			c.Store = once
		})
		e.operator("clicks", `{"instances":2}`)
		e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"keys":[{"key":"a","cost":1}]}`).want(http.StatusCreated)
		if once.calls != 2 {
			t.Errorf("%d calls of CreatePlan, want 2", once.calls)
		}
	}
}

type failOnce struct {
	store.Store
	err   error
	calls int
}

func (f *failOnce) CreatePlan(ctx context.Context, p store.NewPlan, by store.Transition) (store.Plan, bool, error) {
	if f.calls++; f.calls == 1 {
		return store.Plan{}, false, f.err
	}
	return f.Store.CreatePlan(ctx, p, by)
}
