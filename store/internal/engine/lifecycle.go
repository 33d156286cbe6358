package engine

import (
	"context"
	"errors"
	"fmt"

	"plannerd/store"
)

// CreatePlan implements [store.Store].
func (s *Store) CreatePlan(ctx context.Context, in store.NewPlan, by store.Transition) (p store.Plan, created bool, err error) {
	in.Version, in.ResolvedKeys = nil, nil
	if err := checkPlan(&in); err != nil {
		return store.Plan{}, false, err
	}
	in.Changes = sorted(in.Changes)
	diff, err := store.EncodeChanges(in.Changes) // before the transaction: it takes its time
	if err != nil {
		return store.Plan{}, false, fmt.Errorf("plan %q: %w", in.ID, err)
	}
	err = s.db.Update(ctx, func(q Statements) error {
		p, created, err = createPlan(ctx, q, in, diff, repairTransition(by))
		return err
	})
	if err != nil {
		return store.Plan{}, false, fmt.Errorf("creating a plan of operator %q, interval %d: %w", in.Operator, in.Interval, err)
	}
	return p, created, nil
}

func createPlan(ctx context.Context, q Statements, in store.NewPlan, diff []byte, by store.Transition) (store.Plan, bool, error) {
	if !storable(in.Operator) {
		return store.Plan{}, false, store.ErrNotFound
	}
	r, err := lock(ctx, q, in.Operator)
	if err != nil {
		return store.Plan{}, false, err
	}
	live, planned, err := livePlan(ctx, q, in.Operator, in.Epoch, in.Interval)
	if err != nil {
		return store.Plan{}, false, err
	}
	if planned && live.Fingerprint == in.Fingerprint {
		return live.Plan, false, nil
	}
	if planned {
		return store.Plan{}, false, store.ErrIntervalPlanned
	}
	if err := admit(r, in.Plan); err != nil {
		return store.Plan{}, false, err
	}
	if err := checkReports(ctx, q, r, in); err != nil {
		return store.Plan{}, false, err
	}
	r.Epoch, r.Interval = &in.Epoch, &in.Interval
	p, err := insert(ctx, q, r.ID, in, diff, by)
	if err != nil {
		return store.Plan{}, false, err
	}
	if in.Status == store.StatusCommitted {
		if err := commit(ctx, q, &r, p, in.Changes, by); err != nil {
			return store.Plan{}, false, err
		}
	}
	if err := q.Save(ctx, r); err != nil {
		return store.Plan{}, false, err
	}
	if err := retain(ctx, q, r, in.Retention); err != nil {
		return store.Plan{}, false, err
	}
	if err := retainReports(ctx, q, r, in.Retention); err != nil {
		return store.Plan{}, false, err
	}
	p, err = q.Plan(ctx, in.ID)
	return p.Plan, true, err
}

// insert writes a plan with its long parts. One that is to be committed is
// approved until commit has made it a table version.
func insert(ctx context.Context, q Statements, operator int64, in store.NewPlan, diff []byte, by store.Transition) (PlanRow, error) {
	p := PlanRow{Plan: in.Plan, Input: InputNone}
	if p.Status == store.StatusCommitted {
		p.Status = store.StatusApproved
	}
	if in.Input != nil {
		p.Input = InputKept
	}
	if len(in.Changes) > 0 {
		id, err := q.InsertDiff(ctx, operator, diff)
		if err != nil {
			return p, err
		}
		p.DiffID = &id
	}
	seq, err := q.InsertPlan(ctx, operator, p)
	if err != nil {
		return p, err
	}
	p.Seq = seq
	if in.Migrations != nil {
		if err := q.InsertBlob(ctx, p.Seq, BlobMigrations, in.Migrations); err != nil {
			return p, err
		}
	}
	if in.Input != nil {
		if err := q.InsertBlob(ctx, p.Seq, BlobInput, in.Input); err != nil {
			return p, err
		}
	}
	by.From, by.To = "", in.Status
	return p, q.InsertTransition(ctx, p.Seq, by)
}

// CommitPlan implements [store.Store].
func (s *Store) CommitPlan(
	ctx context.Context, id string, to store.Transition, keep store.Retention, guards ...store.PlanGuard,
) (p store.Plan, committed bool, err error) {
	to = repairTransition(to)
	p, err = s.change(ctx, id, func(q Statements, r Row, p PlanRow) error {
		done, err := step(p.Status, store.StatusCommitted)
		committed = !done
		if done || err != nil {
			return err
		}
		if p.BaseVersion != r.TableVersion {
			return store.ErrBaseChanged
		}
		if unresolved(p.Plan) {
			return store.ErrUnresolved
		}
		var changes []store.Change
		if !p.EngineTable {
			if changes, err = planChanges(ctx, q, p); err != nil {
				return err
			}
		}
		to.From, to.To = p.Status, store.StatusCommitted
		if err := q.InsertTransition(ctx, p.Seq, to); err != nil {
			return err
		}
		if err := commit(ctx, q, &r, p, changes, to); err != nil {
			return err
		}
		if err := q.Save(ctx, r); err != nil {
			return err
		}
		return retain(ctx, q, r, keep)
	})
	return p, committed && err == nil, err
}

// AbortPlan implements [store.Store].
func (s *Store) AbortPlan(ctx context.Context, id string, rolledBack bool, to store.Transition, guards ...store.PlanGuard) (store.Plan, error) {
	to = repairTransition(to)
	return s.change(ctx, id, func(q Statements, _ Row, p PlanRow) error {
		if done, err := step(p.Status, store.StatusAborted); done || err != nil {
			return err
		}
		return end(ctx, q, p, store.StatusAborted, to)
	})
}

// change runs f on a plan and its locked operator and returns the plan after it.
func (s *Store) change(ctx context.Context, id string, f func(Statements, Row, PlanRow) error) (store.Plan, error) {
	var after PlanRow
	_, err := s.aboutPlan(ctx, s.db.Update, id, func(q Statements, p PlanRow) error {
		r, err := q.Lock(ctx, p.Operator)
		if err != nil {
			return err
		}
		// Only under the lock is its status what it will be until the end.
		if p, err = plan(ctx, q, id); err != nil {
			return err
		}
		if err := f(q, r, p); err != nil {
			return err
		}
		after, err = q.Plan(ctx, id)
		return err
	})
	if err != nil {
		return store.Plan{}, err
	}
	return after.Plan, nil
}

// step tells whether a plan may go from one status to another; done, that it is
// there already. It is the one place that knows the transitions.
func step(from, to store.Status) (done bool, err error) {
	switch {
	case from == store.StatusApproved:
		return false, nil // to committed, aborted or superseded
	case from == to:
		return true, nil
	}
	return false, fmt.Errorf("from %s to %s: %w", from, to, store.ErrTransition)
}

// admit tells whether a plan may be created for an interval that has none.
func admit(r Row, p store.Plan) error {
	if err := checkInterval(r, p.Epoch, p.Interval); err != nil {
		return err
	}
	if p.ConfigVersion != r.ConfigVersion {
		return fmt.Errorf("planned for version %d, now it has version %d: %w", p.ConfigVersion, r.ConfigVersion, store.ErrConfigurationChanged)
	}
	if p.BaseVersion != r.TableVersion {
		return fmt.Errorf("planned on version %d, now it has version %d: %w", p.BaseVersion, r.TableVersion, store.ErrBaseChanged)
	}
	return nil
}

// checkInterval orders intervals within an epoch, and epochs before them.
func checkInterval(r Row, epoch, interval int64) error {
	if r.Epoch == nil || epoch > *r.Epoch || epoch == *r.Epoch && interval >= *r.Interval {
		return nil
	}
	return fmt.Errorf("interval %d of epoch %d is the newest: %w", *r.Interval, *r.Epoch, store.ErrIntervalOutdated)
}

// commit makes an approved plan the newest table version. The caller saves r.
// changes are the plan's; where the engine holds the table, nobody asks for them.
func commit(ctx context.Context, q Statements, r *Row, p PlanRow, changes []store.Change, by store.Transition) error {
	if p.EngineTable {
		var err error
		if changes, p.DiffID, err = handOver(ctx, q, *r); err != nil {
			return err
		}
	}
	sets, moves, unsets := split(changes)
	if err := q.Apply(ctx, r.ID, sets, moves, unsets); err != nil {
		return err
	}
	r.TableVersion++
	r.TableConfigVersion = p.ConfigVersion
	r.TableSize += int64(len(sets) - len(unsets))
	r.UpdatedAt = by.At
	version := TableVersion{
		Version: r.TableVersion, ConfigVersion: p.ConfigVersion, PlanID: &p.ID, DiffID: p.DiffID, CreatedAt: by.At,
	}
	if err := q.InsertTableVersion(ctx, r.ID, version); err != nil {
		return err
	}
	if err := q.SetStatus(ctx, p.Seq, store.StatusCommitted, &version.Version); err != nil {
		return err
	}
	others, err := q.Approved(ctx, r.ID)
	if err != nil {
		return err
	}
	by.Reason = fmt.Sprintf("plan %s was committed", p.ID)
	for _, other := range others {
		if err := end(ctx, q, other, store.StatusSuperseded, by); err != nil {
			return err
		}
	}
	return nil
}

// end moves a plan to a last status without touching the table.
func end(ctx context.Context, q Statements, p PlanRow, status store.Status, by store.Transition) error {
	by.From, by.To = p.Status, status
	if err := q.InsertTransition(ctx, p.Seq, by); err != nil {
		return err
	}
	return q.SetStatus(ctx, p.Seq, status, nil)
}

// retain removes what keep does not keep. Counts are of plans as created and of
// table versions as numbered, the committed one included. The plan of the
// committed table stays in any case.
func retain(ctx context.Context, q Statements, r Row, keep store.Retention) error {
	err := older(ctx, q, r, keep.Inputs, func(upTo int64) error { return q.PurgeInputs(ctx, r.ID, upTo) })
	if err != nil {
		return err
	}
	err = older(ctx, q, r, keep.Plans, func(upTo int64) error { return q.PurgePlans(ctx, r.ID, upTo, r.TableVersion) })
	if err != nil {
		return err
	}
	if keep.Versions > 0 {
		return q.PurgeTableVersions(ctx, r.ID, r.TableVersion-int64(keep.Versions))
	}
	return nil
}

// older calls purge if there are plans beyond the newest n; 0 keeps all.
func older(ctx context.Context, q Statements, r Row, n int, purge func(upTo int64) error) error {
	if n <= 0 {
		return nil
	}
	upTo, err := q.OlderThanNewest(ctx, r.ID, n)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return purge(upTo)
}
