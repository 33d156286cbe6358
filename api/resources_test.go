package api_test

import (
	"net/http"
	"strings"
	"testing"

	"plannerd/sdk/go/wire"
)

const twoHosts = `"instances":[{"name":"w0","capacity":2,"capacities":{"memory":60}},{"name":"w1","capacities":{"memory":40}}]`

const cpuAndMemory = `"resources":[{"name":"cpu","theta_max":0.2},{"name":"memory","from":"state","limit":true}]`

// TestResourcesOfOperators sets resources and capacities, reads them back, changes them by patches, and
// is refused what contradicts itself.
func TestResourcesOfOperators(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{`+twoHosts+`,`+cpuAndMemory+`}`)
	first := e.do("GET", "/v1/operators/clicks", "").want(http.StatusOK)
	var op wire.Operator
	if first.into(&op); op.ThetaMax != 0.2 || len(*op.Resources) != 2 || (*op.Resources)[0].ThetaMax != nil ||
		(*op.Instances[0].Capacities)["memory"] != 60 {
		t.Fatalf("%s", first.body)
	}
	e.do("PUT", "/v1/operators/clicks", string(first.body)).want(http.StatusOK).into(&op)
	if op.ConfigVersion != 1 {
		t.Errorf("what was answered is another configuration: version %d", op.ConfigVersion)
	}
	e.do("PATCH", "/v1/operators/clicks", `{"resources":[{"name":"cpu","theta_max":0.1},{"name":"memory","from":"state","theta_max":1},
		{"name":"connections","limit":true}]}`, mergePatch).
		fails(http.StatusUnprocessableEntity, "invalid", "/instances/0/capacities")
	e.do("PATCH", "/v1/operators/clicks", `{"resources":[{"name":"cpu","theta_max":0.1},{"name":"memory","from":"state","limit":true},
		{"name":"keys","from":"count","theta_max":1}]}`, mergePatch).want(http.StatusOK).into(&op)
	if op.ThetaMax != 0.1 || op.ConfigVersion != 2 || len(*op.Resources) != 3 {
		t.Errorf("%+v", op)
	}
	e.do("PATCH", "/v1/operators/clicks", `{"theta_max":0.3}`, mergePatch).want(http.StatusOK)
	for body, where := range map[string]string{
		`{` + twoHosts + `,` + cpuAndMemory + `,"theta_max":0.3}`:                             "/resources/0/theta_max",
		`{` + twoHosts + `,"resources":[{"name":"cpu"},{"name":"memoy","theta_max":0}]}`:      "/instances/0/capacities",
		`{"instances":2,"resources":[{"name":"4pu"}]}`:                                        "/resources/0/name",
		`{"instances":2,"resources":[]}`:                                                      "/resources",
		`{"instances":2,"scheme":"ring","resources":[{"name":"cpu"}]}`:                        "/resources",
		`{"instances":2,"splitting":{"max_parts":2},"resources":[{"name":"cpu"}]}`:            "/splitting",
		`{"instances":2,"compact":{"degree":4},"resources":[{"name":"cpu"}]}`:                 "/compact",
		`{"instances":2,"resources":[{"name":"cpu"},{"name":"memory","from":"state","x":1}]}`: "/resources/1/x",
	} {
		e.do("PUT", "/v1/operators/other", body).fails(http.StatusUnprocessableEntity, "invalid", where)
	}
}

// TestResourcesNeedAmounts is refused statistics that do not tell what keys take of a resource.
func TestResourcesNeedAmounts(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"resources":[{"name":"cpu"},{"name":"network","theta_max":0.5}]}`)
	const plans = "/v1/operators/clicks/plans"
	a := e.do("POST", plans, `{"interval":1,"keys":[{"key":"a","cost":1}]}`).
		fails(http.StatusUnprocessableEntity, "invalid", "/costs")
	if !strings.Contains(string(a.body), "network") {
		t.Errorf("%s", a.body)
	}
	e.do("PATCH", "/v1/operators/clicks", `{"resources":[{"name":"cpu"}]}`, mergePatch).want(http.StatusOK)
	for _, body := range []string{
		`{"interval":1,"compact":{"records":[[0,0,1,1,3]]}}`, `{"interval":1,"compact":{"degree":2},"keys":[{"key":"a","cost":1}]}`,
	} {
		e.do("POST", plans, body).fails(http.StatusUnprocessableEntity, "invalid", "/compact")
	}
}
