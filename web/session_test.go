package web_test

import (
	"testing"

	"plannerd/internal/lab/browsertest"
	"plannerd/internal/web/access"
)

// TestSignIn: a server with tokens asks for one, takes what it knows, and the page then
// shows what the caller may see.
func TestSignIn(t *testing.T) {
	t.Parallel()
	site := browsertest.Secured(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Expect(`status of 401`)
	look(t, p, "/", "sign-in", "dialog[open]")

	widen(p).Goto("/")
	p.WaitFor("dialog[open]")
	p.Fill("#token", "none-of-its-tokens")
	p.Press("Enter")
	p.WaitText("#token-said", "does not know")
	p.Fill("#token", site.Tokens[access.Viewer])
	p.Press("Enter")
	p.WaitFor(".operators")
	p.WaitText(".caller", "viewer")
	p.Reload()
	p.WaitFor(".operators") // the tab keeps it

	p.Click(".preferences button")
	p.WaitFor("dialog[open]")
	if browsertest.Eval[int](p,
		"sessionStorage.length + Object.keys(localStorage).filter((k) => k.includes('token')).length") != 0 {
		t.Error("signed out, and the token is kept")
	}
}

// TestExpiredToken: a token that is no longer valid is told as that, and a new one
// leads back to where one was.
func TestExpiredToken(t *testing.T) {
	t.Parallel()
	site := browsertest.Secured(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Expect(`status of 401`)
	p.Goto("/")
	p.WaitFor("dialog[open]")
	p.Fill("#token", site.Tokens[access.Viewer])
	p.Press("Enter")
	p.WaitFor(".operators")

	expired := p.Answer(`/v1/`, 401,
		`{"type":"about:blank","title":"Unauthorized","status":401,"code":"unauthenticated","detail":"The token is none that this server knows."}`)
	browsertest.Eval[string](p, `location.hash = '#/operators/clicks'`)
	p.WaitFor("dialog[open]")
	p.WaitText("#token-said", "no longer valid")
	expired()
	p.Fill("#token", site.Tokens[access.Approver])
	p.Press("Enter")
	p.WaitText("main h1", "clicks")
	p.WaitText(".caller", "approver")
}

// TestServerError: what failed is told with what helps, and may be tried again.
func TestServerError(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Expect(`status of 500`)
	failing := p.Answer(`/v1/operators`, 500,
		`{"type":"about:blank","title":"Internal Server Error","status":500,"code":"internal","detail":"Something went wrong; the log of the server tells more.","request_id":"R4ND0M"}`)
	p.Goto("/")
	p.WaitText(".trouble", "R4ND0M")
	p.Axe()
	p.Screenshot("server-error")
	failing()
	p.Click(".trouble button")
	p.WaitFor(".operators")
}

// TestOffline: what is known stays on the page, which says that it is old and comes
// back by itself.
func TestOffline(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Expect(`ERR_INTERNET_DISCONNECTED`)
	p.Goto("/")
	p.WaitFor(".operators")
	p.WaitUntil(settled)
	p.Offline(true)
	renew(p)
	p.WaitText(".offline", "does not answer")
	p.WaitText(".stale", "Not renewed")
	if p.Count(".operators-name") == 0 {
		t.Error("what was known is gone")
	}
	p.Axe()
	p.Screenshot("offline")
	p.Offline(false)
	p.WaitGone(".offline")
	p.WaitGone(".stale")
}

// TestChartLibrary: charts come when their library does, even if at first it did not.
func TestChartLibrary(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Expect(`ERR_CONNECTION_REFUSED`)
	back := p.Refuse(`/echarts\.`)
	p.Goto("/#/operators/clicks")
	p.WaitText(".chart", "could not be loaded")
	back()
	p.Click(".chart .stale button")
	p.WaitFor(".chart-place canvas")
	renew(p) // as for those that nobody asked again for
	p.WaitUntil(settled)
	p.WaitGone(".chart .stale")
}

// TestOtherTab: a token that is kept for good is gone in all tabs when one signs out.
func TestOtherTab(t *testing.T) {
	t.Parallel()
	site := browsertest.Secured(t)
	p := browsertest.Start(t).Page(t, site.URL)
	p.Expect(`status of 401`)
	p.Goto("/")
	p.WaitFor("dialog[open]")
	p.Fill("#token", site.Tokens[access.Viewer])
	p.Click("dialog input[type=checkbox]")
	p.Click("dialog .primary")
	p.WaitFor(".operators")
	if kept := browsertest.Eval[string](p, "localStorage.getItem('plannerd.token')"); kept != site.Tokens[access.Viewer] {
		t.Fatalf("%q is kept", kept)
	}
	browsertest.Eval[bool](p, `(localStorage.clear(), dispatchEvent(new StorageEvent('storage', { key: null })))`)
	p.WaitFor("dialog[open]")
}

// TestNoStorage: where the browser keeps nothing, the page still remembers while it is open.
func TestNoStorage(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Page(t, browsertest.Filled(t).URL)
	p.Goto("/")
	p.WaitFor(".operators")
	got := browsertest.Eval[[]string](p, `import('/dashboard/js/storage.js').then(({ forGood, forTab }) => {
		for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get() { throw new DOMException('', 'SecurityError') } })
		return [forGood, forTab].map((store) => {
			store.set('a', 'b')
			const kept = store.get('a')
			store.remove('a')
			return kept + store.get('a')
		})
	})`)
	for _, said := range got {
		if said != "bnull" {
			t.Errorf("it remembers %q", got)
		}
	}
}
