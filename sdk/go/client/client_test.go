package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	if status >= 400 {
		h.Set("Content-Type", "application/problem+json")
	}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func newClient(t *testing.T, config client.Config, do transport) *client.Client {
	t.Helper()
	config.HTTP = &http.Client{Transport: do}
	c, err := client.New("http://plannerd.example/below/", config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// attempt is what a server saw of a request.
type attempt struct {
	at                time.Duration
	target, key, body string
}

// script answers requests with one answer after another, and notes the requests.
func script(seen *[]attempt, answers ...func() (*http.Response, error)) transport {
	begin := time.Now()
	return func(r *http.Request) (*http.Response, error) {
		var body []byte
		if r.Body != nil {
			var err error
			if body, err = io.ReadAll(r.Body); err != nil {
				return nil, err
			}
		}
		n := len(*seen)
		*seen = append(*seen, attempt{
			time.Since(begin), r.Method + " " + r.URL.RequestURI(), r.Header.Get("Idempotency-Key"), string(body),
		})
		return answers[min(n, len(answers)-1)]()
	}
}

func gives(status int, body string, header ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) { return answer(status, body, header...), nil }
}

func breaks() (*http.Response, error) { return nil, errors.New("connection reset") }

// cut gives an answer that breaks off.
func cut() (*http.Response, error) {
	a := answer(200, "")
	a.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"id":`), failing{}))
	return a, nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

const unavailable = `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"not now","code":"unavailable"}`

// TestRetries: a call that changes something is the same in all attempts, and comes again
// after what the server says.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []attempt
		c := newClient(t, client.Config{}, script(&seen,
			breaks, gives(503, unavailable, "Retry-After", "3"), cut, gives(409, `{"code":"idempotency_key_running"}`),
			gives(200, `{"id":"p1"}`, "Idempotent-Replayed", "true", "ETag", `"e1"`)))
		var got client.Answer
		plan, err := c.StartPlan(t.Context(), "p/1", wire.StartRequest{Executor: "me"}, client.ReadAnswer(&got))
		if err != nil || plan.Id != "p1" {
			t.Fatalf("%+v %v", plan, err)
		}
		if got.Status != 200 || got.ETag != `"e1"` || !got.Replayed {
			t.Errorf("%+v", got)
		}
		if len(seen) != 5 {
			t.Fatalf("%d attempts, want 5", len(seen))
		}
		for _, a := range seen {
			if a.target != "POST /below/v1/plans/p%2F1/start" || a.body != `{"executor":"me"}` {
				t.Errorf("%+v", a)
			}
			if a.key == "" || a.key != seen[0].key {
				t.Errorf("key %q, the first was %q", a.key, seen[0].key)
			}
		}
		if wait := seen[2].at - seen[1].at; wait < 3*time.Second || wait > 3*time.Second+200*time.Millisecond {
			t.Errorf("waited %v after Retry-After: 3", wait)
		}
		if wait := seen[1].at - seen[0].at; wait > 100*time.Millisecond {
			t.Errorf("waited %v after the first attempt", wait)
		}
		before := seen[0].key
		if _, err := c.StartPlan(t.Context(), "p1", wire.StartRequest{Executor: "me"}); err != nil {
			t.Fatal(err)
		}
		if seen[5].key == before {
			t.Error("another call has the same key")
		}
	})
}

// TestJitter: waits are spread over their whole range, whose bound doubles up to the cap.
func TestJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const attempts, calls = 6, 200
		var longest [attempts - 1]time.Duration
		shortest := longest
		for range calls {
			var seen []attempt
			retry := client.Retry{Attempts: attempts, Base: time.Second, Cap: 4 * time.Second}
			c := newClient(t, client.Config{Retry: retry}, script(&seen, gives(503, unavailable)))
			_, err := c.Readyz(t.Context())
			refused, ok := errors.AsType[*client.Error](err)
			if !ok || refused.Attempts != attempts || len(seen) != attempts {
				t.Fatalf("%v after %d attempts", err, len(seen))
			}
			for i := range longest {
				wait := seen[i+1].at - seen[i].at
				longest[i] = max(longest[i], wait)
				if shortest[i] == 0 || wait < shortest[i] {
					shortest[i] = wait
				}
			}
		}
		for i, seconds := range []int{1, 2, 4, 4, 4} {
			bound := time.Duration(seconds) * time.Second
			if longest[i] > bound || longest[i] < bound*9/10 || shortest[i] > bound/10 {
				t.Errorf("wait %d was from %v to %v, want 0 to %v", i, shortest[i], longest[i], bound)
			}
		}
	})
}

// TestNotRepeated: what another attempt would not mend, or what could then happen twice.
func TestNotRepeated(t *testing.T) {
	once := client.Statistics{Once: true, Rows: client.Rows([]client.Row{{Key: []byte("a")}})}
	again := client.Statistics{Rows: once.Rows}
	for name, one := range map[string]struct {
		answer   func() (*http.Response, error)
		retry    client.Retry
		call     func(context.Context, *client.Client) error
		attempts int
	}{
		"refused": {answer: gives(422, `{"code":"invalid"}`), attempts: 1},
		"failed":  {answer: gives(500, `{"code":"internal"}`), attempts: 1},
		"not now": {answer: gives(503, unavailable), attempts: 5},
		"too far": {answer: gives(503, unavailable, "Retry-After", "31"), attempts: 1},
		"patient": {answer: gives(503, unavailable, "Retry-After", "31"),
			retry: client.Retry{Patience: time.Minute}, attempts: 5},
		"no retries": {answer: gives(503, unavailable), retry: client.Retry{Attempts: 1}, attempts: 1},
		"a proxy":    {answer: gives(502, "<html>"), attempts: 5},
		"rows once": {answer: gives(503, unavailable), attempts: 1, call: func(ctx context.Context, c *client.Client) error {
			_, err := c.CreatePlanFrom(ctx, "o", wire.PlanRequest{}, once)
			return err
		}},
		"rows again": {answer: gives(503, unavailable), attempts: 5, call: func(ctx context.Context, c *client.Client) error {
			_, err := c.CreatePlanFrom(ctx, "o", wire.PlanRequest{}, again)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen []attempt
				c := newClient(t, client.Config{Retry: one.retry}, script(&seen, one.answer))
				call := one.call
				if call == nil {
					call = func(ctx context.Context, c *client.Client) error {
						_, err := c.CreatePlan(ctx, "o", wire.PlanRequest{})
						return err
					}
				}
				if err := call(t.Context(), c); err == nil || len(seen) != one.attempts {
					t.Errorf("%d attempts, want %d: %v", len(seen), one.attempts, err)
				}
				for _, a := range seen {
					if a.body != seen[0].body || a.key != seen[0].key {
						t.Errorf("%+v is another request than %+v", a, seen[0])
					}
				}
			})
		})
	}
}

// TestContext: a call ends with its context, also while it waits, and at once where the
// wait would be longer.
func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []attempt
		c := newClient(t, client.Config{}, script(&seen, gives(503, unavailable, "Retry-After", "20")))
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := c.Readyz(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, wire.CodeUnavailable) || time.Since(begin) != 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		_, err = c.Readyz(ctx)
		if !errors.Is(err, context.Canceled) || time.Since(begin) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// TestErrors: all that a problem says is there.
func TestErrors(t *testing.T) {
	const problem = `{"type":"about:blank","title":"Conflict","status":409,"code":"reports_missing","detail":"some are missing",
		"request_id":"r1","missing":[3,4],"since":"then","errors":[{"pointer":"/keys/0","detail":"is odd"},
		{"parameter":"epoch","line":2,"detail":"is old"}]}`
	c := newClient(t, client.Config{}, func(*http.Request) (*http.Response, error) {
		return answer(409, problem, "Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"), nil
	})
	_, err := c.CreatePlan(t.Context(), "o", wire.PlanRequest{})
	if !errors.Is(err, wire.CodeReportsMissing) || errors.Is(err, wire.CodeFenced) {
		t.Errorf("%v is not its code", err)
	}
	e, ok := errors.AsType[*client.Error](fmt.Errorf("wrapped: %w", err))
	if !ok {
		t.Fatalf("%T %v", err, err)
	}
	if e.Status != 409 || e.Detail != "some are missing" || !slices.Equal(*e.Missing, []int32{3, 4}) ||
		*e.RequestId != "r1" || len(*e.Errors) != 2 || string(e.Members["since"]) != `"then"` || e.RetryAfter != 0 || e.Attempts != 1 {
		t.Errorf("%+v", e)
	}
	const want = `client: POST /v1/operators/o/plans: 409 reports_missing: some are missing; /keys/0 is odd; line 2 epoch is old (request r1)`
	if err.Error() != want {
		t.Errorf("%s\nwant %s", err, want)
	}

	c = newClient(t, client.Config{}, func(*http.Request) (*http.Response, error) {
		return answer(403, strings.Repeat("<p>no\xff", 1000), "Content-Type", "text/html"), nil
	})
	e, ok = errors.AsType[*client.Error](c.DeleteOperator(t.Context(), "o"))
	if !ok || e.Status != 403 || e.Code != "" || !strings.HasPrefix(e.Detail, "<p>no?") || len(e.Detail) > 200 {
		t.Errorf("%+v", e)
	}
}

func TestConditions(t *testing.T) {
	var header http.Header
	c := newClient(t, client.Config{Token: client.StaticToken("secret"), UserAgent: "engine/1"},
		func(r *http.Request) (*http.Response, error) {
			header = r.Header
			return answer(304, "", "ETag", `"e"`), nil
		})
	var got client.Answer
	_, err := c.GetPlan(t.Context(), "p", client.GetPlanOptions{}, client.IfNoneMatch(`"e"`), client.ReadAnswer(&got))
	if !errors.Is(err, client.ErrNotModified) || got.ETag != `"e"` || got.Status != 304 {
		t.Errorf("%v %+v", err, got)
	}
	if header.Get("If-None-Match") != `"e"` || header.Get("Authorization") != "Bearer secret" ||
		header.Get("User-Agent") != "engine/1" || header.Get("Idempotency-Key") != "" {
		t.Errorf("%v", header)
	}
	_, _ = c.AckPlan(t.Context(), "p", wire.AckRequest{}, client.IfMatch(`"e"`), client.IdempotencyKey("mine"))
	if header.Get("If-Match") != `"e"` || header.Get("Idempotency-Key") != "mine" {
		t.Errorf("%v", header)
	}
}

// TestTableParameters: a request of the routing table says all that was asked for.
func TestTableParameters(t *testing.T) {
	var seen string
	c := newClient(t, client.Config{}, func(r *http.Request) (*http.Response, error) {
		seen = r.URL.RawQuery
		return answer(http.StatusOK, `{}`), nil
	})
	if _, err := c.GetRoutingTable(t.Context(), "clicks", client.GetRoutingTableOptions{
		Since: new(int64(0)), Wait: time.Minute, NextPlan: true, KeyEncoding: wire.KeyEncodingBase64,
	}); err != nil {
		t.Fatal(err)
	}
	if want := "key_encoding=base64&next_plan=true&since=0&wait=60000ms"; seen != want {
		t.Errorf("query %s, want %s", seen, want)
	}
}

func TestToken(t *testing.T) {
	asked := errors.New("no token today")
	c := newClient(t, client.Config{Token: func(context.Context) (string, error) { return "", asked }},
		func(*http.Request) (*http.Response, error) { panic("a request without its token") })
	if _, err := c.GetCaller(t.Context()); !errors.Is(err, asked) {
		t.Errorf("%v", err)
	}
}

func TestAddress(t *testing.T) {
	for _, bad := range []string{
		"", "plannerd:8080", "ftp://plannerd", "http://", "http://a/?b", "http://a/#b", "http://a:x",
	} {
		if _, err := client.New(bad, client.Config{}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestStatistics: rows are sent as compressed lines, with all else in the query.
func TestStatistics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []attempt
		var header http.Header
		answers := script(&seen, breaks, gives(201, `{"id":"p1"}`))
		c := newClient(t, client.Config{}, func(r *http.Request) (*http.Response, error) {
			header = r.Header
			return answers(r)
		})
		_, err := c.CreatePlanFrom(t.Context(), "o", wire.PlanRequest{
			Interval: 0, Epoch: new(int64(2)), Residual: []wire.Residual{{Instance: "1", Cost: new(0.5), Keys: new(int64(7))}},
			Compact: &wire.CompactStatistics{Degree: new(wire.CompactDegree(4))},
		}, client.Statistics{
			Located: true, Hashed: true, Count: 2,
			Rows: client.Rows([]client.Row{
				{Key: []byte("a"), Cost: 1.5, State: 1e30, Instance: 3, HashInstance: 4},
				{Key: []byte{255}, Costs: []float64{2, 0.5}},
			}),
			Resources: []string{"network", "disk"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) != 2 || seen[0].body != seen[1].body || seen[0].key != seen[1].key {
			t.Fatalf("the attempts differ: %+v", seen)
		}
		const target = "POST /below/v1/operators/o/plans?" +
			"compact_degree=4&epoch=2&interval=0&key_encoding=base64&residual=1%3A0.5%3A0%3A7"
		if seen[1].target != target {
			t.Errorf("%s, want %s", seen[1].target, target)
		}
		if header.Get("Content-Encoding") != "zstd" || header.Get("Content-Type") != "application/x-ndjson" ||
			header.Get("Plannerd-Row-Count") != "2" {
			t.Errorf("%v", header)
		}
		const want = `{"key":"YQ==","cost":1.5,"state":1e+30,"instance":3,"hash_instance":4}` + "\n" +
			`{"key":"/w==","cost":0,"state":0,"costs":{"network":2,"disk":0.5},"instance":0,"hash_instance":0}` + "\n"
		if got := decompressed(t, seen[1].body); got != want {
			t.Errorf("%s want %s", got, want)
		}
	})
}

func decompressed(t *testing.T, text string) string {
	t.Helper()
	r, err := zstd.NewReader(strings.NewReader(text), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestBrokenRows: what goes wrong with rows ends the call, and the server sees a body that
// was cut. The bubble of synctest proves that no goroutine is left.
func TestBrokenRows(t *testing.T) {
	asked := 0
	odd := errors.New("the disk is gone")
	endless := func(yield func(client.Row, error) bool) {
		asked++
		for yield(client.Row{Key: bytes.Repeat([]byte{byte(asked)}, 100)}, nil) {
		}
	}
	breaking := func(yield func(client.Row, error) bool) {
		asked++
		if yield(client.Row{}, nil) {
			yield(client.Row{}, odd)
		}
	}
	infinite := client.Rows([]client.Row{{Key: []byte("a"), Cost: math.Inf(1)}})
	reads := func(r *http.Request) (*http.Response, error) {
		if _, err := io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		return answer(201, `{}`), nil
	}
	ignores := func(r *http.Request) (*http.Response, error) {
		_ = r.Body.Close()
		return answer(413, `{"code":"too_large"}`), nil
	}
	stalls := func(r *http.Request) (*http.Response, error) {
		defer r.Body.Close()
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	for name, one := range map[string]struct {
		rows   func(func(client.Row, error) bool)
		do     transport
		want   error
		detail string
	}{
		"a row cannot be made": {breaking, reads, odd, ""},
		"not a number":         {infinite, reads, nil, `the cost of key "a": must be a finite number`},
		"none":                 {nil, reads, nil, "there are no rows"},
		"refused meanwhile":    {endless, ignores, wire.CodeTooLarge, ""},
		"cancelled meanwhile":  {endless, stalls, context.DeadlineExceeded, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked = 0
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				c := newClient(t, client.Config{}, one.do)
				_, err := c.PutReportFrom(ctx, "o", 1, "0", wire.ReportRequest{}, client.Statistics{Rows: one.rows})
				if err == nil || one.want != nil && !errors.Is(err, one.want) || !strings.Contains(err.Error(), one.detail) {
					t.Errorf("%v", err)
				}
				if asked > 1 {
					t.Errorf("the rows were asked for %d times", asked)
				}
			})
		})
	}
}

// TestPages: an iterator asks for one page after another, stops when its caller does, and
// begins anew when it is used again.
func TestPages(t *testing.T) {
	var targets []string
	c := newClient(t, client.Config{}, func(r *http.Request) (*http.Response, error) {
		targets = append(targets, r.URL.RawQuery)
		next := `"t2"`
		key := "YQ=="
		if r.URL.Query().Get("page_token") == "t2" {
			next, key = "null", "/w=="
		}
		return answer(200, fmt.Sprintf(`{"migrations":[{"key":%q,"to":1},[0,1,0,1,1,4]],"total_size":9,"next_page_token":%s}`,
			key, next)), nil
	})
	all := c.Migrations(t.Context(), "p", client.ListMigrationsOptions{Skip: 5, PageSize: 2})
	for range 2 {
		targets = nil
		var keys []string
		for m, err := range all {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, m.Key)
		}
		if !slices.Equal(keys, []string{"a", "", "\xff", ""}) {
			t.Errorf("%q", keys)
		}
		want := []string{"key_encoding=base64&page_size=2&skip=5", "key_encoding=base64&page_size=2&page_token=t2"}
		if !slices.Equal(targets, want) {
			t.Errorf("%q, want %q", targets, want)
		}
	}
	targets = nil
	for range all {
		break
	}
	if len(targets) != 1 {
		t.Errorf("%q of a caller that stops", targets)
	}
}

func TestPagesFail(t *testing.T) {
	n := 0
	c := newClient(t, client.Config{}, func(*http.Request) (*http.Response, error) {
		if n++; n > 2 {
			return answer(400, `{"code":"invalid_page_token"}`), nil
		}
		return answer(200, fmt.Sprintf(`{"operators":[{"name":"o%d"}],"next_page_token":"t%[1]d"}`, n)), nil
	})
	var names []string
	var failed error
	for o, err := range c.Operators(t.Context(), client.ListOperatorsOptions{}) {
		if failed = err; err == nil {
			names = append(names, o.Name)
		}
	}
	if !slices.Equal(names, []string{"o1", "o2"}) || !errors.Is(failed, wire.CodeInvalidPageToken) {
		t.Errorf("%q %v", names, failed)
	}
	same := newClient(t, client.Config{}, func(*http.Request) (*http.Response, error) {
		return answer(200, `{"plans":[],"next_page_token":"t"}`), nil
	})
	for _, failed = range same.Plans(t.Context(), "o", client.ListPlansOptions{}) {
	}
	if failed == nil || !strings.Contains(failed.Error(), "same") {
		t.Errorf("a list without end: %v", failed)
	}
}

// TestNullsAreKept: what a request leaves out and what it sets to null are different.
func TestNullsAreKept(t *testing.T) {
	text, err := json.Marshal(wire.ReportRequest{})
	if string(text) != "{}" || err != nil {
		t.Errorf("%s %v", text, err)
	}
	text, err = json.Marshal(wire.ReportRequest{Keys: []wire.Row{}})
	if string(text) != `{"keys":[]}` || err != nil {
		t.Errorf("%s %v", text, err)
	}
}

// Rows take of resources that the statistics name, and a residual beside streamed rows cannot.
func TestCostsRefused(t *testing.T) {
	c := newClient(t, client.Config{}, func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, errors.New("gone")
	})
	rows := client.Rows([]client.Row{{Key: []byte("a"), Costs: []float64{1}}})
	_, err := c.PutReportFrom(t.Context(), "o", 1, "0", wire.ReportRequest{Residual: []wire.Residual{{
		Instance: "0", Costs: new(wire.Costs{"network": 1}),
	}}}, client.Statistics{Rows: rows, Resources: []string{"network"}})
	if err == nil || !strings.Contains(err.Error(), "residual with Costs") {
		t.Error(err)
	}
	for _, s := range []client.Statistics{{Rows: rows}, {Rows: client.Rows([]client.Row{{Costs: []float64{math.NaN()}}}),
		Resources: []string{"network"}}} {
		c := newClient(t, client.Config{}, func(r *http.Request) (*http.Response, error) {
			_, err := io.Copy(io.Discard, r.Body)
			return nil, err
		})
		if _, err := c.CreatePlanFrom(t.Context(), "o", wire.PlanRequest{}, s); err == nil {
			t.Error("taken")
		}
	}
}
