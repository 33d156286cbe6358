package handoff

import (
	"maps"
	"slices"
)

// Call is something that a driver tells the service, or appends to channels.
type Call struct {
	Do      Post
	Version int64 // of the hand-over
	Epoch   int64 // of the driver
	// Instance acknowledges, by PostAck.
	Instance int32
	// Router has its channels fenced, by Fence: a marker of the hand-over is appended for
	// it, under RouterEpoch, to the channel of each of To.
	Router      string
	RouterEpoch int64
	To          []int32
}

// Post says what a call is.
type Post int

// What drivers do.
const (
	PostAck        Post = iota // acknowledge for an instance
	PostAbort                  // begin to abort
	PostRolledBack             // end the abort: all instances are back where they were
	Fence                      // announce the hand-over for a router that is lost
)

// Driver is the driver's side of a hand-over: it tells the service what instances say.
// The service keeps all that must not be lost, so a successor begins with the service's
// view and a higher epoch ([NewDriver]). Its methods must not be called at the same time.
type Driver struct {
	epoch   int64
	pending *Pending
	aborts  bool // asked for
	votes   map[int32]bool
	fences  map[string]int64 // by router that is lost: the epoch it was fenced by
}

// NewDriver returns a driver with an epoch of its own, by which it has started, or taken
// over, a plan.
func NewDriver(epoch int64) *Driver {
	return &Driver{epoch: epoch, votes: map[int32]bool{}, fences: map[string]int64{}}
}

// See tells the driver what is pending, and returns what is to be done now. Stopped: there
// is nothing more for it to do, as the hand-over has ended or has another executor.
func (d *Driver) See(p *Pending) (calls []Call, stopped bool) {
	if p == nil || p.ExecutorEpoch > d.epoch {
		return nil, true
	}
	if d.pending == nil || d.pending.Version != p.Version {
		clear(d.votes)
		clear(d.fences)
	}
	d.pending = p
	if d.aborts && !p.Aborting {
		calls = append(calls, Call{Do: PostAbort, Version: p.Version, Epoch: d.epoch})
	}
	return append(calls, d.rolledBack()...), false
}

// Abort asks for the hand-over to be aborted, which must be one with routers that hold.
func (d *Driver) Abort() []Call {
	d.aborts = true
	if d.pending == nil || d.pending.Aborting {
		return nil
	}
	return []Call{{Do: PostAbort, Version: d.pending.Version, Epoch: d.epoch}}
}

// Acked takes the acknowledgement of an instance.
func (d *Driver) Acked(instance int32, version int64) []Call {
	if d.pending == nil || d.pending.Version != version || d.pending.Aborting {
		return nil
	}
	return []Call{{Do: PostAck, Version: version, Epoch: d.epoch, Instance: instance}}
}

// Voted takes the vote of an instance.
func (d *Driver) Voted(instance int32, version int64) []Call {
	if d.pending == nil || d.pending.Version != version {
		return nil
	}
	d.votes[instance] = true
	return d.rolledBack()
}

// rolledBack ends the abort where all have voted.
func (d *Driver) rolledBack() []Call {
	p := d.pending
	if !p.Aborting || slices.ContainsFunc(p.Awaits, func(i int32) bool { return !d.votes[i] }) {
		return nil
	}
	return []Call{{Do: PostRolledBack, Version: p.Version, Epoch: d.epoch}}
}

// Lost tells the driver that a router of the hand-over has let its lease run out, and that
// the driver has registered in its place, by a higher epoch.
func (d *Driver) Lost(router string, epoch int64) []Call {
	p := d.pending
	if p == nil || p.Routers[router] == 0 || d.fences[router] >= epoch {
		return nil
	}
	d.fences[router] = epoch
	return []Call{{Do: Fence, Version: p.Version, Epoch: d.epoch, Router: router, RouterEpoch: epoch,
		To: slices.Clone(p.Awaits)}}
}

// Fenced are the routers that the driver has announced the hand-over for.
func (d *Driver) Fenced() []string { return slices.Sorted(maps.Keys(d.fences)) }
