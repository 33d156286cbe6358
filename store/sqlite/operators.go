package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"plannerd/store"
	"plannerd/store/internal/engine"
)

// statements are SQL statements in a transaction, or each on its own.
type statements struct {
	db queryer
	// told are the operators that watchers are told of after the commit.
	told *[]string
}

// queryer is what [sql.DB] and [sql.Tx] have in common.
type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanner is a row to scan: [sql.Row] or [sql.Rows].
type scanner interface{ Scan(targets ...any) error }

func (s statements) exec(ctx context.Context, query string, args ...any) error {
	_, err := s.db.ExecContext(ctx, query, args...)
	return err
}

// insert runs an INSERT and returns the number that the row was given.
func (s statements) insert(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := s.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// collect scans all rows of a query.
func collect[T any](ctx context.Context, s statements, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// micros keeps a time as microseconds since 1970, in UTC. A nil time is NULL.
type micros struct{ p **time.Time }

func at(t *time.Time) any { return micros{&t} }

// maybe is at for a time that may not be there.
func maybe(t **time.Time) any { return micros{t} }

func (m micros) Value() (driver.Value, error) {
	if *m.p == nil {
		return nil, nil
	}
	return (*m.p).UnixMicro(), nil
}

func (m micros) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*m.p = nil
	case int64:
		if *m.p == nil {
			*m.p = new(time.Time)
		}
		**m.p = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("sqlite: a time read as %T", src)
	}
	return nil
}

const operatorColumns = `o.name, o.config_version, c.config, o.table_version, o.table_config_version, o.table_size,
	o.newest_epoch, o.newest_interval, o.created_at, o.updated_at,
	coalesce(p.id, ''), coalesce(p.status, '')`

// operatorTables joins an operator with its current plan as of ?1.
const operatorTables = `operators o JOIN configurations c ON c.operator_id = o.id AND c.version = o.config_version
	LEFT JOIN plans p ON p.seq = coalesce(
		(SELECT seq FROM plans WHERE operator_id = o.id AND status = 'applying'),
		max(coalesce((SELECT max(seq) FROM plans WHERE operator_id = o.id AND status = 'approved'), 0),
			coalesce((SELECT max(seq) FROM plans WHERE operator_id = o.id AND status = 'proposed'
				AND (expires_at IS NULL OR expires_at > ?1)), 0)))`

func operatorTargets(op *store.Operator) []any {
	return []any{
		&op.Name, &op.ConfigVersion, engine.JSON{P: &op.Config}, &op.TableVersion, &op.TableConfigVersion, &op.TableSize,
		&op.LastEpoch, &op.LastInterval, at(&op.CreatedAt), at(&op.UpdatedAt), &op.CurrentPlan, &op.CurrentStatus,
	}
}

func scanOperator(row scanner) (op store.Operator, err error) {
	err = row.Scan(operatorTargets(&op)...)
	return op, err
}

func (s statements) Operator(ctx context.Context, name string, now time.Time) (store.Operator, error) {
	op, err := scanOperator(s.db.QueryRowContext(ctx,
		`SELECT `+operatorColumns+` FROM `+operatorTables+` WHERE o.name = ?2 AND o.deleted_at IS NULL`, at(&now), name))
	return op, notFound(err)
}

func (s statements) Operators(ctx context.Context, after string, limit int, now time.Time) ([]store.Operator, error) {
	return collect(ctx, s, scanOperator,
		`SELECT `+operatorColumns+` FROM `+operatorTables+`
		WHERE o.name > ?2 AND o.deleted_at IS NULL ORDER BY o.name LIMIT ?3`, at(&now), after, limit)
}

func (s statements) Route(ctx context.Context, name string, key []byte, now time.Time) (store.Operator, int32, bool, error) {
	var op store.Operator
	var instance sql.NullInt32
	err := s.db.QueryRowContext(ctx,
		`SELECT `+operatorColumns+`, e.instance FROM `+operatorTables+`
		LEFT JOIN table_entries e ON e.operator_id = o.id AND e.key = ?2
		WHERE o.name = ?3 AND o.deleted_at IS NULL`, at(&now), key, name).Scan(append(operatorTargets(&op), &instance)...)
	if err != nil {
		return store.Operator{}, 0, false, notFound(err)
	}
	return op, instance.Int32, instance.Valid, nil
}

func (s statements) Configuration(ctx context.Context, operator string, version int64) (c store.Configuration, err error) {
	err = s.db.QueryRowContext(ctx,
		`SELECT c.version, c.config, c.created_at FROM configurations c JOIN operators o ON o.id = c.operator_id
		WHERE o.name = ? AND c.version = ?`, operator, version).Scan(&c.Version, engine.JSON{P: &c.Config}, at(&c.CreatedAt))
	return c, notFound(err)
}

func (s statements) Row(ctx context.Context, name string) (r engine.Row, err error) {
	err = s.db.QueryRowContext(ctx,
		`SELECT id, name, config_version, table_version, table_config_version, table_size,
			newest_epoch, newest_interval, created_at, updated_at, deleted_at
		FROM operators WHERE name = ?`, name).Scan(
		&r.ID, &r.Name, &r.ConfigVersion, &r.TableVersion, &r.TableConfigVersion, &r.TableSize,
		&r.Epoch, &r.Interval, at(&r.CreatedAt), at(&r.UpdatedAt), maybe(&r.DeletedAt))
	return r, notFound(err)
}

// Lock is Row: an immediate transaction is alone in changing anything.
func (s statements) Lock(ctx context.Context, name string) (engine.Row, error) {
	return s.Row(ctx, name)
}

func (s statements) Reserve(ctx context.Context, name string, when time.Time) error {
	return s.exec(ctx,
		`INSERT INTO operators (name, config_version, table_version, table_config_version, table_size, created_at, updated_at, deleted_at)
		VALUES (?1, 0, -1, 0, 0, ?2, ?2, ?2) ON CONFLICT DO NOTHING`, name, at(&when))
}

func (s statements) Save(ctx context.Context, r engine.Row) error {
	return s.exec(ctx,
		`UPDATE operators SET config_version = ?, table_version = ?, table_config_version = ?, table_size = ?,
			newest_epoch = ?, newest_interval = ?, created_at = ?, updated_at = ?, deleted_at = ? WHERE id = ?`,
		r.ConfigVersion, r.TableVersion, r.TableConfigVersion, r.TableSize,
		r.Epoch, r.Interval, at(&r.CreatedAt), at(&r.UpdatedAt), maybe(&r.DeletedAt), r.ID)
}

func (s statements) InsertConfiguration(ctx context.Context, operator int64, c store.Configuration) error {
	return s.exec(ctx,
		`INSERT INTO configurations (operator_id, version, config, created_at) VALUES (?, ?, ?, ?)`,
		operator, c.Version, string(c.Config), at(&c.CreatedAt))
}

func (s statements) DeleteHistory(ctx context.Context, operator int64) error {
	for _, query := range []string{
		`INSERT INTO purged_plans (id) SELECT id FROM plans WHERE operator_id = ?`,
		`DELETE FROM plans WHERE operator_id = ?`, // with their transitions and blobs
		`DELETE FROM table_versions WHERE operator_id = ?`,
		`DELETE FROM reports WHERE operator_id = ?`,
		`DELETE FROM table_entries WHERE operator_id = ?`,
		`DELETE FROM diffs WHERE operator_id = ?`,
		`DELETE FROM configurations WHERE operator_id = ?`,
	} {
		if err := s.exec(ctx, query, operator); err != nil {
			return err
		}
	}
	return nil
}
