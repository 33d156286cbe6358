package assign

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// PartItems is how many items are worth a goroutine.
const PartItems = 1 << 15

// MostParts is how many parts InParts makes at most.
const MostParts = 16

// InParts goes through the items in contiguous parts, at the same time where
// there are processors for it: work gets the half-open range of each part. What
// it makes must not depend on where parts end.
func InParts(items int, work func(part, from, to int)) {
	n := partsOf(items)
	var others sync.WaitGroup
	for part := 1; part < n; part++ {
		others.Go(func() { work(part, part*items/n, (part+1)*items/n) })
	}
	work(0, 0, items/n)
	others.Wait()
}

// Each calls work for 0 to n−1, several at the same time where that many items are worth it: each goroutine what a
// call of its own of newWork returns.
func Each(n, items int, newWork func() (work func(i int))) {
	var next atomic.Int64
	var others sync.WaitGroup
	run := func() {
		work := newWork()
		for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
			work(i - 1)
		}
	}
	for range partsOf(items) - 1 {
		others.Go(run)
	}
	run()
	others.Wait()
}

// partsOf is how many parts inParts makes at most.
func partsOf(items int) int {
	return max(1, min(runtime.GOMAXPROCS(0), MostParts, items/PartItems))
}

// Collect calls work for parts of the items and strings together what each
// returns, in their order.
func Collect[T any](items int, work func(from, to int) []T) []T {
	var parts [MostParts][]T
	InParts(items, func(part, from, to int) { parts[part] = work(from, to) })
	all := parts[0]
	for _, more := range parts[1:] {
		all = append(all, more...)
	}
	return all
}

// Fork starts work on a copy of the problem in a goroutine; wait returns that
// copy when the work is done. On small problems, or with a budget, which is to be
// spent in a fixed order, it is wait that does the work, on the problem itself.
func (p *Problem) Fork(work func(*Problem)) (wait func() *Problem) {
	if !p.Concurrent() {
		return func() *Problem { work(p); return p }
	}
	q, done := *p, make(chan struct{})
	q.Meter = p.Meter.share()
	go func() {
		defer close(done)
		work(&q)
	}()
	return func() *Problem { <-done; return &q }
}

// Concurrent reports whether Fork starts goroutines.
func (p *Problem) Concurrent() bool { return p.Items.Len() >= PartItems && p.Meter.Budget == 0 }

// share returns another meter without a budget, which asks the same Stop, but not
// at the same time.
func (m *Meter) share() *Meter {
	if stop := m.Stop; stop != nil {
		var asking sync.Mutex
		m.Stop = func() bool {
			asking.Lock()
			defer asking.Unlock()
			return stop()
		}
	}
	return &Meter{Stop: m.Stop}
}

// Include adds what another meter counted meanwhile.
func (m *Meter) Include(other *Meter) {
	m.Used += other.Used
	if m.End == Running {
		m.End = other.End
	}
}
