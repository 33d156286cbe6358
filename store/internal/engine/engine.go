// Package engine is the logic of a [store.Store], written once: what a plan's
// status allows, which plan an interval has, how an old table version is
// rebuilt, what retention removes. It works through [Statements], single SQL
// statements that each database words in its own dialect.
package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plannerd/migrations"
	"plannerd/store"
)

// VersionTable is the table in which the migrations that were applied are noted.
const VersionTable = "plannerd_schema"

// ErrMismatch says that the stored table is not what a plan's changes say it is.
// It is no sentinel of the store's contract, because it must not happen.
var ErrMismatch = errors.New("the stored table does not match the changes")

// Database runs statements. All three of its ways to run them turn the driver's
// errors into the store's.
type Database interface {
	// Read runs f outside any transaction: each statement sees the newest state.
	Read(ctx context.Context, f func(Statements) error) error
	// Snapshot runs f on one state of the database, for reading.
	Snapshot(ctx context.Context, f func(Statements) error) error
	// Update runs f in a transaction and commits it if f returns nil. f may run
	// more than once; only its last run counts.
	Update(ctx context.Context, f func(Statements) error) error
	// SchemaVersion is the newest migration applied, 0 without any.
	SchemaVersion(ctx context.Context) (int64, error)
	// Watch implements [store.Store].
	Watch(ctx context.Context) (<-chan store.Event, error)
	// Close releases all resources.
	Close() error
}

// Statements are single SQL statements, or few of them where SQL needs more.
// Those that look one row up return [store.ErrNotFound] when there is none.
// Operators that are deleted are found by Row and Lock only. at is the time that a
// proposed plan must outlast, or else it counts as expired.
type Statements interface {
	Operator(ctx context.Context, name string, at time.Time) (store.Operator, error)
	Operators(ctx context.Context, after string, limit int, at time.Time) ([]store.Operator, error)
	Route(ctx context.Context, name string, key []byte, at time.Time) (op store.Operator, instance int32, found bool, err error)
	Configuration(ctx context.Context, operator string, version int64) (store.Configuration, error)

	// Row returns the operator's own row, and Lock too, keeping others from
	// changing anything of the operator until the transaction ends.
	Row(ctx context.Context, name string) (Row, error)
	Lock(ctx context.Context, name string) (Row, error)
	// Reserve inserts a deleted operator that never had a version, unless the
	// name has a row already.
	Reserve(ctx context.Context, name string, at time.Time) error
	// Save writes the row back.
	Save(ctx context.Context, row Row) error
	InsertConfiguration(ctx context.Context, operator int64, c store.Configuration) error
	// DeleteHistory removes all that belongs to the operator but its row, and
	// notes its plans as purged.
	DeleteHistory(ctx context.Context, operator int64) error

	// Entries returns the committed table in ascending bytes of the keys.
	Entries(ctx context.Context, operator int64) ([]store.Entry, error)
	// Apply makes changes to the committed table: entries that are set, moved
	// and unset. ErrMismatch when it does not hold their Old.
	Apply(ctx context.Context, operator int64, sets, moves, unsets []store.Change) error
	TableVersion(ctx context.Context, operator, version int64) (TableVersion, error)
	InsertTableVersion(ctx context.Context, operator int64, v TableVersion) error
	// Diffs calls f with the diff of each table version above the given one,
	// newest first. data is valid during the call only.
	Diffs(ctx context.Context, operator, above int64, f func(data []byte) error) error
	InsertDiff(ctx context.Context, operator int64, data []byte) (id int64, err error)
	Diff(ctx context.Context, id int64) ([]byte, error)

	// InsertReport returns the number that is its revision.
	InsertReport(ctx context.Context, operator int64, r store.Report, data []byte) (revision int64, err error)
	// DeleteReport removes the report of the same epoch, interval and instance, and
	// tells whether there was one.
	DeleteReport(ctx context.Context, operator int64, r store.Report) (bool, error)
	// LastReports lists the newest report of each instance of the epoch up to the
	// interval, in ascending order of the instances.
	LastReports(ctx context.Context, operator, epoch, interval int64) ([]store.Report, error)
	ReportData(ctx context.Context, operator, revision int64) ([]byte, error)
	// KeepReports removes the instance's reports but the newest n, by epoch and
	// interval.
	KeepReports(ctx context.Context, operator int64, instance int32, n int) error
	// DropReports removes the reports that came at that time or later.
	DropReports(ctx context.Context, operator int64, since time.Time) error
	// PurgeReports removes the reports of lower epochs; of this epoch those of
	// intervals before the given one that are not the last of their instance up to
	// it, and those before oldest.
	PurgeReports(ctx context.Context, operator, epoch, interval, oldest int64) error

	Plan(ctx context.Context, id string) (PlanRow, error)
	// Purged tells whether a plan of that id existed and was removed.
	Purged(ctx context.Context, id string) (bool, error)
	// LivePlan returns the interval's plan that has not ended.
	LivePlan(ctx context.Context, operator string, epoch, interval int64) (PlanRow, error)
	// Plans lists at most f.Limit plans, newest first, by their SummaryFields.
	Plans(ctx context.Context, operator int64, f store.PlanFilter, at time.Time) ([]PlanRow, error)
	// InStatus lists the operator's plans of some statuses, oldest first, by their
	// SummaryFields.
	InStatus(ctx context.Context, operator int64, statuses ...store.Status) ([]PlanRow, error)
	// Expiring lists the operators that have proposed plans which have expired.
	Expiring(ctx context.Context, at time.Time) (names []string, err error)
	// InsertPlan returns the number that orders plans by their creation.
	InsertPlan(ctx context.Context, operator int64, p PlanRow) (seq int64, err error)
	SetStatus(ctx context.Context, seq int64, status store.Status, version *int64) error
	SetExecutor(ctx context.Context, seq int64, executor string) error
	// Acks lists the acks of a plan in ascending order of the instances.
	Acks(ctx context.Context, seq int64) ([]store.Ack, error)
	// InsertAcks adds acks of instances that have none yet.
	InsertAcks(ctx context.Context, seq int64, instances []int32, actor string, at time.Time) error
	// SetResolution gives a plan another diff, removing the one it has, and what
	// else the resolution says of it.
	SetResolution(ctx context.Context, p PlanRow, diff *int64, r store.Resolution) error
	Transitions(ctx context.Context, seq int64) ([]store.Transition, error)
	InsertTransition(ctx context.Context, seq int64, t store.Transition) error
	Blob(ctx context.Context, seq int64, kind BlobKind) ([]byte, error)
	InsertBlob(ctx context.Context, seq int64, kind BlobKind, data []byte) error

	// OlderThanNewest returns the newest plan that does not belong to the newest n.
	OlderThanNewest(ctx context.Context, operator int64, n int) (seq int64, err error)
	// PurgeInputs removes the inputs of plans up to the given one.
	PurgeInputs(ctx context.Context, operator, upTo int64) error
	// PurgePlans removes plans up to the given one and notes them as purged. It
	// keeps the one that became table version current and one that is being applied.
	PurgePlans(ctx context.Context, operator, upTo, current int64) error
	// PurgeTableVersions removes table versions up to the given one.
	PurgeTableVersions(ctx context.Context, operator, upTo int64) error

	// InsertKey inserts an idempotency key, unless it is there.
	InsertKey(ctx context.Context, k Key) (inserted bool, err error)
	// LockKey returns the key of that name and keeps others from changing it.
	LockKey(ctx context.Context, name []byte) (Key, error)
	// RenewKey gives the key another token and another lease.
	RenewKey(ctx context.Context, k Key) error
	// ExtendKey gives the key another lease if token holds it and there is no answer.
	// It tells whether that is so.
	ExtendKey(ctx context.Context, name []byte, token string, until time.Time) (bool, error)
	// FinishKey keeps the answer under the key. It tells whether token holds it.
	FinishKey(ctx context.Context, name []byte, token string, status int, answer []byte) (bool, error)
	// DeleteKey removes the key if token holds it and there is no answer.
	DeleteKey(ctx context.Context, name []byte, token string) error
	PurgeKeys(ctx context.Context, before time.Time) (n int, err error)

	// Tell makes an event for watchers once the transaction is committed.
	Tell(ctx context.Context, operator string) error
}

// Row is an operator's own row.
type Row struct {
	ID                 int64
	Name               string
	ConfigVersion      int64
	TableVersion       int64 // −1: it never had a table
	TableConfigVersion int64
	TableSize          int64
	// Epoch and Interval are the newest that has a plan; nil before the first.
	Epoch, Interval      *int64
	CreatedAt, UpdatedAt time.Time
	DeletedAt            *time.Time // nil: it is there
}

// TableVersion is one version in a table's history.
type TableVersion struct {
	Version       int64
	ConfigVersion int64
	PlanID        *string // nil for the empty first one
	DiffID        *int64  // nil: no entry changed
	CreatedAt     time.Time
}

// PlanRow is a plan with what only the database needs to know of it.
type PlanRow struct {
	Seq    int64
	DiffID *int64 // nil: it changes nothing in the table
	Input  InputState
	store.Plan
}

// Key is an idempotency key.
type Key struct {
	Name  []byte // a digest of scope and key
	Body  []byte
	Token string
	Until time.Time // the end of the lease
	At    time.Time
	// Status and Answer are there once the request is done.
	Status *int
	Answer []byte
}

// InputState tells whether a plan's input is there.
type InputState string

// The states of a plan's input.
const (
	InputNone   InputState = "none" // the plan was given none
	InputKept   InputState = "kept"
	InputPurged InputState = "purged"
)

// BlobKind names one long part of a plan.
type BlobKind string

// The long parts of a plan that are opaque to the store.
const (
	BlobMigrations BlobKind = "migrations"
	BlobInput      BlobKind = "input"
)

// Store implements [store.Store] on a Database.
type Store struct {
	db  Database
	now func() time.Time
}

var _ store.Store = (*Store)(nil)

// New returns a store on db.
func New(db Database, options ...store.Option) *Store {
	return &Store{db, store.NewOptions(options...).Now}
}

// Ready reports whether the database can be reached and is migrated. A schema
// newer than this build's is fine: migrations keep the build before them running.
func (s *Store) Ready(ctx context.Context) error {
	version, err := s.db.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	if version < migrations.Latest {
		return fmt.Errorf("%w: its schema has version %d, and version %d is needed", store.ErrUnavailable, version, migrations.Latest)
	}
	return nil
}

// Watch implements [store.Store].
func (s *Store) Watch(ctx context.Context) (<-chan store.Event, error) { return s.db.Watch(ctx) }

// Close releases all resources.
func (s *Store) Close() error { return s.db.Close() }
