package planner

import (
	"slices"

	"plannerd/planner/internal/assign"
)

// Where parts expire, the one that a plan takes away is left alone: it runs out with the
// window. What is left of it is background load, the cost of merging what it emits, and
// state that moves nowhere.

// runOut has keys be where the table sends them, if all that is said of where they are is
// state that has cost nothing there: it runs out.
func (r *resolver) runOut() {
	s := &r.s
	if !r.base.PartsExpire || r.base.IgnoreInstances || r.stats.Instance == nil {
		return
	}
	before := len(s.Shares)
	for i := s.firstKey(); i < s.Len(); i++ {
		said := r.stats.Instance[i]
		if said == NoInstance || !r.idleAt(int32(i), said) {
			continue
		}
		from, to := s.Current[i], r.sent(int32(i))
		if to < 0 || from == to || s.Instances[from].Drained || !s.Instances[to].Live() || r.sends(int32(i), from) {
			continue
		}
		x := Share{Row: int32(i), Instance: from, State: at(s.State, i, 1), Idle: true}
		s.Current[i] = to
		if s.Table != nil {
			s.Drifted--
		}
		if s.State != nil {
			if before == len(s.Shares) && &s.State[0] == &r.stats.State[0] {
				s.State = slices.Clone(s.State)
			}
			s.State[i] = 0
		}
		s.Shares = append(s.Shares, x)
	}
	if len(s.Shares) > before {
		slices.SortFunc(s.Shares, Share.compare)
		r.joinShares()
	}
}

// joinShares has what is where keys are now no share of its own.
func (r *resolver) joinShares() {
	s := &r.s
	s.Shares = slices.DeleteFunc(s.Shares, func(x Share) bool {
		here := x.Instance == s.Current[x.Row]
		if here && s.State != nil {
			s.State[x.Row] += x.State
		}
		return here
	})
}

// idleAt reports whether the row's key has cost the instance with that id nothing.
func (r *resolver) idleAt(row, id int32) bool {
	if r.stats.Cost[row] == 0 {
		return true
	}
	x := Share{Row: row, Instance: id}
	i, found := slices.BinarySearchFunc(r.stats.Shares, x, Share.compare)
	return found && r.stats.Shares[i].Idle
}

// sent is where the committed table, or the committed hash, sends the row's key, or most of
// it; below 0 if that is not known.
func (r *resolver) sent(row int32) int32 {
	if x := splitOf(r.s.Splits, row); x != nil {
		return heaviest(x.Parts).Instance
	}
	entry := -1
	if r.s.Entry != nil {
		entry = int(r.s.Entry[row])
	}
	d, err := r.placed(int(row), entry, r.s.Instances[r.s.Hash[row]].ID)
	if err != nil {
		return NoInstance
	}
	return d
}

// sends reports whether the committed table sends messages of the row's key there.
func (r *resolver) sends(row, d int32) bool {
	x := splitOf(r.s.Splits, row)
	return x != nil && x.isOn(d)
}

// expires reports whether what an instance has of a row's key runs out where the plan sends
// no messages of it: a part of a key that the committed table splits, or one that runs out
// already.
func (x *prepared) expires(row, d int32) bool {
	if x.o.Splitting == nil || !x.o.Splitting.Expire || !x.s.Instances[d].Live() {
		return false
	}
	if old := splitOf(x.s.Splits, row); old != nil && old.isOn(d) {
		return true
	}
	i, found := slices.BinarySearchFunc(x.s.Shares, Share{Row: row, Instance: d}, Share.compare)
	return found && x.s.Shares[i].Idle
}

// runningOut calls do for each part that runs out once keys are divided as splits says: those
// of keys that are whole then, and those that a key has no longer.
func (x *prepared) runningOut(splits []Split, do func(row, d int32)) {
	if x.o.Splitting == nil || !x.o.Splitting.Expire {
		return
	}
	leave := func(row, d int32) {
		now := splitOf(splits, row)
		if (now == nil || !now.isOn(d)) && x.expires(row, d) {
			do(row, d)
		}
	}
	for _, y := range x.s.Splits {
		for _, part := range y.Parts {
			leave(y.Item, part.Instance)
		}
	}
	for _, y := range x.s.Shares {
		if old := splitOf(x.s.Splits, y.Row); old == nil || !old.isOn(y.Instance) {
			leave(y.Row, y.Instance)
		}
	}
}

// leavesParts reports whether parts run out as the plan divides keys.
func (x *prepared) leavesParts() bool {
	leaves := false
	x.runningOut(x.splits, func(int32, int32) { leaves = true })
	return leaves
}

// addRunningOut adds what it costs to merge what parts emit that run out.
func (x *prepared) addRunningOut(instances []assign.Instance, splits []Split) {
	x.runningOut(splits, func(_, d int32) { instances[d].Merging += x.mergeCost() })
}

// leaveState takes the state of keys that are split off the items, where it runs out if they
// become whole: it moves nowhere.
func (x *prepared) leaveState(items *assign.Items, instances []assign.Instance) {
	for _, y := range x.s.Splits {
		d := x.s.Current[y.Item]
		if !x.expires(y.Item, d) {
			continue
		}
		switch {
		case items.State == nil:
			items.State = slices.Repeat([]float64{1}, x.s.Len())
		case x.s.State != nil && &items.State[0] == &x.s.State[0]:
			items.State = slices.Clone(items.State)
		}
		instances[d].State += items.State[y.Item]
		items.State[y.Item] = 0
	}
}
