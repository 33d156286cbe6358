package planner

import "plannerd/planner/internal/division"

// NoInstance stands in an instance column for a row that names none.
const NoInstance int32 = -1

// Statistics is one interval as an engine reports it, in columns as long as
// Keys. Instances are named by id.
type Statistics struct {
	Keys *Keys
	// Cost is c(k) of each key, from 0 to MaxAmount.
	Cost []float64
	// State is S(k,w) of each key, from 0 to MaxAmount. Nil: not reported, each key
	// counts 1.
	State []float64
	// Costs are what keys take of resources beside cost; a plan is made with those that its
	// configuration names.
	Costs []Amounts
	// Expected are amounts that are planned on in place of those that rows tell: forecasts, with one
	// for each row and each residual. They are not part of what was reported.
	Expected []Amounts
	// Instance is where each key is, or NoInstance. Nil: named on no row.
	Instance []int32
	// HashInstance is where the engine's own hash puts each key, or NoInstance.
	// Nil: named on no row.
	HashInstance []int32
	// Shares tell of each key whose state is on several instances how much is where,
	// rows ascending, then ids, each once. The state of such a key is their sum, and
	// they need no row of their own. Nil: no key's is.
	Shares []Share
	// Count is how many keys a row stands for, all in the same place and of the
	// same cost and state, ≥ 1: the row's key is then a name for them. Nil: 1 each.
	Count []int64
	// Named is, beside a Count, how many rows are of one key that Key names: the last ones. The
	// others are of classes of keys, whatever their count: they say their Instance and their
	// HashInstance, and have no entries in a routing table.
	Named int
	// Partial: keys without a row exist; Residual sums them up.
	Partial  bool
	Residual []Residual
	// PartialOn lists instances, ids ascending and distinct, on which there may be
	// keys that the statistics do not name: table entries of absent keys that point
	// to them stay and count.
	PartialOn []int32
	// Frozen lists instances, ids ascending and distinct, of which nothing is known
	// in this interval: like PartialOn, and nothing is placed on them; they count
	// neither for the mean load nor for θ. No row or residual may be on them, and
	// the hash must be the committed one.
	Frozen []int32
}

// Share is the part of the state of a key that is on one instance: by its id, in a [Snapshot]
// by its index into Instances.
type Share = division.Share

// Residual sums up the keys of one instance that have no row of their own.
type Residual struct {
	Instance int32
	Cost     float64 // from 0 to MaxAmount
	State    float64 // from 0 to MaxAmount
	Keys     int64   // from 0 to MaxResidualKeys
}

// Len is the number of rows.
func (s *Statistics) Len() int { return len(s.Cost) }

// HashFunction is h: it places every key on one of the live instances of its
// configuration, any number of keys at the same time. Implementations are in
// planner/partitioner.
type HashFunction interface {
	// Instance returns the id of the instance of key, whose [KeyHash] is hash. An
	// error says why the function cannot place this key (a key that is no
	// number under a numeric key type).
	Instance(key []byte, hash uint64) (int32, error)
}

// Configuration is the part of an operator's configuration that decides where
// keys are.
type Configuration struct {
	// Instances in strictly ascending order of ID. Only ID, Name, Capacity, Capacities and Cordoned
	// count.
	Instances []Instance
	// Resources are those beside cost.
	Resources []Resource
	// Hash places keys; nil means that every row carries its HashInstance.
	Hash HashFunction
	// Placement are rules on where keys may be. Nil: there are none. The hash function keeps to
	// them where it can.
	Placement Placement
}

// Base is what the operator runs on before the plan.
type Base struct {
	// Configuration is the one under which Table was committed.
	Configuration Configuration
	// Table is the committed routing table. Nil: not known, then every row must
	// say its instance or is taken to be where the hash puts it.
	Table *RoutingTable
	// Kept tells for each entry of Table that it stays if no row names its key, unless
	// its instance was removed: the key may come back. Nil: none stays for that.
	Kept []bool
	// Retained is the number of entries beside those of Table that are of keys without a
	// row, and stay and count.
	Retained int64
	// HashChanged: the new configuration's instances or hash function differ
	// from Configuration's.
	HashChanged bool
	// Filling are the ids of instances that are to be filled, see [Instance]; ids of others
	// count for nothing.
	Filling []int32
	// PartsExpire: parts of keys run out where the table sends these no more, see
	// [Splitting]; what is idle there is no drift.
	PartsExpire bool
	// PinHomeless: rows without a HashInstance that need one are of keys whose home nobody
	// knows. Each has an entry wherever it is.
	PinHomeless bool
	// IgnoreInstances: the rows' instances are older than Table, so they say
	// nothing.
	IgnoreInstances bool
	// Stop, if set, is asked now and then whether to give up, also by several
	// goroutines at the same time. The error is then [ErrStopped].
	Stop func() bool
}
