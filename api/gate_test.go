package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"plannerd/api"
	"plannerd/store"
)

// Each phase of a process answers probes and requests as docs/operations.md has it.
func TestGate(t *testing.T) {
	gate := api.NewGate(api.Config{Version: "test", Logger: slog.New(slog.DiscardHandler)})
	e := newEnv(t, func(c *api.Config) { c.Draining = gate.Draining() })
	inner := e.handler
	e.handler = gate
	expect := func(phase string, healthz, readyz, other int, closes bool) {
		t.Helper()
		for path, want := range map[string]int{"/healthz": healthz, "/readyz": readyz, "/v1/operators": other} {
			r := httptest.NewRequestWithContext(t.Context(), "GET", path, http.NoBody)
			w := httptest.NewRecorder()
			gate.ServeHTTP(w, r)
			a := &answer{TB: t, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
			if a.status != want {
				t.Errorf("%s: %s answers %d", phase, path, a.status)
			}
			if want == http.StatusServiceUnavailable {
				if a.problem().Code != "unavailable" || a.header.Get("Retry-After") == "" {
					t.Errorf("%s: %s answers %v %s", phase, path, a.header, a.body)
				}
			}
			if path != "/healthz" && (a.header.Get("Connection") == "close") != closes {
				t.Errorf("%s: %s with %v", phase, path, a.header)
			}
		}
	}
	expect("starting", 200, 503, 503, true)
	gate.Open(inner)
	expect("serving", 200, 200, 200, false)
	gate.Drain()
	expect("draining", 200, 503, 200, true)
	<-gate.Close()
	expect("ending", 200, 503, 503, true)
}

// What the gate answers by itself is for the same hosts as the API, and is told in the
// log as the API's answers are.
func TestGateIsGuarded(t *testing.T) {
	var log strings.Builder
	gate := api.NewGate(api.Config{
		Version: "test", Logger: slog.New(slog.NewJSONHandler(&log, nil)),
		Access: api.Access{Hosts: []string{"planner.example"}},
	})
	for _, c := range []struct {
		method, target, origin string
		status                 int
	}{
		{"GET", "http://planner.example/healthz", "", 200},
		{"HEAD", "http://planner.example:8080/healthz", "", 200},
		{"POST", "http://planner.example/healthz", "", 503},
		{"GET", "http://planner.example/v1/operators", "", 503},
		{"GET", "http://evil.example/healthz", "", 403},
		{"GET", "http://evil.example/v1/operators", "", 403},
		{"POST", "http://planner.example/v1/operators/clicks/plans", "http://evil.example", 403},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.target, http.NoBody)
		r.Header.Set("X-Request-Id", "this-one")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		gate.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get("X-Request-Id") != "this-one" {
			t.Errorf("%s %s answers %d, %v", c.method, c.target, w.Code, w.Header())
		}
	}
	// A healthy probe is told at level debug.
	if n := strings.Count(log.String(), `"msg":"request"`); n != 5 ||
		strings.Count(log.String(), `"request_id":"this-one"`) != n {
		t.Errorf("%d requests in the log:\n%s", n, &log)
	}
}

// After Close what runs may go on; when it has ended the gate is idle.
func TestGateWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, finish := api.NewGate(api.Config{}), make(chan struct{})
		gate.Open(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-finish }))
		for range 2 {
			go gate.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/", http.NoBody))
		}
		synctest.Wait()
		idle := gate.Close()
		synctest.Wait()
		select {
		case <-idle:
			t.Error("idle while requests run")
		default:
		}
		close(finish)
		<-idle
	})
}

// silentStore does not answer until nobody waits any more.
type silentStore struct{ store.Store }

func (silentStore) Ready(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// A store that does not even refuse makes the server not ready, in time.
func TestReadyzOfSilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, err := api.New(api.Config{Store: silentStore{}, Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", http.NoBody))
		a := &answer{TB: t, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
		a.fails(http.StatusServiceUnavailable, "unavailable", "")
	})
}
