package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plannerd/api"
	"plannerd/internal/httpkit"
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
			Pace: httpkit.Pace{BodyTimeout: 20 * time.Millisecond},
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

// TestHandler: the answers fit the contract, and the requests get far.
func TestHandler(t *testing.T) {
	log := new(lines)
	x := explore(t, options{duration: time.Minute, requests: 4000, seed: 1, clients: 1}, log, direct{newAPI(t, log)})
	for operation, status := range map[string]int{
		"POST /v1/what-if": 200, "PUT /v1/operators/{operator}": 201, "POST /v1/operators/{operator}/plans": 201, "GET /v1/plans/{id}": 200,
		"PUT /v1/operators/{operator}/intervals/{interval}/reports/{instance}": 201, "POST /v1/plans/{id}/abort": 200,
	} {
		if x.report.statuses[operation][status] == 0 {
			t.Errorf("%s never answered %d", operation, status)
		}
	}
	for _, o := range x.contract.operations {
		if len(x.report.statuses[o.name()]) == 0 {
			t.Errorf("%s was never asked for", o.name())
		}
	}
}

// TestConnection: over a connection, by several clients, with bytes that are no
// requests.
func TestConnection(t *testing.T) {
	log := new(lines)
	s := httptest.NewServer(newAPI(t, log))
	defer s.Close()
	to := newRemote(s.URL, 3, 30*time.Second)
	defer to.client.CloseIdleConnections()
	explore(t, options{duration: time.Minute, requests: 300, seed: 2, clients: 3}, log, to)
}

// liar answers everything alike.
type liar struct{ answer answer }

func (l liar) send(context.Context, *request) (*answer, error) {
	a := l.answer
	a.header = a.header.Clone()
	return &a, nil
}

// TestFaults: what is wrong is found.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		kind   string
		answer answer
	}{
		{"status 500", answer{status: 500}},
		{"status 302 is not documented", answer{status: 302}},
		{"status 200 breaks the contract", answer{status: 200, header: http.Header{"Content-Type": {mediaJSON}}, body: []byte("{}")}},
		{"no JSON", answer{status: 200, header: http.Header{"Content-Type": {mediaJSON}}, body: []byte(`{"a":1,"a":2}`)}},
		{"no problem+json", answer{status: 404, header: http.Header{"Content-Type": {mediaText}}, body: []byte("404")}},
		{"an answer does not unpack", answer{status: 200, header: http.Header{"Content-Encoding": {"gzip"}}, body: []byte("x")}},
		{"the problem breaks its schema", answer{status: 404, header: http.Header{"Content-Type": {"application/problem+json"}},
			body: []byte(`{"type":"about:blank","title":"Not Found","status":404,"detail":"x","code":"nonsense"}`)}},
	} {
		x, err := newRun(options{duration: time.Minute, requests: 20, seed: 1, clients: 1}, liar{c.answer}, "", io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.fuzz(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(x.report.findings, func(f finding) bool { return f.kind == c.kind }) {
			t.Errorf("%s: found %v", c.kind, x.report.findings)
		}
	}
}

// TestShrink: what makes no difference is left out.
func TestShrink(t *testing.T) {
	x, err := newRun(options{duration: time.Minute, requests: 1, seed: 1, clients: 1}, picky{}, "", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	r := &request{
		op: x.contract.operations[0], method: "POST", query: []pair{{"a", "1"}}, header: []pair{{"Accept", "x"}, {"Content-Type", "y"}},
		body: []byte(`{"bad":{"deep":[1,2],"more":3},"good":4}`),
	}
	s := x.shrink(t.Context(), r, &fault{kind: "status 500"})
	if string(s.body) != `{"bad":{}}` || len(s.query)+len(s.header) > 0 {
		t.Errorf("%s", s.command(""))
	}
	if got := string(r.body); len(r.header) != 2 || len(got) != 40 {
		t.Errorf("the request itself is %s", r.command(""))
	}
}

// picky fails when the body has a member bad.
type picky struct{}

func (picky) send(_ context.Context, r *request) (*answer, error) {
	if tree, _ := object(r.body); tree["bad"] != nil {
		return &answer{status: 500}, nil
	}
	return &answer{closed: true}, nil
}
