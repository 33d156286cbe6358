package live

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"plannerd/sdk/go/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m, os.Stderr)) }

// TestHandler: states are for nodes that know the token, or for those of the same machine.
func TestHandler(t *testing.T) {
	n, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		token, said, method, from string
		status                    int
	}{
		{"", "", "POST", "127.0.0.1:9", http.StatusServiceUnavailable}, // it is admitted, and the node does not run
		{"", "", "POST", "[::1]:9", http.StatusServiceUnavailable},
		{"", "", "POST", "192.0.2.1:9", http.StatusForbidden},
		{"", "Bearer ", "POST", "192.0.2.1:9", http.StatusForbidden},
		{"secret", "Bearer secret", "POST", "192.0.2.1:9", http.StatusServiceUnavailable},
		{"secret", "Bearer secre", "POST", "127.0.0.1:9", http.StatusForbidden},
		{"secret", "", "POST", "127.0.0.1:9", http.StatusForbidden},
		{"secret", "Bearer secret", "GET", "127.0.0.1:9", http.StatusForbidden},
	} {
		r := httptest.NewRequest(c.method, "/handoff", strings.NewReader(`{"status":true}`))
		r.RemoteAddr = c.from
		r.Header.Set("Authorization", c.said)
		w := httptest.NewRecorder()
		if n.Handler(c.token).ServeHTTP(w, r); w.Code != c.status {
			t.Errorf("%+v: %d %s", c, w.Code, w.Body)
		}
	}
	var nobody Local
	if _, err := nobody.Call(t.Context(), 1, nil); err == nil {
		t.Error("nobody answers")
	}
	if _, err := Open(Config{Record: []byte("{")}); err == nil {
		t.Error("a record that is damaged is opened")
	}
}
