package engine

import (
	"cmp"
	"context"
	"fmt"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// insertBatches writes the batches of a plan.
func insertBatches(ctx context.Context, q statements.Statements, seq int64, batches []store.NewBatch) error {
	if len(batches) == 0 {
		return nil
	}
	// A program that knows nothing of batches would commit the plan with the first one.
	if err := q.RaiseOldestProgram(ctx, statements.WithBatches); err != nil {
		return err
	}
	for i, b := range batches {
		changes, err := store.EncodeChanges(sorted(b.Changes))
		if err != nil {
			return fmt.Errorf("batch %d: %w", i+1, err)
		}
		held, err := store.EncodeChanges(sorted(b.Held))
		if err != nil {
			return fmt.Errorf("batch %d: %w", i+1, err)
		}
		if err := q.InsertBatch(ctx, seq, int64(i+1), b.Batch, changes, held); err != nil {
			return err
		}
	}
	return nil
}

// pendingBatch returns what the batch does that a plan hands over, as it is stored, too.
func pendingBatch(ctx context.Context, q statements.Statements, p statements.PlanRow) (
	data []byte, changes, held []store.Change, err error,
) {
	data, heldData, err := q.BatchData(ctx, p.Seq, p.BatchesDone+1)
	if err == nil {
		changes, err = store.DecodeChanges(data)
	}
	if err == nil {
		held, err = store.DecodeChanges(heldData)
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("batch %d of plan %q: %w", p.BatchesDone+1, p.ID, err)
	}
	return data, changes, held, nil
}

// commitNext commits the batch that a plan hands over, and the plan with the last one; one
// that was not started is committed whole.
func commitNext(ctx context.Context, q statements.Statements, r statements.Row, p statements.PlanRow,
	to store.Transition, keep store.Retention) error {
	if p.BatchCount == 0 || p.Status != store.StatusApplying {
		return commitPlan(ctx, q, r, p, to, keep)
	}
	if err := ready(ctx, q, r, p); err != nil {
		return err
	}
	data, changes, _, err := pendingBatch(ctx, q, p)
	if err != nil {
		return err
	}
	if p.DiffID = nil; len(changes) > 0 {
		id, err := q.InsertDiff(ctx, r.ID, data)
		if err != nil {
			return err
		}
		p.DiffID = &id
	}
	done := p.BatchesDone + 1
	last := done == p.BatchCount || p.Stopping
	if to.From, to.To = p.Status, p.Status; last {
		to.To = store.StatusCommitted
	}
	if err := q.InsertTransition(ctx, p.Seq, to); err != nil {
		return err
	}
	if err := advance(ctx, q, &r, p, changes, to); err != nil {
		return err
	}
	if err := q.SetBatchesDone(ctx, p.Seq, done, done, r.TableVersion); err != nil {
		return err
	}
	if last {
		err = q.SetStatus(ctx, p.Seq, store.StatusCommitted, &r.TableVersion)
	} else {
		err = beginBatch(ctx, q, r, p, p.Batches[done])
	}
	if err != nil {
		return err
	}
	if err := q.Save(ctx, r); err != nil {
		return err
	}
	return retain(ctx, q, r, keep, to.At)
}

// beginBatch has a plan wait for a batch. Routers that were registered since the one before
// have sent messages of its keys.
func beginBatch(ctx context.Context, q statements.Statements, r statements.Row, p statements.PlanRow,
	b store.Batch) error {
	if err := q.BeginBatch(ctx, p.Seq, b.Awaited); err != nil {
		return err
	}
	return freezeRouters(ctx, q, r, p)
}

// StopPlan implements [store.Store].
func (s *Store) StopPlan(ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard) (
	store.Plan, error,
) {
	p, _, err := s.change(ctx, id, by, guards, func(q statements.Statements, _ statements.Row, p statements.PlanRow,
		by store.Transition) (bool, error) {
		switch {
		case p.Status == store.StatusCommitted, p.Status == store.StatusApplying && p.Stopping:
			return false, nil
		case p.Status != store.StatusApplying:
			return false, fmt.Errorf("stopping what is %s: %w", p.Status, store.ErrTransition)
		}
		by.From, by.To = p.Status, p.Status
		by.Reason = cmp.Or(by.Reason, fmt.Sprintf("it ends with batch %d", p.BatchesDone+1))
		if err := q.InsertTransition(ctx, p.Seq, by); err != nil {
			return false, err
		}
		return true, q.SetStopping(ctx, p.Seq)
	})
	return p, err
}
