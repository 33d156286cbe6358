package httpkit

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// Connections bound how many connections a server has. Beyond them it closes one of the
// address with the most: the one that has waited longest for a request, else the one that
// came last. So one address that opens many takes none from others. They are safe for
// concurrent use.
type Connections struct {
	most int
	now  func() time.Time

	mu      sync.Mutex
	open    map[net.Conn]*connection
	by      map[string]int // address → how many it has
	refused int64
}

// connection is what is known of one.
type connection struct {
	address string
	waits   bool      // no request is under way
	since   time.Time // of the last change
}

// NewConnections returns bounds of so many connections.
func NewConnections(most int, now func() time.Time) *Connections {
	return &Connections{most: most, now: now, open: map[net.Conn]*connection{}, by: map[string]int{}}
}

// Usage tells how many connections are open, and how many were closed because there were
// too many.
func (c *Connections) Usage() (open int, closed int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open), c.refused
}

// State is the hook of [http.Server.ConnState].
func (c *Connections) State(conn net.Conn, state http.ConnState) {
	if surplus := c.change(conn, state); surplus != nil {
		_ = surplus.Close()
	}
}

// change notes a state, and returns the connection that is too many, if any is.
func (c *Connections) change(conn net.Conn, state http.ConnState) (surplus net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateClosed, http.StateHijacked:
		c.forget(conn)
		return nil
	case http.StateNew:
		x := &connection{address: addressOf(conn)}
		c.open[conn] = x
		c.by[x.address]++
	}
	x := c.open[conn]
	if x == nil { // it was closed as one too many
		return nil
	}
	x.waits, x.since = state != http.StateActive, c.now()
	if len(c.open) <= c.most {
		return nil
	}
	surplus = c.surplus()
	c.forget(surplus)
	c.refused++
	return surplus
}

// surplus is the connection to close.
func (c *Connections) surplus() (worst net.Conn) {
	for conn, x := range c.open {
		if worst == nil || c.worse(x, c.open[worst]) {
			worst = conn
		}
	}
	return worst
}

// worse reports whether x is rather to be closed than y.
func (c *Connections) worse(x, y *connection) bool {
	switch {
	case c.by[x.address] != c.by[y.address]:
		return c.by[x.address] > c.by[y.address]
	case x.waits != y.waits:
		return x.waits
	case x.waits:
		return x.since.Before(y.since)
	}
	return y.since.Before(x.since)
}

func (c *Connections) forget(conn net.Conn) {
	x := c.open[conn]
	if x == nil {
		return
	}
	delete(c.open, conn)
	if c.by[x.address]--; c.by[x.address] == 0 {
		delete(c.by, x.address)
	}
}

// addressOf is the host of the other side.
func addressOf(conn net.Conn) string {
	address := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
