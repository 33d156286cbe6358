package statements

import (
	"context"
	"encoding/json"
	"time"

	"plannerd/store"
)

const operatorColumns = `o.name, o.config_version, c.config, o.table_version, o.table_config_version, o.table_size,
	o.newest_epoch, o.newest_interval, o.created_at, o.updated_at,
	coalesce(p.id, ''), coalesce(p.status, ''), coalesce(p.executor_epoch, 0), coalesce(p.limits_changed, false),
	coalesce(v.plan_id, ''), coalesce(v.created_at, o.created_at),
	(SELECT f.data FROM freezes f WHERE f.operator IN ('', o.name) AND f.until_at > $1
		ORDER BY f.until_at DESC, f.operator LIMIT 1)`

// operatorTables joins an operator with its current plan as of $1.
const operatorTables = `operators o JOIN configurations c ON c.operator_id = o.id AND c.version = o.config_version
	LEFT JOIN table_versions v ON v.operator_id = o.id AND v.version = o.table_version
	LEFT JOIN plans p ON p.seq = coalesce(
		(SELECT seq FROM plans WHERE operator_id = o.id AND status IN ('applying', 'aborting')),
		(SELECT max(seq) FROM plans WHERE operator_id = o.id AND status = 'approved'
			AND (expires_at IS NULL OR expires_at > $1)),
		(SELECT max(seq) FROM plans WHERE operator_id = o.id AND status = 'proposed'
			AND (expires_at IS NULL OR expires_at > $1)))`

func (s operatorStatements) operatorTargets(op *store.Operator) []any {
	return []any{
		&op.Name, &op.ConfigVersion, JSON{P: &op.Config, Decoded: true}, &op.TableVersion, &op.TableConfigVersion,
		&op.TableSize, &op.LastEpoch, &op.LastInterval, s.at(&op.CreatedAt), s.at(&op.UpdatedAt), &op.CurrentPlan,
		&op.CurrentStatus, &op.ExecutorEpoch, &op.LimitsChanged, &op.TableOrigin.Plan, s.at(&op.TableOrigin.At),
		freezeOf{&op.Freeze},
	}
}

func (s operatorStatements) scanOperator(now time.Time) func(Scanner) (store.Operator, error) {
	return func(row Scanner) (op store.Operator, err error) {
		op.ReadAt = now
		err = row.Scan(s.operatorTargets(&op)...)
		return op, err
	}
}

// Operator returns an operator by its name.
func (s operatorStatements) Operator(ctx context.Context, name string, now time.Time) (store.Operator, error) {
	return one(ctx, s.base, s.scanOperator(now),
		`SELECT `+operatorColumns+` FROM `+operatorTables+` WHERE o.name = $2 AND o.deleted_at IS NULL`, s.at(&now), name)
}

// Operators lists operators by their names.
func (s operatorStatements) Operators(ctx context.Context, after string, limit int, now time.Time) ([]store.Operator,
	error) {
	return collect(ctx, s.base, s.scanOperator(now),
		`SELECT `+operatorColumns+` FROM `+operatorTables+`
		WHERE o.name > $2 AND o.deleted_at IS NULL ORDER BY o.name LIMIT $3`, s.at(&now), after, limit)
}

// BriefPlan is a plan of an operator in brief.
type BriefPlan struct {
	OperatorName string
	store.BriefPlan
}

// RecentPlans lists the newest plans of each operator in brief, at most so many of each,
// those of an operator together and the oldest first.
func (s operatorStatements) RecentPlans(ctx context.Context, operators []store.Operator, most int) ([]BriefPlan,
	error) {
	args := []any{most - 1}
	for _, op := range operators {
		args = append(args, op.Name)
	}
	return collect(ctx, s.base, func(row Scanner) (p BriefPlan, err error) {
		err = row.Scan(&p.OperatorName, &p.ID, s.at(&p.CreatedAt), &p.Epoch, &p.Interval, &p.Status, &p.ThetaRealised,
			&p.ThetaAfter, &p.MigrationKeys, &p.MigrationFraction, &p.Returned, JSON{P: &p.Forecast, Decoded: true})
		return p, err
	}, `SELECT o.name, p.id, p.created_at, p.epoch, p.interval, p.status, coalesce(p.theta_realised, p.theta_before), p.theta_after,
			p.migration_keys, p.migration_fraction, coalesce(p.returned_state / nullif(p.migration_state, 0), 0),
			CASE WHEN p.resources IS NOT NULL THEN p.forecast END
		FROM operators o JOIN plans p ON p.operator_id = o.id AND p.seq >= coalesce(
			(SELECT seq FROM plans WHERE operator_id = o.id ORDER BY seq DESC LIMIT 1 OFFSET $1), 0)
		WHERE o.deleted_at IS NULL AND o.name IN (`+placeholders(2, len(operators))+`) ORDER BY o.id, p.seq`, args...)
}

// Route is Operator with the entry of a key in its table; nil, if there is none.
func (s operatorStatements) Route(ctx context.Context, name string, key []byte, now time.Time) (
	op store.Operator, entry *store.Entry, err error,
) {
	var instance *int32
	e := store.Entry{Key: key}
	op.ReadAt = now
	err = s.QueryRow(ctx,
		`SELECT `+operatorColumns+`, e.instance, e.parts FROM `+operatorTables+`
		LEFT JOIN table_entries e ON e.operator_id = o.id AND e.key = $2
		WHERE o.name = $3 AND o.deleted_at IS NULL`, s.at(&now), key, name).Scan(
		append(s.operatorTargets(&op), &instance, partsOf{&e.Parts})...)
	if err != nil {
		return store.Operator{}, nil, notFound(err)
	}
	if instance == nil {
		return op, nil, nil
	}
	e.Instance = *instance
	return op, &e, nil
}

// Row returns the operator's own row.
func (s operatorStatements) Row(ctx context.Context, name string) (Row, error) {
	return s.row(ctx, name, ``)
}

// Lock is Row and keeps others from changing anything of the operator until the
// transaction ends.
func (s operatorStatements) Lock(ctx context.Context, name string) (Row, error) {
	return s.row(ctx, name, s.ForUpdate())
}

func (s operatorStatements) row(ctx context.Context, name, locking string) (r Row, err error) {
	err = s.QueryRow(ctx,
		`SELECT id, name, config_version, table_version, table_config_version, table_size, next_instance,
			newest_epoch, newest_interval, created_at, updated_at, deleted_at
		FROM operators WHERE name = $1`+locking, name).Scan(
		&r.ID, &r.Name, &r.ConfigVersion, &r.TableVersion, &r.TableConfigVersion, &r.TableSize, &r.NextInstance,
		&r.Epoch, &r.Interval, s.at(&r.CreatedAt), s.at(&r.UpdatedAt), s.Instant(&r.DeletedAt))
	return r, notFound(err)
}

// Reserve inserts a deleted operator that never had a version, unless the name has a
// row already. It waits for another transaction that inserts the same name.
func (s operatorStatements) Reserve(ctx context.Context, name string, when time.Time) error {
	return s.exec(ctx,
		`INSERT INTO operators (name, config_version, table_version, table_config_version, table_size, created_at, updated_at, deleted_at)
		VALUES ($1, 0, -1, 0, 0, $2, $2, $2) ON CONFLICT DO NOTHING`, name, s.at(&when))
}

// Save writes the row back.
func (s operatorStatements) Save(ctx context.Context, r Row) error {
	return s.exec(ctx,
		`UPDATE operators SET config_version = $2, table_version = $3, table_config_version = $4, table_size = $5,
			newest_epoch = $6, newest_interval = $7, created_at = $8, updated_at = $9, deleted_at = $10, next_instance = $11 WHERE id = $1`,
		r.ID, r.ConfigVersion, r.TableVersion, r.TableConfigVersion, r.TableSize,
		r.Epoch, r.Interval, s.at(&r.CreatedAt), s.at(&r.UpdatedAt), s.Instant(&r.DeletedAt), r.NextInstance)
}

// InstanceNames returns the ids of an operator's instances by all names that they ever had.
func (s operatorStatements) InstanceNames(ctx context.Context, operator int64) (ids map[string]int32, err error) {
	var text []byte
	err = s.QueryRow(ctx, `SELECT instance_names FROM operators WHERE id = $1`, operator).Scan(JSON{P: &text, Decoded: true})
	if err == nil && text != nil {
		err = decode(text, &ids)
	}
	return ids, notFound(err)
}

// SetInstanceNames keeps what InstanceNames returns.
func (s operatorStatements) SetInstanceNames(ctx context.Context, operator int64, ids map[string]int32) error {
	var text []byte // NULL
	if len(ids) > 0 {
		var err error
		if text, err = json.Marshal(ids); err != nil {
			return err
		}
	}
	return s.exec(ctx, `UPDATE operators SET instance_names = $2 WHERE id = $1`, operator, JSON{P: &text})
}

// OldestProgram returns the oldest version of the schema that a program must know.
func (s operatorStatements) OldestProgram(ctx context.Context) (int64, error) {
	return get[int64](ctx, s.base, `SELECT coalesce(max(version), 0) FROM oldest_program`)
}

// RaiseOldestProgram has programs refuse to serve that do not know a version of the schema.
func (s base) RaiseOldestProgram(ctx context.Context, version int64) error {
	return s.exec(ctx, `UPDATE oldest_program SET version = $1 WHERE version < $1`, version)
}

// DeleteHistory removes all that belongs to the operator but its row, and notes its
// plans as purged.
func (s operatorStatements) DeleteHistory(ctx context.Context, operator int64, at time.Time) error {
	err := s.exec(ctx, `INSERT INTO purged_plans (id, purged_at) SELECT id, $2 FROM plans WHERE operator_id = $1`,
		operator, s.at(&at))
	if err != nil {
		return err
	}
	for _, query := range []string{
		`DELETE FROM plans WHERE operator_id = $1`, // with their transitions and blobs
		`DELETE FROM table_versions WHERE operator_id = $1`,
		`DELETE FROM reports WHERE operator_id = $1`,
		`DELETE FROM routers WHERE operator_id = $1`,
		`DELETE FROM table_entries WHERE operator_id = $1`,
		`DELETE FROM diffs WHERE operator_id = $1`,
		`DELETE FROM configurations WHERE operator_id = $1`,
	} {
		if err := s.exec(ctx, query, operator); err != nil {
			return err
		}
	}
	return nil
}
