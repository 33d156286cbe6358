package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// HoldReceiver implements [store.Store].
func (s *Store) HoldReceiver(ctx context.Context, receiver, holder string, lease time.Duration, at time.Time) (
	held bool, err error,
) {
	err = s.db.Update(ctx, func(q statements.Statements) error {
		by, err := q.HoldReceiver(ctx, receiver, holder, at.Add(lease), at)
		held = by == holder
		return err
	})
	return held, err
}

// PendingEvents implements [store.Store].
func (s *Store) PendingEvents(ctx context.Context, receiver string, most int, at time.Time) (
	events []store.WebhookEvent, err error,
) {
	err = s.db.Read(ctx, func(q statements.Statements) error {
		events, err = q.PendingEvents(ctx, receiver, most, at)
		return err
	})
	return events, err
}

// RemoveEvents implements [store.Store].
func (s *Store) RemoveEvents(ctx context.Context, seqs []int64) error {
	return s.db.Update(ctx, func(q statements.Statements) error {
		for _, seq := range seqs {
			if err := q.RemoveEvent(ctx, seq); err != nil {
				return err
			}
		}
		return nil
	})
}

// DelayEvent implements [store.Store].
func (s *Store) DelayEvent(ctx context.Context, seq int64, until time.Time) error {
	return s.db.Update(ctx, func(q statements.Statements) error { return q.DelayEvent(ctx, seq, until) })
}

// Announce implements [store.Store].
func (s *Store) Announce(ctx context.Context, e store.WebhookEvent, status store.Status) (announced bool, err error) {
	err = s.db.Update(ctx, func(q statements.Statements) error {
		announced = false
		if _, err := lock(ctx, q, e.Operator); err != nil {
			return err
		}
		if e.Plan != "" {
			if p, err := plan(ctx, q, e.Plan); err != nil || p.Status != status {
				return err
			}
		}
		if announced, err = q.NoteAnnounced(ctx, e.ID, e.At); err != nil || !announced {
			return err
		}
		return q.InsertEvent(ctx, e)
	})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrPurged) { // it is gone meanwhile
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("announcing %s: %w", e.ID, err)
	}
	return announced, nil
}

// Receivers implements [store.Store].
func (s *Store) Receivers(ctx context.Context) (all []store.Receiver, err error) {
	err = s.db.Read(ctx, func(q statements.Statements) error {
		all, err = q.Receivers(ctx)
		return err
	})
	return all, err
}

// WaitingPlans implements [store.Store].
func (s *Store) WaitingPlans(ctx context.Context, at time.Time) (all []store.WaitingPlan, err error) {
	err = s.db.Read(ctx, func(q statements.Statements) error {
		all, err = q.WaitingPlans(ctx, at)
		return err
	})
	return all, err
}

// purgeEvents removes events that nobody takes, and receivers that nobody asks for.
func purgeEvents(ctx context.Context, q statements.Statements, at time.Time, keep store.Keep) error {
	if keep.Receiver > 0 {
		if err := q.PurgeReceivers(ctx, at.Add(-keep.Receiver)); err != nil {
			return err
		}
	}
	all, err := q.Receivers(ctx)
	if err != nil {
		return err
	}
	most := cmp.Or(keep.MostEvents, math.MaxInt32)
	var before *time.Time
	if keep.Events > 0 {
		before = new(at.Add(-keep.Events))
	}
	for _, r := range all {
		if err := q.PurgeEvents(ctx, r.Name, before, most); err != nil {
			return err
		}
	}
	return q.ForgetAnnounced(ctx, at.Add(-keep.Purged))
}
