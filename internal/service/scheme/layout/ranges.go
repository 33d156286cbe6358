package layout

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"plannerd/internal/exact"
	"plannerd/internal/input/lists"
	"plannerd/internal/input/stored"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/planner/ranges"
	"plannerd/store"
)

// rangesKind lays keys out by owners of ranges of the key space.
type rangesKind struct{ wholeKeys }

func (rangesKind) name() operator.SchemeName { return operator.SchemeRanges }

// RowHash takes every key: there is no hash, and keys may be anything.
func (rangesKind) RowHash(p *reading.Placement) planner.HashFunction {
	return allOf(p.Model.Instances[0].ID).Placed()
}

func (rangesKind) strategy(c operator.Configuration) string { return string(c.Ranges.Method) }

func (rangesKind) Migrates(bool) scheme.Migrates { return scheme.MigratesRanges }
func (rangesKind) CountsEntries() bool           { return true }

// sameRoutes looks at the phase: with the end of the input all instances begin to answer,
// so that each has to say first that it holds nothing that it does not own.
func (rangesKind) sameRoutes(then, now operator.Configuration) bool {
	return then.Ranges.Phase == now.Ranges.Phase
}

// layout reads owners. Without entries ranges belong to nobody.
func (rangesKind) layout(_ operator.Configuration, entries []store.Entry) (scheme.Layout, error) {
	return readOwners(entries)
}

func (rangesKind) diff(blob []byte, _ func() ([]store.Change, error)) (listing.LayoutDiff, error) {
	p, err := stored.DecodeRangesPlan(blob)
	return listing.RangesDiff{RangesPlan: p}, err
}

// replan divides the key space.
func (rangesKind) replan(b *scheme.Base, st *scheme.Statistics, stop func() bool) (*replanned, error) {
	held := b.Layout.(Owners)
	if b.TakesOver {
		return takeOver(b, st, held)
	}
	o := b.Newest.Ranges.Options(b.Newest.ThetaMax, len(b.Newest.Instances))
	if len(held) > 0 { // to create a division takes no time
		o.Stop = stop
	}
	p, err := ranges.DivideKeys(st.Statistics, ranges.Owners(held), rangeFollowers(b, held), o)
	if err != nil {
		return nil, err
	}
	after := aboveLowest(p.After)
	next := &replanned{
		after: after, cause: figures.CauseGranularity, lost: p.Lost > 0,
		rerouted: b.Pinned.Ranges.Phase != b.Newest.Ranges.Phase,
		diff:     listing.RangesDiff{RangesPlan: stored.RangesPlan{Owners: after.records(), Moves: rangesOf(p)}},
	}
	if len(held) > 0 && b.Newest.Ranges.Method == ranges.MinMovement && st.Estimate == nil {
		next.certificate = func(judged *planner.Plan) *figures.Certificate { return leastMovement(p, judged) }
	}
	return next, nil
}

// rangeFollowers are the instances of the newest configuration, and those that own
// ranges and that it lacks.
func rangeFollowers(b *scheme.Base, held Owners) []ranges.Follower {
	has := held.Ids()
	var out []ranges.Follower
	for _, d := range b.Newest.Instances {
		f := ranges.Follower{ID: d.ID, Capacity: d.Capacity}
		if joins(b, has, d.ID) {
			f.Status = ranges.Joined
		}
		delete(has, d.ID)
		out = append(out, f)
	}
	for id := range has {
		f := ranges.Follower{ID: id, Status: ranges.Left}
		if slices.Contains(b.Lost, id) {
			f.Status = ranges.Crashed
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(x, y ranges.Follower) int { return cmp.Compare(x.ID, y.ID) })
	return out
}

// rangesOf returns what a division hands over.
func rangesOf(p *ranges.Division) []lists.RangeMove {
	index := make(map[int32]int, len(p.Followers))
	for i, f := range p.Followers {
		index[f.ID] = i
	}
	out := make([]lists.RangeMove, 0, len(p.Transfers))
	for _, t := range p.Transfers {
		if bytes.Equal(t.Interval.High, lowest) { // no key is in it
			continue
		}
		m := lists.RangeMove{
			Range: lists.Range{From: t.Interval.Low, To: t.Interval.High}, From: t.From, To: t.To,
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
	case p.Followers[from].Status == ranges.Crashed:
		return planner.ReasonTakeover
	case p.Followers[from].Status == ranges.Left:
		return planner.ReasonDrain
	case p.Followers[to].Status == ranges.Joined:
		return planner.ReasonFill
	case p.Loads[from].Before > p.Loads[from].Max*(1+1e-9):
		return planner.ReasonOverload
	}
	return planner.ReasonExchange
}

// takeOver gives what lost instances own to those that have a copy, and leaves all else as
// it is: nothing has to be sent, so that somebody answers again at once. A copy is with the
// next instance, in the order of their ids, of those that the committed table pins. If that
// one is lost or removed too, the next one that is there owns the ranges.
func takeOver(b *scheme.Base, st *scheme.Statistics, held Owners) (*replanned, error) {
	next := &replanned{cause: figures.CauseGranularity}
	heirs := map[int32]int32{}
	for i, d := range b.Pinned.Instances {
		if !slices.Contains(b.Lost, d.ID) {
			continue
		}
		for step := 1; step < len(b.Pinned.Instances); step++ {
			id := b.Pinned.Instances[(i+step)%len(b.Pinned.Instances)].ID
			if b.Newest.Has(id) {
				heirs[d.ID] = id
				break
			}
			next.lost = next.lost || held.Ids()[d.ID] && slices.Contains(b.Lost, id)
		}
	}
	var after ranges.Owners
	var moves []lists.RangeMove
	place := make([]int32, len(held)) // the move of a range
	for i, x := range held {
		place[i] = -1
		if to, gone := heirs[x.Follower]; gone {
			v := ranges.Owners(held).Interval(i)
			place[i] = int32(len(moves))
			moves = append(moves, lists.RangeMove{Range: lists.Range{From: v.Low, To: v.High}, From: x.Follower, To: to,
				Reason: planner.ReasonTakeover})
			x.Follower = to
		}
		if n := len(after); n == 0 || after[n-1].Follower != x.Follower {
			after = append(after, x)
		}
	}
	sumMoves(moves, st.Statistics, func(key []byte) int32 { return place[ranges.Owners(held).At(key)] })
	next.after = Owners(after)
	next.diff = listing.RangesDiff{RangesPlan: stored.RangesPlan{Owners: Owners(after).records(), Moves: moves}}
	return next, nil
}

// sumMoves adds up the keys of the statistics that each move is of; moveOf says which, −1
// is none.
func sumMoves(moves []lists.RangeMove, st *planner.Statistics, moveOf func(key []byte) int32) {
	var of []int32
	var costs, states []float64
	for i := range st.Cost {
		m := moveOf(st.Keys.At(i))
		if m < 0 {
			continue
		}
		state := 1.0
		if st.State != nil {
			state = st.State[i]
		}
		of, costs, states = append(of, m), append(costs, st.Cost[i]), append(states, state)
		moves[m].Keys++
	}
	cost, state := exact.SumsBy(len(moves), of, costs, nil), exact.SumsBy(len(moves), of, states, nil)
	for i := range moves {
		moves[i].Cost, moves[i].State = cost[i], state[i]
	}
}

// leastMovement is the proof of how little cost any division could have moved.
func leastMovement(p *ranges.Division, judged *planner.Plan) *figures.Certificate {
	total := 0.0 // whatever the order of the rows
	for _, l := range judged.Instances {
		total += l.After
	}
	bound := p.LowerBound * total
	c := &figures.Certificate{LowerBound: &bound, Scope: string(scheme.MigratesRanges), Unmet: []figures.Unmet{}}
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
	_ context.Context, _ *reading.Reader, _ operator.Configuration, held scheme.Layout, key []byte,
) (scheme.Route, error) {
	id, err := held.Placed().Instance(key, planner.KeyHash(key))
	if errors.Is(err, errNobody) {
		return scheme.Route{}, refusal.New(refusal.NobodyOwns,
			"No plan of the operator's key ranges was committed yet, so no instance owns the key.")
	}
	return scheme.Route{Instance: id, Source: "range"}, err
}
