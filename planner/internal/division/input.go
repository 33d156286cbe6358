package division

import (
	"slices"

	"plannerd/planner/internal/assign"
)

// Input is what is divided.
type Input struct {
	Items     *assign.Items     // with no key divided
	Instances []assign.Instance // with the cost and state of keys without a row
	Frozen    []bool            // by instance: nothing is known of it
	FirstKey  int               // items before that are classes of keys, which cannot be divided
	Entries   int64             // table entries of other keys, which stay
	Shares    []Share           // rows ascending, then instances, which are indices
	Splits    []Split           // as the committed table divides keys, rows ascending
	Goal      assign.Goal
	Splitting *Splitting // nil: no key is to be divided
	Meter     *assign.Meter
}

// problem is that of whole keys with others divided: what their parts cost is background.
func (x *Input) problem(splits []Split) *assign.Problem {
	items, instances := x.whole()
	entries := x.Entries
	if len(splits) > 0 {
		x.divide(items, splits)
		for d := range instances {
			instances[d].Resources = slices.Clone(instances[d].Resources)
		}
		for _, y := range splits {
			x.addParts(instances, y)
			entries += int64(len(y.Parts))
		}
	}
	x.addRunningOut(instances, splits)
	return assign.NewProblem(items, instances, entries, x.Goal, x.Meter)
}

// whole are the items and instances with no key divided.
func (x *Input) whole() (*assign.Items, []assign.Instance) {
	items, instances := *x.Items, slices.Clone(x.Instances)
	for _, y := range x.Shares { // they move whatever the plan, or stay where a part is
		instances[y.Instance].State += y.State
	}
	x.leaveState(&items, instances)
	return &items, instances
}

// divide makes items of split keys cost nothing and stay: their parts are background.
func (x *Input) divide(items *assign.Items, splits []Split) {
	items.Cost, items.Divided = slices.Clone(items.Cost), make([]bool, items.Len())
	items.Current, items.Home = slices.Clone(items.Current), slices.Clone(items.Home)
	items.Resources = slices.Clone(items.Resources)
	for r := range items.Resources {
		items.Resources[r].Amount = slices.Clone(items.Resources[r].Amount)
	}
	for _, y := range splits {
		at := x.seat(y)
		for _, of := range items.Resources {
			of.Amount[y.Item] = 0
		}
		items.Cost[y.Item], items.Divided[y.Item] = 0, true
		items.Current[y.Item], items.Home[y.Item] = at, at
	}
}

// seat is the instance where the item of a split key is counted: that of its heaviest part
// on a live one.
func (x *Input) seat(y Split) int32 {
	live := slices.DeleteFunc(slices.Clone(y.Parts), func(part Part) bool { return !x.Instances[part.Instance].Live })
	if len(live) == 0 {
		live = y.Parts
	}
	return heaviest(live).Instance
}

// addParts adds what the parts of a key cost to the instances, and what they take of resources.
func (x *Input) addParts(instances []assign.Instance, y Split) {
	known := int32(0) // the costs are of parts on instances of which something is known
	for _, part := range y.Parts {
		if !x.Frozen[part.Instance] {
			known += part.Weight
		}
	}
	seat := x.seat(y)
	for _, part := range y.Parts {
		d := &instances[part.Instance]
		if x.Frozen[part.Instance] {
			continue
		}
		share := float64(part.Weight) / float64(known)
		d.Cost += float64(x.Items.Cost[y.Item] * share)
		d.Merging += x.MergeCost()
		for r, of := range x.Items.Resources {
			switch stock := &d.Resources[r]; {
			case !of.Whole:
				stock.Taken += float64(of.Amount[y.Item] * share)
			case part.Instance == seat:
				stock.Taken += of.Amount[y.Item]
			default:
				stock.Repeated += of.Amount[y.Item]
			}
		}
		if part.Instance != seat {
			d.Parts++
		}
	}
}

// MergeCost is what each part adds to the load of its instance.
func (x *Input) MergeCost() float64 {
	if x.Splitting == nil {
		return 0
	}
	return x.Splitting.MergeCost
}

// isKey reports whether an item is a key, not a class of keys.
func (x *Input) isKey(item int) bool { return item >= x.FirstKey }

// stateOf is the state of a row's key where most of it is.
func (x *Input) stateOf(row int32) float64 {
	if x.Items.State == nil {
		return 1
	}
	return x.Items.State[row]
}

// held is the state of a row's key on an instance.
func (x *Input) held(row, d int32) float64 {
	sum := 0.0
	if x.Items.Current[row] == d {
		sum = x.stateOf(row)
	}
	if i, found := slices.BinarySearchFunc(x.Shares, Share{Row: row, Instance: d}, Share.Compare); found {
		sum += x.Shares[i].State
	}
	return sum
}

// frozen reports whether nothing is known of one of the key's instances.
func (x *Input) frozen(y Split) bool {
	return slices.ContainsFunc(y.Parts, func(part Part) bool { return x.Frozen[part.Instance] })
}
