package ring

// The phases of state forwarding.
type phase uint8

const (
	settled    phase = iota // all reducers agree on the ring and forward at will
	announced               // a new ring is on its way to the reducers
	agreeing                // no reducer begins a message until all have finished theirs
	exchanging              // states are on their way; nothing is forwarded
)

// stage is the state of a stage of state forwarding ("DPA Load Balancer" §7).
type stage struct {
	phase phase
	owner []int32 // by key, on the ring that the stage adopts; while exchanging, on the one before

	stages, heldBack int64
}

// advance goes on to the next phase.
func (s *simulation) advance() {
	switch s.stage.phase {
	case announced:
		s.stage.phase = agreeing
		s.stage.stages++
		s.set(staging, never)
		s.agree()
	case agreeing:
		s.exchange()
	case exchanging:
		s.settle()
	}
}

// agree lets the last reducer that has finished its message tell all others.
func (s *simulation) agree() {
	for i := range s.reducers {
		if s.reducers[i].message != none {
			return
		}
	}
	s.set(staging, s.now+s.o.Timing.Network)
}

// exchange adopts the new ring and lets every reducer send away, one after the
// other, the states of keys that it no longer owns.
func (s *simulation) exchange() {
	x := &s.stage
	x.phase = exchanging
	s.owner, x.owner = x.owner, s.owner
	sent := make([]int64, len(s.reducers))
	longest := int64(0)
	for k, to := range s.owner {
		h := s.states.first[k]
		if to == x.owner[k] || h == none {
			continue
		}
		from := s.states.all[h].reducer // all of the key's state is here
		s.states.all[h].reducer = to
		sent[from]++
		longest = max(longest, sent[from])
	}
	s.set(staging, s.now+longest*s.o.Timing.State+s.o.Timing.Network)
	s.beginAll()
}

// stays reports whether a reducer owns a key before and after the stage, so that
// the key's state is with it.
func (s *simulation) stays(key, reducer int32) bool {
	return s.owner[key] == reducer && s.stage.owner[key] == reducer
}

// settle ends the stage: all states have arrived, and what was put back comes
// first.
func (s *simulation) settle() {
	s.stage.phase = settled
	s.set(staging, never)
	for i := range s.reducers {
		r := &s.reducers[i]
		s.queued.prepend(&r.queue, &r.held)
	}
	s.beginAll()
}

// beginAll lets idle reducers begin.
func (s *simulation) beginAll() {
	for i := range s.reducers {
		if s.reducers[i].message == none {
			s.begin(i)
		}
	}
}
