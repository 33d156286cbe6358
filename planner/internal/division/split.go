package division

import (
	"cmp"
	"slices"

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

// PartUnits is the weight of a whole key. With weights of 1/256 the rounding of a key that
// takes many instances would come to more than one of its parts.
const PartUnits = route.PartUnits

// Part is one of the instances of a split key: by its id in a routing table, by its index
// elsewhere.
type Part = route.Part

// Split is a key that goes to several instances.
type Split struct {
	Item  int32  // index into the snapshot
	Parts []Part // instances ascending, two at least; the weights sum up to PartUnits
}

// Heaviest is the part of the greatest weight, the first among equals.
func (x Split) Heaviest() Part { return heaviest(x.Parts) }

func heaviest(parts []Part) Part {
	return slices.MaxFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(b.Instance, a.Instance))
	})
}

// IsOn reports whether the key has a part on an instance.
func (x Split) IsOn(d int32) bool {
	_, found := slices.BinarySearchFunc(x.Parts, d, func(y Part, d int32) int { return cmp.Compare(y.Instance, d) })
	return found
}

// OnIDs are the parts with the ids of their instances.
func (x Split) OnIDs(s interface{ InstanceID(index int32) int32 }) []Part {
	parts := slices.Clone(x.Parts)
	for i := range parts {
		parts[i].Instance = s.InstanceID(parts[i].Instance)
	}
	return parts
}

// SplitOf is the row's among splits, whose rows ascend; nil if it is whole.
func SplitOf(splits []Split, row int32) *Split {
	i, found := slices.BinarySearchFunc(splits, row, func(x Split, row int32) int { return cmp.Compare(x.Item, row) })
	if !found {
		return nil
	}
	return &splits[i]
}

// merges is how many parts there are beyond the first of each key.
func merges(splits []Split) int {
	n := 0
	for _, y := range splits {
		n += len(y.Parts) - 1
	}
	return n
}

// Share is the part of the state of a key that is on one instance.
type Share struct {
	Row      int32   // of the key
	Instance int32   // id in statistics; index in a snapshot
	State    float64 // from 0 to MaxAmount; counts 1 where no state is reported
	// Idle: the key has cost the instance nothing. Outside of where the table sends the key
	// it is a part that runs out then, where parts do.
	Idle bool
}

// Compare orders shares by row, then by instance.
func (x Share) Compare(y Share) int {
	return cmp.Or(cmp.Compare(x.Row, y.Row), cmp.Compare(x.Instance, y.Instance))
}
