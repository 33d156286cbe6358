package admission

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// queued are slots that callers take in the background. Whoever got one is in order.
type queued struct {
	*Slots
	mu    sync.Mutex
	order []string
	gone  map[string]error
	give  map[string]func() // slots back
	all   sync.WaitGroup
}

func (q *queued) take(ctx context.Context, name string, within time.Duration) {
	caller, _, _ := strings.Cut(name, " ")
	q.all.Go(func() {
		release, err := q.Take(WithCaller(ctx, caller), within)
		q.mu.Lock()
		defer q.mu.Unlock()
		if err != nil {
			q.gone[name] = err
			return
		}
		q.order = append(q.order, name)
		q.give[name] = release
	})
	synctest.Wait()
}

// finish gives back each slot, in the order in which they were taken, and compares that.
func (q *queued) finish(t *testing.T, want ...string) {
	t.Helper()
	for given := 0; given < len(q.order); { // it grows
		q.give[q.order[given]]()
		given++
		synctest.Wait()
	}
	q.all.Wait()
	if !slices.Equal(q.order, want) {
		t.Errorf("served %q, want %q", q.order, want)
	}
	if u := q.Usage(); u.Busy != 0 || u.Waiting != 0 || len(q.callers) != 0 {
		t.Errorf("left behind: %+v, %v", u, q.callers)
	}
}

func newQueued(size, most int) *queued {
	return &queued{Slots: NewSlots(size, most, nil), gone: map[string]error{}, give: map[string]func(){}}
}

// TestSlotsAreShared: callers take turns, whatever another one has put into the queue
// before.
func TestSlotsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(2, 10)
		for _, name := range []string{"a 1", "a 2", "a 3", "a 4", "b 1", "c 1"} {
			q.take(t.Context(), name, time.Hour)
		}
		if u := q.Usage(); u != (SlotUsage{Size: 2, Busy: 2, Waiting: 4}) {
			t.Errorf("%+v", u)
		}
		q.finish(t, "a 1", "a 2", "b 1", "c 1", "a 3", "a 4")
	})
}

// TestSlotsQueue: a queue that is full refuses whoever has the most in it, not who comes.
func TestSlotsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueued(1, 3)
		for _, name := range []string{"a 1", "a 2", "a 3", "a 4", "a 5", "b 1", "c 1"} {
			q.take(t.Context(), name, time.Hour)
		}
		for _, name := range []string{"a 5", "a 4", "a 3"} {
			if err := q.gone[name]; !errors.Is(err, ErrQueue) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if u := q.Usage(); len(q.gone) != 3 || u.Waiting != 3 || u.Refusals != 3 {
			t.Errorf("%v, %+v", q.gone, u)
		}
		q.finish(t, "a 1", "b 1", "c 1", "a 2")
	})
}

// TestSlotsInTime: a wait has an end, and so has who waits.
func TestSlotsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waited []time.Duration
		q := newQueued(1, 3)
		q.waited = func(d time.Duration) { waited = append(waited, d) }
		q.take(t.Context(), "a 1", 0)
		ctx, cancel := context.WithCancel(t.Context())
		q.take(t.Context(), "a 2", time.Second)
		q.take(ctx, "a 3", math.MaxInt64)
		time.Sleep(time.Second)
		cancel()
		synctest.Wait()
		if !errors.Is(q.gone["a 2"], ErrQueue) || !errors.Is(q.gone["a 3"], context.Canceled) {
			t.Errorf("%v", q.gone)
		}
		if _, err := q.Take(ctx, time.Hour); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		q.take(t.Context(), "a 4", time.Hour)
		time.Sleep(time.Minute)
		q.finish(t, "a 1", "a 4")
		if u := q.Usage(); u.Refusals != 1 || !slices.Equal(waited, []time.Duration{0, time.Minute}) {
			t.Errorf("%+v, %v", u, waited)
		}
	})
}
