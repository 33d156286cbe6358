package api_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"plannerd/api"
	"plannerd/store"
)

const (
	live = "Accept: application/x-ndjson"
	// huge takes minutes, and little memory: 200 runs.
	huge = `{"workers":50,"schemes":["pkg"],"choices":[2,3,4,5,6,7,8,9,10,11],"sources":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20],
		"order":"independent","messages":4000000,"columns":{"key":["a","b","c"],"cost":[5,3,1]}}`
	pkg = "/v1/analyses/pkg"
)

// hasty is a clock that makes every line of progress due.
func hasty(c *api.Config) {
	k := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	c.Now = func() time.Time {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.now = k.now.Add(time.Second)
		return k.now
	}
}

// TestProgress: lines of progress, of which none goes back within its phase, and
// then the same result as without them.
func TestProgress(t *testing.T) {
	e := newEnv(t, hasty)
	many := strings.Repeat(strings.Join(messages, "\n")+"\n", 5000)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			e := &env{TB: t, handler: e.handler}
			target := k.path() + "?" + k.query
			if k.name == "ring" { // a search for token counts tells how far it is
				target = k.path() + "?nodes=3&plan=true&method=fitted&theta_max=0"
			}
			alone := e.do("POST", target, many, text).want(http.StatusOK)
			a := e.do("POST", target, many, text, live).want(http.StatusOK)
			if a.header.Get("Content-Type") != "application/x-ndjson" || alone.header.Get("Content-Type") != "application/json" {
				t.Errorf("content types %s, %s", a.header, alone.header)
			}
			all := a.lines(k)
			last := len(all) - 1
			if last < 1 || all[last].Result == nil {
				t.Fatalf("%d lines: %.300s", len(all), a.body)
			}
			done := map[string]int64{}
			for _, l := range all[:last] {
				p := l.Progress
				if p == nil || p.Phase == "" || p.Done < done[p.Phase] || p.Done > p.Total {
					t.Fatalf("after %v: %+v", done, p)
				}
				done[p.Phase] = p.Done
			}
			begin := bytes.LastIndex(bytes.TrimSuffix(a.body, []byte("\n")), []byte("\n")) + 1
			equalText(t, "the last line", string(a.body[begin:]), `{"result":`+string(bytes.TrimSpace(alone.body))+"}\n")
		})
	}
}

// TestProgressIsRare: a fast analysis tells little of its progress.
func TestProgressIsRare(t *testing.T) {
	e := newEnv(t) // a clock on which a hundred reports are 100 ms
	many := strings.Repeat("a\nb\nc\n", 40_000)
	k := kinds[1]
	if lines := e.do("POST", k.path(), many, text, live).want(http.StatusOK).lines(k); len(lines) > 20 {
		t.Errorf("%d lines", len(lines))
	}
}

// watched is an answer whose every write is seen first.
type watched struct {
	*httptest.ResponseRecorder
	seen func(line string)
}

func (w watched) Write(b []byte) (int, error) {
	w.seen(string(b))
	return w.ResponseRecorder.Write(b)
}

// aborted calls the handler, and reports whether it cut its answer.
func aborted(h http.Handler, w http.ResponseWriter, r *http.Request) (cut bool) {
	defer func() {
		v := recover()
		if cut = v == any(http.ErrAbortHandler); v != nil && !cut {
			panic(v)
		}
	}()
	h.ServeHTTP(w, r)
	return false
}

// TestAnalysisStops: an analysis ends when its client hangs up, and gives back its
// slot.
func TestAnalysisStops(t *testing.T) {
	e := newEnv(t, hasty, func(c *api.Config) { c.Limits.Analyses = 1 })
	ctx, hangUp := context.WithCancel(t.Context())
	after := 0
	w := watched{httptest.NewRecorder(), func(string) {
		if ctx.Err() != nil {
			after++
		}
		hangUp()
	}}
	r := httptest.NewRequestWithContext(ctx, "POST", pkg, strings.NewReader(huge))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/x-ndjson")
	if !aborted(e.handler, w, r) {
		t.Error("the answer is not cut")
	}
	if body := w.Body.String(); !strings.HasPrefix(body, `{"progress":`) || strings.Contains(body, `"result"`) ||
		strings.Contains(body, `"problem"`) {
		t.Errorf("%s", body)
	}
	if after > 3 { // it looks at the context now and then
		t.Errorf("it went on for %d lines", after)
	}
	e.do("POST", pkg, "a\nb\n", text).want(http.StatusOK) // there is but one slot
}

// TestAnalysisOverTheWire: the client sees progress while the analysis runs, and
// when it goes nothing is left of it.
func TestAnalysisOverTheWire(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Limits.Analyses, c.Now = 1, time.Now })
	ignored := goleak.IgnoreCurrent()
	server := httptest.NewServer(e.handler)
	defer func() {
		server.Close()
		goleak.VerifyNone(t, ignored)
	}()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, encoding := range []string{"identity", "gzip"} {
		ctx, hangUp := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+pkg, strings.NewReader(huge))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/x-ndjson"},
			"Accept-Encoding": {encoding}}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if encoding == "identity" {
			first, err := bufio.NewReader(answer.Body).ReadString('\n')
			if err != nil || !strings.HasPrefix(first, `{"progress":{"phase":`) {
				t.Fatalf("%q, %v", first, err)
			}
		} else if n, err := io.ReadFull(answer.Body, make([]byte, 20)); err != nil { // compressed lines are sent, too
			t.Fatalf("%d bytes: %v", n, err)
		}
		hangUp()
		answer.Body.Close()
	}
	small, err := client.Post(server.URL+pkg, "text/plain", strings.NewReader("a\nb\n")) // there is but one slot
	if err != nil {
		t.Fatal(err)
	}
	defer small.Body.Close()
	if _, err := io.Copy(io.Discard, small.Body); err != nil || small.StatusCode != http.StatusOK {
		t.Errorf("%s, %v", small.Status, err)
	}
}

// TestUnfinishedAnalysis: an analysis ends when its time is up, and says so.
func TestUnfinishedAnalysis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler, err := api.New(api.Config{
			Store: struct{ store.Store }{}, Logger: slog.New(slog.DiscardHandler),
			Limits: api.Limits{Analyses: 1, PlanTime: time.Minute},
		})
		if err != nil {
			t.Fatal(err)
		}
		// The clock of the bubble stands still but for a slow connection. The analysis
		// looks at it now and then.
		w := watched{httptest.NewRecorder(), func(string) { time.Sleep(time.Minute) }}
		r := httptest.NewRequestWithContext(t.Context(), "POST", pkg, strings.NewReader(huge))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/x-ndjson")
		if aborted(handler, w, r) {
			t.Fatal("the answer is cut")
		}
		a := &answer{TB: t, status: w.Code, header: w.Header(), body: w.Body.Bytes()}
		lines := a.lines(kinds[1])
		p := lines[len(lines)-1].Problem
		if len(lines) > 4 || p == nil || p.Code != "unfinished" || p.Status != unprocessable ||
			!strings.Contains(p.Detail, "1m0s") {
			t.Errorf("%s", a.body)
		}
	})
	e := newEnv(t, func(c *api.Config) { c.Limits.PlanTime = time.Nanosecond })
	for _, k := range kinds {
		e.do("POST", k.path(), k.body(`"stream":`+jsonOf(t, messages))).fails(unprocessable, "unfinished", "")
	}
}

// TestAnalysisRefusedLive: before the first line, problems are answers of their own.
func TestAnalysisRefusedLive(t *testing.T) {
	e, _ := prepared(t)
	for _, k := range kinds {
		e.do("POST", k.path(), k.body(`"stream":["a",""]`), live).fails(unprocessable, "invalid", "/stream/1")
		e.do("POST", k.path(), k.body(`"operator":"clicks","interval":9`), live).
			fails(http.StatusNotFound, "interval_not_found", "")
	}
}

// TestPlanOfPages: an interval that was planned very often in other epochs is found
// all the same.
func TestPlanOfPages(t *testing.T) {
	pages := &paged{}
	e := newEnv(t, func(c *api.Config) {
		pages.Store = c.Store
		c.Store = pages
	})
	e.do("POST", pkg, `{"operator":"clicks","interval":1,"epoch":2}`).fails(http.StatusNotFound, "interval_not_found", "")
	if fmt.Sprint(pages.asked) != "[0 30 20 10]" {
		t.Errorf("asked for pages before %v", pages.asked)
	}
}

// paged is a store with pages of plans of epoch 1.
type paged struct {
	store.Store
	asked []int64
}

func (p *paged) Plans(_ context.Context, f store.PlanFilter) ([]store.Plan, int64, error) {
	p.asked = append(p.asked, f.Before)
	next := f.Before - 10
	if f.Before == 0 {
		next = 30
	}
	return []store.Plan{{ID: "p", Epoch: 1}}, next, nil
}
