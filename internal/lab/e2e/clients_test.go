package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"plannerd/api"
	"plannerd/sdk/go/wire"
)

// Of BenchmarkClients.
const (
	clientsAtOnce  = 16 // for each processor
	clientKeys     = 10_000
	clientInterval = 4 // different intervals, posted in turn
)

// BenchmarkClients is how many intervals are planned and committed in a second for many engines
// at once, each with an operator of its own, over HTTP.
func BenchmarkClients(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run("store="+name, func(b *testing.B) {
			s, migrator, err := feedStores[name](b.Context(), b)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			if _, err := migrator.Up(b.Context()); err != nil {
				b.Fatal(err)
			}
			handler, err := api.New(api.Config{Store: s, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			server := httptest.NewServer(handler)
			defer server.Close()
			rows := make([]string, clientInterval)
			for i := range rows {
				rows[i] = zipfRows(uint64(i))
			}
			var clients atomic.Int64
			b.SetParallelism(clientsAtOnce)
			b.RunParallel(func(pb *testing.PB) {
				plans(b, pb, server.URL, fmt.Sprintf("clicks-%d", clients.Add(1)), rows)
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "plans/s")
		})
	}
}

// plans posts interval after interval of an operator and commits the plans that move anything.
func plans(b *testing.B, pb *testing.PB, server, operator string, rows []string) {
	var p wire.Plan
	send := func(method, path, body string) bool {
		r, err := http.NewRequestWithContext(b.Context(), method, server+path, strings.NewReader(body))
		if err != nil {
			b.Error(err)
			return false
		}
		r.Header.Set("Content-Type", "application/json")
		a, err := feedClient.Do(r)
		if err != nil {
			b.Error(err)
			return false
		}
		defer func() { _ = a.Body.Close() }()
		text, err := io.ReadAll(a.Body)
		if err != nil || a.StatusCode >= http.StatusMultipleChoices {
			b.Errorf("%s %s: %d %.200s, %v", method, path, a.StatusCode, text, err)
			return false
		}
		p = wire.Plan{}
		_ = json.Unmarshal(text, &p)
		return true
	}
	if !send(http.MethodPut, "/v1/operators/"+operator, `{"instances":40}`) {
		return
	}
	for interval := 1; pb.Next(); interval++ {
		body := fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, interval, rows[interval%len(rows)])
		if !send(http.MethodPost, "/v1/operators/"+operator+"/plans", body) {
			return
		}
		if p.Status == wire.PlanStatusApproved && !send(http.MethodPost, "/v1/plans/"+p.Id+"/commit", `{"stopped":true}`) {
			return
		}
	}
}

// zipfRows are the rows of an interval, in JSON: costs by Zipf's law, each a little more or less.
func zipfRows(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	rows := make([]string, clientKeys)
	for i := range rows {
		cost := 1e6 * math.Pow(float64(i+1), -0.85) * (0.5 + r.Float64())
		rows[i] = fmt.Sprintf(`{"key":"user:%d","cost":%.0f,"state":%d}`, i, cost, 64+r.IntN(1<<16))
	}
	return strings.Join(rows, ",")
}
