package api

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"plannerd/internal/web/httpkit"
)

// NewGate returns the gate of a process that starts. Of the configuration it needs
// Logger, Access and Version.
//
// Requests that the gate does not let in are answered with 503, /healthz aside. Each
// has an id and a line in the log as the API's answers do, and has to be for a host
// that the API answers for.
func NewGate(c Config) *httpkit.Gate {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	log := httpkit.RequestLogger(c.Logger)
	errors := &httpkit.ErrorHandler{Log: log, ProblemOf: problemOf}
	s := &shared{log: log, errors: errors, access: c.Access, version: c.Version}
	return httpkit.NewGate(func(draining <-chan struct{}) http.Handler {
		refuse := func(w http.ResponseWriter, _ *http.Request) {
			p := unavailable("The process is starting: its database is not ready yet.")
			if httpkit.Closed(draining) {
				p.Detail = shuttingDown
			}
			p.Close = true // what is left of the body is not read
			p.Write(w)
		}
		mux := chi.NewRouter()
		mux.Use(httpkit.LogRequests(log, probes...), httpkit.SecureHeaders, s.access.identified, middleware.GetHead)
		mux.Get("/healthz", func(w http.ResponseWriter, r *http.Request) {
			s.errors.Handle(w, r, func(w http.ResponseWriter) error { return s.healthy(w) })
		})
		for _, probe := range []string{"/readyz", "/metrics"} { // so that the log knows them
			mux.Get(probe, refuse)
		}
		mux.NotFound(refuse)
		mux.MethodNotAllowed(refuse)
		return mux
	})
}

// probes are the routes that only look after the process, every few seconds.
var probes = []string{"/healthz", "/readyz", "/metrics"}
