package plannerdtest_test

import (
	"fmt"
	"net/http"
	"testing"

	"plannerd/plannerdtest"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// BenchmarkReport is the time to send the statistics of an instance with so many keys, to a
// server in the same process.
func BenchmarkReport(b *testing.B) {
	for _, keys := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint("keys=", keys), func(b *testing.B) {
			c := plannerdtest.NewServer(b).Client()
			defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
			if _, err := c.PutOperator(b.Context(), "clicks", wire.OperatorConfiguration{
				Instances: wire.Numbered(2)}); err != nil {
				b.Fatal(err)
			}
			rows := func(yield func(client.Row, error) bool) {
				key := make([]byte, 0, 32)
				for i := range keys {
					key = fmt.Appendf(key[:0], "user:%d", i)
					if !yield(client.Row{Key: key, Cost: float64(i%1000) / 8, State: float64(i % 4096)}, nil) {
						return
					}
				}
			}
			for b.Loop() {
				if _, err := c.PutReportFrom(b.Context(), "clicks", 1, "0", wire.ReportRequest{},
					client.Statistics{Rows: rows, Count: keys}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(keys)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
