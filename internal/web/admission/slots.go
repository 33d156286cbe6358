package admission

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrQueue says that no slot became free in time, or that too many wait for one.
var ErrQueue = errors.New("no slot is free")

type callerKey struct{}

// WithCaller says whose the work is that is done under a context. Callers share what
// there is evenly, however much each of them asks for.
func WithCaller(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerKey{}, name)
}

// callerOf is whose work is done under a context; "" where nobody said so.
func callerOf(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

// Slots bound how many things that keep a processor busy are done at the same time.
// A slot goes to the caller that holds the fewest, of several to the one that was given
// one longest ago, and there to who came first. Where as many wait as may, the caller with
// the most of them loses its newest one.
// Slots are safe for concurrent use.
type Slots struct {
	size, most int
	waited     func(time.Duration)

	mu       sync.Mutex
	busy     int
	callers  map[string]*share // that hold a slot or wait for one
	queue    []*turn           // in the order in which they came
	granted  uint64            // slots so far
	refusals int64
}

// share is what one caller has of the slots.
type share struct {
	held, waiting int
	last          uint64 // the number of the slot that it was granted last
}

// turn is somebody who waits for a slot.
type turn struct {
	*share
	caller string
	done   chan struct{} // closed when granted or refused
	err    error         // set before done is closed
}

// SlotUsage is how slots stand.
type SlotUsage struct {
	Size, Busy, Waiting int
	Refusals            int64
}

// NewSlots returns so many slots, for which at most so many may wait. waited is told how
// long each of those waited that got one; nil: nobody is.
func NewSlots(size, most int, waited func(time.Duration)) *Slots {
	if waited == nil {
		waited = func(time.Duration) {}
	}
	return &Slots{size: size, most: most, waited: waited, callers: map[string]*share{}}
}

// Usage tells how the slots stand.
func (s *Slots) Usage() SlotUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SlotUsage{Size: s.size, Busy: s.busy, Waiting: len(s.queue), Refusals: s.refusals}
}

// Take waits for a slot, but no longer than that. The function it returns gives the slot
// back, once. The error is [ErrQueue] or that of the context.
func (s *Slots) Take(ctx context.Context, within time.Duration) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	begin, t := time.Now(), s.enter(callerOf(ctx))
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-t.done:
		err = t.err
	case <-late.C:
		err = s.leave(t, ErrQueue)
	case <-ctx.Done():
		err = s.leave(t, ctx.Err())
	}
	if err != nil {
		return nil, err
	}
	s.waited(time.Since(begin))
	return func() { s.release(t) }, nil
}

// enter puts a caller into the queue, which it may leave at once.
func (s *Slots) enter(caller string) *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &turn{share: s.callers[caller], caller: caller, done: make(chan struct{})}
	if t.share == nil {
		t.share = &share{}
		s.callers[caller] = t.share
	}
	t.waiting++
	s.queue = append(s.queue, t)
	s.serve()
	if len(s.queue) > s.most {
		most := slices.MaxFunc(s.queue, func(a, b *turn) int { return cmp.Compare(a.waiting, b.waiting) })
		s.refusals++
		s.end(most.newest(s.queue), ErrQueue)
	}
	return t
}

// newest is the last turn of the same caller.
func (t *turn) newest(queue []*turn) *turn {
	for _, o := range queue {
		if o.share == t.share {
			t = o
		}
	}
	return t
}

// end takes a turn out of the queue, with what came of it. s.mu is held.
func (s *Slots) end(t *turn, err error) {
	s.queue = slices.DeleteFunc(s.queue, func(o *turn) bool { return o == t })
	t.waiting--
	t.err = err
	s.forget(t)
	close(t.done)
}

// serve gives free slots to those whose turn it is. s.mu is held.
func (s *Slots) serve() {
	for s.busy < s.size && len(s.queue) > 0 {
		t := slices.MinFunc(s.queue, func(a, b *turn) int {
			return cmp.Or(cmp.Compare(a.held, b.held), cmp.Compare(a.last, b.last))
		})
		s.busy++
		s.granted++
		t.held++
		t.last = s.granted
		s.end(t, nil)
	}
}

// leave ends a wait for a reason, unless it has ended meanwhile. A slot that was granted
// just then is kept if the wait was only too long.
func (s *Slots) leave(t *turn, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := errors.Is(why, ErrQueue)
	select {
	case <-t.done:
		if t.err == nil && !late {
			s.free(t)
			return why
		}
		return t.err
	default:
	}
	if late {
		s.refusals++
	}
	s.end(t, why)
	return why
}

func (s *Slots) release(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free(t)
}

// free gives a slot back. s.mu is held.
func (s *Slots) free(t *turn) {
	s.busy--
	t.held--
	s.forget(t)
	s.serve()
}

// forget drops a caller that has nothing any more. s.mu is held.
func (s *Slots) forget(t *turn) {
	if t.held+t.waiting == 0 {
		delete(s.callers, t.caller)
	}
}
