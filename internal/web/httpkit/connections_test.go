package httpkit

import (
	"net"
	"net/http"
	"testing"
	"time"
)

// fakeConn is a connection of an address.
type fakeConn struct {
	net.Conn
	address string
	closed  bool
}

func (c *fakeConn) RemoteAddr() net.Addr { return fakeAddr(c.address) }
func (c *fakeConn) Close() error         { c.closed = true; return nil }

type fakeAddr string

func (fakeAddr) Network() string  { return "tcp" }
func (a fakeAddr) String() string { return string(a) }

// Beyond the bound, a connection of the address with the most is closed: one that waits,
// the longest first, else the newest.
func TestConnections(t *testing.T) {
	clock := time.Unix(0, 0)
	c := NewConnections(4, func() time.Time { clock = clock.Add(time.Second); return clock })
	connect := func(address string) *fakeConn {
		conn := &fakeConn{address: address}
		c.State(conn, http.StateNew)
		return conn
	}
	quiet := connect("10.0.0.1:1")
	first, second, third := connect("10.0.0.2:1"), connect("10.0.0.2:2"), connect("10.0.0.2:3")
	c.State(first, http.StateActive)
	other := connect("10.0.0.3:1")
	for _, x := range []struct {
		name   string
		conn   *fakeConn
		closed bool
	}{{"of another address", quiet, false}, {"with a request", first, false}, {"waiting longest", second, true},
		{"waiting", third, false}, {"new", other, false}} {
		if x.conn.closed != x.closed {
			t.Errorf("the connection %s is closed: %t, want %t", x.name, x.conn.closed, x.closed)
		}
	}
	c.State(second, http.StateClosed) // as the server says of what is closed
	c.State(third, http.StateActive)
	last := connect("10.0.0.2:4")
	if last.closed == third.closed || !last.closed {
		t.Errorf("of an address whose connections are busy: the newest is closed: %t", last.closed)
	}
	if open, closed := c.Usage(); open != 4 || closed != 2 {
		t.Errorf("%d open, %d closed, want 4 and 2", open, closed)
	}
}

// A server with the hook goes on serving who waits while others are refused.
func TestConnectionsOfServer(t *testing.T) {
	c := NewConnections(2, time.Now)
	server := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		ConnState: c.State, ReadHeaderTimeout: time.Minute,
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	var silent []net.Conn
	for range 10 {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent = append(silent, conn)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if err := silent[0].SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := silent[0].Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the connection that waited longest is still open: %v", err)
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error) //nolint:errorlint // as net returns it
	return ok && e.Timeout()
}
