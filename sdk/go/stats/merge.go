package stats

import (
	"maps"
	"slices"

	"plannerd/sdk/go/client"
)

// Merge makes statistics of the whole operator of what its instances, by their ids, counted in
// an interval, for an engine that sends all rows in one request. A key that moved during the
// interval was counted at two instances; it gets one row: costs, those of resources too, and states add up, and it is
// where most of its state is, of equals at the lowest id. Rows are ascending by key.
func Merge(counted map[int32][]client.Row) []client.Row {
	var all []client.Row
	for _, id := range slices.Sorted(maps.Keys(counted)) {
		for _, row := range counted[id] {
			row.Instance = id
			all = append(all, row)
		}
	}
	slices.SortStableFunc(all, compare)
	merged := all[:0]
	most := 0.0 // of the state of the last key at one instance
	for _, row := range all {
		last := len(merged) - 1
		if last < 0 || compare(merged[last], row) != 0 {
			merged, most = append(merged, row), row.State
			continue
		}
		one := &merged[last]
		one.Cost, one.State = one.Cost+row.Cost, one.State+row.State
		one.Costs = added(one.Costs, row.Costs)
		if row.State > most {
			one.Instance, one.HashInstance, most = row.Instance, row.HashInstance, row.State
		}
	}
	return merged
}

// added are the sums of two lists, of which one may be shorter.
func added(a, b []float64) []float64 {
	if len(a) < len(b) {
		a, b = b, a
	}
	a = slices.Clone(a)
	for i, x := range b {
		a[i] += x
	}
	return a
}
