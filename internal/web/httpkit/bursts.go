package httpkit

import (
	"sync"
	"time"
)

// burstPause is how long a failure that was logged is only counted when it comes again.
const burstPause = time.Minute

// maxBursts bounds how many failures are remembered.
const maxBursts = 1000

// bursts keeps a failure that comes again and again from filling the log. Its zero value
// has seen none.
type bursts struct {
	mu    sync.Mutex
	since map[string]burst
}

// burst is a failure that was logged.
type burst struct {
	logged time.Time
	more   int // how often it came since
}

// begins reports whether a failure is to be logged now, and how often it came since it was
// logged last.
func (b *bursts) begins(failure string, now time.Time) (more int, begins bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known, found := b.since[failure]
	if found && now.Sub(known.logged) < burstPause {
		known.more++
		b.since[failure] = known
		return 0, false
	}
	if b.since == nil || len(b.since) >= maxBursts {
		b.since = map[string]burst{}
	}
	b.since[failure] = burst{logged: now}
	return known.more, true
}
