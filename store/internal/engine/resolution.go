package engine

import (
	"bytes"
	"context"
	"fmt"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// ResolvePlan implements [store.Store].
func (s *Store) ResolvePlan(ctx context.Context, id string, r store.Resolution, by store.Transition,
	guards ...store.PlanGuard) (store.Plan, error) {
	r.Changes = sorted(r.Changes)
	diff, err := store.EncodeChanges(r.Changes) // before the transaction: it takes its time
	if err != nil {
		return store.Plan{}, fmt.Errorf("plan %q: %w", id, err)
	}
	if len(r.Changes) == 0 {
		diff = nil
	}
	p, _, err := s.change(ctx, id, by, guards, func(q statements.Statements, row statements.Row, p statements.PlanRow,
		by store.Transition) (bool, error) {
		if err := resolvable(row, p.Plan); err != nil {
			return false, err
		}
		same, err := resolvedAs(ctx, q, p, r, diff)
		if same || err != nil {
			return false, err
		}
		return true, resolve(ctx, q, row, p, r, diff, by)
	})
	return p, err
}

// resolve gives a plan its resolution; diff is its changes, encoded, nil: none.
func resolve(ctx context.Context, q statements.Statements, row statements.Row, p statements.PlanRow,
	r store.Resolution, diff []byte,
	by store.Transition) error {
	var diffID *int64
	if diff != nil {
		id, err := q.InsertDiff(ctx, row.ID, diff)
		if err != nil {
			return err
		}
		diffID = &id
	}
	if err := q.SetResolution(ctx, p, diffID, r); err != nil {
		return err
	}
	by.From, by.To = p.Status, p.Status
	return q.InsertTransition(ctx, p.Seq, by)
}

// resolvedAs tells whether the plan has this resolution already.
func resolvedAs(ctx context.Context, q statements.Statements, p statements.PlanRow, r store.Resolution,
	diff []byte) (bool, error) {
	if p.ResolvedKeys == nil || *p.ResolvedKeys != r.Keys || p.TableAfter != r.TableAfter ||
		p.TableWithinLimit != r.TableWithinLimit ||
		(p.DiffID == nil) != (diff == nil) {
		return false, nil
	}
	if diff == nil {
		return true, nil
	}
	before, err := q.Diff(ctx, *p.DiffID)
	return bytes.Equal(before, diff), err
}

// resolvable tells whether a plan can be given a resolution.
func resolvable(r statements.Row, p store.Plan) error {
	switch {
	case p.Status != store.StatusApproved:
		return fmt.Errorf("resolving what is %s: %w", p.Status, store.ErrTransition)
	case !p.Classes:
		return fmt.Errorf("resolving what is a plan of keys: %w", store.ErrTransition)
	case p.EngineTable:
		return fmt.Errorf("resolving what the engine holds the table of: %w", store.ErrTransition)
	case p.BaseVersion != r.TableVersion:
		return store.ErrBaseChanged
	}
	return nil
}

// unresolved tells whether a plan must be resolved before it is committed.
func unresolved(p store.Plan) bool {
	return p.Classes && !p.EngineTable && p.ResolvedKeys == nil
}
