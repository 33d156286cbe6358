package api

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"plannerd/internal/web/httpkit"
	"plannerd/sdk/go/wire"
)

// process answers for the process: whether it is there, and what it knows.
type process struct{ *shared }

func (s process) healthz(w http.ResponseWriter, _ *call) error { return s.healthy(w) }

// readyTime is how long the store may take to say that it is there. A network that
// swallows packets must not keep the answer from who asks.
const readyTime = 3 * time.Second

func (s process) readyz(w http.ResponseWriter, c *call) error {
	if httpkit.Closed(s.draining) {
		return unavailable(shuttingDown)
	}
	if err := s.service.Ready(c.Context(), readyTime); err != nil {
		return err
	}
	return s.healthy(w)
}

func (s *shared) healthy(w http.ResponseWriter) error {
	out := wire.Health{Status: wire.HealthStatusOk}
	if s.version != "" {
		out.Version = &s.version
	}
	return httpkit.WriteJSON(w, http.StatusOK, out)
}

// unavailable tells to come again soon, perhaps to another replica.
func unavailable(detail string) *httpkit.Problem {
	return retryable(http.StatusServiceUnavailable, wire.CodeUnavailable, detail, 1)
}

// metrics answers with all metrics. Compression is left to the server.
func (s process) metrics(w http.ResponseWriter, c *call) error {
	promhttp.HandlerFor(s.observer.Registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, c.Request)
	return nil
}

const shuttingDown = "The process is shutting down."
