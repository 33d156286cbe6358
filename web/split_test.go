package web_test

import (
	"fmt"
	"net/http"
	"testing"

	"plannerd/internal/browsertest"
)

// TestSplitKeys: pages of an operator that splits keys say who holds which share, and why.
func TestSplitKeys(t *testing.T) {
	site := browsertest.Filled(t)
	api := site.URL + "/v1/operators/counted"
	tell(t, http.MethodPut, api, "", object{"instances": 4, "theta_max": 0.05, "trigger": object{"cooldown_intervals": 0},
		"splitting": object{"max_parts": 4, "merge_cost": 0}}, nil)
	var p struct{ ID string }
	keys := []object{{"key": "airport", "cost": 500, "state": 900}}
	for k := range 200 {
		keys = append(keys, object{"key": fmt.Sprintf("key-%d", k), "cost": 4, "state": 1})
	}
	tell(t, http.MethodPost, api+"/plans", "", object{"interval": 1, "keys": keys}, &p)
	tell(t, http.MethodPost, site.URL+"/v1/plans/"+p.ID+"/commit", "", object{"stopped": true}, nil)

	look(t, site.URL, "/#/plans/"+p.ID, "plan-split", ".plan")
	page := open(t, site.URL, "/#/plans/"+p.ID, ".plan")
	page.WaitText("main", "Split keys")
	page.WaitText("main", "1 merge an interval")
	page.WaitText("main", "no instance can carry it")
	page.WaitText(".plan-facts", "at most 4")
	page.Goto("/#/plans/" + p.ID + "?list=table-changes")
	page.WaitText("main", "%)")

	page.Goto("/#/operators/counted/key?key=airport")
	page.WaitText("main", "split")
	page.WaitText("main", "it was split over instances")
	look(t, site.URL, "/#/operators/counted/key?key=airport", "key-split", ".operator-story")
}
