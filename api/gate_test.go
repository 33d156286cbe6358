package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"plannerd/api"
	"plannerd/store"
)

// Each phase of a process answers probes and requests as OPERATIONS.md has it.
func TestGate(t *testing.T) {
	gate := api.NewGate("test")
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

// After Close what runs may go on; when it has ended the gate is idle.
func TestGateWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, finish := api.NewGate(""), make(chan struct{})
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
