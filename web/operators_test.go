package web_test

import (
	"slices"
	"testing"

	"plannerd/internal/browsertest"
)

// names are the operators on the page, in their order.
func names(p *browsertest.Page) []string {
	return browsertest.Eval[[]string](p, `[...document.querySelectorAll('.operators-name a')].map((a) => a.textContent)`)
}

func TestOperators(t *testing.T) {
	site := browsertest.Filled(t)
	look(t, site.URL, "/", "operators", ".operators")

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
	if len(waiting) < 2 {
		t.Fatalf("only %v wait for approval", waiting)
	}

	p := browsertest.Start(t).Page(t, site.URL)
	p.Viewport(1280, 900, false)
	p.Goto("/")
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
	p.WaitText(".operators-row.waits .status-no_action", "no action") // of the newest interval
	p.WaitText(".operators-row.waits .status-proposed", "waits for approval")
	p.Click(".operators-do a")
	p.WaitUntil(`location.hash === '#/plans/` + site.Plans.Proposed + `'`)
	p.WaitFor("main h1")
}

// TestEmptyServer: what the first page says is what fills the server.
func TestEmptyServer(t *testing.T) {
	server := browsertest.NewEmpty(t, false)
	look(t, server.URL, "/", "empty", ".code")
	p := browsertest.Start(t).Page(t, server.URL)
	p.Goto("/")
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
	for range 3 { // the search, an operator, its last plan
		p.Press("Tab")
	}
	href := browsertest.Eval[string](p, "document.activeElement.closest('a').hash")
	p.Press("Enter")
	p.WaitUntil(`location.hash === '` + href + `'`)
	p.WaitUntil(`document.activeElement.id === 'main'`)
	p.WaitUntil(`!document.title.startsWith('Operators')`)
}

// TestThemes: colours that were chosen stay.
func TestThemes(t *testing.T) {
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
