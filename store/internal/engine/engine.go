// Package engine is the logic of a [store.Store], written once: what a plan's
// status allows, which plan an interval has, how an old table version is
// rebuilt, what retention removes. It works through package statements, whose SQL runs in
// a session of each database.
package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plannerd/migrations"
	"plannerd/store"
	"plannerd/store/internal/statements"
)

// VersionTable is the table in which the migrations that were applied are noted.
const VersionTable = "plannerd_schema"

// ErrMismatch says that the committed table is not what a plan's changes say it is.
// It is no sentinel of the store's contract, because it must not happen.
var ErrMismatch = errors.New("the stored table does not match the changes")

// Database runs statements. All three of its ways to run them turn the driver's
// errors into the store's.
type Database interface {
	// Read runs f outside any transaction: each statement sees the newest state.
	Read(ctx context.Context, f func(statements.Statements) error) error
	// Snapshot runs f on one state of the database, for reading.
	Snapshot(ctx context.Context, f func(statements.Statements) error) error
	// Update runs f in a transaction and commits it if f returns nil. f may run
	// more than once; only its last run counts.
	Update(ctx context.Context, f func(statements.Statements) error) error
	// SchemaVersion is the newest migration applied, 0 without any.
	SchemaVersion(ctx context.Context) (int64, error)
	// Compact gives space that is free back to the system.
	Compact(ctx context.Context) error
	// Check reports whether the database can be read and written.
	Check(ctx context.Context) error
	// Now is the time by the clock that all who use the database share.
	Now(ctx context.Context) (time.Time, error)
	// Watch implements [store.Store].
	Watch(ctx context.Context) (<-chan store.Event, error)
	// Close releases all resources.
	Close() error
}

// Store implements [store.Store] on a Database.
type Store struct {
	db    *guarded
	clock clock
}

var _ store.Store = (*Store)(nil)

// New returns a store on db.
func New(db Database, o store.Options) *Store {
	return &Store{db: &guarded{Database: db}, clock: clock{given: o.Now}}
}

// Ready reports whether the database can be reached and is migrated. A schema newer than
// this build's is fine unless it says otherwise.
func (s *Store) Ready(ctx context.Context) error {
	version, err := s.db.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	if version < migrations.Latest {
		return fmt.Errorf("%w: its schema has version %d, and version %d is needed", store.ErrUnavailable, version,
			migrations.Latest)
	}
	var oldest int64
	err = s.db.Read(ctx, func(q statements.Statements) error {
		oldest, err = q.OldestProgram(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if oldest > migrations.Latest {
		return fmt.Errorf("%w: that needs one that knows version %d of the schema, and this one knows %d",
			store.ErrOutdated, oldest, migrations.Latest)
	}
	return s.db.Check(ctx)
}

// Watch implements [store.Store].
func (s *Store) Watch(ctx context.Context) (<-chan store.Event, error) { return s.db.Watch(ctx) }

// Close releases all resources.
func (s *Store) Close() error { return s.db.Close() }
