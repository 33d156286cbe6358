package web_test

import (
	"testing"

	"plannerd/internal/lab/browsertest"
	"plannerd/internal/web/access"
)

const focused = "document.activeElement"

// TestSignInFocus: who signs in types at once, and is then at the page.
func TestSignInFocus(t *testing.T) {
	t.Parallel()
	site := browsertest.Secured(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Expect(`status of 401`)
	p.Goto("/#/plans/" + site.Plans.Proposed)
	p.WaitFor("dialog[open]")
	p.WaitUntil(focused + `.id === 'token'`)
	p.WaitText("main h1", "Plan")
	p.WaitText(".trouble", "Sign in with a token")
	for _, char := range site.Tokens[access.Viewer] {
		p.Press(string(char))
	}
	p.Press("Enter")
	p.WaitGone("dialog")
	p.WaitUntil(focused + `.id === 'main'`)
	p.WaitText("main h1", "Plan of interval")
}

// TestWhatIfFocus: a run leaves the focus at its button, and a result that is closed
// gives it back to what opened it.
func TestWhatIfFocus(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/what-if?plan="+site.Plans.Proposed+"&strategies=mixed&theta_max=5%25", "h1")
	p.WaitFor(whatIfRun + ":enabled")
	browsertest.Eval[bool](p, `(document.querySelector('`+whatIfRun+`').focus(), true)`)
	release := p.Hold(`/replay`)
	p.Press("Enter")
	p.WaitText(whatIfRun, "Running")
	p.Press("Enter") // does nothing
	p.WaitUntil(focused + `.matches('` + whatIfRun + `')`)
	release()
	p.WaitFor(whatIfRows)
	p.WaitUntil(focused + `.matches('` + whatIfRun + `')`)

	browsertest.Eval[bool](p, `(document.querySelector('`+whatIfRows+` a').focus(), true)`)
	p.Press("Enter")
	p.WaitFor(".whatif-open .stats")
	p.WaitUntil(focused + `.matches('.whatif-open')`)
	p.Press("Tab")
	p.Press("Enter")
	p.WaitGone(".whatif-open")
	p.WaitUntil(focused + `.matches('` + whatIfRows + ` a')`)
}
