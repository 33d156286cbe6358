package handoff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Read is something that an instance reads from its channel from a router: a message, or
// a marker.
type Read[M any] struct {
	Router  string
	Epoch   int64
	Marker  int64 // the version of a hand-over; 0: it is a message
	Key     []byte
	Message M
}

// Transfer is what one instance sends to another: the state of a key, or that no more
// comes. Transfers from one instance to another are read in their order.
type Transfer struct {
	Version  int64 // of the hand-over
	From, To int32
	End      bool
	Key      string
	State    []byte // of the key, the last numbers of its messages included
}

// Action is something that an instance has to do. Actions are done in their order. Those up
// to the first that is sent, and the machine with them, become durable at once; only
// then anything is sent.
type Action[M any] struct {
	Do Do
	// Keys of Activate, Drop, Forget and Keep; ascending.
	Keys []string
	// Router, Key and Message of Process. Early: it was sent before the hand-over, so that it
	// must not be processed on provisional state, which an abort drops.
	Router  string
	Key     []byte
	Message M
	Early   bool
	// Transfer of Import, and the end of SendEnd.
	Transfer Transfer
	// Version is that of the hand-over of SendAck and SendVote, and Epoch that of its executor.
	Version, Epoch int64
}

// Do says what an action is.
type Do int

// What instances have to do with the state of keys. A key is active, or it is kept
// (inactive), or provisional.
const (
	Process  Do = iota // apply a message to the key's state, unless its number is not new
	Import             // take the state in, as provisional: where none is active, messages are processed on it
	Export             // send the state of keys elsewhere: see [Instance.Exports]
	Activate           // what was kept is active again, as the plan is aborted
	Drop               // what was provisional goes, as the plan is aborted
	Forget             // what was kept goes, as the plan is committed
	Keep               // what was provisional is active, as the plan is committed; it joins what was active before
	SendEnd            // send the transfer: nothing more comes from here
	SendAck            // tell the driver that the instance has everything
	SendVote           // tell the driver that the instance is back where it was
)

// IsSent reports whether an action sends something, and so comes after what is durable.
func (d Do) IsSent() bool { return d >= SendEnd }

// Instance is an instance's side of hand-overs. M is the type of a message. Its methods
// must not be called at the same time.
type Instance[M any] struct {
	id    int32
	mode  Mode
	table Table // of the hand-over that is being carried out
	Record[M]
}

// Record is what an instance makes durable together with the state of its keys and its
// positions in channels and transfers. It is encoded as JSON, or however the engine likes.
type Record[M any] struct {
	// Ended is the version of the last hand-over that has ended here.
	Ended int64 `json:"ended"`
	// Markers are the last that were read, by router.
	Markers map[string]Marker `json:"markers,omitempty"`
	// Doing is the hand-over that is being carried out; nil: none.
	Doing *Doing[M] `json:"doing,omitempty"`
}

// Marker is what a router announced.
type Marker struct {
	Version int64 `json:"version"`
	Epoch   int64 `json:"epoch"`
}

// Doing is a hand-over that an instance takes part in.
type Doing[M any] struct {
	Version       int64            `json:"version"`
	Base          int64            `json:"base"` // the committed version when it began
	Routers       map[string]int64 `json:"routers"`
	Awaits        []int32          `json:"awaits"`
	ExecutorEpoch int64            `json:"executor_epoch"`
	Given         []string         `json:"given,omitempty"` // keys that were sent away, ascending
	Taken         []Origin         `json:"taken,omitempty"` // keys whose state came, and of whom, ascending
	Ends          []int32          `json:"ends,omitempty"`  // instances of which nothing more comes
	Exported      bool             `json:"exported"`
	Voted         bool             `json:"voted"`
	Parked        []Read[M]        `json:"parked,omitempty"` // messages whose key's state may still come
}

// Origin is where state of a key came from: that of a split key, or of one that was found
// at two instances, may come from several.
type Origin struct {
	Key  string `json:"key"`
	From int32  `json:"from"`
}

func (o Origin) compare(p Origin) int {
	return cmp.Or(cmp.Compare(o.Key, p.Key), cmp.Compare(o.From, p.From))
}

// NewInstance returns the machine of an instance: as its record was made durable last, or
// with an empty one.
func NewInstance[M any](id int32, mode Mode, record Record[M]) *Instance[M] {
	return &Instance[M]{id: id, mode: mode, Record: record}
}

// See tells the instance what the service says now. A view of an older time changes nothing.
func (x *Instance[M]) See(v View) []Action[M] {
	var out []Action[M]
	p := v.Pending
	if d := x.Doing; d != nil {
		switch {
		case v.Version > d.Base: // every end of a hand-over makes a version
			out = x.finish()
		case p == nil || p.Version != d.Version:
			return nil // older than what is known
		}
	}
	if p == nil || p.Version <= x.Ended || !p.awaits(x.id) {
		return out
	}
	x.table = v.Table
	resent := false
	if x.Doing == nil {
		x.Doing = &Doing[M]{Version: p.Version, Base: v.Version, Routers: maps.Clone(p.Routers),
			Awaits: slices.Clone(p.Awaits), ExecutorEpoch: p.ExecutorEpoch}
	} else if d := x.Doing; p.ExecutorEpoch > d.ExecutorEpoch {
		d.ExecutorEpoch, resent = p.ExecutorEpoch, true
	}
	d := x.Doing
	switch {
	case p.Aborting && !d.Voted:
		return x.rollBack(out)
	case resent:
		return x.owed(out)
	case x.mayExport():
		out = append(out, Action[M]{Do: Export})
	}
	return out
}

// finish ends the hand-over: an instance that has not voted knows that it was committed.
func (x *Instance[M]) finish() (out []Action[M]) {
	d := x.Doing
	if !d.Voted {
		out = with(out, Forget, d.Given)
		out = with(out, Keep, d.takenKeys())
	}
	x.Ended, x.Doing, x.table = d.Version, nil, nil
	return out
}

// rollBack takes everything back, and votes.
func (x *Instance[M]) rollBack(out []Action[M]) []Action[M] {
	d := x.Doing
	out = with(out, Activate, d.Given)
	out = with(out, Drop, d.takenKeys())
	d.Given, d.Taken, d.Voted = nil, nil, true
	return x.owed(out)
}

func with[M any](out []Action[M], do Do, keys []string) []Action[M] {
	if len(keys) == 0 {
		return out
	}
	return append(out, Action[M]{Do: do, Keys: keys})
}

// owed appends what the driver has to be told: it may have missed it.
func (x *Instance[M]) owed(out []Action[M]) []Action[M] {
	d := x.Doing
	switch {
	case d.Voted:
		return append(out, Action[M]{Do: SendVote, Version: d.Version, Epoch: d.ExecutorEpoch})
	case x.isDone():
		return append(out, Action[M]{Do: SendAck, Version: d.Version, Epoch: d.ExecutorEpoch})
	}
	return out
}

// mayExport reports whether all routers have announced the hand-over, and nothing was sent.
func (x *Instance[M]) mayExport() bool {
	d := x.Doing
	if d == nil || d.Exported || d.Voted {
		return false
	}
	for router, epoch := range d.Routers {
		if m := x.Markers[router]; m.Version != d.Version || m.Epoch < epoch {
			return false
		}
	}
	return true
}

// isEarly reports whether a message may have been sent by one who did not know the hand-over:
// who registered before that began, and has not announced it under the same epoch.
func (x *Instance[M]) isEarly(m Read[M]) bool {
	if x.Doing == nil {
		return false
	}
	epoch, awaited := x.Doing.Routers[m.Router]
	return awaited && m.Epoch <= epoch && x.Markers[m.Router] != Marker{x.Doing.Version, m.Epoch}
}

// isDone reports whether the instance has sent and received everything.
func (x *Instance[M]) isDone() bool {
	return x.Doing.Exported && x.allEnded()
}

// Read takes what comes next in a channel. Where it waits, nothing was taken: it is read
// again after the next [Instance.See], as the instance has not seen the hand-over yet that
// the channel announced.
func (x *Instance[M]) Read(m Read[M]) (out []Action[M], waits bool) {
	if announced := x.Markers[m.Router].Version; announced > x.Ended && (x.Doing == nil || announced > x.Doing.Version) {
		return nil, true
	}
	if m.Marker != 0 {
		if x.Markers == nil {
			x.Markers = map[string]Marker{}
		}
		x.Markers[m.Router] = Marker{m.Marker, m.Epoch}
		if x.mayExport() {
			out = append(out, Action[M]{Do: Export})
		}
		return out, false
	}
	if x.parks(m) {
		x.Doing.Parked = append(x.Doing.Parked, m)
		return nil, false
	}
	a := process(m)
	a.Early = x.isEarly(m)
	return []Action[M]{a}, false
}

func process[M any](m Read[M]) Action[M] {
	return Action[M]{Do: Process, Router: m.Router, Key: m.Key, Message: m.Message}
}

// parks reports whether a message followed its key here before the key's state, which
// any instance may have that has not said that nothing more comes.
func (x *Instance[M]) parks(m Read[M]) bool {
	d := x.Doing
	if x.mode == Holding || d == nil || x.Markers[m.Router].Version != d.Version || d.has(m.Key) || x.allEnded() {
		return false
	}
	_, moves, err := x.table.Route(m.Key)
	goal, otherwise := x.table.Goal(m.Key, x.id)
	return moves && err == nil && otherwise == nil && goal == x.id
}

// has reports whether state of a key came.
func (d *Doing[M]) has(key []byte) bool {
	_, found := slices.BinarySearchFunc(d.Taken, string(key), func(o Origin, key string) int {
		return cmp.Compare(o.Key, key)
	})
	return found
}

// takenKeys are the keys whose state came, ascending.
func (d *Doing[M]) takenKeys() (keys []string) {
	for _, o := range d.Taken {
		keys = append(keys, o.Key)
	}
	return slices.Compact(keys)
}

// allEnded reports whether nothing more comes from any other instance.
func (x *Instance[M]) allEnded() bool {
	return !slices.ContainsFunc(x.Doing.Awaits, func(i int32) bool {
		return i != x.id && !slices.Contains(x.Doing.Ends, i)
	})
}

// unpark processes the messages whose keys' states are there, or will not come.
func (x *Instance[M]) unpark(out []Action[M]) []Action[M] {
	d := x.Doing
	var left []Read[M]
	all := x.allEnded()
	for _, m := range d.Parked {
		if all || d.has(m.Key) {
			out = append(out, process(m))
		} else {
			left = append(left, m)
		}
	}
	d.Parked = left
	return out
}

// Exports says what to send for Export: it asks for each active key that the instance
// holds where it belongs. State is called for those that go.
func (x *Instance[M]) Exports(keys func(yield func(key string) bool), state func(key string) ([]byte, error)) (
	[]Transfer, error,
) {
	var out []Transfer
	for key := range keys {
		_, moves, err := x.table.Route([]byte(key))
		if err != nil {
			return nil, fmt.Errorf("handoff: key %q: %w", key, err)
		}
		if !moves {
			continue
		}
		to, err := x.table.Goal([]byte(key), x.id)
		if err != nil {
			return nil, fmt.Errorf("handoff: key %q: %w", key, err)
		}
		if to == x.id {
			continue
		}
		content, err := state(key)
		if err != nil {
			return nil, fmt.Errorf("handoff: exporting key %q: %w", key, err)
		}
		out = append(out, Transfer{Version: x.Doing.Version, From: x.id, To: to, Key: key, State: content})
	}
	return out, nil
}

// Exported tells the instance that the transfers of its Export have been sent. Their keys
// are kept, inactive, together with what it answers.
func (x *Instance[M]) Exported(sent []Transfer) []Action[M] {
	d := x.Doing
	for _, t := range sent {
		d.Given = append(d.Given, t.Key)
	}
	slices.Sort(d.Given)
	d.Exported = true
	return x.owed(x.ends(nil))
}

// ends appends the ends to all others.
func (x *Instance[M]) ends(out []Action[M]) []Action[M] {
	d := x.Doing
	for _, to := range d.Awaits {
		if to != x.id {
			out = append(out, Action[M]{Do: SendEnd,
				Transfer: Transfer{Version: d.Version, From: x.id, To: to, End: true}})
		}
	}
	return out
}

// Receive takes a transfer. Where it waits, nothing was taken: it is read again after the
// next [Instance.See]. One that comes again changes nothing.
func (x *Instance[M]) Receive(t Transfer) (out []Action[M], waits bool) {
	d := x.Doing
	switch {
	case t.Version <= x.Ended:
		return nil, false
	case d == nil || t.Version > d.Version:
		return nil, true
	case d.Voted:
		return nil, false
	case t.End:
		if slices.Contains(d.Ends, t.From) {
			return nil, false
		}
		d.Ends = append(d.Ends, t.From)
		slices.Sort(d.Ends)
		return x.owed(x.unpark(nil)), false
	}
	origin := Origin{t.Key, t.From}
	i, found := slices.BinarySearchFunc(d.Taken, origin, Origin.compare)
	if found {
		return nil, false
	}
	d.Taken = slices.Insert(d.Taken, i, origin)
	return x.unpark([]Action[M]{{Do: Import, Transfer: t}}), false
}

// Fenced tells the instance that its acknowledgement, or its vote, was refused, as its
// executor has a higher epoch. It is a fact, not an order: it is said again.
func (x *Instance[M]) Fenced(version, epoch int64) []Action[M] {
	if x.Doing == nil || x.Doing.Version != version {
		return nil
	}
	x.Doing.ExecutorEpoch = max(x.Doing.ExecutorEpoch, epoch)
	return x.owed(nil)
}

// Resume is what an instance that was restarted from its record has to do, once it has
// seen what the service says now: what was owed may not have been sent.
func (x *Instance[M]) Resume() []Action[M] {
	switch {
	case x.Doing == nil:
		return nil
	case x.mayExport():
		return []Action[M]{{Do: Export}}
	case x.Doing.Exported && !x.Doing.Voted:
		return x.owed(x.ends(nil))
	}
	return x.owed(nil)
}
