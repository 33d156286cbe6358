package api_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"

	"plannerd/api"
	"plannerd/internal/web/access"
	"plannerd/sdk/go/wire"
	"plannerd/store"
)

// callers are tokens by names, and the server's option to know them.
type callers struct {
	testing.TB
	tokens  *access.Tokens
	secrets map[string]string
	now     atomic.Pointer[access.Tokens] // instead of tokens; nil: they are the same
}

func newCallers(t testing.TB) *callers {
	return &callers{TB: t, tokens: &access.Tokens{}, secrets: map[string]string{}}
}

// add makes a token and returns the header that brings it along.
func (c *callers) add(name string, role access.Role, operators ...string) string {
	c.Helper()
	c.secrets[name] = access.NewSecret()
	if err := c.tokens.Add(c.secrets[name], access.Caller{Name: name, Role: role, Operators: operators}); err != nil {
		c.Fatal(err)
	}
	return "Authorization: Bearer " + c.secrets[name]
}

// remove makes new tokens without a caller's.
func (c *callers) remove(name string) {
	left := &access.Tokens{}
	for other, secret := range c.secrets {
		if other == name {
			continue
		}
		if err := left.Add(secret, *c.tokens.Find(secret)); err != nil {
			c.Fatal(err)
		}
	}
	c.now.Store(left)
}

func (c *callers) option(config *api.Config) {
	config.Access.Tokens = func() *access.Tokens { return cmp.Or(c.now.Load(), c.tokens) }
}

// operation is one of the contract.
type operation struct {
	*openapi3.Operation
	method, path string
}

// target is a request for the operation: of an operator and of a plan.
func (o operation) target(operator, plan string) string {
	target := strings.NewReplacer("{operator}", operator, "{id}", plan, "{interval}", "1", "{instance}", "0", "{router}",
		"r", "{asset}", "LICENSE", "{version}", "1").Replace(o.path)
	query := map[string]string{"route": "?key=a", "diffPlans": "?with=p", "listChanges": "?since=2020-01-01T00:00:00Z"}
	return target + query[o.OperationID]
}

func (o operation) role() access.Role {
	name, _ := o.Extensions["x-role"].(string)
	return access.Role(name)
}

// operations are all of the contract.
func operations() (all []operation) {
	doc, _ := spec()
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Value(path).Operations()
		for _, method := range slices.Sorted(maps.Keys(item)) {
			all = append(all, operation{item[method], method, path})
		}
	}
	return all
}

// TestRoles: the contract names the role of every operation, and what changes
// something is for more than viewers.
func TestRoles(t *testing.T) {
	for _, o := range operations() {
		stateless := strings.HasPrefix(o.path, "/v1/analyses/") || o.path == "/v1/what-if" ||
			strings.HasSuffix(o.path, "/replay") || strings.HasSuffix(o.path, "/backtest")
		switch {
		case !o.role().Known():
			t.Errorf("%s %s names no x-role: %q", o.method, o.path, o.role())
		case o.method != "GET" && !stateless && (o.role() == access.Viewer || o.role() == access.Open):
			t.Errorf("%s %s changes something and asks for %s", o.method, o.path, o.role())
		case strings.HasPrefix(o.path, "/v1/") && o.role() == access.Open:
			t.Errorf("%s is open", o.path)
		}
		if open := o.Security != nil && len(*o.Security) == 0; open != (o.role() == access.Open) {
			t.Errorf("%s %s: x-role is %s, security says something else", o.method, o.path, o.role())
		}
	}
}

// TestRoleMatrix: each role and each operation.
func TestRoleMatrix(t *testing.T) {
	known := newCallers(t)
	headers := map[access.Role]string{}
	for _, role := range []access.Role{access.Viewer, access.Engine, access.Approver, access.Admin} {
		headers[role] = known.add(string(role), role, access.Everywhere)
	}
	e := newEnv(t, known.option)
	for _, o := range operations() {
		target := o.target("absent", "none")
		for _, auth := range []string{"", "Authorization: Bearer " + access.NewSecret(), "Authorization: Basic YTpi",
			"Authorization: Bearer", "Authorization: Bearer "} {
			a := e.do(o.method, target, "", slices.DeleteFunc([]string{auth}, func(h string) bool { return h == "" })...)
			if o.role() == access.Open {
				a.want(http.StatusOK)
				continue
			}
			a.fails(http.StatusUnauthorized, "unauthenticated", "")
			want := `Bearer realm="plannerd"`
			if auth != "" {
				want += `, error="invalid_token"`
			}
			if got := a.header.Get("WWW-Authenticate"); got != want {
				t.Errorf("%s %s: WWW-Authenticate: %s, want %s", o.method, target, got, want)
			}
		}
		for role, header := range headers {
			a := e.do(o.method, target, "", header)
			switch {
			case !role.Grants(o.role()):
				a.fails(http.StatusForbidden, "role_forbidden", "")
			case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden || a.status >= 500:
				t.Errorf("%s %s as %s: %d: %s", o.method, target, role, a.status, a.body)
			}
		}
	}
	// Nothing is said of what is there before the caller is known.
	e.do("GET", "/nothing", "").fails(http.StatusUnauthorized, "unauthenticated", "")
	e.do("PATCH", "/v1/operators/absent", "").fails(http.StatusUnauthorized, "unauthenticated", "")
	e.do("POST", "/v1/what-if", "a", "Content-Type: text/none", "Accept: text/none").
		fails(http.StatusUnauthorized, "unauthenticated", "")
	e.do("GET", "/v1/operators?page_size=x", "").fails(http.StatusUnauthorized, "unauthenticated", "")
	e.do("GET", "/nothing", "", headers[access.Viewer]).fails(http.StatusNotFound, "not_found", "")
	e.do("POST", "/v1/operators/absent", "", headers[access.Viewer]).
		fails(http.StatusMethodNotAllowed, "method_not_allowed", "")
	e.do("GET", "/v1/operators", "", "Authorization: bearer "+known.secrets["viewer"]).want(http.StatusOK)
}

func TestOpenMetrics(t *testing.T) {
	known := newCallers(t)
	e := newEnv(t, known.option, func(c *api.Config) { c.Access.OpenMetrics = true })
	e.do("GET", "/metrics", "").want(http.StatusOK)
	e.do("GET", "/v1/operators", "").want(http.StatusUnauthorized)
}

// TestOperatorPatterns: operators that no pattern of a caller matches are closed to it,
// whether they exist or not, and so are their plans.
func TestOperatorPatterns(t *testing.T) {
	known := newCallers(t)
	root, bounded := known.add("root", access.Admin, access.Everywhere),
		known.add("bounded", access.Admin, "team-a.*", "share?")
	e := newEnv(t, known.option)
	plans := map[string]plan{}
	for _, name := range []string{"team-a.clicks", "team-a.views", "team-b.clicks", "shared"} {
		e.do("PUT", "/v1/operators/"+name, reported, root).want(http.StatusCreated)
		plans[name] = e.do("POST", "/v1/operators/"+name+"/plans", interval(1, ""), root).want(http.StatusCreated).plan()
	}
	stored := func(name string) string { return fmt.Sprintf(`{"workers":2,"operator":%q,"interval":1}`, name) }
	for _, o := range operations() {
		for _, name := range []string{"team-b.clicks", "team-b.none", "team-a", "Team-a.clicks"} {
			if strings.Contains(o.path, "{operator}") {
				e.do(o.method, o.target(name, ""), "", bounded).fails(http.StatusForbidden, "operator_forbidden", "")
			}
		}
		if strings.Contains(o.path, "{id}") {
			closed := e.do(o.method, o.target("", plans["team-b.clicks"].Id), "", bounded).
				fails(http.StatusNotFound, "plan_not_found", "").problem()
			none := e.do(o.method, o.target("", "none"), "", bounded).fails(http.StatusNotFound, "plan_not_found", "").problem()
			if strings.ReplaceAll(closed.Detail, plans["team-b.clicks"].Id, "none") != none.Detail {
				t.Errorf("%s %s: %q tells that there is something", o.method, o.path, closed.Detail)
			}
		}
	}
	if got := e.do("GET", "/v1/plans/"+plans["team-b.clicks"].Id, "", root).want(http.StatusOK).plan().
		Status; got != "approved" {
		t.Errorf("the closed plan is %s", got)
	}
	// What a deleted operator planned is of nobody knows whom.
	e.do("DELETE", "/v1/operators/team-b.clicks", "", root).want(http.StatusNoContent)
	e.do("GET", "/v1/plans/"+plans["team-b.clicks"].Id, "", root).fails(http.StatusGone, "purged", "")
	e.do("GET", "/v1/plans/"+plans["team-b.clicks"].Id, "", bounded).fails(http.StatusNotFound, "plan_not_found", "")
	// An encoded name is the same name.
	e.do("GET", "/v1/operators/team-b%2eclicks", "", bounded).fails(http.StatusForbidden, "operator_forbidden", "")
	e.do("GET", "/v1/operators/team-a%2eclicks", "", bounded).want(http.StatusOK)
	e.do("POST", pkg, stored("team-b.clicks"), bounded).fails(http.StatusForbidden, "operator_forbidden", "")
	e.do("POST", pkg, stored("team-b.none"), bounded).fails(http.StatusForbidden, "operator_forbidden", "")
	e.do("POST", pkg, stored("team-a.clicks"), bounded).want(http.StatusOK)
	e.do("GET", "/metrics", "", bounded).fails(http.StatusForbidden, "operator_forbidden", "")
	e.do("GET", "/metrics", "", root).want(http.StatusOK)
	for _, name := range []string{"team-a.clicks", "shared"} {
		e.do("GET", "/v1/operators/"+name, "", bounded).want(http.StatusOK)
		e.do("GET", "/v1/plans/"+plans[name].Id, "", bounded).want(http.StatusOK)
		e.do("POST", "/v1/plans/"+plans[name].Id+"/commit", stopped, bounded).want(http.StatusOK)
	}
}

// TestListsOfSome: a list has the caller's operators, page by page, and its tokens do
// not tell of others.
func TestListsOfSome(t *testing.T) {
	known := newCallers(t)
	root, bounded := known.add("root", access.Admin, access.Everywhere), known.add("bounded", access.Viewer, "mine-*")
	e := newEnv(t, known.option)
	for i := range 25 {
		e.do("PUT", fmt.Sprintf("/v1/operators/mine-%02d", i), `{"instances":1}`, root).want(http.StatusCreated)
		e.do("PUT", fmt.Sprintf("/v1/operators/other-%02d", i), `{"instances":1}`, root).want(http.StatusCreated)
		e.do("PUT", fmt.Sprintf("/v1/operators/mine%02d", i), `{"instances":1}`, root).want(http.StatusCreated)
	}
	for _, size := range []int{1, 5, 24, 25, 26} {
		var names []string
		for target, token := fmt.Sprintf("/v1/operators?page_size=%d", size), ""; ; {
			var page struct {
				Operators []struct{ Name string }
				Next      *string `json:"next_page_token"`
			}
			a := e.do("GET", target+token, "", bounded).want(http.StatusOK)
			if err := json.Unmarshal(a.body, &page, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			if len(page.Operators) == 0 || len(page.Operators) > size {
				t.Fatalf("page of %d: %s", size, a.body)
			}
			for _, op := range page.Operators {
				names = append(names, op.Name)
			}
			if page.Next == nil {
				break
			}
			if raw := decodeToken(t, *page.Next); !strings.Contains(raw, names[len(names)-1]) {
				t.Errorf("the token is at %s, the page ends with %s", raw, names[len(names)-1])
			}
			token = "&page_token=" + *page.Next
		}
		if len(names) != 25 || !slices.IsSorted(names) || names[0] != "mine-00" || names[24] != "mine-24" {
			t.Errorf("pages of %d: %v", size, names)
		}
	}
}

// TestRecent: a list of operators tells how they went lately, and is not sent again as
// long as it is the same.
func TestRecent(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":0,"require_approval":true}`)
	e.operator("idle", `{"instances":2}`)
	body := `{"interval":1,"keys":[{"key":"a","cost":1},{"key":"b","cost":2},{"key":"c","cost":4},{"key":"d","cost":4}]}`
	waiting := e.do("POST", "/v1/operators/clicks/plans", body).want(http.StatusCreated).plan()
	later := strings.Replace(body, `"interval":1`, `"interval":2`, 1)
	newest := e.do("POST", "/v1/operators/clicks/plans", later).want(http.StatusCreated).plan()
	const target = "/v1/operators?include=recent"
	a := e.do("GET", target, "").want(http.StatusOK)
	var list struct {
		Operators []wire.Operator `json:"operators"`
	}
	a.into(&list)
	clicks, idle := list.Operators[0].Recent, list.Operators[1].Recent
	if want := []float64{waiting.Theta.Before, newest.Theta.Before}; !slices.Equal(clicks.Thetas, want) {
		t.Errorf("thetas are %v, want %v", clicks.Thetas, want)
	}
	if len(clicks.Plans) != 2 || clicks.Plans[0].Id != newest.Id || clicks.Plans[1].Id != waiting.Id {
		t.Errorf("plans are %+v", clicks.Plans)
	}
	if idle.Thetas == nil || idle.Plans == nil || len(idle.Thetas)+len(idle.Plans) > 0 {
		t.Errorf("of an operator without plans: %+v", idle)
	}
	if r := idle.Realised; r.Intervals != 0 || r.Theta != nil || r.ThetaPlanned != nil || r.Above != nil {
		t.Errorf("realised without plans: %+v", r)
	}
	e.do("GET", target, "", "If-None-Match: "+a.header.Get("ETag")).want(http.StatusNotModified)
	e.verb(waiting.Id, "reject", "").want(http.StatusOK)
	e.do("GET", target, "", "If-None-Match: "+a.header.Get("ETag")).want(http.StatusOK)
	if plain := e.do("GET", "/v1/operators", "").want(http.StatusOK); strings.Contains(string(plain.body), "thetas") {
		t.Errorf("nobody asked for %s", plain.body)
	}
}

// TestRealised: what came true of intervals stands beside what was planned for them, and
// what is answered is what the metrics say.
func TestRealised(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":0.1}`)
	post := func(interval int, costs ...any) plan {
		body := fmt.Sprintf(`{"interval":%d,"keys":[{"key":"a","cost":%v},{"key":"b","cost":%v},{"key":"c","cost":%v},`+
			`{"key":"d","cost":%v}]}`, append([]any{interval}, costs...)...)
		return e.do("POST", "/v1/operators/clicks/plans", body).want(http.StatusCreated).plan()
	}
	realised := func() wire.Realised {
		var list struct {
			Operators []wire.Operator `json:"operators"`
		}
		e.do("GET", "/v1/operators?include=recent", "").want(http.StatusOK).into(&list)
		return list.Operators[0].Recent.Realised
	}
	is := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	metric := func(when string, want float64) {
		t.Helper()
		got, err := strconv.ParseFloat(e.metric(`plannerd_theta{operator="clicks",when="`+when+`"}`), 64)
		if err != nil {
			t.Fatal(err)
		}
		is("the metric of θ "+when, got, want)
	}
	first := post(1, 1, 2, 4, 4)
	if r := realised(); r.ThetaPlanned != nil || r.Plans != 0 {
		t.Errorf("nothing was planned for the first interval: %+v", r)
	}
	e.verb(first.Id, "commit", stopped).want(http.StatusOK)
	second := post(2, 9, 2, 1, 1) // the load turns around
	e.verb(second.Id, "abort", "").want(http.StatusOK)
	r := realised()
	is("θ realised", r.Theta.Last, second.Theta.Before)
	is("θ planned", r.ThetaPlanned.Last, first.Theta.After)
	is("the moved state", r.Moved, first.Migration.Fraction)
	metric("before", second.Theta.Before)
	metric("planned", first.Theta.After)
	if r.Intervals != 2 || r.Plans != 1 || *r.Above != 1 {
		t.Errorf("of two intervals, both above θ_max: %+v", r)
	}
	again := e.do("POST", "/v1/plans/"+second.Id+"/replay", `{"propose":true,"strategies":["minmig"]}`).
		want(http.StatusCreated).plan()
	metric("planned", first.Theta.After)
	if r = realised(); r.Intervals != 2 {
		t.Errorf("two plans of an interval count as two: %+v", r)
	}
	e.verb(again.Id, "abort", "").want(http.StatusOK)
	post(3, 1, 1, 1, 1) // under the table of the first plan; what was planned before is not in effect
	if r = realised(); r.Intervals != 3 {
		t.Errorf("of three intervals: %+v", r)
	}
	is("θ planned before a plan that was aborted", r.ThetaPlanned.Last, first.Theta.After)
	var one wire.Operator
	e.do("GET", "/v1/operators/clicks?include=recent", "").want(http.StatusOK).into(&one)
	if one.Recent == nil || !reflect.DeepEqual(one.Recent.Realised, r) {
		t.Errorf("of the operator itself: %+v, in the list %+v", one.Recent, r)
	}
	plain := string(e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK).body)
	if strings.Contains(plain, "recent") {
		t.Errorf("nobody asked for %s", plain)
	}
	if metrics := string(e.do("GET", "/metrics", "").body); strings.Contains(metrics, `when="planned"`) {
		t.Error("the metrics say what an aborted plan had planned")
	}
}

// TestReturned: a key that goes back to an instance that it left lately moved for nothing, as
// far as the window reaches, and the metrics say so.
func TestReturned(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":0.1,"hash":{"function":"reported"}}`)
	for interval, costs := range [][3]int{{8, 8, 1}, {8, 1, 8}} { // a leaves the one that b is at, then the one of c
		body := fmt.Sprintf(`{"interval":%d,"keys":[{"key":"a","cost":%d,"state":4,"hash_instance":0},`+
			`{"key":"b","cost":%d,"state":6,"hash_instance":0},{"key":"c","cost":%d,"state":10,"hash_instance":1}]}`,
			interval, costs[0], costs[1], costs[2])
		p := e.do("POST", "/v1/operators/clicks/plans", body).want(http.StatusCreated).plan()
		e.verb(p.Id, "commit", stopped).want(http.StatusOK)
	}
	for query, want := range map[string]wire.Realised{
		"": {Intervals: 2, Moved: 0.4, Returned: 0.2}, "&window=1": {Intervals: 1, Moved: 0.2, Returned: 0.2},
	} {
		var op wire.Operator
		e.do("GET", "/v1/operators/clicks?include=recent"+query, "").want(http.StatusOK).into(&op)
		r := op.Recent.Realised
		if int64(len(op.Recent.Thetas)) != want.Intervals || r.Intervals != want.Intervals || r.Moved != want.Moved ||
			r.Returned != want.Returned {
			t.Errorf("%q: %+v, want %+v", query, op.Recent, want)
		}
	}
	for metric, want := range map[string]string{"state": "8", "returned_state": "4"} {
		if got := e.metric(`plannerd_committed_` + metric + `_total{operator="clicks"}`); got != want {
			t.Errorf("metric of %s: %s, want %s", metric, got, want)
		}
	}
	e.do("GET", "/v1/operators/clicks?window=0", "").fails(http.StatusUnprocessableEntity, "invalid", "")
}

// TestActor: who has a token is the actor, whatever else the request says.
func TestActor(t *testing.T) {
	known := newCallers(t)
	root := known.add("root", access.Admin, access.Everywhere)
	engine := known.add("job-manager", access.Engine, access.Everywhere)
	e := newEnv(t, known.option)
	e.do("PUT", "/v1/operators/clicks", reported, root).want(http.StatusCreated)
	p := e.do("POST", "/v1/operators/clicks/plans", interval(1, ""), engine).want(http.StatusCreated).plan()
	e.do("POST", "/v1/plans/"+p.Id+"/commit", `{"stopped":true,"actor":"root","reason":"moved"}`, engine).
		want(http.StatusOK)
	steps, err := e.store.Transitions(t.Context(), p.Id)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.Actor != "job-manager" {
			t.Errorf("the actor of %s is %q", s.To, s.Actor)
		}
	}
	if last := steps[len(steps)-1]; last.Reason != "moved (as root)" {
		t.Errorf("the reason is %q", last.Reason)
	}
	open := newEnv(t)
	open.operator("clicks", reported)
	p = open.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).plan()
	open.do("POST", "/v1/plans/"+p.Id+"/commit", `{"stopped":true,"actor":"somebody","reason":"moved"}`).
		want(http.StatusOK)
	if steps, err = open.store.Transitions(t.Context(), p.Id); err != nil || steps[len(steps)-1].Actor != "somebody" ||
		steps[len(steps)-1].Reason != "moved" {
		t.Errorf("without tokens: %+v, %v", steps, err)
	}
}

// TestForeignPages: on a server without tokens, pages of others neither act nor read.
func TestForeignPages(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Access.Hosts = []string{"localhost", "127.0.0.1", "::1", "planner.example"} })
	for _, o := range operations() {
		e.do(o.method, "http://evil.example:8080"+o.target("clicks", "none"), "").
			fails(http.StatusForbidden, "host_forbidden", "")
		a := e.do(o.method, "http://localhost:8080"+o.target("clicks", "none"), "", "Sec-Fetch-Site: cross-site")
		if o.method != "GET" || strings.HasPrefix(o.path, "/v1/") || o.path == "/metrics" {
			a.fails(http.StatusForbidden, "cross_origin", "")
		} else if a.status == http.StatusForbidden { // it has no data
			t.Errorf("%s %s: %s", o.method, o.path, a.body)
		}
	}
	for host, status := range map[string]int{
		"localhost": 200, "LOCALHOST:1": 200, "127.0.0.1": 200, "127.0.0.1:8080": 200, "[::1]": 200, "[::1]:8080": 200,
		"planner.example:443":    200,
		"127.0.0.1.evil.example": 403, "localhost.": 403, "evil.example": 403, "evil.example:8080": 403, "127.0.0.2": 403,
		"[::2]:80": 403,
	} {
		e.do("GET", "http://"+host+"/v1/operators", "").want(status)
	}
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{nil, http.StatusNotFound},
		{[]string{"Sec-Fetch-Site: same-origin", "Origin: http://localhost:8080"}, http.StatusNotFound},
		{[]string{"Sec-Fetch-Site: none"}, http.StatusNotFound},
		{[]string{"Sec-Fetch-Site: same-site"}, http.StatusForbidden},
		{[]string{"Sec-Fetch-Site: cross-site"}, http.StatusForbidden},
		{[]string{"Origin: http://localhost:8080"}, http.StatusNotFound},
		{[]string{"Origin: http://localhost:3000"}, http.StatusForbidden},
		{[]string{"Origin: http://evil.example"}, http.StatusForbidden},
		{[]string{"Origin: null"}, http.StatusForbidden},
	} {
		e.do("DELETE", "http://localhost:8080/v1/operators/clicks", "", c.headers...).want(c.status)
		e.do("PATCH", "http://localhost:8080/v1/operators/clicks", "", c.headers...)
		a := e.do("GET", "http://localhost:8080/v1/operators/clicks", "", c.headers...).want(c.status)
		if a.header.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
			a.header.Get("Cache-Control") != "private, no-cache" {
			t.Errorf("headers %v", a.header)
		}
	}
}

// counting is a store that counts how often it is asked for operators.
type counting struct {
	store.Store
	asked atomic.Int32
}

func (c *counting) Operators(ctx context.Context, after string, limit int) ([]store.Operator, error) {
	c.asked.Add(1)
	return c.Store.Operators(ctx, after, limit)
}

// TestNarrowViewer: who sees few of very many operators waits for those few.
func TestNarrowViewer(t *testing.T) {
	known := newCallers(t)
	root, viewer := known.add("root", access.Admin, access.Everywhere), known.add("viewer", access.Viewer, "m-*", "t-1")
	counted := &counting{}
	e := newEnv(t, known.option, func(c *api.Config) { counted.Store, c.Store = c.Store, counted })
	for i := range 100 {
		e.do("PUT", fmt.Sprintf("/v1/operators/a-%d", i), `{"instances":1}`, root).want(http.StatusCreated)
		e.do("PUT", fmt.Sprintf("/v1/operators/z-%d", i), `{"instances":1}`, root).want(http.StatusCreated)
	}
	for _, name := range []string{"m-1", "m-2", "t-1"} {
		e.do("PUT", "/v1/operators/"+name, `{"instances":1}`, root).want(http.StatusCreated)
	}
	var page struct {
		Operators []struct{ Name string }
		Next      string `json:"next_page_token"`
	}
	for _, want := range []string{"m-1", "m-2", "t-1"} {
		counted.asked.Store(0)
		path := "/v1/operators?page_size=1"
		if page.Next != "" {
			path += "&page_token=" + url.QueryEscape(page.Next)
		}
		page.Operators, page.Next = nil, ""
		e.do("GET", path, "", viewer).want(http.StatusOK).into(&page)
		if len(page.Operators) != 1 || page.Operators[0].Name != want || (page.Next == "") != (want == "t-1") {
			t.Errorf("%+v, want %s", page, want)
		}
		if asked := counted.asked.Load(); asked > 3 {
			t.Errorf("%s: %d looks", want, asked)
		}
	}
}

// TestRequestIDs: an answer has the id of its request, a problem repeats it, and an id
// that is none is replaced.
func TestRequestIDs(t *testing.T) {
	e := newEnv(t)
	for given, kept := range map[string]bool{
		"a-1": true, "0af7651916cd43dd8448eb211c80319c": true, "urn:uuid:1/2+3=4@b_c.d": true, strings.Repeat("a", 128): true,
		"": false, "a b": false, "a\"b": false, "é": false, strings.Repeat("a", 129): false,
	} {
		a := e.do("GET", "/v1/operators/none", "", "X-Request-Id: "+given).want(http.StatusNotFound)
		id := a.header.Get("X-Request-Id")
		if kept != (id == given) || id == "" {
			t.Errorf("%q: the answer has %q", given, id)
		}
		var p struct {
			RequestID string `json:"request_id"`
		}
		if a.into(&p); p.RequestID != id {
			t.Errorf("the problem has %q, the header %q", p.RequestID, id)
		}
	}
	if a, b := e.do("GET", "/healthz", ""), e.do("GET", "/healthz", ""); a.header.Get("X-Request-Id") == b.header.Get(
		"X-Request-Id") {
		t.Error("two requests have the same id")
	}
}

// TestLog: each request is a line, and no line has what is nobody's business.
func TestLog(t *testing.T) {
	const canary = "canary"
	known := newCallers(t)
	root := known.add("root", access.Admin, access.Everywhere)
	var log bytes.Buffer
	failing := &faults{}
	e := newEnv(t, known.option, func(c *api.Config) {
		failing.Store, c.Store = c.Store, failing
		c.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	e.do("PUT", "/v1/operators/clicks", `{"instances":2,"theta_max":0}`, root).want(http.StatusCreated)
	body := `{"interval":1,"keys":[{"key":"` + canary + `","cost":1},{"key":"b","cost":1}]}`
	p := e.do("POST", "/v1/operators/clicks/plans", body, root, "X-Request-Id: first").want(http.StatusCreated).plan()
	e.do("POST", "/v1/operators/clicks/plans", strings.Replace(body, `"b"`, `"`+canary+`"`, 1), root).want(unprocessable)
	e.do("POST", "/v1/operators/clicks/plans?"+canary+"=1", body, root).want(unprocessable)
	e.do("GET", "/v1/operators/clicks/route?key="+canary, "", root).want(http.StatusOK)
	e.do("POST", "/v1/plans/"+p.Id+"/commit", `{"stopped":true,"actor":"`+canary+`","reason":"`+canary+`"}`, root).
		want(http.StatusOK)
	e.do("GET", "/"+canary+"?"+canary, "", root, "User-Agent: "+canary).want(http.StatusNotFound)
	e.do("CANARY", "/healthz", "", root, "Referer: http://a/"+canary).want(http.StatusMethodNotAllowed)
	e.do("GET", "/v1/operators", "", "Authorization: Bearer "+canary+"-token", "X-Request-Id: "+canary+" !").
		want(http.StatusUnauthorized)
	failing.set("Route", errors.New("no route"))
	e.do("GET", "/v1/operators/clicks/route?key="+canary, "", root).want(http.StatusInternalServerError)

	if text := strings.ToLower(log.String()); strings.Contains(text, canary) ||
		strings.Contains(log.String(), known.secrets["root"]) {
		t.Errorf("the log tells too much:\n%s", text)
	}
	type line struct {
		Msg, Level, Method, Route, Caller, Remote string
		Status, Bytes                             int
		Duration                                  *float64 `json:"duration_ms"`
		RequestID                                 string   `json:"request_id"`
	}
	var lines []line
	for text := range strings.Lines(log.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		if l.RequestID == "" {
			t.Errorf("no id: %s", text)
		}
		if l.Msg == "request" {
			lines = append(lines, l)
		}
	}
	if len(lines) != 10 {
		t.Fatalf("%d requests are logged, want 10:\n%s", len(lines), log.String())
	}
	first := lines[1]
	if first.Duration == nil || first.Bytes == 0 || first.Remote == "" {
		t.Errorf("%+v", first)
	}
	first.Duration, first.Bytes, first.Remote = nil, 0, ""
	if want := (line{Msg: "request", Level: "INFO", Method: "POST", Route: "/v1/operators/{operator}/plans",
		Caller: "root", Status: 201, RequestID: "first"}); first != want {
		t.Errorf("%+v, want %+v", first, want)
	}
	if last := lines[8]; last.Caller != "" || last.Status != http.StatusUnauthorized || last.Route != "/v1/operators" {
		t.Errorf("%+v", last)
	}
	if lines[6].Route != "none" || lines[7].Method != "other" {
		t.Errorf("%+v %+v", lines[6], lines[7])
	}
}

// decodeToken returns what a page token says.
func decodeToken(t *testing.T, token string) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestWaitOfARemovedToken: who waits for a table and is no longer known is told so, and others wait on.
func TestWaitOfARemovedToken(t *testing.T) {
	c := newCallers(t)
	admin, gone := c.add("admin", access.Admin, "*"), c.add("gone", access.Engine, "*")
	stays := c.add("stays", access.Engine, "*")
	e := newEnv(t, c.option)
	e.do("PUT", "/v1/operators/clicks", `{"instances":2}`, admin).want(http.StatusCreated)
	wait := func(token string) <-chan *answer {
		got := make(chan *answer, 1)
		go func() { got <- e.do("GET", "/v1/operators/clicks/routing-table?since=0&wait=5s", "", token) }()
		return got
	}
	first, second := wait(gone), wait(stays)
	c.remove("gone")
	(<-first).want(http.StatusUnauthorized) // and not, in the end, that nothing has changed
	(<-second).want(http.StatusNotModified)
}

// TestWaitOfATokenRemovedAtOnce: so is who is no longer known when the wait begins.
func TestWaitOfATokenRemovedAtOnce(t *testing.T) {
	c := newCallers(t)
	admin, gone := c.add("admin", access.Admin, "*"), c.add("gone", access.Engine, "*")
	var removes atomic.Bool
	e := newEnv(t, c.option, func(config *api.Config) {
		tokens := config.Access.Tokens
		config.Access.Tokens = func() *access.Tokens {
			found := tokens()
			if removes.CompareAndSwap(true, false) {
				c.remove("gone") // after the request is let in
			}
			return found
		}
	})
	e.do("PUT", "/v1/operators/clicks", `{"instances":2}`, admin).want(http.StatusCreated)
	removes.Store(true)
	e.do("GET", "/v1/operators/clicks/routing-table?since=0&wait=5s", "", gone).want(http.StatusUnauthorized)
}
