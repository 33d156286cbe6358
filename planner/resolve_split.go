package planner

import "slices"

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
		if x.isOn(*current) && *current != heaviest(x.Parts).Instance {
			r.s.Drifted--
		}
		return
	}
	known := slices.DeleteFunc(slices.Clone(x.Parts), func(y Part) bool { return r.s.Instances[y.Instance].Frozen })
	if len(known) > 0 {
		*current = heaviest(known).Instance
	}
}

// says tells whether the statistics name an instance of the row's key.
func (r *resolver) says(row int32) bool {
	if r.base.IgnoreInstances {
		return false
	}
	i, _ := slices.BinarySearchFunc(r.stats.Shares, Share{Row: row, Instance: NoInstance}, Share.compare)
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
		slices.SortFunc(s.Shares, Share.compare)
	}
}
