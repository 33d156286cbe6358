package ring

import (
	"cmp"
	"math"
	"slices"
)

const none int32 = -1

// messages links messages into queues: each is in at most one at a time, so a
// single column serves all queues and nothing is allocated for any message.
type messages []int32 // the next one in the queue, or none

// queue is a list of messages, first in, first out.
type queue struct {
	head, tail int32
	length     int64
}

func (m messages) push(q *queue, x int32) {
	m[x] = none
	if q.length == 0 {
		q.head = x
	} else {
		m[q.tail] = x
	}
	q.tail = x
	q.length++
}

func (m messages) pop(q *queue) int32 {
	x := q.head
	q.head = m[x]
	q.length--
	return x
}

// prepend puts all of front before q, and empties it.
func (m messages) prepend(q, front *queue) {
	if front.length == 0 {
		return
	}
	if q.length == 0 {
		q.tail = front.tail
	} else {
		m[front.tail] = q.head
	}
	q.head = front.head
	q.length += front.length
	front.length = 0
}

// pipe holds what is under way, in the order in which it was sent, which is that
// of arrival: all takes equally long.
type pipe[T any] struct {
	ring  []T // a power of two long
	first int
	n     int
}

func (p *pipe[T]) push(x T) {
	if p.n == len(p.ring) {
		grown := make([]T, max(64, 2*p.n))
		k := copy(grown, p.ring[p.first:])
		copy(grown[k:], p.ring[:p.first])
		p.ring, p.first = grown, 0
	}
	p.ring[(p.first+p.n)&(len(p.ring)-1)] = x
	p.n++
}

func (p *pipe[T]) front() *T { return &p.ring[p.first] }

func (p *pipe[T]) pop() T {
	x := p.ring[p.first]
	p.first = (p.first + 1) & (len(p.ring) - 1)
	p.n--
	return x
}

// never is the time of an actor that waits for another.
const never = math.MaxInt64

// schedule knows when each actor acts next, and which is the first to: a
// tournament in which the earlier wins, of those at the same time the lower.
type schedule struct {
	at      []int64
	winners []int32 // of the match at node i play the winners of 2i and 2i+1
	leaves  int
}

func newSchedule(actors int) *schedule {
	s := &schedule{leaves: 1}
	for s.leaves < actors {
		s.leaves *= 2
	}
	s.at = slices.Repeat([]int64{never}, s.leaves)
	s.winners = make([]int32, 2*s.leaves)
	for i := range s.leaves {
		s.winners[s.leaves+i] = int32(i)
	}
	for i := s.leaves - 1; i > 0; i-- {
		s.winners[i] = s.winners[2*i]
	}
	return s
}

func (s *schedule) set(actor int, t int64) {
	s.at[actor] = t
	for i := (s.leaves + actor) / 2; i > 0; i /= 2 {
		a, b := s.winners[2*i], s.winners[2*i+1]
		if s.at[b] < s.at[a] {
			a = b
		}
		s.winners[i] = a
	}
}

// first is the actor that acts next; its time may be never.
func (s *schedule) first() int { return int(s.winners[1]) }

// holding is how many messages of a key a reducer has processed: its state.
type holding struct {
	count   int64
	reducer int32
	next    int32 // the key's next holding
}

// states are the holdings of all keys.
type states struct {
	first []int32 // by key
	all   []holding
}

func newStates(keys int) states {
	return states{first: slices.Repeat([]int32{none}, keys), all: make([]holding, 0, keys)}
}

// add counts a message of a key that a reducer processed.
func (s *states) add(key, reducer int32) {
	for i := s.first[key]; i != none; i = s.all[i].next {
		if s.all[i].reducer == reducer {
			s.all[i].count++
			return
		}
	}
	s.all = append(s.all, holding{1, reducer, s.first[key]})
	s.first[key] = int32(len(s.all) - 1)
}

// merged adds up the partial states of all keys: the counts, how many messages each part
// beyond a key's largest is of, and how many keys have such parts.
func (s *states) merged() (counts, partial []int64, split int64) {
	counts = make([]int64, len(s.first))
	var parts []int64 // of a key
	for key, i := range s.first {
		parts = parts[:0]
		for ; i != none; i = s.all[i].next {
			counts[key] += s.all[i].count
			parts = append(parts, s.all[i].count)
		}
		if len(parts) > 1 {
			split++
			slices.SortFunc(parts, func(a, b int64) int { return cmp.Compare(b, a) })
			partial = append(partial, parts[1:]...)
		}
	}
	return counts, partial, split
}
