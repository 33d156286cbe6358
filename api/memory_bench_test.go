package api_test

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"plannerd/api"
	"plannerd/internal/lab/livememory"
	"plannerd/store/sqlite"
)

// discard is an answer that nobody keeps.
type discard struct {
	header http.Header
	status int
	length int
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(s int)   { d.status = s }
func (d *discard) Write(b []byte) (int, error) {
	d.length += len(b)
	return len(b), nil
}

// rowsOf yields a CSV body of n rows without holding it. Instances are those of
// the rows' numbers, so that a strategy that follows the hash moves most keys.
func rowsOf(n int) io.Reader {
	r, w := io.Pipe()
	go func() {
		random := rand.New(rand.NewPCG(1, 2))
		var b strings.Builder
		b.WriteString("key,cost,state,instance\n")
		for i := range n {
			cost := 1e6 / math.Pow(float64(i+1), 0.85)
			fmt.Fprintf(&b, "user:%08d,%.2f,%d,%d\n", i, cost, 64+random.IntN(1<<16), i%40)
			if b.Len() > 64<<10 || i == n-1 {
				if _, err := io.WriteString(w, b.String()); err != nil {
					return
				}
				b.Reset()
			}
		}
		_ = w.Close() // never fails
	}()
	return r
}

// BenchmarkMemory measures what requests hold at most, for each row: the constants
// in memory.go come from it.
func BenchmarkMemory(b *testing.B) {
	const n = 1e6
	for _, c := range []struct{ name, operator, target string }{
		{"plan/strategy=mixed", `{"instances":40,"theta_max":0.08}`, ""},
		{"plan/strategy=optimal", `{"instances":40,"theta_max":0.08,"strategy":"optimal"}`, ""},
		{"plan/resources=3", `{"instances":40,"theta_max":0.08,"resources":[{"name":"cpu"},
			{"name":"memory","from":"state","theta_max":0.02},{"name":"keys","from":"count","theta_max":0.001}]}`, ""},
		{"plan/strategy=llfd", `{"instances":40,"theta_max":0.08,"strategy":"llfd"}`, ""},
		{"plan/certificate=tight", `{"instances":40,"theta_max":0.08,"certificate":"tight"}`, ""},
		{"plan/strategy=mintable", `{"instances":40,"theta_max":0.08,"strategy":"mintable"}`, ""},
		{"plan/scheme=ring", `{"instances":40,"scheme":"ring"}`, ""},
		{"plan/scheme=ranges", `{"instances":40,"scheme":"ranges"}`, ""},
		{"plan/compact", `{"instances":40,"compact":{"degree":8}}`, ""},
		{"what-if/trials=1", "", "/v1/what-if?instances=40"},
		{"what-if/trials=1/strategy=mintable", "", "/v1/what-if?instances=40&strategies=mintable"},
		{"what-if/trials=4/strategy=mintable", "",
			"/v1/what-if?instances=40&strategies=mintable&theta_max=0.01,0.02,0.04,0.08"},
		{"what-if/trials=8", "", "/v1/what-if?instances=40&strategies=mixed,optimal&theta_max=0.01,0.02,0.04,0.08"},
		{"what-if/trials=4/strategy=mintable/plans", "",
			"/v1/what-if?instances=40&strategies=mintable&theta_max=0.01,0.02,0.04,0.08&plans=true"},
		{"analysis/ring", "", "/v1/analyses/ring"},
		{"analysis/pkg", "", "/v1/analyses/pkg"},
		{"analysis/ranges", "", "/v1/analyses/ranges"},
		{"analysis/schemes", "", "/v1/analyses/schemes"},
	} {
		b.Run(c.name, func(b *testing.B) {
			most := int64(0)
			for i := range b.N {
				_ = i
				s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "plannerd.db"))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Migrator().Up(b.Context()); err != nil {
					b.Fatal(err)
				}
				handler, err := api.New(api.Config{Store: s, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					b.Fatal(err)
				}
				target := c.target
				if c.operator != "" {
					r := httptest.NewRequestWithContext(b.Context(), http.MethodPut, "/v1/operators/o", strings.NewReader(c.operator))
					r.Header.Set("Content-Type", "application/json")
					w := httptest.NewRecorder()
					if handler.ServeHTTP(w, r); w.Code != http.StatusCreated {
						b.Fatal(w.Body)
					}
					target = "/v1/operators/o/plans?interval=1"
				}
				r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, target, rowsOf(n))
				r.Header.Set("Content-Type", "text/csv")
				w := &discard{header: http.Header{}}
				most = max(most, livememory.Peak(func() { handler.ServeHTTP(w, r) }))
				if w.status >= 300 {
					b.Fatal(w.status)
				}
				b.ReportMetric(float64(w.length)/n, "answer-B/row")
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(most)/n, "peak-B/row")
		})
	}
}
