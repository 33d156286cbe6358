package web_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
)

type thetas struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// listedPlan is a plan of a list.
type listedPlan struct {
	ID       string `json:"id"`
	Epoch    int64  `json:"epoch"`
	Interval int64  `json:"interval"`
	Status   string `json:"status"`
	Theta    thetas `json:"theta"`
	Forecast *struct {
		Without, With *struct{ Median, Probability float64 }
		NoiseFloor    *struct{ Median, P95 float64 } `json:"noise_floor"`
	} `json:"forecast"`
	Table struct {
		Before int64 `json:"size_before"`
		After  int64 `json:"size_after"`
	} `json:"routing_table"`
}

// operatorPlans are the plans of an operator, newest first.
func operatorPlans(t *testing.T, server, operator, query string) []listedPlan {
	t.Helper()
	var page struct {
		Plans []listedPlan `json:"plans"`
	}
	ask(t, server+"/v1/operators/"+operator+"/plans?page_size=1000&"+query, "", &page)
	if len(page.Plans) == 0 {
		t.Fatalf("%s has no plans of %q", operator, query)
	}
	return page.Plans
}

// tableRows are the texts of a table's cells.
func tableRows(p *browsertest.Page, table string) [][]string {
	return browsertest.Eval[[][]string](p, `[...document.querySelectorAll(`+strconv.Quote(table+" tbody tr")+
		`)].map((r) => [...r.cells].map((c) => c.textContent.trim()))`)
}

const historyCard = ".operator-history"

// waitRows waits until the history has so many rows.
func waitRows(p *browsertest.Page, n int) {
	p.WaitUntil(fmt.Sprintf("document.querySelectorAll('%s tbody tr').length === %d && !document.querySelector('%s "+
		"[aria-busy=true]')", historyCard, n, historyCard))
}

// percentOf reads a percentage.
func percentOf(t *testing.T, text string) float64 {
	t.Helper()
	number, ok := strings.CutSuffix(strings.ReplaceAll(text, ",", ""), " %")
	x, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil {
		t.Fatalf("%q is no percentage", text)
	}
	return x / 100
}

// TestOperatorHistoryFits: the plans need no sideways scrolling on a tablet.
func TestOperatorHistoryFits(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Page(t, browsertest.Filled(t).URL)
	for _, width := range []int64{640, 799, 800, 899} {
		p.Viewport(width, 900, false)
		p.Goto("/#/operators/clicks")
		p.WaitFor(historyCard + " tbody")
		p.WaitUntil(settled)
		over := browsertest.Eval[int64](p, `(() => { const e = document.querySelector('.operator-history .table-scroll')
			return e.scrollWidth - e.clientWidth })()`)
		if over > 0 {
			t.Errorf("%d pixels stick out of %d", over, width)
		}
	}
}

func TestOperator(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	look(t, p, "/#/operators/clicks", "operator", historyCard+" tbody")

	plans := operatorPlans(t, site.URL, "clicks", "")
	enter(widen(p), "/#/operators/clicks")
	waitRows(p, len(plans))
	for i, row := range tableRows(p, historyCard) {
		want := plans[i]
		said, _, _ := strings.Cut(row[3], ",")
		before, after, differ := strings.Cut(said, " → ")
		if !differ {
			after = before
		}
		theta, grain := want.Theta, 0.005
		if f := want.Forecast; f != nil && f.With != nil {
			theta, grain = thetas{f.Without.Median, f.With.Median}, 0.05 // what is expected has two digits
			if floor := f.NoiseFloor; floor != nil && f.Without.Median <= floor.P95 {
				theta = thetas{floor.Median, floor.Median}
			}
		}
		if row[0] != strconv.FormatInt(want.Interval, 10) ||
			math.Abs(percentOf(t, before)-theta.Before) > grain*theta.Before ||
			math.Abs(percentOf(t, after)-theta.After) > grain*theta.After ||
			row[6] != fmt.Sprintf("%d → %d", want.Table.Before, want.Table.After) {
			t.Errorf("row %d says %q of %+v", i, row, want)
		}
	}

	// Each chart tells the same as a table, whose rows lead to the plans.
	p.WaitUntil(settled) // nothing moves away below the click
	p.Click(".chart-data summary")
	p.WaitFor(".chart-data tbody tr")
	if got := tableRows(p, ".chart-data"); len(got) != len(plans) || got[0][0] != "interval "+
		strconv.FormatInt(plans[0].Interval, 10) {
		t.Errorf("the table of the chart says %q", got)
	} else if waits := got[1]; !slices.Equal(waits[3:5], []string{"1.97 %", "no"}) || got[0][3] != "–" || got[25][4] != "yes" {
		t.Errorf("what was planned and what came true is not told apart: %q", got)
	}
	// What was planned stands beside what it came to in the interval after it as well.
	if got := tableRows(p, ".chart-data"); got[0][6] != "–" || got[24][6] != got[25][3] {
		t.Errorf("what was planned is not beside what was realised: %q", got)
	}
	p.WaitText(".operator-note", "the median of θ realised was")
	p.WaitText(".stats", "moved for nothing")

	p.Click(".operator-now a")
	p.WaitUntil(`location.hash === '#/plans/` + site.Plans.Proposed + `'`)
}

// TestOperatorFilling: an instance that was added is said to be filled until it is.
func TestOperatorFilling(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	operator := site.URL + "/v1/operators/grows"
	tell(t, http.MethodPut, operator, "", object{"instances": 4, "theta_max": 0.5}, nil)
	interval := func(i int) (plan struct{ ID string }) {
		text := "key,cost\n"
		for k := range 60 {
			text += fmt.Sprintf("key %d,10\n", k)
		}
		tell(t, http.MethodPost, fmt.Sprintf("%s/plans?interval=%d", operator, i), "", rows(text), &plan)
		return plan
	}
	interval(1)
	tell(t, http.MethodPatch, operator, "", patch{"instances": 5}, nil)
	plan := interval(2)
	p := open(t, site.URL, "/#/operators/grows", historyCard+" tbody")
	p.WaitText(".operator-filling", "being filled")
	tell(t, http.MethodPost, site.URL+"/v1/plans/"+plan.ID+"/commit", "", object{"stopped": true}, nil)
	renew(p)
	p.WaitUntil(`!document.querySelector('.operator-filling')`)
}

// TestOperatorOfRing: what a plan under way would do is said to be planned, and its sizes
// are of tokens.
func TestOperatorOfRing(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/operators/products", historyCard+" tbody")
	p.WaitText(".stat-note", "planned: within")
	p.WaitUntil(`[...document.querySelectorAll('` + historyCard + ` th')].some((th) => th.textContent.trim() === 'Tokens')`)
}

// TestOperatorChart: a click anywhere in a chart opens the plan of the interval there.
func TestOperatorChart(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/#/operators/clicks")
	p.WaitFor(".operator-charts canvas")
	p.WaitUntil(settled)
	plans := operatorPlans(t, site.URL, "clicks", "")
	p.Click(".operator-charts .chart-place")
	p.WaitUntil(`location.hash.startsWith('#/plans/')`)
	id := strings.TrimPrefix(browsertest.Eval[string](p, "location.hash"), "#/plans/")
	at := slices.IndexFunc(plans, func(l listedPlan) bool { return l.ID == id })
	if middle := len(plans) / 2; at < middle-2 || at > middle+2 {
		t.Errorf("the middle of %d intervals leads to the plan %d of %v", len(plans), at, id)
	}
}

// TestOperatorFilters: what is looked for is in the address, and found again by it.
func TestOperatorFilters(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	committed := operatorPlans(t, site.URL, "clicks", "status=committed")
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/#/operators/clicks?last=30")
	p.WaitFor(historyCard + " tbody")
	p.Fill(historyCard+" select", "committed")
	waitRows(p, len(committed))
	if hash := browsertest.Eval[string](p, "location.hash"); hash != "#/operators/clicks?last=30&status=committed" {
		t.Errorf("the address is %s", hash)
	}
	one := strconv.FormatInt(committed[len(committed)/2].Interval, 10)
	p.Fill(historyCard+" input", one)
	waitRows(p, 1)
	p.Reload()
	waitRows(p, 1)
	if row := tableRows(p, historyCard)[0]; row[0] != one || row[1] != "committed" {
		t.Errorf("the row is %q", row)
	}
	p.Fill(historyCard+" input", "seven")
	p.WaitText(historyCard+" [role=alert]", "whole numbers")
	p.Fill(historyCard+" input", "999")
	p.WaitText(historyCard, "No plan is like that")
	p.Click(historyCard + " .empty button")
	waitRows(p, len(operatorPlans(t, site.URL, "clicks", "")))
}

// quietInterval sends an operator statistics that leave nothing to do.
func quietInterval(t *testing.T, server, operator string, epoch, number int) {
	t.Helper()
	tell(t, http.MethodPost, server+"/v1/operators/"+operator+"/plans", "", object{
		"epoch": epoch, "interval": number, "keys": []object{{"key": "a", "cost": 0, "state": 1}},
	}, nil)
}

// TestOperatorHistory: there is more than is shown at once, and what comes meanwhile
// takes away neither what was loaded nor where one is.
func TestOperatorHistory(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	tell(t, http.MethodPut, site.URL+"/v1/operators/long", "", object{"instances": 2}, nil)
	for i := range 70 {
		quietInterval(t, site.URL, "long", i/60, i%60)
	}
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/#/operators/long?last=30")
	waitRows(p, 50)
	p.Click(historyCard + " .operator-more button")
	waitRows(p, 70)
	p.WaitUntil(`document.activeElement.matches('.operator-more')`)

	browsertest.Eval[*bool](p, `document.querySelectorAll('`+historyCard+` tbody a')[60].focus()`)
	quietInterval(t, site.URL, "long", 1, 10)
	renew(p)
	waitRows(p, 71)
	if got := tableRows(p, historyCard); got[0][0] != "10 epoch 1" || got[70][0] != "0" {
		t.Errorf("from %q to %q", got[0], got[70])
	}
	if focus := browsertest.Eval[int](p, `[...document.querySelectorAll('`+historyCard+
		` tbody a')].indexOf(document.activeElement)`); focus != 61 {
		t.Errorf("the focus went to %d", focus)
	}
	p.Click(".chart-data summary")
	p.WaitUntil(`document.querySelectorAll('.chart-data tbody tr').length === 30`)
	p.Fill(".card-aside select", "100")
	p.WaitUntil(`document.querySelectorAll('.chart-data tbody tr').length === 71`)
	glance(t, 1, p, "/#/operators/long", "operator-epochs", historyCard+" tbody")
}

// TestOperatorEmpty: what the page of a new operator says is what brings its first plan.
func TestOperatorEmpty(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	look(t, p, "/#/operators/idle", "operator-empty", ".code")
	widen(p)
	for name, configuration := range map[string]object{
		"first":          {"instances": 2},
		"first-engine":   {"instances": 3, "table_owner": "engine"},
		"first-reported": {"instances": []any{object{"id": 3}, object{"id": 9}}, "hash": object{"function": "reported"}},
		"first-long":     {"instances": 2, "hash": object{"function": "flink", "key_type": "long"}},
		"first-ranges":   {"instances": 2, "scheme": "ranges"},
		"first-pkg":      {"instances": 2, "scheme": "pkg"},
	} {
		t.Log(name)
		tell(t, http.MethodPut, site.URL+"/v1/operators/"+name, "", configuration, nil)
		enter(p, "/#/operators/"+name)
		bash(t, p.Text(".code code"))
		renew(p)
		waitRows(p, 1)
		p.WaitText(".stats", "interval 1")
	}
}

// TestOperatorGone: an operator that is not there, or not any more, and one that is none
// of the caller's business.
func TestOperatorGone(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Expect(`status of 404`)
	look(t, p, "/#/operators/nobody", "operator-unknown", "main [role=alert]")

	tell(t, http.MethodPut, site.URL+"/v1/operators/short-lived", "", object{"instances": 2}, nil)
	quietInterval(t, site.URL, "short-lived", 0, 1)
	p = browsertest.Start(t).Page(t, site.URL)
	p.Expect(`status of 4(04|10)`)
	p.Goto("/#/operators/short-lived")
	waitRows(p, 1)
	tell(t, http.MethodDelete, site.URL+"/v1/operators/short-lived", "", nil, nil)
	renew(p)
	p.WaitText("main [role=alert]", "was deleted")
	p.Click("main [role=alert] a")
	p.WaitFor(".operators")

	p.Expect(`status of 403`)
	p.Answer(`/v1/operators/clicks$`, 403,
		`{"type":"about:blank","title":"Forbidden","status":403,"code":"forbidden","detail":"This token is for other operators."}`)
	p.Goto("/#/operators/clicks")
	p.WaitText("main [role=alert]", "This token is for other operators.")
}
