package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"plannerd/sdk/go/wire"
)

const clickRouters = "/v1/operators/clicks/routers"

// router registers one of the operator clicks, or extends its lease.
func (e *env) router(name, body string) *answer {
	e.Helper()
	return e.do("PUT", clickRouters+"/"+name, body)
}

// routers are those that the operator clicks has.
func (e *env) routers() []wire.Router {
	e.Helper()
	var list wire.RouterList
	e.do("GET", clickRouters, "").want(http.StatusOK).into(&list)
	if list.Operator != "clicks" {
		e.Errorf("routers of %q", list.Operator)
	}
	return list.Routers
}

func (a *answer) router() (r wire.Router) {
	a.Helper()
	a.into(&r)
	return r
}

func TestRegisteredRouters(t *testing.T) {
	e := newEnv(t)
	e.router("r1", `{"lease":"30s"}`).fails(http.StatusNotFound, "operator_not_found", "")
	e.do("GET", clickRouters, "").fails(http.StatusNotFound, "operator_not_found", "")
	e.do("DELETE", clickRouters+"/r1", "").fails(http.StatusNotFound, "operator_not_found", "")
	e.operator("clicks", reported)
	if all := e.routers(); all == nil || len(all) != 0 {
		t.Errorf("routers %v of a new operator", all)
	}
	first := e.router("r1", `{"lease":"30s"}`).want(http.StatusCreated).router()
	if first.Router != "r1" || first.Epoch < 1 || first.Expired ||
		first.ExpiresAt.Sub(first.RegisteredAt) != 30*time.Second {
		t.Errorf("%+v", first)
	}
	again := e.router("r1", `{"lease":"1s"}`).want(http.StatusOK).router()
	if again.Epoch <= first.Epoch {
		t.Errorf("epoch %d after %d", again.Epoch, first.Epoch)
	}
	extended := e.router("r1", fmt.Sprintf(`{"lease":"24h","epoch":%d}`, again.Epoch)).want(http.StatusOK).router()
	if extended.Epoch != again.Epoch || !extended.RegisteredAt.Equal(again.RegisteredAt) ||
		!extended.ExpiresAt.After(again.ExpiresAt.Add(23*time.Hour)) {
		t.Errorf("%+v was extended to %+v", again, extended)
	}
	e.router("r1", fmt.Sprintf(`{"lease":"30s","epoch":%d}`, first.Epoch)).fails(http.StatusConflict, "fenced", "")
	e.router("r2", `{"lease":"30s","epoch":1}`).fails(http.StatusConflict, "fenced", "")
	if all := e.routers(); len(all) != 1 || all[0] != extended {
		t.Errorf("%+v, want %+v", all, extended)
	}
	for body, pointer := range map[string]string{
		`{}`: "/lease", `{"lease":"999ms"}`: "/lease", `{"lease":"24h1s"}`: "/lease", `{"lease":"soon"}`: "/lease",
		`{"lease":"99999999999999999999h"}`: "/lease", `{"lease":"30s","epoch":0}`: "/epoch",
		`{"lease":"30s","term":1}`: "/term",
	} {
		e.router("r1", body).fails(http.StatusUnprocessableEntity, "invalid", pointer)
	}
	target := clickRouters + "/r1"
	e.do("PUT", target, `{"lease":"30s"}`, csv).fails(http.StatusUnsupportedMediaType, "unsupported_media_type", "")
	e.do("PUT", target, `{"lease":"30s"}`, "Accept: text/html").fails(http.StatusNotAcceptable, "not_acceptable", "")
	e.do("GET", clickRouters, "", "Accept: text/html").fails(http.StatusNotAcceptable, "not_acceptable", "")
	long := `{"lease":"` + strings.Repeat("1", 9<<20) + `"}`
	e.do("PUT", target, long).fails(http.StatusRequestEntityTooLarge, "too_large", "")
	e.router("-", `{"lease":"30s"}`).fails(http.StatusUnprocessableEntity, "invalid", "?router")
	e.do("DELETE", clickRouters+"/r2", "").fails(http.StatusNotFound, "router_not_found", "")
	e.do("DELETE", clickRouters+"/r1", "").want(http.StatusNoContent)
	if all := e.routers(); len(all) != 0 {
		t.Errorf("%v are left", all)
	}
}

// TestRoutersOfAPlan: a plan that is started names the routers that there are, also those
// whose leases have run out, until it ends.
func TestRoutersOfAPlan(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", reported)
	lost := e.router("lost", `{"lease":"1s"}`).want(http.StatusCreated).router().Epoch
	if all := e.routers(); all[0].Expired {
		t.Errorf("%+v has run out at once", all)
	}
	e.clock.pass(time.Second)
	if all := e.routers(); !all[0].Expired {
		t.Errorf("%+v has not run out", all)
	}
	kept := e.router("kept", `{"lease":"1h"}`).want(http.StatusCreated).router().Epoch
	type named struct {
		ID      string
		Routers map[string]int64
	}
	of := func(a *answer) (n named) {
		t.Helper()
		a.into(&n)
		return n
	}
	const plans = "/v1/operators/clicks/plans"
	p := of(e.do("POST", plans, interval(1, "")).want(http.StatusCreated))
	if p.Routers == nil || len(p.Routers) > 0 {
		t.Errorf("before it is started the plan has the routers %v", p.Routers)
	}
	want := map[string]int64{"lost": lost, "kept": kept}
	check := func(what string) {
		t.Helper()
		var table struct{ Pending named }
		e.do("GET", "/v1/operators/clicks/routing-table?since=0", "").want(http.StatusOK).into(&table)
		got := of(e.do("GET", "/v1/plans/"+p.ID, "").want(http.StatusOK))
		if !maps.Equal(got.Routers, want) || !maps.Equal(table.Pending.Routers, want) {
			t.Errorf("%s: the plan has %v, what is pending %v, want %v", what, got.Routers, table.Pending.Routers, want)
		}
	}
	started := e.verb(p.ID, "start", `{"executor":"e"}`).want(http.StatusOK)
	if got := of(started); !maps.Equal(got.Routers, want) {
		t.Errorf("started with %v, want %v", got.Routers, want)
	}
	check("started")
	e.router("lost", `{"lease":"30s"}`).want(http.StatusOK)
	e.router("new", `{"lease":"30s"}`).want(http.StatusCreated)
	check("registered again")
	tag := started.header.Get("ETag")
	for range 3 { // the order of a map is another one each time
		if got := e.do("GET", "/v1/plans/"+p.ID, "").want(http.StatusOK).header.Get("ETag"); got != tag {
			t.Errorf("ETag %s, then %s", tag, got)
		}
	}
	e.do("DELETE", clickRouters+"/lost", "").fails(http.StatusConflict, "router_awaited", "")
	e.do("DELETE", clickRouters+"/new", "").want(http.StatusNoContent)
	e.verb(p.ID, "abort", "").want(http.StatusOK)
	check("aborting")
	e.do("DELETE", clickRouters+"/lost", "").fails(http.StatusConflict, "router_awaited", "")
	e.verb(p.ID, "abort", `{"rolled_back":true}`).want(http.StatusOK)
	e.do("DELETE", clickRouters+"/lost", "").want(http.StatusNoContent)
	if list := e.do("GET", plans, "").want(http.StatusOK); strings.Contains(string(list.body), `"routers"`) {
		t.Errorf("%s", list.body)
	}
	table := e.do("GET", "/v1/operators/clicks/routing-table?since=1", "").want(http.StatusOK)
	if strings.Contains(string(table.body), "kept") {
		t.Errorf("nothing is pending: %s", table.body)
	}
}
