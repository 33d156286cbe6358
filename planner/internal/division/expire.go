package division

import (
	"slices"

	"plannerd/planner/internal/assign"
)

// Where parts expire, the one that a plan takes away is left alone: it runs out with the
// window. What is left of it is background load, the cost of merging what it emits, and
// state that moves nowhere.

// Expires reports whether what an instance has of a row's key runs out where the plan sends
// no messages of it: a part of a key that the committed table splits, or one that runs out
// already.
func (x *Input) Expires(row, d int32) bool {
	if x.Splitting == nil || !x.Splitting.Expire || !x.Instances[d].Live {
		return false
	}
	if old := SplitOf(x.Splits, row); old != nil && old.IsOn(d) {
		return true
	}
	i, found := slices.BinarySearchFunc(x.Shares, Share{Row: row, Instance: d}, Share.Compare)
	return found && x.Shares[i].Idle
}

// runningOut calls do for each part that runs out once keys are divided as splits says: those
// of keys that are whole then, and those that a key has no longer.
func (x *Input) runningOut(splits []Split, do func(row, d int32)) {
	if x.Splitting == nil || !x.Splitting.Expire {
		return
	}
	leave := func(row, d int32) {
		now := SplitOf(splits, row)
		if (now == nil || !now.IsOn(d)) && x.Expires(row, d) {
			do(row, d)
		}
	}
	for _, y := range x.Splits {
		for _, part := range y.Parts {
			leave(y.Item, part.Instance)
		}
	}
	for _, y := range x.Shares {
		if old := SplitOf(x.Splits, y.Row); old == nil || !old.IsOn(y.Instance) {
			leave(y.Row, y.Instance)
		}
	}
}

// LeavesParts reports whether parts run out once keys are divided so.
func (d *Division) LeavesParts() bool {
	leaves := false
	d.space.runningOut(d.Splits, func(int32, int32) { leaves = true })
	return leaves
}

// addRunningOut adds what it costs to merge what parts emit that run out.
func (x *Input) addRunningOut(instances []assign.Instance, splits []Split) {
	x.runningOut(splits, func(_, d int32) { instances[d].Merging += x.MergeCost() })
}

// leaveState takes the state of keys that are split off the items, where it runs out if they
// become whole: it moves nowhere.
func (x *Input) leaveState(items *assign.Items, instances []assign.Instance) {
	for _, y := range x.Splits {
		d := x.Items.Current[y.Item]
		if !x.Expires(y.Item, d) {
			continue
		}
		switch {
		case items.State == nil:
			items.State = slices.Repeat([]float64{1}, x.Items.Len())
		case x.Items.State != nil && &items.State[0] == &x.Items.State[0]:
			items.State = slices.Clone(items.State)
		}
		instances[d].State += items.State[y.Item]
		items.State[y.Item] = 0
	}
}
