package api_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plannerd/api"
	"plannerd/internal/input"
	"plannerd/planner"
	"plannerd/store"
)

func reportTarget(interval int64, instance int) string {
	return fmt.Sprintf("/v1/operators/clicks/intervals/%d/reports/%d", interval, instance)
}

// report sends the report of an instance of the operator clicks.
func (e *env) report(interval int64, instance int, body string, headers ...string) *answer {
	e.Helper()
	return e.do("PUT", reportTarget(interval, instance), body, headers...)
}

// planOfReports asks for the plan of an interval's reports.
func (e *env) planOfReports(interval int64, more string) *answer {
	e.Helper()
	return e.do("POST", "/v1/operators/clicks/plans", fmt.Sprintf(`{"interval":%d%s}`, interval, more))
}

// ofReports is what a plan says of its reports.
type ofReports struct {
	Received []int32
	Carried  []struct {
		Instance int32
		Interval int64
	}
	Frozen []int32
}

func (a *answer) reports() *ofReports {
	a.Helper()
	var p struct{ Reports *ofReports }
	a.into(&p)
	return p.Reports
}

type standing struct {
	Interval, Rows, TableVersion int64
	Received, Missing            []int32
}

func (a *answer) standing() standing {
	a.Helper()
	var s standing
	a.into(&s)
	return s
}

func TestReports(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	// Fig. 4, each key where it is.
	byInstance := map[int][]row{}
	for _, r := range figure4 {
		byInstance[r.instance] = append(byInstance[r.instance], r)
	}
	for i, d := range []int32{1, 0} {
		a := e.report(1, int(d), `{"interval":1,"keys":[`+jsonRows(byInstance[int(d)])+`]}`).
			want(http.StatusCreated).standing()
		want := [][2][]int32{{{1}, {0}}, {{0, 1}, {}}}[i]
		if a.Interval != 1 || a.Rows != int64(len(byInstance[int(d)])) || !slices.Equal(a.Received, want[0]) ||
			!slices.Equal(a.Missing, want[1]) {
			t.Errorf("%+v, want received %v and missing %v", a, want[0], want[1])
		}
	}
	e.report(1, 0, `{"keys":[`+jsonRows(byInstance[0])+`]}`).want(http.StatusOK)

	created := e.planOfReports(1, "").want(http.StatusCreated)
	p := created.plan()
	if r := created.reports(); r == nil || !slices.Equal(r.Received, []int32{0, 1}) || len(r.Carried)+len(r.Frozen) > 0 {
		t.Errorf("made of %+v", r)
	}
	whole := newEnv(t)
	whole.operator("clicks", reported)
	posted := whole.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated)
	if q := posted.plan(); q.InputHash != p.InputHash || !slices.Equal(q.Migrations, p.Migrations) ||
		q.DriftedKeys != p.DriftedKeys || posted.reports() != nil {
		t.Errorf("of reports: %s\nwhole: %s", created.body, posted.body)
	}
	for _, more := range []string{"", `,"missing":"freeze"`, `,"epoch":0`} {
		if again := e.planOfReports(1, more).want(http.StatusOK); again.plan().Id != p.Id || again.reports() == nil {
			t.Errorf("%s: %s", more, again.body)
		}
	}
	if got := e.do("GET", "/v1/plans/"+p.Id, "").want(http.StatusOK); got.reports() == nil ||
		got.header.Get("ETag") != created.header.Get("ETag") {
		t.Errorf("%s", got.body)
	}
	if list := e.do("GET", "/v1/operators/clicks/plans", "").
		want(http.StatusOK); strings.Contains(string(list.body), `"reports"`) {
		t.Errorf("%s", list.body)
	}

	e.report(1, 0, `{"keys":[]}`).fails(http.StatusConflict, "report_closed", "")
	e.report(0, 0, `{"keys":[]}`).fails(http.StatusConflict, "report_closed", "")
	e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).fails(http.StatusConflict, "interval_planned", "")
	e.do("POST", "/v1/plans/"+p.Id+"/abort", "").want(http.StatusOK)
	e.report(1, 0, `{"keys":[]}`).want(http.StatusOK)
	second := e.planOfReports(1, "").want(http.StatusCreated).plan()
	if second.Id == p.Id || second.InputHash == p.InputHash {
		t.Error("the plan is of the reports that were aborted")
	}
	e.do("POST", "/v1/plans/"+second.Id+"/commit", stopped).want(http.StatusOK)
	// The plan of its reports is found after a commit and after later intervals.
	e.do("POST", "/v1/operators/clicks/plans", interval(2, "")).want(http.StatusCreated)
	if again := e.planOfReports(1, "").want(http.StatusOK).plan(); again.Id != second.Id {
		t.Errorf("plan %s, want %s", again.Id, second.Id)
	}
	e.planOfReports(2, "").fails(http.StatusConflict, "interval_planned", "")
	if got := e.do("POST", "/v1/operators/clicks/plans?interval=1", ""); got.want(http.StatusOK).plan().Id != second.Id {
		t.Errorf("without a body: %s", got.body)
	}
}

// TestReportFormats: the same keys in all formats make the same plan.
func TestReportFormats(t *testing.T) {
	hash, arrow := "", &planner.Statistics{Keys: planner.KeysOf("b", "a"), Cost: []float64{3, 1}, State: []float64{4, 2},
		Instance: []int32{0, 0}}
	const lines = "key,cost,state\nYQ==,1,2\nYg==,3,4\n"
	for name, c := range map[string]struct {
		body    string
		headers []string
		query   string
	}{
		"rows": {`{"keys":[{"key":"a","cost":1,"state":2,"instance":0},{"key":"b","frequency":3,"state":4}]}`, nil,
			""},
		"columns":      {`{"columns":{"key":["b","a"],"cost":[3,1],"state":[4,2],"instance":[null,0]}}`, nil, ""},
		"columns base": {`{"key_encoding":"base64","columns":{"key":["Yg==","YQ=="],"cost":[3,1],"state":[4,2]}}`, nil, ""},
		"ndjson": {"{\"key\":\"a\",\"cost\":1,\"state\":2}\n{\"key\":\"b\",\"cost\":3,\"state\":4}\n",
			[]string{ndjson}, ""},
		"csv":      {"key,cost,state,instance\na,1,2,0\nb,3,4,\n", []string{csv}, ""},
		"arrow":    {arrowOf(t, -1, arrow), []string{arrowStream}, "?table_version=0"},
		"csv base": {lines, []string{csv}, "?key_encoding=base64&table_version=0&epoch=0&coverage=complete"},
		"csv gzip": {string(compressed(t, "gzip", lines)), []string{csv, "Content-Encoding: gzip"},
			"?key_encoding=base64"},
		"csv zstd": {string(compressed(t, "zstd", lines)),
			[]string{csv, "Content-Encoding: zstd", "Plannerd-Row-Count: 2"}, "?key_encoding=base64"},
		"partial, none": {`{"coverage":"complete","keys":[{"key":"b","cost":3,"state":4},{"key":"a","cost":1,"state":2}]}`,
			nil, ""},
	} {
		e := newEnv(t)
		e.operator("clicks", `{"instances":1}`)
		if a := e.do("PUT", reportTarget(7, 0)+c.query, c.body, c.headers...).want(http.StatusCreated).
			standing(); a.Rows != 2 {
			t.Errorf("%s: %+v", name, a)
		}
		p := e.planOfReports(7, "").want(http.StatusCreated).plan()
		if hash = cmp.Or(hash, p.InputHash); p.InputHash != hash {
			t.Errorf("%s: input %s, want %s", name, p.InputHash, hash)
		}
	}
}

// TestPartialReports: the statistics are partial, each instance with its residual.
func TestPartialReports(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"hash":{"function":"modulo"}}`)
	e.do("PUT", reportTarget(1, 0)+"?coverage=partial&residual=0:9:1:5", "key,cost\nk1,1\n", csv).want(http.StatusCreated)
	e.report(1, 1, `{"coverage":"partial","residual":[{"instance":1,"cost":4,"keys":2}],"keys":[{"key":"k0","cost":2}]}`).
		want(http.StatusCreated)
	p := e.planOfReports(1, "").want(http.StatusCreated).plan()
	whole := newEnv(t)
	whole.operator("clicks", `{"instances":2,"hash":{"function":"modulo"}}`)
	q := whole.do("POST", "/v1/operators/clicks/plans",
		`{"interval":1,"coverage":"partial","residual":[{"instance":1,"cost":4,"keys":2},{"instance":0,"cost":9,"state":1,"keys":5}],
		"keys":[{"key":"k1","cost":1,"instance":0},{"key":"k0","cost":2,"instance":1}]}`).want(http.StatusCreated).plan()
	if p.InputHash != q.InputHash || p.Theta != q.Theta {
		t.Errorf("%+v, want %+v", p, q)
	}
}

// TestMissingReports: nobody who is missing is taken for idle.
func TestMissingReports(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":3,"theta_max":0.2,"reports":{"max_age":2}}`)
	missing := func(a *answer, want ...int32) {
		t.Helper()
		a.fails(http.StatusConflict, "reports_missing", "")
		var p struct{ Missing []int32 }
		if a.into(&p); !slices.Equal(p.Missing, want) {
			t.Errorf("%s: want %v", a.body, want)
		}
	}
	rows := func(keys ...string) string {
		var out []string
		for _, k := range keys {
			out = append(out, fmt.Sprintf(`{"key":%q,"cost":%d}`, k, len(k)))
		}
		return `{"keys":[` + strings.Join(out, ",") + `]}`
	}
	missing(e.planOfReports(1, ""), 0, 1, 2)
	missing(e.planOfReports(1, `,"missing":"freeze"`), 0, 1, 2)
	e.report(1, 2, rows("aaaa", "bbbb")).want(http.StatusCreated)
	e.report(2, 0, rows("cc", "dd")).want(http.StatusCreated)
	missing(e.planOfReports(2, ""), 1, 2)
	missing(e.planOfReports(2, `,"missing":"carry"`), 1)
	e.report(2, 1, rows("ee", "ff", "bbbb")).want(http.StatusCreated)
	missing(e.do("POST", "/v1/operators/clicks/plans?interval=2", ""), 2)

	var list struct {
		Received, Last []struct {
			Instance       int32
			Interval, Rows int64
			At             time.Time
		}
		Missing []int32
	}
	e.do("GET", "/v1/operators/clicks/intervals/2/reports?epoch=0", "").want(http.StatusOK).into(&list)
	if len(list.Received) != 2 || list.Received[1].Rows != 3 || list.Received[1].At.IsZero() ||
		!slices.Equal(list.Missing, []int32{2}) ||
		len(list.Last) != 1 || list.Last[0].Instance != 2 || list.Last[0].Interval != 1 {
		t.Errorf("%+v", list)
	}

	carried := e.do("POST", "/v1/operators/clicks/plans?interval=2&missing=carry", "").want(http.StatusCreated)
	r, p := carried.reports(), carried.plan()
	if r == nil || !slices.Equal(r.Received, []int32{0, 1}) || len(r.Carried) != 1 || r.Carried[0].Instance != 2 ||
		r.Carried[0].Interval != 1 || len(r.Frozen) > 0 {
		t.Errorf("%+v", r)
	}
	if !slices.Contains(p.Causes, "carried") || slices.Contains(p.Causes, "frozen") {
		t.Errorf("causes %v", p.Causes)
	}
	// bbbb stays where the hash puts it, on instance 2.
	if got := e.loads(p.Id); got[1].KeysBefore != 2 || got[2].KeysBefore != 2 || got[2].LoadBefore != 12 {
		t.Errorf("%+v", got)
	}
	e.do("POST", "/v1/plans/"+p.Id+"/abort", "").want(http.StatusOK)

	frozen := e.planOfReports(2, `,"missing":"freeze"`).want(http.StatusCreated)
	r, p = frozen.reports(), frozen.plan()
	if r == nil || !slices.Equal(r.Frozen, []int32{2}) || len(r.Carried) > 0 || !slices.Contains(p.Causes, "frozen") {
		t.Errorf("%+v, causes %v", r, p.Causes)
	}
	for _, m := range p.Migrations {
		if m.To == 2 || m.From == 2 {
			t.Errorf("%+v is about the frozen instance", m)
		}
	}
	e.do("POST", "/v1/plans/"+p.Id+"/abort", "").want(http.StatusOK)

	// At interval 4 the report of interval 1 is too old.
	e.report(4, 0, rows("cc")).want(http.StatusCreated)
	e.report(4, 1, rows("ee")).want(http.StatusCreated)
	missing(e.planOfReports(4, `,"missing":"carry"`), 2)
	// The operator may say what to do.
	e.do("PUT", "/v1/operators/clicks", `{"instances":3,"reports":{"missing":"carry"}}`).want(http.StatusOK)
	e.planOfReports(4, "").want(http.StatusCreated)
}

// carriedLoad is what a plan says of an instance.
type carriedLoad struct {
	ID                    int32
	LoadBefore, LoadAfter float64
	KeysBefore, KeysAfter int64
}

func (e *env) loads(id string) []carriedLoad {
	e.Helper()
	var p struct{ Instances []carriedLoad }
	e.do("GET", "/v1/plans/"+id, "").want(http.StatusOK).into(&p)
	return p.Instances
}

// TestKeyInTwoReports: it is one key, and drifted. All of its state goes where it goes,
// though nothing else is to be done.
func TestKeyInTwoReports(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":3,"theta_max":"500%","hash":{"function":"reported"},"trigger":{"cooldown_intervals":9}}`)
	row := func(key string, cost, state, home int) string {
		return fmt.Sprintf(`{"keys":[{"key":%q,"cost":%d,"state":%d,"hash_instance":%d}]}`, key, cost, state, home)
	}
	migrations := func(p plan) string {
		return string(e.do("GET", "/v1/plans/"+p.Id+"/migrations", "", "Accept: text/csv").want(http.StatusOK).body)
	}
	const head = "key,from,to,cost,state,reason\n"
	// By the hash it is on 1, whatever state is elsewhere.
	e.report(1, 0, row("a", 1, 100, 1)).want(http.StatusCreated)
	e.report(1, 1, row("a", 2, 1, 1)).want(http.StatusCreated)
	e.report(1, 2, row("a", 1, 10, 1)).want(http.StatusCreated)
	p := e.planOfReports(1, "").want(http.StatusCreated).plan()
	if got := e.loads(p.Id); p.DriftedKeys != 1 || got[1].KeysBefore != 1 || got[1].LoadBefore != 4 ||
		got[0].KeysBefore != 0 || p.Status != "approved" || !slices.Equal(p.Awaits, []int32{0, 1, 2}) {
		t.Errorf("%s, awaits %v, %d drifted, %+v", p.Status, p.Awaits, p.DriftedKeys, got)
	}
	if m := p.Migration; m.Keys != 2 || m.State != 110 || m.Fraction != 110.0/111 || m.Objective != 0 {
		t.Errorf("%+v", m)
	}
	if got := migrations(p); got != head+"a,0,1,0,100,gather\na,2,1,0,10,gather\n" {
		t.Errorf("%s", got)
	}
	flows := string(e.do("GET", "/v1/plans/"+p.Id+"/flows", "").want(http.StatusOK).body)
	if !strings.Contains(flows, `{"from":0,"to":1,"keys":1,"cost":0,"state":100},{"from":2,"to":1,"keys":1,"cost":0,"state":10}`) {
		t.Errorf("%s", flows)
	}
	again := string(e.do("POST", "/v1/plans/"+p.Id+"/replay", `{}`).want(http.StatusOK).body)
	if !strings.Contains(again, `"state":110`) {
		t.Errorf("%s", again)
	}
	e.verb(p.Id, "start", `{"executor":"x"}`).want(http.StatusOK)
	table := string(e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).body)
	if !strings.Contains(table, `"set":[{"key":"a","instance":1}]`) {
		t.Errorf("it is not held back, or twice: %s", table)
	}
	e.finish(p.Id)
	// By the hash it is on 2, which knows nothing of it.
	e.report(2, 0, row("b", 1, 10, 2)).want(http.StatusCreated)
	e.report(2, 1, row("b", 2, 10, 2)).want(http.StatusCreated)
	e.report(2, 2, `{"keys":[]}`).want(http.StatusCreated)
	p = e.planOfReports(2, "").want(http.StatusCreated).plan()
	if got := e.loads(p.Id); p.DriftedKeys != 1 || got[0].KeysBefore != 1 || got[0].LoadBefore != 3 {
		t.Errorf("%d drifted, %+v", p.DriftedKeys, got)
	}
	if got := migrations(p); got != head+"b,1,0,0,10,gather\n" {
		t.Errorf("%s", got)
	}
}

// TestEmptyShare: what an instance says of a key that it gave away in the interval is its
// cost there; there is nothing to gather, and nothing to do.
func TestEmptyShare(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":"100%","hash":{"function":"reported"}}`)
	row := func(state int) string {
		return fmt.Sprintf(`{"keys":[{"key":"a","cost":1,"state":%d,"hash_instance":1}]}`, state)
	}
	for interval, state := range []int{0, 7} { // the first alone is empty
		e.report(int64(interval), 0, row(state)).want(http.StatusCreated)
		e.report(int64(interval), 1, row(5)).want(http.StatusCreated)
		p := e.planOfReports(int64(interval), "").want(http.StatusCreated).plan()
		want := "no_action 0 moves 0"
		if state > 0 {
			want = "approved 1 moves 7"
		}
		if got := fmt.Sprintf("%s %d moves %v", p.Status, p.Migration.Keys, p.Migration.State); got != want ||
			e.loads(p.Id)[1].LoadBefore != 2 {
			t.Errorf("share of state %d: %s, want %s", state, got, want)
		}
	}
}

// TestShareAcrossARescale: a key is held back while a share of its state moves to where
// the hash puts it before and afterwards; one that the hash moves routers find themselves.
func TestShareAcrossARescale(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":3,"hash":{"function":"modulo"}}`)
	var stays, goes string // by the hash
	for i := 0; stays == "" || goes == ""; i++ {
		key := fmt.Sprint("k", i)
		switch h := planner.KeyHash([]byte(key)); {
		case h%3 == 0 && h%2 == 0:
			stays = key
		case h%3 == 2:
			goes = key
		}
	}
	named := func(keys ...string) string {
		var rows []string
		for _, key := range keys {
			rows = append(rows, fmt.Sprintf(`{"key":%q,"cost":1,"state":5}`, key))
		}
		return `{"keys":[` + strings.Join(rows, ",") + `]}`
	}
	e.report(1, 0, named(stays)).want(http.StatusCreated)
	e.report(1, 1, named(stays)).want(http.StatusCreated)
	e.report(1, 2, named(goes)).want(http.StatusCreated)
	e.do("PUT", "/v1/operators/clicks", `{"instances":2,"theta_max":"900%","hash":{"function":"modulo"}}`).want(http.StatusOK)
	p := e.planOfReports(1, "").want(http.StatusCreated).plan()
	e.verb(p.Id, "start", `{"executor":"x"}`).want(http.StatusOK)
	table := string(e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).body)
	if !strings.Contains(table, `"set":[{"key":"`+stays+`","instance":0}]`) {
		t.Errorf("%s stays, %s goes: %s", stays, goes, table)
	}
}

// TestReportsOfAnOlderTable: keys are where the committed table puts them.
func TestReportsOfAnOlderTable(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	p := e.do("POST", "/v1/operators/clicks/plans",
		`{"interval":1,"columns":{"key":["a","b"],"cost":[4,4],"instance":[0,0],"hash_instance":[0,0]}}`).want(
		http.StatusCreated).plan()
	if len(p.Migrations) != 1 {
		t.Fatalf("%+v", p.Migrations)
	}
	both := `{"columns":{"key":["a","b"],"cost":[4,4],"hash_instance":[0,0]}%s}`
	e.report(2, 0, fmt.Sprintf(both, "")).want(http.StatusCreated) // before the commit
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	if a := e.report(2, 1, `{"table_version":1,"keys":[]}`).want(http.StatusCreated).standing(); a.TableVersion != 1 {
		t.Errorf("%+v", a)
	}
	e.report(3, 0, fmt.Sprintf(both, `,"table_version":2`)).fails(http.StatusConflict, "table_version_ahead", "")
	q := e.planOfReports(2, "").want(http.StatusCreated).plan()
	if got := e.loads(q.Id); q.Status != "no_action" || got[0].KeysBefore != 1 || got[1].KeysBefore != 1 ||
		q.DriftedKeys != 0 {
		t.Errorf("%s, %+v, %d drifted", q.Status, got, q.DriftedKeys)
	}
	// The engine that is on the committed table knows better.
	e.report(3, 0, fmt.Sprintf(both, `,"table_version":1`)).want(http.StatusCreated)
	e.report(3, 1, `{"keys":[]}`).want(http.StatusCreated)
	q = e.planOfReports(3, "").want(http.StatusCreated).plan()
	if got := e.loads(q.Id); got[0].KeysBefore != 2 || q.DriftedKeys != 1 {
		t.Errorf("%+v, %d drifted", got, q.DriftedKeys)
	}
	// A report that is carried beyond a commit is of an older table then.
	e.do("POST", "/v1/plans/"+q.Id+"/commit", stopped).want(http.StatusOK)
	e.report(4, 1, `{"table_version":2,"keys":[]}`).want(http.StatusCreated)
	q = e.planOfReports(4, `,"missing":"carry"`).want(http.StatusCreated).plan()
	if got := e.loads(q.Id); got[0].KeysBefore != 1 || got[1].KeysBefore != 1 || q.DriftedKeys != 0 ||
		!slices.Contains(q.Causes, "carried") {
		t.Errorf("%+v, %d drifted, %v", got, q.DriftedKeys, q.Causes)
	}
}

// TestReportsAroundACommit: a key that moves after one instance has reported and
// before the other does stands in no report, and keeps its entry.
func TestReportsAroundACommit(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":0,"hash":{"function":"reported"}}`)
	p := e.do("POST", "/v1/operators/clicks/plans",
		`{"interval":1,"columns":{"key":["a","b"],"cost":[4,4],"instance":[0,0],"hash_instance":[0,0]}}`).want(
		http.StatusCreated).plan()
	if len(p.RoutingTable.Set) != 1 || p.RoutingTable.Set[0].Instance != 1 {
		t.Fatalf("%+v", p.RoutingTable)
	}
	e.report(2, 1, `{"keys":[]}`).want(http.StatusCreated)
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	e.report(2, 0, `{"table_version":1,"keys":[]}`).want(http.StatusCreated)
	q := e.planOfReports(2, "").want(http.StatusCreated).plan()
	if len(q.RoutingTable.Unset) > 0 {
		t.Errorf("%v lose their entries, and with them the state on instance 1", q.RoutingTable.Unset)
	}
	// Where the hash changes what has no entry would move, and nobody knows what.
	e.do("PUT", "/v1/operators/clicks", `{"instances":3,"theta_max":0,"hash":{"function":"reported"}}`).want(http.StatusOK)
	e.report(3, 0, `{"table_version":1,"keys":[]}`).want(http.StatusCreated)
	e.report(3, 1, `{"table_version":0,"keys":[]}`).want(http.StatusCreated)
	e.planOfReports(3, "").fails(http.StatusConflict, "complete_coverage_required", "")
	e.report(3, 1, `{"table_version":1,"keys":[]}`).want(http.StatusOK)
	e.planOfReports(3, "").want(http.StatusCreated)
}

// TestCarriedReportWhereTheTableIs: a key on the instance that is carried stays
// there, though another one has a share of it.
func TestCarriedReportWhereTheTableIs(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":"500%","hash":{"function":"reported"}}`)
	row := func(cost, home int) string {
		return fmt.Sprintf(`{"keys":[{"key":"a","cost":%d,"state":9,"hash_instance":%d}]}`, cost, home)
	}
	e.report(1, 1, row(2, 1)).want(http.StatusCreated)
	e.report(2, 0, row(1, 1)).want(http.StatusCreated)
	p := e.planOfReports(2, `,"missing":"carry"`).want(http.StatusCreated).plan()
	if got := e.loads(p.Id); got[1].LoadBefore != 3 || got[0].KeysBefore != 0 || p.DriftedKeys != 1 ||
		len(p.RoutingTable.Set) > 0 {
		t.Errorf("%+v, %d drifted, sets %v", got, p.DriftedKeys, p.RoutingTable.Set)
	}
}

// TestKeysOfSilentInstances: a key on an instance that could not name it stays
// there, whoever has a share of it; the share counts where it is.
func TestKeysOfSilentInstances(t *testing.T) {
	for _, missing := range []string{"carry", "freeze"} {
		e := newEnv(t)
		e.operator("clicks", `{"instances":2,"theta_max":0,"hash":{"function":"reported"}}`)
		p := e.do("POST", "/v1/operators/clicks/plans",
			`{"interval":1,"keys":[{"key":"a","cost":1,"instance":0,"hash_instance":0},{"key":"b","cost":1,"instance":0,"hash_instance":0}]}`).
			want(http.StatusCreated).plan()
		e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
		moved := p.RoutingTable.Set[0].Key
		e.report(2, 1, `{"keys":[]}`).want(http.StatusCreated)
		e.report(3, 0, fmt.Sprintf(`{"keys":[{"key":%q,"cost":2,"hash_instance":0},{"key":"c","cost":3,"hash_instance":0}]}`,
			moved)).want(http.StatusCreated)
		q := e.planOfReports(3, `,"missing":"`+missing+`"`).want(http.StatusCreated).plan()
		if got := e.loads(q.Id); q.DriftedKeys != 1 || got[0].LoadBefore != 5 || got[0].KeysBefore != 2 ||
			len(q.RoutingTable.Unset) > 0 {
			t.Errorf("%s: %d drifted, %+v, unsets %v", missing, q.DriftedKeys, got, q.RoutingTable.Unset)
		}
	}
}

// TestStrayOfAPartialReport: a key that its owner counts in its residual stays there, whoever
// names it: only its owner can give it away.
func TestStrayOfAPartialReport(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"theta_max":0.1,"hash":{"function":"modulo"}}`)
	e.report(1, 0, `{"coverage":"partial","residual":[{"instance":0,"cost":10,"state":500,"keys":1}],"keys":[]}`).
		want(http.StatusCreated)
	e.report(1, 1, `{"keys":[{"key":"k3","cost":1,"state":1}]}`).want(http.StatusCreated) // the hash has it on 0
	p := e.planOfReports(1, "").want(http.StatusCreated).plan()
	if got := e.loads(p.Id); len(p.RoutingTable.Set) > 0 || p.DriftedKeys != 1 || got[1].LoadBefore != 1 ||
		got[0].LoadBefore != 10 {
		t.Errorf("sets %v, %d drifted, loads %+v", p.RoutingTable.Set, p.DriftedKeys, got)
	}
}

// TestReportsAcrossARescale: those of the committed configuration have to report,
// new ones may, and nobody can be carried or frozen.
func TestReportsAcrossARescale(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2}`)
	e.report(1, 1, `{"keys":[{"key":"b","cost":1}]}`).want(http.StatusCreated)
	e.report(2, 2, `{"keys":[]}`).fails(unprocessable, "invalid", "?instance")
	e.do("PUT", "/v1/operators/clicks", `{"instances":[{"id":0},{"id":2}]}`).want(http.StatusOK)
	if a := e.report(2, 2, `{"keys":[]}`).want(http.StatusCreated).standing(); !slices.Equal(a.Missing, []int32{0, 1}) ||
		!slices.Equal(a.Received, []int32{2}) {
		t.Errorf("%+v", a)
	}
	e.report(2, 0, `{"keys":[{"key":"a","cost":1}]}`).want(http.StatusCreated)
	for _, how := range []string{"carry", "freeze"} {
		e.planOfReports(2, `,"missing":"`+how+`"`).fails(http.StatusConflict, "complete_coverage_required", "")
	}
	e.planOfReports(2, "").fails(http.StatusConflict, "reports_missing", "")
	e.report(2, 1, `{"keys":[{"key":"b","cost":1}]}`).want(http.StatusCreated)
	p := e.planOfReports(2, "").want(http.StatusCreated)
	if r := p.reports(); !slices.Equal(r.Received, []int32{0, 1, 2}) || p.plan().Status != "approved" {
		t.Errorf("%s", p.body)
	}
	// An instance that is known no more says nothing.
	e.do("PUT", "/v1/operators/clicks", `{"instances":[{"id":0},{"id":3}]}`).want(http.StatusOK)
	for _, d := range []int{0, 1, 3} {
		e.report(3, d, `{"keys":[]}`).want(http.StatusCreated)
	}
	e.do("PUT", "/v1/operators/clicks", `{"instances":2}`).want(http.StatusOK)
	if r := e.planOfReports(3, "").want(http.StatusCreated).reports(); !slices.Equal(r.Received, []int32{0, 1}) {
		t.Errorf("%+v", r)
	}
}

func TestReportsUnderOtherSchemes(t *testing.T) {
	for _, config := range []string{`{"instances":2,"scheme":"ring"}`, `{"instances":2,"scheme":"ranges"}`,
		`{"instances":2,"scheme":"pkg"}`} {
		e := newEnv(t)
		e.operator("clicks", config)
		e.report(1, 0, `{"coverage":"partial","keys":[]}`).fails(http.StatusConflict, "complete_coverage_required", "")
		e.report(1, 0, `{"keys":[{"key":"a","cost":1,"hash_instance":0}]}`).
			fails(unprocessable, "invalid", "/keys/0/hash_instance")
		e.report(1, 0, `{"keys":[{"key":"a","cost":1},{"key":"b","cost":2}]}`).want(http.StatusCreated)
		e.planOfReports(1, `,"missing":"freeze"`).fails(http.StatusConflict, "complete_coverage_required", "")
		e.report(1, 1, `{"keys":[{"key":"c","cost":1},{"key":"b","cost":2}]}`).want(http.StatusCreated)
		if p := e.planOfReports(1, "").want(http.StatusCreated); p.reports() == nil {
			t.Errorf("%s", p.body)
		}
	}
}

func TestReportsOfAnEngineWithItsTable(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"table_owner":"engine","theta_max":0,"hash":{"function":"reported"}}`)
	body := `{"columns":{"key":["a","b"],"cost":[4,4],"hash_instance":[0,0]}}`
	for n := range int64(2) {
		e.report(n+1, 0, body).want(http.StatusCreated)
		e.report(n+1, 1, `{"keys":[]}`).want(http.StatusCreated)
	}
	p := e.planOfReports(1, "").want(http.StatusCreated).plan()
	e.do("POST", "/v1/plans/"+p.Id+"/commit", stopped).want(http.StatusOK)
	e.planOfReports(2, "").fails(http.StatusConflict, "table_version_outdated", "")
}

func TestRefusedReports(t *testing.T) {
	e, _ := prepared(t, func(c *api.Config) { c.Limits.Statistics = input.Limits{Bytes: 64 << 10, Rows: 4} })
	e.report(2, 0,
		`{"keys":[{"key":"a","cost":1,"state":1},{"key":"b","cost":1,"state":1},{"key":"c","cost":1,"state":1}]}`).want(
		http.StatusCreated)
	e.report(3, 0, `{"keys":[{"key":"a","cost":1e290}]}`).want(http.StatusCreated)
	e.report(3, 1, `{"keys":[{"key":"a","cost":1e290}]}`).want(http.StatusCreated)
	put := func(name, body string, status int, code, where string, headers ...string) refusal {
		return refusal{name, "PUT", reportTarget(2, 1), body, headers, status, code, where}
	}
	to := func(name, target string, status int, code, where string) refusal {
		return refusal{name, "PUT", target, `{"keys":[]}`, nil, status, code, where}
	}
	keys := func(rows string) string { return `{"keys":[` + rows + `]}` }
	with := func(member string) string { return `{"keys":[{"key":"a","cost":1}],` + member + `}` }
	const base = "/v1/operators/clicks/intervals/"
	e.refused(t, []refusal{
		put("another instance", keys(`{"key":"a","cost":1,"instance":1},{"key":"b","cost":1,"instance":0}`), unprocessable,
			"invalid", "/keys/1/instance"),
		put("another instance in a column", `{"columns":{"key":["a","b"],"cost":[1,1],"instance":[null,0]}}`, unprocessable,
			"invalid", "/columns/instance/1"),
		put("another instance in CSV", "key,cost,instance\na,1,0\n", unprocessable, "invalid", "/0/instance", csv),
		put("another interval", with(`"interval":3`), unprocessable, "invalid", "/interval"),
		put("another residual", with(`"coverage":"partial","residual":[{"instance":0,"cost":1}]`), unprocessable, "invalid",
			"/residual/0/instance"),
		put("residual twice", with(`"coverage":"partial","residual":[{"instance":1},{"instance":1}]`), unprocessable,
			"invalid", "/residual/1/instance"),
		put("residual of complete", with(`"residual":[{"instance":1}]`), unprocessable, "invalid", "/residual"),
		put("no keys", `{}`, unprocessable, "invalid", "/keys"),
		put("records beside keys", with(`"compact":{"records":[[1,1,1,1,1]]}`), unprocessable, "invalid", "/compact"),
		put("records of another instance", `{"compact":{"records":[[1,1,1,1,1],[0,1,1,1,1]]}}`, unprocessable, "invalid",
			"/compact/records/1/0"),
		put("records of another instance in CSV", "instance,hash_instance,cost,state,count\n0,1,1,1,1\n", unprocessable,
			"invalid", "/0/instance", csv),
		put("record of an unknown hash instance", `{"compact":{"records":[[1,7,1,1,1]]}}`, unprocessable, "invalid",
			"/compact/records/0/1"),
		put("records of degree 0", `{"compact":{"degree":0,"records":[[1,1,1,1,1]]}}`, unprocessable, "invalid",
			"/compact/degree"),
		put("compacted", with(`"compact":{"degree":4}`), unprocessable, "invalid", "/compact/records"),
		put("missing", with(`"missing":"carry"`), unprocessable, "invalid", "/missing"),
		put("hash instance of a known hash", keys(`{"key":"a","cost":1,"hash_instance":0}`), unprocessable, "invalid",
			"/keys/0/hash_instance"),
		put("duplicate keys", keys(`{"key":"a","cost":1},{"key":"a","cost":1}`), unprocessable, "invalid", "/keys/1/key"),
		put("table version ahead", with(`"table_version":1`), http.StatusConflict, "table_version_ahead", ""),
		put("malformed", `{"keys":[`, badRequest, "malformed", ""),
		put("too many rows", "key,cost\na,1\nb,1\nc,1\nd,1\ne,1\n", http.StatusRequestEntityTooLarge, "too_large", "", csv),
		put("content type", `<a/>`, http.StatusUnsupportedMediaType, "unsupported_media_type", "", "Content-Type: text/xml"),
		put("no body", ``, http.StatusUnsupportedMediaType, "unsupported_media_type", ""),
		put("accept", `{"keys":[]}`, http.StatusNotAcceptable, "not_acceptable", "", "Accept: text/csv"),
		to("unknown operator", "/v1/operators/none/intervals/2/reports/1", http.StatusNotFound, "operator_not_found", ""),
		to("unknown instance", base+"2/reports/2", unprocessable, "invalid", "?instance"),
		to("no instance", base+"2/reports/x", unprocessable, "invalid", "?instance"),
		to("great instance", base+"2/reports/2147483648", unprocessable, "invalid", "?instance"),
		to("greater interval", base+"99999999999999999999/reports/1", unprocessable, "invalid", "?interval"),
		to("query with JSON", base+"2/reports/1?epoch=0", unprocessable, "invalid", "?epoch"),
		to("planned interval", base+"1/reports/1", http.StatusConflict, "report_closed", ""),
		to("older interval", base+"0/reports/1", http.StatusConflict, "report_closed", ""),
		{"list of no operator", "GET", "/v1/operators/none/intervals/2/reports", "", nil, http.StatusNotFound,
			"operator_not_found", ""},
		{"list of no interval", "GET", base + "x/reports", "", nil, badRequest, "malformed", "?interval"},
		{"list of no epoch", "GET", base + "2/reports?epoch=-1", "", nil, unprocessable, "invalid", "?epoch"},
		{"list as CSV", "GET", base + "2/reports", "", []string{"Accept: text/csv"}, http.StatusNotAcceptable,
			"not_acceptable", ""},
		{"plan with a table version", "POST", "/v1/operators/clicks/plans", `{"interval":2,"table_version":0}`, nil,
			unprocessable, "invalid", "/table_version"},
		{"plan with a coverage", "POST", "/v1/operators/clicks/plans?interval=2&coverage=complete", ``, nil, unprocessable,
			"invalid", "?coverage"},
		{"plan with an unknown way", "POST", "/v1/operators/clicks/plans", `{"interval":2,"missing":"guess"}`, nil,
			unprocessable, "invalid", "/missing"},
		{"statistics with a way", "POST", "/v1/operators/clicks/plans?interval=2&missing=carry", "key,cost\na,1\n",
			[]string{csv}, unprocessable, "invalid", "?missing"},
		{"plan of an older interval", "POST", "/v1/operators/clicks/plans", `{"interval":0}`, nil, http.StatusConflict,
			"interval_outdated", ""},
		{"a sum that is too great", "POST", "/v1/operators/clicks/plans", `{"interval":3}`, nil, unprocessable,
			"invalid", ""},
	})
	e.report(2, 1, `{"keys":[{"key":"d","cost":1}]}`).want(http.StatusCreated)
	e.planOfReports(2, "").fails(http.StatusConflict, "reports_differ", "")
	e.report(2, 1, `{"keys":[{"key":"d","cost":1,"state":1},{"key":"e","cost":1,"state":1}]}`).want(http.StatusOK)
	e.planOfReports(2, "").fails(http.StatusRequestEntityTooLarge, "too_large", "")
	e.report(2, 1, `{"keys":[]}`).want(http.StatusOK)
	e.planOfReports(2, `,"compact":{"degree":4}`).want(http.StatusCreated)
	e.report(2, 1, `{"keys":[]}`).fails(http.StatusConflict, "report_closed", "")
}

// TestReportsUnderAnotherHash: what was checked when a report came is checked
// again when the operator has changed.
func TestReportsUnderAnotherHash(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":1}`)
	e.report(1, 0, `{"keys":[{"key":"user:1","cost":1}]}`).want(http.StatusCreated)
	e.do("PUT", "/v1/operators/clicks", `{"instances":1,"hash":{"function":"flink","key_type":"int"}}`).want(http.StatusOK)
	p := e.planOfReports(1, "").fails(unprocessable, "invalid", "").problem()
	if len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Detail, `"user:1"`) || p.Errors[0].Pointer != "" {
		t.Errorf("%+v", p)
	}
}

// TestReportsKeepComing: reports that change while planning are planned on anew,
// a few times.
func TestReportsKeepComing(t *testing.T) {
	f := &faults{}
	e := newEnv(t, func(c *api.Config) {
		f.Store = c.Store
		c.Store = f
	})
	e.operator("clicks", `{"instances":1}`)
	e.report(1, 0, `{"keys":[{"key":"a","cost":1}]}`).want(http.StatusCreated)
	f.set("CreatePlan", store.ErrReportsChanged)
	e.planOfReports(1, "").fails(http.StatusConflict, "reports_changed", "")
	f.set("CreatePlan", nil)
	f.set("ReportData", fmt.Errorf("report 1: %w", store.ErrNotFound))
	e.planOfReports(1, "").fails(http.StatusConflict, "reports_changed", "")
	f.set("ReportData", nil)
	e.planOfReports(1, "").want(http.StatusCreated)
}

// TestReportsTogether: eight instances report at the same time, all of them more
// than once, and the plan is that of the same statistics sent whole.
func TestReportsTogether(t *testing.T) {
	const instances, keys = 8, 20_000
	r := rand.New(rand.NewPCG(9, 10))
	lines := make([]strings.Builder, instances)
	var whole strings.Builder
	whole.WriteString("key,cost,state,instance\n")
	for d := range lines {
		lines[d].WriteString("key,cost,state\n")
	}
	for k := range keys {
		d := r.IntN(instances)
		line := fmt.Sprintf("user:%d,%d,%d", k, 1+1_000_000/(k+1), 1+r.IntN(1000))
		fmt.Fprintln(&lines[d], line)
		fmt.Fprintf(&whole, "%s,%d\n", line, d)
	}
	config := `{"instances":8,"theta_max":0.05,"hash":{"function":"modulo"}}`
	e, other := newEnv(t), newEnv(t)
	e.operator("clicks", config)
	other.operator("clicks", config)
	var all sync.WaitGroup
	for d := range instances {
		for try := range 2 {
			all.Go(func() {
				body := lines[d].String()
				if a := e.do("PUT", reportTarget(1, d), body, csv); a.status != http.StatusOK && a.status != http.StatusCreated {
					t.Errorf("instance %d, try %d: %d %s", d, try, a.status, a.body)
				}
			})
		}
	}
	all.Wait()
	ids := make([]string, 4)
	for i := range ids {
		all.Go(func() {
			if a := e.planOfReports(1, ""); a.status == http.StatusOK || a.status == http.StatusCreated {
				ids[i] = a.plan().Id
			} else {
				t.Errorf("%d: %s", a.status, a.body)
			}
		})
	}
	all.Wait()
	got := e.do("GET", "/v1/plans/"+ids[0]+"?include=migrations,routing_table", "").want(http.StatusOK).plan()
	want := other.do("POST", "/v1/operators/clicks/plans?interval=1", whole.String(), csv).want(http.StatusCreated).plan()
	if slices.ContainsFunc(ids, func(id string) bool { return id != ids[0] }) {
		t.Errorf("plans %v", ids)
	}
	if got.InputHash != want.InputHash || got.Theta != want.Theta || !reflect.DeepEqual(got.Migration, want.Migration) ||
		got.DriftedKeys != want.DriftedKeys ||
		!slices.Equal(got.Migrations, want.Migrations) || !slices.Equal(got.RoutingTable.Set, want.RoutingTable.Set) {
		t.Errorf("%+v, want %+v", got.Migration, want.Migration)
	}
	if len(want.Migrations) == 0 {
		t.Error("nothing migrates")
	}
}
