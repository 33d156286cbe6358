package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// fillAnswer is what a what-if tells about instances that have too little.
type fillAnswer struct {
	Results []struct {
		Balanced  bool
		Filled    *bool
		Unfilled  []unfilled
		Instances []struct {
			LoadAfter float64
			LeastLoad *float64
			Unfilled  *unfilled
		}
	}
}

type unfilled struct {
	Instance int
	Cause    string
	Proven   bool
}

// Plans fill instances that have too little under theta_min, as far as their limits allow,
// and say what keeps the others short.
func TestThetaMin(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, c := range []struct{ operator, parameters, cause string }{
		{`"instances":3,"theta_min":0.5`, ``, ""},
		{`"instances":3`, `"theta_min":0.5`, ""},
		{`"instances":3,"theta_min":0.5,"table_limit":0`, ``, "table_limit"},
		{`"instances":3,"theta_min":0.5,"strategy":"optimal","objective":"min_imbalance","migration_limit":{"keys":0}`, ``,
			"budget"},
		{`"instances":3,"theta_min":0`, ``, "few_keys"},
		{`"instances":[{"id":0},{"id":1},{"id":2,"capacity":0.1}],"theta_min":0.5`, ``, "few_keys proven"},
		{`"instances":3,"theta_min":0.5,"work_budget":1`, ``, "budget"},
	} {
		var x fillAnswer
		e.do("POST", "/v1/what-if", `{"operator":{"theta_max":0.6,"hash":{"function":"reported"},`+c.operator+
			`},"parameters":{`+c.parameters+`},"keys":[`+jsonRows([]row{
			{"a", 1, 1, 0, 0}, {"b", 1, 1, 0, 0}, {"c", 1, 1, 1, 1}, {"d", 1, 1, 1, 1},
		})+`]}`).want(http.StatusOK).into(&x)
		r := x.Results[0]
		last := r.Instances[2]
		switch {
		case !r.Balanced || r.Filled == nil || *r.Filled != (len(r.Unfilled) == 0) || last.LeastLoad == nil:
			t.Errorf("%s: %+v", c.operator, r)
		case c.cause == "" && (len(r.Unfilled) > 0 || last.LoadAfter != 1):
			t.Errorf("%s: %+v", c.operator, r)
		case c.cause != "" && (len(r.Unfilled) != 1 || last.Unfilled == nil):
			t.Errorf("%s: %+v", c.operator, r)
		case c.cause != "":
			cause, proven := strings.CutSuffix(c.cause, " proven")
			if u := r.Unfilled[0]; u != (unfilled{2, cause, proven}) || last.Unfilled.Cause != cause {
				t.Errorf("%s: %+v, want %s", c.operator, u, c.cause)
			}
		}
	}
	body := e.do("POST", "/v1/what-if", `{"operator":{"instances":2},"keys":[{"key":"a","cost":1}]}`).want(http.StatusOK).body
	if text := string(body); strings.Contains(text, "filled") || strings.Contains(text, "least_load") {
		t.Errorf("nothing is asked for, and the answer is %s", body)
	}
}
