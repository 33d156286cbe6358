package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/pgserver"
)

// programs are plannerd, built once for all tests.
var programs = sync.OnceValues(func() ([]string, error) {
	folder, err := os.MkdirTemp("", "plannerd-history-test-")
	if err != nil {
		return nil, err
	}
	return build(context.Background(), folder, 3)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if paths, err := programs(); err == nil {
		os.RemoveAll(filepath.Dir(paths[1])) // the first may be shared
	}
	os.Exit(code)
}

// tiny is a run that takes a second or two.
func tiny(t *testing.T, store string) options {
	t.Helper()
	paths, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	o, err := parse([]string{"--store", store, "--operations", "320", "--per-operator", "80",
		"--kill-every", "50"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o.programs = paths
	return o
}

// mostHistories is how many histories are tried until one shows what a test is about.
const mostHistories = 4

// whole runs histories until one has commits, kills and whatever else has says. A short
// history may lack them: the speed of the machine decides how its operations
// interleave. None may have faults.
func whole(t *testing.T, o options, has func(*report) bool) {
	t.Helper()
	for attempt := range mostHistories {
		r, err := execute(t.Context(), o, t.Output())
		if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("PLANNERD_REQUIRE_POSTGRES") != "1" &&
			os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		complete := r.done.killed > 0 && r.operations >= 320 && r.versions > 0 && has(r)
		if complete && len(r.faults) == 0 {
			return
		}
		if len(r.faults) > 0 || attempt == mostHistories-1 {
			var text strings.Builder
			r.write(&text)
			t.Fatal(text.String())
		}
		o.seed++
	}
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	whole(t, tiny(t, onSQLite), func(*report) bool { return true })
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	o := tiny(t, onPostgres)
	o.restartEvery, o.swallowEvery, o.freezeEvery, o.swallowTime = 120, 60, 80, time.Second
	o.postgresSettings = []string{"fsync=off", "full_page_writes=off"} // the machine stays up
	whole(t, o, func(r *report) bool { return r.done.swallowed > 0 && r.done.frozen > 0 && len(r.done.restarted) > 0 })
}

// TestLoss: after a failover to a standby that was behind, and after the restore of a backup, through
// poolers and past them, all routers end at the newest table.
func TestLoss(t *testing.T) {
	t.Parallel()
	o := tiny(t, onPostgres)
	o.operations, o.lossEvery, o.restartEvery, o.swallowEvery = 640, 1, 0, 0
	o.postgresSettings = []string{"fsync=off", "full_page_writes=off"}
	whole(t, o, func(r *report) bool { return r.done.losses[true] == 1 && r.done.losses[false] == 1 })
}

// between stands between clients and replicas.
type between func(r *http.Request, forward func(*http.Request) (*http.Response, error)) (*http.Response, error)

// liar makes a transport that treats requests as lie does. Lies are to be told by
// one request at a time.
func liar(lie between) func(http.RoundTripper) http.RoundTripper {
	var mu sync.Mutex
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			return lie(r, next.RoundTrip)
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// saying is a response of the same head with another body.
func saying(response *http.Response, body []byte) *http.Response {
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response
}

// TestLies: a service that answers like these is found out, by the checker or
// by the audit. A usual run tells one to each of them; [TestHistories] and [TestAudit] tell more.
func TestLies(t *testing.T) {
	for name, c := range map[string]struct {
		lie  between
		want []string
	}{
		"old table": {oldTable(), []string{"no order of the operations explains the answers", "read table: 200"}},
		"old commit": {forged("/commit", `"status":"approved"`, `"status":"committed"`, `"version":null`, `"version":1`),
			[]string{"no order of the operations explains the answers"}},
		"wrong code": {forged("/plans", "interval_outdated", "interval_planned"),
			[]string{"no order of the operations explains the answers"}},
		"other lists":     {forged("/plans", `"reason":"overload"`, `"reason":"drain"`), []string{"was answered with"}},
		"unasked":         {twice(), []string{"was never asked for"}},
		"refused, stored": {denied(), []string{"were refused, not sent, or answered with another plan"}},
	} {
		if !deep.On() && name != "old table" && name != "refused, stored" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tiny(t, onSQLite)
			o.killEvery, o.transport = 0, liar(c.lie)
			o.visualization = filepath.Join(t.TempDir(), "violation.html")
			// What happens at the same time may happen in any order. So a history in which much does,
			// as on a slow machine, may explain a lie; another one does not.
			var missing []string
			faults := ""
			for attempt := 0; attempt == 0 || attempt < mostHistories && len(missing) > 0; attempt++ {
				r, err := execute(t.Context(), o, io.Discard)
				if err != nil {
					t.Fatal(err)
				}
				faults = strings.Join(r.faults, "\n")
				missing = slices.DeleteFunc(slices.Clone(c.want), func(want string) bool { return strings.Contains(faults, want) })
			}
			for _, want := range missing {
				t.Errorf("no %q in\n%s", want, faults)
			}
			if text, err := os.ReadFile(o.visualization); strings.Contains(faults, "no order") &&
				(err != nil || len(text) == 0) {
				t.Errorf("no visualization: %v", err)
			}
		})
	}
}

// oldTable answers now and then with the table that was the committed one some
// time before.
func oldTable() between {
	old, news := map[string][]byte{}, 0
	return func(r *http.Request, forward func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		response, err := forward(r)
		if err != nil || !strings.HasSuffix(r.URL.Path, "/routing-table") || r.URL.RawQuery != "" {
			return response, err
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		switch was := old[r.URL.Path]; {
		case was == nil:
			old[r.URL.Path] = body
		case !bytes.Equal(was, body):
			if news++; news%2 == 0 {
				return saying(response, was), nil
			}
		}
		return saying(response, body), nil
	}
}

// forged replaces words in answers to POST.
func forged(suffix string, words ...string) between {
	replacer := strings.NewReplacer(words...)
	return func(r *http.Request, forward func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		if suffix == "/commit" { // it is only said to be done
			if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, suffix) {
				return forward(r)
			}
			r = r.Clone(r.Context())
			r.Method, r.URL.Path = http.MethodGet, strings.TrimSuffix(r.URL.Path, suffix)
			r.Body, r.ContentLength = http.NoBody, 0
		} else if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, suffix) {
			return forward(r)
		}
		response, err := forward(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(response.Body)
		return saying(response, []byte(replacer.Replace(string(body)))), err
	}
}

// twice plans for more than it was asked to.
func twice() between {
	posts := 0
	return func(r *http.Request, forward func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/plans") {
			return forward(r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if posts++; posts%10 == 0 {
			other := r.Clone(r.Context())
			text := bytes.Replace(body, []byte(`"cost":`), []byte(`"cost":1`), 1)
			other.Body, other.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			response, err := forward(other)
			if err != nil {
				return nil, err
			}
			response.Body.Close()
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		return forward(r)
	}
}

// denied refuses what it does.
func denied() between {
	var posts atomic.Int64
	return func(r *http.Request, forward func(*http.Request) (*http.Response, error)) (*http.Response, error) {
		response, err := forward(r)
		if err == nil && r.Method == http.MethodPost && response.StatusCode == http.StatusCreated && posts.Add(1)%10 == 0 {
			response = saying(response, []byte(`{"code":"interval_planned"}`))
			response.StatusCode = http.StatusConflict
			response.ContentLength = -1
		}
		return response, err
	}
}

// TestInterrupt: an interrupted run waits for its processes and leaves no file
// behind.
func TestInterrupt(t *testing.T) {
	o := tiny(t, onSQLite)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	o.operations = 1e6
	o.transport = func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost {
				cancel()
			}
			return next.RoundTrip(r)
		})
	}
	if _, err := execute(ctx, o, t.Output()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWrongArguments(t *testing.T) {
	for _, arguments := range []string{"more", "--store mysql", "--clients 0", "--operations x", "--kill-every -1"} {
		var stderr strings.Builder
		if code := command(strings.Fields(arguments), io.Discard, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%q: exit %d, %s", arguments, code, &stderr)
		}
	}
}
