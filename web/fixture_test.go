package web_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"plannerd/internal/lab/browsertest"
	"plannerd/internal/lab/deep"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// looks are the widths and colours in which every view must be right.
var looks = []struct {
	name          string
	width, height int64
	dark          bool
}{
	{"wide", 1280, 900, false}, {"wide and dark", 1280, 900, true},
	{"narrow", 400, 800, false}, {"narrow and dark", 400, 800, true},
}

// look shows a place of the dashboard in a page, wide in light colours and narrow in dark ones, or in a deep
// run at every width in both, and waits until ready is there. It holds it against what everybody must be able to use:
// nothing sticks out, no barrier is found. It leaves a picture of each. The page is as narrow and dark
// afterwards; see [widen].
func look(t *testing.T, p *browsertest.Page, place, view, ready string) {
	t.Helper()
	lookAt(t, p, place, view, ready, func(i int) bool { return i%3 == 0 })
}

// glance is look at one of several views, the nth from 0, that share their parts: a usual run shows
// all narrow in dark colours, where most can go wrong, and the first wide in light colours, too.
func glance(t *testing.T, n int, p *browsertest.Page, place, view, ready string) {
	t.Helper()
	lookAt(t, p, place, view, ready, func(i int) bool { return i == 3 || i == 0 && n == 0 })
}

// lookAt shows a view in some of the looks, or in a deep run in all.
func lookAt(t *testing.T, p *browsertest.Page, place, view, ready string, usual func(int) bool) {
	t.Helper()
	width, light := int64(0), int64(0) // the latter is that of the last look in light colours
	for i, l := range looks {
		if !deep.On() && !usual(i) {
			continue
		}
		t.Logf("%s is %s", view, l.name)
		p.Viewport(l.width, l.height, l.dark)
		if width != l.width {
			enter(p, place) // what is decided when a view begins is decided anew
		}
		width = l.width
		p.WaitFor(ready)
		p.WaitUntil(settled)
		browsertest.Eval[bool](p,
			`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))`)
		if l.dark && light == l.width { // after the same in light colours
			p.AxeColours()
		} else {
			p.Axe()
		}
		if over := browsertest.Eval[int64](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
			t.Errorf("the page is %d pixels wider than the window", over)
		}
		p.Screenshot(view)
		if !l.dark {
			light = l.width
		}
	}
}

// enter goes to a place from elsewhere, so that its view begins. Within the dashboard it follows a
// link, as its users do: that takes a fourth of the time that it takes to load the dashboard.
func enter(p *browsertest.Page, place string) {
	const nowhere = "There is no such page"
	if strings.Contains(place, "#") && browsertest.Eval[bool](p, `!!document.querySelector('#app > main')`) {
		p.Goto("/#/nowhere")
		p.WaitText("main", nowhere)
		p.Goto(place)
		p.WaitUntil(`!document.querySelector('main').innerText.includes('` + nowhere + `')`)
		return
	}
	p.Goto(place)
}

// widen makes a page as wide and light as that on a desk.
func widen(p *browsertest.Page) *browsertest.Page {
	p.Viewport(1280, 900, false)
	return p
}

// settled says that nothing is on its way: no view, no chart.
const settled = `!document.querySelector('.loading, .skeleton') && [...document.querySelectorAll('.chart-place')].every((c) => c.querySelector('canvas'))`

// open opens a place of the dashboard at the width of a desk, and waits until ready is there.
func open(t *testing.T, server, place, ready string) *browsertest.Page {
	t.Helper()
	p := widen(browsertest.Start(t).Page(t, server))
	p.Goto(place)
	p.WaitFor(ready)
	return p
}

// renew lets the page ask at once for what it renews from time to time, as it does when
// the browser has found its network again.
func renew(p *browsertest.Page) {
	browsertest.Eval[bool](p, `dispatchEvent(new Event('online'))`)
}

// cells are the texts of the rows of a table, by the beginning of its caption.
func cells(p *browsertest.Page, caption string) [][]string {
	return browsertest.Eval[[][]string](p,
		`[...[...document.querySelectorAll('table')].find((t) => t.caption.textContent.startsWith('`+caption+
			`')).tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent.trim()))`)
}

// column is one of those texts of each row.
func column(p *browsertest.Page, caption string, n int) []string {
	var texts []string
	for _, row := range cells(p, caption) {
		texts = append(texts, row[n])
	}
	return texts
}

// object is a JSON object.
type object = map[string]any

// patch is a JSON Merge Patch.
type patch map[string]any

// rows is a table of statistics in CSV.
type rows string

// ask reads something of a server's API into out.
func ask(t *testing.T, url, token string, out any) {
	t.Helper()
	tell(t, http.MethodGet, url, token, nil, out)
}

// tell sends rows, or anything else as JSON, to a server's API, and reads the answer into
// out unless that is nil.
func tell(t *testing.T, method, url, token string, in, out any) {
	t.Helper()
	kind, body := "text/csv", []byte(nil)
	switch in := in.(type) {
	case nil:
	case rows:
		body = []byte(in)
	case patch:
		kind, body = "application/merge-patch+json", []byte(jsonOf(t, in))
	default:
		kind, body = "application/json", []byte(jsonOf(t, in))
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s %s %v", method, url, answer.Status, said, err)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(said, out); err != nil {
		t.Fatalf("%s %s: %v in %.200s", method, url, err, said)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// bash runs a command as a reader of the page would, and returns what it says.
func bash(t *testing.T, command string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-c",
		"set -euo pipefail; curl() { command curl --silent --show-error --fail-with-body \"$@\"; }\n"+command).
		CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v: %s", command, err, out)
	}
	return string(out)
}
