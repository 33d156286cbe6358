package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"plannerd/store"
	"plannerd/store/internal/engine"
)

// The columns of a plan: those of the database, then those of the record.
var (
	recordColumns  = engine.Columns(engine.PlanFields(new(store.Plan), maybe))
	planColumns    = selected(recordColumns)
	summaryColumns = selected(engine.Columns(engine.SummaryFields(new(store.Plan), maybe)))
	insertPlan     = `INSERT INTO plans (operator_id, diff_id, input_state, ` + strings.Join(recordColumns, `, `) +
		`) VALUES ($1, $2, $3` + placeholders(4, len(recordColumns)) + `) RETURNING seq`
)

const planTables = `plans p JOIN operators o ON o.id = p.operator_id`

func selected(columns []string) string {
	return `p.seq, p.diff_id, p.input_state, o.name, p.` + strings.Join(columns, `, p.`)
}

// placeholders returns ", $first, …" for n values.
func placeholders(first, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `, $%d`, first+i)
	}
	return b.String()
}

func scanPlan(row pgx.Row) (p engine.PlanRow, err error) {
	err = row.Scan(planTargets(&p, engine.PlanFields(&p.Plan, maybe))...)
	return p, err
}

func scanSummary(row pgx.Row) (p engine.PlanRow, err error) {
	err = row.Scan(planTargets(&p, engine.SummaryFields(&p.Plan, maybe))...)
	return p, err
}

func planTargets(p *engine.PlanRow, fields []engine.Field) []any {
	return append([]any{&p.Seq, &p.DiffID, &p.Input, &p.Operator}, engine.Values(fields)...)
}

func (s statements) Plan(ctx context.Context, id string) (engine.PlanRow, error) {
	p, err := scanPlan(s.db.QueryRow(ctx, `SELECT `+planColumns+` FROM `+planTables+` WHERE p.id = $1`, id))
	return p, notFound(err)
}

func (s statements) Purged(ctx context.Context, id string) (purged bool, err error) {
	err = s.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM purged_plans WHERE id = $1)`, id).Scan(&purged)
	return purged, err
}

func (s statements) LivePlan(ctx context.Context, operator string, epoch, interval int64) (engine.PlanRow, error) {
	p, err := scanPlan(s.db.QueryRow(ctx, `SELECT `+planColumns+` FROM `+planTables+`
		WHERE o.name = $1 AND p.epoch = $2 AND p.interval = $3 AND p.status NOT IN ('rejected', 'aborted', 'superseded', 'expired')`,
		operator, epoch, interval))
	return p, notFound(err)
}

func (s statements) Plans(ctx context.Context, operator int64, f store.PlanFilter, now time.Time) ([]engine.PlanRow, error) {
	query, args := `SELECT `+summaryColumns+` FROM `+planTables+` WHERE p.operator_id = $1`, []any{operator}
	and := func(condition string, value any) {
		args = append(args, value)
		query += fmt.Sprintf(` AND `+condition, len(args))
	}
	switch f.Status {
	case "":
	case store.StatusProposed:
		and(`p.status = 'proposed' AND (p.expires_at IS NULL OR p.expires_at > $%d)`, at(&now))
	case store.StatusExpired:
		and(`(p.status = 'expired' OR p.status = 'proposed' AND p.expires_at <= $%d)`, at(&now))
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
	return collect(ctx, s, scanSummary, query+fmt.Sprintf(` ORDER BY p.seq DESC LIMIT $%d`, len(args)), args...)
}

func (s statements) InStatus(ctx context.Context, operator int64, statuses ...store.Status) ([]engine.PlanRow, error) {
	return collect(ctx, s, scanSummary,
		`SELECT `+summaryColumns+` FROM `+planTables+` WHERE p.operator_id = $1 AND p.status = ANY ($2::text[]) ORDER BY p.seq`,
		operator, statuses)
}

func (s statements) Expiring(ctx context.Context, now time.Time) ([]string, error) {
	return collect(ctx, s, func(row pgx.Row) (name string, err error) {
		err = row.Scan(&name)
		return name, err
	}, `SELECT DISTINCT o.name FROM `+planTables+` WHERE p.status = 'proposed' AND p.expires_at <= $1 ORDER BY o.name`, at(&now))
}

func (s statements) InsertPlan(ctx context.Context, operator int64, p engine.PlanRow) (seq int64, err error) {
	err = s.db.QueryRow(ctx, insertPlan,
		append([]any{operator, p.DiffID, p.Input}, engine.Values(engine.PlanFields(&p.Plan, maybe))...)...).Scan(&seq)
	return seq, err
}

func (s statements) SetStatus(ctx context.Context, seq int64, status store.Status, version *int64) error {
	return s.exec(ctx, `UPDATE plans SET status = $2, version = $3 WHERE seq = $1`, seq, status, version)
}

func (s statements) SetExecutor(ctx context.Context, seq int64, executor string) error {
	return s.exec(ctx, `UPDATE plans SET executor = $2 WHERE seq = $1`, seq, executor)
}

func (s statements) Acks(ctx context.Context, seq int64) ([]store.Ack, error) {
	return collect(ctx, s, func(row pgx.Row) (a store.Ack, err error) {
		err = row.Scan(&a.Instance, &a.Actor, at(&a.At))
		return a, err
	}, `SELECT instance, actor, at FROM acks WHERE plan_seq = $1 ORDER BY instance`, seq)
}

func (s statements) InsertAcks(ctx context.Context, seq int64, instances []int32, actor string, when time.Time) error {
	return s.exec(ctx, `INSERT INTO acks (plan_seq, instance, actor, at) SELECT $1, unnest($2::int[]), $3, $4`,
		seq, instances, actor, at(&when))
}

func (s statements) SetResolution(ctx context.Context, p engine.PlanRow, diff *int64, r store.Resolution) error {
	err := s.exec(ctx, `UPDATE plans SET diff_id = $2, resolved_keys = $3, table_after = $4, table_within_limit = $5 WHERE seq = $1`,
		p.Seq, diff, r.Keys, r.TableAfter, r.TableWithinLimit)
	if err != nil {
		return err
	}
	return s.dropDiffs(ctx, []*int64{p.DiffID})
}

func (s statements) Transitions(ctx context.Context, seq int64) ([]store.Transition, error) {
	return collect(ctx, s, func(row pgx.Row) (t store.Transition, err error) {
		err = row.Scan(&t.From, &t.To, &t.Actor, &t.Reason, at(&t.At))
		return t, err
	}, `SELECT from_status, to_status, actor, reason, at FROM transitions WHERE plan_seq = $1 ORDER BY n`, seq)
}

func (s statements) InsertTransition(ctx context.Context, seq int64, t store.Transition) error {
	return s.exec(ctx,
		`INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
		SELECT $1, coalesce(max(n), 0) + 1, $2, $3, $4, $5, $6 FROM transitions WHERE plan_seq = $1`,
		seq, t.From, t.To, t.Actor, t.Reason, at(&t.At))
}

func (s statements) Blob(ctx context.Context, seq int64, kind engine.BlobKind) (data []byte, err error) {
	err = s.db.QueryRow(ctx, `SELECT data FROM plan_blobs WHERE plan_seq = $1 AND kind = $2`, seq, kind).Scan(&data)
	return data, notFound(err)
}

func (s statements) InsertBlob(ctx context.Context, seq int64, kind engine.BlobKind, data []byte) error {
	return s.exec(ctx, `INSERT INTO plan_blobs (plan_seq, kind, data) VALUES ($1, $2, $3)`, seq, kind, data)
}

func (s statements) OlderThanNewest(ctx context.Context, operator int64, n int) (seq int64, err error) {
	err = s.db.QueryRow(ctx,
		`SELECT seq FROM plans WHERE operator_id = $1 ORDER BY seq DESC LIMIT 1 OFFSET $2`, operator, n).Scan(&seq)
	return seq, notFound(err)
}

func (s statements) PurgeInputs(ctx context.Context, operator, upTo int64) error {
	const old = `operator_id = $1 AND seq <= $2 AND input_state = 'kept'`
	err := s.exec(ctx,
		`DELETE FROM plan_blobs WHERE kind = 'input' AND plan_seq IN (SELECT seq FROM plans WHERE `+old+`)`, operator, upTo)
	if err != nil {
		return err
	}
	return s.exec(ctx, `UPDATE plans SET input_state = 'purged' WHERE `+old, operator, upTo)
}

func (s statements) PurgePlans(ctx context.Context, operator, upTo, current int64) error {
	const old = `operator_id = $1 AND seq <= $2 AND version IS DISTINCT FROM $3 AND status <> 'applying'`
	err := s.exec(ctx, `INSERT INTO purged_plans (id) SELECT id FROM plans WHERE `+old, operator, upTo, current)
	if err != nil {
		return err
	}
	diffs, err := s.diffIDs(ctx, `DELETE FROM plans WHERE `+old+` RETURNING diff_id`, operator, upTo, current)
	if err != nil {
		return err
	}
	return s.dropDiffs(ctx, diffs)
}
