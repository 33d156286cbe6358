package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"plannerd/api"
	"plannerd/store"
)

// listen serves on a loopback port. served gets a value whenever a handler has
// returned.
func (e *env) listen() (address string, served chan struct{}) {
	e.Helper()
	served = make(chan struct{}, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { served <- struct{}{} }()
		e.handler.ServeHTTP(w, r)
	}))
	e.Cleanup(s.Close)
	return s.Listener.Addr().String(), served
}

// dial opens a connection and sends the head of a request with a body of
// statistics, and some of it.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	return say(t, address, "POST /v1/what-if?instances=2&hash_function=modulo HTTP/1.1\r\nHost: x\r\n"+
		"Content-Type: text/csv\r\nContent-Length: 100000000\r\n\r\nkey,cost\na,1\n")
}

// say opens a connection and sends the text.
func say(t *testing.T, address, text string) net.Conn {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// tooSlow expects the answer that a body came too slowly, and the end.
func tooSlow(t *testing.T, conn net.Conn) {
	t.Helper()
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusRequestTimeout || !strings.Contains(string(body), `"too_slow"`) ||
		!response.Close {
		t.Errorf("%v: %s: %s", err, response.Status, body)
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("the connection stays open")
	}
}

// TestStalledBody: a body that does not go on is cut off, and holds nothing.
func TestStalledBody(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Limits.Pace.BodyTimeout = 20 * time.Millisecond })
	address, served := e.listen()
	tooSlow(t, dial(t, address))
	<-served
	if v := e.metric("plannerd_memory_reserved_bytes"); v != "0" {
		t.Errorf("%s bytes reserved", v)
	}
}

// TestTricklingBody: a body that goes on too slowly is cut off, too: here no rate
// is enough.
func TestTricklingBody(t *testing.T) {
	e := newEnv(t, func(c *api.Config) {
		c.Limits.Pace.BodyTimeout, c.Limits.Pace.BodyRate = 20*time.Millisecond, 1<<50
	})
	address, _ := e.listen()
	conn := dial(t, address)
	answered := make(chan struct{})
	go func() { // until the server hangs up
		defer close(answered)
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(conn, "%d,1\n", i); err != nil {
				return
			}
		}
	}()
	tooSlowAnyhow(t, conn)
	_ = conn.Close()
	<-answered
}

// tooSlowAnyhow is tooSlow where the client goes on sending, so that the system may
// drop the answer with the connection.
func tooSlowAnyhow(t *testing.T, conn net.Conn) {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return // reset
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusRequestTimeout {
		t.Error(response.Status)
	}
}

// TestWholeBodyTime: the time of a whole body holds whatever the pace.
func TestWholeBodyTime(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Limits.Pace.ReadTime = 20 * time.Millisecond })
	address, _ := e.listen()
	tooSlow(t, dial(t, address))
}

// TestPatience: a deadline that was set for a body says nothing about what comes
// after it, the answer and the next request.
func TestPatience(t *testing.T) {
	slow := &patient{}
	e := newEnv(t, func(c *api.Config) {
		slow.Store = c.Store
		c.Store, c.Limits.Pace.BodyTimeout = slow, 5*time.Millisecond
	})
	e.operator("clicks", `{"instances":2}`)
	address, _ := e.listen()
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/operators/clicks/plans",
			strings.NewReader(`{"interval":1,"keys":[{"key":"a","cost":1}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode >= 300 {
			t.Errorf("%v: %s", err, response.Status)
		}
	}
}

// patient is a store that takes its time for plans, unless the request ends.
type patient struct{ store.Store }

func (p *patient) FindPlan(ctx context.Context, operator string, epoch, interval int64,
	fingerprint string) (store.Plan, error) {
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return store.Plan{}, ctx.Err()
	case <-timer.C:
	}
	return p.Store.FindPlan(ctx, operator, epoch, interval, fingerprint)
}

// endless is a store with a routing table that no buffer of a connection holds.
type endless struct{ store.Store }

func (e endless) TableChanges(ctx context.Context, operator string, since int64) (store.Feed, error) {
	t, err := e.Store.TableChanges(ctx, operator, since)
	t.Entries = make([]store.Entry, 1_000_000)
	for i := range t.Entries {
		t.Entries[i].Key = []byte("a key of an entry that is not very long")
	}
	return t, err
}

// TestAnswerNotTaken: a client that does not take its answer is cut off.
func TestAnswerNotTaken(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Store, c.Limits.Pace.WriteTimeout = endless{c.Store}, 20*time.Millisecond })
	e.operator("clicks", `{"instances":2}`)
	address, served := e.listen()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET /v1/operators/clicks/routing-table HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-served // though nothing was read
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return // reset
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Error("the answer is whole")
	}
}

// TestAnswerTakenSlowly: a client that takes its answer bit by bit is cut off as well.
func TestAnswerTakenSlowly(t *testing.T) {
	e := newEnv(t, func(c *api.Config) {
		c.Store, c.Limits.Pace.WriteTimeout, c.Limits.Pace.BodyRate = endless{c.Store}, 500*time.Millisecond, 1<<40
	})
	e.operator("clicks", `{"instances":2}`)
	address, served := e.listen()
	conn := say(t, address, "GET /v1/operators/clicks/routing-table HTTP/1.1\r\nHost: x\r\n\r\n")
	taken, bit := 0, make([]byte, 16<<10) // far slower than answers are made, also on a busy machine
	for ended := false; !ended; {
		n, err := conn.Read(bit)
		if taken += n; err != nil {
			t.Fatalf("the connection ended before its request: %v", err)
		}
		select {
		case <-served: // though something was read all the time
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
	}
	if whole := 1_000_000 * 40; taken > whole/2 {
		t.Errorf("%d bytes were taken before it was cut off", taken)
	}
}

// TestHungUp: a client that hangs up while its body is read, or while an analysis
// runs that would take minutes, ends its request and frees what it held.
func TestHungUp(t *testing.T) {
	e := newEnv(t)
	address, served := e.listen()
	if err := dial(t, address).Close(); err != nil {
		t.Fatal(err)
	}
	<-served
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: "+
		"application/x-ndjson\r\nContent-Length: %d\r\n\r\n%s", pkg, len(huge), huge)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	<-served
	if v := e.metric("plannerd_memory_reserved_bytes"); v != "0" {
		t.Errorf("%s bytes reserved", v)
	}
}

// TestUnreadBody: an answer need not wait for a body that nobody reads and that does
// not come.
func TestUnreadBody(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Limits.Pace.BodyTimeout = 10 * time.Millisecond })
	address, served := e.listen()
	conn := say(t, address, "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n")
	<-served
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("status %d", response.StatusCode)
	}
}

// TestHalfClosed: a client that closes its side before its body is whole is told of
// no success.
func TestHalfClosed(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", `{"instances":2}`)
	address, served := e.listen()
	conn := say(t, address, "PUT /v1/operators/clicks/intervals/1/reports/0 HTTP/1.1\r\nHost: x\r\nContent-Type: "+
		"text/csv\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	<-served
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil {
		defer response.Body.Close()
		if response.StatusCode < 400 {
			t.Errorf("status %d", response.StatusCode)
		}
	}
}

// quitter is a store that cancels a request when its plan is looked for.
type quitter struct {
	store.Store
	cancel context.CancelFunc
	kept   bool
}

func (q *quitter) FindPlan(context.Context, string, int64, int64, string) (store.Plan, error) {
	q.cancel()
	return store.Plan{}, store.ErrNotFound
}

func (q *quitter) CreatePlan(ctx context.Context, p store.NewPlan, by store.Transition) (store.Plan, bool, error) {
	q.kept = true
	return q.Store.CreatePlan(ctx, p, by)
}

// TestCancelledPlan: nothing is planned for a request that was cancelled, and
// nothing is held.
func TestCancelledPlan(t *testing.T) {
	q := &quitter{}
	e := newEnv(t, func(c *api.Config) {
		q.Store = c.Store
		c.Store = q
	})
	for _, operator := range []string{`{"instances":2}`, `{"instances":2,"scheme":"ring"}`,
		`{"instances":2,"scheme":"ranges"}`} {
		e.operator("clicks", operator)
		ctx, cancel := context.WithCancel(t.Context())
		q.cancel = cancel
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/operators/clicks/plans?interval=1",
			strings.NewReader("key,cost\na,1\n"))
		r.Header.Set("Content-Type", "text/csv")
		w := httptest.NewRecorder()
		if cut := aborted(e.handler, w, r); !cut || q.kept || w.Body.Len() > 0 {
			t.Errorf("%s: cut %t, kept %t, %s", operator, cut, q.kept, w.Body)
		}
		e.do("DELETE", "/v1/operators/clicks", "").want(http.StatusNoContent)
	}
	if v := e.metric("plannerd_memory_reserved_bytes"); v != "0" {
		t.Errorf("%s bytes reserved", v)
	}
}
