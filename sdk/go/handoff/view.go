package handoff

import "slices"

// Table is the committed routing table, and what the pending plan makes of it.
// [Routes] makes one of package route's.
type Table interface {
	// Route returns the instance to which the next message of a key goes now, and whether
	// the pending plan moves the key.
	Route(key []byte) (to int32, moves bool, err error)
	// Pending returns the instance to which the next message of a key goes when the
	// pending plan is committed.
	Pending(key []byte) (int32, error)
	// Goal returns where state of a key that is at an instance belongs then: there, or at
	// another instance.
	Goal(key []byte, at int32) (int32, error)
}

// View is what the service says at one time: the committed version of the table, and the
// plan that is being handed over.
type View struct {
	Version int64
	Table   Table
	Pending *Pending // nil: none
}

// isBefore reports whether a view is of an older time than another. Every end of a
// hand-over makes a version: what is pending does not go without one.
func (v View) isBefore(w View) bool {
	if v.Version != w.Version || w.Pending == nil {
		return v.Version < w.Version
	}
	return v.Pending == nil || w.Pending.Aborting && !v.Pending.Aborting
}

// Pending is a plan, or a batch of one, that is being handed over. All but Aborting and
// ExecutorEpoch is fixed when it begins.
type Pending struct {
	// Version is that of the table which it makes. It identifies the hand-over: each has a
	// higher one than all before.
	Version int64
	// Routers are the epochs of the routers whose markers instances wait for.
	Routers map[string]int64
	// Awaits are the instances that have to acknowledge.
	Awaits []int32
	// Aborting: no acknowledgement counts, and each of Awaits has to go back.
	Aborting bool
	// ExecutorEpoch is that of the driver that carries it out.
	ExecutorEpoch int64
}

// awaits reports whether the hand-over waits for an instance.
func (p *Pending) awaits(instance int32) bool { return slices.Contains(p.Awaits, instance) }

// Mode says what happens to the messages of keys that a plan moves.
type Mode bool

// The modes. All routers and instances of an operator have the same.
const (
	// Holding: routers hold them until the plan has ended. It may be aborted.
	Holding Mode = false
	// Following: they go to the new owner at once, which holds them until the state is
	// there. No such plan may be aborted: it is finished, and another plans back.
	Following Mode = true
)
