// Package livememory measures what benchmarks hold at most.
package livememory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Peak is the most live memory while f runs, in bytes beyond what there was before, by
// frequent collections.
func Peak(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	live := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	runtime.GC()
	before, most := live(), uint64(0)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(2 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				most = max(most, live())
			}
		}
	}()
	f()
	close(done)
	<-stopped
	runtime.GC()
	most = max(most, live())
	return int64(most - min(most, before))
}
