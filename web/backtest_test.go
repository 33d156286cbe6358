package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
)

const backtestRows = ".backtest-table tbody tr"

// backtestResult is what a policy came to.
type backtestResult struct {
	Policy    object        `json:"policy"`
	Judged    judgedFigures `json:"judged"`
	Cost      float64       `json:"cost"`
	Hindsight *struct {
		Bound float64 `json:"bound"`
	} `json:"hindsight"`
	Pareto bool `json:"pareto"`
}

// judgedFigures are those of the intervals that it was not chosen by.
type judgedFigures struct {
	Above  float64 `json:"above"`
	Median float64 `json:"theta_median"`
	P95    float64 `json:"theta_p95"`
	Moved  float64 `json:"moved"`
	Plans  int     `json:"plans"`
}

// backtestReport is the answer of a backtest.
type backtestReport struct {
	Baseline    backtestResult   `json:"baseline"`
	Results     []backtestResult `json:"results"`
	Recommended *int             `json:"recommended"`
	Auto        struct {
		Judged judgedFigures `json:"judged"`
		Cost   float64       `json:"cost"`
		Next   int           `json:"next"`
	} `json:"auto"`
	Floor struct {
		Median float64 `json:"median"`
	} `json:"noise_floor"`
}

// noisyOperator makes an operator with so many intervals, in which some costs are noise
// and one grows.
func noisyOperator(t *testing.T, server, operator string, intervals int) {
	t.Helper()
	tell(t, http.MethodPut, server+"/v1/operators/"+operator, "",
		object{"instances": 3, "theta_max": 0.05, "hash": object{"function": "modulo"}}, nil)
	for i := range intervals {
		keys := make([]object, 24)
		for k := range keys {
			keys[k] = object{"key": fmt.Sprintf("k%02d", k), "cost": 10 + k%7, "state": 3 + k%4}
		}
		keys[i%5]["cost"], keys[23]["cost"] = 50+i%5, 16+5*i
		tell(t, http.MethodPost, server+"/v1/operators/"+operator+"/plans", "",
			object{"interval": i + 1, "keys": keys}, nil)
	}
}

// isPercent says whether a text is a percentage that is x but for its rounding.
func isPercent(t *testing.T, text string, x float64) bool {
	t.Helper()
	return math.Abs(percentOf(t, text)-x) <= 0.005*math.Abs(x)+1e-9
}

// TestBacktest: the page of an operator leads to a backtest that runs on request, draws
// each policy, tells the same as a table, and gives the recommended policy away.
func TestBacktest(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	noisyOperator(t, site.URL, "noisy", 16)
	var want backtestReport
	tell(t, http.MethodPost, site.URL+"/v1/operators/noisy/backtest", "", object{"theta_max": 0.06}, &want)
	if want.Recommended == nil {
		t.Fatal("no policy is recommended")
	}
	best := want.Results[*want.Recommended]

	p := open(t, site.URL, "/#/operators/noisy", historyCard+" tbody")
	p.Click(`.tabs a[href$="/backtest"]`)
	p.WaitUntil(`document.querySelector('#backtest-theta')?.value === '0.05'`)
	if p.Count(".analyses-progress") != 0 {
		t.Error("a backtest runs that nobody asked for")
	}
	p.Fill("#backtest-theta", "0.06")
	release := p.Hold("/backtest$")
	p.Press("Enter")
	p.WaitFor(".analyses-progress progress")
	release()
	p.WaitFor(backtestRows)
	p.WaitUntil(settled)

	checkPolicies(t, p, &want)
	checkMarks(t, p, &want)
	p.WaitText(".analyses-recommended", "of θ an interval, of which")
	p.WaitText(".analyses-recommended", "cannot be held by moving keys")
	p.Click(".backtest-json summary")
	var policy object
	if err := json.Unmarshal([]byte(p.Text(".backtest-json code")), &policy); err != nil ||
		!reflect.DeepEqual(policy, best.Policy) {
		t.Errorf("the policy is %v, want %v: %v", policy, best.Policy, err)
	}

	p.WaitText(".backtest-advice", "noise floor")

	p.Click(".backtest-table th:nth-child(6) .sort")
	p.WaitText(".backtest-table th[aria-sort=ascending]", "θ median")
	medians := column(p, "Policies", 5)
	if !slices.IsSortedFunc(medians, func(a, b string) int { return int(1e4 * (percentOf(t, a) - percentOf(t, b))) }) {
		t.Errorf("not sorted by the median: %v", medians)
	}
	look(t, p, "/#/operators/noisy/backtest?theta_max=0.06", "backtest", backtestRows)
	widen(p)

	// The recommended policy leads to a command that sets it, and nothing else.
	p.Click(".analyses-recommended a.button")
	p.WaitText(".operator-policy", "It is not in effect yet")
	command := p.Text(".operator-policy code")
	if !strings.Contains(command, "curl -X PATCH") || !strings.Contains(command, site.URL+"/v1/operators/noisy") {
		t.Errorf("the command is %s", command)
	}
	_, patch, _ := strings.Cut(command, "<<'ROWS'\n")
	patch, _, _ = strings.Cut(patch, "\nROWS")
	if err := json.Unmarshal([]byte(patch), &policy); err != nil ||
		!reflect.DeepEqual(policy["policy"], best.Policy) {
		t.Errorf("the patch is %s, want %v: %v", patch, best.Policy, err)
	}
}

// checkPolicies holds the table against the answer.
func checkPolicies(t *testing.T, p *browsertest.Page, want *backtestReport) {
	t.Helper()
	rows := cells(p, "Policies")
	all := append([]backtestResult{want.Baseline}, want.Results...)
	all = append(all, backtestResult{Judged: want.Auto.Judged, Cost: want.Auto.Cost})
	if len(rows) != len(all) {
		t.Fatalf("%d rows, want %d", len(rows), len(all))
	}
	for i, row := range rows {
		r := all[i].Judged
		same := isPercent(t, row[4], r.Above) && isPercent(t, row[5], r.Median) && isPercent(t, row[6], r.P95) &&
			isPercent(t, row[7], r.Moved) && isPercent(t, row[8], all[i].Cost) && row[9] == strconv.Itoa(r.Plans)
		if h := all[i].Hindsight; h == nil && row[10] != "–" || h != nil && !isPercent(t, row[10], h.Bound) {
			same = false
		}
		if marked := strings.Contains(row[0], "●"); !same || marked != all[i].Pareto {
			t.Errorf("row %d says %q of %+v", i, row, all[i])
		}
		if got := strings.Contains(row[1], "recommended"); got != (i == *want.Recommended+1) {
			t.Errorf("row %d says %q, recommended is %d", i, row[1], *want.Recommended)
		}
		if got := strings.HasPrefix(row[1], "Chosen again and again"); got != (i == len(all)-1) {
			t.Errorf("row %d says %q", i, row[1])
		}
		if got := strings.Contains(row[1], "the paper's way"); got != (i == 0) {
			t.Errorf("row %d says %q", i, row[1])
		}
	}
}

// checkMarks holds the marks of the chart against the answer.
func checkMarks(t *testing.T, p *browsertest.Page, want *backtestReport) {
	t.Helper()
	got := browsertest.Eval[map[string][][]float64](p, `import('echarts').then(({ getInstanceByDom }) => {
		const { series } = getInstanceByDom(document.querySelector('.chart-place')).getOption()
		const lines = series.flatMap((s) => s.markLine?.data ?? []).map((l) => [l.name, [[l.xAxis ?? l.yAxis]]])
		return Object.fromEntries([...lines, ...series.filter((s) => s.type === 'scatter').map((s) =>
			[s.name, s.data.map((d) => d.value)])])
	})`)
	best := want.Results[*want.Recommended]
	point := func(r backtestResult) []float64 { return []float64{r.Judged.Moved, r.Judged.Median} }
	marks := map[string][][]float64{
		"recommended": {point(best)}, "the paper's way": {point(want.Baseline)},
		"auto":   {point(backtestResult{Judged: want.Auto.Judged})},
		"policy": nil, "θ_max": {{0.06}}, "hindsight bound": {{best.Hindsight.Bound}},
	}
	for i, r := range want.Results {
		if i != *want.Recommended {
			marks["policy"] = append(marks["policy"], point(r))
		}
	}
	if !maps.EqualFunc(got, marks, func(a, b [][]float64) bool { return slices.EqualFunc(a, b, slices.Equal) }) {
		t.Errorf("the chart has %v, want %v", got, marks)
	}
	if off := browsertest.Eval[float64](p, `import('echarts').then(({ getInstanceByDom }) => {
		const chart = getInstanceByDom(document.querySelector('.chart-place'))
		const drawn = chart.getZr().storage.getDisplayList(true).map((e) => e.shape).filter((s) => s?.x1 && s.x1 === s.x2)
		const place = chart.convertToPixel({ xAxisIndex: 0 }, `+jsonOf(t, best.Hindsight.Bound)+`)
		return Math.min(...drawn.map((s) => Math.abs(s.x1 - place)))
	})`); off > 1 {
		t.Errorf("the bound is drawn %v pixels from its place", off)
	}
}

// TestBacktestWithoutAnswer: where no policy can be recommended the page says why, and
// shows what is wrong as other pages do.
func TestBacktestWithoutAnswer(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	noisyOperator(t, site.URL, "brief", 6)
	p := open(t, site.URL, "/#/operators/brief/backtest?theta_max=0.05", backtestRows)
	p.WaitText(".analyses-recommended", "There are 6 intervals")
	if p.Count(".backtest-json, .backtest-best") != 0 {
		t.Error("a policy is recommended")
	}

	p.Expect(`status of 4(04|09|10)`)
	p.Goto("/#/operators/idle/backtest?theta_max=0.05")
	p.WaitText(".trouble", "has no statistics yet")
	p.Goto("/#/operators/products/backtest?theta_max=0.05")
	p.WaitText(".trouble", "A backtest plans routing tables.")
	if p.Count(`.tabs a[href$="/backtest"]`) != 0 {
		t.Error("the page of a ring leads to a backtest")
	}
}
