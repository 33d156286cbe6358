package httpkit

import (
	"net/http"
	"sync"
)

// Gate stands before a handler from the moment that the process listens until it
// ends, because the handler is there only once its store is.
//
//   - At first it lets nobody in.
//   - From Open on it lets everybody in.
//   - After Drain it still does, but asks clients to use another connection next.
//   - After Close it lets nobody in.
//
// Each step is taken once, in this order; steps may be left out.
type Gate struct {
	draining chan struct{}
	refuse   http.Handler

	mu      sync.Mutex
	handler http.Handler
	closed  bool
	running int
	idle    chan struct{} // closed when nothing runs after Close
}

// NewGate returns a gate. Refuse returns what answers requests that are not let in;
// it is given what Drain closes.
func NewGate(refuse func(draining <-chan struct{}) http.Handler) *Gate {
	g := &Gate{draining: make(chan struct{}), idle: make(chan struct{})}
	g.refuse = refuse(g.draining)
	return g
}

// Open lets requests in to the handler.
func (g *Gate) Open(handler http.Handler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handler = handler
}

// Draining returns a channel that Drain closes.
func (g *Gate) Draining() <-chan struct{} { return g.draining }

// Drain says that the process is about to end.
func (g *Gate) Drain() { close(g.draining) }

// Close lets no more requests in. The channel that it returns is closed when those
// that were let in have ended.
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
	handler := g.enter()
	if handler == nil {
		g.refuse.ServeHTTP(w, r)
		return
	}
	defer g.leave()
	if Closed(g.draining) {
		w.Header().Set("Connection", "close") // the next request goes to another replica
	}
	handler.ServeHTTP(w, r)
}

// Closed reports whether a channel that nothing is sent on is closed. A nil channel
// never is.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// enter returns the handler for a request that is let in, until it leaves.
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
