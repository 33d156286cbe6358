package api

import (
	"bytes"
	"cmp"
	"slices"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/planner/ranges"
)

// causeGranularity: whole keys and the number of ranges leave some instance above
// its bound.
const causeGranularity planner.Cause = "granularity"

// replanRanges divides the key space.
func (b *base) replanRanges(held owners, in *statistics, stop func() bool) (*replanned, error) {
	o := b.newest.Ranges.options(b.newest.ThetaMax, len(b.newest.Instances))
	if len(held) > 0 { // to create a division takes no time
		o.Stop = stop
	}
	p, err := ranges.PlanKeys(ranges.Statistics{Keys: in.Keys, Cost: in.Cost, State: in.State}, ranges.Owners(held), b.followers(held), o)
	if err != nil {
		return nil, err
	}
	after := aboveLowest(p.After)
	next := &replanned{
		after: after, cause: causeGranularity,
		shift: rangesShift{statsio.RangesPlan{Owners: after.records(), Moves: rangesOf(p)}},
	}
	if len(held) > 0 && b.newest.Ranges.Method == ranges.MinMovement {
		next.certificate = func(judged *planner.Plan) *wire.Certificate { return leastMovement(p, judged) }
	}
	return next, nil
}

// followers are the instances of the newest configuration, and those that own
// ranges and that it lacks.
func (b *base) followers(held owners) []ranges.Follower {
	has := held.ids()
	var out []ranges.Follower
	for _, d := range b.newest.Instances {
		f := ranges.Follower{ID: d.ID, Capacity: d.Capacity}
		if b.joins(has, d.ID) {
			f.Status = ranges.Joined
		}
		delete(has, d.ID)
		out = append(out, f)
	}
	for id := range has {
		out = append(out, ranges.Follower{ID: id, Status: ranges.Left})
	}
	slices.SortFunc(out, func(x, y ranges.Follower) int { return cmp.Compare(x.ID, y.ID) })
	return out
}

// rangesOf returns what a division hands over.
func rangesOf(p *ranges.Division) []statsio.RangeMove {
	index := make(map[int32]int, len(p.Followers))
	for i, f := range p.Followers {
		index[f.ID] = i
	}
	out := make([]statsio.RangeMove, 0, len(p.Transfers))
	for _, t := range p.Transfers {
		if bytes.Equal(t.Interval.High, lowest) { // no key is in it
			continue
		}
		m := statsio.RangeMove{
			Range: statsio.Range{From: t.Interval.Low, To: t.Interval.High}, From: t.From, To: t.To,
			Keys: t.Keys, Cost: t.Cost, State: t.State, Reason: reasonOf(p, index[t.From], index[t.To]),
		}
		if bytes.Equal(m.Range.From, lowest) {
			m.Range.From = []byte{}
		}
		out = append(out, m)
	}
	return out
}

// reasonOf says why a follower hands something over to another.
func reasonOf(p *ranges.Division, from, to int) planner.Reason {
	switch {
	case p.Followers[from].Status == ranges.Left:
		return planner.ReasonDrain
	case p.Followers[to].Status == ranges.Joined:
		return planner.ReasonFill
	case p.Loads[from].Before > p.Loads[from].Max*(1+1e-9):
		return planner.ReasonOverload
	}
	return planner.ReasonExchange
}

// leastMovement is the proof of how little cost any division could have moved.
func leastMovement(p *ranges.Division, judged *planner.Plan) *wire.Certificate {
	total := 0.0 // whatever the order of the rows
	for _, l := range judged.Instances {
		total += l.After
	}
	bound := p.LowerBound * total
	c := &wire.Certificate{LowerBound: &bound, Scope: wire.CertificateScopeRanges, Unmet: []wire.Unmet{}}
	excess := p.Moved - p.LowerBound
	if excess < 0 && excess > -1e-9 {
		excess = 0 // both are rounded
	}
	switch gap := 0.0; {
	case !judged.Balanced || excess < 0: // the plan does not do all that the bound asks for
	case p.LowerBound > 0:
		gap = excess / p.LowerBound
		c.Gap = &gap
	case excess == 0:
		c.Gap = &gap
	}
	return c
}
