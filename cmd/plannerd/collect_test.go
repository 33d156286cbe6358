package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// collected runs collect with the secret in a file and in the environment, and sees to it that nothing
// tells the secret.
func collected(t *testing.T, args ...string) result {
	t.Helper()
	const password = "s3cret+pass/word"
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "PASSWORD", file)
	}
	r := exec(t, nil, map[string]string{"PLANNERD_COLLECT_PASSWORD": password, "PLANNERD_TOKEN": "token-" + password},
		append([]string{"collect"}, args...)...)
	if strings.Contains(r.stdout+r.stderr, password) {
		t.Errorf("collect %q tells a secret: %+v", args, r)
	}
	return r
}

// prometheus answers as Prometheus does. Its request is seen by look, unless that is nil.
func prometheus(t *testing.T, look func(*http.Request), answers map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if look != nil {
			look(r)
		}
		query := r.URL.Query()
		answer, found := answers[query.Get("query")]
		if !found {
			w.WriteHeader(http.StatusBadRequest)
			answer = `{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": parse error"}`
		}
		for _, name := range []string{"time", "start"} {
			if at, err := strconv.ParseFloat(query.Get(name), 64); err == nil {
				for i := range 4 {
					answer = strings.ReplaceAll(answer, fmt.Sprintf("T%d", i), fmt.Sprintf("%.3f", at+float64(60*i)))
				}
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func vector(series ...string) string {
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(series, ",") + `]}}`
}

// What a query returns is written as statistics, and what it lacks is told.
func TestCollectPrometheus(t *testing.T) {
	t.Parallel()
	var login atomic.Value
	url := prometheus(t, func(r *http.Request) { login.Store(r.Header.Get("Authorization")) }, map[string]string{
		"costs": vector(`{"metric":{"user":"a","pod":"p-1"},"value":[T0,"2.5"]}`,
			`{"metric":{"user":"a","pod":"p-0"},"value":[T0,"4"]}`, `{"metric":{"user":"b","pod":"p-0"},"value":[T0,"1"]}`,
			`{"metric":{"user":"c","pod":"p-1"},"value":[T0,"NaN"]}`, `{"metric":{"pod":"p-1"},"value":[T0,"7"]}`),
		"states": vector(`{"metric":{"user":"a"},"value":[T0,"100"]}`, `{"metric":{"user":"x"},"value":[T0,"1"]}`),
		"range": `{"status":"success","warnings":["one store is away"],"data":{"resultType":"matrix","result":[
			{"metric":{"user":"a"},"values":[[T0,"1"],[T1,"2"],[T2,"3"]]},{"metric":{"user":"b"},"values":[[T2,"5"]]}]}}`,
		"scalar": `{"status":"success","data":{"resultType":"scalar","result":[T0,"1"]}}`,
		"none":   vector(),
	})
	for _, c := range []struct{ args, rows, said, login string }{
		{"--query costs --key user --instance pod --state-query states",
			"key,cost,state,instance\na,6.5,100,p-0\nb,1,0,p-0\nx,0,1,\n",
			"1 series left out: they have no label user|1 values left out that are no numbers|1 values of a key that is on " +
				"several instances", "Bearer s3cret"},
		{"--query costs --key user --user ann --password-file PASSWORD", "key,cost\na,6.5\nb,1\n", "a key costs what",
			"Basic "},
		{"--query costs --key user --for 1m", "", "unknown flag --for", ""},
		{"--query costs --key host", "", "no series has the label host; they have pod, user", ""},
		{"--query nonsense --key user", "", "--query: " + url + "/api/v1/query: 400 Bad Request: invalid parameter", ""},
		{"--query scalar --key user", "", "the result is a scalar", ""},
		{"--query none --key user", "", "there is no key", ""},
		{"--query costs --key user --from 1m --every 5m", "", "does not fit into 1m0s", ""},
		{"--query costs --key user --to http://x", "", "--to and --operator belong together", ""},
		{"--query costs --key user --to http://me:pw@x --operator x", "", "must not have a user or a password", ""},
		{"--query costs --key user --password-file nowhere", "", "nowhere: no such file", ""},
		{"--query costs --key user --tls-ca PASSWORD", "", "it has no certificate in PEM", ""},
	} {
		r := collected(t, slices.Concat([]string{"prometheus", "--url", url}, strings.Fields(c.args))...)
		if (r.code == exitOK) != (c.rows != "") || r.stdout != c.rows {
			t.Errorf("%s: exit %d, %q, want %q; %s", c.args, r.code, r.stdout, c.rows, r.stderr)
		}
		for want := range strings.SplitSeq(c.said, "|") {
			if !strings.Contains(r.stderr, want) {
				t.Errorf("%s: %q, want %q", c.args, r.stderr, want)
			}
		}
		if got, _ := login.Load().(string); !strings.HasPrefix(got, c.login) {
			t.Errorf("%s: logged in by %q", c.args, got)
		}
	}
	r := collected(t, "prometheus", "--url", url, "--query", "range", "--key", "user", "--from", "-3m", "--every", "1m")
	lines := strings.Split(r.stdout, "\n")
	first, _, _ := strings.Cut(lines[1], ",")
	n, err := strconv.Atoi(first)
	want := fmt.Sprintf("interval,key,cost\n%d,a,1\n%d,a,2\n%d,a,3\n%d,b,5\n", n, n+1, n+2, n+2)
	if err != nil || r.stdout != want || !strings.Contains(r.stderr, "one store is away") {
		t.Errorf("a range: %+v, want %q", r, want)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer s.Close()
	if r := collected(t, "prometheus", "--url", s.URL, "--query", "q", "--key", "k"); !strings.Contains(r.stderr,
		"401 Unauthorized: give --user and --password-file") {
		t.Errorf("without a right: %+v", r)
	}
	s.Close()
	if r := collected(t, "prometheus", "--url", s.URL, "--query", "q", "--key", "k"); r.code != exitFailed ||
		!strings.Contains(r.stderr, "connection refused") {
		t.Errorf("nobody there: %+v", r)
	}
}

// Sources are asked by TLS, if their certificates are known.
func TestCollectTLS(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, vector(`{"metric":{"user":"a"},"value":[1,"6"]}`))
	}))
	defer web.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	node := nodeStub(t, web.TLS, func(command string) string {
		switch command {
		case "AUTH s3cret+pass/word":
			return "+OK\r\n"
		case "CLUSTER NODES":
			return "-ERR This instance has cluster support disabled\r\n"
		case "DBSIZE", "MEMORY USAGE foo":
			return ":1\r\n"
		case "SCAN 0 COUNT 500":
			return "*2\r\n$1\r\n0\r\n*1\r\n$3\r\nfoo\r\n"
		}
		return "-NOPERM this user has no permissions\r\n"
	})
	for args, want := range map[string]string{
		"prometheus --key user --query q --url " + web.URL: "key,cost\na,6\n",
		"redis --tls --addr " + node:                       "key,cost,state,instance\n12182,1,1," + node + "\n",
	} {
		if r := collected(t, append(strings.Fields(args), "--tls-ca", ca)...); r.stdout != want {
			t.Errorf("%s: %+v, want %q", args, r, want)
		}
		if r := collected(t, strings.Fields(args)...); r.code != exitFailed || !strings.Contains(r.stderr, "certificate") {
			t.Errorf("%s, without an authority: %+v", args, r)
		}
	}
}

// Each interval is planned by the server, until the command is interrupted.
func TestCollectTo(t *testing.T) {
	t.Parallel()
	url := prometheus(t, nil, map[string]string{"costs": vector(`{"metric":{"user":"a","pod":"p-0"},"value":[T0,"6"]}`,
		`{"metric":{"user":"b","pod":"p-1"},"value":[T0,"1"]}`)})
	s := serve(t, "--database-url", "sqlite:"+filepath.Join(t.TempDir(), "data.db"))
	defer s.stop(t)
	args := []string{"collect", "prometheus", "--url", url, "--query", "costs", "--key", "user", "--instance", "pod",
		"--every", "50ms", "--to", s.url, "--operator", "clicks"}
	if r := exec(t, nil, nil, args...); r.code != exitFailed || !strings.Contains(r.stderr, "operator_not_found") {
		t.Errorf("without an operator: %+v", r)
	}
	put(t, s.url+"/v1/operators/clicks", `{"instances": ["p-0", "q-1"]}`)
	if r := exec(t, nil, nil, args...); r.code != exitFailed || !strings.Contains(r.stderr, "p-1") {
		t.Errorf("with an instance that the operator does not have: %+v", r)
	}
	put(t, s.url+"/v1/operators/clicks", `{"instances": ["p-0", "p-1"]}`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := &lockedBuffer{}
	exited := make(chan int, 1)
	go func() { exited <- run(ctx, args, nil, nil, io.Discard, said) }()
	for {
		response, err := http.Get(s.url + "/v1/operators/clicks/plans")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), `"interval"`) >= 2 {
			break
		}
		select {
		case code := <-exited:
			t.Fatalf("exit %d: %s", code, said)
		case <-time.After(20 * time.Millisecond):
		}
	}
	cancel()
	if code := <-exited; code != exitOK || !strings.Contains(said.String(), "interrupted after ") {
		t.Errorf("interrupted: exit %d, %s", code, said)
	}
}

// put sends JSON and wants it to be taken.
func put(t *testing.T, url, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode > 299 {
		t.Fatalf("%s: %s", url, response.Status)
	}
}

// nodeStub speaks the protocol of Redis, unless secure is nil by TLS, and answers commands as answer
// says.
func nodeStub(t *testing.T, secure *tls.Config, answer func(command string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					var n, size int
					if _, err := fmt.Fscanf(in, "*%d\r\n", &n); err != nil {
						return
					}
					words := make([]string, n)
					for i := range words {
						if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
							return
						}
						text := make([]byte, size+2)
						if _, err := io.ReadFull(in, text); err != nil {
							return
						}
						words[i] = string(text[:size])
					}
					if _, err := io.WriteString(conn, answer(strings.Join(words, " "))); err != nil {
						return
					}
				}
			})
		}
	})
	return l.Addr().String()
}

// Statistics of slots are read as Valkey 8 and Redis 8.2 tell them; counters by their difference.
func TestCollectSlotStats(t *testing.T) {
	t.Parallel()
	text := func(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }
	stats := func(slot int, pairs ...any) string {
		out := fmt.Sprintf("*2\r\n:%d\r\n*%d\r\n", slot, len(pairs))
		for i := 0; i < len(pairs); i += 2 {
			out += text(pairs[i].(string)) + fmt.Sprintf(":%d\r\n", pairs[i+1])
		}
		return out
	}
	for name, c := range map[string]struct {
		slots func(look int) string // of a look, from 0 on
		rows  string
		said  string
	}{
		"CPU time": {func(look int) string {
			return "*3\r\n" + stats(0, "key-count", 3, "cpu-usec", 100+50*look, "network-bytes-in", 1, "network-bytes-out", 2,
				"memory-bytes", 4096) + stats(1, "key-count", 1, "cpu-usec", 70*look, "network-bytes-in", 0,
				"network-bytes-out", 0, "memory-bytes", 64) + stats(9, "key-count", 0, "cpu-usec", 0, "network-bytes-in", 0,
				"network-bytes-out", 0, "memory-bytes", 0)
		}, "0,50,4096,NODE\n1,70,64,NODE\n", "a slot costs its cpu-usec, and its state is its memory-bytes"},
		"bytes": {func(look int) string {
			return "*1\r\n" + stats(5, "key-count", 3, "network-bytes-in", 10*look, "network-bytes-out", 5*look)
		}, "5,15,3,NODE\n", "a slot costs its network-bytes-in + network-bytes-out, and its state is its key-count"},
		"keys": {func(int) string { return "*1\r\n" + stats(5, "key-count", 3) }, "5,3,3,NODE\n", "costs its key-count"},
		"forbidden": {func(int) string {
			return "-NOPERM User ann has no permissions to run the 'cluster|slot-stats' command\r\n"
		},
			"", "the user needs +cluster|nodes, +cluster|slot-stats"},
		"nonsense": {func(int) string { return "HTTP/1.1 400 Bad Request\r\n\r\n" }, "", "it does not answer as Redis does"},
	} {
		looks, port := 0, ""
		address := nodeStub(t, nil, func(command string) string {
			switch {
			case command == "CLUSTER NODES": // without a host: that of whom was asked
				return text("i1 :" + port + "@1,,tls-port=0 myself,master - 0 0 1 connected 0-16383\n" +
					"i2 10.0.0.1:1@2 slave i1 0 0 1 connected\ni3 10.0.0.2:1@2 master - 0 0 2 connected\n")
			case strings.HasPrefix(command, "CLUSTER SLOT-STATS SLOTSRANGE 0 16383"):
				looks++
				return c.slots(looks - 1)
			case strings.HasPrefix(command, "AUTH ann s3cret"):
				return "+OK\r\n"
			}
			return "-ERR unknown command '" + command + "'\r\n"
		})
		_, port, _ = net.SplitHostPort(address)
		r := collected(t, "redis", "--addr", address, "--for", "100ms", "--user", "ann")
		want := ""
		if c.rows != "" {
			want = "key,cost,state,instance\n" + strings.ReplaceAll(c.rows, "NODE", address)
		}
		if (r.code == exitOK) != (want != "") || r.stdout != want || !strings.Contains(r.stderr, c.said) {
			t.Errorf("%s: %+v, want %q and %q", name, r, want, c.said)
		}
	}
}

// Of a Redis without such statistics a sample of keys is taken.
func TestCollectRedisSample(t *testing.T) {
	t.Parallel()
	if _, err := osexec.LookPath("redis-server"); err != nil {
		if os.Getenv("PLANNERD_REQUIRE_REDIS") != "" {
			t.Fatal("there is no redis-server in PATH: install Debian's package redis-server")
		}
		t.Skip("there is no redis-server in PATH")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	l.Close()
	node := osexec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(),
		"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lfu")
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = node.Wait(); close(ended) }()
	t.Cleanup(func() { _ = node.Process.Kill(); <-ended })
	conn := redisAt(t, address, ended)
	send := func(words ...string) {
		text := fmt.Sprintf("*%d\r\n", len(words))
		for _, word := range words {
			text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || strings.HasPrefix(line, "-") {
			t.Fatalf("%q: %q, %v", words, line, err)
		}
	}
	send("ACL", "SETUSER", "ann", "on", ">s3cret+pass/word", "~*", "+@all")
	send("ACL", "SETUSER", "poor", "on", ">s3cret+pass/word", "~*", "+@connection", "+cluster")
	send("SET", "foo", strings.Repeat("x", 5000)) // slot 12182
	send("SET", "{foo}2", "y")
	send("SET", "bar", "z") // slot 5061
	for range 2000 {
		send("STRLEN", "bar")
	}
	r := collected(t, "redis", "--addr", address, "--user", "ann", "--password-file", "PASSWORD")
	rows := map[string][]string{}
	for line := range strings.Lines(r.stdout) {
		cells := strings.Split(strings.TrimSpace(line), ",")
		rows[cells[0]] = cells[1:]
	}
	at := func(slot string, column int) float64 {
		x, _ := strconv.ParseFloat(rows[slot][column], 64)
		return x
	}
	if len(rows) != 3 || rows["key"] == nil || rows["5061"] == nil || rows["12182"] == nil {
		t.Fatalf("%+v", r)
	}
	if rows["5061"][2] != address || at("12182", 1) < 5000 || at("5061", 1) > 500 || at("5061", 0) <= 2*at("12182", 0) {
		t.Errorf("slot 12182 has the memory, and slot 5061 is used: %+v", r)
	}
	for user, want := range map[string]string{
		"poor": "NOPERM", "nobody": `redis at ` + address + `: logging in as "nobody": AUTH: WRONGPASS`,
	} {
		if r := collected(t, "redis", "--addr", address, "--user", user); r.code != exitFailed ||
			!strings.Contains(r.stderr, want) || strings.Contains(r.stderr, "AUTH "+user) {
			t.Errorf("%s: %+v, want %q", user, r, want)
		}
	}
	send("CONFIG", "SET", "maxmemory-policy", "noeviction")
	if r := collected(t, "redis", "--addr", address, "--user", "ann"); !strings.Contains(r.stderr, "each key counts 1") ||
		!strings.Contains(r.stdout, "12182,2,") {
		t.Errorf("without counters of uses: %+v", r)
	}
}

// redisAt connects once there is somebody, unless the server has ended.
func redisAt(t *testing.T, address string, ended <-chan struct{}) net.Conn {
	t.Helper()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			t.Cleanup(func() { conn.Close() })
			return conn
		}
		select {
		case <-ended:
			t.Fatalf("redis-server has ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
