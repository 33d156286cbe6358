package route

import "sync/atomic"

// Routing is how routers choose among the parts of a split key.
type Routing string

// The ways to choose.
const (
	// Weighted: each part gets the share of the key's messages that its weight says.
	Weighted Routing = "weighted"
	// LeastLoaded: each message goes to the part whose instance has got the fewest messages
	// from this router, of all keys. Weights count for nothing. That is the local load
	// estimation of partial key grouping (Nasir et al., ICDE 2015, §4).
	LeastLoaded Routing = "least_loaded"
)

// WithRouting returns the same table under another way to choose among parts; "" is
// [Weighted]. Under [LeastLoaded] messages are counted by [Destination.Next], so it has to
// be asked for whole keys, too. Tables of later versions that are made of this one choose as
// it does, and begin to count anew: what matters is what a table does to loads, not what
// the one before has done.
func (t *Table) WithRouting(by Routing) *Table {
	now := *t
	if now.sent = nil; by == LeastLoaded {
		now.sent = newCounts()
	}
	return &now
}

// Routing is how the table has routers choose among the parts of a split key.
func (t *Table) Routing() Routing {
	if t.sent == nil {
		return Weighted
	}
	return LeastLoaded
}

// counts are how many messages a router has sent to each instance. The map is replaced when
// an instance comes, not changed.
type counts struct {
	of atomic.Pointer[map[int32]*atomic.Int64]
}

func newCounts() *counts {
	c := new(counts)
	c.of.Store(&map[int32]*atomic.Int64{})
	return c
}

// at is the count of an instance.
func (c *counts) at(instance int32) *atomic.Int64 {
	for {
		old := c.of.Load()
		if n := (*old)[instance]; n != nil {
			return n
		}
		of := make(map[int32]*atomic.Int64, len(*old)+1)
		for id, n := range *old {
			of[id] = n
		}
		of[instance] = new(atomic.Int64)
		if c.of.CompareAndSwap(old, &of) {
			return of[instance]
		}
	}
}

// next chooses the part with the fewest messages, and counts. Among equals they take turns,
// lest all routers begin with the same.
func (c *counts) next(s *split) int32 {
	first, chosen, least := int(s.turn.Add(1)%uint32(len(s.parts))), int32(0), (*atomic.Int64)(nil)
	fewest := int64(0)
	for i := range s.parts {
		x := s.parts[(first+i)%len(s.parts)]
		n := c.at(x.Instance)
		if sent := n.Load(); least == nil || sent < fewest {
			chosen, least, fewest = x.Instance, n, sent
		}
	}
	least.Add(1)
	return chosen
}
