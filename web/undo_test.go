package web_test

import (
	"net/http"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// TestUndo: a committed plan has a button that says what undoing it would move, and makes a plan of
// that.
func TestUndo(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	made := propose(t, site.URL, "", "regretted")
	for _, verb := range []string{"approve", "commit"} {
		tell(t, http.MethodPost, site.URL+"/v1/plans/"+made.ID+"/"+verb, "",
			map[string]object{"approve": {}, "commit": {"stopped": true}}[verb], nil)
	}
	p := browsertest.Start(t).Page(t, site.URL)
	p.Goto("/#/plans/" + made.ID)
	p.WaitText(".plan-links", "Undo…")
	p.Click(".plan-links button:last-of-type")
	p.WaitText("dialog", "Brings back table version 0 in place of 1")
	p.WaitText("dialog", "of state")
	p.Picture("undo")
	p.Fill("dialog textarea", "latency went up")
	p.Click("dialog .primary")
	p.WaitGone("dialog")
	p.WaitText(".plan-under", "brings back 0")
	if id := browsertest.Eval[string](p, `location.hash`); strings.HasSuffix(id, made.ID) {
		t.Errorf("still at %s", id)
	}
}
