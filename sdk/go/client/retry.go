package client

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"plannerd/sdk/go/wire"
)

// Retry says how calls are repeated. The time before the next attempt is drawn evenly
// from zero to a bound that doubles each time ("full jitter"), so that many clients whose
// server was away do not come back at once. Where the answer has Retry-After, that is
// waited for first.
type Retry struct {
	// Attempts is how often a call is tried at most; 1: there are no retries. Defaults to 5.
	Attempts int
	// Base is the bound of the first wait. Defaults to 100 ms.
	Base time.Duration
	// Cap is what the bound grows to. Defaults to 5 s.
	Cap time.Duration
	// Patience is the longest Retry-After that is waited for; a call that is told to wait
	// longer fails. Defaults to 30 s.
	Patience time.Duration
}

func (r Retry) withDefaults() Retry {
	r.Attempts = cmp.Or(max(r.Attempts, 0), 5)
	r.Base = cmp.Or(max(r.Base, 0), 100*time.Millisecond)
	r.Cap = cmp.Or(max(r.Cap, 0), 5*time.Second)
	r.Patience = cmp.Or(max(r.Patience, 0), 30*time.Second)
	return r
}

// after returns how long to wait after an attempt, counted from 1, that failed, and
// whether to repeat it at all.
func (r Retry) after(err error, attempt int) (time.Duration, bool) {
	if attempt >= r.Attempts {
		return 0, false
	}
	bound := r.Cap
	if attempt < 32 {
		bound = min(bound, r.Base<<(attempt-1))
	}
	wait := rand.N(bound + 1)
	var answered *Error
	if !errors.As(err, &answered) {
		return wait, true // nobody knows whether the request came through
	}
	return wait + answered.RetryAfter, answered.Temporary() && answered.RetryAfter <= r.Patience
}

// Temporary reports whether the same request may succeed later, without anybody doing
// anything about it.
func (e *Error) Temporary() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return e.Code == wire.CodeIdempotencyKeyRunning
}

// sleep waits, or returns the context's error when that ends first. It does not begin to
// wait for what comes after the context's deadline.
func sleep(ctx context.Context, d time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
