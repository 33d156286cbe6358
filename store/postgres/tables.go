package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"plannerd/store"
	"plannerd/store/internal/engine"
)

// changesPerStatement bounds the size of one statement's arrays: keys have at
// most 1 KiB.
const changesPerStatement = 20_000

func (s statements) Entries(ctx context.Context, operator int64) ([]store.Entry, error) {
	return collect(ctx, s, func(row pgx.Row) (e store.Entry, err error) {
		err = row.Scan(&e.Key, &e.Instance)
		return e, err
	}, `SELECT key, instance FROM table_entries WHERE operator_id = $1 ORDER BY key`, operator)
}

// Apply deletes and updates many entries with one statement, and copies the new
// ones, which is twice as fast as inserting them.
func (s statements) Apply(ctx context.Context, operator int64, sets, moves, unsets []store.Change) error {
	if err := s.change(ctx, operator, unsets, `DELETE FROM table_entries e USING `+changesTable); err != nil {
		return err
	}
	if err := s.change(ctx, operator, moves, `UPDATE table_entries e SET instance = c.new FROM `+changesTable); err != nil {
		return err
	}
	return s.insertEntries(ctx, operator, sets)
}

// changesTable joins the entries of operator $1 with the changes that they agree
// with.
const changesTable = `unnest($2::bytea[], $3::int[], $4::int[]) AS c (key, old, new)
	WHERE e.operator_id = $1 AND e.key = c.key AND e.instance = c.old`

// change runs a statement on changes of entries that are there. It must touch
// each of them: what it misses did not hold Old.
func (s statements) change(ctx context.Context, operator int64, changes []store.Change, query string) error {
	for chunk := range slices.Chunk(changes, changesPerStatement) {
		keys, before, after := make([][]byte, len(chunk)), make([]int32, len(chunk)), make([]int32, len(chunk))
		for i, c := range chunk {
			keys[i], before[i], after[i] = c.Key, c.Old, c.New
		}
		done, err := s.db.Exec(ctx, query, operator, keys, before, after)
		if err != nil {
			return err
		}
		if n := done.RowsAffected(); n != int64(len(chunk)) {
			return fmt.Errorf("%w: %d of %d keys between %q and %q do", engine.ErrMismatch, n, len(chunk), keys[0], keys[len(keys)-1])
		}
	}
	return nil
}

func (s statements) insertEntries(ctx context.Context, operator int64, changes []store.Change) error {
	if len(changes) == 0 {
		return nil
	}
	_, err := s.db.CopyFrom(ctx, pgx.Identifier{"table_entries"}, []string{"operator_id", "key", "instance"},
		pgx.CopyFromSlice(len(changes), func(i int) ([]any, error) {
			return []any{operator, changes[i].Key, changes[i].New}, nil
		}))
	if hasCode(err, uniqueViolation) {
		return fmt.Errorf("%w: %w", engine.ErrMismatch, err) // one of them is there already
	}
	return err
}

func (s statements) TableVersion(ctx context.Context, operator, version int64) (v engine.TableVersion, err error) {
	err = s.db.QueryRow(ctx,
		`SELECT version, config_version, plan_id, diff_id, created_at FROM table_versions
		WHERE operator_id = $1 AND version = $2`, operator, version).Scan(
		&v.Version, &v.ConfigVersion, &v.PlanID, &v.DiffID, at(&v.CreatedAt))
	return v, notFound(err)
}

func (s statements) InsertTableVersion(ctx context.Context, operator int64, v engine.TableVersion) error {
	return s.exec(ctx,
		`INSERT INTO table_versions (operator_id, version, config_version, plan_id, diff_id, created_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, operator, v.Version, v.ConfigVersion, v.PlanID, v.DiffID, at(&v.CreatedAt))
}

func (s statements) Diffs(ctx context.Context, operator, above int64, f func([]byte) error) error {
	rows, err := s.db.Query(ctx,
		`SELECT d.data FROM table_versions v JOIN diffs d ON d.id = v.diff_id
		WHERE v.operator_id = $1 AND v.version > $2 ORDER BY v.version DESC`, operator, above)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return err
		}
		if err := f(data); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s statements) InsertDiff(ctx context.Context, operator int64, data []byte) (id int64, err error) {
	err = s.db.QueryRow(ctx, `INSERT INTO diffs (operator_id, data) VALUES ($1, $2) RETURNING id`, operator, data).Scan(&id)
	return id, err
}

func (s statements) Diff(ctx context.Context, id int64) (data []byte, err error) {
	err = s.db.QueryRow(ctx, `SELECT data FROM diffs WHERE id = $1`, id).Scan(&data)
	return data, notFound(err)
}

func (s statements) PurgeTableVersions(ctx context.Context, operator, upTo int64) error {
	diffs, err := s.diffIDs(ctx,
		`DELETE FROM table_versions WHERE operator_id = $1 AND version <= $2 RETURNING diff_id`, operator, upTo)
	if err != nil {
		return err
	}
	return s.dropDiffs(ctx, diffs)
}

func (s statements) diffIDs(ctx context.Context, query string, args ...any) ([]*int64, error) {
	return collect(ctx, s, func(row pgx.Row) (id *int64, err error) {
		err = row.Scan(&id)
		return id, err
	}, query, args...)
}

// dropDiffs removes those diffs that neither a plan nor a table version needs.
func (s statements) dropDiffs(ctx context.Context, ids []*int64) error {
	if len(ids) == 0 {
		return nil
	}
	return s.exec(ctx,
		`DELETE FROM diffs d WHERE d.id = ANY ($1::bigint[])
		AND NOT EXISTS (SELECT FROM plans WHERE diff_id = d.id)
		AND NOT EXISTS (SELECT FROM table_versions WHERE diff_id = d.id)`, ids)
}
