package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
)

// answered says that an analysis is on the page.
const answered = ".analyses-answer .stats"

func TestAnalysesLook(t *testing.T) {
	t.Parallel()
	p := browsertest.Start(t).Page(t, browsertest.Filled(t).URL)
	for n, x := range []struct{ view, place, ready string }{
		{"analyses-ring", "/#/analyses/ring?sample=zipf&nodes=6&plan=true&join=1", answered},
		{"analyses", "/#/analyses", ".analyses-index"},
		{"analyses-pkg", "/#/analyses/pkg?sample=skewed&choices=2,3,5&schemes=hash,pkg,w_choices", answered},
		{"analyses-ranges", "/#/analyses/ranges?operator=files&interval=3", answered},
		{"analyses-schemes", "/#/analyses/schemes?sample=skewed", answered},
	} {
		glance(t, n, p, x.place, x.view, x.ready)
	}
}

// TestRingAnalysis: a link to a stored interval shows what the API says of it, of the
// ring as the operator has it.
func TestRingAnalysis(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/analyses/ring?operator=products&interval=3&nodes=4&tokens_per_instance=16&method=halving",
		answered)
	var want struct {
		Nodes []struct {
			Share float64 `json:"share"`
		} `json:"nodes"`
		Redistribution struct {
			Nodes []struct {
				TokensBefore int `json:"tokens_before"`
				TokensAfter  int `json:"tokens_after"`
			} `json:"nodes"`
		} `json:"redistribution"`
	}
	tell(t, http.MethodPost, site.URL+"/v1/analyses/ring", "",
		object{"operator": "products", "interval": 3, "nodes": 4}, &want)
	rows := cells(p, "Tokens and loads of each node before and after")
	if len(rows) != 4 {
		t.Fatalf("%d rows, want one for each of 4 nodes", len(rows))
	}
	for i, n := range want.Redistribution.Nodes {
		tokens := fmt.Sprintf("%d → %d", n.TokensBefore, n.TokensAfter)
		if rows[i][2] != tokens {
			t.Errorf("node %d: tokens %q, want %q", i, rows[i][2], tokens)
		}
	}

	// The arcs that are drawn are made in the browser: their sums are those of the API.
	for i, n := range want.Nodes {
		got := browsertest.Eval[float64](p, `import('/dashboard/js/views/analyses/tokens.js').then(({ arcsOf, positions }) =>
			arcsOf([0, 1, 2, 3].map((id) => ({ id, tokens: 16 }))).filter((a) => a.owner === `+jsonOf(t, i)+
			`).reduce((sum, a) => sum + a.size, 0) / positions)`)
		if got != n.Share {
			t.Errorf("node %d has %g of the drawn ring, want %g", i, got, n.Share)
		}
	}
}

// TestAnalysisOfOwnRows: what is pasted becomes part of the address, and what is too long
// for it does not, which the page says; the command is the same question.
func TestAnalysisOfOwnRows(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/analyses/schemes?source=data", "textarea")
	p.Fill("textarea", "key,cost\n\"it's, a 🎉 key\",5\nb,3\nc,2\n")
	p.Click(".analyses-foot button[type=submit]")
	p.WaitFor(answered)
	if got := p.Text(".stat-value"); got != "3" {
		t.Errorf("%s keys, want 3", got)
	}
	p.Reload()
	p.WaitFor(answered)
	if got := p.Text(".stat-value"); got != "3" {
		t.Errorf("from the address: %s keys, want 3", got)
	}

	p.Click(".analyses-foot button[type=button]")
	p.WaitFor("dialog code")
	out := bash(t, browsertest.Eval[string](p, "document.querySelector('dialog code').textContent"))
	var said struct {
		Keys           int `json:"keys"`
		Recommendation struct {
			Reason string `json:"reason"`
		} `json:"recommendation"`
	}
	if err := json.NewDecoder(bytes.NewBufferString(out)).Decode(&said); err != nil || said.Keys != 3 {
		t.Fatalf("the command says %q: %v", out, err)
	}
	p.Press("Escape")
	p.WaitGone("dialog")
	p.WaitText(".analyses-recommended", said.Recommendation.Reason)

	p.Fill("textarea", "key,cost\n"+strings.Repeat("x", 1000)+",1\n"+strings.Repeat("y", 1000)+",2\n"+
		strings.Repeat("z", 1000)+",3\n"+strings.Repeat("w", 1000)+",4\n")
	p.WaitText(".analyses-source [role=status]", "too long for the address")
	p.Click(".analyses-foot button[type=submit]")
	p.WaitText(".stat-value", "4")
	p.Fill("textarea", "key,cost\n"+strings.Repeat("x", 1000)+",1\n"+strings.Repeat("y", 1000)+",2\n"+
		strings.Repeat("z", 1001)+",3\n"+strings.Repeat("w", 1001)+",4\nv,5\n")
	p.Click(".analyses-foot button[type=submit]")
	p.WaitText(".stat-value", "5") // the address is the same, the rows are not
	if hash := browsertest.Eval[string](p, "location.hash"); strings.Contains(hash, "xxx") ||
		!strings.Contains(hash, "source=data") {
		t.Errorf("the address is %s", hash)
	}
}

// TestPKGAnalysis: a stream is taken in its order, and the runs are those of the API.
func TestPKGAnalysis(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	stream := strings.Repeat("a\nb\na\nc\n", 30)
	p := open(t, site.URL, "/#/analyses/pkg?format=stream&workers=4&schemes=hash,pkg&choices=2&data="+
		url.QueryEscape(stream), answered)
	var want struct {
		Runs []struct {
			MaxLoad int `json:"max_load"`
		} `json:"runs"`
	}
	tell(t, http.MethodPost, site.URL+"/v1/analyses/pkg", "",
		object{"workers": 4, "schemes": []string{"hash", "pkg"}, "stream": strings.Fields(stream)}, &want)
	rows := cells(p, "Figures of each run")
	if len(rows) != 2 || rows[0][7] != jsonOf(t, want.Runs[0].MaxLoad) || rows[1][7] != jsonOf(t, want.Runs[1].MaxLoad) {
		t.Errorf("runs are %q, want greatest loads %+v", rows, want.Runs)
	}
	p.WaitText(".stat-note", "in the order of the stream")
	p.WaitFor(".chart-place canvas")
}

// TestRangesAnalysis: the segments are those of the API, and the method is in the address.
func TestRangesAnalysis(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/analyses/ranges?sample=zipf&followers=4&event=join&position=1", "h1")
	p.WaitText(".analyses-heading", "Least movement")
	p.WaitFor(answered)
	p.Fill(".analyses-answer .bar select", "quantile")
	p.WaitText(".analyses-heading", "Quantiles")
	if hash := browsertest.Eval[string](p, "location.hash"); !strings.Contains(hash, "by=quantile") {
		t.Errorf("the address is %s", hash)
	}
	p.WaitText(".stat-note", "formula of the proposal: 35 %") // (1·2 + 3·4) / (2·4·5)
	if rows := cells(p, "Followers before and after"); len(rows) != 5 || !strings.Contains(rows[1][0], "joins") {
		t.Errorf("followers are %q", rows)
	}
}

// TestAnalysisOnItsWay: an analysis can be cancelled, and what goes wrong is said.
func TestAnalysisOnItsWay(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := browsertest.Start(t).Page(t, site.URL)
	release := p.Hold("/v1/analyses/ring$")
	defer release()
	p.Viewport(1280, 900, false)
	p.Goto("/#/analyses/ring?operator=products&interval=1")
	p.WaitFor(".analyses-progress progress")
	p.Click(".analyses-progress button")
	p.WaitText(".analyses-cancelled", "Cancelled")
	release()
	p.Click(".analyses-foot button[type=submit]")
	p.WaitFor(answered)

	p.Expect("404")
	p.Goto("/#/analyses/ring?operator=products&interval=99")
	p.WaitText(".trouble", "interval 99")
	p.WaitText(".trouble", "interval_not_found")
}

// TestAnalysisWithoutKeys: the page says what to do, and one click does it.
func TestAnalysisWithoutKeys(t *testing.T) {
	t.Parallel()
	site := browsertest.Filled(t)
	p := open(t, site.URL, "/#/analyses", "h1")
	p.Click(".analyses-links .button")
	p.WaitText(".empty", "No keys yet")
	p.Click(".empty a")
	p.WaitFor(answered)
}
