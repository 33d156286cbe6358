package api

import (
	"cmp"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"plannerd"
	"plannerd/internal/web/guides"
	"plannerd/internal/web/httpkit"
	"plannerd/sdk/go/wire"
)

func (s process) openAPI(w http.ResponseWriter, c *call) error {
	httpkit.WriteTagged(w, c.Request, "application/yaml", plannerd.OpenAPI)
	return nil
}

// assets are the page that renders the contract: Swagger UI, whose licence and
// version lie beside it, and the few lines that start it.
//
//go:embed docs
var assets embed.FS

// The contract's page is a part of the guides. The policies let pages load files of
// their own server and nothing else; that of the contract may run its scripts and
// talk to its server besides.
const (
	contractPage = "api"
	guidesPolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	contractPolicy = "script-src 'self'; connect-src 'self'; " + guidesPolicy
)

// site is the guides, rendered once.
var site = sync.OnceValues(func() (map[string]guides.File, error) { return guides.Site(plannerd.Guides) })

func (s process) docs(w http.ResponseWriter, c *call) error {
	return s.page(w, c, guides.Index)
}

func (s process) docsAsset(w http.ResponseWriter, c *call) error {
	return s.page(w, c, c.param("asset"))
}

// page answers with a guide, with the contract's page, or with a part of these.
func (process) page(w http.ResponseWriter, c *call, name string) error {
	pages, err := site()
	if err != nil {
		return err
	}
	file, found := pages[name]
	policy := guidesPolicy
	switch {
	case found:
	case name == contractPage:
		policy = contractPolicy
		file.Media = "text/html; charset=utf-8"
		file.Body, err = assets.ReadFile("docs/index.html")
	case name == "index.html": // it is the contract's page
		err = fs.ErrNotExist
	default:
		kinds := map[string]string{".css": "css", ".js": "javascript"}
		file.Media = "text/" + cmp.Or(kinds[path.Ext(name)], "plain") + "; charset=utf-8"
		file.Body, err = assets.ReadFile("docs/" + name)
	}
	if err != nil {
		return newProblem(http.StatusNotFound, wire.CodeNotFound, "There is no such page; /docs tells which there are.")
	}
	if strings.HasPrefix(file.Media, "text/html") {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Referrer-Policy", "no-referrer")
	}
	httpkit.WriteTagged(w, c.Request, file.Media, file.Body)
	return nil
}
