package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// FindPlan implements [store.Store].
func (s *Store) FindPlan(ctx context.Context, operator string, epoch, interval int64,
	fingerprint string) (store.Plan, error) {
	var live statements.PlanRow
	err := s.about(ctx, operator, func(q statements.Statements) error {
		p, _, err := livePlan(ctx, q, operator, epoch, interval, fingerprint, s.now())
		if err == nil && p.Fingerprint != fingerprint {
			err = store.ErrNotFound
		}
		live = p
		return err
	})
	if err != nil {
		return store.Plan{}, fmt.Errorf("plan of interval %d: %w", interval, err)
	}
	if live.Executor.Name != "" || live.BatchCount > 0 {
		return s.Plan(ctx, live.ID)
	}
	return live.Plan, nil
}

// CheckInterval implements [store.Store].
func (s *Store) CheckInterval(ctx context.Context, operator string, epoch, interval int64) error {
	return s.about(ctx, operator, ofRow(ctx, operator, func(q statements.Statements, r statements.Row) (err error) {
		return open(ctx, q, r, epoch, interval, s.now())
	}))
}

// open tells whether a plan of the interval may be created.
func open(ctx context.Context, q statements.Statements, r statements.Row, epoch, interval int64, at time.Time) error {
	_, planned, err := livePlan(ctx, q, r.Name, epoch, interval, "", at)
	if err != nil {
		return err
	}
	return checkInterval(r, epoch, interval, planned)
}

// livePlan returns the plan of an interval; none has an id of "". planned tells whether it
// keeps others away.
func livePlan(
	ctx context.Context, q statements.Statements, operator string, epoch, interval int64, fingerprint string, at time.Time,
) (live statements.PlanRow, planned bool, err error) {
	live, err = q.LivePlan(ctx, operator, epoch, interval, fingerprint)
	if errors.Is(err, store.ErrNotFound) || err == nil && lapsed(live.Plan, at) {
		return statements.PlanRow{}, false, nil
	}
	return live, err == nil && !live.LeavesOpen, err
}

// Plan implements [store.Store].
func (s *Store) Plan(ctx context.Context, id string) (store.Plan, error) {
	p, err := s.aboutPlan(ctx, s.db.Read, id, nil)
	if err != nil || p.Executor.Name == "" && p.BatchCount == 0 {
		return asOf(p.Plan, s.now()), err
	}
	// one state of it and its acks
	_, err = s.aboutPlan(ctx, s.db.Snapshot, id, func(q statements.Statements, _ statements.PlanRow) error {
		p, err = whole(ctx, q, id)
		return err
	})
	return p.Plan, err
}

// Plans implements [store.Store].
func (s *Store) Plans(ctx context.Context, f store.PlanFilter) (plans []store.Plan, next int64, err error) {
	if f.Limit <= 0 {
		return nil, 0, fmt.Errorf("store: a page of %d plans", f.Limit)
	}
	var rows []statements.PlanRow
	now := s.now()
	err = s.about(ctx, f.Operator, ofRow(ctx, f.Operator, func(q statements.Statements, r statements.Row) (err error) {
		more := f
		more.Limit++ // one more tells whether there is a next page
		rows, err = q.Plans(ctx, r.ID, more, now)
		return err
	}))
	if err != nil {
		return nil, 0, err
	}
	if len(rows) > f.Limit {
		rows = rows[:f.Limit]
		next = rows[len(rows)-1].Seq
	}
	for _, r := range rows {
		plans = append(plans, asOf(r.Plan, now))
	}
	return plans, next, nil
}

// Changes implements [store.Store].
func (s *Store) Changes(ctx context.Context, plan string) (changes []store.Change, err error) {
	_, err = s.aboutPlan(ctx, s.db.Snapshot, plan, func(q statements.Statements, p statements.PlanRow) error {
		changes, err = planChanges(ctx, q, p)
		return err
	})
	return changes, err
}

func planChanges(ctx context.Context, q statements.Statements, p statements.PlanRow) ([]store.Change, error) {
	if p.DiffID == nil {
		return nil, nil
	}
	data, err := q.Diff(ctx, *p.DiffID)
	if err != nil {
		return nil, err
	}
	return store.DecodeChanges(data)
}

// Migrations implements [store.Store].
func (s *Store) Migrations(ctx context.Context, plan string) (data []byte, err error) {
	return s.blob(ctx, plan, statements.BlobMigrations)
}

// Absences implements [store.Store].
func (s *Store) Absences(ctx context.Context, plan string) (data []byte, err error) {
	return s.blob(ctx, plan, statements.BlobAbsences)
}

// ForecastState implements [store.Store].
func (s *Store) ForecastState(ctx context.Context, plan string) (data []byte, err error) {
	return s.blob(ctx, plan, statements.BlobForecast)
}

// blob returns a long part of a plan; nil if it was given none.
func (s *Store) blob(ctx context.Context, plan string, kind statements.BlobKind) (data []byte, err error) {
	_, err = s.aboutPlan(ctx, s.db.Snapshot, plan, func(q statements.Statements, p statements.PlanRow) error {
		data, err = q.Blob(ctx, p.Seq, kind)
		if errors.Is(err, store.ErrNotFound) {
			data, err = nil, nil
		}
		return err
	})
	return data, err
}

// Input implements [store.Store].
func (s *Store) Input(ctx context.Context, plan string) (data []byte, err error) {
	_, err = s.aboutPlan(ctx, s.db.Snapshot, plan, func(q statements.Statements, p statements.PlanRow) error {
		switch p.Input {
		case statements.InputPurged:
			err = fmt.Errorf("input: %w", store.ErrPurged)
		case statements.InputKept:
			data, err = q.Blob(ctx, p.Seq, statements.BlobInput)
		}
		return err
	})
	return data, err
}

// Transitions implements [store.Store].
func (s *Store) Transitions(ctx context.Context, plan string) (steps []store.Transition, err error) {
	_, err = s.aboutPlan(ctx, s.db.Snapshot, plan, func(q statements.Statements, p statements.PlanRow) error {
		steps, err = q.Transitions(ctx, p.Seq)
		if err == nil && lapsed(p.Plan, s.now()) {
			steps = append(steps, lapse(p.Plan))
		}
		return err
	})
	return steps, err
}

// aboutPlan runs f on one plan, in the given way, and names the plan in errors.
func (s *Store) aboutPlan(
	ctx context.Context, run func(context.Context, func(statements.Statements) error) error, id string,
	f func(statements.Statements, statements.PlanRow) error,
) (p statements.PlanRow, err error) {
	if !storable(id) {
		return statements.PlanRow{}, fmt.Errorf("plan %q: %w", id, store.ErrNotFound)
	}
	err = run(ctx, func(q statements.Statements) error {
		p, err = plan(ctx, q, id)
		if err == nil && f != nil {
			err = f(q, p)
		}
		return err
	})
	if err != nil {
		return statements.PlanRow{}, fmt.Errorf("plan %q: %w", id, err)
	}
	return p, nil
}

// plan returns one plan: ErrPurged if it is gone, ErrNotFound if it never was.
func plan(ctx context.Context, q statements.Statements, id string) (statements.PlanRow, error) {
	p, err := q.Plan(ctx, id)
	if !errors.Is(err, store.ErrNotFound) {
		return p, err
	}
	purged, err := q.Purged(ctx, id)
	switch {
	case err != nil:
		return statements.PlanRow{}, err
	case purged:
		return statements.PlanRow{}, store.ErrPurged
	}
	return statements.PlanRow{}, store.ErrNotFound
}
