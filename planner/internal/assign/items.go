package assign

import "cmp"

// Items are what is placed: keys, or classes of equal keys, in columns. Nothing
// changes them.
type Items struct {
	Cost          []float64 // of one unit
	State         []float64 // of one unit; nil: 1 each
	Units         []int64   // how many equal keys an item stands for; nil: 1 each
	Current, Home []int32   // F(k) and h(k), as indices of instances
	Hashes        []uint64  // of the keys
	// Divided tells which items stand for keys that are split over instances: they are at
	// home and cost nothing here, and nothing moves them. What their parts cost is a part
	// of Instance.Cost. Nil: none is.
	Divided []bool
	// Rules tells on which instances items may be. Nil: on all that are live. Where there are
	// rules, items have no counts, and none is divided.
	Rules *Eligibility
	// Resources are those beside cost. Where there are any, items have no counts.
	Resources []Resource
	// Unplaced is what keys cost that may be on any instances. It is a part of all cost,
	// and on none of the instances.
	Unplaced float64
	// compare orders items canonically: by the hashes of their keys, then by bytes.
	// It breaks all ties, so that the order of the rows never matters.
	Compare func(i, j int32) int
}

// Instance is an instance as far as it decides where items go.
type Instance struct {
	Capacity    float64 // κ
	Live        bool    // items may be placed on it
	Cost, State float64 // of the keys there that no item stands for; they stay
	Resources   []Stock // parallel to Items.Resources; nil on an instance that is not live: nothing
	Merging     float64 // load besides, which is no part of all cost
	Parts       int64   // keys that are counted there besides the items
	Filling     bool    // it is to be filled, as far as no more than θ_max below its share
}

// Goal is what is asked for.
type Goal struct {
	ThetaMax    float64
	ThetaMin    *float64 // how far loads may be below their shares; nil: as far as they like
	TableLimit  *int64   // nil: none
	KeyOverhead float64
	// imbalance: least θ within the allowance; else least migration with all loads within
	// their bounds.
	Imbalance bool
	// AnyCost: the goal is a part of one of least θ. Of several resources cost makes no key hot then.
	AnyCost   bool
	Allowance Allowance
	// Effort is how much work a search may do.
	Effort Effort
}

// Effort is how much work a search may do while the gap is open.
type Effort uint8

// The efforts, ascending.
const (
	Fast Effort = iota
	Normal
	Thorough
)

// RoundEvaluations is how many shifts a search may evaluate after its first candidates.
func (e Effort) RoundEvaluations() int64 {
	return [...]int64{Fast: 2_000_000, Normal: 10_000_000, Thorough: 130_000_000}[e]
}

// Allowance bounds what may be moved.
type Allowance struct {
	Unit   AllowanceUnit
	Amount float64
}

// AllowanceUnit is what an allowance counts.
type AllowanceUnit uint8

// The units.
const (
	OfState    AllowanceUnit = iota // Σ S(k) of what moves
	OfFraction                      // of all state
	OfKeys                          // their number
)

// None stands for no item and for no instance.
const None int32 = -1

// Len is the number of items.
func (s *Items) Len() int { return len(s.Cost) }

// StateOf is the state of one unit.
func (s *Items) StateOf(i int) float64 {
	if s.State == nil {
		return 1
	}
	return s.State[i]
}

// UnitsOf is how many keys an item stands for.
func (s *Items) UnitsOf(i int) int64 {
	if s.Units == nil {
		return 1
	}
	return s.Units[i]
}

// HeavierFirst orders items by descending cost.
func (s *Items) HeavierFirst(a, b int32) int {
	return cmp.Or(cmp.Compare(s.Cost[b], s.Cost[a]), s.Compare(a, b))
}
