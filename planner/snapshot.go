package planner

import "slices"

// The bounds of what a snapshot may hold: within them no sum overflows and loads
// relative to capacities stay distinguishable.
const (
	MaxAmount       = 1e290 // of a cost, a state, an overhead
	MinCapacity     = 1e-6
	MaxCapacity     = 1e6
	MaxResidualKeys = 1<<53 - 1 // of one instance
	MaxCount        = 1<<53 - 1 // of all items together
)

func isAmount(x float64) bool { return x >= 0 && x <= MaxAmount }

// Instance is one parallel task of the operator, d ∈ D.
type Instance struct {
	ID       int32   // ≥ 0
	Name     string  // what people call it; plans do not depend on it
	Capacity float64 // κ_d, relative speed, from MinCapacity to MaxCapacity
	// Capacities are by resource of the configuration. Nil: Capacity in each, none of which is limited.
	Capacities []float64
	// Drained: the instance was removed but may still hold keys. All its named
	// keys leave it, and nothing is ever placed on it.
	Drained bool
	// Added: the instance is not in the configuration of the committed table.
	Added bool
	// Cordoned: the instance keeps the keys that it has and gets no other ones.
	Cordoned bool
	// Filling: the instance is to be filled. Plans are made with θ_max for its θ_min, or
	// with that of the options where it is less.
	Filling bool
	// Partial: there may be keys on the instance that the statistics do not name,
	// so table entries of absent keys that point to it stay and count.
	Partial bool
	// Frozen: nothing is known of the instance. No item is on it, nothing is placed
	// on it and it has no share of the load, but it may be the hash instance of
	// items that are elsewhere: those have an entry wherever they go. Frozen implies
	// Partial.
	Frozen bool
	// Cost, state and number of the keys on this instance that the statistics
	// do not name (partial statistics); they stay.
	ResidualCost  float64
	ResidualState float64
	ResidualKeys  int64
	// ResidualAmounts are what these keys take of each of Snapshot.Resources.
	ResidualAmounts []float64
}

// Live reports whether keys may be placed on the instance: it is neither drained
// nor frozen. Loads, θ and shares are over the live instances.
func (d Instance) Live() bool { return !d.Drained && !d.Frozen }

// Snapshot is what a strategy plans on: the items of one interval, in columns,
// rows in any order. Build it with [NewSnapshot]; of one that is made by hand
// strategies check no more than the instances. They never change it.
type Snapshot struct {
	// Instances in strictly ascending order of ID; at least one is live.
	Instances []Instance
	// Keys names the items. Distinct, 1 to MaxKeyBytes bytes.
	Keys *Keys
	// Cost is c(k) of one unit of the item, from 0 to MaxAmount, in any unit.
	Cost []float64
	// State is S(k,w) of one unit, from 0 to MaxAmount, in any unit. Nil: 1 each.
	State []float64
	// Count is the number of equal keys that an item stands for, ≥ 1. Nil: 1
	// each. Units of one item may go to different instances.
	Count []int64
	// Named is, beside a Count, how many items are keys, the last ones; the others are
	// classes, which have no entries and cannot be split. See [Statistics.Named].
	Named int
	// Shares are the parts of the state of keys that are elsewhere than Current, in
	// addition to State; rows ascending, then instances. Wherever a key goes, or stays,
	// they go there too. Nil: there is none.
	Shares []Share
	// Splits are the keys that Table splits, rows ascending; instances are indices. Their
	// Current is where most of their state is, and Shares have what the other parts hold.
	Splits []Split
	// Current is F(k) and Hash is h(k), as indices into Instances. Current is
	// not frozen; Hash is live or frozen.
	Current, Hash []int32
	// Eligibility tells where items may be. Nil: on all live instances. Where there is one, items
	// have no Count and none is split.
	Eligibility *Eligibility
	// Resources are what instances have bounds in beside cost, Amounts what one unit of each item
	// takes of them, by resource. Where there are any, items have no Count and none is split.
	Resources []Resource
	Amounts   [][]float64
	// Table is the committed routing table, or nil when it is not known: then
	// its entries are taken to be the items whose Current differs from Hash.
	Table *RoutingTable
	// Entry is each item's index in Table, or −1. Nil when Table is nil or empty.
	Entry []int32
	// Kept tells for each entry of Table that it stays and counts if no item has its
	// key, unless its instance is drained. Nil: none stays for that.
	Kept []bool
	// Retained is the number of entries beside those of Table that are of other keys than
	// the items, and stay and count.
	Retained int64
	// Partial: the statistics do not name every key, so table entries whose key
	// is absent stay and count. Otherwise they are dropped, but for those that
	// point to an instance that is Partial, and those that are Kept.
	Partial bool
	// Homeless: the last of Instances is none, but the hash instance of items of which
	// nobody knows it. It is frozen.
	Homeless bool
	// HashChanged: Hash belongs to another configuration than Table.
	HashChanged bool
	// Drifted counts the keys that are elsewhere than the committed table or
	// hash would have put them.
	Drifted int64
}

// InstanceID is the id of an instance by its index.
func (s *Snapshot) InstanceID(index int32) int32 { return s.Instances[index].ID }

// Len is the number of items.
func (s *Snapshot) Len() int { return len(s.Cost) }

// firstKey is the first item that is a key, not a class of keys.
func (s *Snapshot) firstKey() int {
	if s.Count == nil {
		return 0
	}
	return s.Len() - s.Named
}

// isKey reports whether an item is a key, not a class of keys.
func (s *Snapshot) isKey(item int) bool { return item >= s.firstKey() }

// StateOf is the state that a move of one unit moves.
func (s *Snapshot) StateOf(m Move) float64 {
	if m.Reason != ReasonGather {
		return at(s.State, int(m.Item), 1)
	}
	i, _ := slices.BinarySearchFunc(s.Shares, Share{Row: m.Item, Instance: m.From}, Share.Compare)
	return s.Shares[i].State
}

// at is a row's value, or what counts where the column is missing.
func at[T any](column []T, i int, otherwise T) T {
	if column == nil {
		return otherwise
	}
	return column[i]
}
