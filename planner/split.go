package planner

import (
	"cmp"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/sdk/go/route"
)

// Splitting lets a plan send a key to several instances, each of which then holds a part
// of its state. The operator's aggregate has to be commutative and associative, and
// something behind it has to merge the parts. Keys that no instance can carry whole are
// split, into as few parts as can be.
type Splitting struct {
	// MaxParts is the greatest number of parts of a key, ≥ 2. 0: one for each instance.
	MaxParts int `json:"max_parts,omitzero"`
	// MergeCost is μ, from 0 to MaxAmount: what each part of a split key adds to the load
	// of its instance, in units of cost. It is no part of the mean load. Defaults to 0.
	MergeCost float64 `json:"merge_cost"`
	// Price is π, from 0 to MaxAmount, in units of state: what a part beyond the first of a
	// key adds to the objective of a plan, which then counts shares that are gathered, too.
	// Strategy optimal splits keys, and gives them further parts, where that lowers the
	// objective; the others split what does not fit, whatever the price. Nil: infinite, so
	// that only keys that no instance can carry whole are split. It counts under
	// MinMigration alone.
	Price *float64 `json:"split_price"`
	// Expire: parts that a plan takes away stay where they are and run out, as the state of a
	// window does: the instance gets no messages of the key any more, and goes on emitting
	// what it has. They are no migration, and count MergeCost there. Parts on drained
	// instances are migrated all the same.
	Expire bool `json:"expire,omitzero"`
}

func (s *Splitting) validate() error {
	if s == nil {
		return nil
	}
	return cmp.Or(
		Require(s.MaxParts == 0 || s.MaxParts >= 2, "Splitting.MaxParts", "must be ≥ 2, or 0 for no limit"),
		RequireAmount("Splitting.MergeCost", s.MergeCost),
		Require(s.Price == nil || isAmount(*s.Price), "Splitting.Price", "must be from 0 to 1e290"),
	)
}

// PartUnits is the weight of a whole key. With weights of 1/256 the rounding of a key that
// takes many instances would come to more than one of its parts.
const PartUnits = route.PartUnits

// Part is one of the instances of a split key: by its id in a [RoutingTable], by its index
// into Snapshot.Instances elsewhere.
type Part = route.Part

// Split is a key that goes to several instances.
type Split struct {
	Item  int32  // index into the snapshot
	Parts []Part // instances ascending, two at least; the weights sum up to PartUnits
}

// PlannedSplit is a key that a plan has split.
type PlannedSplit struct {
	Split
	// Cause is [CauseHotKey] where no instance can carry the key within its bound,
	// [CauseCheaperSplit] where it is split as other plans would move more than its parts
	// are worth, and [CauseKept] where it is split from earlier on.
	Cause Cause
	// Changed: the committed table has the key whole, or other parts or weights.
	Changed bool
}

// ValidateParts reports what is wrong with the parts of a table entry.
func ValidateParts(parts []Part) error { return route.ValidateParts(parts) }

// Heaviest is the part of the greatest weight, the first among equals.
func (x Split) Heaviest() Part { return heaviest(x.Parts) }

// heaviest is the part of the greatest weight, the first among equals.
func heaviest(parts []Part) Part {
	return slices.MaxFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(b.Instance, a.Instance))
	})
}

// isOn reports whether the key has a part on an instance.
func (x Split) isOn(d int32) bool {
	_, found := slices.BinarySearchFunc(x.Parts, d, func(y Part, d int32) int { return cmp.Compare(y.Instance, d) })
	return found
}

// splitOf is the row's among splits, whose rows ascend.
func splitOf(splits []Split, row int32) *Split {
	i, found := slices.BinarySearchFunc(splits, row, func(x Split, row int32) int { return cmp.Compare(x.Item, row) })
	if !found {
		return nil
	}
	return &splits[i]
}

// Divisible lists the rows, ascending, of the keys that plans of a snapshot may have to
// split, under whatever limits, and of those that are split: they are few. The error is an
// [InputError].
func Divisible(s *Snapshot) ([]int32, error) {
	x, err := prepare(s, Options{})
	if err != nil {
		return nil, err
	}
	rows := newDivider(x, x.p.Before).costly()
	for _, y := range s.Splits {
		rows = append(rows, y.Item)
	}
	slices.Sort(rows)
	return slices.Compact(rows), nil
}

// Merges is how many partial results are merged per interval: one for each part of a key
// but its first.
func (p *Plan) Merges() int64 {
	n := int64(0)
	for _, x := range p.Splits {
		n += int64(len(x.Parts) - 1)
	}
	return n
}

// plannedSplits are the keys that the plan splits.
func (x *prepared) plannedSplits() []PlannedSplit {
	if len(x.splits) == 0 {
		return nil
	}
	room, planned := x.wholeRoom(), make([]PlannedSplit, 0, len(x.splits))
	for _, y := range x.splits {
		out := PlannedSplit{Split: y, Cause: CauseKept, Changed: true}
		if x.before.Cost.Fixed(x.s.Cost[y.Item]) > room {
			out.Cause = CauseHotKey
		}
		if old := splitOf(x.s.Splits, y.Item); old != nil {
			out.Changed = !slices.Equal(old.Parts, y.Parts)
		}
		if out.Changed && out.Cause == CauseKept && x.priced() {
			out.Cause = CauseCheaperSplit
		}
		planned = append(planned, out)
	}
	return assign.InOrder(planned, x.p.Items, func(y *PlannedSplit) int32 { return y.Item })
}

// OnIDs are the parts with the ids of their instances.
func (x Split) OnIDs(s *Snapshot) []Part {
	parts := slices.Clone(x.Parts)
	for i := range parts {
		parts[i].Instance = s.Instances[parts[i].Instance].ID
	}
	return parts
}
