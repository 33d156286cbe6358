package web_test

import (
	"net/http"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// TestQueues: the pages of a ring that is planned for by queue lengths alone, and of its plans.
func TestQueues(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	api := site.URL + "/v1/operators/reducers"
	tell(t, http.MethodPut, api, "", object{"instances": 4, "scheme": "ring",
		"hash": object{"tokens_per_instance": 8}}, nil)
	var p struct{ ID string }
	queues := func(interval int, lengths ...int) {
		list := []object{}
		for i, q := range lengths {
			list = append(list, object{"instance": i, "length": q})
		}
		tell(t, http.MethodPost, api+"/plans", "", object{"interval": interval, "queues": list}, &p)
	}
	queues(1, 310, 305, 300, 298)
	still := p.ID
	queues(2, 310, 900, 305, 298)
	page := open(t, site.URL, "/#/plans/"+p.ID, ".plan-headline")
	page.WaitText(".plan-headline", "Relieves instance 1: it gives up half of its tokens")
	page.WaitText(".plan", "its queue of 900 is longer than 372")
	page.WaitText(".plan", "Not known")
	glance(t, 1, page, "/#/plans/"+p.ID, "plan-queues", ".plan")
	widen(page)
	page.Goto("/#/plans/" + still)
	page.WaitText(".plan-headline", "Leaves the ring as it is")
	glance(t, 1, page, "/#/operators/reducers", "operator-queues", historyCard+" tbody")
	enter(widen(page), "/#/operators/reducers")
	page.WaitText("main", "queues alone")
}
