package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// ApprovePlan implements [store.Store].
func (s *Store) ApprovePlan(ctx context.Context, id string, agree func(store.Plan) (store.Approval, error),
	by store.Transition, guards ...store.PlanGuard) (store.Plan, error) {
	p, _, err := s.change(ctx, id, by, guards, func(q statements.Statements, r statements.Row, p statements.PlanRow,
		by store.Transition) (bool, error) {
		done, err := step(p.Status, store.StatusApproved)
		if err != nil || done && !p.LimitsChanged {
			return false, err
		}
		approved, missing, err := approval(p.Plan, by)
		if err != nil || missing && slices.Equal(approved, p.ApprovedBy) {
			return false, err
		}
		if err := q.SetApprovedBy(ctx, p.Seq, approved); err != nil {
			return false, err
		}
		if missing {
			by.From, by.To, by.Kind = p.Status, p.Status, store.StepApproval
			return true, q.InsertTransition(ctx, p.Seq, by)
		}
		terms, err := agree(p.Plan)
		if err != nil {
			return false, err
		}
		if err := q.Agree(ctx, p.Seq, terms); err != nil {
			return false, err
		}
		if err := supersedeApproved(ctx, q, r, p.ID, by); err != nil {
			return false, err
		}
		return true, setStatus(ctx, q, p, store.StatusApproved, by)
	})
	return p, err
}

// approval counts who approves a plan to those who have: who that is, and whether others are missing. Once
// as many have as have to, whoever approves it again agrees to what has changed since, and others with them.
func approval(p store.Plan, by store.Transition) (names []string, missing bool, err error) {
	if p.Approvers <= 1 {
		return nil, false, nil
	}
	if by.Actor == "" {
		return nil, true, store.ErrUnnamed
	}
	if int64(len(p.ApprovedBy)) < p.Approvers {
		names = p.ApprovedBy
	}
	if !slices.Contains(names, by.Actor) {
		names = append(slices.Clone(names), by.Actor)
	}
	return names, int64(len(names)) < p.Approvers, nil
}

// CommentPlan implements [store.Store].
func (s *Store) CommentPlan(ctx context.Context, id string, by store.Transition,
	guards ...store.PlanGuard) (store.Plan, error) {
	p, _, err := s.change(ctx, id, by, guards, func(q statements.Statements, _ statements.Row, p statements.PlanRow,
		by store.Transition) (bool, error) {
		steps, err := q.Transitions(ctx, p.Seq)
		if err != nil {
			return false, err
		}
		n := 0
		for _, s := range steps {
			if s.Kind != store.StepComment {
				continue
			}
			if s.Actor == by.Actor && s.Reason == by.Reason {
				return false, nil
			}
			n++
		}
		if n >= store.MaxComments {
			return false, store.ErrCommented
		}
		by.From, by.To, by.Kind = p.Status, p.Status, store.StepComment
		return true, q.InsertTransition(ctx, p.Seq, by)
	})
	return p, err
}

// supersedeApproved ends the approved plans that wait to be applied beside the one that is approved
// now, which is made of newer statistics or was chosen instead. Who waits for a plan to carry out
// is told.
func supersedeApproved(ctx context.Context, q statements.Statements, r statements.Row, successor string,
	by store.Transition) error {
	approved, err := q.InStatus(ctx, r.ID, store.StatusApproved)
	if err != nil {
		return err
	}
	by.Reason = fmt.Sprintf("plan %s was approved", successor)
	for _, p := range approved {
		if p.ID == successor {
			continue
		}
		if err := supersede(ctx, q, p, successor, by); err != nil {
			return err
		}
	}
	return q.Tell(ctx, r.Name)
}

// RejectPlan implements [store.Store].
func (s *Store) RejectPlan(ctx context.Context, id string, by store.Transition,
	guards ...store.PlanGuard) (store.Plan, error) {
	p, _, err := s.change(ctx, id, by, guards, func(q statements.Statements, _ statements.Row, p statements.PlanRow,
		by store.Transition) (bool, error) {
		if done, err := step(p.Status, store.StatusRejected); done || err != nil {
			return false, err
		}
		return true, setStatus(ctx, q, p, store.StatusRejected, by)
	})
	return p, err
}

// AbortPlan implements [store.Store].
func (s *Store) AbortPlan(
	ctx context.Context, id string, rolledBack bool, to store.Transition, guards ...store.PlanGuard,
) (store.Plan, error) {
	p, _, err := s.change(ctx, id, to, guards, func(q statements.Statements, r statements.Row, p statements.PlanRow,
		to store.Transition) (bool, error) {
		next := store.StatusAborted
		if p.Status.InFlight() && !rolledBack {
			next = store.StatusAborting
		}
		if done, err := step(p.Status, next); done || err != nil {
			return false, err
		}
		if err := setStatus(ctx, q, p, next, to); err != nil {
			return false, err
		}
		switch p.Status {
		case store.StatusApplying:
			return true, q.Tell(ctx, r.Name)
		case store.StatusAborting:
			return true, keepTable(ctx, q, r, p, to)
		}
		return true, nil
	})
	return p, err
}

// keepTable makes a table version with the entries of the committed one. Statistics that
// were taken while state was on its way are of an older version then.
func keepTable(ctx context.Context, q statements.Statements, r statements.Row, p statements.PlanRow,
	by store.Transition) error {
	before, err := q.TableVersion(ctx, r.ID, r.TableVersion)
	if err != nil {
		return err
	}
	r.TableVersion++
	r.UpdatedAt = by.At
	version := statements.TableVersion{Version: r.TableVersion, ConfigVersion: r.TableConfigVersion, PlanID: &p.ID,
		CreatedAt: by.At, Checksum: before.Checksum}
	if err := q.InsertTableVersion(ctx, r.ID, version); err != nil {
		return err
	}
	by.Reason = fmt.Sprintf("plan %s was aborted", p.ID)
	if err := supersedeWaiting(ctx, q, r, "", by); err != nil {
		return err
	}
	if err := q.Save(ctx, r); err != nil {
		return err
	}
	return q.Tell(ctx, r.Name)
}

// AwaitInstances implements [store.Store].
func (s *Store) AwaitInstances(ctx context.Context, id string, instances []int32) error {
	_, _, err := s.change(ctx, id, store.Transition{At: s.now()}, nil, func(q statements.Statements, _ statements.Row,
		p statements.PlanRow, _ store.Transition) (bool, error) {
		if p.Status != store.StatusApproved || len(p.Awaited) > 0 {
			return false, nil
		}
		return true, q.BeginBatch(ctx, p.Seq, slices.Compact(slices.Sorted(slices.Values(instances))))
	})
	return err
}

// StartPlan implements [store.Store].
func (s *Store) StartPlan(
	ctx context.Context, id string, executor store.Executor, by store.Transition, guards ...store.PlanGuard,
) (store.Plan, error) {
	if executor.Name == "" || !storable(executor.Name) {
		return store.Plan{}, fmt.Errorf("store: plan %q: executor %q: it must be UTF-8 without NUL, and not empty", id,
			executor.Name)
	}
	p, _, err := s.change(ctx, id, by, guards, func(q statements.Statements, r statements.Row, p statements.PlanRow,
		by store.Transition) (bool, error) {
		next := store.StatusApplying
		if p.Status.InFlight() {
			if p.Executor == executor {
				return false, nil
			}
			if executor.Epoch <= p.Executor.Epoch {
				return false, fmt.Errorf("%q applies it: %w", p.Executor.Name, store.ErrTransition)
			}
			next = p.Status
		} else if err := startable(ctx, q, r, p, by.At); err != nil {
			return false, err
		}
		if err := ready(ctx, q, r, p); err != nil {
			return false, err
		}
		if next != p.Status {
			if err := freezeRouters(ctx, q, r, p); err != nil {
				return false, err
			}
		}
		if err := q.SetExecutor(ctx, p.Seq, executor, by.At); err != nil {
			return false, err
		}
		if err := setStatus(ctx, q, p, next, by); err != nil {
			return false, err
		}
		return true, q.Tell(ctx, r.Name)
	})
	return p, err
}

// AckPlan implements [store.Store].
func (s *Store) AckPlan(
	ctx context.Context, id string, batch int64, instances []int32, by store.Transition, keep store.Retention,
	guards ...store.PlanGuard,
) (p store.Plan, committed bool, err error) {
	return s.change(ctx, id, by, guards, func(q statements.Statements, r statements.Row, p statements.PlanRow,
		by store.Transition) (bool, error) {
		if p.Status != store.StatusApplying && p.Status != store.StatusCommitted {
			return false, fmt.Errorf("an ack of what is %s: %w", p.Status, store.ErrTransition)
		}
		pending := p.BatchesDone + 1
		if p.Status == store.StatusCommitted && p.BatchCount > 0 {
			pending-- // its last one
		}
		switch {
		case batch > pending:
			return false, fmt.Errorf("an ack of batch %d during batch %d: %w", batch, pending, store.ErrTransition)
		case batch < pending:
			return false, awaitedBy(p.Batches[batch-1].Awaited, instances)
		}
		fresh, err := freshAcks(p.Plan, instances)
		if err != nil || p.Status == store.StatusCommitted {
			return false, err
		}
		if err := q.InsertAcks(ctx, p.Seq, fresh, by.Actor, by.At); err != nil {
			return false, err
		}
		if len(p.Acked)+len(fresh) < len(p.Awaited) {
			return false, nil
		}
		if by.Reason == "" {
			by.Reason = "all instances have finished"
			if p.BatchCount > 1 {
				by.Reason += fmt.Sprintf(" batch %d", p.BatchesDone+1)
			}
		}
		return true, commitNext(ctx, q, r, p, by, keep)
	})
}

// freshAcks returns those of the instances that have not acked the plan yet, each
// once.
func freshAcks(p store.Plan, instances []int32) ([]int32, error) {
	fresh := slices.Clone(instances)
	slices.Sort(fresh)
	fresh = slices.Compact(fresh)
	if err := awaitedBy(p.Awaited, fresh); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(fresh, func(instance int32) bool {
		_, acked := slices.BinarySearchFunc(p.Acked, instance,
			func(a store.Ack, i int32) int { return cmp.Compare(a.Instance, i) })
		return acked
	}), nil
}

// awaitedBy refuses instances that are not awaited.
func awaitedBy(awaited, instances []int32) error {
	for _, instance := range instances {
		if _, found := slices.BinarySearch(awaited, instance); !found {
			return fmt.Errorf("instance %d: %w", instance, store.ErrNotAwaited)
		}
	}
	return nil
}

// CommitPlan implements [store.Store].
func (s *Store) CommitPlan(
	ctx context.Context, id string, to store.Transition, keep store.Retention, guards ...store.PlanGuard,
) (p store.Plan, committed bool, err error) {
	return s.change(ctx, id, to, guards, func(q statements.Statements, r statements.Row, p statements.PlanRow,
		to store.Transition) (bool, error) {
		if done, err := step(p.Status, store.StatusCommitted); done || err != nil {
			return false, err
		}
		if p.Status == store.StatusApplying && len(p.Acked) < len(p.Awaited) {
			return false, store.ErrAcksMissing
		}
		if p.Status == store.StatusApproved {
			if err := notFrozen(ctx, q, r, to.At); err != nil {
				return false, err
			}
		}
		return true, commitNext(ctx, q, r, p, to, keep)
	})
}

// commitPlan commits a plan whose status allows it.
func commitPlan(ctx context.Context, q statements.Statements, r statements.Row, p statements.PlanRow,
	to store.Transition, keep store.Retention) error {
	if err := ready(ctx, q, r, p); err != nil {
		return err
	}
	var changes []store.Change
	if !p.EngineTable {
		var err error
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
	return retain(ctx, q, r, keep, to.At)
}

// ready tells whether a plan can be started or committed, as far as its status
// does not say.
func ready(ctx context.Context, q statements.Statements, r statements.Row, p statements.PlanRow) error {
	if p.BaseVersion+p.BatchesDone != r.TableVersion { // its batches have made a version each
		return store.ErrBaseChanged
	}
	if unresolved(p.Plan) {
		return store.ErrUnresolved
	}
	return noneInFlight(ctx, q, r, p.Seq)
}

// noneInFlight tells whether no plan but that of the given number is being applied.
func noneInFlight(ctx context.Context, q statements.Statements, r statements.Row, but int64) error {
	inFlight, err := q.InStatus(ctx, r.ID, store.StatusApplying, store.StatusAborting)
	if err != nil {
		return err
	}
	for _, other := range inFlight {
		if other.Seq != but {
			return fmt.Errorf("plan %q: %w", other.ID, store.ErrPlanInFlight)
		}
	}
	return nil
}

// change runs f on a plan and its locked operator and returns the plan after it,
// and what f told.
func (s *Store) change(
	ctx context.Context, id string, by store.Transition, guards []store.PlanGuard,
	f func(statements.Statements, statements.Row, statements.PlanRow, store.Transition) (bool, error),
) (after store.Plan, did bool, err error) {
	if !storable(id) {
		return after, false, fmt.Errorf("plan %q: %w", id, store.ErrNotFound)
	}
	by = repairTransition(by)
	err = s.update(ctx, func(q statements.Statements) (store.Outcome, error) {
		r, p, err := lockPlan(ctx, q, id, by.At)
		if err != nil {
			return store.Outcome{}, err
		}
		for _, guard := range guards {
			if err := guard(p.Plan); err != nil {
				return store.Outcome{}, err
			}
		}
		if did, err = f(q, r, p, by); err != nil {
			return store.Outcome{}, err
		}
		p, err = whole(ctx, q, id)
		after = p.Plan
		return store.Outcome{Plan: after, Created: did}, err
	})
	if err != nil {
		return store.Plan{}, false, fmt.Errorf("plan %q: %w", id, err)
	}
	return after, did, nil
}

// lockPlan returns a plan and its operator, which is locked.
func lockPlan(ctx context.Context, q statements.Statements, id string, at time.Time) (statements.Row,
	statements.PlanRow, error) {
	p, err := plan(ctx, q, id)
	if err != nil {
		return statements.Row{}, statements.PlanRow{}, err
	}
	r, err := q.Lock(ctx, p.Operator)
	if err != nil {
		return statements.Row{}, statements.PlanRow{}, err
	}
	if _, err := expire(ctx, q, r, at); err != nil {
		return statements.Row{}, statements.PlanRow{}, err
	}
	// Only under the lock is its status what it will be until the end.
	p, err = whole(ctx, q, id)
	return r, p, err
}

// whole is plan with the plan's acks and batches.
func whole(ctx context.Context, q statements.Statements, id string) (statements.PlanRow, error) {
	p, err := plan(ctx, q, id)
	if err == nil && p.Executor.Name != "" {
		p.Acked, err = q.Acks(ctx, p.Seq)
	}
	if err == nil && p.BatchCount > 0 {
		p.Batches, err = q.Batches(ctx, p.Seq)
	}
	return p, err
}

// step tells whether a plan may go from one status to another; done, that it is
// there already.
func step(from, to store.Status) (done bool, err error) {
	if from != to && !store.Allowed(from, to) {
		err = fmt.Errorf("from %s to %s: %w", from, to, store.ErrTransition)
	}
	return from == to, err
}

// setStatus moves a plan to another status without touching the table.
func setStatus(ctx context.Context, q statements.Statements, p statements.PlanRow, status store.Status,
	by store.Transition) error {
	by.From, by.To = p.Status, status
	if err := q.InsertTransition(ctx, p.Seq, by); err != nil {
		return err
	}
	return q.SetStatus(ctx, p.Seq, status, nil)
}
