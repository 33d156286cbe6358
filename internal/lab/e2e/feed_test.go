package e2e

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plannerd/api"
	"plannerd/internal/lab/pgtest"
	"plannerd/store"
	"plannerd/store/postgres"
	"plannerd/store/sqlite"
)

// feedStores opens an empty store of each kind.
var feedStores = map[string]func(context.Context, testing.TB) (store.Store, store.Migrator, error){
	"sqlite": func(ctx context.Context, t testing.TB) (store.Store, store.Migrator, error) {
		s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "plannerd.db"))
		if err != nil {
			return nil, nil, err
		}
		return s, s.Migrator(), nil
	},
	"postgres": func(ctx context.Context, t testing.TB) (store.Store, store.Migrator, error) {
		s, err := postgres.Open(ctx, pgtest.NewDatabase(t))
		if err != nil {
			return nil, nil, err
		}
		return s, s.Migrator(), nil
	},
}

// BenchmarkFeed is the time from a commit's answer until the last of the routers
// that wait has the new version, over HTTP; ms/first is until the first has it. Each
// version sets as many entries as it says, and unsets those before.
func BenchmarkFeed(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		for _, entries := range []int{10, 10_000} {
			b.Run(fmt.Sprintf("store=%s/routers=200/entries=%d", name, entries), func(b *testing.B) {
				s, migrator, err := feedStores[name](b.Context(), b)
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = s.Close() }()
				if _, err := migrator.Up(b.Context()); err != nil {
					b.Fatal(err)
				}
				benchmarkFeed(b, s, 200, entries)
			})
		}
	}
}

func benchmarkFeed(b *testing.B, s store.Store, routers, entries int) {
	handler, err := api.New(api.Config{Store: s, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	operator := server.URL + "/v1/operators/clicks"
	must := func(method, target, body string, status int) (location string) {
		r, err := http.NewRequestWithContext(b.Context(), method, target, strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = a.Body.Close() }()
		if text, _ := io.ReadAll(a.Body); a.StatusCode != status {
			b.Fatalf("%s %s: %d %.200s", method, target, a.StatusCode, text)
		}
		return a.Header.Get("Location")
	}
	must("PUT", operator, `{"instances":2,"theta_max":0,"strategy":"llfd","hash":{"function":"reported"}}`,
		http.StatusCreated)
	var first, last, commits []time.Duration
	version := 0
	for b.Loop() {
		b.StopTimer()
		version++
		var keys strings.Builder
		for i := range 2 * entries {
			fmt.Fprintf(&keys, `,{"key":"key-%d","cost":1,"hash_instance":0}`, i+version*entries)
		}
		plan := must("POST", operator+"/plans", fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, version, keys.String()[1:]),
			http.StatusCreated)
		got := follow(b, fmt.Sprintf("%s/routing-table?since=%d&wait=60s", operator, version-1), routers)
		awaitWaiting(b, server.URL, routers)
		b.StartTimer()
		begin := time.Now()
		must("POST", server.URL+plan+"/commit", `{"stopped":true}`, http.StatusOK)
		commit := time.Now()
		times := make([]time.Duration, routers)
		for i := range times {
			times[i] = (<-got).Sub(commit)
		}
		first, last, commits = append(first, slices.Min(times)), append(last, slices.Max(times)),
			append(commits, commit.Sub(begin))
	}
	report := func(of []time.Duration, unit string) {
		slices.Sort(of)
		b.ReportMetric(float64(of[len(of)/2].Microseconds())/1000, unit)
	}
	report(commits, "ms/commit")
	report(first, "ms/first")
	report(last, "ms/last")
}

// follow has routers ask, and tells when each has its answer.
func follow(b *testing.B, target string, routers int) <-chan time.Time {
	got := make(chan time.Time, routers)
	for range routers {
		go func() {
			r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, target, nil)
			if err != nil {
				b.Error(err)
				return
			}
			a, err := feedClient.Do(r)
			if err != nil {
				b.Error(err)
				got <- time.Now()
				return
			}
			defer func() { _ = a.Body.Close() }()
			if _, err := io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != http.StatusOK {
				b.Errorf("%d %v", a.StatusCode, err)
			}
			got <- time.Now()
		}()
	}
	return got
}

var feedClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200, DisableCompression: true}}

// awaitWaiting returns when as many requests wait.
func awaitWaiting(b *testing.B, server string, routers int) {
	for {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, server+"/metrics", nil)
		if err != nil {
			b.Fatal(err)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		if strings.Contains(string(text), fmt.Sprintf("\nplannerd_table_waiters %d\n", routers)) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
