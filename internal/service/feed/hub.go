package feed

import (
	"context"
	"sync"
	"time"

	"plannerd/internal/refusal"
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
		return nil, refusal.New(refusal.Busy, "Too many requests wait for routing tables already; try again.")
	}
	h.waiting++
	t := h.topics[operator]
	if t == nil {
		t = &topic{changed: make(chan struct{})}
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
