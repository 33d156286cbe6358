package postgres

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"plannerd/store"
	"plannerd/store/internal/engine"
)

// statements are SQL statements in a transaction, or each on its own.
type statements struct{ db queryer }

// queryer is what a pool and a transaction have in common.
type queryer interface {
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

func (s statements) exec(ctx context.Context, query string, args ...any) error {
	_, err := s.db.Exec(ctx, query, args...)
	return err
}

// collect scans all rows of a query.
func collect[T any](ctx context.Context, s statements, scan func(pgx.Row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := s.db.Query(ctx, query, args...)
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

// instant keeps a time as timestamptz, to the microsecond and in UTC. A nil time
// is NULL.
type instant struct{ p **time.Time }

func at(t *time.Time) any { return instant{&t} }

// maybe is at for a time that may not be there.
func maybe(t **time.Time) any { return instant{t} }

func (i instant) Value() (driver.Value, error) {
	if *i.p == nil {
		return nil, nil
	}
	return (*i.p).UTC().Truncate(time.Microsecond), nil
}

func (i instant) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*i.p = nil
	case time.Time:
		if *i.p == nil {
			*i.p = new(time.Time)
		}
		**i.p = v.UTC()
	default:
		return fmt.Errorf("postgres: a time read as %T", src)
	}
	return nil
}

const operatorColumns = `o.name, o.config_version, c.config, o.table_version, o.table_config_version, o.table_size,
	o.newest_epoch, o.newest_interval, o.created_at, o.updated_at,
	coalesce(p.id, ''), coalesce(p.status, '')`

// operatorTables joins an operator with its current plan as of $1.
const operatorTables = `operators o JOIN configurations c ON c.operator_id = o.id AND c.version = o.config_version
	LEFT JOIN plans p ON p.seq = coalesce(
		(SELECT seq FROM plans WHERE operator_id = o.id AND status = 'applying'),
		greatest((SELECT max(seq) FROM plans WHERE operator_id = o.id AND status = 'approved'),
			(SELECT max(seq) FROM plans WHERE operator_id = o.id AND status = 'proposed'
				AND (expires_at IS NULL OR expires_at > $1))))`

func operatorTargets(op *store.Operator) []any {
	return []any{
		&op.Name, &op.ConfigVersion, engine.JSON{P: &op.Config}, &op.TableVersion, &op.TableConfigVersion, &op.TableSize,
		&op.LastEpoch, &op.LastInterval, at(&op.CreatedAt), at(&op.UpdatedAt), &op.CurrentPlan, &op.CurrentStatus,
	}
}

func scanOperator(row pgx.Row) (op store.Operator, err error) {
	err = row.Scan(operatorTargets(&op)...)
	return op, err
}

func (s statements) Operator(ctx context.Context, name string, now time.Time) (store.Operator, error) {
	op, err := scanOperator(s.db.QueryRow(ctx,
		`SELECT `+operatorColumns+` FROM `+operatorTables+` WHERE o.name = $2 AND o.deleted_at IS NULL`, at(&now), name))
	return op, notFound(err)
}

func (s statements) Operators(ctx context.Context, after string, limit int, now time.Time) ([]store.Operator, error) {
	return collect(ctx, s, scanOperator,
		`SELECT `+operatorColumns+` FROM `+operatorTables+`
		WHERE o.name > $2 AND o.deleted_at IS NULL ORDER BY o.name LIMIT $3`, at(&now), after, limit)
}

func (s statements) Route(ctx context.Context, name string, key []byte, now time.Time) (store.Operator, int32, bool, error) {
	var op store.Operator
	var instance *int32
	err := s.db.QueryRow(ctx,
		`SELECT `+operatorColumns+`, e.instance FROM `+operatorTables+`
		LEFT JOIN table_entries e ON e.operator_id = o.id AND e.key = $3
		WHERE o.name = $2 AND o.deleted_at IS NULL`, at(&now), name, key).Scan(append(operatorTargets(&op), &instance)...)
	if err != nil {
		return store.Operator{}, 0, false, notFound(err)
	}
	if instance == nil {
		return op, 0, false, nil
	}
	return op, *instance, true, nil
}

func (s statements) Configuration(ctx context.Context, operator string, version int64) (c store.Configuration, err error) {
	err = s.db.QueryRow(ctx,
		`SELECT c.version, c.config, c.created_at FROM configurations c JOIN operators o ON o.id = c.operator_id
		WHERE o.name = $1 AND c.version = $2`, operator, version).Scan(&c.Version, engine.JSON{P: &c.Config}, at(&c.CreatedAt))
	return c, notFound(err)
}

func (s statements) Row(ctx context.Context, name string) (engine.Row, error) {
	return s.row(ctx, name, ``)
}

func (s statements) Lock(ctx context.Context, name string) (engine.Row, error) {
	return s.row(ctx, name, ` FOR UPDATE`)
}

func (s statements) row(ctx context.Context, name, locking string) (r engine.Row, err error) {
	err = s.db.QueryRow(ctx,
		`SELECT id, name, config_version, table_version, table_config_version, table_size,
			newest_epoch, newest_interval, created_at, updated_at, deleted_at
		FROM operators WHERE name = $1`+locking, name).Scan(
		&r.ID, &r.Name, &r.ConfigVersion, &r.TableVersion, &r.TableConfigVersion, &r.TableSize,
		&r.Epoch, &r.Interval, at(&r.CreatedAt), at(&r.UpdatedAt), maybe(&r.DeletedAt))
	return r, notFound(err)
}

// Reserve waits for another transaction that inserts the same name.
func (s statements) Reserve(ctx context.Context, name string, when time.Time) error {
	return s.exec(ctx,
		`INSERT INTO operators (name, config_version, table_version, table_config_version, table_size, created_at, updated_at, deleted_at)
		VALUES ($1, 0, -1, 0, 0, $2, $2, $2) ON CONFLICT DO NOTHING`, name, at(&when))
}

func (s statements) Save(ctx context.Context, r engine.Row) error {
	return s.exec(ctx,
		`UPDATE operators SET config_version = $2, table_version = $3, table_config_version = $4, table_size = $5,
			newest_epoch = $6, newest_interval = $7, created_at = $8, updated_at = $9, deleted_at = $10 WHERE id = $1`,
		r.ID, r.ConfigVersion, r.TableVersion, r.TableConfigVersion, r.TableSize,
		r.Epoch, r.Interval, at(&r.CreatedAt), at(&r.UpdatedAt), maybe(&r.DeletedAt))
}

func (s statements) InsertConfiguration(ctx context.Context, operator int64, c store.Configuration) error {
	return s.exec(ctx,
		`INSERT INTO configurations (operator_id, version, config, created_at) VALUES ($1, $2, $3, $4)`,
		operator, c.Version, string(c.Config), at(&c.CreatedAt))
}

func (s statements) DeleteHistory(ctx context.Context, operator int64) error {
	for _, query := range []string{
		`INSERT INTO purged_plans (id) SELECT id FROM plans WHERE operator_id = $1`,
		`DELETE FROM plans WHERE operator_id = $1`, // with their transitions and blobs
		`DELETE FROM table_versions WHERE operator_id = $1`,
		`DELETE FROM reports WHERE operator_id = $1`,
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
