package web_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// noisy has a plan wait of an operator whose loads vary by themselves: by its own figures it is within θ_max, and in
// the next interval θ_max is missed all the same.
// So many keys are heavy, and as long as limit was θ_max plans were committed.
func noisy(t *testing.T, server, operator string, heavy int, limit string) listedPlan {
	t.Helper()
	url := server + "/v1/operators/" + operator
	tell(t, http.MethodPut, url, "", object{"instances": 4, "hash": object{"function": "modulo"}, "theta_max": limit,
		"policy": object{"forecast": object{"method": "last"}}}, nil)
	chance := rand.New(rand.NewPCG(1, 2))
	var p listedPlan
	for interval := range 8 {
		if interval == 7 {
			tell(t, http.MethodPatch, url, "", patch{"theta_max": 0.01, "approval": object{"auto": "never"}}, nil)
		}
		var keys []object
		for k := range 200 {
			cost := 1 + chance.IntN(20)
			if k < heavy {
				cost *= 6
			}
			keys = append(keys, object{"key": fmt.Sprint("key ", k), "cost": cost, "state": 10})
		}
		tell(t, http.MethodPost, url+"/plans", "", object{"interval": interval, "keys": keys}, &p)
		if p.Status == "approved" {
			tell(t, http.MethodPost, server+"/v1/plans/"+p.ID+"/commit", "", object{"stopped": true}, nil)
		}
	}
	if p.Status != "proposed" || p.Theta.After > 0.01 || p.Forecast.With.Probability < 0.9 {
		t.Fatalf("the plan %+v is not within θ_max and expected to miss it", p)
	}
	return p
}

// TestOutlook: whoever decides on a plan reads what is expected, on the first screen of a phone as well, in the list,
// in the banner and in the dialog.
func TestOutlook(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	plan := noisy(t, server.URL, "noisy", 15, "500%")
	needless := noisy(t, server.URL, "needless", 0, "2%")
	p := browsertest.Start(t).Page(t, server.URL)
	p.Viewport(400, 800, false)
	p.Goto("/#/plans/" + plan.ID)
	p.WaitText(".plan-headline .mark.warn", "but the limit will be missed")
	p.WaitText(".plan-headline .toned", "(limit 1 %, missed in ")
	p.WaitText(".plan-headline", "No plan can hold this limit")
	p.WaitText(".plan-headline", "; in the 7 before it, ")
	p.WaitUntil(`document.querySelector('.plan-headline').getBoundingClientRect().bottom < 700`)
	p.WaitUntil(`document.querySelector('.plan-expected').getBoundingClientRect().top <
		document.querySelector('.plan-loads').getBoundingClientRect().top`)
	said := p.Text(".plan-headline .toned")
	if n := p.Count(".plan-headline.good, .stat.good"); n > 0 {
		t.Errorf("%d parts are green though the limit will be missed", n)
	}
	p.Click(".plan-decision .primary")
	p.WaitText("dialog .plan-headline .toned", said)
	p.Press("Escape")
	p.Goto("/")
	p.WaitText(".operators-plan .toned.warn", said)
	p.Goto("/#/operators/noisy")
	p.WaitText(".operator-does .toned.warn", said)
	p.WaitFor(historyCard + " td")
	if row := tableRows(p, historyCard)[0][3]; !strings.HasSuffix(row, ", above θ_max") {
		t.Errorf("the history says %q", row)
	}

	// Where chance alone makes θ what it is without the plan, no plan is better.
	p.Goto("/#/plans/" + needless.ID)
	p.WaitText(".plan-headline.bad .mark", "No better than without it")
	p.WaitText(".plan-headline .toned.bad", "the same without it")
}

// TestFirstAbove: whoever decides on a plan that answers a single interval above the limit reads that it is the first,
// on the first screen of a phone and in the dialog.
func TestFirstAbove(t *testing.T) {
	server := browsertest.NewEmpty(t, false)
	url := server.URL + "/v1/operators/calm"
	tell(t, http.MethodPut, url, "", object{"instances": 4, "hash": object{"function": "modulo"}, "theta_max": 0.1,
		"policy": object{"forecast": object{"method": "last"}}}, nil)
	var p listedPlan
	for interval := range 14 {
		if interval == 13 {
			tell(t, http.MethodPatch, url, "", patch{"approval": object{"auto": "never"}}, nil)
		}
		var keys []object
		for k := range 40 {
			cost := 100
			if interval == 13 && k < 2 {
				cost = 600
			}
			keys = append(keys, object{"key": fmt.Sprint(k), "cost": cost, "state": 10})
		}
		tell(t, http.MethodPost, url+"/plans", "", object{"interval": interval, "keys": keys}, &p)
		if p.Status == "approved" {
			tell(t, http.MethodPost, server.URL+"/v1/plans/"+p.ID+"/commit", "", object{"stopped": true}, nil)
		}
	}
	page := browsertest.Start(t).Page(t, server.URL)
	page.Viewport(400, 800, false)
	page.Goto("/#/plans/" + p.ID)
	page.WaitText(".plan-first", "Better than without it if the jump stays")
	page.WaitText(".plan-headline", "In this interval θ was 20 %; in the 12 before it, 10 % in the median and 10 % at most. The jump is new")
	page.WaitUntil(`document.querySelector('.plan-headline').getBoundingClientRect().bottom < 700`)
	page.Screenshot("first-above")
	page.Click(".plan-decision .primary")
	page.WaitText("dialog .plan-headline", "a peak passes without a plan")

	// Another plan of the same interval is no interval before it.
	tell(t, http.MethodPost, server.URL+"/v1/plans/"+p.ID+"/replay", "", object{"strategies": []string{"mixed"},
		"parameters": object{"theta_max": []float64{0.05}}, "propose": true, "replace": true}, nil)
	var operator struct {
		Plan string `json:"current_plan"`
	}
	ask(t, url, "", &operator)
	if operator.Plan == p.ID {
		t.Fatal("the plan was not replaced")
	}
	page.Goto("/#/plans/" + operator.Plan)
	page.WaitText(".plan-headline", "In this interval θ was 20 %; in the 11 before it, 10 % in the median and 10 % at most, "+
		"above its limit in the last 11. The jump is new")
}

// TestApprovedBy: of a plan that nobody starts it is said who approved it.
func TestApprovedBy(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	plan := propose(t, server.URL, "", "clicks")
	tell(t, http.MethodPost, server.URL+"/v1/plans/"+plan.ID+"/approve", "", object{"actor": "ann"}, nil)
	p := open(t, server.URL, "/#/plans/"+plan.ID, ".plan-head")
	p.WaitText(".plan-standing", "Approved by ann just now")
	p.WaitText(".plan-standing", "no engine has started it since")
	p.Goto("/#/operators/clicks")
	p.WaitText(".operator-now", "no engine has started it since")
}

// TestPhone: at the width of a phone nothing but the page scrolls, and a touch tells what a title explains.
func TestPhone(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Viewport(400, 800, false)
	for place, ready := range map[string]string{
		"/": ".operators-plan", "/#/operators/clicks": historyCard + " td", "/#/plans/" + site.Plans.HotKeys: ".plan-key",
		"/#/plans/" + site.Plans.Split: ".plan-acks td", "/#/plans/" + site.Plans.Big: ".migrations .vrow",
		"/#/what-if?plan=" + site.Plans.Proposed + "&run=1": ".whatif-table td",
	} {
		p.Goto(place)
		if strings.Contains(place, "what-if") {
			p.Click(".whatif-bar .primary")
		}
		p.WaitFor(ready)
		p.WaitUntil(settled)
		if inner := browsertest.Eval[[]string](p, `[...document.querySelectorAll('main *')].filter((e) =>
			/auto|scroll/.test(getComputedStyle(e).overflow) && e.clientHeight > 0 &&
			(e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)).map((e) => e.className)`); len(inner) > 0 {
			t.Errorf("%s: within the page scroll %q", place, inner)
		}
	}
	p.Goto("/#/plans/" + site.Plans.Proposed)
	p.WaitFor(".stats .term")
	browsertest.Eval[bool](p, `document.querySelector('.stats .term').dispatchEvent(
		new PointerEvent('click', { bubbles: true, pointerType: 'touch' }))`)
	p.WaitText(".announcements", "fair share")
}
