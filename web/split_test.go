package web_test

import (
	"fmt"
	"net/http"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// TestSplitKeys: pages of an operator that splits keys say who holds which share, and why.
func TestSplitKeys(t *testing.T) {
	t.Parallel()
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

	page := open(t, site.URL, "/#/plans/"+p.ID, ".plan")
	page.WaitText("main", "Split keys")
	page.WaitText("main", "1 merge an interval")
	page.WaitText("main", "no instance can carry it")
	page.WaitText(".plan-facts", "at most 4")
	page.Goto("/#/plans/" + p.ID + "?list=table-changes")
	page.WaitText("main", "%)")
	glance(t, 1, page, "/#/plans/"+p.ID, "plan-split", ".plan")

	widen(page).Goto("/#/operators/counted/key?key=airport")
	page.WaitText("main", "split")
	page.WaitText("main", "it was split over instances")
	glance(t, 1, page, "/#/operators/counted/key?key=airport", "key-split", ".operator-story")
}

// TestCheaperSplit: the page of a plan says why a key is split that would fit whole.
func TestCheaperSplit(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	api := site.URL + "/v1/operators/priced"
	tell(t, http.MethodPut, api, "", object{"instances": 4, "hash": object{"function": "reported"}, "theta_max": 0.05,
		"splitting": object{"max_parts": 4, "merge_cost": 0, "price": 5, "routing": "least_loaded"}}, nil)
	var keys []object
	for i, k := range []struct{ cost, state, home int }{
		{30, 1000, 0}, {20, 500, 0}, {25, 500, 1}, {25, 500, 2}, {10, 500, 3}, {10, 500, 3},
	} {
		keys = append(keys, object{"key": fmt.Sprintf("key-%d", i), "cost": k.cost, "state": k.state, "hash_instance": k.home})
	}
	var p struct{ ID string }
	tell(t, http.MethodPost, api+"/plans", "", object{"interval": 1, "keys": keys}, &p)
	page := open(t, site.URL, "/#/plans/"+p.ID, ".plan")
	page.WaitText("main", "it spares moving more state than its parts are worth")
	page.WaitText("main", "is worth more than a part, 5 of state")
	page.WaitText(".plan-facts", "each but the first is worth moving 5 of state")
	page.WaitText("main", "The loads of split keys are expectations")
	page.WaitText("main", "as far as is to be expected")
	page.Goto("/#/operators/priced/configuration")
	page.WaitText("main", "To the least loaded")
	page.WaitText("main", "Price of a part")
}
