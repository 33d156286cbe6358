package web_test

import (
	"net/http"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// TestFreeze: an operator is frozen and let go on its page, which says who holds it.
func TestFreeze(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	propose(t, site.URL, "", "frozen")
	defer tell(t, http.MethodDelete, site.URL+"/v1/operators/frozen", "", nil, nil) // tests share the site
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/#/operators/frozen")
	p.WaitText(".operator-freeze", "Freeze…")
	p.Click(".operator-freeze button")
	p.Fill("dialog input", "Black Friday")
	p.Click("dialog .primary")
	p.WaitGone("dialog")
	p.WaitText(".operator-now", "Frozen until")
	p.WaitText(".operator-now", "Black Friday")
	p.Picture("freeze")
	p.Goto("/#/")
	p.WaitText("main", "Black Friday")
	p.Picture("freeze-list")
	p.Goto("/#/operators/frozen")
	p.WaitText(".operator-now", "Frozen until")
	p.Click(".operator-now button")
	p.WaitText(".operator-freeze", "Freeze…")
}
