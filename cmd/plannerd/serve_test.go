package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"plannerd/internal/lab/pgtest"
)

// server is a running plannerd serve.
type server struct {
	url    string // http://127.0.0.1:port
	line   string // the first one on standard output
	stderr *lockedBuffer
	cancel context.CancelFunc
	exited chan int
}

// lockedBuffer may be written and read at the same time.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// serve starts the program on a free port and waits for the line that tells it.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	return serveWith(t, nil, args...)
}

// serveWith is serve with an environment.
func serveWith(t *testing.T, vars map[string]string, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, stdout := io.Pipe()
	s := &server{stderr: &lockedBuffer{}, cancel: cancel, exited: make(chan int, 1)}
	args = append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)
	go func() {
		s.exited <- run(ctx, args, environOf(vars), nil, stdout, s.stderr)
		_ = stdout.Close() // never fails
	}()
	t.Cleanup(cancel)
	line, err := bufio.NewReader(out).ReadString('\n')
	s.line = line
	_, rest, found := strings.Cut(line, " at ")
	if s.url, _, _ = strings.Cut(rest, " "); err != nil || !found {
		t.Fatalf("the first line: %q, %v; exit %d, %s", line, err, <-s.exited, s.stderr)
	}
	if !strings.Contains(line, s.url+"/docs") {
		t.Errorf("the first line lacks something: %q", line)
	}
	return s
}

// stop ends the server gracefully and expects success.
func (s *server) stop(t *testing.T) {
	t.Helper()
	s.cancel()
	if code := <-s.exited; code != exitOK {
		t.Errorf("exit %d: %s", code, s.stderr)
	}
}

// call sends JSON and returns the decoded answer, whose status it expects.
func (s *server) call(t *testing.T, method, path, body string, status int) map[string]any {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		t.Fatalf("%s %s: %s, %v: %s", method, path, response.Status, err, text)
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, text)
	}
	return answer
}

// What was committed before a stop is there after the next start, until the
// schema is taken back, which has to be meant.
func TestServe(t *testing.T) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) { testServe(t, database(t)) })
	}
}

// databases make the URL of a new database of each kind.
var databases = map[string]func(*testing.T) string{
	"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "data.db") },
	"postgres": func(t *testing.T) string { return pgtest.NewDatabase(t) },
}

func testServe(t *testing.T, database string) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer http.DefaultClient.CloseIdleConnections()
	s := serve(t, "--database-url", database)
	if shown := redacted(database); !strings.Contains(s.line, "data in "+shown) {
		t.Errorf("the first line does not tell %s: %q", shown, s.line)
	}
	s.call(t, "PUT", "/v1/operators/clicks", `{"instances": 2, "hash": {"function": "modulo"}}`, http.StatusCreated)
	var rows []string
	for i := range 20 {
		rows = append(rows, fmt.Sprintf(`{"key": "user:%d", "cost": %d, "instance": 0}`, i, 1+i%5))
	}
	plan := s.call(t, "POST", "/v1/operators/clicks/plans", `{"interval": 1, "keys": [`+strings.Join(rows, ",")+`]}`,
		http.StatusCreated)
	if plan["status"] != "approved" {
		t.Fatalf("plan: %v", plan)
	}
	committed := s.call(t, "POST", fmt.Sprintf("/v1/plans/%v/commit", plan["id"]), `{"stopped":true}`, http.StatusOK)
	if committed["status"] != "committed" {
		t.Errorf("committed: %v", committed)
	}
	paths := []string{"/v1/operators/clicks/routing-table", "/v1/operators/clicks/plans", "/v1/operators/clicks",
		fmt.Sprintf("/v1/plans/%v", plan["id"])}
	var before []map[string]any
	for _, path := range paths {
		before = append(before, s.call(t, "GET", path, "", http.StatusOK))
	}
	if entries, _ := before[0]["entries"].([]any); len(entries) == 0 || before[0]["version"] != 1.0 {
		t.Errorf("the committed table: %v", before[0])
	}
	s.stop(t)
	refuseToLose(t, database, "1 operator and 1 plan,")
	s = serve(t, "--database-url", database, "--no-migrate")
	for i, path := range paths {
		if after := s.call(t, "GET", path, "", http.StatusOK); !reflect.DeepEqual(after, before[i]) {
			t.Errorf("%s after the restart: %v, before %v", path, after, before[i])
		}
	}
	s.call(t, "GET", "/readyz", "", http.StatusOK)
	s.stop(t)
	takeBack(t, database)
}

// A request that runs when the server is told to stop is finished.
func TestServeFinishesRequests(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := serve(t, "--database-url", "sqlite:"+filepath.Join(t.TempDir(), "data.db"))
	s.call(t, "PUT", "/v1/operators/clicks", `{"instances": 2}`, http.StatusCreated)
	http.DefaultClient.CloseIdleConnections()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	body := `{"interval": 1, "keys": [{"key": "a", "cost": 1}]}`
	head := fmt.Sprintf(
		"POST /v1/operators/clicks/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
			"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	// The server asks for the body once a handler reads it: the request runs.
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	s.cancel()
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusCreated {
		t.Errorf("the running request: %s", response.Status)
	}
	_ = response.Body.Close()
	if code := <-s.exited; code != exitOK {
		t.Errorf("exit %d: %s", code, s.stderr)
	}
}

// One that does not end in time is cut off, and the exit code tells.
func TestServeCutsRequestsOff(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := serve(t, "--database-url", "sqlite:"+filepath.Join(t.TempDir(), "data.db"), "--shutdown-timeout", "1ms")
	s.call(t, "PUT", "/v1/operators/clicks", `{"instances": 2}`, http.StatusCreated)
	http.DefaultClient.CloseIdleConnections()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	head := "POST /v1/operators/clicks/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
		"Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	s.cancel()
	if code := <-s.exited; code != exitFailed || !strings.Contains(s.stderr.String(), "--shutdown-timeout 1ms") {
		t.Errorf("exit %d: %s", code, s.stderr)
	}
}

func TestServeErrors(t *testing.T) {
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitFailed, "choose another --listen", []string{"--listen", taken.Addr().String()}},
		{exitFailed, "not ready within 0s", []string{"--no-migrate", "--store-wait", "0s"}},
		{exitFailed, "no such file", []string{"--database-url", "sqlite:" + filepath.Join(dir, "no", "where.db")}},
		{exitUsage, "--read-timeout", []string{"--read-timeout", "0s"}},
		{exitUsage, "--max-rows", []string{"--max-rows=-1"}},
		{exitUsage, "--memory-budget", []string{"--memory-budget", "much"}},
		{exitUsage, "at least 192 MiB", []string{"--memory-budget", "1MiB"}},
		{exitUsage, "--body-rate", []string{"--body-rate", "0"}},
	} {
		database := "sqlite:" + filepath.Join(t.TempDir(), "data.db")
		args := append([]string{"serve", "--listen", "127.0.0.1:0", "--database-url", database}, c.args...)
		r := exec(t, nil, nil, args...)
		last := r.stderr[strings.LastIndex(strings.TrimSpace(r.stderr), "\n")+1:]
		if r.code != c.code || r.stdout != "" || !strings.HasPrefix(last, "plannerd: ") || !strings.Contains(last, c.want) {
			t.Errorf("serve %v: exit %d, %q; want %d, %q", c.args, r.code, r.stderr, c.code, c.want)
		}
	}
}
