package arrow_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"plannerd/sdk/go/arrow"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// made yields so many rows. Their keys are made in the same memory, which a caller may do.
func made(n int) iter.Seq2[client.Row, error] {
	return func(yield func(client.Row, error) bool) {
		var key []byte
		for i := range n {
			key = fmt.Appendf(key[:0], "user:%d", i*7919%n)
			row := client.Row{Key: key, Cost: float64(i % 97), State: float64(100 + i%1009), Instance: int32(i % 40),
				HashInstance: int32(i % 41)}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// read reads a stream as text: a line for each row, with the names of its columns.
func read(t *testing.T, stream io.Reader) (out []string) {
	t.Helper()
	r, err := ipc.NewReader(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	for r.Next() {
		batch := r.RecordBatch()
		for i := range int(batch.NumRows()) {
			var line []string
			for c, f := range batch.Schema().Fields() {
				line = append(line, fmt.Sprintf("%s %v", f.Name, batch.Column(c).GetOneForMarshal(i)))
			}
			out = append(out, strings.Join(line, ", "))
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return out
}

// TestEncodeCosts reads back what rows take of resources, in columns of their own.
func TestEncodeCosts(t *testing.T) {
	t.Parallel()
	var stream bytes.Buffer
	s := client.Statistics{Stateless: true, Resources: []string{"network", "disk"}, Rows: client.Rows([]client.Row{
		{Key: []byte("a"), Cost: 1, Costs: []float64{2}}, {Key: []byte("b"), Cost: 2, Costs: []float64{0, 0.5}},
	})}
	if err := (arrow.IPC{}).Encode(&stream, s); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(read(t, &stream), "\n")
	const want = "key [97], cost 1, cost.network 2, cost.disk 0\nkey [98], cost 2, cost.network 0, cost.disk 0.5"
	if got != want {
		t.Error(got)
	}
	for _, costs := range [][]float64{{1, 2, 3}, {math.NaN()}} {
		s.Rows = client.Rows([]client.Row{{Key: []byte("a"), Costs: costs}})
		if err := (arrow.IPC{}).Encode(io.Discard, s); err == nil {
			t.Errorf("%v: taken", costs)
		}
	}
}

// TestEncode reads every row back, over several batches, with any columns.
func TestEncode(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 100, 1 << 16, 1<<16 + 1} {
		for columns := range 4 {
			s := client.Statistics{Rows: made(n), Stateless: columns == 1, Located: columns >= 2, Hashed: columns == 3}
			if n > 100 && columns > 0 {
				continue // batches do not depend on columns
			}
			var stream bytes.Buffer
			if err := (arrow.IPC{}).Encode(&stream, s); err != nil {
				t.Fatal(err)
			}
			got := read(t, &stream)
			if len(got) != n {
				t.Fatalf("%d rows became %d", n, len(got))
			}
			i := 0
			for r := range made(n) {
				want := fmt.Sprintf("key %v, cost %v", r.Key, r.Cost)
				if !s.Stateless {
					want += fmt.Sprintf(", state %v", r.State)
				}
				if s.Located {
					want += fmt.Sprintf(", instance %v", r.Instance)
				}
				if s.Hashed {
					want += fmt.Sprintf(", hash_instance %v", r.HashInstance)
				}
				if got[i] != want {
					t.Fatalf("row %d of %d: %s, want %s", i, n, got[i], want)
				}
				i++
			}
		}
	}
}

// TestErrors: a row that cannot be made ends the stream without its end, and the error is
// the row's.
func TestErrors(t *testing.T) {
	t.Parallel()
	gone := errors.New("the counters are gone")
	for want, row := range map[string]struct {
		client.Row
		err error
	}{
		gone.Error():                                {err: gone},
		`the cost of key "a": must be a finite`:     {Row: client.Row{Key: []byte("a"), Cost: math.NaN()}},
		`the state of key "a": must be a finite`:    {Row: client.Row{Key: []byte("a"), State: math.Inf(1)}},
		`the state of key "\xff": must be a finite`: {Row: client.Row{Key: []byte{0xff}, State: math.Inf(-1)}},
	} {
		var stream bytes.Buffer
		err := arrow.IPC{}.Encode(&stream, client.Statistics{Rows: func(yield func(client.Row, error) bool) {
			if yield(client.Row{Key: []byte("b"), Cost: 1}, nil) {
				yield(row.Row, row.err)
			}
		}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := (arrow.IPC{}).Encode(full{}, client.Statistics{Rows: made(10)}); !errors.Is(err, errFull) {
		t.Errorf("%v of a writer that is full", err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// BenchmarkSend sends a million rows to a server that reads them and does nothing else.
func BenchmarkSend(b *testing.B) {
	const rows = 1_000_000
	var received atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		received.Add(n)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	api, err := client.New(server.URL, client.Config{})
	if err != nil {
		b.Fatal(err)
	}
	for name, encoding := range map[string]client.Encoding{"form=ndjson": nil, "form=arrow": arrow.IPC{}} {
		b.Run(name, func(b *testing.B) {
			received.Store(0)
			for b.Loop() {
				s := client.Statistics{Rows: made(rows), Count: rows, Located: true, Encoding: encoding}
				if _, err := api.CreatePlanFrom(b.Context(), "clicks", wire.PlanRequest{Interval: 1}, s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(received.Load())/float64(b.N)/rows, "bytes/key")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/key")
		})
	}
}
