package feed

import (
	"context"
	"fmt"
	"time"

	"plannerd/internal/refusal"
	"plannerd/planner"
	"plannerd/store"
)

// Router is a router of an engine, as it stands.
type Router struct {
	store.Router
	Expired bool // its lease has run out: it counts as lost, and stays registered
	Created bool // it is new
}

// What leases of routers may be.
const (
	shortestLease = time.Second
	longestLease  = 24 * time.Hour
)

// RegisterRouter registers a router under another epoch; or, with the epoch of its last
// registration, extends its lease.
func (s *Feed) RegisterRouter(
	ctx context.Context, operator, router string, epoch *int64, lease time.Duration,
) (Router, error) {
	if lease < shortestLease || lease > longestLease {
		return Router{}, planner.Invalid("lease", fmt.Sprintf("must be from %v to %v", shortestLease, longestLease))
	}
	now, err := s.Store.Now(ctx)
	if err != nil {
		return Router{}, refusal.AboutStore(err)
	}
	r, created, err := s.Store.RegisterRouter(ctx, operator, router, epoch, lease, now)
	return Router{Router: r, Created: created}, refusal.AboutOperator(operator, err)
}

// Routers lists the routers of an operator.
func (s *Feed) Routers(ctx context.Context, operator string) ([]Router, error) {
	all, err := s.Store.Routers(ctx, operator)
	if err != nil {
		return nil, refusal.AboutOperator(operator, err)
	}
	now, err := s.Store.Now(ctx)
	if err != nil {
		return nil, refusal.AboutStore(err)
	}
	out := make([]Router, len(all))
	for i, r := range all {
		out[i] = Router{Router: r, Expired: !now.Before(r.ExpiresAt)}
	}
	return out, nil
}

// RemoveRouter removes a router that no plan which is being carried out names.
func (s *Feed) RemoveRouter(ctx context.Context, operator, router string) error {
	if _, err := s.StoredOperator(ctx, operator); err != nil {
		return err
	}
	return refusal.About(s.Store.DeleteRouter(ctx, operator, router), refusal.RouterNotFound,
		fmt.Sprintf("router %q of operator %q", router, operator))
}
