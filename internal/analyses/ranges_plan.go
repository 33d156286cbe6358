package analyses

import (
	"bytes"
	"cmp"
	"slices"

	"plannerd/planner/ranges"
)

// planOf describes a division.
func (a *rangesJob) planOf(d *ranges.Division) RangesPlan {
	out := RangesPlan{
		Method: d.Options.Method, Balanced: d.Balanced, Causes: d.Causes,
		Theta: Comparison(d.Theta), Underload: Comparison(d.Underload), Skewness: Comparison(d.Skewness),
		Moved: d.Moved, Sent: d.Sent, Lost: d.Lost, LowerBound: d.LowerBound,
		TransferCount: len(d.Transfers), OwnerCount: len(d.After), HeavyKeyCount: len(d.HeavyKeys),
	}
	if d.Options.Method == ranges.Quantile {
		out.Formula = a.formula
	}
	for _, t := range d.Transfers {
		out.KeysMoved += t.Keys
		out.StateMoved += t.State
	}
	if a.out.State > 0 {
		out.StateFraction = out.StateMoved / a.out.State
	}
	for i, f := range d.Followers {
		l := &d.Loads[i]
		out.Followers = append(out.Followers, RangesLoad{
			ID: f.ID, Capacity: cmp.Or(f.Capacity, 1), Status: f.Status, Fair: l.Fair, Before: l.Before, After: l.After,
			IntervalsBefore: l.IntervalsBefore, IntervalsAfter: l.IntervalsAfter,
			In: l.In, Out: l.Out, KeysBefore: l.KeysBefore, KeysAfter: l.KeysAfter, StateIn: l.StateIn,
			StateOut: l.StateOut,
		})
	}
	a.lists(d, &out)
	return out
}

// lists fills in the lists of keys and intervals.
func (a *rangesJob) lists(d *ranges.Division, out *RangesPlan) {
	transfers := slices.Clone(d.Transfers)
	slices.SortFunc(transfers, func(x, y ranges.Transfer) int {
		return cmp.Or(cmp.Compare(y.Share, x.Share), bytes.Compare(x.Interval.Low, y.Interval.Low))
	})
	for _, t := range transfers[:min(a.top, len(transfers))] {
		x := RangesTransfer{
			From: t.From, To: t.To, Low: a.keys.encode(t.Interval.Low), High: a.keyOrNil(t.Interval.High),
			Share: t.Share, Keys: t.Keys, Cost: t.Cost, State: t.State,
		}
		if t.Source != ranges.Nobody {
			x.Source = &t.Source
		}
		out.Transfers = append(out.Transfers, x)
	}
	for _, o := range d.After[:min(a.top, len(d.After))] {
		out.Owners = append(out.Owners, RangesOwner{a.keys.encode(o.Low), o.Follower})
	}
	for _, o := range d.Before[:min(a.top, len(d.Before))] {
		if o.Follower != ranges.Nobody {
			out.OwnersBefore = append(out.OwnersBefore, RangesOwner{a.keys.encode(o.Low), o.Follower})
		}
	}
	a.segments(d, out)
	for _, e := range d.Empty {
		out.Empty = append(out.Empty, RangesEmpty{e.Follower, a.keyOrNil(e.Key), e.Share})
	}
	for _, h := range d.HeavyKeys[:min(a.top, len(d.HeavyKeys))] {
		out.HeavyKeys = append(out.HeavyKeys, RangesHeavyKey{a.keys.encode(h.Key), h.Follower, h.Share, h.ForcedTheta})
	}
}

// keyOrNil encodes a key, if there is one.
func (a *rangesJob) keyOrNil(key []byte) *string {
	if key == nil {
		return nil
	}
	return new(a.keys.encode(key))
}
