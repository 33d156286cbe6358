package search

import (
	"plannerd/planner/internal/assign"
)

const (
	perturbations = 5  // for each time that penalties are drawn
	mostPerturbed = 3  // keys at once
	perturbTries  = 16 // to find a key to perturb
)

// run alternates between descents to local optima and disturbances, until
// nothing better is found for some time.
func (s *search) run() {
	s.openNeighbourhood()
	s.look()
	s.sweepAll()
	for vain := 0; vain < s.Patience && s.Evaluations > 0; vain++ {
		before := s.best
		s.descend()
		if s.Evaluations <= 0 {
			break
		}
		if s.best.Compare(before.Score) < 0 {
			vain = -1
		}
		s.diversify(vain)
	}
	s.locked = assign.None
	s.restore()
}

// diversify leaves a local optimum. As a rule it returns to the best assignment
// and perturbs it: it puts a few keys elsewhere and locks the last one there. Now and then
// it draws other penalties instead, which drives the search across the limits
// and back. Limits that are still violated become dearer first.
func (s *search) diversify(vain int) {
	s.locked = assign.None
	switch {
	case s.best.Violated > 0 && vain%4 != 3:
		s.raise(2)
		s.forget()
	case (vain+1)%(perturbations+1) == 0:
		if s.random.IntN(2) == 0 {
			s.restore()
		}
		s.look()
		s.redraw()
		s.sweepAll()
	default:
		s.restore()
		for range 1 + s.random.IntN(mostPerturbed) {
			s.locked = assign.None // the one before
			s.perturb()
		}
	}
}

// perturb sends a random key home that left, or one away that stayed, on an
// instance that keys left.
func (s *search) perturb() {
	for range perturbTries {
		d := s.from[s.byRegret[s.random.IntN(len(s.byRegret))]]
		out, stay := s.away[d], s.stay[d]
		switch {
		case len(out) == 0 || !s.p.IsLive[d]:
		case s.random.IntN(2) == 0:
			s.lock(out[s.random.IntN(len(out))], d)
			return
		case len(stay) > 0:
			k := stay[s.random.IntN(len(stay))]
			f := follow{search: s, width: 1}
			for _, to := range s.places(k, assign.None, &f.buffer) {
				f.consider(k, to)
			}
			s.spend(f.evaluations)
			if f.n > 0 { // else no other instance is open to it
				s.lock(k, f.best[0].to)
				return
			}
		}
	}
}

func (s *search) lock(k, to int32) {
	s.shift(k, to)
	s.commit()
	s.locked = k
}

func (s *search) violates() bool {
	return len(s.over) > 0 || s.limited && s.now.Table > s.limit
}

// sweepAll tries single shifts of all keys of the core, those of most regret first.
func (s *search) sweepAll() {
	for _, k := range s.byCertainty {
		if s.Evaluations <= 0 {
			return
		}
		s.try(k, false)
	}
}

// As long as limits are violated a descent makes that dearer some times before it tries pairs
// of shifts, and before it ends.
var (
	raises = [levels]int{6, 16}
	dearer = [levels]float64{1.2, 2}
)

const levels = 2 // single shifts, and pairs

// descend tries shifts, then pairs of them, from each active key, until none gains anything.
func (s *search) descend() {
	raised := 0
	for level := 0; level < levels && s.Evaluations > 0; {
		switch {
		case s.sweep(level):
			level = 0
		case raised < raises[level] && s.violates():
			raised++
			s.raise(dearer[level])
			level = 0
		default:
			level++
		}
	}
}

// sweep tries shifts, or pairs of them, from the active keys around which something changed since
// they were tried last.
func (s *search) sweep(level int) bool {
	gained := false
	tried := s.tried[level]
	for _, k := range s.byRegret {
		if s.Evaluations <= 0 {
			return gained
		}
		if !s.active[k] || tried[k] >= max(s.touched[s.at[k]], s.touched[s.from[k]], s.touched[s.home[k]]) {
			continue
		}
		for k != s.locked && s.try(k, level > 0) {
			gained = true
		}
		tried[k] = s.clock
	}
	return gained
}
