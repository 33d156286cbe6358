package feed

import (
	"context"
	"errors"
	"sync"

	"plannerd/internal/web/admission"
)

// viewKey is what a view is of: what there was after an event of that number, or else, without one,
// in that state or a later one.
type viewKey struct {
	TableQuery
	generation uint64
	state      TableState
}

// view is an answer that requests share, and the memory that it takes.
type view struct {
	done   chan struct{}
	answer *TableView
	err    error
	memory *admission.Lease // nil: it was not made
	users  int
}

// views are the answers that requests share at the time.
type views struct {
	mu  sync.Mutex
	all map[viewKey]*view
}

// makeView reads an answer into memory that the lease holds, which is to be released also after an
// error.
type makeView func(ctx context.Context) (*TableView, *admission.Lease, error)

// get returns the view of a key: one of those who want it makes it, all others wait. The
// function it returns lets go of it.
func (s *views) get(ctx context.Context, key viewKey, make makeView) (*TableView, func(), error) {
	v, first := s.join(key)
	kept := false
	defer func() { // though it panics
		if !kept {
			s.part(key, v)
		}
	}()
	if first {
		v.make(context.WithoutCancel(ctx), make) // others wait for it, too
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

func (v *view) make(ctx context.Context, make makeView) {
	defer close(v.done)
	v.err = errNotMade
	v.answer, v.memory, v.err = make(ctx)
}

// errNotMade is what others see of a view whose maker panicked.
var errNotMade = errors.New("reading the routing table for several requests failed")

func (s *views) join(key viewKey) (v *view, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v = s.all[key]
	if first = v == nil; first {
		v = &view{done: make(chan struct{})}
		s.all[key] = v
	}
	v.users++
	return v, first
}

// part lets go of a view. The last one to do so gives its memory back.
func (s *views) part(key viewKey, v *view) {
	s.mu.Lock()
	v.users--
	last := v.users == 0
	if last {
		delete(s.all, key)
	}
	s.mu.Unlock()
	if last && v.memory != nil {
		v.memory.Release()
	}
}
