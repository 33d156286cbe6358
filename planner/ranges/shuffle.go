package ranges

import (
	"bytes"
	"slices"
	"strconv"
)

// Phase is how far a shuffle has come.
type Phase string

// The phases, in their order.
const (
	// Putting: clients add records to any follower; nobody is authority.
	Putting Phase = "put"
	// Ending: the final division is made, perhaps by a stale summary, and followers
	// send each record to its owner; nobody is authority.
	Ending Phase = "ending"
	// Starting: every record is with its owner, and one follower after the other
	// learns that it may answer. It is authority on what it owns from then on.
	Starting Phase = "starting"
	// Getting: every key has exactly one authority, whatever happens.
	Getting Phase = "get"
)

// HandOver is an interval on its way to a new owner. Until it is acknowledged the
// old one is the authority.
type HandOver struct {
	From, To int32 // IDs
	Interval Interval
}

// Shuffle is the protocol by which followers own, hand over and answer for
// intervals of keys, as a state machine: what the leader and each follower know,
// and the events that change it. It decides nothing itself and sends nothing.
//
// Rules, from the Shuffler proposal and beyond it where it is silent:
//   - A follower is authority on what it owns once it is in the get state.
//   - In the get phase an interval changes its owner when the new one acknowledges
//     that it has all of the data; it does so only when its replica has them too.
//     The old owner answers until then and keeps the data until [Shuffle.Commit].
//   - The replica of a follower is the next in the order of the members, if possible
//     one that does not leave. It has a
//     copy of what the follower holds, but after a change of the members only from
//     [Shuffle.Replicated] on; an older replica serves until then.
//   - When a follower crashes, its replica owns what it owned; the part that the
//     replica does not have goes to a follower that has kept the data.
//
// So the crash of one follower never loses data once all are replicated, nor do
// crashes at once of several none of which is the replica of another. Lost is what
// only a crashed follower and its crashed replica had, or a follower that crashed
// before what it had taken over was replicated; someone owns these keys all the
// same. Between a crash and its detection, which is the event here, nobody answers.
//
// Methods are events. One that cannot happen in the present state returns an
// [EventError] and changes nothing.
type Shuffle struct {
	phase   Phase
	members []*member
	pending []HandOver
	open    bool // a division was proposed in the get phase and is not committed
	lost    set
}

// member is a follower and what it knows.
type member struct {
	id      int32
	leaving bool
	ready   bool // it holds nothing that it does not own
	getting bool
	owns    set
	holds   set   // keys of which it has all data; not known before all are ready
	replica int32 // or Nobody
	copied  set   // the part of holds that the replica has too
}

// EventError says why an event cannot happen.
type EventError struct{ Event, Reason string }

func (e *EventError) Error() string { return e.Event + ": " + e.Reason }

// NewShuffle begins a shuffle in the put phase with followers in their order, all
// of them replicated, and a division among them.
func NewShuffle(followers []int32, owners Owners) (*Shuffle, error) {
	s := &Shuffle{phase: Putting}
	for _, id := range followers {
		if id < 0 || s.member(id) != nil {
			return nil, refuse("create", "followers must be distinct and ≥ 0")
		}
		s.members = append(s.members, &member{id: id, replica: Nobody})
	}
	for _, m := range s.members {
		m.replica = s.successor(m, Nobody)
	}
	if err := s.canOwn("create", owners); err != nil {
		return nil, err
	}
	s.assign(owners)
	return s, nil
}

func refuse(event, reason string) error { return &EventError{event, reason} }

func (s *Shuffle) member(id int32) *member {
	for _, m := range s.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

// successor returns the next member that does not leave, else the next that does,
// but not one that is to be left out; Nobody without any.
func (s *Shuffle) successor(m *member, without int32) int32 {
	i := slices.Index(s.members, m)
	leaver := Nobody
	for step := 1; step < len(s.members); step++ {
		switch next := s.members[(i+step)%len(s.members)]; {
		case next.id == without:
		case !next.leaving:
			return next.id
		case leaver == Nobody:
			leaver = next.id
		}
	}
	return leaver
}

func (s *Shuffle) canOwn(event string, owners Owners) error {
	if len(owners) == 0 {
		return refuse(event, "somebody must own the keys")
	}
	if err := owners.Validate(); err != nil {
		return refuse(event, err.Error())
	}
	for _, x := range owners {
		if m := s.member(x.Follower); m == nil || m.leaving {
			return refuse(event, "follower "+strconv.Itoa(int(x.Follower))+" is not there, or leaves")
		}
	}
	return nil
}

// assign makes a division effective at once.
func (s *Shuffle) assign(owners Owners) {
	for _, m := range s.members {
		m.owns, m.ready = owners.Of(m.id), false
	}
}

// Phase returns the phase.
func (s *Shuffle) Phase() Phase { return s.phase }

// Members returns the IDs of the followers in their order.
func (s *Shuffle) Members() []int32 {
	ids := make([]int32, len(s.members))
	for i, m := range s.members {
		ids[i] = m.id
	}
	return ids
}

// Pending returns what is yet to be acknowledged, in the order of the key space.
func (s *Shuffle) Pending() []HandOver { return slices.Clone(s.pending) }

// Lost returns the intervals of which data may be lost.
func (s *Shuffle) Lost() []Interval { return slices.Clone(s.lost) }

// Authority returns the follower that answers for a key; false when nobody does.
func (s *Shuffle) Authority(key []byte) (follower int32, ok bool) {
	for _, m := range s.members {
		if m.getting && m.owns.contains(key) {
			return m.id, true
		}
	}
	return 0, false
}

// Owners returns the present division: who answers for what in the get phase.
func (s *Shuffle) Owners() (o Owners) {
	for _, m := range s.members {
		for _, v := range m.owns {
			o = append(o, Owner{v.Low, m.id})
		}
	}
	slices.SortFunc(o, func(a, b Owner) int { return bytes.Compare(a.Low, b.Low) })
	return o
}

// Propose is the event that the leader sends the followers a new division. In the
// get phase its differences to the present one become pending; the one before must be committed.
func (s *Shuffle) Propose(owners Owners) error {
	const event = "propose"
	if err := s.canOwn(event, owners); err != nil {
		return err
	}
	switch {
	case s.phase == Starting:
		return refuse(event, "followers are about to answer")
	case s.phase != Getting:
		s.assign(owners)
		return nil
	case s.open:
		return refuse(event, "the division before is not committed")
	}
	s.open = true
	for i, x := range owners {
		s.pend(x.Follower, owners.Interval(i))
	}
	return nil
}

// pend makes pending what a follower is to have of an interval and does not own.
func (s *Shuffle) pend(to int32, v Interval) {
	for _, m := range s.members {
		if m.id == to {
			continue
		}
		for _, part := range m.owns.and(set{v}) {
			s.pending = append(s.pending, HandOver{m.id, to, part})
		}
	}
	slices.SortFunc(s.pending, func(a, b HandOver) int { return compareEnds(a.Interval.Low, b.Interval.Low) })
}

// EndInput is the event that a client says that all records are in, and the leader
// sends the final division.
func (s *Shuffle) EndInput(owners Owners) error {
	const event = "end input"
	if s.phase != Putting {
		return refuse(event, "it has ended already")
	}
	if err := s.canOwn(event, owners); err != nil {
		return err
	}
	s.phase = Ending
	s.assign(owners)
	return nil
}

// Ready is the event that a follower tells the leader that it holds nothing that it
// does not own, after the end of input or because it leaves.
func (s *Shuffle) Ready(follower int32) error {
	const event = "ready"
	m := s.member(follower)
	if m == nil || s.phase != Ending && (s.phase != Putting || !m.leaving) {
		return refuse(event, "nobody waits for this follower")
	}
	m.ready = true
	return nil
}

// StartGet is the event that the leader, all followers being ready, tells them to
// answer.
func (s *Shuffle) StartGet() error {
	const event = "start get"
	if s.phase != Ending {
		return refuse(event, "input has not ended, or has been served")
	}
	for _, m := range s.members {
		if !m.ready {
			return refuse(event, "follower "+strconv.Itoa(int(m.id))+" is not ready")
		}
	}
	s.phase = Starting
	for _, m := range s.members {
		m.holds = m.owns
		if m.replica != Nobody {
			m.copied = m.holds
		}
	}
	return nil
}

// Enter is the event that a follower learns that it is to answer. When all have,
// the get phase begins.
func (s *Shuffle) Enter(follower int32) error {
	m := s.member(follower)
	if m == nil || s.phase != Starting {
		return refuse("enter", "the get phase is not about to begin")
	}
	m.getting = true
	s.beginGet()
	return nil
}

func (s *Shuffle) beginGet() {
	if !slices.ContainsFunc(s.members, func(m *member) bool { return !m.getting }) {
		s.phase = Getting
	}
}

// Acknowledge is the event that the new owner of a pending interval, and its
// replica, have all of its data. The authority passes on with this event.
func (s *Shuffle) Acknowledge(h HandOver) error {
	i := slices.IndexFunc(s.pending, func(p HandOver) bool {
		return p.From == h.From && p.To == h.To && compareEnds(p.Interval.Low, h.Interval.Low) == 0 &&
			compareEnds(p.Interval.High, h.Interval.High) == 0
	})
	if i < 0 {
		return refuse("acknowledge", "nothing like that is pending")
	}
	from, to, what := s.member(h.From), s.member(h.To), set{h.Interval}
	from.owns, to.owns = from.owns.without(what), to.owns.or(what)
	s.give(to, what)
	s.pending = slices.Delete(s.pending, i, i+1)
	return nil
}

// give makes a follower hold data, which its replica then has too.
func (s *Shuffle) give(to *member, what set) {
	to.holds = to.holds.or(what)
	if to.replica != Nobody {
		to.copied = to.copied.or(what)
	}
}

// Commit is the event that the leader, all that was proposed being acknowledged,
// tells the followers, which delete what they have sent away.
func (s *Shuffle) Commit() error {
	if !s.open || len(s.pending) > 0 {
		return refuse("commit", "nothing is proposed, or not all of it is acknowledged")
	}
	s.open = false
	for _, m := range s.members {
		m.copied = m.copied.and(m.owns)
		m.holds = m.owns
	}
	return nil
}
