package analyses

import (
	"cmp"
	"slices"

	"plannerd/planner/ring"
)

// change describes a change of the ring. Without an effect it is of tokens alone.
func (a *ringJob) change(c *ring.Change, e *ring.Effect) RingChange {
	out := RingChange{
		TokensAdded: int64(len(c.Added)), TokensRemoved: int64(len(c.Removed)), Moved: c.Moved(),
		ArcsMoved: int64(len(c.Arcs)),
		Nodes:     a.nodeChanges(c, e),
	}
	arcs := slices.Clone(c.Arcs)
	slices.SortStableFunc(arcs, func(x, y ring.Arc) int {
		return cmp.Or(cmp.Compare(y.State, x.State), cmp.Compare(y.Cost, x.Cost), cmp.Compare(y.Length(), x.Length()))
	})
	for _, x := range arcs[:min(a.top, len(arcs))] {
		out.Arcs = append(out.Arcs, RingArc(x))
	}
	if e == nil {
		return out
	}
	out.Skew = Comparison(e.Skew)
	out.Theta = Comparison{
		Before: overload(out.Nodes, func(n RingNodeChange) (float64, float64, bool) {
			return n.LoadBefore, n.Capacity,
				n.TokensAfter > 0
		}),
		After: overload(out.Nodes, func(n RingNodeChange) (float64, float64, bool) {
			return n.LoadAfter, n.Capacity,
				n.TokensAfter > 0
		}),
	}
	m := &RingKeyMigration{Keys: int64(len(e.Moves)), Cost: e.Cost, State: e.State, Fraction: e.Fraction}
	moves := slices.Clone(e.Moves)
	slices.SortStableFunc(moves, func(x, y ring.KeyMove) int {
		return cmp.Or(cmp.Compare(a.state(y.Key), a.state(x.Key)), cmp.Compare(a.input.Cost[y.Key], a.input.Cost[x.Key]))
	})
	for _, x := range moves[:min(a.top, len(moves))] {
		m.Top = append(m.Top, RingMovedKey{
			Key: a.keys.encode(a.input.Keys.At(int(x.Key))), From: x.From, To: x.To, Cost: a.input.Cost[x.Key],
			State: a.state(x.Key),
		})
	}
	out.Migration = m
	return out
}

// state is what a key holds.
func (j job) state(key int32) float64 {
	if j.input.State == nil {
		return 1
	}
	return j.input.State[key]
}

// nodeChanges are the nodes of a change, in ascending order of ID.
func (a *ringJob) nodeChanges(c *ring.Change, e *ring.Effect) []RingNodeChange {
	var out []RingNodeChange
	at := func(id int32) *RingNodeChange {
		i, found := slices.BinarySearchFunc(out, id, func(n RingNodeChange, id int32) int { return cmp.Compare(n.ID, id) })
		if !found {
			out = slices.Insert(out, i, RingNodeChange{ID: id})
		}
		return &out[i]
	}
	for _, m := range a.members {
		if m.Tokens > 0 {
			at(m.ID).Capacity = cmp.Or(m.Capacity, 1)
		}
	}
	for _, n := range c.Before {
		at(n.ID).TokensBefore = n.Tokens
	}
	for _, n := range c.After {
		at(n.ID).TokensAfter = n.Tokens
	}
	if e != nil {
		for _, n := range e.Nodes {
			x := at(n.ID)
			x.LoadBefore, x.LoadAfter, x.KeysBefore, x.KeysAfter = n.Before, n.After, n.KeysBefore, n.KeysAfter
			x.StateIn, x.StateOut = n.StateIn, n.StateOut
		}
	}
	return slices.DeleteFunc(out, func(n RingNodeChange) bool { return n.TokensBefore == 0 && n.TokensAfter == 0 })
}

// overload is the largest max_d L(d)/L̄_d − 1 of the nodes that stay, by their
// capacities, which a round of redistribution does not know. what tells a node's load,
// its capacity, and whether it stays.
func overload[N any](nodes []N, what func(N) (load, capacity float64, stays bool)) float64 {
	all, capacities, theta := 0.0, 0.0, 0.0
	for _, n := range nodes {
		load, capacity, stays := what(n)
		all += load
		if stays {
			capacities += capacity
		}
	}
	for _, n := range nodes {
		if load, capacity, stays := what(n); all > 0 && stays {
			theta = max(theta, load/all*capacities/capacity-1)
		}
	}
	return theta
}
