package statements

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plannerd/store"
)

// The columns of a plan: those of the database, then those of the record.
var (
	recordColumns  = columns(PlanFields(new(store.Plan), NoTime))
	planColumns    = selected(recordColumns)
	summaryColumns = selected(columns(SummaryFields(new(store.Plan), NoTime)))
	insertPlan     = `INSERT INTO plans (operator_id, diff_id, input_state, ` + strings.Join(recordColumns, `, `) +
		`) VALUES ($1, $2, $3, ` + placeholders(4, len(recordColumns)) + `) RETURNING seq`
)

const planTables = `plans p JOIN operators o ON o.id = p.operator_id`

func selected(columns []string) string {
	return `p.seq, p.diff_id, p.input_state, o.name, p.` + strings.Join(columns, `, p.`)
}

// placeholders returns "$first, …" for n values.
func placeholders(first, n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("$%d", first+i)
	}
	return strings.Join(names, ", ")
}

func (s planStatements) scanPlan(row Scanner) (p PlanRow, err error) {
	err = row.Scan(planTargets(&p, PlanFields(&p.Plan, s.Instant))...)
	return p, aboutPlan(p.ID, err)
}

// aboutPlan names the plan that cannot be scanned: its id comes before what may be damaged.
func aboutPlan(id string, err error) error {
	if err != nil && id != "" {
		return fmt.Errorf("plan %s: %w", id, err)
	}
	return err
}

func (s planStatements) scanSummary(row Scanner) (p PlanRow, err error) {
	err = row.Scan(planTargets(&p, SummaryFields(&p.Plan, s.Instant))...)
	return p, aboutPlan(p.ID, err)
}

func planTargets(p *PlanRow, fields []Field) []any {
	return append([]any{&p.Seq, &p.DiffID, &p.Input, &p.Operator}, values(fields)...)
}

// Plan returns one plan.
func (s planStatements) Plan(ctx context.Context, id string) (PlanRow, error) {
	return one(ctx, s.base, s.scanPlan, `SELECT `+planColumns+` FROM `+planTables+` WHERE p.id = $1`, id)
}

// Purged tells whether a plan of that id existed and was removed.
func (s planStatements) Purged(ctx context.Context, id string) (bool, error) {
	return get[bool](ctx, s.base, `SELECT EXISTS (SELECT 1 FROM purged_plans WHERE id = $1)`, id)
}

// LivePlan returns the interval's plan that has not ended: one with Undo, if that has the
// fingerprint. Where there is none that counts, it is the newest of the fingerprint that leaves
// the interval open.
func (s planStatements) LivePlan(ctx context.Context, operator string, epoch, interval int64,
	fingerprint string) (PlanRow, error) {
	return one(ctx, s.base, s.scanPlan, `SELECT `+planColumns+` FROM `+planTables+`
		WHERE o.name = $1 AND p.epoch = $2 AND p.interval = $3
		AND p.status NOT IN ('rejected', 'aborted', 'superseded', 'expired')
		AND (NOT p.leaves_open AND p.undo IS NULL OR p.fingerprint = $4)
		ORDER BY p.undo IS NULL, p.leaves_open, p.seq DESC LIMIT 1`,
		operator, epoch, interval, fingerprint)
}

// Plans lists at most f.Limit plans, newest first, by their SummaryFields.
func (s planStatements) Plans(ctx context.Context, operator int64, f store.PlanFilter, now time.Time) ([]PlanRow,
	error) {
	query, args := `SELECT `+summaryColumns+` FROM `+planTables+` WHERE p.operator_id = $1`, []any{operator}
	and := func(condition string, value any) {
		args = append(args, value)
		query += fmt.Sprintf(` AND `+condition, len(args))
	}
	switch f.Status {
	case "":
	case store.StatusProposed, store.StatusApproved:
		and(`p.status = $%d`, f.Status)
		and(`(p.expires_at IS NULL OR p.expires_at > $%d)`, s.at(&now))
	case store.StatusExpired:
		and(`(p.status = 'expired' OR p.status IN ('proposed', 'approved') AND p.expires_at <= $%d)`, s.at(&now))
	default:
		and(`p.status = $%d`, f.Status)
	}
	if f.Interval != nil {
		and(`p.interval = $%d`, *f.Interval)
	}
	if f.Before != 0 {
		and(`p.seq < $%d`, f.Before)
	}
	args = append(args, f.Limit)
	return collect(ctx, s.base, s.scanSummary, query+fmt.Sprintf(` ORDER BY p.seq DESC LIMIT $%d`, len(args)), args...)
}

// PlansOf lists plans by their ids, newest first, by their SummaryFields.
func (s planStatements) PlansOf(ctx context.Context, ids []string) ([]PlanRow, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	return collect(ctx, s.base, s.scanSummary, `SELECT `+summaryColumns+` FROM `+planTables+` WHERE p.id IN (`+
		placeholders(1, len(ids))+`) ORDER BY p.seq DESC`, args...)
}

// InStatus lists the operator's plans of some statuses, oldest first, by their
// SummaryFields.
func (s planStatements) InStatus(ctx context.Context, operator int64, statuses ...store.Status) ([]PlanRow, error) {
	args := []any{operator}
	for _, status := range statuses {
		args = append(args, status)
	}
	return collect(ctx, s.base, s.scanSummary,
		`SELECT `+summaryColumns+` FROM `+planTables+` WHERE p.operator_id = $1 AND p.status IN (`+
			placeholders(2, len(statuses))+`) ORDER BY p.seq`, args...)
}

// Expiring lists the operators that have plans which have expired.
func (s planStatements) Expiring(ctx context.Context, now time.Time) (names []string, err error) {
	return collect(ctx, s.base, value[string],
		`SELECT DISTINCT o.name FROM `+planTables+` WHERE p.status IN ('proposed', 'approved') AND p.expires_at <= $1
			ORDER BY o.name`,
		s.at(&now))
}

// InsertPlan returns the number that orders plans by their creation.
func (s planStatements) InsertPlan(ctx context.Context, operator int64, p PlanRow) (seq int64, err error) {
	return get[int64](ctx, s.base, insertPlan,
		append([]any{operator, p.DiffID, p.Input}, values(PlanFields(&p.Plan, s.Instant))...)...)
}

// SetStatus gives a plan another status, and the table version that it became.
func (s planStatements) SetStatus(ctx context.Context, seq int64, status store.Status, version *int64) error {
	return s.exec(ctx, `UPDATE plans SET status = $2, version = $3 WHERE seq = $1`, seq, status, version)
}

// SetExecutor notes who applies a plan.
func (s planStatements) SetExecutor(ctx context.Context, seq int64, e store.Executor, since time.Time) error {
	return s.exec(ctx, `UPDATE plans SET executor = $2, executor_epoch = $3, executor_since = $4 WHERE seq = $1`,
		seq, e.Name, e.Epoch, s.at(&since))
}

// Supersede ends a plan whose place another one takes.
func (s planStatements) Supersede(ctx context.Context, seq int64, by string) error {
	return s.exec(ctx, `UPDATE plans SET status = 'superseded', superseded_by = $2 WHERE seq = $1`, seq, by)
}

// SetLatest notes how a plan that has not come to its end does under newer statistics.
func (s planStatements) SetLatest(ctx context.Context, operator int64, e store.Evaluation) error {
	return s.exec(ctx, `UPDATE plans SET latest = $3, limits_changed = $4 WHERE id = $1 AND operator_id = $2
		AND status IN ('proposed', 'approved', 'applying', 'aborting')`, e.Plan, operator, JSON{P: &e.Latest}, e.LimitsChanged)
}

// Agree notes that somebody approves a plan, and agrees to what newer statistics say of it.
func (s planStatements) Agree(ctx context.Context, seq int64, a store.Approval) error {
	return s.exec(ctx, `UPDATE plans SET limits_changed = $2, latest = $3, expires_at = $4 WHERE seq = $1`, seq, false,
		JSON{P: &a.Latest}, s.Instant(&a.ExpiresAt))
}

// SetApprovedBy notes who has approved a plan that several people have to approve.
func (s planStatements) SetApprovedBy(ctx context.Context, seq int64, names []string) error {
	return s.exec(ctx, `UPDATE plans SET approved_by = $2 WHERE seq = $1`, seq, list(&names))
}

// Acks lists the acks of a plan in ascending order of the instances.
func (s historyStatements) Acks(ctx context.Context, seq int64) ([]store.Ack, error) {
	return collect(ctx, s.base, func(row Scanner) (a store.Ack, err error) {
		err = row.Scan(&a.Instance, &a.Actor, s.at(&a.At))
		return a, err
	}, `SELECT instance, actor, at FROM acks WHERE plan_seq = $1 ORDER BY instance`, seq)
}

// SetResolution gives a plan another diff, removing the one it has, and what else the
// resolution says of it.
func (s planStatements) SetResolution(ctx context.Context, p PlanRow, diff *int64, r store.Resolution) error {
	err := s.exec(ctx,
		`UPDATE plans SET diff_id = $2, resolved_keys = $3, table_after = $4, table_within_limit = $5 WHERE seq = $1`,
		p.Seq, diff, r.Keys, r.TableAfter, r.TableWithinLimit)
	if err != nil {
		return err
	}
	return s.DropDiffs(ctx, []*int64{p.DiffID})
}

// Transitions lists the transitions of a plan in their order.
func (s historyStatements) Transitions(ctx context.Context, seq int64) ([]store.Transition, error) {
	return collect(ctx, s.base, func(row Scanner) (t store.Transition, err error) {
		err = row.Scan(&t.From, &t.To, &t.Actor, &t.Reason, s.at(&t.At), &t.Kind)
		return t, err
	}, `SELECT from_status, to_status, actor, reason, at, kind FROM transitions WHERE plan_seq = $1 ORDER BY n`, seq)
}

const stepsSince = ` FROM transitions t JOIN plans p ON p.seq = t.plan_seq
	WHERE p.operator_id = $1 AND t.at > $2 AND (t.kind = 'comment' OR t.from_status <> t.to_status AND t.to_status <> 'no_action')`

// StepsSince lists the newest steps of an operator's plans after a time, newest first, and counts all of
// them: to each status, and the comments.
func (s historyStatements) StepsSince(ctx context.Context, operator int64, since time.Time, most int,
	out *store.OperatorChanges) (err error) {
	out.Counts = map[store.Status]int64{}
	_, err = collect(ctx, s.base, func(row Scanner) (n int64, err error) {
		var to store.Status
		var comment bool
		if err = row.Scan(&to, &comment, &n); comment {
			out.Comments += n
		} else {
			out.Counts[to] += n
		}
		return n, err
	}, `SELECT t.to_status, t.kind = 'comment', count(*)`+stepsSince+` GROUP BY 1, 2`, operator, s.at(&since))
	if err != nil {
		return err
	}
	out.Steps, err = collect(ctx, s.base, func(row Scanner) (t store.PlanStep, err error) {
		err = row.Scan(&t.Plan, &t.Interval, &t.From, &t.To, &t.Actor, &t.Reason, s.at(&t.At), &t.Kind)
		return t, err
	}, `SELECT p.id, p.interval, t.from_status, t.to_status, t.actor, t.reason, t.at, t.kind`+stepsSince+`
		ORDER BY t.at DESC, t.plan_seq DESC, t.n DESC LIMIT $3`, operator, s.at(&since), most)
	return err
}

// InsertTransition adds a transition behind the others of a plan.
func (s historyStatements) InsertTransition(ctx context.Context, seq int64, t store.Transition) error {
	return s.exec(ctx,
		`INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at, kind)
		SELECT $1, coalesce(max(n), 0) + 1, $2, $3, $4, $5, $6, $7 FROM transitions WHERE plan_seq = $1`,
		seq, t.From, t.To, t.Actor, t.Reason, s.at(&t.At), t.Kind)
}

// Blob returns a long part of a plan.
func (s historyStatements) Blob(ctx context.Context, seq int64, kind BlobKind) ([]byte, error) {
	return s.blob(ctx, `SELECT data FROM plan_blobs WHERE plan_seq = $1 AND kind = $2`, seq, kind)
}

// InsertBlob adds a long part of a plan.
func (s historyStatements) InsertBlob(ctx context.Context, seq int64, kind BlobKind, data []byte) error {
	return s.exec(ctx, `INSERT INTO plan_blobs (plan_seq, kind, data) VALUES ($1, $2, $3)`, seq, kind, data)
}

// OlderThanNewest returns the newest plan that does not belong to the newest n.
func (s historyStatements) OlderThanNewest(ctx context.Context, operator int64, n int) (seq int64, err error) {
	return get[int64](ctx, s.base, `SELECT seq FROM plans WHERE operator_id = $1 ORDER BY seq DESC LIMIT 1 OFFSET $2`, operator,
		n)
}

// PurgeInputs removes the inputs of plans up to the given one, and what forecasts
// remembered then.
func (s historyStatements) PurgeInputs(ctx context.Context, operator, upTo int64) error {
	const of, kept = `operator_id = $1 AND seq <= $2`, ` AND input_state = 'kept'`
	err := s.exec(ctx, `DELETE FROM plan_blobs WHERE kind IN ('input', 'forecast')
		AND plan_seq IN (SELECT seq FROM plans WHERE `+of+`)`, operator, upTo)
	if err != nil {
		return err
	}
	return s.exec(ctx, `UPDATE plans SET input_state = 'purged' WHERE `+of+kept, operator, upTo)
}

// PurgePlans removes plans up to the given one and notes them as purged. It keeps the
// one that became table version current and one that an engine is at work on.
func (s historyStatements) PurgePlans(ctx context.Context, operator, upTo, current int64, at time.Time) error {
	const old = `operator_id = $1 AND seq <= $2 AND version IS DISTINCT FROM $3 AND status NOT IN ('applying', 'aborting')`
	err := s.exec(ctx, `INSERT INTO purged_plans (id, purged_at) SELECT id, $4 FROM plans WHERE `+old,
		operator, upTo, current, s.at(&at))
	if err != nil {
		return err
	}
	return s.purge(ctx, `DELETE FROM plans WHERE `+old, operator, upTo, current)
}

// ForgetPurged forgets the plans that were purged before then.
func (s historyStatements) ForgetPurged(ctx context.Context, before time.Time) error {
	return s.exec(ctx, `DELETE FROM purged_plans WHERE purged_at < $1`, s.at(&before))
}

// purge runs a DELETE and removes the diffs that nothing else needs.
func (s base) purge(ctx context.Context, query string, args ...any) error {
	diffs, err := collect(ctx, s, value[*int64], query+` RETURNING diff_id`, args...)
	if err != nil || len(diffs) == 0 {
		return err
	}
	return s.DropDiffs(ctx, diffs)
}
