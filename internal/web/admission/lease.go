package admission

import "context"

// Lease is a part of a budget that one request holds. It is for one goroutine.
type Lease struct {
	budget *Budget
	ctx    context.Context
	born   uint64
	caller string // "": nobody said whose it is
	open   bool
	views  bool

	pool *pool // nil: it holds nothing. Guarded by budget.mu
	held int64 // likewise
	used int64 // ≤ held, but for a moment
}

// Lease returns a lease that holds nothing yet, of the caller that [WithCaller] named. Its
// waits end with ctx. Release must be called.
func (b *Budget) Lease(ctx context.Context) *Lease {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.born++
	return &Lease{budget: b, ctx: ctx, born: b.born, caller: callerOf(ctx)}
}

// Open says that what is kept for small leases is not for this one, before it holds
// anything: nobody can tell how large it will be, or how long it will last.
func (l *Lease) Open() { l.open = true }

// View says that the lease, which holds nothing yet, is of a request that only looks: some of the
// budget is not for it.
func (l *Lease) View() { l.views = true }

// Beginning has a lease that holds nothing yet hold that many bytes of what is kept for those
// that cannot tell how large they will be, until done is called.
func (l *Lease) Beginning(bytes int64) (done func(), err error) {
	open := l.open
	l.open = true
	if err := l.Reserve(bytes); err != nil {
		return nil, err
	}
	return func() {
		l.Release()
		l.open = open
	}, nil
}

// Used is how much of the lease is in use, in bytes.
func (l *Lease) Used() int64 { return l.used }

// Expect has the lease hold that many bytes, though they are not in use yet; at
// most as many as there are, and of a caller as many as its share is: they may never be
// used. It waits for them.
func (l *Lease) Expect(bytes int64) error {
	most := l.budget.Most()
	if l.caller != "" {
		most /= 2
	}
	if bytes = min(bytes, most); bytes <= l.held {
		return nil
	}
	return l.budget.grow(l.ctx, l, bytes)
}

// Reserve takes that many bytes more into use, for which it waits where the lease
// does not hold them. A negative amount is no longer in use; the lease keeps it
// until Settle. The error is [ErrFull], an [ExceededError], or that of the context.
func (l *Lease) Reserve(bytes int64) error {
	need := l.used + bytes
	if need > l.held {
		// Twice as much, or a whole step, unless that makes a small lease a large one, or one of
		// the least a larger one, or is more than there is.
		p := l.budget.poolOf(l, need)
		ask := min(max(need, l.held+min(step, l.held)), p.most)
		if need <= p.least {
			ask = min(ask, p.least)
		}
		if err := l.budget.grow(l.ctx, l, max(need, ask)); err != nil {
			return err
		}
	}
	l.used = need
	return nil
}

// Settle says how much is in use, and gives back what the lease holds beyond.
func (l *Lease) Settle(bytes int64) error {
	if bytes > l.used {
		if err := l.Reserve(bytes - l.used); err != nil {
			return err
		}
	}
	l.used = bytes
	l.trim(bytes)
	return nil
}

// Release gives everything back. It may be called again.
func (l *Lease) Release() {
	l.used = 0
	l.trim(0)
}

// trim gives back what the lease holds beyond that many bytes.
func (l *Lease) trim(bytes int64) {
	b := l.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := l.pool; p != nil && bytes < l.held {
		b.shrink(l, bytes)
		b.serve(p)
	}
}
