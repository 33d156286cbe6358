package grouping

import "plannerd/internal/exact"

// router decides where messages go.
type router interface {
	// route sets to[i] to the worker of the message with keys[i] that comes from
	// sources[i]. It is called for consecutive parts of the stream.
	route(keys, sources, to []int32)
}

// fixed sends each key to one worker known in advance.
type fixed []int32

func (f fixed) route(keys, _, to []int32) {
	for i, k := range keys {
		to[i] = f[k]
	}
}

func newHash(table candidates) fixed {
	f := make(fixed, len(table.start)-1)
	for k := range f {
		if row := table.row(int32(k)); len(row) > 0 {
			f[k] = row[0]
		}
	}
	return f
}

func newOffGreedy(s *Stream, workers int) fixed {
	f := make(fixed, s.keys.Len())
	load := make([]int64, workers)
	heap := exact.Heap[int32]{E: make([]int32, workers), Before: func(a, b int32) bool {
		return load[a] < load[b] || load[a] == load[b] && a < b
	}}
	for w := range heap.E {
		heap.E[w] = int32(w)
	}
	for _, k := range s.above(0) {
		f[k] = heap.E[0]
		load[heap.E[0]] += s.counts[k]
		heap.Sink(0)
	}
	return f
}

// roundRobin is [Shuffle].
type roundRobin struct {
	next    []int32 // of each source
	workers int32
}

func newRoundRobin(o *Options) *roundRobin {
	r := &roundRobin{next: make([]int32, o.Sources), workers: int32(o.Workers)}
	for j := range r.next {
		r.next[j] = int32(j * o.Workers / o.Sources)
	}
	return r
}

func (r *roundRobin) route(_, sources, to []int32) {
	for i, source := range sources {
		to[i] = r.next[source]
		if r.next[source]++; r.next[source] == r.workers {
			r.next[source] = 0
		}
	}
}

// remembering is [PoTC] and, with empty rows, [OnGreedy].
type remembering struct {
	table candidates
	loads []uint32
	least lowest
	put   []int32 // where each key was put, or −1
}

func newRemembering(table candidates, workers int) *remembering {
	r := &remembering{table: table, loads: make([]uint32, workers), put: make([]int32, len(table.start)-1)}
	for k := range r.put {
		r.put[k] = -1
	}
	return r
}

func (r *remembering) route(keys, _, to []int32) {
	for i, k := range keys {
		w := r.put[k]
		if w < 0 {
			w = leastOf(r.table.row(k), r.loads, &r.least)
			r.put[k] = w
		}
		r.loads[w]++
		to[i] = w
	}
}

// leastOf returns the first of the least loaded candidates; an empty row has all
// workers.
func leastOf(row []int32, loads []uint32, least *lowest) int32 {
	if len(row) == 0 {
		return least.find(loads)
	}
	best := row[0]
	for _, c := range row[1:] {
		if loads[c] < loads[best] {
			best = c
		}
	}
	return best
}

// lowest finds the first of the least loaded of all workers, while loads only
// grow: all workers before at have more than level, and none has less. That
// takes constant time per message in the mean.
type lowest struct {
	level uint32
	at    int
}

func (l *lowest) find(loads []uint32) int32 {
	for {
		for ; l.at < len(loads); l.at++ {
			if loads[l.at] == l.level {
				return int32(l.at)
			}
		}
		l.level, l.at = loads[0], 0
		for _, x := range loads {
			l.level = min(l.level, x)
		}
	}
}

// estimates are the loads as the sources know them.
type estimates struct {
	workers int
	loads   []uint32 // a row per source, or one for all
	stride  int      // from one source's row to the next; 0 with global information
	least   []lowest

	// With probing:
	period, untilProbe int64
	truth              []uint32 // the true loads
}

func newEstimates(o *Options) estimates {
	e := estimates{workers: o.Workers, period: o.ProbePeriod, untilProbe: o.ProbePeriod}
	rows := 1
	if o.local() {
		rows, e.stride = o.Sources, o.Workers
		e.truth = make([]uint32, o.Workers)
	}
	e.loads, e.least = make([]uint32, rows*o.Workers), make([]lowest, rows)
	return e
}

// choose sends a message from source to the least loaded of row, an empty one
// having all workers.
func (e *estimates) choose(row []int32, source int32) int32 {
	mine := 0
	if e.stride > 0 {
		mine = int(source)
	}
	loads := e.loads[mine*e.stride:][:e.workers]
	w := leastOf(row, loads, &e.least[mine])
	loads[w]++
	if e.period > 0 {
		e.probe(w)
	}
	return w
}

// probe keeps the true loads, and tells all sources of them after each period.
func (e *estimates) probe(w int32) {
	e.truth[w]++
	if e.untilProbe--; e.untilProbe == 0 {
		e.untilProbe = e.period
		for j := range e.least {
			copy(e.loads[j*e.workers:], e.truth) // never less than before
		}
	}
}

// greedy is [PKG], and DChoices and WChoices with a head known in advance.
type greedy struct {
	estimates
	table candidates
}

func (g *greedy) route(keys, sources, to []int32) {
	if g.stride > 0 {
		for i, k := range keys {
			to[i] = g.choose(g.table.row(k), sources[i])
		}
		return
	}
	loads, least := g.loads, &g.least[0]
	for i, k := range keys {
		w := leastOf(g.table.row(k), loads, least)
		loads[w]++
		to[i] = w
	}
}
