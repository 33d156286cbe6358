package backtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"plannerd/internal/drive"
	"plannerd/internal/lab/livememory"
	"plannerd/planner"
	"plannerd/planner/policy"
)

// churning are intervals of so many keys each, a tenth of which is others than before.
func churning(intervals, keys int) []*planner.Statistics {
	r := rand.New(rand.NewPCG(1, 1))
	var out []*planner.Statistics
	for i := range intervals {
		s := &planner.Statistics{Keys: planner.NewKeys(keys)}
		for k := range keys {
			s.Keys.Append(fmt.Appendf(nil, "user:%08d", k+i*keys/10))
			s.Cost = append(s.Cost, 1+float64(r.IntN(1000)*r.IntN(1000))/1000)
		}
		out = append(out, s)
	}
	return out
}

// BenchmarkMemory compares what a history and the runs over it reserve with the most that
// lives.
func BenchmarkMemory(b *testing.B) {
	intervals, op := churning(20, 100_000), operator(40, 0.08)
	candidates := Candidates(policy.DefaultGrid().Policies(0.08, 0))
	for name, limit := range map[string]*int64{"none": nil, "3000": new(int64(3000))} {
		b.Run("limit="+name, func(b *testing.B) {
			op.Options.TableLimit = limit
			for b.Loop() {
				h := NewHistory(drive.DefaultWindow)
				live := livememory.Peak(func() {
					for i, in := range intervals {
						if err := h.Add(int64(i), in); err != nil {
							b.Fatal(err)
						}
					}
				})
				b.ReportMetric(float64(live)/1e6, "history-MB")
				b.ReportMetric(float64(h.Bytes())/1e6, "history-reserved-MB")
				live = livememory.Peak(func() {
					if _, err := Search(context.Background(), h, op, candidates, nil); err != nil {
						b.Fatal(err)
					}
				})
				b.ReportMetric(float64(live)/1e6, "search-MB")
				b.ReportMetric(float64(h.SearchBytes(runtime.GOMAXPROCS(0), limit != nil, 0))/1e6, "search-reserved-MB")
			}
		})
	}
}
