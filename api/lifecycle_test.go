package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/sdk/go/wire"
)

// reported is an operator whose engine says where its hash puts each key, so
// that the tests can choose.
const reported = `{"instances":2,"theta_max":0,"strategy":"llfd","hash":{"function":"reported"}}`

// interval returns the statistics of Fig. 4 for an interval.
func interval(n int, more string) string {
	return fmt.Sprintf(`{"interval":%d,"keys":[%s]%s}`, n, jsonRows(figure4), more)
}

func TestLifecycle(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	created := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated)
	p := created.plan()
	if p.Status != "approved" || p.Version != nil || p.BaseVersion != 0 || p.Timing.PersistMs == nil ||
		p.Theta.After != 0 || p.Balanced == nil || !*p.Balanced {
		t.Errorf("%s", created.body)
	}
	if got := created.header.Get("Location"); got != "/v1/plans/"+p.Id {
		t.Errorf("Location %q", got)
	}
	// The empty table was known, and k3 and k5 are not where it puts them.
	if p.DriftedKeys != 2 {
		t.Errorf("%d drifted keys, want 2", p.DriftedKeys)
	}
	equalMaps(t, "set", entries(p.RoutingTable), map[string]int32{"k1": 1, "k3": 1, "k4": 0, "k5": 0})

	again := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusOK)
	if q := again.plan(); q.Id != p.Id || q.Timing.PersistMs != nil || len(q.Migrations) != len(p.Migrations) ||
		len(q.RoutingTable.Set) != len(p.RoutingTable.Set) {
		t.Errorf("the same statistics again: %s", again.body)
	}
	got := e.do("GET", "/v1/plans/"+p.Id, "").want(http.StatusOK)
	if got.header.Get("ETag") != created.header.Get("ETag") || strings.Contains(string(got.body), "migrations\":[") ||
		strings.Contains(string(got.body), `"set"`) {
		t.Errorf("%s", got.body)
	}
	e.do("GET", "/v1/plans/"+p.Id, "", "If-None-Match: "+got.header.Get("ETag")).want(http.StatusNotModified)
	full := e.do("GET", "/v1/plans/"+p.Id+"?include=migrations,routing_table", "").want(http.StatusOK).plan()
	if !slices.Equal(full.Migrations, p.Migrations) || !slices.Equal(full.RoutingTable.Set, p.RoutingTable.Set) {
		t.Error("included lists differ from those of the creation")
	}

	e.do("POST", "/v1/operators/clicks/plans", interval(2, `,"table_version":1`)).
		fails(http.StatusConflict, "table_version_ahead", "")
	done := e.do("POST", "/v1/plans/"+p.Id+"/commit", `{"stopped":true,"actor":"engine","reason":"moved"}`).
		want(http.StatusOK).plan()
	if done.Status != "committed" || done.Version == nil || *done.Version != 1 {
		t.Errorf("%+v", done)
	}
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	e.do("POST", "/v1/plans/"+p.Id+"/abort", "").fails(http.StatusConflict, "transition_not_allowed", "")
	e.committedTable()

	// Sent again after the commit: still the same plan.
	if q := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusOK).plan(); q.Id != p.Id ||
		q.Status != "committed" {
		t.Errorf("%+v", q)
	}
	other := strings.Replace(interval(1, ""), `"cost":7`, `"cost":8`, 1)
	e.do("POST", "/v1/operators/clicks/plans", other).fails(http.StatusConflict, "interval_planned", "")
	// The engine has migrated, and reports from table version 0 still: its
	// instances are outdated, and all is balanced.
	q := e.do("POST", "/v1/operators/clicks/plans", interval(5, `,"table_version":0`)).want(http.StatusCreated).plan()
	if q.Status != "no_action" || !slices.Contains(q.Causes, "balanced") || len(q.Migrations) != 0 || q.BaseVersion != 1 ||
		q.DriftedKeys != 0 {
		t.Errorf("%+v", q)
	}
	e.do("POST", "/v1/operators/clicks/plans", interval(3, "")).fails(http.StatusConflict, "interval_outdated", "")
	e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusOK)
	e.do("POST", "/v1/operators/clicks/plans", interval(0, `,"epoch":1,"table_version":0`)).want(http.StatusCreated)
	if op := string(e.do("GET", "/v1/operators/clicks", "").body); !strings.Contains(op,
		`"last_epoch":1,"last_interval":0,`) {
		t.Errorf("%s", op)
	}
}

// committedTable checks every way to read what a plan committed as version 1.
func (e *env) committedTable() {
	e.Helper()
	var table struct {
		Version, ConfigVersion int64
		Entries                []entry
		Instances              []struct{ ID int32 }
	}
	a := e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK)
	a.into(&table)
	want := []entry{{Key: "k1", Instance: 1}, {Key: "k3", Instance: 1}, {Key: "k4"}, {Key: "k5"}}
	if table.Version != 1 || table.ConfigVersion != 1 || !slices.Equal(table.Entries, want) || len(table.Instances) != 2 {
		e.Errorf("%s", a.body)
	}
	e.do("GET", "/v1/operators/clicks/routing-table", "", "If-None-Match: "+a.header.Get("ETag")).
		want(http.StatusNotModified)
	lines := "{\"key\":\"k1\",\"instance\":1}\n{\"key\":\"k3\",\"instance\":1}\n" +
		"{\"key\":\"k4\",\"instance\":0}\n{\"key\":\"k5\",\"instance\":0}\n"
	if a := e.do("GET", "/v1/operators/clicks/routing-table", "", "Accept: application/x-ndjson").
		want(http.StatusOK); string(a.body) != lines {
		e.Errorf("%s", a.body)
	}
	a = e.do("GET", "/v1/operators/clicks/routing-table?version=1", "", "Accept: text/csv, application/json;q=0.5").
		want(http.StatusOK)
	if string(a.body) != "key,instance,weight\nk1,1,\nk3,1,\nk4,0,\nk5,0,\n" ||
		a.header.Get("Plannerd-Table-Version") != "1" {
		e.Errorf("%s %v", a.body, a.header)
	}
	e.do("GET", "/v1/operators/clicks/routing-table", "", "Accept: text/csv", "If-None-Match: "+a.header.Get("ETag")).
		want(http.StatusNotModified)
	e.do("GET", "/v1/operators/clicks/routing-table?version=0", "").want(http.StatusOK).into(&table)
	if table.Version != 0 || len(table.Entries) != 0 {
		e.Errorf("version 0: %+v", table)
	}
	e.do("GET", "/v1/operators/clicks/routing-table?version=2", "").fails(http.StatusNotFound, "version_not_found", "")

	var op struct {
		TableVersion, TableSize, LastInterval int64
		CurrentPlan                           *string
	}
	e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK).into(&op)
	if op.TableVersion != 1 || op.TableSize != 4 || op.LastInterval != 1 || op.CurrentPlan != nil {
		e.Errorf("%+v", op)
	}
	var route struct {
		Instance int32
		Source   string
		Version  int64
	}
	e.do("GET", "/v1/operators/clicks/route?key=k1", "").want(http.StatusOK).into(&route)
	if route.Instance != 1 || route.Source != "table" || route.Version != 1 {
		e.Errorf("%+v", route)
	}
	e.do("GET", "/v1/operators/clicks/route?key=azE%3D&key_encoding=base64", "").want(http.StatusOK)
	e.do("GET", "/v1/operators/clicks/route?key=k2", "").fails(http.StatusConflict, "hash_not_known", "")
}

func TestAbort(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	first := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).plan()
	e.do("POST", "/v1/plans/"+first.Id+"/abort", `{"reason":"checkpoint failed"}`).want(http.StatusOK)
	e.do("POST", "/v1/plans/"+first.Id+"/abort", "").want(http.StatusOK)
	e.do("POST", "/v1/plans/"+first.Id+"/commit", stopped).fails(http.StatusConflict, "transition_not_allowed", "")
	// Other statistics may be sent for the interval of an aborted plan.
	second := e.do("POST", "/v1/operators/clicks/plans", strings.Replace(interval(1, ""), `"cost":7`, `"cost":6`, 1)).
		want(http.StatusCreated).plan()
	third := e.do("POST", "/v1/operators/clicks/plans", interval(2, "")).want(http.StatusCreated).plan()
	e.do("POST", "/v1/plans/"+third.Id+"/commit", stopped).want(http.StatusOK)
	if got := e.do("GET", "/v1/plans/"+second.Id, "").want(http.StatusOK).plan(); got.Status != "superseded" {
		t.Errorf("status %s, want superseded", got.Status)
	}
	var page struct {
		Plans         []plan
		NextPageToken *string
	}
	e.do("GET", "/v1/operators/clicks/plans", "").want(http.StatusOK).into(&page)
	var statuses []string
	for _, p := range page.Plans {
		statuses = append(statuses, string(p.Status))
	}
	if !slices.Equal(statuses, []string{"committed", "superseded", "aborted"}) || page.NextPageToken != nil {
		t.Errorf("%v", statuses)
	}
	e.do("GET", "/v1/operators/clicks/plans?status=aborted&interval=1", "").want(http.StatusOK).into(&page)
	if len(page.Plans) != 1 || page.Plans[0].Id != first.Id {
		t.Errorf("%+v", page)
	}
	var ids []string
	for target := "/v1/operators/clicks/plans?page_size=1"; ; {
		e.do("GET", target, "").want(http.StatusOK).into(&page)
		ids = append(ids, page.Plans[0].Id)
		if page.NextPageToken == nil {
			break
		}
		target = "/v1/operators/clicks/plans?page_size=1&page_token=" + *page.NextPageToken
	}
	if !slices.Equal(ids, []string{third.Id, second.Id, first.Id}) {
		t.Errorf("%v", ids)
	}
}

// TestSuperseded: statistics whose plan another one superseded are planned anew,
// on the table that is committed now.
func TestSuperseded(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	older := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).plan()
	started := e.do("POST", "/v1/operators/clicks/plans", interval(2, "")).want(http.StatusCreated).plan()
	// One that is approved later takes the place of one that nobody started.
	if p := e.do("GET", "/v1/plans/"+older.Id, "").plan(); p.Status != "superseded" || p.SupersededBy == nil ||
		*p.SupersededBy != started.Id {
		t.Errorf("%s by %v", p.Status, p.SupersededBy)
	}
	e.do("POST", "/v1/plans/"+older.Id+"/commit", stopped).fails(http.StatusConflict, "transition_not_allowed", "")
	e.do("POST", "/v1/plans/"+started.Id+"/commit", stopped).want(http.StatusOK)
	again := e.do("POST", "/v1/operators/clicks/plans", interval(2, "")).want(http.StatusOK).plan()
	if again.Id != started.Id {
		t.Errorf("%+v", again)
	}
	again = e.do("POST", "/v1/operators/clicks/plans", interval(3, "")).want(http.StatusCreated).plan()
	if again.BaseVersion != 1 {
		t.Errorf("%+v", again)
	}
}

// TestEndedPlanBesideALiveOne: statistics whose plan has ended are refused while their interval
// has another plan, which the refusal names.
func TestEndedPlanBesideALiveOne(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	const plans = "/v1/operators/clicks/plans"
	ended := e.do("POST", plans, interval(1, "")).want(http.StatusCreated).plan()
	e.verb(ended.Id, "abort", "").want(http.StatusOK)
	live := e.do("POST", plans, strings.Replace(interval(1, ""), `"cost":7`, `"cost":8`, 1)).
		want(http.StatusCreated).plan()
	a := e.do("POST", plans, interval(1, "")).fails(http.StatusConflict, "interval_planned", "")
	if detail := a.problem().Detail; !strings.Contains(detail, live.Id) || !strings.Contains(detail, "approved") {
		t.Errorf("%s", detail)
	}
	// Once nothing lives, the interval may have a plan of them again.
	e.verb(live.Id, "abort", "").want(http.StatusOK)
	if p := e.do("POST", plans, interval(1, "")).want(http.StatusCreated).plan(); p.Id == ended.Id ||
		p.Status != "approved" {
		t.Errorf("%+v", p)
	}
}

// TestAbsentKeys: entries of keys that are gone stay for a grace, and are then dropped by
// a plan that does something else or that the table limit demands, never by themselves.
func TestAbsentKeys(t *testing.T) {
	gone := func(n int, more string) string {
		return fmt.Sprintf(
			`{"interval":%d,%s"keys":[{"key":"k2","cost":4,"hash_instance":0},{"key":"k6","cost":4,"hash_instance":1}]}`, n,
			more)
	}
	const partial = `"coverage":"partial","residual":[{"instance":0,"cost":1,"state":1,"keys":2},{"instance":1,"cost":1}],`
	e := newEnv(t)
	post := func(body string) wire.Plan {
		t.Helper()
		return e.do("POST", "/v1/operators/clicks/plans", body).want(http.StatusCreated).plan()
	}
	leaves := func(p wire.Plan, idle, size int64) {
		t.Helper()
		if p.Status != "no_action" || p.IdleEntries != idle || p.RoutingTable.SizeAfter != size ||
			len(p.RoutingTable.Unset) > 0 || p.BaseVersion != 1 {
			t.Errorf("%s with %d idle entries, size %d, unset %v, on version %d", p.Status, p.IdleEntries,
				p.RoutingTable.SizeAfter, p.RoutingTable.Unset, p.BaseVersion)
		}
	}
	e.operator("clicks", strings.Replace(reported, "{", "{"+anySize+",", 1))
	p := post(interval(1, ""))
	e.verb(p.Id, "commit", stopped).want(http.StatusOK)
	leaves(post(gone(2, "")), 0, 4)
	leaves(post(gone(3, partial)), 0, 4) // they may be among those that it does not name
	leaves(post(gone(4, `"table_version":0,`)), 0, 4)
	leaves(post(gone(5, "")), 4, 4)
	leaves(post(`{"interval":6,"keys":[]}`), 4, 4)
	// A key that comes back begins anew.
	back := p.RoutingTable.Set[0]
	at := fmt.Sprintf(`{"interval":7,"keys":[{"key":%q,"cost":0,"hash_instance":%d}]}`, back.Key, 1-back.Instance)
	leaves(post(at), 3, 4)
	leaves(post(gone(8, "")), 3, 4)
	// What the limit demands is a plan that is handed over like any other.
	limited := strings.Replace(reported, "{", `{"table_limit":2,`+anySize+",", 1)
	e.do("PUT", "/v1/operators/clicks", limited).want(http.StatusOK)
	q := post(gone(9, ""))
	if q.Status != "approved" || len(q.RoutingTable.Unset) != 4 || q.RoutingTable.SizeAfter != 0 ||
		len(q.Migrations) > 0 || !slices.Equal(q.Awaits, []int32{0, 1}) {
		t.Errorf("%s unsets %v, awaits %v", q.Status, q.RoutingTable.Unset, q.Awaits)
	}
	e.verb(q.Id, "start", `{"executor":"e"}`).want(http.StatusOK)
	if f := e.do("GET", feed, "").feed(); len(f.Pending.Unset) != 4 {
		t.Errorf("%+v", f.Pending)
	}
	e.finish(q.Id)
}

// TestNoGrace: without a grace the next plan drops the entries of absent keys.
func TestNoGrace(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(reported, "{", `{"entry_grace":0,`, 1))
	p := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).plan()
	e.verb(p.Id, "commit", stopped).want(http.StatusOK)
	q := e.do("POST", "/v1/operators/clicks/plans",
		`{"interval":2,"keys":[{"key":"a","cost":3,"hash_instance":0},{"key":"b","cost":3,"hash_instance":0}]}`).
		want(http.StatusCreated).plan()
	if q.Status != "approved" || len(q.RoutingTable.Unset) != 4 || q.RoutingTable.SizeAfter != 1 {
		t.Errorf("%s unsets %v, size %d", q.Status, q.RoutingTable.Unset, q.RoutingTable.SizeAfter)
	}
}

// TestRescale: until a plan is committed the old instances and hash hold.
func TestRescale(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"hash":{"function":"modulo"}}`)
	var keys []string
	for i := range 60 {
		keys = append(keys, fmt.Sprintf(`{"key":"key-%d","cost":1}`, i))
	}
	stats := func(n int, more string) string {
		return fmt.Sprintf(`{"interval":%d,"keys":[%s]%s}`, n, strings.Join(keys, ","), more)
	}
	if a := e.do("PUT", "/v1/operators/clicks",
		`{"instances":[{"id":7},{"id":0}],"hash":{"function":"modulo"}}`); a.status != http.StatusOK {
		t.Fatalf("%s", a.body)
	}
	e.do("POST", "/v1/operators/clicks/plans", stats(1, `,"coverage":"partial"`)).
		fails(http.StatusConflict, "complete_coverage_required", "")
	p := e.do("POST", "/v1/operators/clicks/plans", stats(1, "")).want(http.StatusCreated).plan()
	if p.Status != "approved" || p.ConfigVersion != 2 {
		t.Fatalf("%+v", p)
	}
	moved := map[string]int32{}
	for _, m := range p.Migrations {
		moved[m.Key] = m.To
		if m.To != 7 && m.To != 0 {
			t.Errorf("%s goes to %d", m.Key, m.To)
		}
	}
	at := func(key string) int32 {
		var route struct{ Instance int32 }
		e.do("GET", "/v1/operators/clicks/route?key="+key, "").want(http.StatusOK).into(&route)
		return route.Instance
	}
	before := map[string]int32{}
	for i := range keys {
		key := fmt.Sprintf("key-%d", i)
		if before[key] = at(key); before[key] != 0 && before[key] != 1 {
			t.Fatalf("%s is on %d before the commit", key, before[key])
		}
	}
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	for key, old := range before {
		want := old
		if to, ok := moved[key]; ok {
			want = to
		}
		if got := at(key); got != want {
			t.Errorf("%s is on %d after the commit, want %d", key, got, want)
		}
	}
	var op struct{ ConfigVersion, TableConfigVersion int64 }
	e.do("GET", "/v1/operators/clicks", "").into(&op)
	if op.ConfigVersion != 2 || op.TableConfigVersion != 2 {
		t.Errorf("%+v", op)
	}
}

func TestTrigger(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(reported, "{", `{"trigger":{"theta":0.7},`, 1))
	// 16 of 20 on one instance: θ = 0.6.
	p := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).plan()
	if p.Status != "no_action" || !slices.Equal(p.Causes, []string{"balanced"}) || p.Theta.Before < 0.59 ||
		p.Theta.After != p.Theta.Before || p.Balanced == nil || *p.Balanced {
		t.Errorf("%+v", p)
	}
	e.do("PUT", "/v1/operators/clicks", strings.Replace(reported, "{", `{"trigger":{"theta":0.5,"cooldown_intervals":3},`,
		1)).want(http.StatusOK)
	p = e.do("POST", "/v1/operators/clicks/plans", interval(2, "")).want(http.StatusCreated).plan()
	if p.Status != "approved" {
		t.Fatalf("%+v", p)
	}
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	p = e.do("POST", "/v1/operators/clicks/plans", interval(5, "")).want(http.StatusCreated).plan()
	if p.Status != "no_action" || !slices.Equal(p.Causes, []string{"cooldown"}) {
		t.Errorf("%+v", p)
	}
	p = e.do("POST", "/v1/operators/clicks/plans", interval(6, "")).want(http.StatusCreated).plan()
	if p.Status != "approved" {
		t.Errorf("%+v", p)
	}
}

// TestPolicy: an operator has a policy, or a trigger, which is short for one.
func TestPolicy(t *testing.T) {
	e := newEnv(t)
	policy := func(a *answer) string {
		t.Helper()
		var op struct {
			Policy  jsontext.Value `json:"policy"`
			Trigger jsontext.Value `json:"trigger"`
		}
		if a.into(&op); op.Trigger != nil {
			t.Errorf("a trigger is answered: %s", op.Trigger)
		}
		return string(op.Policy)
	}
	path := "/v1/operators/clicks"
	const last, rest = `{"forecast":{"method":"last"},"target_theta":null,`, `"budget":null,"minimum_benefit":0}`
	for _, c := range []struct{ method, body, want string }{
		{"PUT", `{"instances":2}`, `"auto"`},
		{"PATCH", `{"trigger":{"theta":0.5,"cooldown_intervals":3}}`,
			last + `"trigger":{"theta":0.5,"probability":null},"cooldown_intervals":3,` + rest},
		{"PATCH", `{"policy":{"trigger":{"probability":0.2}}}`,
			last + `"trigger":{"theta":0.5,"probability":0.2},"cooldown_intervals":3,` + rest},
		{"PATCH", `{"theta_max":0.3}`, last + `"trigger":{"theta":0.5,"probability":0.2},"cooldown_intervals":3,` + rest},
		{"PATCH", `{"policy":"auto"}`, `"auto"`},
		{"PATCH", `{"policy":{"forecast":{"method":"level"},"budget":0.25}}`, `{"forecast":{"method":"level"},"target_theta":null,` +
			`"trigger":{"theta":null,"probability":null},"cooldown_intervals":0,"budget":0.25,"minimum_benefit":0}`},
		{"PATCH", `{"policy":null}`, `"auto"`},
		{"PUT", `{"instances":2,"trigger":{}}`,
			last + `"trigger":{"theta":null,"probability":null},"cooldown_intervals":0,` + rest},
	} {
		kind := "Content-Type: application/merge-patch+json"
		if c.method == "PUT" {
			kind = "Content-Type: application/json"
		}
		if got := policy(e.do(c.method, path, c.body, kind)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.body, got, c.want)
		}
	}
	for body, at := range map[string]string{
		`{"instances":2,"trigger":{},"policy":"auto"}`:                                                 "/trigger",
		`{"instances":2,"policy":"none"}`:                                                              "/policy",
		`{"instances":2,"policy":{"forecast":{"method":"last","alpha":0.5}}}`:                          "/policy/forecast/alpha",
		`{"instances":2,"scheme":"ring","policy":"auto"}`:                                              "/policy",
		`{"instances":2,"scheme":"ranges","policy":{"forecast":{"method":"last"},"target_theta":0.1}}`: "/policy",
	} {
		got := e.do("PUT", path, body).want(http.StatusUnprocessableEntity).problem()
		if len(got.Errors) == 0 || !strings.HasPrefix(got.Errors[0].Pointer, at) {
			t.Errorf("%s: %+v, want one at %s", body, got, at)
		}
	}
}

// TestPlanForecast: a plan tells its policy, and what it expects.
func TestPlanForecast(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(reported, "{",
		`{"policy":{"forecast":{"method":"ewma","alpha":0.5},"trigger":{"probability":1}},`, 1))
	var p wire.Plan
	for i := range 6 {
		p = e.do("POST", "/v1/operators/clicks/plans", interval(1+i, "")).want(http.StatusCreated).plan()
		if p.Status == "approved" {
			e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
		}
		if p.Forecast == nil || (p.Forecast.With == nil) != (i < 3) || (p.Forecast.NoiseFloor == nil) != (i < 3) {
			t.Fatalf("interval %d: %+v", i, p.Forecast)
		}
	}
	f := p.Forecast
	if f.Policy.Forecast.Method != "ewma" || f.Chosen != nil || f.RealisedTheta < 0.59 ||
		f.Without.P95 < f.Without.Median {
		t.Errorf("%+v, without a plan %+v", f, f.Without)
	}
	var list struct{ Plans []wire.PlanSummary }
	e.do("GET", "/v1/operators/clicks/plans", "").want(http.StatusOK).into(&list)
	if len(list.Plans) != 6 || list.Plans[0].Forecast == nil || list.Plans[0].Forecast.RealisedTheta != f.RealisedTheta {
		t.Errorf("%+v", list.Plans[0].Forecast)
	}
	e.operator("dear", strings.Replace(reported, "{", `{"policy":{"forecast":{"method":"last"},"minimum_benefit":1e6},`, 1))
	for i := range 4 {
		p = e.do("POST", "/v1/operators/dear/plans", interval(1+i, "")).want(http.StatusCreated).plan()
	}
	if p.Status != "no_action" || !slices.Equal(p.Causes, []string{"little_gain"}) || p.Migration.Keys != 0 {
		t.Errorf("%s, %v", p.Status, p.Causes)
	}
}

func TestOperators(t *testing.T) {
	e := newEnv(t)
	a := e.do("PUT", "/v1/operators/a.b-c_D", `{"instances":[{"id":3,"tokens":7},{"id":1,"capacity":2.5}]}`).
		want(http.StatusCreated)
	if a.header.Get("Location") != "/v1/operators/a.b-c_D" || a.header.Get("ETag") == "" {
		t.Errorf("%v", a.header)
	}
	want := `{"name":"a.b-c_D","scheme":"table","instances":[{"id":1,"capacity":2.5},{"id":3,"capacity":1,"tokens":7}],"strategy":"optimal","theta_max":0.08,"table_limit":null,` +
		`"beta":1.5,"key_overhead":0,"certificate":"fast","effort":"fast","objective":"min_migration","work_budget":0,"migration_limit":null,"deadline":null,"compact":{"degree":0,"cost_scale":null,"state_scale":null},"splitting":{"max_parts":1,"merge_cost":0},"hash":{"function":"ring","tokens_per_instance":128},` +
		`"policy":"auto","require_approval":false,"approval":{"auto":"within_limits","max_migration":null,"min_statistics":{"keys":1,"cost_share":0.2},"small_intervals":3,"on_pending":"keep","ttl":"10m0s"},"table_owner":"planner","reports":{"missing":"fail","max_age":3},"retention":{"inputs":20,"plans":10000,"versions":1000},"entry_grace":2,"store_inputs":true,` +
		`"config_version":1,"table_version":0,"table_config_version":1,"table_size":0,"last_epoch":null,"last_interval":null,"current_plan":null,"current_plan_status":null,`
	if !strings.HasPrefix(string(a.body), want) {
		t.Errorf("%s", a.body)
	}
	same := e.do("PUT", "/v1/operators/a.b-c_D",
		`{"theta_max":0.08,"instances":[{"id":1,"capacity":2.5},{"tokens":7,"id":3}],"hash":{}}`).want(http.StatusOK)
	if string(same.body) != string(a.body) || same.header.Get("ETag") != a.header.Get("ETag") {
		t.Errorf("the same configuration again: %s", same.body)
	}
	changed := e.do("PUT", "/v1/operators/a.b-c_D", `{"instances":2,"table_limit":9}`).want(http.StatusOK)
	if !strings.Contains(string(changed.body), `"config_version":2`) ||
		!strings.Contains(string(changed.body), `"table_config_version":1`) {
		t.Errorf("%s", changed.body)
	}
	got := e.do("GET", "/v1/operators/a.b-c_D", "").want(http.StatusOK)
	e.do("GET", "/v1/operators/a.b-c_D", "", "If-None-Match: \"other\", "+got.header.Get("ETag")).
		want(http.StatusNotModified)
	head := e.do("HEAD", "/v1/operators/a.b-c_D", "").want(http.StatusOK)
	if head.header.Get("ETag") != got.header.Get("ETag") {
		t.Errorf("HEAD: %v", head.header)
	}
	e.operator("b", `{"instances":1}`)
	e.operator("c", `{"instances":1}`)
	var page struct {
		Operators     []struct{ Name string }
		NextPageToken *string
	}
	e.do("GET", "/v1/operators?page_size=2", "").want(http.StatusOK).into(&page)
	if len(page.Operators) != 2 || page.NextPageToken == nil {
		t.Fatalf("%+v", page)
	}
	e.do("GET", "/v1/operators?page_size=2&page_token="+*page.NextPageToken, "").want(http.StatusOK).into(&page)
	if len(page.Operators) != 1 || page.Operators[0].Name != "c" || page.NextPageToken != nil {
		t.Errorf("%+v", page)
	}
	e.do("GET", "/v1/operators?page_size=1000000000000", "").want(http.StatusOK)
	e.do("GET", "/v1/operators?page_size=99999999999999999999999", "").want(http.StatusOK)
	p := e.do("POST", "/v1/operators/b/plans", `{"interval":1,"keys":[]}`).want(http.StatusCreated).plan()
	e.do("DELETE", "/v1/operators/b", "").want(http.StatusNoContent)
	e.do("DELETE", "/v1/operators/b", "").fails(http.StatusNotFound, "operator_not_found", "")
	if a := e.do("GET", "/v1/plans/"+p.Id, ""); a.status != http.StatusNotFound && a.status != http.StatusGone {
		t.Errorf("a plan of a deleted operator: %d", a.status)
	}
}

// manyMoves makes a plan with hundreds of migrations.
func (e *env) manyMoves(n int) plan {
	e.Helper()
	e.operator("clicks", reported)
	var b strings.Builder
	b.WriteString("key,cost,state,hash_instance\n")
	for i := range n {
		fmt.Fprintf(&b, "\"k,%04d\",%d,%d,0\n", i, 1+i%7, 1+i%11)
	}
	return e.do("POST", "/v1/operators/clicks/plans?interval=1", b.String(), "Content-Type: text/csv").
		want(http.StatusCreated).plan()
}

func TestLongLists(t *testing.T) {
	e := newEnv(t)
	p := e.manyMoves(600)
	if len(p.Migrations) < 100 {
		t.Fatalf("only %d migrations", len(p.Migrations))
	}
	base := "/v1/plans/" + p.Id + "/migrations"
	pages := func(target string) (all []migration) {
		var page struct {
			Migrations    []migration
			NextPageToken *string
		}
		for token := ""; ; token = "&page_token=" + *page.NextPageToken {
			page.NextPageToken = nil
			e.do("GET", target+token, "").want(http.StatusOK).into(&page)
			all = append(all, page.Migrations...)
			page.Migrations = nil
			if page.NextPageToken == nil {
				return all
			}
		}
	}
	byKey := pages(base + "?page_size=7")
	if len(byKey) != len(p.Migrations) || !slices.IsSortedFunc(byKey,
		func(a, b migration) int { return strings.Compare(a.Key, b.Key) }) {
		t.Errorf("%d migrations in pages, want %d by key", len(byKey), len(p.Migrations))
	}
	byCost := pages(base + "?sort=cost&page_size=1000")
	if !slices.IsSortedFunc(byCost, func(a, b migration) int { return int(b.Cost - a.Cost) }) {
		t.Error("not by descending cost")
	}
	byState := pages(base + "?sort=state")
	if !slices.IsSortedFunc(byState, func(a, b migration) int { return int(b.State - a.State) }) {
		t.Error("not by descending state")
	}
	for _, m := range pages(base + "?key_prefix=k%2C01&instance=1&reason=" + string(p.Migrations[0].Reason)) {
		if !strings.HasPrefix(m.Key, "k,01") || m.Reason != p.Migrations[0].Reason {
			t.Errorf("%+v", m)
		}
	}
	if got := pages(base + "?instance=5"); len(got) != 0 {
		t.Errorf("migrations of an instance that does not exist: %v", got)
	}
	prefix := base64.StdEncoding.EncodeToString([]byte("k,01"))
	if got := pages(base + "?key_encoding=base64&key_prefix=" + url.QueryEscape(prefix)); len(got) == 0 ||
		got[0].Key[:4] != prefix[:4] {
		t.Errorf("%v", got)
	}
	ndjson := e.do("GET", base, "", "Accept: application/x-ndjson").want(http.StatusOK)
	if n := strings.Count(string(ndjson.body), "\n"); n != len(p.Migrations) {
		t.Errorf("%d lines, want %d", n, len(p.Migrations))
	}
	csv := e.do("GET", base+"?sort=cost", "", "Accept: text/csv").want(http.StatusOK)
	first := strings.Split(string(csv.body), "\n")
	if first[0] != "key,from,to,cost,state,reason" ||
		!strings.HasPrefix(first[1], `"`+byCost[0].Key+`",0,1,`+strconv.Itoa(int(byCost[0].Cost))) {
		t.Errorf("%q", first[:2])
	}
	e.do("GET", base+"?page_size=3", "", "Accept: text/csv").fails(http.StatusUnprocessableEntity, "invalid", "?page_size")

	changes := "/v1/plans/" + p.Id + "/routing-table"
	var page struct {
		Changes []struct {
			Key                string
			Instance, Previous *int32
		}
		NextPageToken *string
	}
	e.do("GET", changes+"?page_size=5", "").want(http.StatusOK).into(&page)
	if len(page.Changes) != 5 || page.NextPageToken == nil || page.Changes[0].Previous != nil ||
		*page.Changes[0].Instance != 1 {
		t.Errorf("%+v", page)
	}
	csv = e.do("GET", changes+"?instance=1", "", "Accept: text/csv").want(http.StatusOK)
	if lines := strings.Split(strings.TrimSpace(string(csv.body)), "\n"); len(lines) < 2 ||
		lines[0] != "key,instance,previous,parts,previous_parts" ||
		len(lines) != len(p.RoutingTable.Set)+1 || !strings.HasSuffix(lines[1], ",1,,,") {
		t.Errorf("%q", lines[:2])
	}
	e.do("GET", changes+"?key_encoding=base64", "", "Accept: application/x-ndjson").want(http.StatusOK)
	// A token belongs to its list and parameters.
	for _, target := range []string{base + "?", changes + "?sort=key&", changes + "?instance=1&"} {
		a := e.do("GET", target+"page_token="+*page.NextPageToken, "")
		if strings.Contains(target, "sort=key") {
			a.fails(http.StatusUnprocessableEntity, "invalid", "?sort")
			continue
		}
		a.fails(http.StatusBadRequest, "invalid_page_token", "?page_token")
	}
}

// TestBinaryKeysStored: binary keys survive the whole way.
func TestBinaryKeysStored(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	p := e.do("POST", "/v1/operators/clicks/plans",
		`{"interval":1,"key_encoding":"base64","keys":[{"key":"//8=","cost":3,"hash_instance":0},{"key":"/wA=","cost":3,"hash_instance":0}]}`).
		want(http.StatusCreated).plan()
	if p.KeyEncoding == nil || *p.KeyEncoding != wire.AnswerKeyEncodingBase64 || len(p.RoutingTable.Set) != 1 {
		t.Fatalf("%+v", p)
	}
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	key := p.RoutingTable.Set[0].Key
	a := e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK)
	if !strings.Contains(string(a.body), `"key_encoding":"base64","entries":[{"key":"`+key+`"`) {
		t.Errorf("%s", a.body)
	}
	a = e.do("GET", "/v1/operators/clicks/routing-table", "", "Accept: text/csv").want(http.StatusOK)
	if a.header.Get("Plannerd-Key-Encoding") != "base64" || !strings.Contains(string(a.body), key) {
		t.Errorf("%s", a.body)
	}
	e.do("GET", "/v1/operators/clicks/route?key_encoding=base64&key="+url.QueryEscape(key), "").want(http.StatusOK)
}

// TestRetention: what is no longer kept answers 410.
func TestRetention(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(reported, "{", `{"retention":{"versions":1},`, 1))
	for i := 1; i <= 2; i++ {
		p := e.do("POST", "/v1/operators/clicks/plans",
			strings.Replace(interval(i, ""), `"cost":4`, fmt.Sprintf(`"cost":%d`, i*8), 1)).want(http.StatusCreated).plan()
		e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	}
	e.do("GET", "/v1/operators/clicks/routing-table?version=0", "").fails(http.StatusGone, "purged", "")
}

// TestStartOfAnOlderPlan: a plan that was approved under a schema that did not say whom plans await
// awaits those between which its keys move, and is not committed before they have acknowledged it.
func TestStartOfAnOlderPlan(t *testing.T) {
	for version := int64(1); version <= 4; version++ {
		e := newEnv(t)
		e.operator("clicks", reported)
		p := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).plan()
		want := p.Awaits
		if len(want) == 0 || len(p.Migrations) == 0 {
			t.Fatalf("it awaits %v, and moves %d keys", want, len(p.Migrations))
		}
		for at := int64(-1); at != version; {
			var err error
			if at, err = e.store.Migrator().Down(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.store.Migrator().Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := e.do("GET", "/v1/plans/"+p.Id, "").want(http.StatusOK).plan()
		if got.Status != "approved" || len(got.Awaits) > 0 {
			t.Fatalf("schema %d: the plan is %s and awaits %v", version, got.Status, got.Awaits)
		}
		got = e.do("POST", "/v1/plans/"+p.Id+"/start", `{"executor":"e"}`).want(http.StatusOK).plan()
		if !slices.Equal(got.Awaits, want) {
			t.Errorf("schema %d: it awaits %v, want %v", version, got.Awaits, want)
		}
		e.do("POST", "/v1/plans/"+p.Id+"/commit", "").want(http.StatusConflict)
		for i, instance := range want {
			got = e.do("POST", "/v1/plans/"+p.Id+"/acks", fmt.Sprintf(`{"instances":[%d]}`, instance)).want(http.StatusOK).plan()
			if committed := got.Status == "committed"; committed != (i == len(want)-1) {
				t.Errorf("schema %d: after %d of %d acks it is %s", version, i+1, len(want), got.Status)
			}
		}
	}
}

// TestNextPlan: an engine is told of the plan that it is to carry out, as soon as somebody approves one.
func TestNextPlan(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	next := "/v1/operators/clicks/next-plan"
	type answered struct {
		Plan *wire.Plan `json:"plan"`
	}
	read := func(query string) (out answered) {
		t.Helper()
		e.do("GET", next+query, "").want(http.StatusOK).into(&out)
		return out
	}
	none := e.do("GET", next, "").want(http.StatusOK)
	e.do("GET", next, "", "If-None-Match: "+none.header.Get("ETag")).want(http.StatusNotModified)
	p := e.planned(1)
	if got := read("?wait=1ms"); got.Plan != nil {
		t.Errorf("a proposed plan is to be carried out: %+v", got.Plan)
	}
	waits := make(chan *answer, 1)
	go func() { waits <- e.do("GET", next+"?wait=60s", "") }()
	e.verb(p.ID, "approve", "").want(http.StatusOK)
	var got answered
	if (<-waits).want(http.StatusOK).into(&got); got.Plan == nil || got.Plan.Id != p.ID || got.Plan.Status != "approved" {
		t.Errorf("%+v", got.Plan)
	}
	e.planned(2) // a proposal hides it no longer
	if got := read(""); got.Plan == nil || got.Plan.Id != p.ID {
		t.Errorf("beside a proposal: %+v", got.Plan)
	}
	e.verb(p.ID, "start", `{"executor":"e"}`).want(http.StatusOK)
	if got := read("?wait=60s"); got.Plan == nil || got.Plan.Id != p.ID || got.Plan.Status != "applying" {
		t.Errorf("a successor of the executor: %+v", got.Plan)
	}
	e.finish(p.ID)
	if got := read(""); got.Plan != nil {
		t.Errorf("what is committed: %+v", got.Plan)
	}
	e.do("GET", next+"?wait=2h", "").fails(http.StatusUnprocessableEntity, "invalid", "?wait")
	e.do("GET", next, "", "Accept: text/csv").want(http.StatusNotAcceptable)
	e.do("GET", "/v1/operators/none/next-plan", "").fails(http.StatusNotFound, "operator_not_found", "")
}

// TestNextPlanInTheFeed: who follows the table, and says so, learns there of the plan that waits to be started.
func TestNextPlanInTheFeed(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	table := "/v1/operators/clicks/routing-table"
	ask := table + "?since=0&wait=60s&next_plan=true"
	tells := func(a *answer, want any) {
		t.Helper()
		var told map[string]any
		a.want(http.StatusOK).into(&told)
		if next, there := told["next_plan"]; !there || next != want {
			t.Errorf("%s, want the next plan %v", a.body, want)
		}
	}
	first := e.do("GET", table+"?since=0&next_plan=true", "")
	tells(first, nil)
	had := func(a *answer) string { return "If-None-Match: " + a.header.Get("ETag") }
	p := e.planned(1)
	e.do("GET", table+"?since=0&wait=1ms&next_plan=true", "", had(first)).want(http.StatusNotModified)
	waits := make(chan *answer, 1)
	go func() { waits <- e.do("GET", ask, "", had(first)) }()
	e.verb(p.ID, "approve", "").want(http.StatusOK)
	told := <-waits
	tells(told, p.ID)
	tells(e.do("GET", ask, ""), p.ID)
	e.do("GET", table+"?since=0&wait=1ms&next_plan=true", "", had(told)).want(http.StatusNotModified)
	e.do("GET", table+"?since=0&wait=1ms", "").want(http.StatusNotModified) // others are not woken
	if a := e.do("GET", table, "").want(http.StatusOK); strings.Contains(string(a.body), "next_plan") {
		t.Errorf("%s, which nobody asked for", a.body)
	}
	e.verb(p.ID, "start", `{"executor":"e"}`).want(http.StatusOK)
	tells(e.do("GET", ask, "", had(told)), nil)
	e.do("GET", table+"?version=0&next_plan=true", "").fails(http.StatusUnprocessableEntity, "invalid", "?version")
	e.do("GET", table+"?next_plan=true", "", "Accept: text/csv").want(http.StatusNotAcceptable)
}
