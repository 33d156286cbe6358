package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"plannerd/store"
	"plannerd/store/internal/engine"
)

func (s statements) Entries(ctx context.Context, operator int64) ([]store.Entry, error) {
	return collect(ctx, s, func(row scanner) (e store.Entry, err error) {
		err = row.Scan(&e.Key, &e.Instance)
		return e, err
	}, `SELECT key, instance FROM table_entries WHERE operator_id = ? ORDER BY key`, operator)
}

// Apply makes the changes one by one, which costs SQLite no round trips.
func (s statements) Apply(ctx context.Context, operator int64, sets, moves, unsets []store.Change) error {
	for _, kind := range []struct {
		changes []store.Change
		query   string // on operator ?1 and key ?2, from instance ?3 to ?4
	}{
		{unsets, `DELETE FROM table_entries WHERE operator_id = ?1 AND key = ?2 AND instance = ?3`},
		{moves, `UPDATE table_entries SET instance = ?4 WHERE operator_id = ?1 AND key = ?2 AND instance = ?3`},
		{sets, `INSERT INTO table_entries (operator_id, key, instance) VALUES (?1, ?2, ?4) ON CONFLICT DO NOTHING`},
	} {
		if err := s.change(ctx, operator, kind.changes, kind.query); err != nil {
			return err
		}
	}
	return nil
}

// change runs a statement on each change. It must touch the entry: if it misses,
// the entry is not what Old says.
func (s statements) change(ctx context.Context, operator int64, changes []store.Change, query string) error {
	statement, err := s.db.PrepareContext(ctx, query)
	if err != nil {
		return err
	}
	defer statement.Close()
	// With a context that can end, the driver starts a goroutine for each
	// execution. They are short: it is enough to look between them.
	unending := context.WithoutCancel(ctx)
	for i, c := range changes {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		result, err := statement.ExecContext(unending, operator, c.Key, c.Old, c.New)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("%w: key %q", engine.ErrMismatch, c.Key)
		}
	}
	return nil
}

func (s statements) TableVersion(ctx context.Context, operator, version int64) (v engine.TableVersion, err error) {
	err = s.db.QueryRowContext(ctx,
		`SELECT version, config_version, plan_id, diff_id, created_at FROM table_versions
		WHERE operator_id = ? AND version = ?`, operator, version).Scan(
		&v.Version, &v.ConfigVersion, &v.PlanID, &v.DiffID, at(&v.CreatedAt))
	return v, notFound(err)
}

func (s statements) InsertTableVersion(ctx context.Context, operator int64, v engine.TableVersion) error {
	return s.exec(ctx,
		`INSERT INTO table_versions (operator_id, version, config_version, plan_id, diff_id, created_at)
		VALUES (?, ?, ?, ?, ?, ?)`, operator, v.Version, v.ConfigVersion, v.PlanID, v.DiffID, at(&v.CreatedAt))
}

func (s statements) Diffs(ctx context.Context, operator, above int64, f func([]byte) error) error {
	rows, err := s.db.QueryContext(ctx,
		`SELECT d.data FROM table_versions v JOIN diffs d ON d.id = v.diff_id
		WHERE v.operator_id = ? AND v.version > ? ORDER BY v.version DESC`, operator, above)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var data sql.RawBytes
		if err := rows.Scan(&data); err != nil {
			return err
		}
		if err := f(data); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s statements) InsertDiff(ctx context.Context, operator int64, data []byte) (int64, error) {
	return s.insert(ctx, `INSERT INTO diffs (operator_id, data) VALUES (?, ?)`, operator, data)
}

func (s statements) Diff(ctx context.Context, id int64) (data []byte, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT data FROM diffs WHERE id = ?`, id).Scan(&data)
	return data, notFound(err)
}

func (s statements) PurgeTableVersions(ctx context.Context, operator, upTo int64) error {
	diffs, err := s.diffIDs(ctx,
		`DELETE FROM table_versions WHERE operator_id = ? AND version <= ? RETURNING diff_id`, operator, upTo)
	if err != nil {
		return err
	}
	return s.dropDiffs(ctx, diffs)
}

func (s statements) diffIDs(ctx context.Context, query string, args ...any) ([]*int64, error) {
	return collect(ctx, s, func(row scanner) (id *int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, query, args...)
}

// dropDiffs removes those diffs that neither a plan nor a table version needs.
func (s statements) dropDiffs(ctx context.Context, ids []*int64) error {
	for _, id := range ids {
		err := s.exec(ctx,
			`DELETE FROM diffs WHERE id = ?1
			AND NOT EXISTS (SELECT 1 FROM plans WHERE diff_id = ?1)
			AND NOT EXISTS (SELECT 1 FROM table_versions WHERE diff_id = ?1)`, id)
		if err != nil {
			return err
		}
	}
	return nil
}
