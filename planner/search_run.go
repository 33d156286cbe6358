package planner

import "slices"

const (
	vicinityWidth = 10
	patience      = 40 // rounds without a better assignment until the search gives up
)

// run alternates between descents to local optima and changes of the penalties,
// until nothing better is found for some time.
func (s *search) run() {
	s.look(vicinityWidth)
	for vain := 0; vain < patience && s.effort > 0; vain++ {
		before := s.best
		s.sweepAll()
		s.descend()
		if s.effort <= 0 {
			break
		}
		if s.best.compare(before.score) < 0 {
			vain = -1
		}
		s.oscillate(vain)
	}
	s.restore()
	s.tidy()
}

// oscillate changes penalties after a descent: it drives the search across the
// limits and back. Every other time it starts again from the best assignment.
func (s *search) oscillate(vain int) {
	if s.violates() && vain%4 != 3 {
		s.raise(2)
	} else {
		if vain%2 == 1 {
			s.restore()
		}
		s.look(vicinityWidth)
		s.redraw()
	}
	s.forget()
}

func (s *search) violates() bool {
	return len(s.over) > 0 || s.limited && s.now.table > s.limit
}

// sweepAll tries single shifts of all keys of the core, the least doubtful first.
func (s *search) sweepAll() {
	for i := len(s.doubt) - 1; i >= 0 && s.effort > 0; i-- {
		s.try(s.doubt[i], 1)
	}
}

// descend tries ever longer chains, from each active key, until none gains
// anything. As long as limits are violated it rather makes that dearer than to
// try longer ones.
func (s *search) descend() {
	depths := [...]int{1, 2, maxDepth}
	patience := [...]int{6, 16, 0}
	raised := 0
	for level := 0; level < len(depths) && s.effort > 0; {
		switch {
		case s.sweep(depths[level]):
			level = 0
		case raised < patience[level] && s.violates():
			raised++
			s.raise(1.2)
			s.forget()
			level = 0
		default:
			level++
			s.forget()
		}
	}
}

func (s *search) sweep(depth int) bool {
	gained := false
	for _, k := range s.doubt {
		if s.effort <= 0 {
			return gained
		}
		if !s.active[k] || s.tried[k] >= max(s.touched[s.at[k]], s.touched[s.from[k]], s.touched[s.home[k]]) {
			continue
		}
		for s.try(k, depth) {
			gained = true
		}
		s.tried[k] = s.clock
	}
	return gained
}

// tidy undoes what is superfluous in the best assignment: with prohibitive
// penalties single shifts that cost nothing remain.
func (s *search) tidy() {
	for d := range s.perLoad {
		s.perLoad[d] *= 1 << 20
	}
	s.perEntry *= 1 << 20
	for _, k := range slices.Backward(s.doubt) {
		if s.at[k] != s.from[k] {
			s.try(k, 1)
		}
	}
}
