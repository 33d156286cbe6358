package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// RegisterRouter implements [store.Store].
func (s *Store) RegisterRouter(
	ctx context.Context, operator, router string, epoch *int64, lease time.Duration, at time.Time,
) (r store.Router, created bool, err error) {
	if router == "" || !storable(router) {
		return r, false, fmt.Errorf("store: router %q: it must be UTF-8 without NUL, and not empty", router)
	}
	err = s.update(ctx, func(q statements.Statements) (store.Outcome, error) {
		r, created, err = registerRouter(ctx, q, operator, router, epoch, lease, at)
		return store.Outcome{Created: created}, err
	})
	if err != nil {
		return store.Router{}, false, fmt.Errorf("registering router %q of operator %q: %w", router, operator, err)
	}
	return r, created, nil
}

func registerRouter(
	ctx context.Context, q statements.Statements, operator, name string, epoch *int64, lease time.Duration, at time.Time,
) (r store.Router, created bool, err error) {
	op, err := lock(ctx, q, operator)
	if err != nil {
		return r, false, err
	}
	r, err = q.Router(ctx, op.ID, name)
	if created = errors.Is(err, store.ErrNotFound); err != nil && !created {
		return r, false, err
	}
	if epoch != nil {
		if created || r.Epoch != *epoch {
			return r, false, store.ErrRouterFenced
		}
		r.ExpiresAt = instant(at.Add(lease))
		return r, false, q.SaveRouter(ctx, op.ID, r)
	}
	// A program that does not know of routers would start plans without them.
	if err := q.RaiseOldestProgram(ctx, statements.WithRouters); err != nil {
		return r, false, err
	}
	r = store.Router{Name: name, RegisteredAt: instant(at), ExpiresAt: instant(at.Add(lease))}
	if r.Epoch, err = q.NextRouterEpoch(ctx, op.ID); err != nil {
		return r, false, err
	}
	return r, created, q.SaveRouter(ctx, op.ID, r)
}

// instant is a time as stores return it.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Routers implements [store.Store].
func (s *Store) Routers(ctx context.Context, operator string) (all []store.Router, err error) {
	err = s.about(ctx, operator, ofRow(ctx, operator, func(q statements.Statements, r statements.Row) (err error) {
		all, err = q.Routers(ctx, r.ID)
		return err
	}))
	return all, err
}

// DeleteRouter implements [store.Store].
func (s *Store) DeleteRouter(ctx context.Context, operator, router string) error {
	err := s.update(ctx, func(q statements.Statements) (store.Outcome, error) {
		if !storable(router) {
			return store.Outcome{}, store.ErrNotFound
		}
		return store.Outcome{}, deleteRouter(ctx, q, operator, router)
	})
	if err != nil {
		return fmt.Errorf("router %q of operator %q: %w", router, operator, err)
	}
	return nil
}

func deleteRouter(ctx context.Context, q statements.Statements, operator, name string) error {
	op, err := lock(ctx, q, operator)
	if err != nil {
		return err
	}
	found, err := q.DeleteRouter(ctx, op.ID, name)
	if err != nil {
		return err
	}
	if !found {
		return store.ErrNotFound
	}
	inFlight, err := q.InStatus(ctx, op.ID, store.StatusApplying, store.StatusAborting)
	if err != nil {
		return err
	}
	for _, one := range inFlight { // at most one
		p, err := plan(ctx, q, one.ID)
		if err != nil {
			return err
		}
		if _, named := p.Routers[name]; named {
			return fmt.Errorf("plan %q: %w", p.ID, store.ErrRouterAwaited)
		}
	}
	return nil
}

// freezeRouters notes which routers there are when a plan is started, or a batch of it begins. Those whose leases
// have run out are among them: messages that they sent before may be on their way still.
// One that is registered later reads the table later, and holds back what the plan moves.
func freezeRouters(ctx context.Context, q statements.Statements, r statements.Row, p statements.PlanRow) error {
	all, err := q.Routers(ctx, r.ID)
	if err != nil {
		return err
	}
	frozen := make(map[string]int64, len(all))
	for _, one := range all {
		frozen[one.Name] = one.Epoch
	}
	return q.SetRouters(ctx, p.Seq, frozen)
}
