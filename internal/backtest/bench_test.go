package backtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	rtmetrics "runtime/metrics"
	"testing"
	"time"

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
	candidates := Candidates(policy.DefaultGrid().Policies(0.08))
	for name, limit := range map[string]*int64{"none": nil, "3000": new(int64(3000))} {
		b.Run("limit="+name, func(b *testing.B) {
			op.Options.TableLimit = limit
			for b.Loop() {
				h := NewHistory(DefaultWindow)
				live := peak(func() {
					for i, in := range intervals {
						if err := h.Add(int64(i), in); err != nil {
							b.Fatal(err)
						}
					}
				})
				b.ReportMetric(float64(live)/1e6, "history-MB")
				b.ReportMetric(float64(h.Bytes())/1e6, "history-reserved-MB")
				live = peak(func() {
					if _, err := Search(context.Background(), h, op, candidates, nil); err != nil {
						b.Fatal(err)
					}
				})
				b.ReportMetric(float64(live)/1e6, "search-MB")
				b.ReportMetric(float64(h.SearchBytes(runtime.GOMAXPROCS(0), limit != nil))/1e6, "search-reserved-MB")
			}
		})
	}
}

// peak is the most live memory while f runs, beyond what there was before, by frequent
// collections.
func peak(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	runtime.GC()
	sample := []rtmetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	rtmetrics.Read(sample)
	before, most := sample[0].Value.Uint64(), uint64(0)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for ticker := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-ticker.C:
				rtmetrics.Read(sample)
				most = max(most, sample[0].Value.Uint64())
			}
		}
	}()
	f()
	runtime.GC()
	rtmetrics.Read(sample)
	most = max(most, sample[0].Value.Uint64())
	close(done)
	<-stopped
	return int64(most - min(most, before))
}
