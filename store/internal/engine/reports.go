package engine

import (
	"context"
	"fmt"
	"math"
	"slices"

	"plannerd/store"
	"plannerd/store/internal/statements"
)

// RequireForms implements [store.Store]. It is on the way of a request, whose answer is kept
// under its idempotency key by what it stores afterwards.
func (s *Store) RequireForms(ctx context.Context, form store.Form) error {
	err := s.db.Update(ctx, func(q statements.Statements) error { return q.RaiseOldestProgram(ctx, int64(form)) })
	if err != nil {
		return fmt.Errorf("requiring programs that know what is stored: %w", err)
	}
	return nil
}

// PutReport implements [store.Store].
func (s *Store) PutReport(
	ctx context.Context, operator string, in store.Report, data []byte, keep int,
) (last []store.Report, created bool, err error) {
	err = s.update(ctx, func(q statements.Statements) (store.Outcome, error) {
		last, created, err = putReport(ctx, q, operator, in, data, keep)
		return store.Outcome{Reports: last, Created: created}, err
	})
	if err != nil {
		return nil, false, fmt.Errorf("putting the report of instance %d of operator %q, interval %d: %w", in.Instance,
			operator, in.Interval, err)
	}
	return last, created, nil
}

func putReport(ctx context.Context, q statements.Statements, operator string, in store.Report, data []byte,
	keep int) ([]store.Report, bool, error) {
	r, err := lock(ctx, q, operator)
	if err != nil {
		return nil, false, err
	}
	if _, err := expire(ctx, q, r, in.At); err != nil {
		return nil, false, err
	}
	if err := open(ctx, q, r, in.Epoch, in.Interval, in.At); err != nil {
		return nil, false, err
	}
	replaced, err := q.DeleteReport(ctx, r.ID, in)
	if err != nil {
		return nil, false, err
	}
	if err := q.InsertReport(ctx, r.ID, in, data); err != nil {
		return nil, false, err
	}
	if keep > 0 {
		if err := q.KeepReports(ctx, r.ID, in.Instance, keep); err != nil {
			return nil, false, err
		}
	}
	last, err := q.LastReports(ctx, r.ID, in.Epoch, in.Interval)
	return last, !replaced, err
}

// Reports implements [store.Store].
func (s *Store) Reports(ctx context.Context, operator string, epoch, interval int64) (last []store.Report, err error) {
	err = s.about(ctx, operator, ofRow(ctx, operator, func(q statements.Statements, r statements.Row) (err error) {
		last, err = q.LastReports(ctx, r.ID, epoch, interval)
		return err
	}))
	return last, err
}

// KeptReports implements [store.Store].
func (s *Store) KeptReports(ctx context.Context, operator string) (all []store.Report, err error) {
	err = s.about(ctx, operator, ofRow(ctx, operator, func(q statements.Statements, r statements.Row) (err error) {
		all, err = q.KeptReports(ctx, r.ID)
		return err
	}))
	return all, err
}

// ReportData implements [store.Store].
func (s *Store) ReportData(ctx context.Context, operator string, revision int64) (data []byte, err error) {
	err = s.about(ctx, operator, ofRow(ctx, operator, func(q statements.Statements, r statements.Row) (err error) {
		data, err = q.ReportData(ctx, r.ID, revision)
		return err
	}))
	if err != nil {
		return nil, fmt.Errorf("report %d: %w", revision, err)
	}
	return data, nil
}

// checkReports tells whether the reports that a plan was made of are still the
// ones that there are. Under the operator's lock they stay so.
func checkReports(ctx context.Context, q statements.Statements, r statements.Row, in store.NewPlan) error {
	if in.LastReports == nil {
		return nil
	}
	last, err := q.LastReports(ctx, r.ID, in.Epoch, in.Interval)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(last, in.LastReports, func(a, b store.Report) bool { return a.Revision == b.Revision }) {
		return store.ErrReportsChanged
	}
	return nil
}

// retainReports removes the reports that no plan can be made of any more: those
// of the newest interval stay, as its plan may be aborted.
func retainReports(ctx context.Context, q statements.Statements, r statements.Row, keep store.Retention) error {
	oldest := int64(math.MinInt64)
	if keep.ReportAge > 0 {
		oldest = *r.Interval - keep.ReportAge
	}
	return q.PurgeReports(ctx, r.ID, *r.Epoch, *r.Interval, oldest)
}
