package web_test

import (
	"fmt"
	"net/http"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// TestPkg: the pages of an operator by partial key grouping, and of its plans.
func TestPkg(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	api := site.URL + "/v1/operators/grouped"
	tell(t, http.MethodPut, api, "", object{"instances": 5, "scheme": "pkg", "theta_max": 0.05}, nil)
	var p struct {
		ID  string
		Pkg struct {
			Set []struct{ Choices int }
		}
	}
	for i, hot := range []string{"first", "second"} {
		keys := []object{{"key": "first", "cost": 1, "state": 90}, {"key": "second", "cost": 1}}
		keys[i]["cost"], keys[1]["state"] = 600, 30
		for k := range 200 {
			keys = append(keys, object{"key": fmt.Sprintf("key-%d", k), "cost": 2, "state": 1})
		}
		tell(t, http.MethodPost, api+"/plans", "", object{"interval": i, "keys": keys}, &p)
		if len(p.Pkg.Set) != 1 {
			t.Fatalf("%s gets no more candidates", hot)
		}
		if i == 0 {
			tell(t, http.MethodPost, site.URL+"/v1/plans/"+p.ID+"/commit", "", object{"stopped": true}, nil)
		}
	}
	page := open(t, site.URL, "/#/plans/"+p.ID, ".plan-owners")
	page.WaitText(".plan-owners", "second")
	page.WaitText(".plan-owners", "2, as others")
	page.WaitText("main", "pairs of a key and an instance")
	page.WaitText("main", "However routers send messages to the candidates of their keys")
	page.Goto("/#/plans/" + p.ID + "?list=table-changes")
	page.WaitText("main", "their numbers of candidates")
	glance(t, 1, page, "/#/plans/"+p.ID, "plan-pkg", ".plan")

	glance(t, 1, page, "/#/operators/grouped", "operator-pkg", historyCard+" tbody")
	widen(page).Goto("/#/operators/grouped/key?key=first")
	var route struct{ Candidates []int }
	ask(t, api+"/route?key=first", "", &route)
	text := fmt.Sprint(route.Candidates[0])
	for _, id := range route.Candidates[1:] {
		text += fmt.Sprintf(", %d", id)
	}
	page.WaitText("main", "any of the instances "+text)
	page.Goto("/#/")
	page.WaitText("main", "1 key in the head")
}
