package web_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"plannerd/internal/browsertest"
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

// look opens a place of the dashboard in every width and colour, waits until ready is
// there, and holds it against what everybody must be able to use: nothing sticks out,
// no barrier is found. It leaves a picture of each. Before it opens a page it prepares it.
func look(t *testing.T, server, place, view, ready string, prepare ...func(*browsertest.Page)) {
	t.Helper()
	browser := browsertest.Start(t)
	for _, l := range looks {
		t.Run(l.name, func(t *testing.T) {
			p := browser.Page(t, server)
			p.Viewport(l.width, l.height, l.dark)
			for _, f := range prepare {
				f(p)
			}
			p.Goto(place)
			p.WaitFor(ready)
			p.WaitUntil(settled)
			p.Axe()
			if over := browsertest.Eval[int64](p, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
				t.Errorf("the page is %d pixels wider than the window", over)
			}
			p.Screenshot(view)
		})
	}
}

// settled says that nothing is on its way: no view, no chart.
const settled = `!document.querySelector('.loading, .skeleton') && [...document.querySelectorAll('.chart-place')].every((c) => c.querySelector('canvas'))`

// ask reads something of a server's API into out.
func ask(t *testing.T, url, token string, out any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s", url, answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
}

// bash runs a command as a reader of the page would, and returns what it says.
func bash(t *testing.T, command string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-c", "set -euo pipefail; curl() { command curl --silent --show-error --fail-with-body \"$@\"; }\n"+command).CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v: %s", command, err, out)
	}
	return string(out)
}
