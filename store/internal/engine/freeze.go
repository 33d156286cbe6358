package engine

import (
	"context"
	"encoding/json"
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
		was, err := q.SetFreeze(ctx, operator, f)
		if err != nil {
			return store.Outcome{}, err
		}
		e := store.FreezeEvent{At: s.now(), Actor: repair(store.ActorOf(ctx))}
		switch {
		case f != nil:
			e.At, e.Actor, e.Freeze = f.Since, f.Actor, *f
		case was == nil || !was.Until.After(e.At):
			return store.Outcome{}, nil
		default:
			e.Ended, e.Freeze = true, *was
		}
		if err := tellFreeze(ctx, q, operator, e); err != nil {
			return store.Outcome{}, err
		}
		return store.Outcome{}, q.Tell(ctx, operator)
	})
	if err != nil {
		return fmt.Errorf("freezing operator %q: %w", operator, err)
	}
	return nil
}

// tellFreeze keeps what happened to a freeze, and announces it.
func tellFreeze(ctx context.Context, q statements.Statements, operator string, e store.FreezeEvent) error {
	id, err := q.InsertFreezeEvent(ctx, operator, e, store.KeptFreezes)
	if err != nil {
		return err
	}
	told := store.WebhookEvent{
		ID: fmt.Sprintf("freeze-%d", id), Type: "plannerd.operator.frozen", Operator: operator, At: e.At,
	}
	if e.Ended {
		told.Type = "plannerd.operator.unfrozen"
	}
	told.Data, err = json.Marshal(struct {
		Actor  string    `json:"actor"` // who began it, or ended it
		Until  time.Time `json:"until"`
		Reason string    `json:"reason"`
		All    bool      `json:"all"`
	}{e.Actor, e.Until.UTC(), e.Reason, e.All})
	if err != nil {
		return err
	}
	return q.InsertEvent(ctx, told)
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
