package planning

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/planner/ranges"
	"plannerd/store"
)

// maxRangesInstances is the greatest number of instances under the scheme ranges: a
// plan is about those that are there and those that are to be.
const maxRangesInstances = ranges.MaxFollowers / 2

// rangesKind lays keys out by owners of ranges of the key space.
type rangesKind struct{ wholeKeys }

func (rangesKind) name() SchemeName { return SchemeRanges }

func (rangesKind) restrict(c Configuration) Configuration {
	p := RangesParameters{Method: ranges.MinMovement}
	if c.Ranges != nil {
		p = RangesParameters{cmp.Or(c.Ranges.Method, p.Method), c.Ranges.MaxIntervals, c.Ranges.Phase}
	}
	c.Ranges, c.Hash = &p, Hash{Function: partitioner.Reported}
	return withLayoutParameters(c)
}

// check sees that instances are not too many, and have no tokens.
func (rangesKind) check(c Configuration) error {
	switch {
	case len(c.Instances) > maxRangesInstances:
		return planner.Invalid("instances", fmt.Sprintf("must be at most %d under the scheme ranges", maxRangesInstances))
	case c.Ranges.Method == ranges.Quantile && c.Ranges.MaxIntervals != 0:
		return planner.Invalid("ranges/max_intervals", "means nothing with the method quantile")
	}
	return cmp.Or(c.checkHash(), c.checkLayoutPolicy())
}

func (rangesKind) hashFunction(Configuration) (planner.HashFunction, error) { return nil, nil }

// rowHash takes every key: there is no hash, and keys may be anything.
func (rangesKind) rowHash(p *placement) planner.HashFunction {
	return allOf(p.planner.Instances[0].ID).placed()
}

func (rangesKind) strategy(c Configuration) string { return string(c.Ranges.Method) }
func (rangesKind) shownHash(Configuration) *Hash   { return nil }
func (rangesKind) migrates(bool) Migrates          { return MigratesRanges }
func (rangesKind) countsEntries() bool             { return true }

// sameRoutes looks at the phase: with the end of the input all instances begin to answer,
// so that each has to say first that it holds nothing that it does not own.
func (rangesKind) sameRoutes(then, now Configuration) bool {
	return then.Ranges.Phase == now.Ranges.Phase
}

// layout reads owners. Without entries ranges belong to nobody.
func (rangesKind) layout(_ Configuration, entries []store.Entry) (layout, error) {
	return readOwners(entries)
}

func (rangesKind) diff(blob []byte, _ func() ([]store.Change, error)) (layoutDiff, error) {
	p, err := statsio.DecodeRangesPlan(blob)
	return rangesDiff{p}, err
}

// phase is that of the ranges; "": there are none.
func (c Configuration) phase() RangesPhase {
	if c.Ranges == nil {
		return ""
	}
	return c.Ranges.Phase
}

// replan divides the key space.
func (rangesKind) replan(b *base, st *Statistics, stop func() bool) (*replanned, error) {
	held := b.layout.(owners)
	o := b.newest.Ranges.options(b.newest.ThetaMax, len(b.newest.Instances))
	if len(held) > 0 { // to create a division takes no time
		o.Stop = stop
	}
	p, err := ranges.DivideKeys(st.Statistics, ranges.Owners(held), rangeFollowers(b, held), o)
	if err != nil {
		return nil, err
	}
	after := aboveLowest(p.After)
	next := &replanned{
		after: after, cause: causeGranularity, rerouted: b.pinned.Ranges.Phase != b.newest.Ranges.Phase,
		diff: rangesDiff{statsio.RangesPlan{Owners: after.records(), Moves: rangesOf(p)}},
	}
	if len(held) > 0 && b.newest.Ranges.Method == ranges.MinMovement {
		next.certificate = func(judged *planner.Plan) *Certificate { return leastMovement(p, judged) }
	}
	return next, nil
}

// rangeFollowers are the instances of the newest configuration, and those that own
// ranges and that it lacks.
func rangeFollowers(b *base, held owners) []ranges.Follower {
	has := held.ids()
	var out []ranges.Follower
	for _, d := range b.newest.Instances {
		f := ranges.Follower{ID: d.ID, Capacity: d.Capacity}
		if joins(b, has, d.ID) {
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
func leastMovement(p *ranges.Division, judged *planner.Plan) *Certificate {
	total := 0.0 // whatever the order of the rows
	for _, l := range judged.Instances {
		total += l.After
	}
	bound := p.LowerBound * total
	c := &Certificate{LowerBound: &bound, Scope: string(MigratesRanges), Unmet: []Unmet{}}
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

// routeBy asks the owners.
func (rangesKind) routeBy(
	_ context.Context, _ *reader, _ Configuration, held layout, key []byte,
) (Route, error) {
	id, err := held.placed().Instance(key, planner.KeyHash(key))
	if errors.Is(err, errNobody) {
		return Route{}, refuse(NobodyOwns, "No plan of the operator's key ranges was committed yet: nobody owns the key.")
	}
	return Route{Instance: id, Source: "range"}, err
}
