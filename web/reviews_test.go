package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
	"plannerd/internal/lab/deep"
)

// TestReviews: a plan is compared with another one and commented on, its page says that it is kept back, and
// the operator's pages say what happened since the last visit, and who changed the configuration.
func TestReviews(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	made := propose(t, site.URL, "", "reviewed")
	api := site.URL + "/v1/operators/reviewed"
	p := browsertest.Start(t).Page(t, site.URL)
	see := func(view string) {
		t.Helper()
		for _, l := range looks {
			if !deep.On() && l.dark != (l.width == 400) {
				continue
			}
			p.Viewport(max(l.width, 1440*(l.width/1280)), l.height, l.dark)
			p.Axe()
			if over := browsertest.Eval[int64](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
				t.Errorf("%s is %d pixels wider than the window", view, over)
			}
			p.Picture(fmt.Sprint("reviews-", view, "-", l.width, "-", l.dark))
		}
		p.Viewport(1440, 900, false)
	}
	p.Goto("/#/operators/reviewed") // the first visit
	p.WaitText(".operator-freeze", "Freeze…")
	browsertest.Eval[bool](p, `sessionStorage.clear() ?? true`)

	tell(t, http.MethodPatch, api+"?actor=bob", "", patch{"theta_max": 0.08, "approval": object{"on_pending": "replace",
		"start_windows": []object{{"from": "00:00", "to": "00:01", "days": []string{"mon"}}}}}, nil)
	var text strings.Builder
	text.WriteString("key,cost,state\n")
	for i := range 40 {
		fmt.Fprintf(&text, "new:%d,%d,%d\n", i, 1+i*i, 10+i)
	}
	tell(t, http.MethodPost, api+"/plans?interval=8", "", rows(text.String()), nil)
	tell(t, http.MethodPut, api+"/freeze", "",
		object{"until": "2100-01-01T00:00:00Z", "reason": "Black Friday", "actor": "ada"}, nil)
	defer tell(t, http.MethodDelete, api+"/freeze", "", nil, nil)

	p.Goto("/#/plans/" + made.ID)
	p.WaitText(".plan-links", "Comment…")
	p.Goto("/#/operators/reviewed")
	p.WaitText(".operator-since", "Since your last visit")
	p.WaitText(".operator-since", "θ_max")
	p.WaitText(".operator-since", "frozen by ada: Black Friday")
	see("since")
	p.Goto("/#/operators/reviewed/configuration")
	p.WaitText(".operator-versions", "8 %")
	p.WaitText(".operator-versions", "bob")
	p.WaitText("main", "00:00–00:01 UTC on mon")
	see("versions")

	p.Goto("/#/plans/" + made.ID)
	p.WaitText(".plan-links", "Comment…")
	press := func(words string) {
		t.Helper()
		browsertest.Eval[bool](p, fmt.Sprintf(`[...document.querySelectorAll('.plan-links button')]
			.find((b) => b.textContent.includes(%q)).click() ?? true`, words))
	}
	press("Comment…")
	p.Fill("dialog textarea", "Is this the sale?")
	p.Click("dialog .primary")
	p.WaitGone("dialog")
	p.WaitText("main", "Is this the sale?")
	see("comment")
	if !strings.Contains(browsertest.Eval[string](p, `document.querySelector('main').textContent`), "comment") {
		t.Error("it is not said that it is a comment")
	}
	press("Compare with…")
	p.WaitText("dialog", "The other")
	p.WaitText("dialog", "new:")
	see("compare")
}
