package main

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// Damage is told of by who meets it, stops all writes, and is found by check.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		damage string
		met    string // GET of this meets it; "": the server finds it when it starts
		found  string // by check
	}{
		"a column that is no JSON": {
			"PRAGMA ignore_check_constraints = ON; UPDATE plans SET instances = '[{'", "/v1/plans/", "plan "},
		"a column of another shape": {`UPDATE plans SET hot_keys = '7'`, "/v1/plans/", "keys"},
		"migrations": {
			"UPDATE plan_blobs SET data = x'01' WHERE kind = 'migrations'", "/v1/plans/", "migrations of plan",
		},
		"a configuration": {"UPDATE configurations SET config = '[]'", "/v1/operators/clicks", "configuration 1"},
		"a key of the table": {
			"UPDATE table_entries SET key = x'7a' WHERE key = (SELECT max(key) FROM table_entries)", "",
			"version 1 of the routing table",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data.db")
			at := []string{"--database-url", "sqlite:" + path}
			s := serve(t, at...)
			s.call(t, "PUT", "/v1/operators/clicks", `{"instances": 2}`, http.StatusCreated)
			body := `{"interval": 1, "epoch": 1, "keys": [` +
				`{"key": "a", "cost": 90, "instance": 0}, {"key": "b", "cost": 90, "instance": 0}, {"key": "c", "cost": 90, "instance": 0}]}`
			plan := s.call(t, "POST", "/v1/operators/clicks/plans", body, http.StatusCreated)
			id := plan["id"].(string)
			s.call(t, "POST", "/v1/plans/"+id+"/commit", `{"stopped": true}`, http.StatusOK)
			out := succeed(t, "", append([]string{"check"}, at...)...)
			if !strings.Contains(out, "1 operator with 1 plan, nothing is damaged") {
				t.Fatalf("check says %q", out)
			}
			if c.met == "" {
				s.stop(t)
			}
			damage(t, path, c.damage)
			if c.met == "" {
				s = serve(t, at...)
				eventually(t, "the server does not look at its tables", func() bool {
					code, _ := status(t, s.url+"/readyz")
					return code == http.StatusServiceUnavailable
				})
				s.call(t, "GET", "/v1/operators/clicks/routing-table", "", http.StatusServiceUnavailable)
			} else {
				get := c.met
				if strings.HasSuffix(get, "/") {
					get += id + "?include=migrations"
				}
				s.call(t, "GET", get, "", http.StatusServiceUnavailable)
			}
			s.call(t, "PUT", "/v1/operators/more", `{"instances": 2}`, http.StatusServiceUnavailable)
			s.call(t, "GET", "/readyz", "", http.StatusServiceUnavailable)
			r := exec(t, strings.NewReader(""), nil, append([]string{"check"}, at...)...)
			if r.code != exitFailed || !strings.Contains(r.stdout, c.found) || !strings.Contains(r.stderr, "1 case of damage") {
				t.Errorf("check: exit %d, %s%s", r.code, r.stdout, r.stderr)
			}
			s.stop(t)
			first := strings.Fields(c.found)[0]
			if log := s.stderr.String(); !strings.Contains(log, "damaged") || !strings.Contains(log, first) {
				t.Errorf("the log does not say what is damaged: %s", log)
			}
		})
	}
}

// What no table and no plan has is read, too. Routers have no column that could be unreadable in a
// file whose pages are whole.
func TestCheckRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	at := []string{"--database-url", "sqlite:" + path}
	s := serve(t, at...)
	s.call(t, "PUT", "/v1/operators/clicks", `{"instances": 2}`, http.StatusCreated)
	s.call(t, "PUT", "/v1/operators/clicks/intervals/7/reports/1", `{"keys": [{"key": "a", "cost": 1}]}`,
		http.StatusCreated)
	s.call(t, "PUT", "/v1/operators/clicks/routers/r1", `{"lease": "60s"}`, http.StatusCreated)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/operators/clicks/plans",
		strings.NewReader(`{"interval": 1, "keys": [{"key": "a", "cost": 1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "one")
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("%v, %v", answer, err)
	}
	_ = answer.Body.Close()
	s.stop(t)
	succeed(t, "", append([]string{"check"}, at...)...)
	found := 0
	for damaged, by := range map[string]string{
		"report of instance 1": "UPDATE reports SET data = substr(data, 1, length(data) - 1)",
		"answer under":         "UPDATE idempotency_keys SET answer = x'01'",
	} {
		damage(t, path, by)
		found++
		r := exec(t, strings.NewReader(""), nil, append([]string{"check"}, at...)...)
		if r.code != exitFailed || !strings.Contains(r.stdout, damaged) || strings.Count(r.stdout, "\n") != found {
			t.Errorf("%s: exit %d, %s%s", damaged, r.code, r.stdout, r.stderr)
		}
	}
}

// damage runs statements on a database that may be served.
func damage(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
