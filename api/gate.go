package api

import (
	"log/slog"
	"net/http"
	"sync"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// Gate stands before the API from the moment that the process listens until it
// ends: the API itself is there only once the store is.
//
//   - At first it answers /healthz, and 503 to all else: the process starts.
//   - From Open on it lets everything in.
//   - After Drain still, but /readyz is 503 so that no new clients are sent here.
//   - After Close it lets nobody in: 503 with Connection: close, /healthz aside.
//
// Each step is taken once, in this order; steps may be left out. Whatever the gate
// answers by itself has an id and a line in the log as the API's answers do, and
// goes to the hosts only that the API answers for.
type Gate struct {
	draining chan struct{}
	shut     http.Handler // answers who is not let in

	mu      sync.Mutex
	handler http.Handler
	closed  bool
	running int
	idle    chan struct{} // closed when nothing runs after Close
}

// NewGate returns the gate of a process that starts. Of the configuration it needs
// Logger, Access and Version.
func NewGate(c Config) *Gate {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	g := &Gate{draining: make(chan struct{}), idle: make(chan struct{})}
	s := &server{log: visitLogger(c.Logger), access: c.Access, version: c.Version}
	mux := chi.NewRouter()
	mux.Use(s.visited, s.secure, s.identified, middleware.GetHead)
	mux.Get("/healthz", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, func(w http.ResponseWriter) error { return s.healthy(w) })
	})
	for _, probe := range []string{"/readyz", "/metrics"} { // so that the log knows them
		mux.Get(probe, g.refuse)
	}
	mux.NotFound(g.refuse)
	mux.MethodNotAllowed(g.refuse)
	g.shut = mux
	return g
}

// Open lets requests in to the API.
func (g *Gate) Open(handler http.Handler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handler = handler
}

// Draining is closed by Drain; it is for [Config].
func (g *Gate) Draining() <-chan struct{} { return g.draining }

// Drain says that the process is about to end.
func (g *Gate) Drain() { close(g.draining) }

// Close lets no more requests in. What it returns is closed when those that were
// let in have ended.
func (g *Gate) Close() (idle <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.running == 0 {
		close(g.idle)
	}
	return g.idle
}

// ServeHTTP implements http.Handler.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if handler := g.enter(); handler != nil {
		defer g.leave()
		if g.isDraining() {
			w.Header().Set("Connection", "close") // the next one goes elsewhere
		}
		handler.ServeHTTP(w, r)
		return
	}
	g.shut.ServeHTTP(w, r)
}

// refuse says that the process takes no requests. What is left of the body is not
// read, so the connection is of no more use.
func (g *Gate) refuse(w http.ResponseWriter, _ *http.Request) {
	p := unavailable("The process is starting: its database is not ready yet.")
	if g.isDraining() {
		p.detail = shuttingDown
	}
	p.hangUp = true
	p.write(w)
}

const shuttingDown = "The process is shutting down."

func (g *Gate) isDraining() bool {
	select {
	case <-g.draining:
		return true
	default:
		return false
	}
}

// enter returns the API for a request that is let in, until it leaves.
func (g *Gate) enter() http.Handler {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.handler == nil {
		return nil
	}
	g.running++
	return g.handler
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running--; g.running == 0 && g.closed {
		close(g.idle)
	}
}
