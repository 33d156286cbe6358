package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plannerd/api/wire"
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
	if l == nil || l.Plan != newer.Id || l.Interval != 2 || l.Figures == nil || *l.Figures != *newer.Pending.Figures {
		t.Fatalf("%+v, want the figures of %+v", l, newer.Pending)
	}
	// It takes k1 to an instance that would be the heavier one then.
	post(3, 0)
	if l = e.latest(p.ID); l.Interval != 3 || l.Figures.Theta.After <= l.Figures.Theta.Before ||
		!slices.Equal(l.Breaks, []wire.Limit{"theta_worse"}) {
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
	if l = e.latest(p.ID); l.Interval != 5 || !l.Figures.Balanced {
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
