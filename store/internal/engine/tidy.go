package engine

import (
	"context"
	"fmt"
	"time"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// Tidy implements [store.Store].
func (s *Store) Tidy(ctx context.Context, at time.Time, keep store.Keep) error {
	err := s.db.Update(ctx, func(q statements.Statements) error {
		if err := q.PurgeKeys(ctx, at.Add(-keep.Keys), keep.MostKeys); err != nil {
			return err
		}
		if keep.Routers > 0 {
			if err := q.PurgeRouters(ctx, at.Add(-keep.Routers)); err != nil {
				return err
			}
		}
		if err := purgeEvents(ctx, q, at, keep); err != nil {
			return err
		}
		return q.ForgetPurged(ctx, at.Add(-keep.Purged))
	})
	if err == nil {
		err = s.db.Compact(ctx)
	}
	if err != nil {
		return fmt.Errorf("tidying up: %w", err)
	}
	return nil
}
