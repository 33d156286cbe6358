package batches

import (
	"cmp"
	"iter"
	"slices"

	"plannerd/internal/exact"
)

// queue holds the changes that take load from one instance to another, those first that
// take most for the state that they move.
type queue struct {
	rank     int // the order of equals: that of the plan
	changes  []int32
	head     int
	priority [2]float64
}

// lookAhead is how many changes of a queue are tried where the first do not fit into a batch.
const lookAhead = 32

// line puts all changes into queues.
func (c *cutter) line() {
	type pair struct{ from, to int32 }
	at := map[pair]*queue{}
	c.queues = nil
	for i := range c.changes {
		key := pair{-1, -1}
		least, most := int64(0), int64(0)
		for _, y := range c.changes[i].loads {
			if y.amount < least {
				key.from, least = y.at, y.amount
			}
			if y.amount > most {
				key.to, most = y.at, y.amount
			}
		}
		q := at[key]
		if q == nil {
			q = &queue{rank: len(c.queues)}
			at[key] = q
			c.queues = append(c.queues, q)
		}
		q.changes = append(q.changes, int32(i))
	}
	for _, q := range c.queues {
		slices.SortStableFunc(q.changes, func(a, b int32) int {
			return cmp.Compare(c.changes[b].relief, c.changes[a].relief)
		})
		for place, i := range q.changes {
			c.changes[i].queue, c.changes[i].place = q, place
		}
	}
}

// skip moves the head of a queue over what is taken, and reports whether anything is left.
func (c *cutter) skip(q *queue) bool {
	for q.head < len(q.changes) && c.gone[q.changes[q.head]] {
		q.head++
	}
	return q.head < len(q.changes)
}

// ahead yields the first changes of a queue that are left.
func (c *cutter) ahead(q *queue) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		seen := 0
		for at := q.head; at < len(q.changes) && seen < lookAhead; at++ {
			if i := q.changes[at]; !c.gone[i] {
				if seen++; !yield(i) {
					return
				}
			}
		}
	}
}

// rate sets the priority of a queue: by how much its first change lowers what is above
// the maximum of instances, per state that moves; then the cost per state.
func (c *cutter) rate(q *queue) {
	x := &c.changes[q.changes[q.head]]
	over := 0.0
	for _, y := range x.loads {
		load := float64(c.load[y.at])
		over += max(0, load-c.maximum[y.at]) - max(0, load+float64(y.amount)-c.maximum[y.at])
	}
	q.priority = [2]float64{over / max(1, float64(x.state)), x.relief}
}

func compare(a, b *queue) int {
	return cmp.Or(-cmp.Compare(a.priority[0], b.priority[0]), -cmp.Compare(a.priority[1], b.priority[1]),
		cmp.Compare(a.rank, b.rank))
}

// fill fills a batch: with what relieves most for its state first, as long as anything
// fits; then with exchanges, which no limit allows but together.
func (c *cutter) fill() {
	failures := 0
	for c.left > 0 {
		waiting := c.fillAlone()
		if c.left == 0 {
			return
		}
		if len(c.taken) == 0 { // whatever the bounds
			c.together(slices.MinFunc(waiting, compare), false)
			continue
		}
		slices.SortFunc(waiting, compare)
		exchanged := false
		for _, q := range waiting {
			if exchanged = c.together(q, true); exchanged {
				break
			}
			if failures++; failures == mostFailures {
				return
			}
		}
		if !exchanged {
			return
		}
	}
}

// mostFailures is how many exchanges of a batch may come to more than its bounds before
// no other is tried.
const mostFailures = 8

// fillAlone takes what may go alone. It returns the queues that wait for an instance or
// the table to have more room.
func (c *cutter) fillAlone() (all []*queue) {
	heap := exact.Heap[*queue]{Before: func(a, b *queue) bool { return compare(a, b) < 0 }}
	for _, q := range c.queues {
		if c.skip(q) {
			c.rate(q)
			heap.E = append(heap.E, q)
		}
	}
	heap.Heapify()
	waiting := make([][]*queue, len(c.load)+1) // for an instance to carry less, and the table to be shorter
	wake := func(d int) {
		for _, q := range waiting[d] {
			c.rate(q)
			heap.Push(q)
		}
		waiting[d] = waiting[d][:0]
	}
	for len(heap.E) > 0 {
		q := heap.E[0]
		old := q.priority
		if c.rate(q); q.priority != old {
			if heap.Sink(0); heap.E[0] != q {
				continue
			}
		}
		heap.Pop()
		i, obstacle := c.first(q)
		if i < 0 {
			if obstacle >= 0 {
				waiting[obstacle] = append(waiting[obstacle], q)
			}
			continue
		}
		c.take(i)
		if c.skip(q) {
			c.rate(q)
			heap.Push(q)
		}
		for _, y := range c.changes[i].loads {
			if y.amount < 0 {
				wake(int(y.at))
			}
		}
		if c.entries(i) < 0 {
			wake(len(c.load))
		}
	}
	return slices.Concat(waiting...)
}

// first returns the first change of a queue that fits into the batch, or −1, and then
// what has to have more room before one does: an instance, the table, which is behind all
// instances, or nothing in this batch, −1.
func (c *cutter) first(q *queue) (found int32, obstacle int) {
	obstacle = -1
	for i := range c.ahead(q) {
		// A key that is more than the bounds allow may begin a batch.
		if len(c.taken) > 0 && !c.within(i) {
			continue
		}
		c.apply(i, 1)
		d, long := c.violated(i)
		c.apply(i, -1)
		switch {
		case d >= 0:
			obstacle = int(d)
		case long:
			obstacle = len(c.load)
		default:
			return i, -1
		}
	}
	return -1, obstacle
}

// together takes the first change of a queue, and those without which some limit would
// not hold then: an exchange, or a cycle of them. Bounded, it takes none unless all of
// them fit into the batch.
func (c *cutter) together(q *queue, bounded bool) bool {
	i, before := q.changes[q.head], len(c.taken)
	for {
		if bounded && (i < 0 || !c.within(i)) {
			for len(c.taken) > before {
				c.release(c.taken[len(c.taken)-1])
			}
			return false
		}
		c.take(i)
		d, long := c.worst()
		if d < 0 && !long {
			break
		}
		i = c.remedy(d, bounded)
	}
	c.prune(slices.Clone(c.taken[before:]))
	return true
}

// worst returns an instance above what it may carry, or −1, and whether the table is too long.
func (c *cutter) worst() (d int32, long bool) {
	for d := range c.load {
		if d < len(c.most) && c.load[d] > c.most[d] {
			return int32(d), false
		}
	}
	return -1, c.tooLong()
}

// remedy is the change that lowers the load of an instance, or with d < 0 the size of the
// table, best: the least that is enough, else the greatest. Bounded, it is one that fits
// into the batch, or −1. Else there is one, as all changes together keep to all limits.
func (c *cutter) remedy(d int32, bounded bool) int32 {
	best, most := int32(-1), int64(0)
	excess := c.table - c.mostTable
	if d >= 0 {
		excess = c.load[d] - c.most[d]
	}
	for _, q := range c.queues {
		if !c.skip(q) {
			continue
		}
		for i := range c.ahead(q) {
			lowers := -c.adds(i, d)
			enough := most >= excess
			better := lowers >= excess && (!enough || lowers < most) || !enough && lowers > most
			if lowers > 0 && better && (!bounded || c.within(i)) {
				best, most = i, lowers
			}
		}
	}
	if best >= 0 || bounded {
		return best
	}
	for i := range c.changes { // behind what was looked at
		if !c.gone[i] && c.adds(int32(i), d) < 0 {
			return int32(i)
		}
	}
	panic("batches: a plan exceeds its own limits")
}

// adds is what a change adds to the load of an instance, or with d < 0 to the table.
func (c *cutter) adds(i, d int32) int64 {
	if d < 0 {
		return c.entries(i)
	}
	for _, y := range c.changes[i].loads {
		if y.at == d {
			return y.amount
		}
	}
	return 0
}

// prune gives back what a group does not need.
func (c *cutter) prune(group []int32) {
	for _, i := range group[1:] {
		c.release(i)
		if d, long := c.worst(); d >= 0 || long {
			c.take(i)
		}
	}
}

// release takes a change out of the batch that is being filled.
func (c *cutter) release(i int32) {
	x := &c.changes[i]
	c.gone[i] = false
	c.left++
	at := len(c.taken) - 1
	for c.taken[at] != i {
		at--
	}
	c.taken = slices.Delete(c.taken, at, at+1)
	c.apply(i, -1)
	for _, m := range x.moves {
		moved := c.state.Fixed(c.p.Snapshot.StateOf(m)) * m.Count
		c.out[m.From] -= moved
		c.in[m.To] -= moved
	}
	c.moved -= x.state
	x.queue.head = min(x.queue.head, x.place)
}
