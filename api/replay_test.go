package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/api"
	"plannerd/planner"
	"plannerd/store"
)

// lasting is what a replay has to repeat to the byte.
type lasting struct {
	Strategy, EndReason                                           string
	WorkUnits, DriftedKeys                                        int64
	Theta, Underload, Skewness, Migration, Certificate, Instances jsontext.Value
	Compaction, HotKeys, Causes, Balanced                         jsontext.Value
	RoutingTable, Migrations                                      jsontext.Value
	Parameters                                                    jsontext.Value
	Plan                                                          *struct{ RoutingTable, Migrations jsontext.Value }
}

// text is everything but how it ended.
func (l lasting) text() string {
	if l.Plan != nil {
		l.RoutingTable, l.Migrations = l.Plan.RoutingTable, l.Plan.Migrations
	}
	return fmt.Sprintln(l.Strategy, l.WorkUnits, l.DriftedKeys, string(l.Theta), string(l.Underload), string(l.Skewness),
		string(l.Migration), string(l.Certificate),
		string(l.Instances), string(l.Compaction), string(l.HotKeys), string(l.Causes), string(l.Balanced),
		string(l.RoutingTable), string(l.Migrations))
}

// replayed plans a plan again with everything as it was.
func (e *env) replayed(id string) (before, after lasting) {
	e.Helper()
	e.do("GET", "/v1/plans/"+id+"?include=migrations,routing_table", "").want(http.StatusOK).into(&before)
	var out struct{ Results []lasting }
	e.verb(id, "replay", `{"plans":true}`).want(http.StatusOK).into(&out)
	if len(out.Results) != 1 {
		e.Fatalf("%d results", len(out.Results))
	}
	return before, out.Results[0]
}

// TestReplay: with the parameters that it had a plan comes out the same, whatever
// it was made of, and whatever has happened since.
func TestReplay(t *testing.T) {
	e := newEnv(t)
	var made []string
	plan := func(operator, body string) life {
		t.Helper()
		a := e.do("POST", "/v1/operators/"+operator+"/plans", body).want(http.StatusCreated)
		var p struct{ ID string }
		a.into(&p)
		made = append(made, p.ID)
		return life{ID: p.ID}
	}
	commit := func(p life) { e.verb(p.ID, "commit", stopped).want(http.StatusOK) }
	const balanced = `{"instances":3,"theta_max":0.01,"hash":{"function":"modulo"},"table_limit":40}`
	stats := func(n int, more string) string { return fmt.Sprintf(`{"interval":%d,%s%s}`, n, manyKeys(300), more) }
	e.operator("keys", balanced)
	commit(plan("keys", stats(1, "")))
	plan("keys", stats(2, `,"table_version":0`)) // where its rows are is outdated
	plan("keys", stats(3, ""))
	plan("keys", stats(4, `,"compact":{"degree":4,"state_scale":2}`))
	e.do("PUT", "/v1/operators/keys", strings.Replace(balanced, "3", "4", 1)).want(http.StatusOK)
	commit(plan("keys", stats(5, "")))
	e.operator("engine", `{"instances":2,"theta_max":0,"table_owner":"engine","hash":{"function":"modulo"}}`)
	commit(plan("engine", stats(1, "")))
	e.do("PUT", "/v1/operators/engine",
		`{"instances":3,"theta_max":0,"table_owner":"engine","hash":{"function":"modulo"}}`).want(http.StatusOK)
	plan("engine", stats(2, ""))
	e.operator("homed", allAtHome)
	plan("homed", `{"interval":1,"compact":{"degree":2,"state_scale":3,"records":[[0,0,4,1,4],[1,1,2,2,2]]}}`)
	e.operator("clicks", `{"instances":2,"theta_max":0,"reports":{"missing":"carry"}}`)
	e.report(1, 0, `{"keys":[{"key":"a","cost":5},{"key":"b","cost":4}]}`).want(http.StatusCreated)
	e.report(1, 1, `{"keys":[{"key":"a","cost":1},{"key":"c","cost":1}]}`).want(http.StatusCreated)
	plan("clicks", `{"interval":1}`)
	e.report(2, 0, `{"keys":[{"key":"a","cost":5},{"key":"d","cost":4}]}`).want(http.StatusCreated)
	plan("clicks", `{"interval":2}`)
	e.report(3, 0, `{"keys":[{"key":"a","cost":5},{"key":"d","cost":4}]}`).want(http.StatusCreated)
	plan("clicks", `{"interval":3,"missing":"freeze"}`)
	for i, id := range made {
		if before, after := e.replayed(id); before.text() != after.text() || before.EndReason != after.EndReason ||
			string(before.Parameters) != string(after.Parameters) {
			t.Errorf("plan %d:\n%.2000s\n%.2000s", i, before.text(), after.text())
		}
	}
}

// TestReplayOfACutPlan: a plan that its deadline cut off is repeated by its work.
func TestReplayOfACutPlan(t *testing.T) {
	e := newEnv(t) // its clock goes on by a millisecond whenever it is read
	e.operator("cut",
		`{"instances":2,"theta_max":0,"table_limit":0,"strategy":"mixed_bf","certificate":"off","deadline":"12ms"}`)
	p := e.do("POST", "/v1/operators/cut/plans", `{"interval":1,`+manyKeys(1500)+`}`).want(http.StatusCreated).proven()
	if p.EndReason != "stopped" || slices.Contains(p.Causes, "unfinished") || p.WorkUnits == 0 {
		t.Fatalf("%s after %d units, causes %v", p.EndReason, p.WorkUnits, p.Causes)
	}
	before, after := e.replayed(p.ID)
	if before.text() != after.text() || after.EndReason != "work_budget" || !strings.Contains(string(after.Parameters),
		fmt.Sprintf(`"work_budget":%d,"migration_limit":null,"deadline":null`, p.WorkUnits)) {
		t.Errorf("%s\n%s\n%s", after.Parameters, before.text(), after.text())
	}
}

// TestReplayOthers: other strategies and parameters on the same statistics.
func TestReplayOthers(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	p := e.planned(1)
	var out trials
	e.verb(p.ID, "replay", `{"strategies":["llfd","optimal"],"parameters":{"theta_max":[0,"500%"],"work_budget":70000}}`).
		want(http.StatusOK).into(&out)
	if len(out.Results) != 4 || out.Results[1].Parameters.ThetaMax != 5 || out.Results[3].Strategy != "optimal" ||
		out.Results[2].Parameters.WorkBudget != 70000 {
		t.Errorf("%+v", out)
	}
	// What a trigger held back is planned.
	e.operator("calm", strings.Replace(reported, "{", `{"trigger":{"theta":"900%"},`, 1))
	held := e.do("POST", "/v1/operators/calm/plans", interval(1, "")).want(http.StatusCreated).life()
	var free struct{ Results []life }
	e.verb(held.ID, "replay", "").want(http.StatusOK).into(&free)
	if held.Status != "no_action" || free.Results[0].Theta.After >= held.Theta.After {
		t.Errorf("%+v, then %+v", held, free)
	}
	e.operator("forgetful", strings.Replace(reported, "{", `{"store_inputs":false,`, 1))
	gone := e.do("POST", "/v1/operators/forgetful/plans", interval(1, "")).want(http.StatusCreated).life()
	e.verb(gone.ID, "replay", "").fails(http.StatusGone, "purged", "")
	e.operator("brief", strings.Replace(reported, "{", `{"retention":{"inputs":1},`, 1))
	gone = e.do("POST", "/v1/operators/brief/plans", interval(1, "")).want(http.StatusCreated).life()
	e.do("POST", "/v1/operators/brief/plans", interval(2, "")).want(http.StatusCreated)
	e.verb(gone.ID, "replay", "").fails(http.StatusGone, "purged", "")
}

// TestPropose: a replay becomes a plan where a plan of its interval may be made.
func TestPropose(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	first := e.planned(1)
	const other = `{"propose":true,"strategies":["mixed"],"parameters":{"theta_max":0.4},"actor":"ann","reason":"move less"}`
	e.verb(first.ID, "replay", other).fails(http.StatusConflict, "interval_planned", "")
	e.verb(first.ID, "reject", "").want(http.StatusOK)
	a := e.verb(first.ID, "replay", other).want(http.StatusCreated)
	second := a.life()
	if got := e.do("GET", a.header.Get("Location"), "").
		want(http.StatusOK); got.header.Get("ETag") != a.header.Get("ETag") || got.life().ID != second.ID {
		t.Errorf("%s", got.body)
	}
	if p := a.proven(); second.Status != "proposed" || p.Strategy != "mixed" || !strings.Contains(string(p.Parameters),
		`"theta_max":0.4`) || len(second.Migrations) == 0 || len(second.Awaits) != 2 {
		t.Errorf("%s", a.body)
	}
	if got := e.trail(second.ID); !slices.Equal(got, []string{`-→proposed by "ann": "move less"`}) {
		t.Errorf("%q", got)
	}
	if again := e.verb(first.ID, "replay", other).want(http.StatusOK).life(); again.ID != second.ID {
		t.Errorf("%+v", again)
	}
	// A replay may be replayed.
	if before, after := e.replayed(second.ID); before.text() != after.text() {
		t.Errorf("%s\n%s", before.text(), after.text())
	}
	e.verb(second.ID, "reject", "").want(http.StatusOK)
	third := e.verb(second.ID, "replay", `{"propose":true,"parameters":{"theta_max":0.3}}`).want(http.StatusCreated).life()
	e.verb(third.ID, "reject", "").want(http.StatusOK)
	e.do("PUT", "/v1/operators/clicks", reported).want(http.StatusOK)
	e.verb(third.ID, "replay", `{"propose":true}`).fails(http.StatusConflict, "configuration_changed", "")
	e.do("PUT", "/v1/operators/clicks", approved).want(http.StatusOK)
	fourth := e.planned(2)
	e.verb(fourth.ID, "reject", "").want(http.StatusOK)
	e.verb(first.ID, "replay", `{"propose":true,"parameters":{"beta":3}}`).
		fails(http.StatusConflict, "configuration_changed", "")
	again := e.planned(2)
	e.verb(fourth.ID, "replay", `{"propose":true,"parameters":{"beta":3}}`).
		fails(http.StatusConflict, "interval_planned", "")
	e.verb(again.ID, "approve", "").want(http.StatusOK)
	e.verb(again.ID, "commit", stopped).want(http.StatusOK)
	e.verb(fourth.ID, "replay", `{"propose":true}`).fails(http.StatusConflict, "base_changed", "")
}

// TestProposeInPlace: a replay takes the place of the plan that waits in one step. What
// fails leaves that waiting.
func TestProposeInPlace(t *testing.T) {
	f := &faults{}
	e := newEnv(t, func(c *api.Config) { f.Store, c.Store = c.Store, f })
	e.operator("clicks", approved)
	waiting := e.planned(1)
	const other = `{"propose":true,"replace":true,"parameters":{"theta_max":0.4},"actor":"ann","reason":"move less"}`
	stillWaits := func() {
		t.Helper()
		if p := e.do("GET", "/v1/plans/"+waiting.ID, "").want(http.StatusOK).life(); p.Status != "proposed" {
			t.Errorf("the plan is %s", p.Status)
		}
	}
	e.verb(waiting.ID, "replay", `{"replace":true}`).fails(http.StatusUnprocessableEntity, "invalid", "/replace")
	e.verb(waiting.ID, "replay", `{"propose":true,"replace":true,"parameters":{"theta_max":-1}}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/parameters/theta_max")
	f.set("CreatePlan", store.ErrUnavailable)
	e.verb(waiting.ID, "replay", other).fails(http.StatusServiceUnavailable, "unavailable", "")
	f.set("CreatePlan", nil)
	stillWaits()
	second := e.verb(waiting.ID, "replay", other).want(http.StatusCreated).life()
	if got := e.trail(waiting.ID); !slices.Equal(got, []string{
		"-→proposed by \"\": \"\"", `proposed→superseded by "ann": "plan ` + second.ID + ` replaces it"`,
	}) {
		t.Errorf("%q", got)
	}
	if got := e.trail(second.ID); !slices.Equal(got, []string{`-→proposed by "ann": "move less"`}) {
		t.Errorf("%q", got)
	}
	if again := e.verb(waiting.ID, "replay", other).want(http.StatusOK).life(); again.ID != second.ID {
		t.Errorf("%+v", again)
	}
	// One that somebody approved meanwhile stays.
	e.verb(second.ID, "approve", "").want(http.StatusOK)
	e.verb(second.ID, "replay", strings.Replace(other, "0.4", "0.3", 1)).fails(http.StatusConflict, "interval_planned", "")
}

// TestProposeInTheWay: a plan that waits or is carried out is in the way of a
// proposed replay, and so is a newer interval.
func TestProposeInTheWay(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	older := e.planned(1)
	e.verb(older.ID, "reject", "").want(http.StatusOK)
	ended := e.planned(2)
	e.verb(older.ID, "replay", `{"propose":true}`).fails(http.StatusConflict, "interval_outdated", "")
	e.verb(ended.ID, "reject", "").want(http.StatusOK)
	// Two replays of one ended plan: the second one is of the interval of the first.
	e.operator("free", approved)
	var ids []string
	for n, verb := range []string{"approve", "reject"} {
		p := e.do("POST", "/v1/operators/free/plans", interval(n+1, "")).want(http.StatusCreated).life()
		ids = append(ids, p.ID)
		e.verb(p.ID, verb, "").want(http.StatusOK)
	}
	e.verb(ids[0], "start", `{"executor":"e"}`).want(http.StatusOK)
	e.verb(ids[1], "replay", `{"propose":true}`).fails(http.StatusConflict, "plan_in_flight", "")
	e.verb(ids[0], "abort", "").want(http.StatusOK)
	e.verb(ids[1], "replay", `{"propose":true}`).fails(http.StatusConflict, "plan_in_flight", "")
	e.verb(ids[0], "abort", `{"rolled_back":true}`).want(http.StatusOK)
	// The table has another version since, with the same entries.
	e.verb(ids[1], "replay", `{"propose":true}`).fails(http.StatusConflict, "base_changed", "")
	again := e.do("POST", "/v1/operators/free/plans", interval(2, "")).want(http.StatusCreated).life()
	e.verb(again.ID, "reject", "").want(http.StatusOK)
	if p := e.verb(again.ID, "replay", `{"propose":true}`).want(http.StatusCreated).life(); p.Status != "proposed" {
		t.Errorf("%+v", p)
	}
}

// keysOf is n keys with different costs, on the instances that say tells.
func keysOf(n int, instance func(i int) int) string {
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf(`{"key":"k%d","cost":%d,"state":%d,"instance":%d}`, i, 1+1000/(i+1), 1+i%7, instance(i)))
	}
	return `"keys":[` + strings.Join(rows, ",") + "]"
}

// TestMoreInstances: what eight instances in place of six would come to is what comes of it when
// the operator gets them.
func TestMoreInstances(t *testing.T) {
	e := newEnv(t)
	const config = `{"instances":%d,"hash":{"function":"modulo"},"policy":{"forecast":{"method":"last"}},"require_approval":true}`
	e.operator("clicks", fmt.Sprintf(config, 6))
	place := func(i int) int { return int(planner.KeyHash(fmt.Appendf(nil, "k%d", i)) % 6) }
	e.do("GET", "/v1/what-if?operator=clicks&instances=8", "").fails(http.StatusNotFound, "plan_not_found", "")
	p := e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,`+keysOf(200, place)+"}").want(http.StatusCreated).plan()
	type figures struct {
		TargetInstances int `json:"target_instances"`
		Theta           struct{ Before, After float64 }
		Migration       struct {
			Keys  int64
			State float64
		}
	}
	var live, replayed struct{ Results []figures }
	e.do("GET", "/v1/what-if?operator=clicks&instances=8,6&theta_max=8%25", "").want(http.StatusOK).into(&live)
	e.verb(p.Id, "replay", `{"parameters":{"instances":[8,6]}}`).want(http.StatusOK).into(&replayed)
	if !slices.Equal(live.Results, replayed.Results) || len(live.Results) != 2 || live.Results[0].TargetInstances != 8 {
		t.Fatalf("%+v, in the replay %+v", live, replayed)
	}
	e.verb(p.Id, "reject", "").want(http.StatusOK)
	e.do("PUT", "/v1/operators/clicks", fmt.Sprintf(config, 8)).want(http.StatusOK)
	var real figures
	e.do("POST", "/v1/operators/clicks/plans", `{"interval":2,`+keysOf(200, place)+"}").want(http.StatusCreated).into(&real)
	real.TargetInstances = 8
	if real != live.Results[0] {
		t.Errorf("eight instances come to %+v, which was answered as %+v", real, live.Results[0])
	}
}

// TestMoreInstancesRefused: each refusal says what would do.
func TestMoreInstancesRefused(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	p := e.planned(1)
	const ask = "/v1/what-if?operator=clicks"
	invalid := http.StatusUnprocessableEntity
	e.do("GET", ask+"&instances=8", "").fails(invalid, "invalid", "?instances")
	e.verb(p.ID, "replay", `{"parameters":{"instances":8}}`).fails(invalid, "invalid", "/parameters/instances")
	e.do("GET", ask+"&instances=0", "").fails(invalid, "invalid", "?instances")
	e.do("GET", ask+"&instances=eight", "").fails(http.StatusBadRequest, "malformed", "?instances")
	e.do("GET", ask+"&plans=true", "", "Accept: text/csv").fails(invalid, "invalid", "?plans")
	e.do("GET", ask, "", "Accept: text/html").fails(http.StatusNotAcceptable, "not_acceptable", "")
	e.do("GET", "/v1/what-if?operator=none", "").fails(http.StatusNotFound, "operator_not_found", "")
	e.operator("placed", `{"instances":2}`)
	q := e.do("POST", "/v1/operators/placed/plans", `{"interval":1,`+keysOf(20, func(int) int { return 0 })+"}").
		want(http.StatusCreated).plan()
	e.verb(q.Id, "replay", `{"propose":true,"parameters":{"instances":3}}`).fails(invalid, "invalid", "/propose")
	e.do("GET", "/v1/what-if?operator=placed&instances=3", "", "Accept: text/csv").want(http.StatusOK)
}

// TestRowsOfFewerInstances: rows of six instances are not planned on as if they were of eight.
func TestRowsOfFewerInstances(t *testing.T) {
	e := newEnv(t)
	six := func(i int) int { return i % 6 }
	csv := "key,cost,instance\n"
	for i := range 90 {
		csv += fmt.Sprintf("k%d,%d,%d\n", i, 1+i, six(i))
	}
	rows := func(query string) *answer { return e.do("POST", "/v1/what-if?"+query, csv, "Content-Type: text/csv") }
	a := rows("instances=8").fails(http.StatusUnprocessableEntity, "invalid", "?instances")
	if !strings.Contains(string(a.body), "ask instances=6 and target_instances=8;") {
		t.Errorf("%s", a.body)
	}
	rows("instances=6&target_instances=8").want(http.StatusOK)
	rows("instances=8&target_instances=8").want(http.StatusOK)
	rows("instances=9&target_instances=8").want(http.StatusOK)
	rows("instances=6").want(http.StatusOK)
	rows("instances=9").fails(http.StatusUnprocessableEntity, "invalid", "?instances")
	e.do("POST", "/v1/what-if", `{"operator":{"instances":8},`+keysOf(80, six)+"}").
		fails(http.StatusUnprocessableEntity, "invalid", "/operator/instances")
	e.do("POST", "/v1/what-if", `{"operator":{"instances":8},`+keysOf(79, six)+"}").want(http.StatusOK) // too few to tell
	e.do("POST", "/v1/what-if", `{"operator":{"instances":8},`+keysOf(80, func(i int) int { return 2 + i%6 })+"}").
		want(http.StatusOK) // it is not the last ones that are empty
}
