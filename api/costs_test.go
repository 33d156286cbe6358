package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/input/stored"
	"plannerd/planner"
)

// storedCosts are the amounts of resources in the statistics that a plan was made of, as they are stored.
func (e *env) storedCosts(plan string) []planner.Amounts {
	e.Helper()
	blob, err := e.store.Input(e.Context(), plan)
	if err != nil {
		e.Fatal(err)
	}
	s, _, err := stored.DecodeInput(blob)
	if err != nil {
		e.Fatal(err)
	}
	return s.Costs
}

func sameAmounts(got []planner.Amounts, want ...planner.Amounts) bool {
	return slices.EqualFunc(got, want, func(x, y planner.Amounts) bool {
		return x.Name == y.Name && slices.Equal(x.Rows, y.Rows) && slices.Equal(x.Residual, y.Residual)
	})
}

// TestCosts: what keys take of resources is the same, whatever it travels as, is stored, and tells
// statistics apart. Resources that the operator does not have are kept as well.
func TestCosts(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2,"resources":[{"name":"cpu"},{"name":"network","theta_max":0.5}]}`)
	const target = "/v1/operators/clicks/plans"
	first := e.do("POST", target, `{"interval":1,"keys":[{"key":"a","cost":1,"costs":{"network":3,"GPU":1}},
		{"key":"b","cost":2}]}`).want(http.StatusCreated).plan()
	if got := e.storedCosts(first.Id); !sameAmounts(got, planner.Amounts{Name: "GPU", Rows: []float64{1, 0}},
		planner.Amounts{Name: "network", Rows: []float64{3, 0}}) {
		t.Errorf("%v", got)
	}
	s := &planner.Statistics{Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 2}, Costs: []planner.Amounts{
		{Name: "network", Rows: []float64{3, 0}}, {Name: "GPU", Rows: []float64{1, 0}}}}
	for _, same := range [][]string{
		{target, `{"interval":1,"columns":{"key":["a","b"],"cost":[1,2],"costs":{"GPU":[1,0],"network":[3,0]}}}`},
		{target + "?interval=1", "key,cost,cost.network,cost.GPU\nb,2,0,\na,1,3,1\n", csv},
		{target + "?interval=1", `{"key":"b","cost":2,"costs":{}}` + "\n" +
			`{"key":"a","cost":1,"costs":{"GPU":1,"network":3}}`, ndjson},
		{target + "?interval=1", arrowOf(t, -1, s), arrowStream},
		{target + "?interval=1&columns=key%3DUser,cost%3DCPU,cost.network%3DOut,cost.GPU%3DGPU",
			"User,CPU,Out,GPU\na,1,3,1\nb,2,0,0\n", csv},
	} {
		if p := e.do("POST", same[0], same[1], same[2:]...).want(http.StatusOK).plan(); p.Id != first.Id {
			t.Errorf("%s: plan %s, want %s", same[1], p.Id, first.Id)
		}
	}
	e.do("POST", target+"?interval=1", "key,cost,cost.network,cost.GPU\nb,2,0,\na,1,3.5,1\n", csv).
		fails(http.StatusConflict, "interval_planned", "")
}

func TestCostsRefused(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2}`)
	const target = "/v1/operators/clicks/plans"
	for body, at := range map[string]string{
		`{"interval":1,"keys":[{"key":"a","cost":1},{"key":"b","cost":1,"costs":{"cpu":-1}}]}`: "/keys/1/costs/cpu",
		`{"interval":1,"keys":[{"key":"a","cost":1,"costs":{"9":1}}]}`:                         "/keys/0/costs/9",
		`{"interval":1,"columns":{"key":["a"],"cost":[1],"costs":{"cpu":[1,2]}}}`:              "/columns/costs/cpu",
		`{"interval":1,"keys":[],"coverage":"partial","residual":[{"instance":1,"costs":{"a-b":1}}]}`: "/residual/0/costs/" +
			"a-b",
		`{"interval":1,"keys":[],"coverage":"partial","residual":[{"instance":1,"costs":{"cpu":-1}}]}`: "/residual/0/costs/" +
			"cpu",
		`{"interval":1,"compact":{"records":[]},"coverage":"partial","residual":[{"instance":1,"costs":{"cpu":1}}]}`: "" +
			"/residual/0/costs/cpu",
	} {
		e.do("POST", target, body).fails(unprocessable, "invalid", at)
	}
	a := e.do("POST", target+"?interval=1", "key,cost,cost.cpu\na,1,2\nb,1,much\n", csv)
	a.fails(unprocessable, "invalid", "/1/costs/cpu")
	if !strings.Contains(string(a.body), `\"much\" is not a number`) || !strings.Contains(string(a.body), `"line":3`) {
		t.Errorf("%s", a.body)
	}
}

// TestCostsOfReports: reports of instances are added up, and so is what keys without rows take.
func TestCostsOfReports(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2}`)
	report := func(instance, body string) {
		e.do("PUT", "/v1/operators/clicks/intervals/1/reports/"+instance, body).want(http.StatusCreated)
	}
	report("0", `{"keys":[{"key":"a","cost":1,"costs":{"network":3}},{"key":"b","cost":1,"costs":{"network":4}}]}`)
	report("1", `{"coverage":"partial","residual":[{"instance":1,"cost":1,"keys":2,"costs":{"disk":7,"network":2}}],
		"keys":[{"key":"a","cost":1,"costs":{"network":5,"disk":6}}]}`)
	p := e.planOfReports(1, "").want(http.StatusCreated).plan()
	// b is at home on 1, whose report is partial: it is left where it is, as a part of the rest of 0.
	if got := e.storedCosts(p.Id); !sameAmounts(got,
		planner.Amounts{Name: "disk", Rows: []float64{6}, Residual: []float64{0, 7}},
		planner.Amounts{Name: "network", Rows: []float64{8}, Residual: []float64{4, 2}}) {
		t.Errorf("%v", got)
	}
}

// TestCostsTogether: keys of one routed key take what they take together, and keys that only earlier
// intervals name take nothing.
func TestCostsTogether(t *testing.T) {
	e := newEnv(t)
	e.operator("orders", `{"instances":2,"hash":{"affinity":{"until":"/"}}}`)
	p := e.do("POST", "/v1/operators/orders/plans", `{"interval":1,"keys":[{"key":"7/a","cost":1,"costs":{"network":3}},
		{"key":"8/a","cost":1},{"key":"7/b","cost":1,"costs":{"network":4}}]}`).want(http.StatusCreated).plan()
	if got := e.storedCosts(p.Id); !sameAmounts(got, planner.Amounts{Name: "network", Rows: []float64{7, 0}}) {
		t.Errorf("%v", got)
	}
	e.operator("sums", `{"instances":2,"window":2}`)
	const target = "/v1/operators/sums/plans"
	e.do("POST", target, `{"interval":1,"keys":[{"key":"a","cost":1,"state":1,"costs":{"network":3}}]}`).
		want(http.StatusCreated)
	p = e.do("POST", target, `{"interval":2,"keys":[{"key":"b","cost":1,"state":1,"costs":{"network":5}}]}`).
		want(http.StatusCreated).plan()
	if got := e.storedCosts(p.Id); !sameAmounts(got, planner.Amounts{Name: "network", Rows: []float64{5, 0}}) {
		t.Errorf("%v", got)
	}
}
