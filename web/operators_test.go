package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// names are the operators on the page, in their order.
func names(p *browsertest.Page) []string {
	return browsertest.Eval[[]string](p, `[...document.querySelectorAll('.operators-name a')].map((a) => a.textContent)`)
}

// TestOperators: it runs before the tests that run side by side, as some of these add operators.
func TestOperators(t *testing.T) {
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	look(t, p, "/", "operators", ".operators")

	var list struct {
		Operators []struct {
			Name   string  `json:"name"`
			Status *string `json:"current_plan_status"`
		} `json:"operators"`
	}
	ask(t, site.URL+"/v1/operators", "", &list)
	var waiting, all []string
	for _, o := range list.Operators {
		all = append(all, o.Name)
		if o.Status != nil && *o.Status == "proposed" {
			waiting = append(waiting, o.Name)
		}
	}
	// Of clicks θ is sixteen times its limit without the plan, of big within it.
	if slices.Reverse(waiting); !slices.Equal(waiting, []string{"clicks", "big"}) {
		t.Fatalf("%v wait for approval", waiting)
	}

	widen(p).Goto("/")
	p.WaitFor(".operators")
	got := names(p)
	if !slices.Equal(got[:len(waiting)], waiting) {
		t.Errorf("first are %v, want those that wait, %v", got[:len(waiting)], waiting)
	}
	slices.Sort(got)
	if slices.Sort(all); !slices.Equal(got, all) {
		t.Errorf("the page lists %v, the API %v", got, all)
	}

	p.Fill(".search input", "CLI")
	p.WaitUntil(`document.querySelectorAll('.operators-name a').length === 1`)
	if got := names(p); !slices.Equal(got, []string{"clicks"}) {
		t.Errorf("the search finds %v", got)
	}
	p.Reload()
	p.WaitFor(".operators")
	if got := names(p); !slices.Equal(got, []string{"clicks"}) {
		t.Errorf("the link does not hold the search: it finds %v", got)
	}
	p.WaitText(".operators-plan .status-proposed", "waits for approval")
	p.WaitText(".operators-plan", "interval 24")
	p.WaitText(".operators-plan", "expires in")
	p.WaitText(".operators-plan .toned.warn", "Expected next: θ 6.2 % (limit 2 %, missed in 99 of 100), 34 % without it")
	p.WaitText(".operators-plan .toned.bad", "newer data: 18.1 %, above") // of the interval after it
	p.WaitText(".operators-now .toned.bad", "42.2 %")
	p.WaitText(".operators-above", "above in 100 %")
	if words := browsertest.Eval[string](p, `document.querySelector('.operators-above').title`); !strings.Contains(words,
		"θ realised: ") || !strings.Contains(words, "; planned: ") {
		t.Errorf("what was realised is told as %q", words)
	}
	p.WaitFor(".bars rect.bad")
	p.Click(".operators-do a")
	p.WaitUntil(`location.hash === '#/plans/` + site.Plans.Proposed + `'`)
	p.WaitFor("main h1")
}

// TestManyOperators: of many operators only those in view are drawn, one request brings
// them, and it is answered with nothing while they stay as they are.
func TestManyOperators(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	const n = 500
	for i := range n {
		tell(t, http.MethodPut, fmt.Sprintf("%s/v1/operators/op-%03d", server.URL, i), "",
			object{"instances": 2, "theta_max": 0.5, "require_approval": true}, nil)
	}
	for i, cost := range map[int]int{7: 1, 300: 9} { // θ is at most 0.5 only of the first
		keys := []object{{"key": "a", "cost": 1, "instance": 0}, {"key": "b", "cost": cost, "instance": 1}}
		tell(t, http.MethodPost, fmt.Sprintf("%s/v1/operators/op-%03d/plans", server.URL, i), "",
			object{"interval": 1, "keys": keys}, nil)
	}
	p := open(t, server.URL, "/", ".operators")
	p.WaitUntil(`document.querySelector('[aria-label="Operators"]').getAttribute('aria-rowcount') === '501'`)
	if rows := p.Count(".operators .vrow"); rows > 120 {
		t.Errorf("%d rows are drawn", rows)
	}
	if height := browsertest.Eval[int](p, `document.documentElement.scrollHeight`); height > 1500 {
		t.Errorf("the page is %d pixels high", height)
	}
	asked := func(status int) int {
		return browsertest.Eval[int](p, fmt.Sprintf(`performance.getEntriesByType('resource').filter(
			(r) => r.name.includes('/v1/operators') && r.responseStatus === %d).length`, status))
	}
	if got := asked(http.StatusOK); got != 1 {
		t.Errorf("%d requests brought the list", got)
	}
	renew(p)
	p.WaitUntil(`performance.getEntriesByType('resource').some((r) => r.responseStatus === 304)`)
	if got := asked(http.StatusOK); got != 1 {
		t.Errorf("the list was sent again: %d times", got)
	}

	first := func(want string) {
		t.Helper()
		p.WaitUntil(`document.querySelector('.operators-name a').textContent === '` + want + `'`)
	}
	first("op-000")
	p.Click(`.operators [role="columnheader"]:nth-child(2) .sort`)
	first("op-300")
	p.Reload()
	p.WaitFor(".operators")
	first("op-300")
	p.Fill(`.operators-filters label:nth-of-type(2) select`, "within")
	p.WaitUntil(`document.querySelectorAll('.operators-name').length === 1`)
	first("op-007")
	p.Fill(`.operators-filters label:nth-of-type(1) select`, "applying")
	p.WaitText(".operators", "No operator is like that")
	p.Click(".operators .empty button")
	first("op-300")
}

// TestEmptyServer: what the first page says is what fills the server.
func TestEmptyServer(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	p := browsertest.Start(t).Page(t, server.URL)
	look(t, p, "/", "empty", ".code")
	widen(p).Goto("/")
	p.WaitFor(".code")
	for _, command := range browsertest.Eval[[]string](p,
		`[...document.querySelectorAll('.code code')].map((c) => c.textContent)`) {
		bash(t, command)
	}
	p.WaitText(".operators-name a", "clicks") // it comes by itself
	p.WaitText(".operators-now", "%")
}

// TestKeyboard: the page can be used without a mouse, and says where one is.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/")
	p.WaitFor(".operators")
	p.Press("Tab")
	if focus := browsertest.Eval[string](p, "document.activeElement.textContent"); focus != "Skip to content" {
		t.Errorf("the first stop is %q", focus)
	}
	p.Press("Enter")
	p.WaitUntil(`document.activeElement.id === 'main'`)
	for range 12 { // filters, heads that sort, an operator, its last plan
		if p.Press("Tab"); browsertest.Eval[bool](p, "document.activeElement.matches('.operators-plan a')") {
			break
		}
	}
	href := browsertest.Eval[string](p, "document.activeElement.closest('a').hash")
	p.Press("Enter")
	p.WaitUntil(`location.hash === '` + href + `'`)
	p.WaitUntil(`document.activeElement.id === 'main'`)
	p.WaitUntil(`!document.title.startsWith('Operators')`)
}

// TestThemes: colours that were chosen stay.
func TestThemes(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Viewport(1280, 900, false)
	p.Goto("/")
	p.WaitFor(".operators")
	background := func() string {
		return browsertest.Eval[string](p, "getComputedStyle(document.querySelector('.operators')).backgroundColor")
	}
	light := background()
	browsertest.Eval[bool](p, `(() => {
		const colours = [...document.querySelectorAll('.preferences select')].at(-1)
		colours.value = 'dark'
		return colours.dispatchEvent(new Event('change', { bubbles: true }))
	})()`)
	dark := background()
	if light == dark {
		t.Errorf("both are %s", light)
	}
	p.Reload()
	p.WaitFor(".operators")
	if again := background(); again != dark {
		t.Errorf("after a reload it is %s, not %s", again, dark)
	}
}
