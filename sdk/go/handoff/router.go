package handoff

import (
	"errors"
	"slices"
)

// ErrUnregistered is returned for what a router may not do before it has an epoch and a
// view of the table.
var ErrUnregistered = errors.New("handoff: the router has to register and to read the table first")

// Append is something that a router appends to the channel of an instance: a message, or
// a marker.
type Append[M any] struct {
	To    int32
	Epoch int64 // of the router: an append below the highest of the channel is refused
	// Marker is the version of the hand-over that it announces; 0: it is a message.
	Marker  int64
	Key     []byte
	Message M
}

// held is a message that waits at a router.
type held[M any] struct {
	key     []byte
	message M
}

// Router is a router's side of hand-overs. Nothing of it is durable: a router that
// restarts registers again, and takes from its source again what was not appended. M is
// the type of a message. Its methods must not be called at the same time.
type Router[M any] struct {
	mode   Mode
	epoch  int64 // 0: it has to register
	view   View
	marked int64 // the version of the last hand-over that it announced
	held   []held[M]
}

// NewRouter returns a router that has not registered yet.
func NewRouter[M any](mode Mode) *Router[M] { return &Router[M]{mode: mode} }

// Registered tells the router its epoch. It has to [Router.See] a view that was read
// after it registered before it forwards anything.
func (r *Router[M]) Registered(epoch int64) { r.epoch, r.view, r.marked = epoch, View{}, 0 }

// Holds is how many messages wait.
func (r *Router[M]) Holds() int { return len(r.held) }

// See tells the router what the service says now, and returns what to append, in this
// order. A view of an older time than what it knows changes nothing.
func (r *Router[M]) See(v View) ([]Append[M], error) {
	if r.epoch == 0 {
		return nil, ErrUnregistered
	}
	if v.isBefore(r.view) {
		return nil, nil
	}
	r.view = v
	// What is no more of a plan goes first: it has to be before the next marker.
	out, err := r.release(nil)
	if err != nil || v.Pending == nil || v.Pending.Aborting || r.marked == v.Pending.Version {
		return out, err
	}
	r.marked = v.Pending.Version
	for _, to := range v.Pending.Awaits {
		out = append(out, Append[M]{To: to, Epoch: r.epoch, Marker: v.Pending.Version})
	}
	return r.release(out)
}

// release appends the messages that need not wait any longer.
func (r *Router[M]) release(out []Append[M]) ([]Append[M], error) {
	for i := 0; i < len(r.held); i++ {
		h := r.held[i]
		a, waits, err := r.place(h.key, h.message)
		if err != nil {
			return out, err
		}
		if !waits {
			out = append(out, a)
			r.held = slices.Delete(r.held, i, i+1)
			i--
		}
	}
	return out, nil
}

// place says where a message goes, or that it waits.
func (r *Router[M]) place(key []byte, message M) (a Append[M], waits bool, err error) {
	to, moves, err := r.view.Table.Route(key)
	if err != nil {
		return a, false, err
	}
	if moves && r.view.Pending != nil {
		if r.mode == Holding || r.marked != r.view.Pending.Version {
			return a, true, nil
		}
		if to, err = r.view.Table.Pending(key); err != nil {
			return a, false, err
		}
	}
	return Append[M]{To: to, Epoch: r.epoch, Key: key, Message: message}, false, nil
}

// Take takes a message. It returns what to append, or that the message is held: it may be
// acknowledged to its source only once [Router.See] has had it appended. The router keeps
// the key. The error is that of the table, or ErrUnregistered; nothing was taken then.
func (r *Router[M]) Take(key []byte, message M) (a Append[M], isHeld bool, err error) {
	if r.epoch == 0 || r.view.Table == nil {
		return a, false, ErrUnregistered
	}
	a, waits, err := r.place(key, message)
	if waits {
		r.held = append(r.held, held[M]{key, message})
	}
	return a, waits, err
}

// Refused tells the router that an append was refused, as another had a higher epoch, and
// what of its answer was not appended therefore, in order: from that one on. The router
// has to register again; it keeps the messages.
func (r *Router[M]) Refused(rest ...Append[M]) {
	r.epoch = 0
	var back []held[M]
	for _, a := range rest {
		if a.Marker == 0 {
			back = append(back, held[M]{a.Key, a.Message})
		}
	}
	// They came before whatever of the same key is held.
	r.held = append(back, r.held...)
}
