package planner

import (
	"runtime"
	"sync"
)

const (
	partItems = 1 << 15 // items that are worth a goroutine
	mostParts = 16
)

// inParts goes through the items in contiguous parts, at the same time where
// there are processors for it: work gets the half-open range of each part. What
// it makes must not depend on where parts end.
func inParts(items int, work func(part, from, to int)) {
	n := partsOf(items)
	var others sync.WaitGroup
	for part := 1; part < n; part++ {
		others.Go(func() { work(part, part*items/n, (part+1)*items/n) })
	}
	work(0, 0, items/n)
	others.Wait()
}

// partsOf is how many parts inParts makes at most.
func partsOf(items int) int {
	return max(1, min(runtime.GOMAXPROCS(0), mostParts, items/partItems))
}

// collect calls work for parts of the items and strings together what each
// returns, in their order.
func collect[T any](items int, work func(from, to int) []T) []T {
	var parts [mostParts][]T
	inParts(items, func(part, from, to int) { parts[part] = work(from, to) })
	all := parts[0]
	for _, more := range parts[1:] {
		all = append(all, more...)
	}
	return all
}

// aside starts work on a copy of the problem in a goroutine; wait returns that
// copy when the work is done. On small problems, or with a budget, which is to be
// spent in a fixed order, it is wait that does the work, on the problem itself.
func (p *problem) aside(work func(*problem)) (wait func() *problem) {
	if !p.concurrent() {
		return func() *problem { work(p); return p }
	}
	q, done := *p, make(chan struct{})
	q.meter = p.meter.share()
	go func() {
		defer close(done)
		work(&q)
	}()
	return func() *problem { <-done; return &q }
}

// concurrent reports whether aside starts goroutines.
func (p *problem) concurrent() bool { return p.s.Len() >= partItems && p.meter.budget == 0 }

// share returns another meter without a budget, which asks the same Stop, but not
// at the same time.
func (m *meter) share() meter {
	if stop := m.stop; stop != nil {
		var asking sync.Mutex
		m.stop = func() bool {
			asking.Lock()
			defer asking.Unlock()
			return stop()
		}
	}
	return meter{stop: m.stop}
}

// include adds what another meter counted meanwhile.
func (m *meter) include(other *meter) {
	m.used += other.used
	if m.reason == "" {
		m.reason = other.reason
	}
}
