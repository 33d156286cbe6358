package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"plannerd/api"
	"plannerd/internal/input/stored"
	"plannerd/planner"
	"plannerd/store"
)

// hugeStore is a store in which, once it is filled, all plans and tables have very
// long lists.
type hugeStore struct {
	store.Store
	migrations []byte
	changes    []store.Change
	entries    []store.Entry
}

// fill makes lists of n records: changes and entries in the order of their keys,
// migrations in the opposite one.
func (s *hugeStore) fill(n int) {
	s.changes, s.entries = make([]store.Change, n), make([]store.Entry, n)
	snapshot := &planner.Snapshot{Keys: planner.NewKeys(n), Cost: make([]float64, n)}
	for i := range 40 {
		snapshot.Instances = append(snapshot.Instances, planner.Instance{ID: int32(i), Capacity: 1})
	}
	plan := &planner.Plan{Snapshot: snapshot, Moves: make([]planner.Move, n)}
	for i := range n {
		snapshot.Keys.Append(fmt.Appendf(nil, "user:%012d", i))
		key, from, to := snapshot.Keys.At(i), int32(i%40), int32((i+1)%40)
		snapshot.Cost[i] = float64(i) / 8
		s.changes[i] = store.Change{Key: key, Old: from, New: to - int32(i%2)*(to+1)} // every second goes
		s.entries[i] = store.Entry{Key: key, Instance: to}
		plan.Moves[n-1-i] = planner.Move{Item: int32(i), From: from, To: to, Count: 1}
	}
	s.migrations = stored.EncodeMigrations(plan)
}

func (s *hugeStore) Migrations(context.Context, string) ([]byte, error) { return s.migrations, nil }

func (s *hugeStore) Changes(context.Context, string) ([]store.Change, error) { return s.changes, nil }

func (s *hugeStore) TableChanges(ctx context.Context, operator string, since int64) (store.Feed, error) {
	t, err := s.Store.TableChanges(ctx, operator, since)
	if s.entries != nil {
		t.Entries = s.entries
	}
	return t, err
}

// heapAt is a writer that looks at the live heap once, in the middle of a long answer.
type heapAt struct {
	http.ResponseWriter
	after, live int
}

func (h *heapAt) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *heapAt) Write(p []byte) (int, error) {
	if h.after -= len(p); h.after < 0 && h.live == 0 {
		h.live = liveHeap()
	}
	return h.ResponseWriter.Write(p)
}

func liveHeap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestMillion: answers with a million records hold what they tell and some
// buffers, never themselves. (In short tests it is a tenth of that.)
func TestMillion(t *testing.T) {
	const mega = 1 << 20
	n := 1_000_000
	if testing.Short() {
		n /= 10
	}
	s := &hugeStore{}
	e := newEnv(t, func(c *api.Config) { s.Store = c.Store; c.Store = s })
	e.operator("clicks", reported)
	id := "/v1/plans/" + e.do("POST", "/v1/operators/clicks/plans", interval(1, "")).want(http.StatusCreated).plan().Id
	s.fill(n)
	var at *heapAt
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at = &heapAt{ResponseWriter: w, after: n / 4}
		e.handler.ServeHTTP(at, r)
	}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()

	for _, c := range []struct {
		target, accept, coding string
		bytes, lines, live     int // of each record at least, exactly, bytes at most
	}{
		// Migrations are decoded from what the store keeps; the rest is the store's.
		{id + "?include=migrations,routing_table", "application/json", "identity", 110, 1, 80 * mega},
		{id + "/migrations", "application/x-ndjson", "zstd", 80, n, 80 * mega}, // in another order
		{id + "/routing-table", "text/csv", "gzip", 20, n + 1, 6 * mega},
		{"/v1/operators/clicks/routing-table", "application/json", "identity", 40, 1, 6 * mega},
	} {
		before := liveHeap()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+c.target, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Accept": {c.accept}, "Accept-Encoding": {c.coding}}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		size, lines := drain(t, a)
		if size < c.bytes*n || lines != c.lines || a.ContentLength >= 0 {
			t.Errorf("%s as %s: %d bytes, %d lines, length %d", c.target, c.accept, size, lines, a.ContentLength)
		}
		if at.live == 0 || at.live-before > c.live {
			t.Errorf("%s as %s, %s: %d MB live, at most %d are for the answer", c.target, c.accept, c.coding,
				(at.live-before)/mega, c.live/mega)
		}
		t.Logf("%s as %s, %s: %d MB, %d MB live", c.target, c.accept, c.coding, size/mega, (at.live-before)/mega)
	}
}

// drain reads an answer to its end, decoded, and counts its bytes and lines.
func drain(t *testing.T, a *http.Response) (size, lines int) {
	t.Helper()
	defer a.Body.Close()
	r := io.Reader(a.Body)
	var err error
	switch a.Header.Get("Content-Encoding") {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1)); err == nil {
			defer d.Close()
		}
		r = d
	}
	buf := make([]byte, 64<<10)
	for err == nil {
		var n int
		n, err = r.Read(buf)
		size, lines = size+n, lines+bytes.Count(buf[:n], []byte{'\n'})
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return size, lines
}
