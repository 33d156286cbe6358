package api_test

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plannerd/sdk/go/wire"
)

// latest is what GET says of how a plan does under newer statistics.
func (e *env) latest(id string) *wire.Latest {
	e.Helper()
	var p struct{ Latest *wire.Latest }
	e.do("GET", "/v1/plans/"+id, "").want(http.StatusOK).into(&p)
	return p.Latest
}

// TestLatest: a plan tells how it does under newer statistics, while it waits, once it is
// approved and while it is carried out; and whether it worsens θ by then.
func TestLatest(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	p := e.planned(1)
	if l := e.latest(p.ID); l != nil {
		t.Errorf("before newer statistics: %+v", l)
	}
	post := func(n int, cost float64) wire.Plan {
		t.Helper()
		return e.do("POST", "/v1/operators/clicks/plans", heavier(n, cost)).want(http.StatusCreated).plan()
	}
	newer := post(2, 11)
	l := e.latest(p.ID)
	if l == nil || l.Plan != newer.Id || l.Interval != 2 || l.Figures == nil ||
		!reflect.DeepEqual(l.Figures, newer.Pending.Figures) {
		t.Fatalf("%+v, want the figures of %+v", l, newer.Pending)
	}
	// It takes k1 to an instance that would be the heavier one then.
	post(3, 0)
	if l = e.latest(p.ID); l.Interval != 3 || l.Figures.Theta.After <= l.Figures.Theta.Before ||
		!slices.Equal(l.Breaks, []wire.WaitReason{"theta_worse"}) {
		t.Errorf("%+v", l)
	}
	list := e.do("GET", "/v1/operators/clicks/plans?status=proposed", "").want(http.StatusOK)
	if !strings.Contains(string(list.body), fmt.Sprintf(`"latest":{"plan":%q,"epoch":0,"interval":3,`, l.Plan)) {
		t.Errorf("%s", list.body)
	}
	e.verb(p.ID, "approve", "").want(http.StatusOK)
	post(4, 7)
	if l = e.latest(p.ID); l.Interval != 4 || len(l.Breaks) != 0 {
		t.Errorf("approved: %+v", l)
	}
	e.verb(p.ID, "start", `{"executor":"e"}`).want(http.StatusOK)
	post(5, 7)
	if l = e.latest(p.ID); l.Interval != 5 || l.Figures.Balanced == nil || !*l.Figures.Balanced {
		t.Errorf("carried out: %+v", l)
	}
	e.finish(p.ID)
	post(6, 7)
	if l = e.latest(p.ID); l.Interval != 5 {
		t.Errorf("committed: %+v", l)
	}
}

// TestSuccessor: a superseded plan names the one that took its place.
func TestSuccessor(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(approved, "{", `{"approval":{"on_pending":"replace"},`, 1))
	first := e.planned(1)
	second := e.do("POST", "/v1/operators/clicks/plans", heavier(2, 8)).want(http.StatusCreated).plan()
	if p := e.do("GET", "/v1/plans/"+first.ID, "").plan(); p.SupersededBy == nil || *p.SupersededBy != second.Id ||
		second.SupersededBy != nil {
		t.Errorf("superseded by %v", p.SupersededBy)
	}
}

// anySize is a member of a configuration: statistics of any size are acted upon.
const anySize = `"approval":{"min_statistics":{"keys":0,"cost_share":0}}`

// TestApprovalMembers: require_approval is short for auto never, and follows from it.
func TestApprovalMembers(t *testing.T) {
	e := newEnv(t)
	auto := func(a *answer) (out string) {
		t.Helper()
		var op struct {
			RequireApproval bool
			Approval        struct{ Auto string }
		}
		a.into(&op)
		if op.RequireApproval != (op.Approval.Auto == "never") {
			t.Errorf("%s", a.body)
		}
		return op.Approval.Auto
	}
	for members, want := range map[string]string{
		`{"instances":2}`:                                                                  "within_limits",
		`{"instances":2,"require_approval":false}`:                                         "within_limits",
		`{"instances":2,"require_approval":true}`:                                          "never",
		`{"instances":2,"require_approval":true,"approval":{"auto":"never"}}`:              "never",
		`{"instances":2,"require_approval":true,"approval":{"ttl":"1h"}}`:                  "never",
		`{"instances":2,"require_approval":false,"approval":{"auto":"always"}}`:            "always",
		`{"instances":2,"require_approval":false,"approval":{"auto":"within_limits"}}`:     "within_limits",
		`{"instances":2,"scheme":"ring","approval":{"auto":"never","small_intervals":0}}`:  "never",
		`{"instances":2,"scheme":"ranges","approval":{"max_migration":{"fraction":0.25}}}`: "within_limits",
	} {
		name := fmt.Sprintf("op%d", len(members))
		a := e.do("PUT", "/v1/operators/"+name, members).want(http.StatusCreated)
		if got := auto(a); got != want {
			t.Errorf("%s: %s, want %s", members, got, want)
		}
		e.do("PUT", "/v1/operators/"+name, string(a.body)).want(http.StatusOK)
	}
	for _, members := range []string{
		`{"instances":2,"require_approval":false,"approval":{"auto":"never"}}`,
		`{"instances":2,"require_approval":true,"approval":{"auto":"always"}}`,
		`{"instances":2,"require_approval":true,"approval":{"auto":"within_limits"}}`,
	} {
		e.do("PUT", "/v1/operators/clicks", members).fails(unprocessable, "invalid", "/require_approval")
	}
	e.operator("clicks", `{"instances":2}`)
	for _, c := range []struct{ patch, want string }{
		{`{"require_approval":true}`, "never"},
		{`{"require_approval":true}`, "never"},
		{`{"theta_max":0.2}`, "never"},
		{`{"approval":{"ttl":"1h"}}`, "never"},
		{`{"require_approval":false}`, "within_limits"},
		{`{"approval":{"auto":"always"}}`, "always"},
		{`{"require_approval":false}`, "always"},
		{`{"require_approval":true}`, "never"},
		{`{"approval":{"auto":"always"}}`, "always"},
		{`{"approval":{"auto":"never"},"require_approval":true}`, "never"},
		{`{"require_approval":null}`, "never"},
		{`{"approval":{"auto":null}}`, "within_limits"},
		{`{"approval":{"auto":"never","max_migration":{"keys":7}}}`, "never"},
		{`{"approval":null}`, "within_limits"},
	} {
		if got := auto(e.do("PATCH", "/v1/operators/clicks", c.patch).want(http.StatusOK)); got != c.want {
			t.Errorf("%s: %s, want %s", c.patch, got, c.want)
		}
	}
	for _, patch := range []string{
		`{"approval":{"auto":"never"},"require_approval":false}`, `{"approval":{"auto":"always"},"require_approval":true}`,
	} {
		e.do("PATCH", "/v1/operators/clicks", patch).fails(unprocessable, "invalid", "/require_approval")
	}
	for _, c := range []struct{ members, where string }{
		{`"approval":{"auto":"perhaps"}`, "/approval/auto"},
		{`"approval":{"max_migration":{"fraction":2}}`, "/approval/max_migration/fraction"},
		{`"approval":{"max_migration":{"fraction":0.2,"keys":3}}`, "/approval/max_migration"},
		{`"approval":{"max_migration":{}}`, "/approval/max_migration"},
		{`"approval":{"min_statistics":{"keys":-1}}`, "/approval/min_statistics/keys"},
		{`"approval":{"min_statistics":{"cost_share":-0.5}}`, "/approval/min_statistics/cost_share"},
		{`"approval":{"small_intervals":-1}`, "/approval/small_intervals"},
		{`"require_approval":"no"`, "/require_approval"},
	} {
		e.do("PUT", "/v1/operators/other", `{"instances":2,`+c.members+`}`).fails(unprocessable, "invalid", c.where)
	}
}

// skewedKeys are the statistics of an interval in which n keys cost less and less, from a
// number on.
func skewedKeys(interval, from, n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"key":"key-%03d","cost":%d,"state":%d}`, i, 1+10_000/(i+1), 1+i%7)
	}
	return fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, interval, strings.Join(rows[from:], ","))
}

// TestEmptyInterval: what names no keys, or lacks the heavy ones, leaves the table as it
// is, and its interval open for the right statistics.
func TestEmptyInterval(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":4,"strategy":"optimal","theta_max":0.05,"require_approval":true,"entry_grace":0}`)
	const plans = "/v1/operators/clicks/plans"
	p := e.do("POST", plans, skewedKeys(0, 0, 100)).want(http.StatusCreated).plan()
	e.verb(p.Id, "approve", "").want(http.StatusOK)
	e.verb(p.Id, "commit", stopped).want(http.StatusOK)
	if p.RoutingTable.SizeAfter == 0 {
		t.Fatal("there is no table that could be lost")
	}
	held := func(a *answer) {
		t.Helper()
		q := a.plan()
		if q.Status != "no_action" || !slices.Equal(q.Causes, []string{"statistics_too_small"}) ||
			q.RoutingTable.SizeAfter != p.RoutingTable.SizeAfter || len(q.RoutingTable.Unset) > 0 || len(q.Migrations) > 0 {
			t.Errorf("%s", a.body)
		}
	}
	first := e.do("POST", plans, `{"interval":1,"keys":[]}`).want(http.StatusCreated)
	held(first)
	held(e.do("POST", plans, `{"interval":1,"keys":[]}`).want(http.StatusOK))
	held(e.do("POST", plans+"?interval=1", "key,cost,state\n", csv).want(http.StatusOK))
	held(e.do("POST", plans, skewedKeys(1, 38, 100)).want(http.StatusCreated))
	var table struct{ Version int64 }
	e.do("GET", "/v1/operators/clicks/routing-table", "").want(http.StatusOK).into(&table)
	if table.Version != 1 {
		t.Errorf("version %d", table.Version)
	}
	whole := e.do("POST", plans, skewedKeys(1, 0, 100)).want(http.StatusCreated).plan()
	if !slices.Equal(whole.Causes, []string{"balanced"}) {
		t.Errorf("%+v", whole)
	}
	e.do("POST", plans, `{"interval":1,"keys":[]}`).fails(http.StatusConflict, "interval_planned", "")
	for n := 2; n < 5; n++ {
		held(e.do("POST", plans, skewedKeys(n, 38, 100)).want(http.StatusCreated))
	}
	q := e.do("POST", plans, skewedKeys(5, 38, 100)).want(http.StatusCreated).plan()
	if q.Status != "proposed" ||
		!slices.Equal(q.WaitsFor, []wire.WaitReason{"statistics_too_small", "approval_required"}) {
		t.Errorf("%s, waits for %q", q.Status, q.WaitsFor)
	}
}

// TestPutOfInstancesAlone: a PUT replaces the configuration, and so the rule that all plans
// wait; limits hold all the same. A PATCH leaves it.
func TestPutOfInstancesAlone(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":4,"strategy":"optimal","require_approval":true,"table_limit":100,
		"hash":{"function":"kafka","partitions":8}}`)
	e.do("PATCH", "/v1/operators/clicks", `{"instances":6}`).want(http.StatusOK)
	p := e.do("POST", "/v1/operators/clicks/plans", skewedKeys(1, 0, 100)).want(http.StatusCreated).plan()
	if p.Status != "proposed" || !slices.Contains(p.WaitsFor, "approval_required") {
		t.Errorf("%s, waits for %q", p.Status, p.WaitsFor)
	}
	e.verb(p.Id, "reject", "").want(http.StatusOK)
	a := e.do("PUT", "/v1/operators/clicks", `{"instances":6}`).want(http.StatusOK)
	if body := string(a.body); !strings.Contains(body, `"require_approval":false,"approval":{"auto":"within_limits"`) ||
		!strings.Contains(body, `"table_limit":null`) {
		t.Errorf("%s", body)
	}
	// key-000 alone is too much for an instance, which no plan can help: it does not wait.
	if p = e.do("POST", "/v1/operators/clicks/plans", skewedKeys(2, 0, 100)).want(http.StatusCreated).
		plan(); p.Status != "approved" || len(p.HotKeys) == 0 || p.Migration.Forced.Keys > p.Migration.Keys {
		t.Errorf("%s, waits for %q", p.Status, p.WaitsFor)
	}
}

// TestTableLimitWaits: a plan whose table is over its limit is not approved by itself.
func TestTableLimitWaits(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":16,"table_limit":3}`)
	p := e.do("POST", "/v1/operators/clicks/plans", skewedKeys(5, 0, 400)).want(http.StatusCreated).plan()
	if p.TableWithinLimit || p.Status != "proposed" || !slices.Equal(p.WaitsFor, []wire.WaitReason{"table_limit"}) {
		t.Errorf("%s within the limit: %v, waits for %q", p.Status, p.TableWithinLimit, p.WaitsFor)
	}
	list := e.do("GET", "/v1/operators/clicks/plans", "").want(http.StatusOK)
	if !strings.Contains(string(list.body), `"waits_for":["table_limit"]`) {
		t.Errorf("%s", list.body)
	}
	e.verb(p.Id, "commit", stopped).fails(http.StatusConflict, "transition_not_allowed", "")
}

// TestLimitsChanged: what newer statistics let break a limit is not started until somebody
// agrees.
func TestLimitsChanged(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	p := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).life()
	e.verb(p.ID, "approve", "").want(http.StatusOK)
	e.do("POST", "/v1/operators/clicks/plans", heavier(2, 0)).want(http.StatusCreated)
	a := e.verb(p.ID, "start", `{"executor":"e"}`).fails(http.StatusConflict, "limits_changed", "")
	if detail := a.problem().Detail; !strings.Contains(detail, "interval 2") || !strings.Contains(detail, "theta_worse") {
		t.Error(detail)
	}
	e.verb(p.ID, "commit", stopped).fails(http.StatusConflict, "limits_changed", "")
	if q := e.do("GET", "/v1/plans/"+p.ID, "").plan(); !q.LimitsChanged {
		t.Errorf("%+v", q.Latest)
	}
	if q := e.verb(p.ID, "approve", `{"actor":"ann"}`).want(http.StatusOK).plan(); q.LimitsChanged {
		t.Errorf("%+v", q.Latest)
	}
	if steps := e.trail(p.ID); len(steps) != 3 || !strings.Contains(steps[2], "approved") {
		t.Errorf("%q", steps)
	}
	e.verb(p.ID, "start", `{"executor":"e"}`).want(http.StatusOK)
}
