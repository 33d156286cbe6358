// Package sqlite keeps plannerd's data in one SQLite file, in pure Go. It
// implements [store.Store] for a single process; what a second process needs,
// such as a migration from the command line, waits for the lock.
//
// The file and its companions (-wal, -shm) are created for their owner only.
// What a method acknowledged survives a loss of power.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // registers the driver

	"plannerd/migrations"
	"plannerd/store"
	"plannerd/store/internal/engine"
	"plannerd/store/internal/statements"
)

// Store is a [store.Store] in a SQLite file.
type Store struct {
	*engine.Store
	db *database
}

// database is the file, open twice: SQLite has one writer at a time, and readers
// that do not wait for it.
type database struct {
	file            file
	writer, readers *sql.DB
	alone           bool      // both are the same connection; see connect
	changes, reads  *prepared // statements of writer, and of readers
	watchers        watchers
}

// Open opens the file at path and creates it, empty, if it does not exist. It
// does not migrate. [store.ErrUnavailable] when the file cannot be opened.
func Open(ctx context.Context, path string, options ...store.Option) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if err := createFile(path); err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	opened, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	db := &database{file: file{path: path, opened: opened}}
	if err := db.connect(ctx); err != nil {
		if explained := db.explain(ctx, err); !db.file.damaged.Load() { // waiting does not mend that
			err = explained
		}
		return nil, errors.Join(fmt.Errorf("opening %s: %w", path, err), db.Close())
	}
	if _, err := db.SchemaVersion(ctx); err == nil { // having read the file, SQLite has its log open
		db.file.openBeside()
	}
	return &Store{engine.New(db, store.NewOptions(options...)), db}, nil
}

// connect opens the file for reading and writing.
func (d *database) connect(ctx context.Context) (err error) {
	// The writer takes the lock as its transaction begins: one that read first
	// and wanted the lock then could only fail.
	if d.writer, err = open(d.file.path, 1, writerCache, autoVacuum, "_pragma=journal_mode(WAL)",
		"_txlock=immediate"); err != nil {
		return err
	}
	err = d.writer.PingContext(ctx)
	if noRoom(err) {
		// There is no room for the file that connections share as the index of the log. A
		// connection that has the database for itself keeps it in memory. No other pragma
		// that the driver would run first may look at the file before.
		if err := d.writer.Close(); err != nil {
			return err
		}
		d.alone = true
		if d.writer, err = open(d.file.path, 1, "_pragma=locking_mode(EXCLUSIVE)", "_txlock=immediate"); err != nil {
			return err
		}
		d.readers = d.writer
		err = d.writer.PingContext(ctx)
	} else if err == nil {
		d.readers, err = open(d.file.path, max(4, runtime.GOMAXPROCS(0)), readerCache, "_query_only=1")
	}
	d.changes, d.reads = newPrepared(d.writer), newPrepared(d.readers)
	return err
}

// open opens the file for at most so many connections, which are kept.
func open(path string, connections int, options ...string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", source(path, options...))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// Pooled is false: there is nothing between.
func (s *Store) Pooled() bool { return false }

// Migrator returns what changes the schema of this database.
func (s *Store) Migrator() store.Migrator {
	return engine.Migrator{
		DB:      s.db.writer,
		Dialect: goose.DialectSQLite3,
		Files:   migrations.SQLite(),
		Options: func() ([]goose.ProviderOption, error) { return nil, nil },
		Version: s.db.SchemaVersion,
		Explain: s.db.explain,
	}
}

// What connections keep of the file in memory: that of the one that writes holds
// the pages of a large table. Negative sizes are in KiB.
const (
	writerCache = "_pragma=cache_size(-8000)"
	readerCache = "_pragma=cache_size(-2000)"
)

// autoVacuum lets free pages be given back one by one. A file gets it before anything else
// is in it.
const autoVacuum = "_pragma=auto_vacuum(2)"

// source is the driver's name of the file. FULL syncs the log at every commit.
func source(path string, options ...string) string {
	options = append([]string{
		"_busy_timeout=10000", "_foreign_keys=1", "_synchronous=FULL", "_dqs=0",
		"_pragma=journal_size_limit(67108864)",
	}, options...)
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + strings.Join(options, "&")
}

// createFile makes an empty file that only its owner can read; SQLite gives its
// companions the same mode. The folder is synced, or else a loss of power could
// take the file's name with all that was committed to it.
func createFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// Close waits for what is running and closes the file.
func (d *database) Close() error {
	d.watchers.close()
	var errs []error
	for _, db := range []*sql.DB{d.readers, d.writer} { // the writer last: it tidies the log up
		if db != nil && (db == d.writer || !d.alone) {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Read implements [engine.Database].
func (d *database) Read(ctx context.Context, f func(statements.Statements) error) error {
	if err := d.file.check(); err != nil {
		return err
	}
	run := &runner{known: d.reads}
	err := f(statements.On(session{runner: run}))
	d.reads.add(ctx, run.fresh)
	return d.explain(ctx, err)
}

// Snapshot implements [engine.Database].
func (d *database) Snapshot(ctx context.Context, f func(statements.Statements) error) error {
	if err := d.file.check(); err != nil {
		return err
	}
	return d.transact(ctx, d.reads, func(r *runner) error { return f(statements.On(session{runner: r})) })
}

// Update implements [engine.Database].
func (d *database) Update(ctx context.Context, f func(statements.Statements) error) error {
	if err := d.file.checkWritable(); err != nil {
		return err
	}
	var told []string
	err := d.transact(ctx, d.changes, func(r *runner) error { return f(statements.On(session{r, &told})) })
	if err == nil {
		d.watchers.tell(told)
		err = d.file.checkWritable() // or else what was committed is lost
	}
	return err
}

func (d *database) transact(ctx context.Context, in *prepared, f func(*runner) error) error {
	tx, err := in.db.BeginTx(ctx, nil)
	if err != nil {
		return d.explain(ctx, err)
	}
	defer tx.Rollback() // does nothing after Commit
	run := &runner{known: in, tx: tx}
	if err := f(run); err != nil {
		// The connection is free again before explain may want to use it.
		_ = tx.Rollback()
		return d.explain(ctx, err)
	}
	err = d.explain(ctx, tx.Commit())
	in.add(ctx, run.fresh)
	return err
}

// SchemaVersion implements [engine.Database].
func (d *database) SchemaVersion(ctx context.Context) (int64, error) {
	var tables int
	err := d.readers.QueryRowContext(ctx,
		"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", engine.VersionTable).Scan(&tables)
	if err != nil || tables == 0 {
		return 0, mapError(ctx, err)
	}
	var version int64
	err = d.readers.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+engine.VersionTable).Scan(&version)
	return version, mapError(ctx, err)
}

// Now implements [engine.Database]. All who use the file are on one machine.
func (d *database) Now(ctx context.Context) (time.Time, error) { return time.Now(), ctx.Err() }
