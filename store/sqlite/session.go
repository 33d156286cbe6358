package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"plannerd/store"
	"plannerd/store/internal/engine"
	"plannerd/store/internal/statements"
)

// session implements [engine.Session].
type session struct {
	*runner
	// told are the operators that watchers are told of after the commit.
	told *[]string
}

func (s session) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return affected(s.exec(ctx, query, args...))
}

func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

type rows struct{ *sql.Rows }

func (r rows) Close() { _ = r.Rows.Close() } // Err has told what there was to tell

func (s session) Query(ctx context.Context, query string, args ...any) (statements.Rows, error) {
	found, err := s.query(ctx, query, args...) //nolint:rowserrcheck // the engine does
	return rows{found}, err
}

func (s session) QueryRow(ctx context.Context, query string, args ...any) statements.Scanner {
	return s.queryRow(ctx, query, args...)
}

// ForUpdate is empty: an immediate transaction is alone in changing anything.
func (s session) ForUpdate() string { return "" }

func (s session) Instant(t **time.Time) any { return statements.Instant{P: t, Micros: true} }

// Apply makes the changes one by one, which costs SQLite no round trips.
func (s session) Apply(ctx context.Context, operator int64, sets, moves, unsets []store.Change) error {
	for _, kind := range []struct {
		changes []store.Change
		query   string // on operator ?1 and key ?2, from instance ?3 to ?4, from parts ?5 to ?6
	}{
		{unsets, `DELETE FROM table_entries WHERE operator_id = ?1 AND key = ?2 AND instance = ?3
			AND parts IS ?5`},
		{moves, `UPDATE table_entries SET instance = ?4, parts = ?6 WHERE operator_id = ?1 AND key = ?2
			AND instance = ?3 AND parts IS ?5`},
		{sets, `INSERT INTO table_entries (operator_id, key, instance, parts) VALUES (?1, ?2, ?4, ?6)
			ON CONFLICT DO NOTHING`},
	} {
		if err := s.change(ctx, operator, kind.changes, kind.query); err != nil {
			return err
		}
	}
	return nil
}

// change runs a statement on each change. It must touch the entry: if it misses,
// the entry is not what Old says.
func (s session) change(ctx context.Context, operator int64, changes []store.Change, query string) error {
	if len(changes) == 0 {
		return nil
	}
	statement, err := s.prepare(ctx, query)
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
		n, err := affected(statement.ExecContext(unending, operator, c.Key, c.Old, c.New,
			statements.Parts(c.OldParts), statements.Parts(c.NewParts)))
		if err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("%w: key %q", engine.ErrMismatch, c.Key)
		}
	}
	return nil
}

func (s session) InsertAcks(ctx context.Context, seq int64, instances []int32, actor string, at time.Time) error {
	when := &at
	for _, instance := range instances {
		_, err := s.Exec(ctx, `INSERT INTO acks (plan_seq, instance, actor, at) VALUES ($1, $2, $3, $4)`,
			seq, instance, actor, s.Instant(&when))
		if err != nil {
			return err
		}
	}
	return nil
}

func (s session) DropDiffs(ctx context.Context, ids []*int64) error {
	for _, id := range ids {
		_, err := s.Exec(ctx,
			`DELETE FROM diffs WHERE id = $1
			AND NOT EXISTS (SELECT 1 FROM plans WHERE diff_id = $1)
			AND NOT EXISTS (SELECT 1 FROM table_versions WHERE diff_id = $1)`, id)
		if err != nil {
			return err
		}
	}
	return nil
}
