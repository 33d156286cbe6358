package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"plannerd/store"
	"plannerd/store/internal/engine"
	"plannerd/store/internal/statements"
)

// session implements [engine.Session].
type session struct {
	db      queryer
	timeout time.Duration // of one statement
}

// queryer is what a pool and a transaction have in common.
type queryer interface {
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

func (s session) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	done, err := s.db.Exec(ctx, query, args...)
	return done.RowsAffected(), err
}

// rows are those of a statement whose time ends with them.
type rows struct {
	pgx.Rows
	end context.CancelFunc
}

func (r rows) Close() {
	r.Rows.Close()
	r.end()
}

func (s session) Query(ctx context.Context, query string, args ...any) (statements.Rows, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	found, err := s.db.Query(ctx, query, args...)
	if err != nil {
		cancel()
		return nil, err
	}
	return rows{found, cancel}, nil
}

// row is that of a statement whose time ends with it.
type row struct {
	pgx.Row
	end context.CancelFunc
}

func (r row) Scan(targets ...any) error {
	defer r.end()
	return r.Row.Scan(targets...)
}

func (s session) QueryRow(ctx context.Context, query string, args ...any) statements.Scanner {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	return row{s.db.QueryRow(ctx, query, args...), cancel}
}

func (s session) ForUpdate() string { return " FOR UPDATE" }

func (s session) Instant(t **time.Time) any { return statements.Instant{P: t} }

// changesPerStatement bounds the size of one statement's arrays: keys have at
// most 1 KiB.
const changesPerStatement = 20_000

// Apply deletes and updates many entries with one statement, and copies the new
// ones, which is twice as fast as inserting them.
func (s session) Apply(ctx context.Context, operator int64, sets, moves, unsets []store.Change) error {
	if err := s.change(ctx, operator, unsets, `DELETE FROM table_entries e USING `+changesTable); err != nil {
		return err
	}
	if err := s.change(ctx, operator, moves, `UPDATE table_entries e SET instance = c.new, parts = c.new_parts FROM `+
		changesTable); err != nil {
		return err
	}
	return s.insertEntries(ctx, operator, sets)
}

// changesTable joins the entries of operator $1 with the changes that they agree
// with.
const changesTable = `unnest($2::bytea[], $3::int[], $4::int[], $5::bytea[], $6::bytea[])
	AS c (key, old, new, old_parts, new_parts)
	WHERE e.operator_id = $1 AND e.key = c.key AND e.instance = c.old AND e.parts IS NOT DISTINCT FROM c.old_parts`

// change runs a statement on changes of entries that are there. It must touch
// each of them: what it misses did not hold Old.
func (s session) change(ctx context.Context, operator int64, changes []store.Change, query string) error {
	for chunk := range slices.Chunk(changes, changesPerStatement) {
		keys, before, after := make([][]byte, len(chunk)), make([]int32, len(chunk)), make([]int32, len(chunk))
		oldParts, newParts := make([][]byte, len(chunk)), make([][]byte, len(chunk))
		for i, c := range chunk {
			keys[i], before[i], after[i] = c.Key, c.Old, c.New
			oldParts[i], newParts[i] = statements.Parts(c.OldParts), statements.Parts(c.NewParts)
		}
		n, err := s.Exec(ctx, query, operator, keys, before, after, oldParts, newParts)
		if err != nil {
			return err
		}
		if n != int64(len(chunk)) {
			return fmt.Errorf("%w: %d of %d keys between %q and %q do", engine.ErrMismatch, n, len(chunk), keys[0],
				keys[len(keys)-1])
		}
	}
	return nil
}

func (s session) insertEntries(ctx context.Context, operator int64, changes []store.Change) error {
	if len(changes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	_, err := s.db.CopyFrom(ctx, pgx.Identifier{"table_entries"}, []string{"operator_id", "key", "instance", "parts"},
		pgx.CopyFromSlice(len(changes), func(i int) ([]any, error) {
			return []any{operator, changes[i].Key, changes[i].New, statements.Parts(changes[i].NewParts)}, nil
		}))
	if hasCode(err, uniqueViolation) {
		return fmt.Errorf("%w: %w", engine.ErrMismatch, err) // one of them is there already
	}
	return err
}

func (s session) InsertAcks(ctx context.Context, seq int64, instances []int32, actor string, at time.Time) error {
	when := &at
	_, err := s.Exec(ctx, `INSERT INTO acks (plan_seq, instance, actor, at) SELECT $1, unnest($2::int[]), $3, $4`,
		seq, instances, actor, s.Instant(&when))
	return err
}

func (s session) DropDiffs(ctx context.Context, ids []*int64) error {
	_, err := s.Exec(ctx,
		`DELETE FROM diffs d WHERE d.id = ANY ($1::bigint[])
		AND NOT EXISTS (SELECT FROM plans WHERE diff_id = d.id)
		AND NOT EXISTS (SELECT FROM table_versions WHERE diff_id = d.id)`, ids)
	return err
}
