package compact

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"
)

// inParallel calls work for 0 … n−1, on all processors. What it makes must not
// depend on the order.
func inParallel(n int, work func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				work(int(i))
			}
		})
	}
	all.Wait()
}

func (c class) compare(o class) int {
	return cmp.Or(cmp.Compare(c.hash, o.hash), cmp.Compare(c.cost, o.cost), cmp.Compare(c.state, o.state))
}
