package api

import (
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/planner/ring"
)

// replanRing plans the tokens.
func (b *base) replanRing(held tokens, in *statistics, stop func() bool) (*replanned, error) {
	members := b.members(held)
	o := b.newest.Ring.options(b.newest.ThetaMax, len(members))
	o.Stop = stop
	p, err := ring.NewPlan(members, &ring.Load{Keys: in.Keys, Cost: in.Cost, State: in.State}, o)
	if err != nil {
		return nil, err
	}
	after, cause := tokens(p.Change.After), planner.Cause(p.Cause)
	if p.Balanced { // should the figures say otherwise, it is by a hair's breadth
		cause = planner.CauseNothingMovable
	}
	return &replanned{
		after: after, cause: cause, work: max(p.Searched, int64(len(p.Tried))),
		shift: ringShift{statsio.RingPlan{Tokens: held.changes(after), Arcs: arcsOf(p)}},
	}, nil
}

// members are the instances of the newest configuration, and those on the ring
// that it lacks.
func (b *base) members(held tokens) []ring.Member {
	counts := make(map[int32]int, len(held))
	for _, n := range held {
		counts[n.ID] = n.Tokens
	}
	members := make([]ring.Member, 0, len(b.newest.Instances))
	for i, n := range b.newest.nodes() {
		m := ring.Member{ID: n.ID, Tokens: n.Tokens, Capacity: b.newest.Instances[i].Capacity, Joins: true}
		if count, on := counts[n.ID]; on {
			m.Tokens, m.Joins = count, false
		}
		delete(counts, n.ID)
		members = append(members, m)
	}
	for _, n := range held {
		if _, gone := counts[n.ID]; gone {
			members = append(members, ring.Member{ID: n.ID, Tokens: n.Tokens, Leaves: true})
		}
	}
	return members
}

func arcsOf(p *ring.Plan) []statsio.ArcMove {
	arcs := make([]statsio.ArcMove, len(p.Change.Arcs))
	reasons := map[[2]int32]planner.Reason{} // they depend on the instances only
	for i, a := range p.Change.Arcs {
		way := [2]int32{a.From, a.To}
		reason, known := reasons[way]
		if !known {
			reason = p.Reason(a)
			reasons[way] = reason
		}
		arcs[i] = statsio.ArcMove{
			Start: a.Start, End: a.End, From: a.From, To: a.To, Keys: a.Keys, Cost: a.Cost, State: a.State, Reason: reason,
		}
	}
	return arcs
}
