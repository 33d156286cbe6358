package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is the clock of the database, as this process knows it.
type clock struct {
	given func() time.Time // takes its place; nil: nothing does
	// ahead is how far the database was ahead of this machine when it was last asked.
	ahead atomic.Int64
}

// Now implements [store.Store].
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	before := time.Now()
	now, err := s.db.Now(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if s.clock.given != nil {
		return s.clock.given(), nil
	}
	s.clock.ahead.Store(int64(now.Sub(before.Add(time.Since(before) / 2))))
	return now, nil
}

// now is about Now, for what only reads: asking the database would cost each read a round
// trip.
func (s *Store) now() time.Time {
	if s.clock.given != nil {
		return s.clock.given()
	}
	return time.Now().Add(time.Duration(s.clock.ahead.Load()))
}
