package ring

import "slices"

// tracks say where the states of keys are under [OldOwner], and where they went.
type tracks struct {
	home   []int32 // by key: the reducer that mappers send to
	holder []int32 // by key: the reducer that has the state; none: it is on its way
	// sent is where a reducer sent the state of a key last.
	sent map[track]int32
}

type track struct{ key, reducer int32 }

func newTracks(owner []int32) tracks {
	return tracks{home: slices.Clone(owner), holder: slices.Clone(owner), sent: map[track]int32{}}
}

// track returns where a reducer has to send a message of a key, itself if it may process
// it, and whether it has to send the key's state ahead.
//
// Whoever has the state sends it to the owner that the ring has now. Whoever had it sends
// the message after it, which is there before the message: so messages pass along all the
// reducers at which the state has been.
func (s *simulation) track(key, reducer int32) (to int32, withState bool) {
	if s.tracks.holder[key] == reducer {
		to = s.owner[key]
		return to, to != reducer
	}
	return s.tracks.sent[track{key, reducer}], false
}

// release takes a key's state from a reducer that sends it away.
func (s *simulation) release(key, reducer, to int32) {
	s.tracks.holder[key] = none
	s.tracks.sent[track{key, reducer}] = to
	if h := s.states.first[key]; h != none {
		s.states.all[h].reducer = to
	}
}
