package api_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// heavier are the statistics of Fig. 4 once k1 costs more.
func heavier(n int, cost float64) string {
	return strings.Replace(interval(n, ""), `"cost":7`, fmt.Sprintf(`"cost":%v`, cost), 1)
}

// near reports whether two figures are the same.
func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// TestKept: while a plan waits, statistics tell how it would do now.
func TestKept(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", approved)
	p := e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated)
	waiting, routed := p.life(), entries(p.plan().RoutingTable)
	a := e.do("POST", "/v1/operators/clicks/plans", heavier(2, 11)).want(http.StatusCreated)
	q := a.life()
	if q.Status != "no_action" || !slices.Equal(q.Causes, []string{"pending_approval"}) || len(q.Migrations) != 0 ||
		q.Pending == nil || q.Pending.Figures == nil {
		t.Fatalf("%s", a.body)
	}
	// By hand: where the waiting plan has every key go, and what it then carries.
	load, moved, state := [2]float64{}, int64(0), 0.0
	for _, r := range figure4 {
		cost, to := r.cost, int32(r.instance)
		if r.key == "k1" {
			cost = 11
		}
		if at, ok := routed[r.key]; ok {
			to = at
		}
		for _, key := range waiting.Migrations {
			if key.Key == r.key {
				to = key.To
			}
		}
		if load[to] += cost; int(to) != r.instance {
			moved, state = moved+1, state+r.state
		}
	}
	mean := (load[0] + load[1]) / 2
	f := q.Pending.Figures
	if q.Pending.Plan != waiting.ID || q.Pending.Status != "proposed" || f.Migration.Keys != moved ||
		f.Migration.State != state ||
		!near(f.Theta.After, max(load[0], load[1])/mean-1) || !near(f.Theta.Before, q.Theta.Before) ||
		q.Theta.After != q.Theta.Before {
		t.Errorf("loads %v, %d keys move, state %v: %s", load, moved, state, a.body)
	}
	again := e.do("POST", "/v1/operators/clicks/plans", heavier(2, 11)).want(http.StatusOK).life()
	if again.ID != q.ID || again.Pending == nil || *again.Pending.Figures != *f {
		t.Errorf("%+v", again)
	}
	list := e.do("GET", "/v1/operators/clicks/plans?interval=2", "").want(http.StatusOK)
	if !strings.Contains(string(list.body), `"pending":{"plan":"`+waiting.ID) {
		t.Errorf("%s", list.body)
	}
	e.verb(waiting.ID, "approve", "").want(http.StatusOK)
	e.verb(waiting.ID, "start", `{"executor":"e"}`).want(http.StatusOK)
	if q := e.planned(3); q.Status != "no_action" || !slices.Equal(q.Causes, []string{"plan_in_flight"}) ||
		q.Pending == nil ||
		q.Pending.Status != "applying" || !q.Pending.Figures.Balanced {
		t.Errorf("%+v", q)
	}
	e.finish(waiting.ID)
	if q := e.do("POST", "/v1/operators/clicks/plans", interval(4, `,"table_version":0`)).want(http.StatusCreated).
		life(); !slices.Equal(q.Causes, []string{"balanced"}) || q.Pending != nil {
		t.Errorf("%+v", q)
	}
}

// TestReplaced: where the newest plan is to wait, the one before it is superseded;
// what is being carried out never is.
func TestReplaced(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", strings.Replace(approved, "{", `{"approval":{"on_pending":"replace"},`, 1))
	first := e.planned(1)
	second := e.do("POST", "/v1/operators/clicks/plans", heavier(2, 8)).want(http.StatusCreated).life()
	if second.Status != "proposed" {
		t.Fatalf("%+v", second)
	}
	if p := e.do("GET", "/v1/plans/"+first.ID, "").want(http.StatusOK).life(); p.Status != "superseded" {
		t.Errorf("%+v", p)
	}
	e.verb(first.ID, "approve", "").fails(http.StatusConflict, "transition_not_allowed", "")
	e.verb(second.ID, "approve", "").want(http.StatusOK)
	e.verb(second.ID, "start", `{"executor":"e"}`).want(http.StatusOK)
	if p := e.do("POST", "/v1/operators/clicks/plans", heavier(3, 9)).want(http.StatusCreated).
		life(); !slices.Equal(p.Causes, []string{"plan_in_flight"}) {
		t.Errorf("%+v", p)
	}
}

// TestPendingBesideApproved: a plan that waits is seen though a newer one was
// approved.
func TestPendingBesideApproved(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	e.planned(1)
	e.do("PUT", "/v1/operators/clicks", approved).want(http.StatusOK)
	waiting := e.planned(2)
	e.do("PUT", "/v1/operators/clicks", reported).want(http.StatusOK)
	if p := e.planned(3); p.Pending == nil || p.Pending.Plan != waiting.ID {
		t.Errorf("%+v", p)
	}
}

// TestPendingRescale: a waiting plan that follows a changed hash is told by the
// placement that it makes, new keys included.
func TestPendingRescale(t *testing.T) {
	e := newEnv(t)
	const moduloOf = `{"instances":%s,"theta_max":0,"strategy":"llfd","require_approval":true,"hash":{"function":"modulo"}}`
	e.operator("clicks", fmt.Sprintf(moduloOf, "2"))
	stats := func(n, keys int) string {
		var rows []string
		for i := range keys {
			rows = append(rows, fmt.Sprintf(`{"key":"key-%d","cost":%d}`, i, i%7+1))
		}
		return fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, n, strings.Join(rows, ","))
	}
	e.do("PUT", "/v1/operators/clicks", fmt.Sprintf(moduloOf, "3")).want(http.StatusOK)
	waiting := e.do("POST", "/v1/operators/clicks/plans", stats(1, 60)).want(http.StatusCreated).life()
	if waiting.Status != "proposed" || !slices.Equal(waiting.Awaits, []int32{0, 1, 2}) {
		t.Fatalf("%+v", waiting)
	}
	told := e.do("POST", "/v1/operators/clicks/plans", stats(2, 90)).want(http.StatusCreated).life().Pending.Figures
	// The truth comes out when it is committed.
	e.verb(waiting.ID, "approve", "").want(http.StatusOK)
	e.verb(waiting.ID, "commit", stopped).want(http.StatusOK)
	after := e.do("POST", "/v1/operators/clicks/plans", stats(3, 90)).want(http.StatusCreated).life()
	if !near(told.Theta.After, after.Theta.Before) || told.Migration.Keys < int64(len(waiting.Migrations)) {
		t.Errorf("foretold %+v, then %+v", told, after.Theta)
	}
}

// TestPendingSchemes: under other schemes, too.
func TestPendingSchemes(t *testing.T) {
	for _, scheme := range []string{`"scheme":"ring","hash":{"tokens_per_instance":4},"ring":{"method":"doubling"}`,
		`"scheme":"ranges"`, `"scheme":"pkg","pkg":{"choices":1}`} {
		e := newEnv(t)
		e.operator("clicks", `{"instances":3,"theta_max":0.01,"require_approval":true,`+scheme+`}`)
		stats := func(n int) string {
			var rows []string
			for i := range 200 {
				rows = append(rows, fmt.Sprintf(`{"key":"key-%03d","cost":%d}`, i, 1+200/(i+1)))
			}
			return fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, n, strings.Join(rows, ","))
		}
		waiting := e.do("POST", "/v1/operators/clicks/plans", stats(1)).want(http.StatusCreated)
		if waiting.life().Status != "proposed" {
			t.Fatalf("%s", waiting.body)
		}
		told := e.do("POST", "/v1/operators/clicks/plans", stats(2)).want(http.StatusCreated).life()
		if f := told.Pending.Figures; !near(f.Theta.After, waiting.life().Theta.After) ||
			!near(f.Theta.Before, waiting.life().Theta.Before) ||
			f.Migration.State != waiting.plan().Migration.State || told.Theta.Before != told.Theta.After ||
			told.Theta.Before != waiting.life().Theta.Before {
			t.Errorf("%s: foretold %+v, planned %+v", scheme, f, waiting.life().Theta)
		}
		for _, id := range waiting.life().Awaits {
			if id < 0 || id > 2 {
				t.Errorf("%s: awaits %d", scheme, id)
			}
		}
		e.verb(waiting.life().ID, "approve", "").want(http.StatusOK)
		e.verb(waiting.life().ID, "start", `{"executor":"e"}`).want(http.StatusOK)
		e.verb(waiting.life().ID, "replay", "").fails(http.StatusConflict, "no_routing_table", "")
		if n := len(waiting.life().Awaits); n > 0 {
			body := strings.ReplaceAll(fmt.Sprintf(`{"instances":%v}`, waiting.life().Awaits), " ", ",")
			body = strings.Replace(body, ":,", ":", 1)
			if q := e.verb(waiting.life().ID, "acks", body).want(http.StatusOK).life(); q.Status != "committed" {
				t.Errorf("%s: %+v", scheme, q)
			}
		}
	}
}

// TestPendingClasses: classes name no keys, so nothing is foretold.
func TestPendingClasses(t *testing.T) {
	e := newEnv(t)
	e.operator("homed", strings.Replace(allAtHome, "{", `{"require_approval":true,`, 1))
	const records = `{"interval":%d,"compact":{"records":[[0,0,4,1,4]]}}`
	p := e.do("POST", "/v1/operators/homed/plans", fmt.Sprintf(records, 1)).want(http.StatusCreated).compacted()
	q := e.do("POST", "/v1/operators/homed/plans", fmt.Sprintf(records, 2)).want(http.StatusCreated)
	if p.Status != "proposed" || !strings.Contains(string(q.body), `"pending":{"plan":"`+p.ID+
		`","status":"proposed","figures":null}`) {
		t.Errorf("%+v %s", p, q.body)
	}
}

// TestTokenLimit: a ring that has as many tokens as may be is not doubled.
func TestTokenLimit(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks",
		`{"instances":16,"scheme":"ring","theta_max":0.1,"hash":{"tokens_per_instance":65536},"ring":{"method":"doubling"}}`)
	a := e.do("POST", "/v1/operators/clicks/plans", `{"interval":1,"keys":[{"key":"a","cost":9},{"key":"b","cost":0}]}`).
		want(http.StatusCreated)
	if causes := a.life(); !slices.Contains(causes.Causes, "token_limit") {
		t.Errorf("%s", a.body)
	}
}
