package web_test

import (
	"testing"

	"plannerd/internal/lab/browsertest"
	"plannerd/internal/lab/deep"
)

// TestDocs: whoever reads the guides and the contract needs neither a mouse nor good eyes, on a phone either.
// A deep run looks at every width in both colours, as with [look].
func TestDocs(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	p := browsertest.Start(t).Page(t, server.URL)
	for i, l := range looks {
		if !deep.On() && i%3 != 0 {
			continue
		}
		p.Viewport(l.width, l.height, l.dark)
		for _, place := range []string{"/docs", "/docs/api", "/docs/plans", "/docs/dashboard", "/docs/reference"} {
			t.Logf("%s is %s", place, l.name)
			p.Goto(place)
			p.WaitFor("h1")
			if l.width > 400 && place != "/docs/api" && !deep.On() {
				p.AxeColours() // the style sheet of the guides is the same for every width: the narrow look has the rest
				continue
			}
			p.AxeAll()
		}
	}
}
