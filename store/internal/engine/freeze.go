package engine

import (
	"context"
	"fmt"
	"time"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// Freeze implements [store.Store].
func (s *Store) Freeze(ctx context.Context, operator string, f *store.Freeze) error {
	err := s.update(ctx, func(q statements.Statements) (store.Outcome, error) {
		if operator != "" {
			if _, err := lock(ctx, q, operator); err != nil {
				return store.Outcome{}, err
			}
		}
		if err := q.SetFreeze(ctx, operator, f); err != nil {
			return store.Outcome{}, err
		}
		return store.Outcome{}, q.Tell(ctx, operator)
	})
	if err != nil {
		return fmt.Errorf("freezing operator %q: %w", operator, err)
	}
	return nil
}

// startable tells whether a plan may be started, as far as its status and freezes say.
func startable(ctx context.Context, q statements.Statements, r statements.Row, p statements.PlanRow,
	at time.Time) error {
	if _, err := step(p.Status, store.StatusApplying); err != nil {
		return err
	}
	return notFrozen(ctx, q, r, at)
}

// notFrozen refuses what a freeze does not allow.
func notFrozen(ctx context.Context, q statements.Statements, r statements.Row, at time.Time) error {
	f, err := q.Freeze(ctx, r.Name, at)
	if f == nil || err != nil {
		return err
	}
	return &store.FrozenError{Freeze: *f}
}
