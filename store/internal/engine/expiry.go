package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// lapsed tells whether a plan has expired by then, written down or not.
func lapsed(p store.Plan, at time.Time) bool {
	waits := p.Status == store.StatusProposed || p.Status == store.StatusApproved
	return waits && p.ExpiresAt != nil && !p.ExpiresAt.After(at)
}

// lapse is the transition of a plan that lapsed.
func lapse(p store.Plan) store.Transition {
	reason := "it was not approved in time"
	if p.Status == store.StatusApproved {
		reason = "it was not started in time"
	}
	return store.Transition{
		From: p.Status, To: store.StatusExpired, Actor: store.Expirer, Reason: reason, At: *p.ExpiresAt,
	}
}

// asOf is the plan as a reader sees it at a time.
func asOf(p store.Plan, at time.Time) store.Plan {
	if lapsed(p, at) {
		p.Status = store.StatusExpired
	}
	return p
}

// expire writes down which of an operator's plans have expired.
func expire(ctx context.Context, q statements.Statements, r statements.Row, at time.Time) (n int, err error) {
	waiting, err := q.InStatus(ctx, r.ID, store.StatusProposed, store.StatusApproved)
	if err != nil {
		return 0, err
	}
	for _, p := range waiting {
		if !lapsed(p.Plan, at) {
			continue
		}
		if err := setStatus(ctx, q, p, store.StatusExpired, lapse(p.Plan)); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Expire implements [store.Store].
func (s *Store) Expire(ctx context.Context, at time.Time) (n int, err error) {
	var operators []string
	err = s.db.Read(ctx, func(q statements.Statements) error {
		operators, err = q.Expiring(ctx, at)
		return err
	})
	for _, name := range operators {
		if err != nil {
			break
		}
		var some int
		err = s.db.Update(ctx, func(q statements.Statements) error {
			r, err := lock(ctx, q, name)
			if err == nil {
				some, err = expire(ctx, q, r, at)
			}
			if errors.Is(err, store.ErrNotFound) { // it was deleted meanwhile
				some, err = 0, nil
			}
			return err
		})
		if err == nil {
			n += some
		}
	}
	if err != nil {
		return n, fmt.Errorf("expiring plans: %w", err)
	}
	return n, nil
}
