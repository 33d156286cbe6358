package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plannerd/web"
)

func get(t *testing.T, method, target string, header ...string) *http.Response {
	t.Helper()
	h, err := web.Handler()
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// files are the paths of all parts below static.
func files(t *testing.T) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(os.DirFS("static"), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func own(name string) bool { return !strings.HasPrefix(name, "vendor/") }

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("static", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestParts: everything is served as what it is, and only from where it is.
func TestParts(t *testing.T) {
	want := map[string]string{".html": "text/html", ".css": "text/css", ".js": "text/javascript",
		".mjs": "text/javascript", ".svg": "image/svg+xml", "": "text/plain"}
	for _, name := range files(t) {
		target := web.Prefix + name
		if name == "index.html" {
			target = "/"
		}
		r := get(t, "GET", target)
		media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		if r.StatusCode != http.StatusOK || media != want[path.Ext(name)] {
			t.Errorf("%s: %d %s, want %s", target, r.StatusCode, media, want[path.Ext(name)])
		}
		if again := get(t, "GET", target, "If-None-Match", r.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s: %d with its own ETag", target, again.StatusCode)
		}
		if r.Header.Get("Cache-Control") != "no-cache" || r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", target, r.Header)
		}
	}
	for _, target := range []string{"/index.html", "/dashboard/", "/dashboard/index.html", "/dashboard/js",
		"/dashboard/js/none.js", "/dashboard/../web.go", "/x/dashboard/js/main.js"} {
		if r := get(t, "GET", target); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", target, r.StatusCode)
		}
	}
}

// TestPolicy: the page runs only what is served beside it, and its import map.
func TestPolicy(t *testing.T) {
	policy := get(t, "GET", "/").Header.Get("Content-Security-Policy")
	page := read(t, "index.html")
	var scripts []string
	for _, m := range regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`).FindAllStringSubmatch(page, -1) {
		if m[2] != "" {
			scripts = append(scripts, m[2])
		}
	}
	if len(scripts) != 1 {
		t.Fatalf("%d inline scripts, want the import map alone", len(scripts))
	}
	sum := sha256.Sum256([]byte(scripts[0]))
	directives := strings.Split(policy, "; ")
	for _, want := range []string{
		"default-src 'none'", "script-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		"style-src 'self'",
		"connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	} {
		if !slices.Contains(directives, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
		t.Errorf("the policy %q is loose", policy)
	}
	if regexp.MustCompile(`<style|\sstyle=|\son\w+=`).MatchString(page) {
		t.Error("the page has styles or handlers within it, which its policy forbids")
	}
}

// imported finds what a module imports, whether at once or later.
var imported = regexp.MustCompile(`(?m)(?:^(?:import|export)\b.*\bfrom |\bimport\()'([^']+)'`)

// TestPreloaded: what the page needs before it shows anything is asked for at once, not
// as one module after the other names it.
func TestPreloaded(t *testing.T) {
	page := read(t, "index.html")
	bare := map[string]string{}
	for _, m := range regexp.MustCompile(`"([^"]+)": "\./dashboard/([^"]+)"`).FindAllStringSubmatch(page, -1) {
		bare[m[1]] = m[2]
	}
	var preloaded []string
	for _, m := range regexp.MustCompile(`(?:rel="modulepreload" href|type="module" src)="dashboard/([^"]+)"`).
		FindAllStringSubmatch(page, -1) {
		preloaded = append(preloaded, m[1])
	}
	needed := []string{"js/main.js"}
	for i := 0; i < len(needed); i++ {
		for _, m := range imported.FindAllStringSubmatch(read(t, needed[i]), -1) {
			target := path.Join(path.Dir(needed[i]), m[1])
			if bare[m[1]] != "" {
				target = bare[m[1]]
			}
			if !strings.HasPrefix(m[0], "import(") && !slices.Contains(needed, target) {
				needed = append(needed, target)
			}
		}
	}
	slices.Sort(preloaded)
	if slices.Sort(needed); !slices.Equal(slices.Compact(preloaded), needed) {
		t.Errorf("preloaded are %v, needed %v", preloaded, needed)
	}
}

// TestLinks: whatever a part refers to is there, and nothing is asked of elsewhere.
func TestLinks(t *testing.T) {
	all := files(t)
	bare := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([^"]+)": "\./dashboard/([^"]+)"`).
		FindAllStringSubmatch(read(t, "index.html"), -1) {
		bare[m[1]] = true
		if !slices.Contains(all, m[2]) {
			t.Errorf("the import map names %s, which is not there", m[2])
		}
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]+)"`).FindAllStringSubmatch(read(t, "index.html"), -1) {
		name, inside := strings.CutPrefix(m[1], "dashboard/")
		if m[1] != "docs" && m[1] != "docs/api" && (!inside || !slices.Contains(all, name)) {
			t.Errorf("the page refers to %s, which is not there", m[1])
		}
	}
	foreign := regexp.MustCompile(`(?i)['"(]\s*(?:https?:)?//[a-z0-9]`)
	for _, name := range all {
		if !own(name) || !strings.HasSuffix(name, ".js") && !strings.HasSuffix(name, ".css") {
			continue
		}
		text := read(t, name)
		if at := foreign.FindString(text); at != "" {
			t.Errorf("%s refers to elsewhere: %s…", name, at)
		}
		for _, m := range imported.FindAllStringSubmatch(text, -1) {
			if target := path.Join(path.Dir(name), m[1]); !bare[m[1]] && !slices.Contains(all, target) {
				t.Errorf("%s imports %s, which is not there", name, m[1])
			}
		}
	}
}

// TestVendored: what others wrote keeps its licence and says its version.
func TestVendored(t *testing.T) {
	for _, root := range []string{"static/vendor", "testdata"} {
		folders, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range folders {
			for _, name := range []string{"LICENSE", "VERSION"} {
				if info, err := os.Stat(filepath.Join(root, f.Name(), name)); err != nil || info.Size() == 0 {
					t.Errorf("%s/%s has no %s", root, f.Name(), name)
				}
			}
		}
	}
}
