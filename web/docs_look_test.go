package web_test

import (
	"testing"

	"plannerd/internal/lab/browsertest"
)

// TestDocs: whoever reads the guides and the contract needs neither a mouse nor good eyes, on a phone either.
func TestDocs(t *testing.T) {
	t.Parallel()
	server := browsertest.NewEmpty(t, false)
	p := browsertest.Start(t).Page(t, server.URL)
	for _, l := range looks {
		p.Viewport(l.width, l.height, l.dark)
		for _, place := range []string{"/docs", "/docs/api", "/docs/plans", "/docs/dashboard", "/docs/reference"} {
			t.Logf("%s is %s", place, l.name)
			p.Goto(place)
			p.WaitFor("h1")
			p.AxeAll()
		}
	}
}
