package ranges

import (
	"errors"
	"slices"
)

// Join is the event that a new follower takes its place among the members, from 0
// to their number. It owns nothing until the leader proposes so.
func (s *Shuffle) Join(follower int32, place int) error {
	const event = "join"
	switch {
	case follower < 0 || s.member(follower) != nil:
		return refuse(event, "the follower is there already")
	case place < 0 || place > len(s.members):
		return refuse(event, "there is no such place")
	}
	m := &member{id: follower, getting: s.phase == Getting}
	s.members = slices.Insert(s.members, place, m)
	m.replica = s.successor(m, Nobody) // it has nothing that would have to be copied first
	return nil
}

// Leave is the event that a follower says that it will go. It stays the authority
// on what it owns until others have it.
func (s *Shuffle) Leave(follower int32) error {
	const event = "leave"
	m := s.member(follower)
	switch {
	case m == nil || m.leaving:
		return refuse(event, "the follower is not there, or leaves already")
	case !slices.ContainsFunc(s.members, func(o *member) bool { return o != m && !o.leaving }):
		return refuse(event, "nobody would be left")
	case slices.ContainsFunc(s.pending, func(h HandOver) bool { return h.To == follower }):
		return refuse(event, "the follower is to own more: let it acknowledge that first")
	}
	m.leaving = true
	return nil
}

// Depart is the event that a follower that leaves goes. It owns nothing any more, holds nothing that
// others might need, and is nobody's replica unless only one would be left.
func (s *Shuffle) Depart(follower int32) error {
	const event = "depart"
	m := s.member(follower)
	switch {
	case m == nil || !m.leaving:
		return refuse(event, "the follower does not leave")
	case len(m.owns) > 0 || s.open || s.phase == Starting:
		return refuse(event, "the follower owns keys, or a hand-over is under way")
	case s.phase != Getting && !m.ready:
		return refuse(event, "the follower has records of others")
	case slices.ContainsFunc(s.members, func(o *member) bool {
		return o.replica == follower && s.successor(o, follower) != Nobody
	}):
		return refuse(event, "the follower is a replica, and another could be")
	}
	s.members = slices.DeleteFunc(s.members, func(o *member) bool { return o == m })
	s.forgetReplicas()
	return nil
}

// Replicated is the event that the next member has a copy of all that a follower holds, and is its
// replica from now on.
func (s *Shuffle) Replicated(follower int32) error {
	const event = "replicated"
	m := s.member(follower)
	if m == nil || len(s.members) == 1 {
		return refuse(event, "the follower is not there, or alone")
	}
	m.replica, m.copied = s.successor(m, Nobody), m.holds
	return nil
}

// ErrNobodyLeft is returned by [Shuffle.Crash] when no follower remains.
var ErrNobodyLeft = errors.New("ranges: no follower is left")

// Crash is the event that the leader notices that followers are gone, all at once.
// Their replicas take over; what was on its way to them is not handed over after all. If only
// such are left that were to leave, they stay.
func (s *Shuffle) Crash(followers ...int32) error {
	const event = "crash"
	var gone []*member
	for _, id := range followers {
		m := s.member(id)
		if m == nil || slices.Contains(gone, m) {
			return refuse(event, "followers must be distinct and there")
		}
		gone = append(gone, m)
	}
	if len(gone) == len(s.members) {
		return ErrNobodyLeft
	}
	order := s.members
	s.members = slices.DeleteFunc(slices.Clone(order), func(m *member) bool { return slices.Contains(gone, m) })
	for _, m := range order {
		if slices.Contains(gone, m) {
			s.takeOver(m, s.heir(m, order))
		}
	}
	s.forgetReplicas()
	if !slices.ContainsFunc(s.members, func(m *member) bool { return !m.leaving }) {
		for _, m := range s.members { // somebody has to stay
			m.leaving = false
		}
	}
	s.redirect()
	if s.phase == Starting {
		s.beginGet()
	}
	return nil
}

// forgetReplicas: those that are not members have no copies any more.
func (s *Shuffle) forgetReplicas() {
	for _, m := range s.members {
		if s.member(m.replica) == nil {
			m.replica, m.copied = Nobody, nil
		}
	}
}

// heir returns who owns from now on what a crashed follower owned and nobody has:
// its replica, else the next member there is.
func (s *Shuffle) heir(m *member, order []*member) *member {
	if r := s.member(m.replica); r != nil {
		return r
	}
	i := slices.Index(order, m)
	for step := 1; ; step++ {
		if next := order[(i+step)%len(order)]; slices.Contains(s.members, next) {
			return next
		}
	}
}

// takeOver divides what a crashed follower owned among those that have the data.
func (s *Shuffle) takeOver(m, heir *member) {
	replica := s.member(m.replica)
	if s.phase == Putting || s.phase == Ending { // it had records of any key
		heir.owns, heir.ready = heir.owns.or(m.owns), false
		if replica == nil {
			s.lost = everything()
		}
		return
	}
	rest := m.owns
	if replica != nil {
		part := rest.and(m.copied)
		replica.owns, replica.holds = replica.owns.or(part), replica.holds.or(m.copied)
		rest = rest.without(part)
	}
	for _, other := range s.members { // who sent it, and has kept it
		part := rest.and(other.holds)
		other.owns = other.owns.or(part)
		rest = rest.without(part)
	}
	heir.owns, heir.holds = heir.owns.or(rest), heir.holds.or(rest)
	s.lost = s.lost.or(rest)
}

// redirect lets pending intervals come from their present owners, and drops those
// whose receivers are gone.
func (s *Shuffle) redirect() {
	old := s.pending
	s.pending = nil
	for _, h := range old {
		if s.member(h.To) != nil {
			s.pend(h.To, h.Interval)
		}
	}
}
