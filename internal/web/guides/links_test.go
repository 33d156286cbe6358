package guides

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the project.
const root = "../../.."

// pages are the project's pages of Markdown, by their paths from its root.
func pages(t *testing.T) map[string]Page {
	t.Helper()
	found := map[string]Page{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			short, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			found[filepath.ToSlash(short)] = Parse(text)
		}
	}
	return found
}

// TestLinks: each link of a page leads to a file of the project and, in a page, to a
// heading. Links to elsewhere are of public papers only, by HTTPS.
func TestLinks(t *testing.T) {
	all := pages(t)
	if len(all) < 15 {
		t.Fatalf("only %d pages", len(all))
	}
	for name, page := range all {
		if page.Title == "" {
			t.Errorf("%s has no title", name)
		}
		for _, link := range page.Links {
			target, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if target.Host != "" {
				if target.Scheme != "https" || target.Host != "arxiv.org" && target.Host != "doi.org" {
					t.Errorf("%s links to %s", name, link)
				}
				continue
			}
			path := name
			if target.Path != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(name), target.Path))
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s links to %s: %v", name, link, err)
			}
			if target.Fragment != "" && !all[path].Anchors[target.Fragment] {
				t.Errorf("%s links to %s: there is no such heading", name, link)
			}
		}
	}
}

// TestReadable: every guide is in the index and has no line of code that a page
// would have to scroll far for; the readme stays short.
func TestReadable(t *testing.T) {
	all := pages(t)
	index := strings.Join(slices.Concat(all["docs/README.md"].Links, all["BENCHMARKS.md"].Links), " ")
	for name := range all {
		if guide, ok := strings.CutPrefix(name, "docs/"); ok && guide != "README.md" && !strings.Contains(index, guide) {
			t.Errorf("the index does not name %s", name)
		}
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(readme), "\n"); n > 150 {
		t.Errorf("the readme has %d lines", n)
	}
}
