package api_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"plannerd/api"
	"plannerd/planner/policy"
	"plannerd/sdk/go/wire"
)

// drifting posts the statistics of intervals in which some costs are noise and one grows,
// and commits every plan. It returns the θ with which each interval met the table.
func (e *env) drifting(operator string, n int) (thetas []float64) {
	e.Helper()
	for i := 1; i <= n; i++ {
		var rows []string
		for k := range 40 {
			key, cost, state := driftingRow(i, k)
			rows = append(rows, fmt.Sprintf(`{"key":%q,"cost":%d,"state":%d}`, key, cost, state))
		}
		body := fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, i, strings.Join(rows, ","))
		var p wire.Plan
		e.do("POST", "/v1/operators/"+operator+"/plans", body).want(http.StatusCreated).into(&p)
		if p.Status == wire.PlanStatusApproved {
			e.verb(p.Id, "commit", stopped).want(http.StatusOK)
		}
		thetas = append(thetas, p.Theta.Before)
	}
	return thetas
}

// driftingRow is that of a key in an interval.
func driftingRow(i, k int) (key string, cost, state int) {
	cost = 10 + k%7
	if k == i%5 {
		cost += 40
	}
	if k == 39 {
		cost += 5 * i
	}
	return fmt.Sprintf("k%02d", k), cost, 3 + k%4
}

func (e *env) backtested(operator, body string) wire.BacktestReport {
	e.Helper()
	var r wire.BacktestReport
	e.do("POST", "/v1/operators/"+operator+"/backtest", body).want(http.StatusOK).into(&r)
	return r
}

// A backtest of the stored intervals runs as the service did: the paper's way, which was that
// of the operator, has the figures that the operator had.
func TestBacktest(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":4,"theta_max":0.05,"strategy":"mixed","hash":{"function":"modulo"}}`)
	thetas := e.drifting("clicks", 16)
	r := e.backtested("clicks", "")
	if r.Operator == nil || *r.Operator != "clicks" || r.Intervals != 16 || r.ThetaMax != 0.05 || len(r.Results) != 2 {
		t.Fatalf("%d intervals, θ_max %v, %d results", r.Intervals, r.ThetaMax, len(r.Results))
	}
	if r.Baseline.Strategy != wire.StrategyMixed || r.Baseline.Policy.Forecast.Method != "last" {
		t.Errorf("baseline %+v", r.Baseline)
	}
	judged := slices.Sorted(slices.Values(thetas[8:]))
	if got, want := r.Baseline.Judged.ThetaMedian, (judged[3]+judged[4])/2; math.Abs(got-want) > 1e-9 || want == 0 {
		t.Errorf("median θ of the baseline %v, that of the operator was %v", got, want)
	}
	if r.Baseline.Judged.Plans == 0 || r.Baseline.Judged.Moved == 0 {
		t.Errorf("the baseline moves nothing: %+v", r.Baseline.Judged)
	}
	if b := r.Baseline.Hindsight; b == nil || b.Bound > r.Baseline.Judged.Moved {
		t.Errorf("hindsight %+v, moved %v", b, r.Baseline.Judged.Moved)
	}
	if r.Recommended == nil || *r.Recommended < 0 || *r.Recommended >= len(r.Results) || r.Reason == "" {
		t.Fatalf("recommended %v: %s", r.Recommended, r.Reason)
	}
	if a := r.Auto; a == nil || a.Judged.Intervals != 8 || a.Next < 0 || a.Next >= len(r.Results) || a.Cost <= 0 ||
		r.BalanceWorth != policy.DefaultBalanceWorth {
		t.Errorf("auto %+v, balance is worth %v", a, r.BalanceWorth)
	}
	cheap := e.backtested("clicks", `{"balance_worth":1}`)
	if cheap.BalanceWorth != 1 || cheap.Results[0].Policy.MinimumBenefit == r.Results[0].Policy.MinimumBenefit {
		t.Errorf("balance is worth %v: %+v", cheap.BalanceWorth, cheap.Results[0].Policy)
	}
	if again := e.backtested("clicks", "{}"); again.Reason != r.Reason {
		t.Errorf("the same once more: %s, was %s", again.Reason, r.Reason)
	}
}

// What is asked for is what is run: the intervals, the tolerance, the policies.
func TestBacktestAsAsked(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":4,"theta_max":0.05,"hash":{"function":"modulo"}}`)
	e.drifting("clicks", 9)
	r := e.backtested("clicks", `{"from_interval":3,"to_interval":8,"theta_max":0.3,"policies":[
		{"forecast":{"method":"last"}},
		{"forecast":{"method":"ewma","alpha":0.35},"target_theta":0.2,"trigger":{"probability":0.5},"budget":0.1}]}`)
	if r.Intervals != 6 || r.ThetaMax != 0.3 || len(r.Results) != 2 {
		t.Fatalf("%d intervals, θ_max %v, %d results", r.Intervals, r.ThetaMax, len(r.Results))
	}
	if r.Recommended != nil || !strings.Contains(r.Reason, "6 intervals") {
		t.Errorf("recommended %v of six intervals: %s", r.Recommended, r.Reason)
	}
	second := r.Results[1].Policy
	if second.TargetTheta == nil || *second.TargetTheta != 0.2 || second.Budget == nil || *second.Budget != 0.1 ||
		second.Trigger == nil || second.Trigger.Probability == nil || *second.Trigger.Probability != 0.5 {
		t.Errorf("the second policy is %+v", second)
	}
	// Policies may come back as they were answered.
	e.do("POST", "/v1/operators/clicks/backtest", `{"policies":[{"forecast":{"method":"seasonal","alpha":0.5},
		"target_theta":null,"trigger":{"theta":null,"probability":null},"cooldown_intervals":2,"budget":null,
		"minimum_benefit":0.1}]}`).want(http.StatusOK)
	lines := e.do("POST", "/v1/operators/clicks/backtest", `{}`, "Accept: application/x-ndjson").want(http.StatusOK)
	text := strings.Split(strings.TrimSpace(string(lines.body)), "\n")
	if first, last := text[0], text[len(text)-1]; !strings.HasPrefix(first, `{"progress":{"phase":"planning","done":`) ||
		!strings.HasPrefix(last, `{"result":{"operator":"clicks"`) {
		t.Errorf("lines from %s to %.100s", first, last)
	}
}

// Intervals that come in the body are run over as stored ones are.
func TestBacktestOfRows(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":4,"theta_max":0.05,"table_limit":30,"hash":{"function":"modulo"}}`)
	e.drifting("clicks", 14)
	want := e.backtested("clicks", "")
	want.Operator = nil
	var rows, lines strings.Builder
	rows.WriteString("interval,key,cost,state\n")
	for i := 1; i <= 14; i++ {
		for k := range 40 {
			key, cost, state := driftingRow(i, k)
			fmt.Fprintf(&rows, "%d,%s,%d,%d\n", i, key, cost, state)
			fmt.Fprintf(&lines, "{\"interval\":%d,\"key\":%q,\"cost\":%d,\"state\":%d}\n", i, key, cost, state)
		}
	}
	const target = "/v1/analyses/backtest?instances=4&theta_max=0.05&table_limit=30&hash_function=modulo"
	for media, body := range map[string]string{csv: rows.String(), ndjson: lines.String()} {
		var got wire.BacktestReport
		e.do("POST", target, body, media).want(http.StatusOK).into(&got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-stored +rows):\n%s", media, diff)
		}
	}
	var other wire.BacktestReport
	e.do("POST", target+"&window=1&entry_grace=0", rows.String(), csv).want(http.StatusOK).into(&other)
	if other.Intervals != 14 {
		t.Errorf("%d intervals", other.Intervals)
	}
	told := string(e.do("POST", target, rows.String(), csv, "Accept: application/x-ndjson").want(http.StatusOK).body)
	if !strings.HasPrefix(told, `{"progress":{"phase":"planning"`) || !strings.Contains(told, `{"result":{"intervals":14`) {
		t.Errorf("lines %.200s", told)
	}
}

// A JSON body says of its intervals, and of the policies, what else stored ones and a
// query do.
func TestBacktestOfDocuments(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":4,"theta_max":0.05,"hash":{"function":"modulo"}}`)
	e.drifting("clicks", 14)
	const policies = `"policies":[{"forecast":{"method":"ewma","alpha":0.35},"target_theta":0.03},{"forecast":{"method":"last"}}]`
	want := e.backtested("clicks", "{"+policies+"}")
	want.Operator = nil
	var intervals []string
	for i := 1; i <= 14; i++ {
		var columns [3][]string
		for k := range 40 {
			key, cost, state := driftingRow(i, k)
			for c, value := range []string{strconv.Quote(key), strconv.Itoa(cost), strconv.Itoa(state)} {
				columns[c] = append(columns[c], value)
			}
		}
		intervals = append(intervals, fmt.Sprintf(`{"interval":%d,"columns":{"key":[%s],"cost":[%s],"state":[%s]}}`, i,
			strings.Join(columns[0], ","), strings.Join(columns[1], ","), strings.Join(columns[2], ",")))
	}
	body := `{"intervals":[` + strings.Join(intervals, ",") + `],"window":5,"operator":
		{"instances":4,"theta_max":0.05,"hash":{"function":"modulo"}},` + policies + `}`
	var got wire.BacktestReport
	e.do("POST", "/v1/analyses/backtest", body).want(http.StatusOK).into(&got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-stored +document):\n%s", diff)
	}
}

func TestBacktestOfDocumentsRefusals(t *testing.T) {
	e := newEnv(t)
	const target = "/v1/analyses/backtest"
	const first, operator = `{"interval":1,"keys":[{"key":"a","cost":1}]}`, `"operator":{"instances":2}`
	e.do("POST", target, `{`+operator+`,"intervals":[`+first+`]}`).want(http.StatusOK)
	e.do("POST", target+"?instances=2", `{}`).fails(http.StatusUnprocessableEntity, "invalid", "?instances")
	e.do("POST", target, `{`+operator+`,"intervals":[`+first+`}`).fails(http.StatusBadRequest, "malformed", "")
	e.do("POST", target, `{`+operator+`,"intervals":[`+first+`],`+operator+`}`).fails(http.StatusBadRequest, "malformed", "")
	e.do("POST", target, `{"intervals":[],"intervals":[]}`).fails(http.StatusBadRequest, "malformed", "")
	for body, at := range map[string]string{
		`{` + operator + `}`:                                                                                     "/intervals",
		`{` + operator + `,"intervals":[]}`:                                                                      "/intervals",
		`{` + operator + `,"intervals":{}}`:                                                                      "/intervals",
		`{"intervals":[` + first + `]}`:                                                                          "/operator",
		`{"operator":{"instances":0},"intervals":[` + first + `]}`:                                               "/operator/instances",
		`{"operator":{"instances":2,"scheme":"ring"},"intervals":[` + first + `]}`:                               "/operator/scheme",
		`{` + operator + `,"window":0,"intervals":[` + first + `]}`:                                              "/window",
		`{` + operator + `,"keys":[],"intervals":[` + first + `]}`:                                               "/keys",
		`{` + operator + `,"policies":[],"intervals":[` + first + `]}`:                                           "/policies",
		`{` + operator + `,"intervals":[` + first + `,` + first + `]}`:                                           "/intervals/1/interval",
		`{` + operator + `,"intervals":[` + first + `,{"interval":2}]}`:                                          "/intervals/1/keys",
		`{` + operator + `,"intervals":[{"keys":[{"key":"a","cost":1}]}]}`:                                       "/intervals/0/interval",
		`{` + operator + `,"intervals":[{"interval":1,"keys":[{"key":"a","cost":-1}]}]}`:                         "/intervals/0/keys/0/cost",
		`{` + operator + `,"intervals":[{"interval":1,"coverage":"partial","keys":[{"key":"a","cost":1}]}]}`:     "/intervals/0/coverage",
		`{` + operator + `,"intervals":[{"interval":1,"compact":{"records":[[0,0,1,1,1]]}}]}`:                    "/intervals/0",
		`{` + operator + `,"policies":[{"forecast":{"method":"last","alpha":0.5}}],"intervals":[` + first + `]}`: "/policies/0/forecast/alpha",
	} {
		e.do("POST", target, body).fails(http.StatusUnprocessableEntity, "invalid", at)
	}
}

func TestBacktestOfRowsRefusals(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Limits.Statistics.Bytes = 1 << 20 })
	const target = "/v1/analyses/backtest"
	const few = "interval,key,cost\n1,a,1\n2,a,1\n"
	e.do("POST", target+"?instances=2", few, csv).want(http.StatusOK)
	e.do("POST", target+"?instances=2", "{}", "Content-Type: text/plain").
		fails(http.StatusUnsupportedMediaType, "unsupported_media_type", "")
	e.do("POST", target+"?instances=2", few, csv, "Accept: text/csv").fails(http.StatusNotAcceptable, "not_acceptable", "")
	e.do("POST", target+"?instances=2", few, csv, "Content-Encoding: gzip").fails(http.StatusBadRequest, "malformed", "")
	e.do("POST", target+"?instances=2", "key,cost\n"+strings.Repeat("a,1\n", 1<<19), csv).
		fails(http.StatusRequestEntityTooLarge, "too_large", "")
	for query, at := range map[string]string{
		"": "?instances", "?instances=0": "?instances", "?instances=2&theta_max=-1": "?theta_max",
		"?instances=2&window=0": "?window", "?instances=2&hash_function=kafka": "?partitions",
		"?instances=2&hash_function=magic": "?hash_function", "?instances=65537": "?instances",
		"?instances=99999999999": "?instances", "?instances=0:0": "?instances",
	} {
		e.do("POST", target+query, few, csv).fails(http.StatusUnprocessableEntity, "invalid", at)
	}
	for body, at := range map[string]string{
		"interval,key,cost\n2,a,1\n1,a,1\n":                       "/1/interval",
		"interval,key,cost\n1,a,-1\n":                             "/0/cost",
		"interval,instance,hash_instance,cost,count\n1,0,0,1,2\n": "",
		"interval,key,cost,instance\n1,a,1,7\n":                   "",
	} {
		e.do("POST", target+"?instances=2", body, csv).fails(http.StatusUnprocessableEntity, "invalid", at)
	}
}

// A θ_max of any size that the contract allows is answered for, and the policies may come
// back as they were answered.
func TestBacktestToleranceOfAnySize(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":4,"hash":{"function":"modulo"}}`)
	e.drifting("clicks", 3)
	for _, thetaMax := range []string{`"1e302%"`, "1e-10", "0"} {
		r := e.backtested("clicks", `{"theta_max":`+thetaMax+`}`)
		if target := *r.Results[0].Policy.TargetTheta; (target == 0) != (thetaMax == "0") {
			t.Errorf("θ_max %s, target %v", thetaMax, target)
		}
		policies, err := json.Marshal(r.Results[0].Policy)
		if err != nil {
			t.Fatal(err)
		}
		e.backtested("clicks", `{"theta_max":`+thetaMax+`,"policies":[`+string(policies)+`]}`)
	}
}

// The newest intervals count, up to the first one whose statistics are not kept.
func TestBacktestOfWhatIsKept(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":4,"theta_max":0.05,"hash":{"function":"modulo"},"retention":{"inputs":5}}`)
	e.drifting("clicks", 8)
	if r := e.backtested("clicks", ""); r.Intervals != 5 {
		t.Errorf("%d intervals, 5 inputs are kept", r.Intervals)
	}
	e.do("PUT", "/v1/operators/clicks",
		`{"instances":3,"theta_max":0.05,"hash":{"function":"modulo"},"retention":{"inputs":5}}`).want(http.StatusOK)
	if r := e.backtested("clicks", ""); r.Intervals != 5 {
		t.Errorf("%d intervals after a rescale", r.Intervals)
	}
	e.operator("blind", `{"instances":4,"theta_max":0.05,"hash":{"function":"modulo"},"store_inputs":false}`)
	e.drifting("blind", 2)
	e.do("POST", "/v1/operators/blind/backtest", "").fails(http.StatusGone, "purged", "")
}

func TestBacktestRefusals(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":4,"theta_max":0.05,"hash":{"function":"modulo"}}`)
	e.do("POST", "/v1/operators/clicks/backtest", "").fails(http.StatusNotFound, "interval_not_found", "")
	e.do("POST", "/v1/operators/none/backtest", "").fails(http.StatusNotFound, "operator_not_found", "")
	e.operator("tokens", `{"instances":2,"scheme":"ring"}`)
	e.do("POST", "/v1/operators/tokens/backtest", "").fails(http.StatusConflict, "no_routing_table", "")
	e.operator("classes", allAtHome)
	e.do("POST", "/v1/operators/classes/plans",
		`{"interval":1,"compact":{"degree":2,"state_scale":3,"records":[[0,0,4,1,4],[1,1,2,2,2]]}}`).want(http.StatusCreated)
	e.do("POST", "/v1/operators/classes/backtest", "").fails(http.StatusConflict, "keys_not_known", "")
	const target = "/v1/operators/clicks/backtest"
	e.do("POST", target, "{}", csv).fails(http.StatusUnsupportedMediaType, "unsupported_media_type", "")
	e.do("POST", target, "{}", "Accept: text/csv").fails(http.StatusNotAcceptable, "not_acceptable", "")
	e.do("POST", target, `{"theta_max":`+strings.Repeat(" ", 9<<20)+`0}`).
		fails(http.StatusRequestEntityTooLarge, "too_large", "")
	for body, at := range map[string]string{
		`{"policies":[{"forecast":{"method":"last","alpha":0.5}}]}`:                               "/policies/0/forecast/alpha",
		`{"policies":[{"forecast":{"method":"last"}},{"forecast":{"method":"ewma","period":7}}]}`: "/policies/1/forecast/period",
		`{"policies":[{"forecast":{"method":"seasonal","period":1}}]}`:                            "/policies/0/forecast/period",
		`{"policies":[{"forecast":{"method":"magic"}}]}`:                                          "/policies/0/forecast/method",
		`{"policies":[{"target_theta":0.1}]}`:                                                     "/policies/0/forecast",
		`{"theta":0.1}`:                                                                           "/theta",
		`{"policies":[{"forecast":{"method":"last"},"minimum_benefit":1e300}]}`:                   "/policies/0/minimum_benefit",
		`{"policies":[{"forecast":{"method":"last"},"trigger":{"theta":1e300}}]}`:                 "/policies/0/trigger/theta",
	} {
		e.do("POST", target, body).fails(http.StatusUnprocessableEntity, "invalid", at)
	}
}
