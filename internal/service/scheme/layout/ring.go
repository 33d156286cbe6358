package layout

import (
	"cmp"
	"context"
	"slices"

	"plannerd/internal/input/lists"
	"plannerd/internal/input/stored"
	"plannerd/internal/operator"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/planner/ring"
	"plannerd/store"
)

// ringKind lays keys out by tokens on a consistent-hash ring.
type ringKind struct{ wholeKeys }

func (ringKind) name() operator.SchemeName { return operator.SchemeRing }

func (ringKind) RowHash(p *reading.Placement) planner.HashFunction { return p.Model.Hash }

func (ringKind) strategy(c operator.Configuration) string { return string(c.Ring.Method) }

func (ringKind) Migrates(bool) scheme.Migrates { return scheme.MigratesArcs }
func (ringKind) CountsEntries() bool           { return false }

// layout reads tokens. Without entries a ring is that of the configuration.
func (ringKind) layout(c operator.Configuration, entries []store.Entry) (scheme.Layout, error) {
	if len(entries) == 0 {
		return tokens(c.Nodes()), nil
	}
	return readTokens(entries)
}

func (ringKind) diff(blob []byte, _ func() ([]store.Change, error)) (listing.LayoutDiff, error) {
	p, err := stored.DecodeRingPlan(blob)
	return listing.RingDiff{RingPlan: p}, err
}

// replan plans the tokens.
func (k ringKind) replan(b *scheme.Base, st *scheme.Statistics, stop func() bool) (*replanned, error) {
	held := b.Layout.(tokens)
	if st.Queues {
		return k.relieve(b, held, st)
	}
	members := ringMembers(b, held)
	o := b.Newest.Ring.Options(b.Newest.ThetaMax, len(members))
	o.Stop = stop
	p, err := ring.Rebalance(members, st.Statistics, o)
	if err != nil {
		return nil, err
	}
	after, cause := tokens(p.Change.After), planner.Cause(p.Cause)
	if p.Balanced { // should the figures say otherwise, it is by a hair's breadth
		cause = planner.CauseNothingMovable
	}
	return &replanned{
		after: after, cause: cause, work: max(p.Searched, int64(len(p.Tried))),
		diff: listing.RingDiff{RingPlan: stored.RingPlan{Tokens: held.changes(after), Arcs: arcsOf(p.Change.Arcs, p.Reason)}},
	}, nil
}

// ringMembers are the instances of the newest configuration, and those on the ring
// that it lacks.
func ringMembers(b *scheme.Base, held tokens) []ring.Member {
	counts := make(map[int32]int, len(held))
	for _, n := range held {
		counts[n.ID] = n.Tokens
	}
	members := make([]ring.Member, 0, len(b.Newest.Instances))
	for i, n := range b.Newest.Nodes() {
		m := ring.Member{ID: n.ID, Tokens: n.Tokens, Capacity: b.Newest.Instances[i].Capacity, Joins: true}
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

func arcsOf(moved []ring.Arc, reasonOf func(ring.Arc) planner.Reason) []lists.ArcMove {
	arcs := make([]lists.ArcMove, len(moved))
	reasons := map[[2]int32]planner.Reason{} // they depend on the instances only
	for i, a := range moved {
		way := [2]int32{a.From, a.To}
		reason, known := reasons[way]
		if !known {
			reason = reasonOf(a)
			reasons[way] = reason
		}
		arcs[i] = lists.ArcMove{
			Start: a.Start, End: a.End, From: a.From, To: a.To, Keys: a.Keys, Cost: a.Cost, State: a.State, Reason: reason,
		}
	}
	return arcs
}

// routeBy asks a ring that is kept beside those of configurations: building a large one
// takes long.
func (k ringKind) routeBy(ctx context.Context, r *reading.Reader, c operator.Configuration, held scheme.Layout,
	key []byte) (scheme.Route, error) {
	nodes := held.(tokens)
	c.Instances = make([]operator.Instance, len(nodes))
	for i, n := range nodes {
		c.Instances[i] = operator.Instance{ID: n.ID, Capacity: 1, Tokens: n.Tokens}
	}
	text, err := c.Encode()
	if err != nil {
		return scheme.Route{}, err
	}
	p, err := r.Placements.Get(ctx, text)
	if err != nil {
		return scheme.Route{}, err
	}
	id, err := p.Model.Hash.Instance(key, planner.KeyHash(key))
	return scheme.Route{Instance: id, Source: "ring"}, err
}

// relieve plans the tokens by queue lengths alone. Where members join or leave the ring changes
// anyway, and the queues are those of the ring before.
func (ringKind) relieve(b *scheme.Base, held tokens, st *scheme.Statistics) (*replanned, error) {
	members := ringMembers(b, held)
	queues := make([]float64, len(held))
	for i, n := range held {
		at := slices.IndexFunc(st.Residual, func(q planner.Residual) bool { return q.Instance == n.ID })
		queues[i] = st.Residual[at].Cost
	}
	o := ring.RedistributeOptions{Method: b.Newest.Ring.Method, Policy: ring.Policy{Tau: b.Newest.Ring.Tau}}
	verdict := o.Policy.Judge(queues)
	var p *ring.Redistribution
	var err error
	if verdict.Fires && !b.Changed {
		p, err = ring.Redistribute(held, queues, o, nil)
	} else {
		verdict.At = -1
		p, err = ring.Rescale(members, nil)
	}
	if err != nil {
		return nil, err
	}
	after := tokens(p.Change.After)
	next := &replanned{after: after, cause: cmp.Or(planner.Cause(p.Cause), planner.Cause(verdict.Cause))}
	changed := held.changes(after)
	if len(changed) > 0 {
		next.cause, next.work = figures.CauseQueues, 1
	}
	next.diff = listing.RingDiff{RingPlan: stored.RingPlan{Tokens: changed,
		Arcs: arcsOf(p.Change.Arcs, func(a ring.Arc) planner.Reason {
			switch {
			case !b.Newest.Has(a.From):
				return planner.ReasonDrain
			case !b.Layout.Ids()[a.To]:
				return planner.ReasonFill
			case verdict.At >= 0 && a.From == held[verdict.At].ID:
				return planner.ReasonOverload
			}
			return planner.ReasonExchange
		})}}
	return next, nil
}
