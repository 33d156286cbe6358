package hindsight

import (
	"math"
	"slices"
)

// sequence is a path for each key, and what they sum up to.
type sequence struct {
	*problem
	at      []int32   // by step: the instance
	load    []float64 // by interval and instance, beside the fixed load
	entries []int64   // by interval
}

func newSequence(p *problem) *sequence {
	q := &sequence{
		problem: p, at: make([]int32, len(p.steps)), load: make([]float64, len(p.room)),
		entries: make([]int64, p.intervals),
	}
	return q
}

// add adds a key's path to the sums, or takes it from them.
func (q *sequence) add(x *path, sign int) {
	for j := x.from; j < x.to; j++ {
		s := &q.steps[j]
		q.load[int(s.interval)*q.instances+int(q.at[j])] += float64(float64(sign) * s.cost)
		if q.at[j] != x.home {
			q.entries[s.interval] += int64(sign)
		}
	}
}

// moves is what a key's path moves.
func (q *sequence) moves(x *path) float64 {
	sum, at := 0.0, x.start
	for j := x.from; j < x.to; j++ {
		if q.at[j] != at {
			sum, at = sum+q.steps[j].state, q.at[j]
		}
	}
	return sum
}

// moved is what all paths move.
func (q *sequence) moved() float64 {
	sum := 0.0
	for i := range q.paths {
		sum += q.moves(&q.paths[i])
	}
	return sum
}

// sum adds the loads up anew, without the rounding of many changes.
func (q *sequence) sum() {
	clear(q.load)
	clear(q.entries)
	for i := range q.paths {
		q.add(&q.paths[i], 1)
	}
}

// excess tells what is above the cap of an instance in an interval.
func (q *sequence) excess(i int) float64 { return q.load[i] - q.room[i] - nearly }

// nearly is less than the tolerance, of a load; more than what sums of many changes lose.
const nearly = 1e-12

// feasible reports whether all caps are met.
func (q *sequence) feasible() bool {
	for i := range q.load {
		if q.bounded[i/q.instances] && q.excess(i) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(q.bounds(), func(t int) bool { return q.entries[t] > q.table[t] })
}

// bounds are the intervals whose tables are bounded.
func (q *sequence) bounds() (all []int) {
	for t := range q.table {
		if q.bounded[t] {
			all = append(all, t)
		}
	}
	return all
}

// search looks for a sequence that moves little. Each key in turn takes the path that is
// best for it while the others stay on theirs. What exceeds a cap costs a penalty, which
// rises until nothing does (breakout local search, Morris 1993); then, with closed caps,
// keys go back to cheaper paths.
type search struct {
	*sequence
	walk            *walk
	penalty         []float64 // by interval and instance; of a load above its cap
	entry           []float64 // by interval: of an entry above the limit
	step, entryStep float64
	closed          bool    // what exceeds a cap is out of the question
	least           float64 // what the best sequence within the caps moves; +∞: none
}

func newSearch(p *problem) *search {
	return &search{
		sequence: newSequence(p), walk: newWalk(p),
		penalty: make([]float64, len(p.room)), entry: make([]float64, p.intervals), least: math.Inf(1),
	}
}

// price is what a step costs a key on each instance, whose own load is not in the sums.
func (s *search) price(x *path, y *step, cost []float64) {
	t := int(y.interval)
	full := 0.0
	if s.table != nil && s.bounded[t] && s.entries[t] >= s.table[t] {
		if full = s.entry[t]; s.closed {
			full = math.Inf(1)
		}
	}
	for d := range cost {
		i := t*s.instances + d
		cost[d] = 0
		if over := s.load[i] + y.cost - s.room[i] - nearly; over > 0 && y.cost > 0 {
			if cost[d] = math.Inf(1); !s.closed {
				cost[d] = s.penalty[i] * min(over, y.cost)
			}
		}
		if int32(d) != x.home {
			cost[d] += full
		}
	}
}

// improve gives a key the path that is best for it, and reports whether it was another.
func (s *search) improve(x *path) bool {
	steps := s.steps[x.from:x.to]
	s.add(x, -1)
	defer s.add(x, 1)
	before := s.costs(x)
	best := s.walk.run(x, steps, func(j int, cost []float64) { s.price(x, &steps[j], cost) })
	if best >= before-float64(before*1e-12) {
		return false
	}
	s.walk.trace(x, steps, s.at[x.from:x.to])
	return true
}

// costs is what its present path costs a key.
func (s *search) costs(x *path) float64 {
	sum := s.moves(x)
	for j := x.from; j < x.to; j++ {
		s.price(x, &s.steps[j], s.walk.here)
		sum += s.walk.here[s.at[j]]
	}
	return sum
}

// sweep improves every key for which there is something to gain.
func (s *search) sweep() (changed bool) {
	for i := range s.paths {
		if x := &s.paths[i]; s.moves(x) > 0 || !s.closed && s.exceeds(x) {
			changed = s.improve(x) || changed
		}
	}
	return changed
}

// exceeds reports whether a key is where a cap is exceeded.
func (s *search) exceeds(x *path) bool {
	for j := x.from; j < x.to; j++ {
		t := int(s.steps[j].interval)
		if !s.bounded[t] {
			continue
		}
		if s.table != nil && s.at[j] != x.home && s.entries[t] > s.table[t] {
			return true
		}
		if s.steps[j].cost > 0 && s.excess(t*s.instances+int(s.at[j])) > 0 {
			return true
		}
	}
	return false
}

// settle takes keys back to cheaper paths within the caps, and keeps the sequence if it is
// the best. It reports false if it is not within the caps.
func (s *search) settle() bool {
	s.sum()
	if !s.feasible() {
		return false
	}
	s.closed = true
	for range mostSweeps {
		if !s.sweep() {
			break
		}
	}
	s.closed = false
	if moved := s.moved(); moved < s.least {
		s.least = moved
	}
	return true
}

const (
	mostSweeps    = 8
	mostRaises    = 150  // of the penalties until all caps are met
	raise         = 0.15 // of a penalty, and the step beside it, where a cap is exceeded
	relief        = 0.3  // of all penalties, for another attempt
	leastPenalty  = 1e-3
	penaltyOfCaps = 1.5 // of the prices, to begin with
)

// repair raises penalties until the sequence is within the caps, and settles it. It
// reports whether it came to that.
func (s *search) repair() bool {
	for range mostRaises {
		s.sweep()
		if s.settle() {
			return true
		}
		for i := range s.load {
			if s.excess(i) > 0 {
				s.penalty[i] += s.step + float64(raise*s.penalty[i])
			}
		}
		for _, t := range s.bounds() {
			if s.entries[t] > s.table[t] {
				s.entry[t] += s.entryStep + float64(raise*s.entry[t])
			}
		}
	}
	return false
}

// attempt repairs several times, each time with less of a penalty than what was needed.
func (s *search) attempt(y prices, times int) {
	s.step, s.entryStep = max(mean(y.load), leastPenalty), max(mean(y.table), leastPenalty*leastPenalty)
	for i, u := range y.load {
		s.penalty[i] = penaltyOfCaps * u
	}
	for t, price := range y.table {
		s.entry[t] = penaltyOfCaps * price
	}
	for range times {
		if !s.repair() {
			return
		}
		for i := range s.penalty {
			s.penalty[i] *= relief
		}
		for t := range s.entry {
			s.entry[t] *= relief
		}
	}
}

// mean is that of the prices that are not 0; 0 if all are.
func mean(prices []float64) float64 {
	sum, n := 0.0, 0
	for _, u := range prices {
		if u > 0 {
			sum, n = sum+u, n+1
		}
	}
	return sum / float64(max(1, n))
}
