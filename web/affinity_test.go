package web_test

import (
	"net/http"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// TestAffinity: the pages say which keys stay together, in how many groups they are, and by what a key is routed.
func TestAffinity(t *testing.T) {
	t.Parallel()
	site := browsertest.NewEmpty(t, false)
	const orders = "/v1/operators/orders"
	tell(t, http.MethodPut, site.URL+orders, "", object{"instances": 2, "theta_max": 0.05, "hash": object{
		"function": "modulo", "affinity": object{"until": "/"}}}, nil)
	var keys []any
	for _, order := range []string{"order1", "order2", "order3", "order4", "order5", "order6"} {
		for i, part := range []string{"/total", "/lines", "/customer"} {
			keys = append(keys, object{"key": order + part, "cost": 10 + i*len(keys), "state": 5})
		}
	}
	var plan struct {
		ID string `json:"id"`
	}
	tell(t, http.MethodPost, site.URL+orders+"/plans", "", object{"interval": 1, "keys": keys}, &plan)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/#/operators/orders/configuration")
	p.WaitText(".operator-settings", "whose part before the first / is the same")
	p.Goto("/#/operators/orders/key?key=order1%2Fnew")
	p.WaitText("[aria-live]", "order1/new, routed as order1, goes to instance")
	p.Goto("/#/plans/" + plan.ID)
	p.WaitText("main", "18 keys in 6 groups")
}
