package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"plannerd/migrations"
	"plannerd/store"
)

// explain turns the driver's errors into the store's. SQLite has one code for
// all that is wrong with a statement, a missing table among it: whether the
// schema is the reason can only be asked.
func (d *database) explain(ctx context.Context, err error) error {
	d.file.notice(err)
	if failure, ok := errors.AsType[*sqlite.Error](err); ok && failure.Code() == sqlite3.SQLITE_ERROR {
		if version, e := d.SchemaVersion(ctx); e == nil && version < migrations.Latest {
			return fmt.Errorf("%w: its schema has version %d: %w", store.ErrUnavailable, version, err)
		}
	}
	return mapError(ctx, err)
}

// noRoom tells whether a file could not be opened as its disk is full.
func noRoom(err error) bool {
	var failure *sqlite.Error
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Code() {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP,
		sqlite3.SQLITE_IOERR_WRITE:
		return true
	}
	return false
}

func mapError(ctx context.Context, err error) error {
	var failure *sqlite.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("%w: %w", ctx.Err(), err) // the driver says only that it was interrupted
	case strings.Contains(err.Error(), "sql: Scan error on column"): // by its text, as database/sql has no type for it
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	case !errors.As(err, &failure):
		return err
	}
	switch failure.Code() & 0xff { // the rest of a code says where it happened
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PROTOCOL:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return err
}
