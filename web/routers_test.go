package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// TestRouters: the page of an operator shows its routers, those of which the lease has run
// out as well, and that of a plan those that it was started with.
func TestRouters(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	plan := propose(t, server.URL, "", "clicks")
	epochs := map[string]string{}
	register := func(name, lease string) {
		t.Helper()
		var r struct{ Epoch int64 }
		tell(t, http.MethodPut, server.URL+"/v1/operators/clicks/routers/"+name, "", object{"lease": lease}, &r)
		epochs[name] = fmt.Sprint(r.Epoch)
	}
	p := open(t, server.URL, "/#/operators/clicks", ".operator-history")
	register("gone", "1s")
	register("here", "1h")
	tell(t, http.MethodPost, server.URL+"/v1/plans/"+plan.ID+"/approve", "", map[string]string{}, nil)
	tell(t, http.MethodPost, server.URL+"/v1/plans/"+plan.ID+"/start", "", object{"executor": "job-manager-1"}, nil)
	register("late", "1h")
	p.Reload()
	p.WaitText("main", "of 1 the lease has run out")
	p.WaitText("main", "Epoch in the pending plan")
	p.Axe()
	want := [][]string{{"gone", epochs["gone"], epochs["gone"]}, {"here", epochs["here"], epochs["here"]},
		{"late", epochs["late"], "not named"}}
	for i, row := range cells(p, "Routers of the engine") {
		if got := []string{row[0], row[1], row[3]}; !slices.Equal(got, want[i]) {
			t.Errorf("%v, want %v", got, want[i])
		}
	}
	p.Goto("/#/plans/" + plan.ID)
	p.WaitText(".plan-progress ~ .plan-acks", "2 routers")
	p.Axe()
	if got := cells(p, "Routers whose"); !slices.EqualFunc(got, want[:2],
		func(a, b []string) bool { return slices.Equal(a, b[:2]) }) {
		t.Errorf("the plan names %v, want %v", got, want[:2])
	}
}
