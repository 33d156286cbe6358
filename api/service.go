package api

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"path"
	"time"

	"plannerd"
	"plannerd/api/wire"
	"plannerd/store"
)

func (s *server) healthz(w http.ResponseWriter, _ *call) error { return s.healthy(w) }

// readyTime is how long the store may take to say that it is there. A network that
// swallows packets must not keep the answer from who asks.
const readyTime = 3 * time.Second

func (s *server) readyz(w http.ResponseWriter, c *call) error {
	select {
	case <-s.draining:
		return unavailable(shuttingDown)
	default:
	}
	ctx, cancel := context.WithTimeoutCause(c.Context(), readyTime, store.ErrUnavailable)
	defer cancel()
	if err := s.store.Ready(ctx); err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, store.ErrUnavailable) {
			return fmt.Errorf("%w: %w", cause, err)
		}
		return err
	}
	return s.healthy(w)
}

func (s *server) healthy(w http.ResponseWriter) error {
	out := wire.Health{Status: wire.Ok}
	if s.version != "" {
		out.Version = &s.version
	}
	return writeJSON(w, out)
}

// unavailable tells to come again soon, perhaps to another replica.
func unavailable(detail string) *problem {
	return &problem{status: http.StatusServiceUnavailable, code: wire.CodeUnavailable, detail: detail, retryAfter: 1}
}

func (s *server) openAPI(w http.ResponseWriter, c *call) error {
	writeTagged(w, c.Request, "application/yaml", plannerd.OpenAPI)
	return nil
}

// assets are the page that renders the contract: Swagger UI, whose licence and
// version lie beside it, and the few lines that start it.
//
//go:embed docs
var assets embed.FS

// page is the file that is served as /docs.
const page = "index.html"

// docsPolicy lets the page load its own files and talk to its own server, and
// nothing else.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (s *server) docs(w http.ResponseWriter, c *call) error {
	w.Header().Set("Content-Security-Policy", docsPolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	return s.asset(w, c, page)
}

func (s *server) docsAsset(w http.ResponseWriter, c *call) error {
	name := c.param("asset")
	if name == page {
		name = "" // its links are relative to /docs
	}
	return s.asset(w, c, name)
}

func (s *server) asset(w http.ResponseWriter, c *call, name string) error {
	body, err := assets.ReadFile("docs/" + name)
	if err != nil {
		return &problem{status: http.StatusNotFound, code: wire.CodeNotFound, detail: "The page has no such part."}
	}
	media := map[string]string{".html": "text/html", ".css": "text/css", ".js": "text/javascript"}[path.Ext(name)]
	if media == "" {
		media = "text/plain"
	}
	writeTagged(w, c.Request, media+"; charset=utf-8", body)
	return nil
}
