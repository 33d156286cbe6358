package statements

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"plannerd/store"
)

// Session runs SQL: a transaction, or a database, each statement on its own.
// Placeholders are $1, $2 and so on. What follows Instant is what databases do best
// each in its own way.
type Session interface {
	Exec(ctx context.Context, query string, args ...any) (affected int64, err error)
	Query(ctx context.Context, query string, args ...any) (Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) Scanner
	// ForUpdate ends a query that locks the row it finds.
	ForUpdate() string
	// Instant makes of a pointer to a time, which is nil for NULL, what the driver
	// reads and writes.
	Instant(t **time.Time) any

	// Apply makes changes to the committed table: entries that are set, moved
	// and unset. ErrMismatch when it does not hold their Old.
	Apply(ctx context.Context, operator int64, sets, moves, unsets []store.Change) error
	// InsertAcks adds acks of instances that have none yet.
	InsertAcks(ctx context.Context, seq int64, instances []int32, actor string, at time.Time) error
	// DropDiffs removes those diffs that neither a plan nor a table version needs.
	DropDiffs(ctx context.Context, ids []*int64) error
	// Tell makes an event for watchers once the transaction is committed.
	Tell(ctx context.Context, operator string) error
}

// Scanner is a row to scan.
type Scanner interface{ Scan(targets ...any) error }

// Rows are the rows that a query found.
type Rows interface {
	Scanner
	Next() bool
	Err() error
	Close()
}

// Statements are single SQL statements, or few of them where SQL needs more.
// Those that look one row up return [store.ErrNotFound] when there is none.
// Operators that are deleted are found by Row and Lock only. Of a proposed plan now is
// the time that it must outlast, or else it counts as expired.
type Statements struct {
	base
	operatorStatements
	reviewStatements
	planStatements
	historyStatements
	tableStatements
	batchStatements
	reportStatements
	routerStatements
	claimStatements
	webhookStatements
}

// On are those that a session runs.
func On(s Session) Statements {
	b := base{s}
	return Statements{
		b, operatorStatements{b}, reviewStatements{b}, planStatements{b}, historyStatements{b}, tableStatements{b},
		batchStatements{b}, reportStatements{b},
		routerStatements{b}, claimStatements{b}, webhookStatements{b},
	}
}

// The statements, by what they are about.
type (
	operatorStatements struct{ base }
	reviewStatements   struct{ base } // configurations and freezes, and what happened to them
	planStatements     struct{ base }
	historyStatements  struct{ base } // of plans: transitions, acknowledgements, long parts, what is purged
	tableStatements    struct{ base }
	batchStatements    struct{ base }
	reportStatements   struct{ base }
	routerStatements   struct{ base }
	claimStatements    struct{ base }
	webhookStatements  struct{ base } // and of plans that wait
)

// base is what all statements need.
type base struct{ Session }

// at is what the driver reads and writes of a time that is there.
func (s base) at(t *time.Time) any { return s.Instant(&t) }

func (s base) exec(ctx context.Context, query string, args ...any) error {
	_, err := s.Exec(ctx, query, args...)
	return err
}

// changed runs a statement and tells whether it changed anything.
func (s base) changed(ctx context.Context, query string, args ...any) (bool, error) {
	n, err := s.Exec(ctx, query, args...)
	return n > 0, err
}

// get reads the single value that a query finds.
func get[T any](ctx context.Context, s base, query string, args ...any) (value T, err error) {
	err = s.QueryRow(ctx, query, args...).Scan(&value)
	return value, notFound(err)
}

// blob is get for bytes: drivers read an empty blob as nil.
func (s base) blob(ctx context.Context, query string, args ...any) ([]byte, error) {
	data, err := get[[]byte](ctx, s, query, args...)
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

// one scans the row that a query finds.
func one[T any](ctx context.Context, s base, scan func(Scanner) (T, error), query string,
	args ...any) (T, error) {
	value, err := scan(s.QueryRow(ctx, query, args...))
	return value, notFound(err)
}

// collect scans all rows of a query.
func collect[T any](ctx context.Context, s base, scan func(Scanner) (T, error), query string,
	args ...any) ([]T, error) {
	rows, err := s.Query(ctx, query, args...)
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

// value scans a row of one value.
func value[T any](row Scanner) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}

// notFound turns the error of a row that is not there into the store's.
func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return err
}

// Instant keeps a time to the microsecond and in UTC, as what the driver takes for a
// time or as microseconds since 1970. A nil time is NULL.
type Instant struct {
	P      **time.Time
	Micros bool
}

// Value implements [driver.Valuer].
func (i Instant) Value() (driver.Value, error) {
	switch t := *i.P; {
	case t == nil:
		return nil, nil
	case i.Micros:
		return t.UnixMicro(), nil
	default:
		return t.UTC().Truncate(time.Microsecond), nil
	}
}

// Scan implements [sql.Scanner].
func (i Instant) Scan(src any) error {
	var t time.Time
	switch v := src.(type) {
	case nil:
		*i.P = nil
		return nil
	case int64:
		t = time.UnixMicro(v).UTC()
	case time.Time:
		t = v.UTC()
	default:
		return fmt.Errorf("store: a time read as %T", src)
	}
	if *i.P == nil {
		*i.P = new(time.Time)
	}
	**i.P = t
	return nil
}
