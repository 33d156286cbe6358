package planner

import (
	"slices"

	"plannerd/planner/internal/division"
)

// findSplits finds the rows of keys that the table splits.
func (r *resolver) findSplits() error {
	t := r.base.Table
	if t == nil || t.extra == 0 {
		return nil
	}
	for i, e := range r.s.Entry {
		if e < 0 || t.parts[e] == nil {
			continue
		}
		if at(r.s.Count, i, 1) != 1 {
			return InvalidRow(i, "Count", "must be 1 of a key that is split")
		}
		x := Split{Item: int32(i)}
		for _, y := range t.parts[e] {
			d := r.index.find(y.Instance)
			if d < 0 {
				return InvalidRow(i, "Instance", "the routing table puts a part of the key on an unknown instance")
			}
			x.Parts = append(x.Parts, Part{Instance: d, Weight: y.Weight})
		}
		r.s.Splits = append(r.s.Splits, x)
		r.settle(x)
	}
	return nil
}

// settle has a split key be on one of its parts, if the statistics do not say that it is
// elsewhere.
func (r *resolver) settle(x Split) {
	current := &r.s.Current[x.Item]
	if r.says(x.Item) {
		if x.IsOn(*current) && *current != x.Heaviest().Instance {
			r.s.Drifted--
		}
		return
	}
	known := slices.DeleteFunc(slices.Clone(x.Parts), func(y Part) bool { return r.s.Instances[y.Instance].Frozen })
	if len(known) > 0 {
		*current = Split{Parts: known}.Heaviest().Instance
	}
}

// says tells whether the statistics name an instance of the row's key.
func (r *resolver) says(row int32) bool {
	if r.base.IgnoreInstances {
		return false
	}
	i, _ := slices.BinarySearchFunc(r.stats.Shares, Share{Row: row, Instance: NoInstance}, Share.Compare)
	shared := i < len(r.stats.Shares) && r.stats.Shares[i].Row == row
	return shared || at(r.stats.Instance, int(row), NoInstance) != NoInstance
}

// divideState gives the parts of split keys their state by their weights, where nobody
// says where it is.
func (r *resolver) divideState() {
	s, before := &r.s, len(r.s.Shares)
	for _, x := range s.Splits {
		if r.says(x.Item) {
			continue
		}
		all := at(s.State, int(x.Item), 1)
		for _, y := range x.Parts {
			state := float64(all * (float64(y.Weight) / PartUnits))
			switch {
			case s.Instances[y.Instance].Frozen:
			case y.Instance != s.Current[x.Item]:
				if s.State == nil {
					state = 1
				}
				s.Shares = append(s.Shares, Share{Row: x.Item, Instance: y.Instance, State: state})
			case s.State != nil:
				if &s.State[0] == &r.stats.State[0] {
					s.State = slices.Clone(s.State)
				}
				s.State[x.Item] = state
			}
		}
	}
	if len(s.Shares) > before {
		slices.SortFunc(s.Shares, Share.Compare)
	}
}

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
		slices.SortFunc(s.Shares, Share.Compare)
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
	i, found := slices.BinarySearchFunc(r.stats.Shares, x, Share.Compare)
	return found && r.stats.Shares[i].Idle
}

// sent is where the committed table, or the committed hash, sends the row's key, or most of
// it; below 0 if that is not known.
func (r *resolver) sent(row int32) int32 {
	if x := division.SplitOf(r.s.Splits, row); x != nil {
		return x.Heaviest().Instance
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
	x := division.SplitOf(r.s.Splits, row)
	return x != nil && x.IsOn(d)
}
