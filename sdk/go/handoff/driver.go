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
	aborts  bool // asked for, and not begun
	// What instances have said of the newest hand-over that they have said anything of. They
	// may see it before the driver does.
	version     int64
	acks, votes map[int32]bool
	fences      map[string]int64 // by router that is lost: the epoch it was fenced by
}

// NewDriver returns a driver with an epoch of its own, by which it has started, or taken
// over, plans.
func NewDriver(epoch int64) *Driver {
	return &Driver{epoch: epoch, acks: map[int32]bool{}, votes: map[int32]bool{}, fences: map[string]int64{}}
}

// isNewest reports whether no hand-over is known that is newer than a version. What was
// said of an older one counts no more.
func (d *Driver) isNewest(version int64) bool {
	if version > d.version {
		d.version = version
		clear(d.acks)
		clear(d.votes)
		clear(d.fences)
	}
	return version == d.version
}

// See tells the driver what is pending, and returns what is to be done now. Stopped: there
// is nothing more for it to do, as the hand-over has ended or has another executor.
func (d *Driver) See(p *Pending) (calls []Call, stopped bool) {
	if p == nil || p.ExecutorEpoch > d.epoch {
		d.aborts = d.aborts && d.pending == nil
		d.pending = nil
		return nil, true
	}
	if !d.isNewest(p.Version) {
		return nil, false
	}
	isNew := d.pending == nil || d.pending.Version != p.Version
	d.pending = p
	if p.Aborting {
		d.aborts = false
		return d.rolledBack(), false
	}
	if d.aborts {
		calls = append(calls, d.call(PostAbort, 0))
	}
	if isNew {
		for _, instance := range slices.Sorted(maps.Keys(d.acks)) {
			calls = append(calls, d.call(PostAck, instance))
		}
	}
	return calls, false
}

func (d *Driver) call(do Post, instance int32) Call {
	return Call{Do: do, Version: d.pending.Version, Epoch: d.epoch, Instance: instance}
}

// Abort asks for the hand-over to be aborted, which must be one with routers that hold.
func (d *Driver) Abort() []Call {
	if d.pending != nil && d.pending.Aborting {
		return nil
	}
	d.aborts = true
	if d.pending == nil {
		return nil
	}
	return []Call{d.call(PostAbort, 0)}
}

// Acked takes the acknowledgement of an instance. One of a hand-over that the driver has
// not seen yet is kept until it does.
func (d *Driver) Acked(instance int32, version int64) []Call {
	if !d.isNewest(version) {
		return nil
	}
	d.acks[instance] = true
	if !d.isPending() || d.pending.Aborting {
		return nil
	}
	return []Call{d.call(PostAck, instance)}
}

// Voted takes the vote of an instance. One of a hand-over that the driver has not seen yet
// is kept until it does.
func (d *Driver) Voted(instance int32, version int64) []Call {
	if !d.isNewest(version) {
		return nil
	}
	d.votes[instance] = true
	return d.rolledBack()
}

// isPending reports whether the driver has seen the newest hand-over, and not its end.
func (d *Driver) isPending() bool { return d.pending != nil && d.pending.Version == d.version }

// rolledBack ends the abort where all have voted.
func (d *Driver) rolledBack() []Call {
	if !d.isPending() || !d.pending.Aborting ||
		slices.ContainsFunc(d.pending.Awaits, func(i int32) bool { return !d.votes[i] }) {
		return nil
	}
	return []Call{d.call(PostRolledBack, 0)}
}

// Lost tells the driver that a router of the hand-over has let its lease run out, and that
// the driver has registered in its place, by a higher epoch.
func (d *Driver) Lost(router string, epoch int64) []Call {
	p := d.pending
	if !d.isPending() || p.Routers[router] == 0 || d.fences[router] >= epoch {
		return nil
	}
	d.fences[router] = epoch
	return []Call{{Do: Fence, Version: p.Version, Epoch: d.epoch, Router: router, RouterEpoch: epoch,
		To: slices.Clone(p.Awaits)}}
}

// Fenced are the routers that the driver has announced the hand-over for.
func (d *Driver) Fenced() []string { return slices.Sorted(maps.Keys(d.fences)) }
