package grouping

import (
	"cmp"
	"slices"

	"plannerd/planner"
)

// split is the best that any splitting of keys over their candidates can do.
type split struct {
	most       int64   // T*, the least possible greatest load
	bottleneck []int32 // workers whose own keys force it, in ascending order
	messages   int64   // of the keys that have no other candidates
}

// splitting looks for T* by maximum flow. Messages flow from groups of keys to
// workers; what a worker has above a limit is moved along paths worker → group →
// worker to where there is room. When it cannot be, the workers that can be
// reached from an overloaded one hold nothing but messages that cannot leave
// them, so the limit rises to the mean of their loads: Newton's method on the
// densest set of workers, in integers and with the flow kept.
type splitting struct {
	*groups
	loads   []int64
	flow    []int64  // of each member of a group
	groupOf []int32  // of each member
	at      []uint32 // of each worker's places in its groups, and the end of the last
	place   []uint32 // index of a member

	limit      int64
	level      []int32 // of a worker, −1 when it was not reached
	groupLevel []int32
	queue      []int32
	next       []uint32 // of a worker: the place to try next,
	nextMember []uint32 // and there the member
	order      []uint32 // scratch of pour
	bottleneck split
}

// leastMaxLoad finds T* for keys with these counts, messages in all. An empty
// row has all workers. The error is planner.ErrStopped.
func leastMaxLoad(table candidates, counts []int64, workers int, messages int64, stopped func() bool) (split, error) {
	s := newSplitting(newGroups(table, counts, workers), messages)
	s.sweep()
	const more = 3
	return s.solve(more, stopped)
}

// solve levels the loads of messages that are all on some worker: by a number of
// sweeps, if that many are needed, and then by flow.
func (s *splitting) solve(sweeps int, stopped func() bool) (split, error) {
	for i := 0; slices.Max(s.loads) > s.limit; i++ {
		switch {
		case stopped():
			return split{}, planner.ErrStopped
		case i < sweeps:
			s.sweep()
		case s.reach():
			s.augment()
		default:
			s.raise()
		}
	}
	return s.bottleneck, nil
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

func newSplitting(g *groups, messages int64) *splitting {
	s := &splitting{
		groups: g, loads: slices.Clone(g.fixed),
		flow: make([]int64, len(g.member)), groupOf: make([]int32, len(g.member)),
		at: make([]uint32, g.workers+1), place: make([]uint32, len(g.member)),
		level: make([]int32, g.workers), groupLevel: make([]int32, len(g.weight)),
		next: make([]uint32, g.workers), nextMember: make([]uint32, g.workers),
	}
	for _, w := range g.member {
		s.at[w+1]++
	}
	for w := range g.workers {
		s.at[w+1] += s.at[w]
	}
	to := slices.Clone(s.at)
	for i := range g.weight {
		for p := g.start[i]; p < g.start[i+1]; p++ {
			s.groupOf[p] = int32(i)
			s.place[to[g.member[p]]] = p
			to[g.member[p]]++
		}
	}
	all := make([]int32, g.workers)
	for w := range all {
		all[w] = int32(w)
	}
	s.bottleneck = split{most: ceil(messages, int64(g.workers)), bottleneck: all, messages: messages}
	s.limit = s.bottleneck.most
	return s
}

// sweep takes the messages of each group in turn and pours them over its members
// again, which levels their loads.
func (s *splitting) sweep() {
	for i, messages := range s.weight {
		s.order = s.order[:0]
		for p := s.start[i]; p < s.start[i+1]; p++ {
			s.loads[s.member[p]] -= s.flow[p]
			s.order = append(s.order, p)
		}
		s.sortByLoad(s.order)
		s.pour(messages)
	}
}

// sortByLoad sorts members by the load of their worker. Most groups are small.
func (s *splitting) sortByLoad(order []uint32) {
	const small = 16
	if len(order) > small {
		slices.SortStableFunc(order, func(a, b uint32) int {
			return cmp.Compare(s.loads[s.member[a]], s.loads[s.member[b]])
		})
		return
	}
	for i := 1; i < len(order); i++ {
		p := order[i]
		load := s.loads[s.member[p]]
		j := i
		for ; j > 0 && s.loads[s.member[order[j-1]]] > load; j-- {
			order[j] = order[j-1]
		}
		order[j] = p
	}
}

// pour fills the members in order, the least loaded first, up to one level.
func (s *splitting) pour(messages int64) {
	n, level := int64(1), s.loads[s.member[s.order[0]]]
	for ; int(n) < len(s.order); n++ {
		step := s.loads[s.member[s.order[n]]] - level
		if step*n > messages {
			break
		}
		level, messages = level+step, messages-step*n
	}
	level, messages = level+messages/n, messages%n
	for i, p := range s.order {
		s.flow[p] = 0
		if int64(i) < n {
			s.flow[p] = level - s.loads[s.member[p]]
			if int64(i) < messages {
				s.flow[p]++
			}
		}
		s.loads[s.member[p]] += s.flow[p]
	}
}

// reach finds the level of each worker that overloaded ones can send to, until
// one has room, and reports whether one has.
func (s *splitting) reach() (room bool) {
	s.queue = s.queue[:0]
	for w, l := range s.loads {
		s.level[w] = -1
		if l > s.limit {
			s.level[w] = 0
			s.queue = append(s.queue, int32(w))
		}
	}
	for i := range s.groupLevel {
		s.groupLevel[i] = -1
	}
	end := int32(-1) // the level of the first that has room
	for i := 0; i < len(s.queue); i++ {
		u := s.queue[i]
		if end >= 0 && s.level[u] >= end {
			break
		}
		for _, p := range s.place[s.at[u]:s.at[u+1]] {
			g := s.groupOf[p]
			if s.flow[p] == 0 || s.groupLevel[g] >= 0 {
				continue
			}
			s.groupLevel[g] = s.level[u]
			for _, v := range s.members(int(g)) {
				if s.level[v] >= 0 {
					continue
				}
				s.level[v] = s.level[u] + 1
				s.queue = append(s.queue, v)
				if s.loads[v] < s.limit {
					end = s.level[v]
				}
			}
		}
	}
	return end >= 0
}

// augment moves as much as the levels let through.
func (s *splitting) augment() {
	for w := range s.next {
		s.next[w], s.nextMember[w] = s.at[w], 0
	}
	for w := range s.loads {
		if excess := s.loads[w] - s.limit; excess > 0 {
			s.loads[w] -= s.send(int32(w), excess)
		}
	}
}

// send moves up to want messages from u to the next level, and on to where there
// is room, and returns how many. The load of u is left to the caller.
func (s *splitting) send(u int32, want int64) (sent int64) {
	for ; s.next[u] < s.at[u+1]; s.next[u]++ {
		p := s.place[s.next[u]]
		g := s.groupOf[p]
		first, n := s.start[g], s.start[g+1]-s.start[g]
		if s.groupLevel[g] != s.level[u] {
			continue
		}
		for ; s.nextMember[u] < n && s.flow[p] > 0; s.nextMember[u]++ {
			q := first + s.nextMember[u]
			v := s.member[q]
			if s.level[v] != s.level[u]+1 {
				continue
			}
			x := s.receive(v, min(want-sent, s.flow[p]))
			s.flow[p] -= x
			s.flow[q] += x
			if sent += x; sent == want {
				return sent
			}
		}
		s.nextMember[u] = 0
	}
	return sent
}

// receive takes up to offer messages at v, or sends them on.
func (s *splitting) receive(v int32, offer int64) int64 {
	taken := min(offer, max(s.limit-s.loads[v], 0))
	s.loads[v] += taken
	if taken < offer {
		taken += s.send(v, offer-taken)
	}
	return taken
}

// raise lifts the limit to what the workers that were reached need.
func (s *splitting) raise() {
	b := split{bottleneck: slices.Clone(s.queue)}
	slices.Sort(b.bottleneck)
	for _, w := range b.bottleneck {
		b.messages += s.loads[w]
	}
	b.most = ceil(b.messages, int64(len(b.bottleneck)))
	s.limit, s.bottleneck = b.most, b
}
