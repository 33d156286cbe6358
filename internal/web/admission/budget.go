// Package admission shares a budget of memory among requests: each holds a lease
// on as much as it needs, and what does not fit has to wait, or to go.
//
// Five rules keep requests from starving or blocking each other.
//
//   - Leases that want to grow come before new ones, the oldest first; new ones
//     are served in the order in which they came, and the first that does not fit
//     holds up those behind it. A semaphore would have the half-read body that
//     waits for its last megabyte queue behind bodies of which nothing was read.
//   - A share of the budget is for small leases alone, with a queue of its own, and
//     another one for the beginnings of those that cannot tell how large they will
//     be: else these would fill the first one, on their way to more. Both take of the
//     rest what nobody else wants. A quarter of the share for small leases is for the least of
//     them, which wait longer, too: a small plan is over soon, so that waiting helps.
//   - One caller has half of what is for large leases at most, and of what is for open
//     ones, but that the oldest of its leases goes on beyond: else many slow bodies of one
//     keep everybody out. Small ones that find no room elsewhere go on to three quarters.
//   - Who only looks has three quarters of each part at most, together with all others who
//     do, but for one lease alone: else slow readers of long lists keep engines out.
//   - Where every large lease waits to grow, none would ever be given back. Then
//     the youngest is refused at once, and the next youngest when that was not
//     enough, until one can go on.
//
// No wait is longer than the budget's, whatever happens.
package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// smallBytes is the most that a small lease holds, and openBytes one that cannot
	// tell how large it will be, before it is a large one.
	smallBytes = 16 << 20
	openBytes  = 2 << 20
	// leastBytes is the most that the least of small leases hold, where the share for small ones is
	// leastPart times that, and patience how many times longer than others they wait.
	leastBytes = 1 << 20
	leastPart  = 16
	patience   = 100
	// smallShare is the part of the budget that is for small leases, and that for
	// open ones.
	smallShare = 16
	// step is the least by which a lease grows that is not shorter itself, so that small
	// growth is cheap.
	step = 1 << 20
)

// ErrFull says that memory did not become free in time.
var ErrFull = errors.New("the memory budget is used up")

// ExceededError says that a lease would need more than there is for any.
type ExceededError struct {
	Need  int64 // bytes, at least
	Limit int64 // the most that one lease can hold
}

// Error names both amounts.
func (e *ExceededError) Error() string {
	return fmt.Sprintf("needs at least %d bytes of memory; the budget allows for %d", e.Need, e.Limit)
}

// Budget is an amount of memory that leases share. It is safe for concurrent use.
type Budget struct {
	wait time.Duration

	mu       sync.Mutex
	large    pool
	small    pool
	open     pool
	born     uint64 // leases so far
	refusals Refusals
}

// pool is a part of the budget, with those that wait for some of it.
type pool struct {
	size, used int64
	viewed     int64 // of used, by those who only look
	most       int64 // of one lease
	least      int64 // bytes of a lease that a quarter of it is for; 0: it is for all
	shared     bool  // no caller has more than half of it
	holders    map[*Lease]bool
	callers    map[string]*holding
	growing    []*waiter // oldest lease first
	fresh      []*waiter // in the order in which they came
}

// holding is what the leases of one caller have of a pool.
type holding struct {
	leases map[*Lease]bool
	held   int64
	oldest uint64 // of the leases
}

// waiter is a lease that waits for more.
type waiter struct {
	lease *Lease
	more  int64
	done  chan struct{} // closed when granted or refused
	err   error         // set before done is closed
}

// Refusals count what was not granted, by reason.
type Refusals struct {
	Full     int64 // memory did not become free in time
	Stalled  int64 // all leases waited for each other, and this was the youngest
	Exceeded int64 // it needs more than there is
	Share    int64 // its caller has as much as one may have
}

// Usage is how a budget stands.
type Usage struct {
	Budget, Reserved int64 // bytes
	Leases, Waiting  int
	Refusals         Refusals
}

// NewBudget returns a budget of so many bytes, for which leases wait at most so
// long.
func NewBudget(bytes int64, wait time.Duration) *Budget {
	share := bytes / smallShare
	b := &Budget{
		wait: wait, large: newPool(bytes-2*share, bytes, true), small: newPool(share, min(smallBytes, share/4*3), false),
		open: newPool(share, openBytes, true),
	}
	b.small.least = min(leastBytes, share/leastPart)
	return b
}

func newPool(size, most int64, shared bool) pool {
	return pool{size: size, most: min(size, most), shared: shared, holders: map[*Lease]bool{},
		callers: map[string]*holding{}}
}

// Most is the most that one lease can hold.
func (b *Budget) Most() int64 { return b.large.size }

// Usage tells how the budget stands.
func (b *Budget) Usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := Usage{Refusals: b.refusals}
	for _, p := range []*pool{&b.large, &b.small, &b.open} {
		u.Budget += p.size
		u.Reserved += p.used
		u.Leases += len(p.holders)
		u.Waiting += len(p.growing) + len(p.fresh)
	}
	return u
}

// poolOf is where a lease gets that many bytes from. What was a large one once
// stays one.
func (b *Budget) poolOf(l *Lease, bytes int64) *pool {
	small := &b.small
	if l.open {
		small = &b.open
	}
	if bytes <= small.most && l.pool != &b.large {
		return small
	}
	return &b.large
}

// grow brings a lease from what it holds to that many bytes, or more by a step
// where that fits at once.
func (b *Budget) grow(ctx context.Context, l *Lease, bytes int64) error {
	b.mu.Lock()
	p := b.poolOf(l, bytes)
	if bytes > p.size {
		b.refusals.Exceeded++
		b.mu.Unlock()
		return &ExceededError{Need: bytes, Limit: p.size}
	}
	if p != &b.large && !p.fits(l, bytes) && b.large.fits(l, bytes) {
		p = &b.large // where nobody wants it
	}
	more := bytes
	if l.pool == p {
		more -= l.held
	}
	w := &waiter{lease: l, more: more, done: make(chan struct{})}
	wait := b.wait
	if l.with(p, more) <= p.least {
		wait *= patience
	}
	// A lease that becomes a large one keeps its small part until it has the
	// whole in the other pool. To that it is new.
	if l.pool == p {
		at, _ := slices.BinarySearchFunc(p.growing, l.born,
			func(w *waiter, born uint64) int { return cmp.Compare(w.lease.born, born) })
		p.growing = slices.Insert(p.growing, at, w)
	} else {
		p.fresh = append(p.fresh, w)
	}
	b.serve(p)
	b.mu.Unlock()
	return b.await(ctx, p, w, wait)
}

// await waits until w is granted or refused, or its time is up.
func (b *Budget) await(ctx context.Context, p *pool, w *waiter, wait time.Duration) error {
	select {
	case <-w.done:
		return w.err
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	err := ErrFull
	select {
	case <-w.done:
		return w.err
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-w.done: // meanwhile
		return w.err
	default:
	}
	switch {
	case !errors.Is(err, ErrFull):
	case p.allows(w.lease, w.more):
		b.refusals.Full++
	default:
		b.refusals.Share++
	}
	p.drop(w)
	b.serve(p) // it may have held up others
	return err
}

// serve grants what fits, and refuses the youngest of leases that all wait.
func (b *Budget) serve(p *pool) {
	for {
		if w := p.next(); w != nil && p.used+w.more <= p.size {
			p.drop(w)
			b.grant(p, w)
			continue
		}
		if len(p.growing) < 2 || len(p.growing) < len(p.holders) {
			return
		}
		youngest := p.growing[len(p.growing)-1]
		p.drop(youngest)
		b.refusals.Stalled++
		youngest.err = ErrFull
		close(youngest.done)
		// What it holds is free once its request has let go of it.
		return
	}
}

// grant gives a waiter what it waits for.
func (b *Budget) grant(p *pool, w *waiter) {
	l := w.lease
	p.take(l, w.more)
	if l.pool != p {
		b.shrink(l, 0)
		p.join(l)
	}
	l.held += w.more
	p.callers[l.caller].held += w.more
	close(w.done)
}

// shrink takes a lease down to that many bytes in its pool. With 0 it is over.
func (b *Budget) shrink(l *Lease, bytes int64) {
	p := l.pool
	if p == nil || bytes >= l.held {
		return
	}
	p.take(l, bytes-l.held)
	p.callers[l.caller].held -= l.held - bytes
	l.held = bytes
	if bytes == 0 {
		p.leave(l)
	}
}

// take counts bytes of a lease as used.
func (p *pool) take(l *Lease, bytes int64) {
	if p.used += bytes; l.views {
		p.viewed += bytes
	}
}

// join makes a lease one of the pool, of which it holds nothing yet.
func (p *pool) join(l *Lease) {
	l.pool, l.held = p, 0
	p.holders[l] = true
	h := p.callers[l.caller]
	if h == nil {
		h = &holding{leases: map[*Lease]bool{}, oldest: l.born}
		p.callers[l.caller] = h
	}
	h.leases[l], h.oldest = true, min(h.oldest, l.born)
}

// leave is the reverse of join.
func (p *pool) leave(l *Lease) {
	l.pool = nil
	delete(p.holders, l)
	h := p.callers[l.caller]
	delete(h.leases, l)
	if len(h.leases) == 0 {
		delete(p.callers, l.caller)
	}
	if l.born == h.oldest {
		h.oldest = math.MaxUint64
		for other := range h.leases {
			h.oldest = min(h.oldest, other.born)
		}
	}
}

// with is how much a lease holds of a pool with so many bytes more.
func (l *Lease) with(p *pool, more int64) int64 {
	if l.pool == p {
		return l.held + more
	}
	return more
}

// allows tells whether a lease may have more, as far as its caller's share goes, and those of the
// least leases and of those who only look. Where nobody said whose it is there is no share of the caller.
func (p *pool) allows(l *Lease, more int64) bool {
	if l.with(p, more) > p.least && p.least > 0 && p.used+more > p.size/4*3 {
		return false
	}
	if l.views {
		others := p.viewed
		if l.pool == p {
			others -= l.held
		}
		if others > 0 && p.viewed+more > p.size/4*3 {
			return false
		}
	}
	h := p.callers[l.caller]
	if !p.shared || h == nil || l.caller == "" || l.born <= h.oldest {
		return true
	}
	bytes, share := l.with(p, more), p.size/2
	if bytes <= min(smallBytes, p.size/smallShare) {
		share += p.size / 4
	}
	return h.held+more <= share
}

// fits reports whether there is room for that many bytes of a lease which is new to the
// pool, and nobody else wants it.
func (p *pool) fits(l *Lease, bytes int64) bool {
	return p.next() == nil && p.used+bytes <= p.size && p.allows(l, bytes)
}

// next is the waiter whose turn it is.
func (p *pool) next() *waiter {
	for _, queue := range [][]*waiter{p.growing, p.fresh} {
		for _, w := range queue {
			if p.allows(w.lease, w.more) {
				return w
			}
		}
	}
	return nil
}

// drop takes a waiter out of its queue.
func (p *pool) drop(w *waiter) {
	is := func(o *waiter) bool { return o == w }
	p.growing, p.fresh = slices.DeleteFunc(p.growing, is), slices.DeleteFunc(p.fresh, is)
}
