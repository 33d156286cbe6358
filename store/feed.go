package store

// Feed is what happened to a routing table since an older version.
type Feed struct {
	Version int64 // the committed one
	// FromOrigin and Origin are those of the older version and of the committed one.
	FromOrigin, Origin Origin
	// FromConfigVersion and ConfigVersion are the configurations that they pin. Where
	// the hashes of the two differ, changes of entries alone mean little.
	FromConfigVersion, ConfigVersion int64
	// Full: the older version is unknown or purged, and Entries is the whole table. Otherwise
	// Changes lead from one version to the other, each key at most once. Both are in
	// ascending bytes of the keys.
	Full    bool
	Entries []Entry
	Changes []Change
	// Pending is what the plan that an engine is at work on will change; nil: there is
	// none.
	Pending *PendingChange
	// Next is the plan that is approved, and may be started; "": there is none, or one is pending.
	Next string
}

// PendingChange is what a plan that is being applied does to the committed table. One
// that is being aborted stays pending until the state is back.
type PendingChange struct {
	Plan    Plan
	Changes []Change // of the batch that is being handed over, if it has several
	Held    []Change // see [NewBatch]
}

// Event says that the version of a routing table, or what is pending on it, has
// changed.
type Event struct {
	Operator string // "": it may be all of them
}
