package guides

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"plannerd"
)

// TestSite: every address that a page of the site names is there, below a prefix as
// well as at the root, and no page loads anything from elsewhere.
func TestSite(t *testing.T) {
	site, err := Site(plannerd.Guides)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Index, "tutorial", "glossary", "readme", "architecture", "dashboard.png", styleSheet} {
		if len(site[name].Body) == 0 {
			t.Errorf("there is no %q", name)
		}
	}
	for _, prefix := range []string{"", "/some/prefix"} {
		there := func(path string) bool {
			name, ok := strings.CutPrefix(path, prefix+"/docs")
			if _, found := site[strings.TrimPrefix(name, "/")]; ok && found {
				return true
			}
			return path == prefix+"/" || path == prefix+"/openapi.yaml" || path == prefix+"/docs/api"
		}
		for name, f := range site {
			if !strings.HasPrefix(f.Media, "text/html") {
				continue
			}
			page := &url.URL{Path: prefix + "/docs"}
			if name != Index {
				page.Path += "/" + name
			}
			for _, m := range regexp.MustCompile(`(src|href)="([^"]*)"`).FindAllStringSubmatch(string(f.Body), -1) {
				link, err := page.Parse(m[2])
				if err != nil {
					t.Fatal(err)
				}
				if link.Scheme == "https" && m[1] == "href" || m[2] == "data:," {
					continue
				}
				if link.Host != "" || !there(link.Path) {
					t.Errorf("%s links to %s", page, m[2])
				}
			}
			if strings.Contains(string(f.Body), "<script") || strings.Contains(string(f.Body), " style=") {
				t.Errorf("%s has what its policy forbids", page)
			}
		}
	}
}

// TestRender: what a page of Markdown says becomes what a browser shows.
func TestRender(t *testing.T) {
	site, err := Site(fstest.MapFS{
		"README.md":      {Data: []byte("# Top\n\n[guides](docs/README.md) ![picture](docs/p.png) [code](go.mod)\n")},
		"docs/README.md": {Data: []byte("# All\n\n[one](one.md#a-b), [top](../README.md), [contract](../openapi.yaml)\n")},
		"docs/one.md": {Data: []byte(
			"# One\n\n## A, b\n\n[above](README.md) [here](#a-b) <b onclick=x>raw</b>\n\n## A b\n")},
		"docs/p.png": {Data: []byte("picture")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		Index:    {`href="docs/one#a-b"`, `href="docs/readme"`, `href="openapi.yaml"`, `href="./"`},
		"one":    {`<title>One · plannerd</title>`, `href="../docs"`, `href="#a-b"`, `id="a-b"`, `id="a-b-1"`, `href="../"`},
		"readme": {`href="../docs"`, `src="p.png"`, `alt="picture"`},
	} {
		for _, want := range wants {
			if !strings.Contains(string(site[name].Body), want) {
				t.Errorf("%q lacks %s:\n%s", name, want, site[name].Body)
			}
		}
	}
	if s := string(site["one"].Body); strings.Contains(s, "onclick") {
		t.Errorf("raw HTML came through: %s", s)
	}
	if s := string(site["readme"].Body); strings.Contains(s, "go.mod") || !strings.Contains(s, "code") {
		t.Errorf("a link leads out of the site: %s", s)
	}
}
