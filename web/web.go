// Package web is the dashboard: static files, embedded as they are served, and their
// handler. What it shows it asks of the public API, as any client does; it needs no
// build step and nothing from elsewhere.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var static embed.FS

// Prefix is the path below which the dashboard's parts are; the page itself is at "/".
const Prefix = "/dashboard/"

const index = "index.html"

// media are the types of all files that there are.
var media = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// part is one file as it is served.
type part struct {
	media, tag string
	body       []byte
}

// Handler answers "/" and what is below [Prefix], and everything else with 404. Its
// parts may be kept by browsers, which ask each time whether they are still the same.
//
// A policy keeps the page to its own server: it runs no script but those that are
// served here, and is shown in no frame.
func Handler() (http.Handler, error) {
	parts := make(map[string]part)
	err := fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		kind := media[path.Ext(name)]
		if kind == "" {
			kind = "text/plain; charset=utf-8" // a licence or a version
		}
		sum := sha256.Sum256(body)
		parts[strings.TrimPrefix(name, "static/")] = part{kind, `"` + hex.EncodeToString(sum[:16]) + `"`, body}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	policy, err := policyOf(parts[index].body)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, below := strings.CutPrefix(r.URL.Path, Prefix)
		if r.URL.Path == "/" {
			name, below = index, true
		} else if name == index {
			below = false // its links are relative to "/"
		}
		p, ok := parts[name]
		if !ok || !below {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", p.media)
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", p.tag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(p.body))
	}), nil
}

// policyOf returns the policy of the page. Its import map is the only script within
// it: browsers do not take one from a file, so the policy names it by its hash.
func policyOf(page []byte) (string, error) {
	_, rest, found := bytes.Cut(page, []byte(`<script type="importmap">`))
	script, _, closed := bytes.Cut(rest, []byte("</script>"))
	if !found || !closed {
		return "", errors.New("the page has no import map")
	}
	sum := sha256.Sum256(script)
	return "default-src 'none'; script-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; style-src 'self'; " +
		"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", nil
}

// ECharts returns the library that draws the dashboard's charts, a module of JavaScript.
func ECharts() ([]byte, error) { return static.ReadFile("static/vendor/echarts/echarts.esm.min.mjs") }
