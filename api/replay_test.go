package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"plannerd/api"
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
