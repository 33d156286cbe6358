package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
	"plannerd/store"
)

// Causes of plans of the schemes, beside those of package ring.
const causeGranularity planner.Cause = "granularity" // whole keys and the number of ranges leave some instance above its bound

// readScheme reads what a plan of scheme ring or ranges starts from.
func (b *base) readScheme(table store.Table) (err error) {
	if b.layout, err = readLayout(b.pinned.configuration, table.Entries); err != nil {
		return err
	}
	b.stored = table.Entries
	has := b.layout.ids()
	for _, d := range b.newest.Instances {
		b.changed = b.changed || b.joins(has, d.ID)
		delete(has, d.ID)
	}
	b.changed = b.changed || len(has) > 0
	return nil
}

// joins reports whether an instance is new beside those that have a part in the
// layout.
func (b *base) joins(has map[int32]bool, id int32) bool {
	return b.layout.size() > 0 && !has[id] && !b.pinned.has(id)
}

// admitScheme refuses statistics that plans of scheme ring and ranges cannot be
// made of.
func (b *base) admitScheme(in *statistics) error {
	scheme := string(b.newest.Scheme)
	switch {
	case in.Partial:
		return conflict(wire.CodeCompleteCoverageRequired, "Under the scheme "+scheme+" only complete statistics tell what moves.")
	case in.records != nil || in.compact != nil:
		bad := invalid()
		at := in.document.Pointer(-1, "compact")
		if in.query && in.compact != nil {
			bad.atParameter("compact_degree", "means nothing under the scheme "+scheme)
		} else {
			bad.at(at, "means nothing under the scheme "+scheme+", where statistics are of keys")
		}
		return bad
	}
	return nil
}

// planScheme plans the tokens or the ranges of an operator.
func (s *server) planScheme(ctx context.Context, b *base, in *statistics) (*outcome, error) {
	if !b.changed && b.layout.size() > 0 {
		stay, err := b.snapshot(in, b.layout, b.layout)
		if err != nil {
			return nil, err
		}
		switch cause, err := s.held(ctx, b, stay, in); {
		case err != nil:
			return nil, err
		case cause != "":
			return b.unmoved(stay, cause)
		}
	}
	release, err := take(ctx, s.slots)
	if err != nil {
		return nil, err
	}
	defer release()
	w := s.watch(ctx, b.newest.parameters)
	begin := s.now()
	next, err := b.replan(in, w.stop)
	switch {
	case ctx.Err() != nil: // nobody waits for it any more
		return nil, ctx.Err()
	case errors.Is(err, planner.ErrStopped): // only a ring is searched
		stay, err := b.snapshot(in, b.layout, tokens(b.newest.nodes()))
		if err != nil {
			return nil, err
		}
		out, err := b.unmoved(stay, causeUnfinished)
		if err == nil {
			out.EndReason = planner.EndStopped
		}
		return out, err
	case err != nil:
		return nil, err
	}
	s.metrics.planned(b.newest.method(), s.now().Sub(begin))
	return b.schemeOutcome(in, next)
}

// snapshot says where keys are by one layout and where they go by another.
func (b *base) snapshot(in *statistics, before, after layout) (*planner.Snapshot, error) {
	empty, err := planner.NewRoutingTable(nil)
	if err != nil {
		return nil, err
	}
	s, err := planner.NewSnapshot(in.Statistics,
		planner.Configuration{Instances: b.newest.planner.Instances, Hash: after.placed()},
		planner.Base{
			Configuration: planner.Configuration{Instances: b.pinned.planner.Instances, Hash: before.placed()},
			Table:         empty, HashChanged: true, IgnoreInstances: true,
		})
	if err != nil || in.Instance == nil || in.outdated(b.op.TableVersion) {
		return s, err
	}
	index := make(map[int32]int32, len(s.Instances))
	for i, d := range s.Instances {
		index[d.ID] = int32(i)
	}
	for i, id := range in.Instance {
		if id == planner.NoInstance {
			continue
		}
		at, known := index[id]
		if !known {
			return nil, &planner.InputError{Row: i, Field: "instance", Detail: "is not a known instance"}
		}
		if at != s.Current[i] && b.layout.size() > 0 {
			s.Drifted++
		}
	}
	return s, nil
}

// unmoved is the plan that leaves everything where it is.
func (b *base) unmoved(s *planner.Snapshot, cause planner.Cause) (*outcome, error) {
	p, err := planner.Inspect(s, planner.Options{ThetaMax: b.newest.ThetaMax, Certificate: planner.CertificateOff})
	if err != nil {
		return nil, err
	}
	p.Causes = []planner.Cause{cause}
	return b.named(&outcome{Plan: p, shift: b.still()}, b.layout), nil
}

// named fills in what the plan says about its strategy and sizes.
func (b *base) named(o *outcome, after layout) *outcome {
	o.Strategy, o.Set, o.Unset = b.newest.method(), nil, nil
	o.TableBefore, o.TableAfter, o.TableWithinLimit = b.layout.size(), after.size(), true
	return o
}

// still is the shift that changes nothing.
func (b *base) still() shift {
	if o, ok := b.layout.(owners); ok {
		return rangesShift{statsio.RangesPlan{Owners: o.records()}}
	}
	return ringShift{}
}

// replanned is a new layout, and how it comes about.
type replanned struct {
	after layout
	shift shift
	// causes say why it leaves some instance above its bound, or changes nothing.
	causes      func(p *planner.Plan) []planner.Cause
	certificate func(p *planner.Plan) *wire.Certificate
	work        int64
}

func (b *base) replan(in *statistics, stop func() bool) (*replanned, error) {
	if held, ok := b.layout.(tokens); ok {
		return b.replanRing(held, in, stop)
	}
	return b.replanRanges(b.layout.(owners), in)
}

// schemeOutcome works out the figures of a new layout.
func (b *base) schemeOutcome(in *statistics, next *replanned) (*outcome, error) {
	before := b.layout
	created := before.size() == 0 // nobody owned anything
	if created {
		before = next.after
	}
	s, err := b.snapshot(in, before, next.after)
	if err != nil {
		return nil, err
	}
	p, err := planner.Rehash(s, planner.Options{ThetaMax: b.newest.ThetaMax})
	if err != nil {
		return nil, err
	}
	if created {
		fromNobody(p)
	}
	p.WorkUnits = next.work
	out := &outcome{Plan: p, shift: next.shift}
	if len(changesTo(next.after, b.layout.entries())) > 0 {
		out.changed = changesTo(next.after, b.stored)
	}
	p.Causes = next.causes(p)
	out.certificate = next.certificate(p)
	return b.named(out, next.after), nil
}

// fromNobody takes what instances carried before out of the figures: nothing.
func fromNobody(p *planner.Plan) {
	total := 0.0
	for i := range p.Instances {
		l := &p.Instances[i]
		total += l.Before
		l.Before, l.KeysBefore = 0, 0
	}
	p.Theta.Before, p.Underload.Before, p.Skewness.Before = 0, 0, 1
	if total > 0 {
		p.Underload.Before = 1
	}
}

// replanRing plans the tokens.
func (b *base) replanRing(held tokens, in *statistics, stop func() bool) (*replanned, error) {
	members, has := []ring.Member{}, held.ids()
	for _, n := range b.newest.nodes() {
		m := ring.Member{ID: n.ID, Tokens: n.Tokens, Joins: !has[n.ID]}
		if i, ok := slices.BinarySearchFunc(held, n.ID, compareNode); ok {
			m.Tokens = held[i].Tokens
		}
		delete(has, n.ID)
		at, _ := slices.BinarySearchFunc(b.newest.Instances, n.ID, func(d instance, id int32) int { return cmp.Compare(d.ID, id) })
		m.Capacity = b.newest.Instances[at].Capacity
		members = append(members, m)
	}
	for _, n := range held {
		if has[n.ID] {
			members = append(members, ring.Member{ID: n.ID, Tokens: n.Tokens, Leaves: true})
		}
	}
	o := b.newest.Ring.options(b.newest.ThetaMax, len(members))
	o.Stop = stop
	p, err := ring.NewPlan(members, &ring.Load{Keys: in.Keys, Cost: in.Cost, State: in.State}, o)
	if err != nil {
		return nil, err
	}
	after := tokens(p.Change.After)
	work := p.Searched
	if work == 0 {
		work = int64(len(p.Tried))
	}
	return &replanned{
		after: after, work: work,
		shift: ringShift{statsio.RingPlan{Tokens: held.changes(after), Arcs: arcsOf(p)}},
		causes: func(judged *planner.Plan) []planner.Cause {
			switch {
			case judged.Balanced && p.Empty():
				return []planner.Cause{planner.CauseBalanced}
			case judged.Balanced:
				return nil
			case p.Cause == ring.CauseBalanced: // by a hair's breadth
				return hotOr(judged, planner.CauseNothingMovable)
			}
			return hotOr(judged, planner.Cause(p.Cause))
		},
		certificate: func(*planner.Plan) *wire.Certificate { return nil },
	}, nil
}

func compareNode(n ring.Node, id int32) int { return cmp.Compare(n.ID, id) }

// hotOr says why some instance is above its bound: a hot key, if there is one,
// and the cause that is given.
func hotOr(p *planner.Plan, cause planner.Cause) []planner.Cause {
	if len(p.HotKeys) > 0 {
		return []planner.Cause{planner.CauseHotKey, cause}
	}
	return []planner.Cause{cause}
}

func arcsOf(p *ring.Plan) []statsio.ArcMove {
	arcs := make([]statsio.ArcMove, len(p.Change.Arcs))
	reasons := map[[2]int32]planner.Reason{}
	for i, a := range p.Change.Arcs {
		reason, known := reasons[[2]int32{a.From, a.To}]
		if !known {
			reason = p.Reason(a)
			reasons[[2]int32{a.From, a.To}] = reason
		}
		arcs[i] = statsio.ArcMove{
			Start: a.Start, End: a.End, From: a.From, To: a.To, Keys: a.Keys, Cost: a.Cost, State: a.State, Reason: reason,
		}
	}
	return arcs
}

// replanRanges divides the key space.
func (b *base) replanRanges(held owners, in *statistics) (*replanned, error) {
	has := held.ids()
	var followers []ranges.Follower
	for _, d := range b.newest.Instances {
		f := ranges.Follower{ID: d.ID, Capacity: d.Capacity}
		if b.joins(has, d.ID) {
			f.Status = ranges.Joined
		}
		delete(has, d.ID)
		followers = append(followers, f)
	}
	for id := range has {
		followers = append(followers, ranges.Follower{ID: id, Status: ranges.Left})
	}
	slices.SortFunc(followers, func(x, y ranges.Follower) int { return cmp.Compare(x.ID, y.ID) })
	p, err := ranges.PlanKeys(ranges.Statistics{Keys: in.Keys, Cost: in.Cost, State: in.State}, ranges.Owners(held), followers,
		b.newest.Ranges.options(b.newest.ThetaMax))
	if err != nil {
		return nil, fmt.Errorf("dividing the key space: %w", err)
	}
	after := aboveLowest(p.After)
	moves := rangesOf(p)
	return &replanned{
		after: after,
		shift: rangesShift{statsio.RangesPlan{Owners: after.records(), Moves: moves}},
		causes: func(judged *planner.Plan) []planner.Cause {
			still := len(moves) == 0 && len(held) > 0
			switch {
			case judged.Balanced && still:
				return []planner.Cause{planner.CauseBalanced}
			case judged.Balanced:
				return nil
			}
			return hotOr(judged, causeGranularity)
		},
		certificate: func(judged *planner.Plan) *wire.Certificate {
			if len(held) == 0 || b.newest.Ranges.Method != ranges.MinMovement {
				return nil
			}
			return leastMovement(p, in, judged.Balanced)
		},
	}, nil
}

// rangesOf returns what a division hands over.
func rangesOf(p *ranges.Division) []statsio.RangeMove {
	over := make(map[int32]ranges.Load, len(p.Followers))
	status := make(map[int32]ranges.Status, len(p.Followers))
	for i, f := range p.Followers {
		over[f.ID], status[f.ID] = p.Loads[i], f.Status
	}
	var out []statsio.RangeMove
	for _, t := range p.Transfers {
		m := statsio.RangeMove{
			Range: statsio.Range{From: t.Interval.Low, To: t.Interval.High}, From: t.From, To: t.To, Keys: t.Keys, Cost: t.Cost, State: t.State,
		}
		switch {
		case string(m.Range.To) == string(lowest): // no key is in it
			continue
		case string(m.Range.From) == string(lowest):
			m.Range.From = []byte{}
		}
		switch {
		case status[t.From] == ranges.Left:
			m.Reason = planner.ReasonDrain
		case status[t.To] == ranges.Joined:
			m.Reason = planner.ReasonFill
		case over[t.From].Before > over[t.From].Max*(1+1e-9):
			m.Reason = planner.ReasonOverload
		default:
			m.Reason = planner.ReasonExchange
		}
		out = append(out, m)
	}
	return out
}

// leastMovement is the proof of how little cost any division could have moved.
func leastMovement(p *ranges.Division, in *statistics, balanced bool) *wire.Certificate {
	total := 0.0
	for _, c := range in.Cost {
		total += c
	}
	bound := p.LowerBound * total
	c := &wire.Certificate{LowerBound: &bound, Scope: wire.CertificateScopeRanges, Unmet: []wire.Unmet{}}
	excess := p.Moved - p.LowerBound
	if excess < 0 && excess > -1e-9 {
		excess = 0 // both are rounded
	}
	switch gap := 0.0; {
	case !balanced || excess < 0: // some constraint of the bound is violated
	case p.LowerBound > 0:
		gap = excess / p.LowerBound
		c.Gap = &gap
	case excess == 0:
		c.Gap = &gap
	}
	return c
}
