package feed

import (
	"context"
	"errors"
	"sync"
	"time"

	"plannerd/internal/refusal"
	"plannerd/internal/web/admission"
	"plannerd/store"
)

const (
	// watchLinger is how long the store is watched when nobody waits: who waited is
	// soon back.
	watchLinger = 10 * time.Second
	// watchRetry is the pause before the store is watched again.
	watchRetry = time.Second
)

// hub lets any number of requests wait for changes of routing tables, all on one
// watch of the store, which there is as long as somebody waits.
type hub struct {
	watch func(context.Context) (<-chan store.Event, error)
	most  int // requests that may wait

	mu      sync.Mutex
	waiting int
	topics  map[string]*topic
	attempt *attempt           // to watch; nil: nobody does
	stop    context.CancelFunc // the watch
	idle    *time.Timer        // until the watch is stopped
}

// attempt is one to watch the store.
type attempt struct {
	done chan struct{}
	err  error // once done
}

// topic is what waiting requests of an operator have in common.
type topic struct {
	subscribers int
	generation  uint64        // counts events
	changed     chan struct{} // closed by the next event
	views       map[viewKey]*view
}

// viewKey is what a view is of. One of a generation was begun after its event.
type viewKey struct {
	TableQuery
	generation uint64
}

// view is an answer that requests share, and the memory that it takes.
type view struct {
	done   chan struct{}
	answer *TableView
	err    error
	memory *admission.Lease
	users  int
}

func newHub(watch func(context.Context) (<-chan store.Event, error), most int) *hub {
	return &hub{watch: watch, most: most, topics: map[string]*topic{}}
}

// subscription is a request that waits.
type subscription struct {
	hub      *hub
	operator string
	topic    *topic
}

// subscribe returns a subscription once the store is watched: whatever is
// committed afterwards is an event. leave must be called.
func (h *hub) subscribe(ctx context.Context, operator string) (*subscription, error) {
	h.mu.Lock()
	if h.waiting >= h.most {
		h.mu.Unlock()
		return nil, refusal.New(refusal.Busy, "As many requests wait for routing tables as may.")
	}
	h.waiting++
	t := h.topics[operator]
	if t == nil {
		t = &topic{changed: make(chan struct{}), views: map[viewKey]*view{}}
		h.topics[operator] = t
	}
	t.subscribers++
	a := h.begin()
	h.mu.Unlock()
	s := &subscription{h, operator, t}
	var err error
	select {
	case <-a.done:
		err = a.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		s.leave()
		return nil, err
	}
	return s, nil
}

// count is how many requests wait.
func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiting
}

// begin has the store watched, and returns how that stands. h.mu is held.
func (h *hub) begin() *attempt {
	if h.idle != nil {
		h.idle.Stop()
		h.idle = nil
	}
	if h.attempt == nil {
		ctx, cancel := context.WithCancel(context.Background())
		h.attempt, h.stop = &attempt{done: make(chan struct{})}, cancel
		go h.run(ctx, h.attempt)
	}
	return h.attempt
}

// leave ends a subscription.
func (s *subscription) leave() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting--
	if s.topic.subscribers--; s.topic.subscribers == 0 {
		delete(h.topics, s.operator)
	}
	if h.waiting == 0 && h.attempt != nil {
		h.idle = time.AfterFunc(watchLinger, h.rest)
	}
}

// rest ends the watch unless somebody has come meanwhile.
func (h *hub) rest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting == 0 && h.attempt != nil {
		h.stop()
		h.attempt, h.idle = nil, nil
	}
}

// run watches the store until ctx ends, and begins again when the watch breaks off.
// Events may be lost between two watches, so each watch begins by waking everybody.
func (h *hub) run(ctx context.Context, a *attempt) {
	for {
		events, err := h.watch(ctx)
		if a.err = err; err == nil {
			h.publish("")
		}
		close(a.done)
		if err == nil {
			for e := range events {
				h.publish(e.Operator)
			}
		}
		if a = h.next(ctx, a); a == nil {
			return
		}
		select {
		case <-time.After(watchRetry):
		case <-ctx.Done():
		}
	}
}

// next is the attempt after one that ended; nil when there is to be none.
func (h *hub) next(ctx context.Context, ended *attempt) *attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attempt != ended { // it was stopped
		return nil
	}
	if ctx.Err() != nil || h.waiting == 0 {
		h.stop()
		h.attempt = nil
		return nil
	}
	h.attempt = &attempt{done: make(chan struct{})}
	return h.attempt
}

// publish wakes those who wait for an operator; "" is all.
func (h *hub) publish(operator string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if operator != "" {
		h.topics[operator].wake()
		return
	}
	for _, t := range h.topics {
		t.wake()
	}
}

func (t *topic) wake() {
	if t != nil {
		t.generation++
		close(t.changed)
		t.changed = make(chan struct{})
	}
}

// mark returns what the next event closes, and the number of the last one.
func (s *subscription) mark() (changed <-chan struct{}, generation uint64) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.topic.changed, s.topic.generation
}

// view returns what make comes to after the event of that number: one of those
// who want it makes it, all others wait. The function it returns lets go of it.
func (s *subscription) view(
	ctx context.Context, key viewKey, memory *admission.Budget,
	make func(context.Context, *admission.Lease) (*TableView, error),
) (*TableView, func(), error) {
	v, first := s.join(key)
	kept := false
	defer func() { // though it panics
		if !kept {
			s.part(key, v)
		}
	}()
	if first {
		detached := context.WithoutCancel(ctx) // others wait for it, too
		v.memory = memory.Lease(detached)
		v.make(detached, make)
	}
	select {
	case <-v.done:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if v.err != nil {
		return nil, nil, v.err
	}
	kept = true
	return v.answer, func() { s.part(key, v) }, nil
}

func (v *view) make(ctx context.Context, make func(context.Context, *admission.Lease) (*TableView, error)) {
	defer close(v.done)
	v.err = errNotMade
	v.answer, v.err = make(ctx, v.memory)
}

// errNotMade is what others see of a view whose maker panicked.
var errNotMade = errors.New("reading the routing table for several requests failed")

func (s *subscription) join(key viewKey) (v *view, first bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	v = s.topic.views[key]
	if first = v == nil; first {
		v = &view{done: make(chan struct{})}
		s.topic.views[key] = v
	}
	v.users++
	return v, first
}

// part lets go of a view. The last one to do so gives its memory back.
func (s *subscription) part(key viewKey, v *view) {
	s.hub.mu.Lock()
	v.users--
	last := v.users == 0
	if last {
		delete(s.topic.views, key)
	}
	s.hub.mu.Unlock()
	if last {
		v.memory.Release()
	}
}
