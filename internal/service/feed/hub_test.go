package feed

import (
	"context"
	"errors"
	"testing"
	"time"

	"plannerd/internal/refusal"
	"plannerd/store"
)

// TestHub: an event wakes those who wait for its operator and nobody else, all on one watch of the
// store, and no more wait than may.
func TestHub(t *testing.T) {
	events, watches := make(chan store.Event), 0
	h := newHub(func(context.Context) (<-chan store.Event, error) {
		watches++
		return events, nil
	}, 3)
	wait := func(operator string) *subscription {
		t.Helper()
		s, err := h.subscribe(t.Context(), operator)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b, other := wait("clicks"), wait("clicks"), wait("views")
	if _, err := h.subscribe(t.Context(), "views"); reasonOf(err) != refusal.Busy {
		t.Errorf("a fourth request: %v, want busy", err)
	}
	changed := func(s *subscription) <-chan struct{} {
		h.mu.Lock()
		defer h.mu.Unlock()
		return s.topic.changed
	}
	first, second, third := changed(a), changed(b), changed(other)
	events <- store.Event{Operator: "clicks"}
	for _, c := range []<-chan struct{}{first, second} {
		select {
		case <-c:
		case <-time.After(10 * time.Second):
			t.Fatal("nobody was woken")
		}
	}
	select {
	case <-third:
		t.Error("an event of another operator woke a request")
	default:
	}
	for _, s := range []*subscription{a, b, other} {
		s.leave()
	}
	if h.count() != 0 || watches != 1 {
		t.Errorf("%d wait, and the store was watched %d times", h.count(), watches)
	}
	h.rest()
}

func reasonOf(err error) refusal.Reason {
	var refused *refusal.Error
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ""
}
