package hindsight

import "math"

// Bracket encloses the least that a policy can have moved which kept to the caps.
type Bracket struct {
	// Bound is proven: every policy that keeps to the caps moves at least so much, as M.
	Bound float64
	// Proven is false where nothing is known: with a table limit, if no sequence was found
	// that keeps to it and to the caps, there may be none.
	Proven bool
	// Found is what the best sequence found moves that keeps to the caps. Nil: none was.
	Found *float64
}

// leastRatio is of all state: a bound below it says nothing about how many times as much a
// policy moved.
const leastRatio = 0.01

// Ratio is how many times the bound an amount is. It is not told where the bound is below
// 1 % of all state.
func (b Bracket) Ratio(moved float64) (ratio float64, ok bool) {
	if !b.Proven || b.Bound < leastRatio {
		return 0, false
	}
	return moved / b.Bound, true
}

// Effort is how much work the search for a bracket does. It is counted, not timed.
type Effort struct {
	Steps    int // of the subgradient method
	Attempts int // to find a sequence
	// Work bounds the steps, but for the first hundred, by how many costs of keys in
	// intervals all of them look at. 0: no bound.
	Work int
}

// DefaultEffort is enough for some per cent of what more would give, up to some 100 000
// costs; beyond that for seconds.
var DefaultEffort = Effort{Steps: 1000, Attempts: 12, Work: 400_000_000}

// stepsOn is how many steps are taken on a problem.
func (e Effort) stepsOn(p *problem) int {
	if e.Work == 0 {
		return e.Steps
	}
	return min(e.Steps, max(100, e.Work/max(1, len(p.steps))))
}

// Bracket encloses what policies move that keep to the caps, and of which the first
// interval that counts ran under the policy's table of then. The policy is a sequence to begin with: it
// counts as found where it keeps to the caps itself.
func (h *History) Bracket(caps Caps, policy Tables, effort Effort) Bracket {
	p := h.problem(caps, func(t int, key int32) int32 { return h.at(policy, t, key) })
	s := newSearch(p)
	s.follow()
	s.settle()
	a := newAscent(p)
	known := s.least
	if math.IsInf(known, 1) {
		known = 1
	}
	a.climb(effort.stepsOn(p), known)
	s.reset()
	s.attempt(a.best, effort.Attempts)
	b := Bracket{Bound: a.bound, Proven: p.table == nil}
	if !math.IsInf(s.least, 1) {
		b.Found, b.Proven = &s.least, true
	}
	return b
}

// follow takes the paths of the policy.
func (s *search) follow() {
	for j := range s.at {
		s.at[j] = s.steps[j].was
	}
	s.sum()
}

// reset begins anew, with all keys at their starts that may stay there.
func (s *search) reset() {
	for i := range s.paths {
		x := &s.paths[i]
		for j := x.from; j < x.to; j++ {
			if s.at[j] = x.start; x.leaves {
				s.at[j] = s.steps[j].was
			}
		}
	}
	s.sum()
}
