package sqlite

import (
	"context"
	"strings"
	"time"

	"plannerd/store"
	"plannerd/store/internal/engine"
)

// The columns of a plan: those of the database, then those of the record.
var (
	recordColumns  = engine.Columns(engine.PlanFields(new(store.Plan), maybe))
	planColumns    = selected(recordColumns)
	summaryColumns = selected(engine.Columns(engine.SummaryFields(new(store.Plan), maybe)))
	insertPlan     = `INSERT INTO plans (operator_id, diff_id, input_state, ` + strings.Join(recordColumns, `, `) +
		`) VALUES (?, ?, ?` + strings.Repeat(`, ?`, len(recordColumns)) + `)`
)

const planTables = `plans p JOIN operators o ON o.id = p.operator_id`

func selected(columns []string) string {
	return `p.seq, p.diff_id, p.input_state, o.name, p.` + strings.Join(columns, `, p.`)
}

func scanPlan(row scanner) (p engine.PlanRow, err error) {
	err = row.Scan(planTargets(&p, engine.PlanFields(&p.Plan, maybe))...)
	return p, err
}

func scanSummary(row scanner) (p engine.PlanRow, err error) {
	err = row.Scan(planTargets(&p, engine.SummaryFields(&p.Plan, maybe))...)
	return p, err
}

func planTargets(p *engine.PlanRow, fields []engine.Field) []any {
	return append([]any{&p.Seq, &p.DiffID, &p.Input, &p.Operator}, engine.Values(fields)...)
}

func (s statements) Plan(ctx context.Context, id string) (engine.PlanRow, error) {
	p, err := scanPlan(s.db.QueryRowContext(ctx, `SELECT `+planColumns+` FROM `+planTables+` WHERE p.id = ?`, id))
	return p, notFound(err)
}

func (s statements) Purged(ctx context.Context, id string) (purged bool, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM purged_plans WHERE id = ?)`, id).Scan(&purged)
	return purged, err
}

func (s statements) LivePlan(ctx context.Context, operator string, epoch, interval int64) (engine.PlanRow, error) {
	p, err := scanPlan(s.db.QueryRowContext(ctx, `SELECT `+planColumns+` FROM `+planTables+`
		WHERE o.name = ? AND p.epoch = ? AND p.interval = ? AND p.status NOT IN ('rejected', 'aborted', 'superseded', 'expired')`,
		operator, epoch, interval))
	return p, notFound(err)
}

func (s statements) Plans(ctx context.Context, operator int64, f store.PlanFilter, now time.Time) ([]engine.PlanRow, error) {
	where, args := `p.operator_id = ?`, []any{operator}
	switch f.Status {
	case "":
	case store.StatusProposed:
		where, args = where+` AND p.status = 'proposed' AND (p.expires_at IS NULL OR p.expires_at > ?)`, append(args, at(&now))
	case store.StatusExpired:
		where, args = where+` AND (p.status = 'expired' OR p.status = 'proposed' AND p.expires_at <= ?)`, append(args, at(&now))
	default:
		where, args = where+` AND p.status = ?`, append(args, f.Status)
	}
	if f.Interval != nil {
		where, args = where+` AND p.interval = ?`, append(args, *f.Interval)
	}
	if f.Before != 0 {
		where, args = where+` AND p.seq < ?`, append(args, f.Before)
	}
	return collect(ctx, s, scanSummary,
		`SELECT `+summaryColumns+` FROM `+planTables+` WHERE `+where+` ORDER BY p.seq DESC LIMIT ?`, append(args, f.Limit)...)
}

func (s statements) InStatus(ctx context.Context, operator int64, statuses ...store.Status) ([]engine.PlanRow, error) {
	args := []any{operator}
	for _, status := range statuses {
		args = append(args, status)
	}
	return collect(ctx, s, scanSummary,
		`SELECT `+summaryColumns+` FROM `+planTables+` WHERE p.operator_id = ? AND p.status IN (?`+
			strings.Repeat(`, ?`, len(statuses)-1)+`) ORDER BY p.seq`, args...)
}

func (s statements) Expiring(ctx context.Context, now time.Time) ([]string, error) {
	return collect(ctx, s, func(row scanner) (name string, err error) {
		err = row.Scan(&name)
		return name, err
	}, `SELECT DISTINCT o.name FROM `+planTables+` WHERE p.status = 'proposed' AND p.expires_at <= ? ORDER BY o.name`, at(&now))
}

func (s statements) InsertPlan(ctx context.Context, operator int64, p engine.PlanRow) (int64, error) {
	return s.insert(ctx, insertPlan,
		append([]any{operator, p.DiffID, p.Input}, engine.Values(engine.PlanFields(&p.Plan, maybe))...)...)
}

func (s statements) SetStatus(ctx context.Context, seq int64, status store.Status, version *int64) error {
	return s.exec(ctx, `UPDATE plans SET status = ?, version = ? WHERE seq = ?`, status, version, seq)
}

func (s statements) SetExecutor(ctx context.Context, seq int64, executor string) error {
	return s.exec(ctx, `UPDATE plans SET executor = ? WHERE seq = ?`, executor, seq)
}

func (s statements) Acks(ctx context.Context, seq int64) ([]store.Ack, error) {
	return collect(ctx, s, func(row scanner) (a store.Ack, err error) {
		err = row.Scan(&a.Instance, &a.Actor, at(&a.At))
		return a, err
	}, `SELECT instance, actor, at FROM acks WHERE plan_seq = ? ORDER BY instance`, seq)
}

func (s statements) InsertAcks(ctx context.Context, seq int64, instances []int32, actor string, when time.Time) error {
	for _, instance := range instances {
		err := s.exec(ctx, `INSERT INTO acks (plan_seq, instance, actor, at) VALUES (?, ?, ?, ?)`, seq, instance, actor, at(&when))
		if err != nil {
			return err
		}
	}
	return nil
}

func (s statements) SetResolution(ctx context.Context, p engine.PlanRow, diff *int64, r store.Resolution) error {
	err := s.exec(ctx, `UPDATE plans SET diff_id = ?, resolved_keys = ?, table_after = ?, table_within_limit = ? WHERE seq = ?`,
		diff, r.Keys, r.TableAfter, r.TableWithinLimit, p.Seq)
	if err != nil {
		return err
	}
	return s.dropDiffs(ctx, []*int64{p.DiffID})
}

func (s statements) Transitions(ctx context.Context, seq int64) ([]store.Transition, error) {
	return collect(ctx, s, func(row scanner) (t store.Transition, err error) {
		err = row.Scan(&t.From, &t.To, &t.Actor, &t.Reason, at(&t.At))
		return t, err
	}, `SELECT from_status, to_status, actor, reason, at FROM transitions WHERE plan_seq = ? ORDER BY n`, seq)
}

func (s statements) InsertTransition(ctx context.Context, seq int64, t store.Transition) error {
	return s.exec(ctx,
		`INSERT INTO transitions (plan_seq, n, from_status, to_status, actor, reason, at)
		SELECT ?1, coalesce(max(n), 0) + 1, ?2, ?3, ?4, ?5, ?6 FROM transitions WHERE plan_seq = ?1`,
		seq, t.From, t.To, t.Actor, t.Reason, at(&t.At))
}

func (s statements) Blob(ctx context.Context, seq int64, kind engine.BlobKind) (data []byte, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT data FROM plan_blobs WHERE plan_seq = ? AND kind = ?`, seq, kind).Scan(&data)
	if err == nil && data == nil {
		data = []byte{} // the driver reads an empty blob as nil
	}
	return data, notFound(err)
}

func (s statements) InsertBlob(ctx context.Context, seq int64, kind engine.BlobKind, data []byte) error {
	return s.exec(ctx, `INSERT INTO plan_blobs (plan_seq, kind, data) VALUES (?, ?, ?)`, seq, kind, data)
}

func (s statements) OlderThanNewest(ctx context.Context, operator int64, n int) (seq int64, err error) {
	err = s.db.QueryRowContext(ctx,
		`SELECT seq FROM plans WHERE operator_id = ? ORDER BY seq DESC LIMIT 1 OFFSET ?`, operator, n).Scan(&seq)
	return seq, notFound(err)
}

func (s statements) PurgeInputs(ctx context.Context, operator, upTo int64) error {
	const old = `operator_id = ? AND seq <= ? AND input_state = 'kept'`
	err := s.exec(ctx,
		`DELETE FROM plan_blobs WHERE kind = 'input' AND plan_seq IN (SELECT seq FROM plans WHERE `+old+`)`, operator, upTo)
	if err != nil {
		return err
	}
	return s.exec(ctx, `UPDATE plans SET input_state = 'purged' WHERE `+old, operator, upTo)
}

func (s statements) PurgePlans(ctx context.Context, operator, upTo, current int64) error {
	const old = `operator_id = ? AND seq <= ? AND version IS NOT ? AND status <> 'applying'`
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
