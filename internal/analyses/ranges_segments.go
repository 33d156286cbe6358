package analyses

import (
	"bytes"
	"slices"

	"plannerd/planner/ranges"
)

// segments cuts the key space wherever an interval begins, before or after, and adds up
// the keys of the first segments.
func (a *rangesJob) segments(d *ranges.Division, out *RangesPlan) {
	var cuts [][]byte
	for _, owners := range []ranges.Owners{d.Before, d.After} {
		for _, o := range owners {
			cuts = append(cuts, o.Low)
		}
	}
	slices.SortFunc(cuts, bytes.Compare)
	cuts = slices.CompactFunc(cuts, bytes.Equal)
	out.SegmentCount = len(cuts)

	order := a.byKey()
	for i, low := range cuts[:min(a.top, len(cuts))] {
		s := RangesSegment{Low: a.keys.encode(low)}
		s.After, _ = d.After.Find(low) // a plan divides the whole key space
		if before, owned := d.Before.Find(low); owned && before != ranges.Nobody {
			s.Before = &before
		}
		var high []byte
		if i+1 < len(cuts) {
			high = cuts[i+1]
		}
		s.High = a.keyOrNil(high)
		for len(order) > 0 && (high == nil || bytes.Compare(a.input.Keys.At(int(order[0])), high) < 0) {
			k := order[0]
			s.Keys, s.Cost, s.State = s.Keys+1, s.Cost+a.input.Cost[k], s.State+a.state(k)
			order = order[1:]
		}
		out.Segments = append(out.Segments, s)
	}
}

// byKey are the rows in the order of their keys.
func (a *rangesJob) byKey() []int32 {
	if a.order == nil {
		keys := a.input.Keys
		a.order = make([]int32, a.input.Len())
		for i := range a.order {
			a.order[i] = int32(i)
		}
		slices.SortFunc(a.order, func(x, y int32) int { return bytes.Compare(keys.At(int(x)), keys.At(int(y))) })
	}
	return a.order
}
