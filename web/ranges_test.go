package web_test

import (
	"fmt"
	"net/http"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// TestRanges: the pages of an operator of key ranges in which an instance joins, and of its
// plans, while everything is put and once everybody answers.
func TestRanges(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	api := site.URL + "/v1/operators/shuffle"
	configure := func(instances int, phase string) {
		tell(t, http.MethodPut, api, "", object{"instances": instances, "scheme": "ranges", "theta_max": 0.1,
			"ranges": object{"phase": phase}, "reports": object{"lease": "30s"}}, nil)
	}
	keys := []object{}
	for i := range 400 {
		keys = append(keys, object{"key": fmt.Sprintf("user:%04d", i*i%1000*1000+i), "cost": 1 + i%7, "state": 3})
	}
	var p struct{ ID string }
	plan := func(interval int) {
		tell(t, http.MethodPost, api+"/plans", "", object{"interval": interval, "keys": keys}, &p)
	}
	step := func(verb string, body object) {
		tell(t, http.MethodPost, site.URL+"/v1/plans/"+p.ID+"/"+verb, "", body, nil)
	}
	configure(3, "put")
	plan(1)
	step("commit", object{"stopped": true})
	page := open(t, site.URL, "/#/plans/"+p.ID, ".plan-headline")
	page.WaitText(".plan-headline", "Gives every key its first owner")
	page.WaitText(".plan", "put: nobody answers yet")
	page.Goto("/#/operators/shuffle")
	page.WaitText("main", "phase put: nobody answers yet")
	configure(3, "get")
	plan(2)
	page.Goto("/#/plans/" + p.ID)
	page.WaitText(".plan-headline", "Moves nothing; with it, the owners of ranges answer")
	step("commit", object{"stopped": true})
	configure(4, "get")
	plan(3)
	step("start", object{"executor": "shuffler"})
	step("acks", object{"instances": []int{0, 3}})
	glance(t, 1, page, "/#/plans/"+p.ID, "plan-ranges-join", ".plan")
}
