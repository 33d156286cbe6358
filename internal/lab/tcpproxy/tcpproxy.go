// Package tcpproxy stands between a program and a server, for tests of networks that
// break: it swallows packets without a word, or cuts connections.
package tcpproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Proxy forwards connections on loopback to a server.
type Proxy struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	target string
	closed bool
	conns  map[net.Conn]struct{}
	fresh  *gate   // of new connections
	lost   []*gate // of those that were forgotten
}

// gate is what packets of some connections pass.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed while it is open
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

// set opens the gate or shuts it.
func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		if !open {
			g.open = make(chan struct{})
		}
	default:
		if open {
			close(g.open)
		}
	}
}

// wait returns when the gate is open.
func (g *gate) wait() {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	<-open
}

// New listens on a free port of loopback and forwards to target, host:port.
func New(target string) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, listener: listener, conns: map[net.Conn]struct{}{}, fresh: newGate()}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Swallow lets nothing through any more, in neither direction: connections stay open, new
// ones are accepted, and nobody learns of it.
func (p *Proxy) Swallow() { p.gate().set(false) }

// Pass lets everything through again. What was swallowed arrives late, as what TCP sends
// again does.
func (p *Proxy) Pass() { p.gate().set(true) }

// Forget swallows what the connections of now send for ever, as a firewall does that has
// lost its state: new connections are forwarded.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh.set(false)
	p.lost = append(p.lost, p.fresh)
	p.fresh = newGate()
}

func (p *Proxy) gate() *gate {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fresh
}

// Redirect forwards to another server from now on, and closes all connections.
func (p *Proxy) Redirect(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	p.cut()
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

func (p *Proxy) cut() {
	for conn := range p.conns {
		_ = conn.Close() // its other side learns of it
	}
}

// Close ends the proxy and all connections, and waits for that.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.cut()
	for _, g := range append(p.lost, p.fresh) {
		g.set(true)
	}
	p.mu.Unlock()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.forward(client) })
	}
}

// forward joins a client with the server until one of them hangs up.
func (p *Proxy) forward(client net.Conn) {
	defer p.enter(client)()
	g := p.gate()
	g.wait()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", target)
	if err != nil {
		return
	}
	defer p.enter(server)()
	var both sync.WaitGroup
	for _, way := range []struct{ from, to net.Conn }{{client, server}, {server, client}} {
		both.Go(func() {
			pump(way.from, way.to, g)
			_, _ = client.Close(), server.Close()
		})
	}
	both.Wait()
}

// enter notes a connection; the function that it returns closes it.
func (p *Proxy) enter(conn net.Conn) func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[conn] = struct{}{}
	if p.closed {
		_ = conn.Close()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = conn.Close()
		delete(p.conns, conn)
	}
}

// pump copies until one side ends.
func pump(from io.Reader, to io.Writer, g *gate) {
	data := make([]byte, 32<<10)
	for {
		n, err := from.Read(data)
		g.wait()
		if n > 0 {
			_, failed := to.Write(data[:n])
			err = errors.Join(err, failed)
		}
		if err != nil {
			return
		}
	}
}
