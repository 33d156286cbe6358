package web_test

import (
	"fmt"
	"net/http"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// TestBatches: a plan in batches shows them, which one is handed over, and where it stopped.
func TestBatches(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	tell(t, http.MethodPut, server.URL+"/v1/operators/parts", "", object{"instances": 2, "theta_max": 0.05,
		"hash": object{"function": "reported"}, "batches": object{"keys": 1}, "transfer_rate": 1000}, nil)
	keys := []object{}
	for i := range 6 {
		keys = append(keys, object{"key": fmt.Sprint("k", i), "cost": 10, "state": 100 + i, "hash_instance": 0})
	}
	var plan planned
	tell(t, http.MethodPost, server.URL+"/v1/operators/parts/plans", "", object{"interval": 1, "keys": keys}, &plan)
	p := open(t, server.URL, "/#/plans/"+plan.ID, ".plan-head")
	do := func(verb string, in any) {
		t.Helper()
		tell(t, http.MethodPost, server.URL+"/v1/plans/"+plan.ID+"/"+verb, "", in, nil)
		renew(p)
	}
	do("start", object{"executor": "job-manager-1"})
	p.WaitText("main", "0 of 3 batches committed")
	p.WaitText("main", "Routing table between batches: 3 entries at most.")
	if got := column(p, "Batches in", 6); fmt.Sprint(got) != "[handed over – –]" {
		t.Errorf("versions %q", got)
	}
	p.Axe()
	do("acks", object{"instances": []int{0, 1}, "batch": 1})
	do("stop", object{})
	p.WaitText("main", "1 of 3 batches committed; it ends with batch 2")
	do("acks", object{"instances": []int{0, 1}, "batch": 2})
	p.WaitText("main", "2 of 3 batches committed; it ended with batch 2")
	if got := column(p, "Batches in", 6); fmt.Sprint(got) != "[1 2 –]" {
		t.Errorf("versions %q", got)
	}
	p.WaitText("main", "all instances have finished batch 1")
	p.WaitText("main", "it ends with batch 2")
	p.Goto("/#/operators/parts/configuration")
	p.WaitText("main", "Handing over in batches")
}
