package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"plannerd/store"
)

// meteredStore times and traces every operation of a store. The store is not
// embedded, so that none is forgotten.
type meteredStore struct {
	next     store.Store
	metrics  *metrics
	tracing  *tracing
	presence *presence
}

// timed starts the clock of an operation; the function it returns stops it.
func (s meteredStore) timed(ctx context.Context, operation string) func(*error) {
	begin := time.Now()
	_, end := s.tracing.start(ctx, "store."+operation, "", "")
	return func(err *error) {
		end(*err)
		result := storeResult(*err)
		s.metrics.storeLatency.WithLabelValues(operation, result).Observe(time.Since(begin).Seconds())
		s.presence.note(ctx, result, *err)
	}
}

// The results of an operation of the store.
const (
	resultOK          = "ok"
	resultRefused     = "refused"
	resultCanceled    = "canceled"
	resultUnavailable = "unavailable"
	resultError       = "error"
)

// refusals are the errors that say that the store works.
var refusals = []error{
	store.ErrNotFound, store.ErrPurged, store.ErrConfigurationChanged, store.ErrBaseChanged, store.ErrIntervalPlanned,
	store.ErrIntervalOutdated, store.ErrFenced, store.ErrTransition, store.ErrPlanPending, store.ErrPlanInFlight,
	store.ErrNotAwaited, store.ErrRollbackRequired, store.ErrReportsChanged, store.ErrUnresolved,
	store.ErrIdempotencyRunning, store.ErrIdempotencyMismatch, store.ErrIdempotencyLost,
}

func storeResult(err error) string {
	var guarded *problem // what a guard of the API said
	switch is := func(target error) bool { return errors.Is(err, target) }; {
	case err == nil:
		return resultOK
	case slices.ContainsFunc(refusals, is), errors.As(err, &guarded) && guarded.status < http.StatusInternalServerError:
		return resultRefused
	case is(store.ErrUnavailable):
		return resultUnavailable
	case is(context.Canceled), is(context.DeadlineExceeded):
		return resultCanceled
	}
	return resultError
}

// presence tells the log when the store goes away and when it is back, once each.
type presence struct {
	log  *slog.Logger
	mu   sync.Mutex
	gone time.Time // zero: it is there
}

func (p *presence) note(ctx context.Context, result string, err error) {
	switch result {
	case resultUnavailable, resultOK, resultRefused:
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch away := !p.gone.IsZero(); {
	case result == resultUnavailable && !away:
		p.gone = time.Now()
		p.log.WarnContext(ctx, "the store cannot be reached", "error", err)
	case result != resultUnavailable && away:
		p.log.InfoContext(ctx, "the store is back", "after", time.Since(p.gone).Round(time.Millisecond).String())
		p.gone = time.Time{}
	}
}

func (s meteredStore) PutOperator(
	ctx context.Context, name string, config []byte, at time.Time, guards ...store.OperatorGuard,
) (op store.Operator, created bool, err error) {
	defer s.timed(ctx, "put_operator")(&err)
	return s.next.PutOperator(ctx, name, config, at, guards...)
}

func (s meteredStore) Operator(ctx context.Context, name string) (op store.Operator, err error) {
	defer s.timed(ctx, "operator")(&err)
	return s.next.Operator(ctx, name)
}

func (s meteredStore) Operators(ctx context.Context, after string, limit int) (ops []store.Operator, err error) {
	defer s.timed(ctx, "operators")(&err)
	return s.next.Operators(ctx, after, limit)
}

func (s meteredStore) DeleteOperator(ctx context.Context, name string, at time.Time, guards ...store.OperatorGuard) (err error) {
	defer s.timed(ctx, "delete_operator")(&err)
	return s.next.DeleteOperator(ctx, name, at, guards...)
}

func (s meteredStore) Configuration(ctx context.Context, operator string, version int64) (c store.Configuration, err error) {
	defer s.timed(ctx, "configuration")(&err)
	return s.next.Configuration(ctx, operator, version)
}

func (s meteredStore) Table(ctx context.Context, operator string, version *int64) (t store.Table, err error) {
	defer s.timed(ctx, "table")(&err)
	return s.next.Table(ctx, operator, version)
}

func (s meteredStore) Route(ctx context.Context, operator string, key []byte) (op store.Operator, instance int32, found bool, err error) {
	defer s.timed(ctx, "route")(&err)
	return s.next.Route(ctx, operator, key)
}

func (s meteredStore) TableChanges(ctx context.Context, operator string, since int64) (f store.Feed, err error) {
	defer s.timed(ctx, "table_changes")(&err)
	return s.next.TableChanges(ctx, operator, since)
}

func (s meteredStore) Watch(ctx context.Context) (events <-chan store.Event, err error) {
	defer s.timed(ctx, "watch")(&err)
	return s.next.Watch(ctx)
}

func (s meteredStore) PutReport(
	ctx context.Context, operator string, r store.Report, data []byte, keep int,
) (last []store.Report, created bool, err error) {
	defer s.timed(ctx, "put_report")(&err)
	return s.next.PutReport(ctx, operator, r, data, keep)
}

func (s meteredStore) Reports(ctx context.Context, operator string, epoch, interval int64) (last []store.Report, err error) {
	defer s.timed(ctx, "reports")(&err)
	return s.next.Reports(ctx, operator, epoch, interval)
}

func (s meteredStore) ReportData(ctx context.Context, operator string, revision int64) (data []byte, err error) {
	defer s.timed(ctx, "report_data")(&err)
	return s.next.ReportData(ctx, operator, revision)
}

func (s meteredStore) FindPlan(ctx context.Context, operator string, epoch, interval int64, fingerprint string) (p store.Plan, err error) {
	defer s.timed(ctx, "find_plan")(&err)
	return s.next.FindPlan(ctx, operator, epoch, interval, fingerprint)
}

func (s meteredStore) CheckInterval(ctx context.Context, operator string, epoch, interval int64) (err error) {
	defer s.timed(ctx, "check_interval")(&err)
	return s.next.CheckInterval(ctx, operator, epoch, interval)
}

func (s meteredStore) CreatePlan(ctx context.Context, plan store.NewPlan, by store.Transition) (p store.Plan, created bool, err error) {
	defer s.timed(ctx, "create_plan")(&err)
	return s.next.CreatePlan(ctx, plan, by)
}

func (s meteredStore) Plan(ctx context.Context, id string) (p store.Plan, err error) {
	defer s.timed(ctx, "plan")(&err)
	return s.next.Plan(ctx, id)
}

func (s meteredStore) Plans(ctx context.Context, f store.PlanFilter) (plans []store.Plan, next int64, err error) {
	defer s.timed(ctx, "plans")(&err)
	return s.next.Plans(ctx, f)
}

func (s meteredStore) Changes(ctx context.Context, plan string) (changes []store.Change, err error) {
	defer s.timed(ctx, "changes")(&err)
	return s.next.Changes(ctx, plan)
}

func (s meteredStore) Migrations(ctx context.Context, plan string) (blob []byte, err error) {
	defer s.timed(ctx, "migrations")(&err)
	return s.next.Migrations(ctx, plan)
}

func (s meteredStore) Input(ctx context.Context, plan string) (blob []byte, err error) {
	defer s.timed(ctx, "input")(&err)
	return s.next.Input(ctx, plan)
}

func (s meteredStore) Transitions(ctx context.Context, plan string) (ts []store.Transition, err error) {
	defer s.timed(ctx, "transitions")(&err)
	return s.next.Transitions(ctx, plan)
}

func (s meteredStore) ApprovePlan(
	ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard,
) (p store.Plan, err error) {
	defer s.timed(ctx, "approve_plan")(&err)
	return s.next.ApprovePlan(ctx, id, by, guards...)
}

func (s meteredStore) RejectPlan(ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard) (p store.Plan, err error) {
	defer s.timed(ctx, "reject_plan")(&err)
	return s.next.RejectPlan(ctx, id, by, guards...)
}

func (s meteredStore) ResolvePlan(
	ctx context.Context, id string, r store.Resolution, by store.Transition, guards ...store.PlanGuard,
) (p store.Plan, err error) {
	defer s.timed(ctx, "resolve_plan")(&err)
	return s.next.ResolvePlan(ctx, id, r, by, guards...)
}

func (s meteredStore) StartPlan(
	ctx context.Context, id, executor string, by store.Transition, guards ...store.PlanGuard,
) (p store.Plan, err error) {
	defer s.timed(ctx, "start_plan")(&err)
	return s.next.StartPlan(ctx, id, executor, by, guards...)
}

func (s meteredStore) AckPlan(
	ctx context.Context, id string, instances []int32, by store.Transition, keep store.Retention, guards ...store.PlanGuard,
) (p store.Plan, committed bool, err error) {
	defer s.timed(ctx, "ack_plan")(&err)
	return s.next.AckPlan(ctx, id, instances, by, keep, guards...)
}

func (s meteredStore) CommitPlan(
	ctx context.Context, id string, to store.Transition, keep store.Retention, guards ...store.PlanGuard,
) (p store.Plan, committed bool, err error) {
	defer s.timed(ctx, "commit_plan")(&err)
	return s.next.CommitPlan(ctx, id, to, keep, guards...)
}

func (s meteredStore) AbortPlan(
	ctx context.Context, id string, rolledBack bool, to store.Transition, guards ...store.PlanGuard,
) (p store.Plan, err error) {
	defer s.timed(ctx, "abort_plan")(&err)
	return s.next.AbortPlan(ctx, id, rolledBack, to, guards...)
}

func (s meteredStore) Expire(ctx context.Context, at time.Time) (n int, err error) {
	defer s.timed(ctx, "expire")(&err)
	return s.next.Expire(ctx, at)
}

func (s meteredStore) BeginIdempotent(
	ctx context.Context, i store.Idempotency, lease time.Duration, at time.Time,
) (claim store.Claim, err error) {
	defer s.timed(ctx, "begin_idempotent")(&err)
	return s.next.BeginIdempotent(ctx, i, lease, at)
}

func (s meteredStore) ExtendIdempotent(
	ctx context.Context, i store.Idempotency, token string, lease time.Duration, at time.Time,
) (err error) {
	defer s.timed(ctx, "extend_idempotent")(&err)
	return s.next.ExtendIdempotent(ctx, i, token, lease, at)
}

func (s meteredStore) FinishIdempotent(ctx context.Context, i store.Idempotency, token string, status int, answer []byte) (err error) {
	defer s.timed(ctx, "finish_idempotent")(&err)
	return s.next.FinishIdempotent(ctx, i, token, status, answer)
}

func (s meteredStore) ReleaseIdempotent(ctx context.Context, i store.Idempotency, token string) (err error) {
	defer s.timed(ctx, "release_idempotent")(&err)
	return s.next.ReleaseIdempotent(ctx, i, token)
}

func (s meteredStore) PurgeIdempotency(ctx context.Context, before time.Time) (n int, err error) {
	defer s.timed(ctx, "purge_idempotency")(&err)
	return s.next.PurgeIdempotency(ctx, before)
}

func (s meteredStore) Ready(ctx context.Context) (err error) {
	defer s.timed(ctx, "ready")(&err)
	return s.next.Ready(ctx)
}

// Close is no operation: it ends them.
func (s meteredStore) Close() error { return s.next.Close() }
