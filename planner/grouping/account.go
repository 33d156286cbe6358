package grouping

import "math/bits"

// account follows the loads, whatever decided them.
type account struct {
	workers, messages int64
	t                 int64
	loads             []uint32
	max               uint32
	sumMax            uint64 // Σ max L over all t so far
	peak              int64  // the greatest W·max L(t) − t so far
	peakSince         int64  // the same since the last point

	// The messages of each source by worker, and the greatest of each; empty with
	// one source.
	bySource  []uint32
	sourceMax []uint32
	sumSource int64 // Σ_j max_i L_i^j

	points int
	series []Point
	pairs  pairSet // nil: not counted
	period int64   // 0: the whole stream
	aggr   Aggregation
}

func newAccount(s *Stream, o *Options) *account {
	a := &account{
		workers: int64(o.Workers), messages: s.messages, loads: make([]uint32, o.Workers),
		points: int(min(int64(*o.Points), s.messages)), period: o.AggregationPeriod,
	}
	a.series = make([]Point, 0, a.points)
	if o.Sources > 1 {
		a.bySource, a.sourceMax = make([]uint32, o.Sources*o.Workers), make([]uint32, o.Sources)
	}
	return a
}

// add follows a block of messages.
func (a *account) add(keys, sources, to []int32) {
	for len(keys) > 0 {
		n := int(min(int64(len(keys)), a.pause()-a.t))
		a.follow(to[:n])
		if a.sourceMax != nil {
			a.followSources(sources[:n], to[:n])
		}
		if a.pairs != nil {
			a.pairs.add(keys[:n], to[:n])
		}
		a.rest()
		keys, sources, to = keys[n:], sources[n:], to[n:]
	}
}

// pause is the next t after which there is something to record.
func (a *account) pause() int64 {
	next := a.messages
	if a.points > 0 {
		next = min(next, a.pointAt(len(a.series)))
	}
	if a.period > 0 {
		next = min(next, (a.t/a.period+1)*a.period)
	}
	return next
}

// pointAt is the t of a point: they are evenly spaced, the last at the end.
func (a *account) pointAt(i int) int64 {
	hi, lo := bits.Mul64(uint64(i)+1, uint64(a.messages))
	t, _ := bits.Div64(hi, lo, uint64(a.points))
	return int64(t)
}

func (a *account) follow(to []int32) {
	t := a.t
	for _, w := range to {
		t++
		l := a.loads[w] + 1
		a.loads[w] = l
		if l > a.max {
			// Until the greatest load grows again the imbalance only falls.
			a.max = l
			a.peakSince = max(a.peakSince, a.workers*int64(l)-t)
		}
		a.sumMax += uint64(a.max)
	}
	a.t = t
}

func (a *account) followSources(sources, to []int32) {
	for i, source := range sources {
		l := &a.bySource[int64(source)*a.workers+int64(to[i])]
		*l++
		if *l > a.sourceMax[source] {
			a.sourceMax[source] = *l
			a.sumSource++
		}
	}
}

// rest records what is to be recorded at t.
func (a *account) rest() {
	if a.points > 0 && a.t == a.pointAt(len(a.series)) {
		p := Point{
			Messages: a.t, Imbalance: a.imbalance(int64(a.max)), SourceBound: a.imbalance(a.sourceLoad()),
			Peak: float64(a.peakSince) / float64(a.workers),
		}
		if a.pairs != nil {
			p.Pairs, _ = a.pairs.held()
		}
		a.series = append(a.series, p)
		a.peak = max(a.peak, a.peakSince)
		// What the imbalance will be one message from now unless it grows.
		a.peakSince = a.workers*int64(a.max) - a.t - 1
	}
	if a.pairs != nil && (a.t == a.messages || a.period > 0 && a.t%a.period == 0) {
		n := a.pairs.endPeriod()
		a.aggr.Periods++
		a.aggr.Messages += n
		a.aggr.Most = max(a.aggr.Most, n)
	}
}

// imbalance is load − t/W.
func (a *account) imbalance(load int64) float64 {
	return float64(a.workers*load-a.t) / float64(a.workers)
}

// sourceLoad is Σ_j max_i L_i^j.
func (a *account) sourceLoad() int64 {
	if a.sourceMax == nil {
		return int64(a.max)
	}
	return a.sumSource
}

// fraction is (load − m/W)/m.
func (a *account) fraction(load int64) float64 { return fraction(load, 1, a.workers, a.messages) }

// fraction is load/(d·m) − 1/W, rounded once where the products fit a float64.
func fraction(load, d, workers, messages int64) float64 {
	hi1, lo1 := bits.Mul64(uint64(load), uint64(workers))
	hi2, lo2 := bits.Mul64(uint64(d), uint64(messages))
	return difference(hi1, lo1, hi2, lo2) / (float64(d) * float64(workers) * float64(messages))
}

// average is the mean of I(t) over t = 1…m, divided by m:
// (W·Σ max L(t) − m(m+1)/2) / (W·m²).
func (a *account) average() float64 {
	m := uint64(a.messages)
	hi, lo := bits.Mul64(uint64(a.workers), a.sumMax)
	half, other := m, m+1
	if m%2 == 0 {
		half /= 2
	} else {
		other /= 2
	}
	hi2, lo2 := bits.Mul64(half, other)
	return difference(hi, lo, hi2, lo2) / (float64(a.workers) * float64(m) * float64(m))
}

// difference is x − y of two numbers of 128 bits.
func difference(xHi, xLo, yHi, yLo uint64) float64 {
	sign := 1.0
	if xHi < yHi || xHi == yHi && xLo < yLo {
		xHi, xLo, yHi, yLo, sign = yHi, yLo, xHi, xLo, -1
	}
	lo, borrow := bits.Sub64(xLo, yLo, 0)
	hi, _ := bits.Sub64(xHi, yHi, borrow)
	return sign * (float64(float64(hi)*(1<<64)) + float64(lo))
}
