package api

import (
	"net/http"
	"sync"
)

// Gate stands before the API from the moment that the process listens until it
// ends: the API itself is there only once the store is.
//
//   - At first it answers /healthz, and 503 to all else: the process starts.
//   - From Open on it lets everything in.
//   - After Drain still, but /readyz is 503 so that no new clients are sent here.
//   - After Close it lets nobody in: 503 with Connection: close, /healthz aside.
//
// Each step is taken once, in this order; steps may be left out.
type Gate struct {
	version  string
	draining chan struct{}

	mu      sync.Mutex
	handler http.Handler
	closed  bool
	running int
	idle    chan struct{} // closed when nothing runs after Close
}

// NewGate returns the gate of a process that starts. version is that of the
// program, as /healthz tells it.
func NewGate(version string) *Gate {
	return &Gate{version: version, draining: make(chan struct{}), idle: make(chan struct{})}
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
	if r.URL.Path == "/healthz" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		if err := writeHealth(w, g.version); err != nil {
			problemOf(err).write(w)
		}
		return
	}
	// What is left of the body is not read, so the connection is of no more use.
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
