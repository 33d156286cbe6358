package main

import (
	"bufio"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"plannerd/internal/lab/pgtest"
	"plannerd/internal/lab/tcpproxy"
)

// asProgram is the variable that makes the test binary the program itself.
const asProgram = "TEST_AS_PLANNERD"

// status asks for a path on a connection of its own and returns the status; 0
// when nobody listens.
func status(t *testing.T, url string) (code int, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, nil
	}
	_ = response.Body.Close()
	if response.Close { // the client has taken this out
		response.Header.Set("Connection", "close")
	}
	return response.StatusCode, response.Header
}

// until asks for a path again and again until the answer has the status.
func until(t *testing.T, url string, want int) http.Header {
	t.Helper()
	for {
		if got, header := status(t, url); got == want {
			return header
		}
		if t.Context().Err() != nil {
			t.Fatalf("%s never answers %d", url, want)
		}
	}
}

// halfPlan sends the head of a request and returns once the server reads its body,
// which finish sends.
func halfPlan(t *testing.T, s *server) (finish func() *http.Response) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	body := `{"interval": 1, "keys": [{"key": "a", "cost": 1}]}`
	if _, err := fmt.Fprintf(conn,
		"POST /v1/operators/clicks/plans HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"+
			"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if line, err := in.ReadString('\n'); err != nil || line != want {
			t.Fatalf("%q, %v", line, err)
		}
	}
	return func() *http.Response {
		t.Helper()
		if _, err := io.WriteString(conn, body); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response
	}
}

// Told to stop, a server is no longer ready at once but takes requests for a
// while; then it refuses new ones as long as one runs, which is finished.
func TestServeDrains(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := serve(t, "--database-url", "sqlite:"+filepath.Join(t.TempDir(), "data.db"), "--drain-delay", "200ms")
	s.call(t, "PUT", "/v1/operators/clicks", `{"instances": 2}`, http.StatusCreated)
	http.DefaultClient.CloseIdleConnections()
	finish := halfPlan(t, s)
	if code, _ := status(t, s.url+"/readyz"); code != http.StatusOK {
		t.Errorf("ready: %d", code)
	}
	s.cancel()
	if h := until(t, s.url+"/readyz", http.StatusServiceUnavailable); h.Get("Retry-After") == "" {
		t.Errorf("draining: %v", h)
	}
	h := until(t, s.url+"/v1/operators/clicks", http.StatusServiceUnavailable)
	if h.Get("Retry-After") == "" || h.Get("Connection") != "close" {
		t.Errorf("a refused request: %v", h)
	}
	if code, _ := status(t, s.url+"/healthz"); code != http.StatusOK {
		t.Errorf("alive: %d", code)
	}
	if response := finish(); response.StatusCode != http.StatusCreated {
		t.Errorf("the running request: %s", response.Status)
	}
	if code := <-s.exited; code != exitOK {
		t.Errorf("exit %d: %s", code, s.stderr)
	}
	for _, want := range []string{`"msg":"starting"`, `"msg":"migrated the database","from":0,`, `"msg":"ready"`,
		`"msg":"shutting down","drain_delay":"200ms"`, `"msg":"stopped"`} {
		if n := strings.Count(s.stderr.String(), want); n != 1 {
			t.Errorf("%s is logged %d times:\n%s", want, n, s.stderr)
		}
	}
}

// A second signal ends the process at once, whatever runs.
func TestServeSecondSignal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // what then still runs is killed
	defer cancel()
	program := osexec.CommandContext(ctx, os.Args[0], "serve", "--listen", "127.0.0.1:0", "--drain-delay", "1h",
		"--database-url", "sqlite:"+filepath.Join(t.TempDir(), "data.db"))
	program.Env = append(os.Environ(), asProgram+"=1")
	stdout, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(line, " at ")
	url, _, _ := strings.Cut(rest, " ")
	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, url+"/readyz", http.StatusServiceUnavailable)
	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = program.Wait()
	if ws, ok := program.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || ws.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v", program.ProcessState)
	}
}

// door stands between a server and its database, and can be shut.
type door struct {
	*tcpproxy.Proxy
	target string
}

// shut breaks all connections, and every one that is opened from now on. Nothing passes while they
// are broken one by one: else a look at the database between two of them would find it there.
func (d door) shut() {
	const nowhere = "127.0.0.1:1"
	d.Swallow()
	d.Redirect(nowhere)
	d.Pass()
}

// open lets connections through.
func (d door) open() { d.Redirect(d.target) }

// behindDoor is the URL of a new database behind a door.
func behindDoor(t *testing.T) (door, string) {
	t.Helper()
	u, err := url.Parse(pgtest.NewDatabase(t))
	if err != nil || u.Port() == "" {
		t.Skipf("the server has no port: %v", err)
	}
	proxy, err := tcpproxy.New(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	d := door{proxy, u.Host}
	u.Host = proxy.Addr()
	return d, u.String()
}

// While the database is away the server is alive but not ready, and the log tells
// once; when it is back, so is the server.
func TestServeWithoutStore(t *testing.T) {
	d, database := behindDoor(t)
	s := serve(t, "--database-url", database)
	until(t, s.url+"/readyz", http.StatusOK)
	d.shut()
	for range 3 {
		if code, _ := status(t, s.url+"/readyz"); code != http.StatusServiceUnavailable {
			t.Errorf("without a database: %d", code)
		}
	}
	if code, _ := status(t, s.url+"/healthz"); code != http.StatusOK {
		t.Errorf("alive: %d", code)
	}
	if code, _ := status(t, s.url+"/v1/operators"); code != http.StatusServiceUnavailable {
		t.Errorf("a request: %d", code)
	}
	d.open()
	until(t, s.url+"/readyz", http.StatusOK)
	s.call(t, "GET", "/v1/operators", "", http.StatusOK)
	http.DefaultClient.CloseIdleConnections()
	s.stop(t)
	log := s.stderr.String()
	for _, want := range []string{`"msg":"the store cannot be reached"`, `"msg":"the store is back"`} {
		if n := strings.Count(log, want); n != 1 {
			t.Errorf("%s is logged %d times:\n%s", want, n, log)
		}
	}
}

// A network that swallows packets keeps requests waiting, but not the end of the server:
// they are cut off, and then the store is closed.
func TestServeEndsInASwallowingNetwork(t *testing.T) {
	u, err := url.Parse(pgtest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	network, err := tcpproxy.New(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = network.Addr()
	s := serve(t, "--database-url", u.String()+"&connect_timeout=3600", "--store-timeout", "1h",
		"--shutdown-timeout", "0s")
	until(t, s.url+"/readyz", http.StatusOK)
	network.Swallow()
	cut := make(chan error, 1)
	go func() {
		response, err := http.Get(s.url + "/v1/operators")
		if err == nil {
			err = fmt.Errorf("status %s", response.Status)
			_ = response.Body.Close()
		}
		cut <- err
	}()
	eventually(t, "the request does not come", func() bool {
		response, err := http.Get(s.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		return strings.Contains(string(text), "\nplannerd_http_requests_in_flight 2\n")
	})
	s.cancel()
	if code := <-s.exited; code != exitFailed || !strings.Contains(s.stderr.String(), "requests were cut off") {
		t.Errorf("exit %d: %s", code, s.stderr)
	}
	t.Log(<-cut) // a refusal, or nothing at all
	if err := network.Close(); err != nil {
		t.Error(err)
	}
}

// A program that is too old for its database says so at once, and does not serve it.
func TestServeIsTooOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	succeed(t, "", "migrate", "up", "--database-url", "sqlite:"+path)
	damage(t, path, "UPDATE oldest_program SET version = 1000")
	var log lockedBuffer
	code := run(t.Context(), []string{"serve", "--listen", "127.0.0.1:0", "--database-url", "sqlite:" + path}, nil, nil,
		io.Discard, &log)
	if text := log.String(); code != exitFailed || !strings.Contains(text, "too old for its database") ||
		strings.Contains(text, "retry_in") {
		t.Errorf("exit %d: %s", code, text)
	}
}

// freeAddress is one that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = free.Close() }()
	return free.Addr().String()
}

// A server whose database is not there yet says so on the address that it will
// have; when the database comes, it serves.
func TestServeWaitsForStore(t *testing.T) {
	d, database := behindDoor(t)
	d.shut()
	address := freeAddress(t)
	started := make(chan *server, 1)
	go func() { started <- serve(t, "--database-url", database, "--listen", address) }()
	h := until(t, "http://"+address+"/readyz", http.StatusServiceUnavailable)
	if h.Get("Retry-After") == "" || h.Get("Content-Type") != "application/problem+json" {
		t.Errorf("starting: %v", h)
	}
	if code, _ := status(t, "http://"+address+"/healthz"); code != http.StatusOK {
		t.Errorf("alive: %d", code)
	}
	d.open()
	s := <-started
	until(t, "http://"+address+"/readyz", http.StatusOK)
	s.stop(t)
}

// Also while it starts, it speaks TLS only, and only to those who mean it.
func TestServeStartsSecured(t *testing.T) {
	d, database := behindDoor(t)
	d.shut()
	a := newAuthority(t)
	a.server()
	client, address := a.client(""), freeAddress(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log lockedBuffer
	exited := make(chan int, 1)
	go func() {
		exited <- run(ctx, []string{"serve", "--listen", address, "--database-url", database, "--tls-cert",
			a.file("server.crt"), "--tls-key", a.file("server.key")},
			nil, nil, io.Discard, &log)
	}()
	answers := func(path, host string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := client.Do(request)
		if err != nil {
			return 0
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	eventually(t, "it does not listen", func() bool { return answers("/healthz", "") == http.StatusOK })
	if ready, foreign := answers("/readyz", ""),
		answers("/healthz", "evil.example"); ready != http.StatusServiceUnavailable || foreign != http.StatusForbidden {
		t.Errorf("ready: %d, for another host: %d", ready, foreign)
	}
	if code, _ := status(t, "http://"+address+"/healthz"); code == http.StatusOK {
		t.Error("it answers without TLS")
	}
	cancel()
	if code := <-exited; code != exitOK {
		t.Errorf("exit %d: %s", code, &log)
	}
}

// Told to stop while it waits, it just ends; out of time, it fails.
func TestServeStopsWaiting(t *testing.T) {
	d, database := behindDoor(t)
	d.shut()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log lockedBuffer
	args := []string{"serve", "--listen", "127.0.0.1:0", "--database-url", database}
	waits := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "the database is not ready") {
			cancel()
		}
		return log.Write(p)
	})
	if code := run(ctx, args, nil, nil, io.Discard, waits); code != exitOK {
		t.Errorf("exit %d: %s", code, &log)
	}
	if r := exec(t, nil, nil, append(args, "--store-wait", "1ms")...); r.code != exitFailed ||
		!strings.Contains(r.stderr, "not ready within 1ms") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// writerFunc is an io.Writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// The service manager is told when the server is ready, and when it stops.
func TestServeNotifies(t *testing.T) {
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"),
		Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	told := func() string {
		b := make([]byte, 100)
		n, err := socket.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	s := serveWith(t, map[string]string{"NOTIFY_SOCKET": socket.LocalAddr().String()}, "--database-url", "sqlite:"+
		filepath.Join(t.TempDir(), "data.db"))
	if got := told(); got != "READY=1" {
		t.Errorf("%q", got)
	}
	s.stop(t)
	if got := told(); got != "STOPPING=1" {
		t.Errorf("%q", got)
	}
}

// Profiles are on an address of their own, on this machine only, without the
// command line, which may have a password.
func TestServeProfiles(t *testing.T) {
	database := "sqlite:" + filepath.Join(t.TempDir(), "data.db")
	s := serve(t, "--database-url", database, "--debug-listen", "127.0.0.1:0")
	_, rest, _ := strings.Cut(s.stderr.String(), `"msg":"profiles are served","address":"`)
	address, _, _ := strings.Cut(rest, `"`)
	for path, want := range map[string]int{
		"/debug/pprof/": 200, "/debug/pprof/heap": 200, "/debug/pprof/goroutine?debug=1": 200, "/debug/pprof/cmdline": 404,
		"/debug/vars": 404,
	} {
		if code, _ := status(t, "http://"+address+path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	for host, want := range map[string]int{"localhost:1": 200, "stranger.example": 403, "127.0.0.1.example": 403} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/debug/pprof/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = a.Body.Close(); a.StatusCode != want {
			t.Errorf("for %s: %d, want %d", host, a.StatusCode, want)
		}
	}
	if code, _ := status(t, s.url+"/debug/pprof/"); code != http.StatusNotFound {
		t.Errorf("profiles on the API: %d", code)
	}
	s.stop(t)
	for _, open := range []string{":0", "0.0.0.0:0", "192.0.2.1:0", "nonsense"} {
		if r := exec(t, nil, nil, "serve", "--listen", "127.0.0.1:0", "--database-url", database, "--debug-listen",
			open); r.code != exitUsage {
			t.Errorf("--debug-listen %s: exit %d, %s", open, r.code, r.stderr)
		}
	}
}

func TestHealthcheck(t *testing.T) {
	s := serve(t, "--database-url", "sqlite:"+filepath.Join(t.TempDir(), "data.db"))
	address := strings.TrimPrefix(s.url, "http://")
	_, port, _ := net.SplitHostPort(address)
	for _, args := range [][]string{{"--listen", address}, {"--listen", address, "--ready"},
		{"--listen", "0.0.0.0:" + port}} {
		succeed(t, "", append([]string{"healthcheck"}, args...)...)
	}
	if r := exec(t, nil, map[string]string{"PLANNERD_LISTEN": address}, "healthcheck"); r.code != exitOK {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	s.stop(t)
	if r := exec(t, nil, nil, "healthcheck", "--listen", address); r.code != exitFailed ||
		!strings.Contains(r.stderr, "does not answer") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	if r := exec(t, nil, nil, "healthcheck", "--listen", "here"); r.code != exitUsage {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// It asks as the server was told to listen: over TLS, for a host that is let in,
// without a token.
func TestHealthcheckOfSecuredServer(t *testing.T) {
	a := newAuthority(t)
	a.server()
	a.issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	vars := map[string]string{
		"PLANNERD_TOKEN": strings.Repeat("ab", 32), "PLANNERD_ALLOWED_HOSTS": "planner.example",
		"PLANNERD_TLS_CERT": a.file("server.crt"), "PLANNERD_TLS_KEY": a.file("server.key"),
		"PLANNERD_DATABASE_URL": "sqlite:" + filepath.Join(t.TempDir(), "data.db"),
	}
	s := serveWith(t, vars)
	vars["PLANNERD_LISTEN"] = strings.TrimPrefix(s.url, "https://")
	if r := exec(t, nil, vars, "healthcheck", "--ready"); r.code != exitOK {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	if r := exec(t, nil, nil, "healthcheck", "--listen", vars["PLANNERD_LISTEN"]); r.code != exitFailed {
		t.Errorf("without TLS: exit %d", r.code)
	}
	s.stop(t)

	delete(vars, "PLANNERD_LISTEN")
	vars["PLANNERD_TLS_CLIENT_CA"] = a.file("ca.crt")
	s = serveWith(t, vars)
	address := strings.TrimPrefix(s.url, "https://")
	for name, want := range map[string]int{"client": exitOK, "server": exitFailed} { // the server's is not for clients
		r := exec(t, nil, nil, "healthcheck", "--listen", address, "--tls-cert", a.file(name+".crt"), "--tls-key",
			a.file(name+".key"))
		if r.code != want {
			t.Errorf("with the certificate of the %s: exit %d: %s", name, r.code, r.stderr)
		}
	}
	s.stop(t)
}
