package api

import (
	"context"
	"errors"
	"time"

	"github.com/go-chi/chi/v5"

	"plannerd/store"
)

// Server is the API as a handler, with what it does unasked.
type Server struct {
	*chi.Mux

	server *server
}

// Run does until ctx ends what no request does: it writes down what has expired
// and forgets idempotency keys that are too old. Any number of replicas may.
func (s *Server) Run(ctx context.Context) {
	tick := time.NewTicker(s.server.limits.SweepEvery)
	defer tick.Stop()
	for {
		s.server.sweep(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// idempotencyAge is how long an idempotency key is kept.
const idempotencyAge = 24 * time.Hour

// sweep does once what Run does again and again.
func (s *server) sweep(ctx context.Context) {
	now := s.now()
	n, err := s.store.Expire(ctx, now)
	s.metrics.expired.Add(float64(n))
	if err == nil {
		_, err = s.store.PurgeIdempotency(ctx, now.Add(-idempotencyAge))
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrUnavailable) { // of that the log has it from when it began
		s.log.WarnContext(ctx, "sweeping failed, it is tried again", "in", s.limits.SweepEvery.String(), "error", err)
	}
}
