package grouping

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
)

// pool is cost that any of its workers may take, in whatever parts.
type pool struct {
	workers []int32
	cost    float64
	flow    []float64 // to each of the workers
}

// leveller divides pools so that the loads of workers are level: as long as routers
// send to the least loaded candidate, loads relative to capacities draw near to that.
type leveller struct {
	capacity []float64
	pools    []pool
	loads    []float64
	order    []int32 // workers, descending rates
	place    []int32 // of each worker in order
	inside   []float64
	parts    []levelled
	before   []float64 // the loads of the last sweep
}

// levelled is a worker that is poured into.
type levelled struct{ rate, load, capacity float64 }

const (
	// mostSweeps bounds how often the pools are poured. What is not level by then shows
	// as a bound below the greatest rate.
	mostSweeps = 200
	// levelWithin is how near the greatest rate comes to its bound, as a part of it.
	levelWithin = exact.Tolerance / 4
)

func newLeveller(capacity []float64, pools []pool) *leveller {
	l := &leveller{
		capacity: capacity, pools: pools, loads: make([]float64, len(capacity)),
		order: make([]int32, len(capacity)), place: make([]int32, len(capacity)), inside: make([]float64, len(capacity)),
	}
	for w := range l.order {
		l.order[w] = int32(w)
	}
	for i := range pools {
		pools[i].flow = make([]float64, len(pools[i].workers))
	}
	return l
}

func (l *leveller) rate(w int32) float64 { return l.loads[w] / l.capacity[w] }

// level pours until the loads are level, and returns the greatest rate with a bound below
// which no division brings it. The workers that prove the bound are the first of order.
// Enough > 0 is a rate that need not be lowered: then it ends when that is reached, or
// proven to be impossible.
func (l *leveller) level(enough float64, stopped func() bool) (most, bound float64, provers int) {
	for range mostSweeps {
		for i := range l.pools {
			l.pour(&l.pools[i])
		}
		settled := l.sum()
		most, bound, provers = l.bound()
		decided := enough > 0 && (most <= enough || bound > enough)
		if decided || settled && most <= bound*(1+levelWithin) || stopped() {
			break
		}
	}
	return most, bound, provers
}

// sum adds the loads up anew, as those that pour keeps gather errors, and reports whether
// they are what they were.
func (l *leveller) sum() (settled bool) {
	clear(l.loads)
	for _, p := range l.pools {
		for i, w := range p.workers {
			l.loads[w] += p.flow[i]
		}
	}
	settled = len(l.before) > 0
	for w, was := range l.before {
		settled = settled && math.Abs(l.loads[w]-was) <= float64(levelWithin*l.loads[w])
	}
	l.before = append(l.before[:0], l.loads...)
	return settled
}

// pour takes a pool off its workers and fills them again, the least loaded first, up to
// one rate.
func (l *leveller) pour(p *pool) {
	for i, w := range p.workers {
		l.loads[w] = max(0, l.loads[w]-p.flow[i])
	}
	l.parts = l.parts[:0]
	for _, w := range p.workers {
		l.parts = append(l.parts, levelled{l.rate(w), l.loads[w], l.capacity[w]})
	}
	slices.SortFunc(l.parts, func(a, b levelled) int { return cmp.Compare(a.rate, b.rate) })
	filled, capacity, rate := p.cost, 0.0, 0.0
	for i, x := range l.parts {
		filled, capacity = filled+x.load, capacity+x.capacity
		if rate = filled / capacity; i+1 == len(l.parts) || rate <= l.parts[i+1].rate {
			break
		}
	}
	for i, w := range p.workers {
		p.flow[i] = max(0, float64(rate*l.capacity[w])-l.loads[w])
		l.loads[w] += p.flow[i]
	}
}

// bound is the greatest rate, and the least that it can be: some workers have all
// candidates of pools that together are as much.
func (l *leveller) bound() (most, bound float64, provers int) {
	slices.SortFunc(l.order, func(a, b int32) int { return cmp.Or(cmp.Compare(l.rate(b), l.rate(a)), cmp.Compare(a, b)) })
	for i, w := range l.order {
		l.place[w] = int32(i)
	}
	clear(l.inside)
	for _, p := range l.pools {
		last := int32(0)
		for _, w := range p.workers {
			last = max(last, l.place[w])
		}
		l.inside[last] += p.cost
	}
	cost, capacity := 0.0, 0.0
	for i, w := range l.order {
		cost, capacity = cost+l.inside[i], capacity+l.capacity[w]
		if x := cost / capacity; x > bound {
			bound, provers = x, i+1
		}
	}
	return l.rate(l.order[0]), bound, provers
}

// confined reports whether all workers of a pool are among the first of order.
func (l *leveller) confined(p *pool, first int) bool {
	return !slices.ContainsFunc(p.workers, func(w int32) bool { return int(l.place[w]) >= first })
}
