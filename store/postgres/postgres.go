// Package postgres keeps plannerd's data in PostgreSQL. It is tested with version
// 15, that of Debian 12, with 16 and 17, and any that PLANNERD_TEST_DATABASE_URL names. It
// implements [store.Store] for any number of processes at once: they coordinate
// by locking an operator's row, and by nothing else.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"plannerd/migrations"
	"plannerd/store"
	"plannerd/store/internal/engine"
	"plannerd/store/internal/statements"
)

// maxAttempts bounds how often a transaction is tried that the server gave up
// for the sake of another one.
const maxAttempts = 8

// Store is a [store.Store] in a Postgres database.
type Store struct {
	*engine.Store
	db *database
}

type database struct {
	pool    *pgxpool.Pool
	sql     *sql.DB       // the same pool for goose
	timeout time.Duration // of one operation
	// update and snapshot begin transactions.
	update, snapshot pgx.TxOptions
	pooled           bool            // a connection pooler is between
	listening        *pgx.ConnConfig // of connections that are notified
	patience

	// watching ends when the store is closed, which waits for watchers.
	watching context.Context
	unwatch  context.CancelFunc
	watchers sync.WaitGroup
}

// patience is how long is waited for what takes no time unless the network swallows
// packets, which it does without a word.
type patience struct {
	connect   time.Duration // until there is a connection
	heartbeat time.Duration // between two looks whether a connection that is silent lives, and for the answer
}

// Open connects to the database at url, postgres://… or key=value words. pgx's
// parameters apply, such as pool_max_conns. It does not migrate.
// [store.ErrUnavailable] when the database cannot be reached.
//
// A connection pooler may be between, also one that gives a client another session of the server
// with each transaction. Open notices that, and then nothing depends on the session: no statement
// has a name, and settings are those of a transaction. See [Store.Pooled] for what is slower.
func Open(ctx context.Context, url string, options ...store.Option) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err // pgx leaves the password out
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "plannerd"
	}
	o := store.NewOptions(options...)
	settings := ""
	if idle := "idle_in_transaction_session_timeout"; config.ConnConfig.RuntimeParams[idle] == "" {
		// A transaction whose packets are swallowed would keep its locks for hours. Poolers refuse
		// this as a parameter of the session.
		settings = fmt.Sprintf("; SET LOCAL %s = %d", idle, max(1, o.Timeout.Milliseconds()))
	}
	const most = 5 * time.Second
	patience := patience{connect: config.ConnConfig.ConnectTimeout, heartbeat: min(most, o.Timeout)}
	if patience.connect == 0 {
		patience.connect = min(most, o.Timeout)
		config.ConnConfig.ConnectTimeout = patience.connect
	}
	config.PingTimeout = patience.connect / 4 // then there is time for another connection
	listening := config.ConnConfig
	if o.ListenURL != "" {
		if listening, err = pgx.ParseConfig(o.ListenURL); err != nil {
			return nil, err
		}
	}
	pooled, err := behindPooler(ctx, config.ConnConfig)
	if err != nil {
		return nil, explain(ctx, err)
	}
	if pooled && config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, explain(ctx, err)
	}
	db := &database{
		pool: pool, sql: stdlib.OpenDBFromPool(pool), timeout: o.Timeout, patience: patience,
		pooled: pooled, listening: listening,
		update:   pgx.TxOptions{BeginQuery: "BEGIN ISOLATION LEVEL READ COMMITTED" + settings},
		snapshot: pgx.TxOptions{BeginQuery: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" + settings},
	}
	db.watching, db.unwatch = context.WithCancel(context.WithoutCancel(ctx))
	s := &Store{engine.New(db, o), db}
	if _, err := s.Now(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// behindPooler reports whether the server at the other end is not the one that answers: it has
// another process than it said when the connection was made.
func behindPooler(ctx context.Context, config *pgx.ConnConfig) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer hangUp(ctx, conn)
	var process uint32
	err = conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&process)
	return process != conn.PgConn().PID(), err
}

// Pooled tells whether a connection pooler is between. If it gives other sessions to each
// transaction, and no [store.WithListenURL] leads past it, commits of other processes are looked
// for every second, as the server does not tell of them.
func (s *Store) Pooled() bool { return s.db.pooled }

// Migrator returns what changes the schema of this database. Of several that
// run at once, one works and the others wait: an advisory lock sees to it, or, as a connection
// pooler may give the lock's session to another, a table.
func (s *Store) Migrator() store.Migrator {
	return engine.Migrator{
		DB:      s.db.sql,
		Dialect: goose.DialectPostgres,
		Files:   migrations.Postgres(),
		Options: func() ([]goose.ProviderOption, error) {
			if s.db.pooled {
				locker, err := lock.NewPostgresTableLocker()
				return []goose.ProviderOption{goose.WithLocker(locker)}, err
			}
			const everySecond, fiveMinutes = 1, 300
			locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(everySecond, fiveMinutes))
			if err != nil {
				return nil, err
			}
			return []goose.ProviderOption{goose.WithSessionLocker(locker)}, nil
		},
		Version: s.db.SchemaVersion,
		Explain: explain,
	}
}

// closing is how long Close waits.
const closing = 5 * time.Second

// Close waits for what is running and closes all connections. A network that swallows
// packets lets neither end: what is left after some seconds ends with the process.
func (d *database) Close() error {
	d.unwatch()
	d.watchers.Wait()
	closed := make(chan error, 1)
	go func() {
		err := d.sql.Close()
		d.pool.Close()
		closed <- err
	}()
	select {
	case err := <-closed:
		return err
	case <-time.After(closing):
		return nil
	}
}

// Read implements [engine.Database].
func (d *database) Read(ctx context.Context, f func(statements.Statements) error) error {
	return d.connected(ctx, func(conn *pgxpool.Conn) error {
		return f(statements.On(session{conn, d.timeout}))
	})
}

// Snapshot implements [engine.Database].
func (d *database) Snapshot(ctx context.Context, f func(statements.Statements) error) error {
	return d.transact(ctx, d.snapshot, f)
}

// Update implements [engine.Database]. Read committed is enough: once the
// operator's row is locked, every later statement sees what was committed
// before, and nobody else writes. It asks for no access mode: a standby has an error
// of its own for that.
func (d *database) Update(ctx context.Context, f func(statements.Statements) error) error {
	return d.transact(ctx, d.update, f)
}

func (d *database) transact(ctx context.Context, options pgx.TxOptions, f func(statements.Statements) error) error {
	return d.connected(ctx, func(conn *pgxpool.Conn) error {
		for attempt := 1; ; attempt++ {
			err := d.try(ctx, conn, options, f)
			if attempt == maxAttempts || !retryable(err) || !pause(ctx, attempt) {
				return err
			}
		}
	})
}

// try runs a transaction once.
func (d *database) try(
	ctx context.Context, conn *pgxpool.Conn, options pgx.TxOptions, f func(statements.Statements) error,
) error {
	bounded := func(do func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(ctx, d.timeout)
		defer cancel()
		return do(ctx)
	}
	var tx pgx.Tx
	err := bounded(func(ctx context.Context) (err error) {
		tx, err = conn.BeginTx(ctx, options)
		return err
	})
	if err != nil {
		return err
	}
	if err := f(statements.On(session{tx, d.timeout})); err != nil {
		_ = bounded(tx.Rollback) // a connection that cannot even do that is not used again
		return err
	}
	return bounded(tx.Commit)
}

// connected runs f on a connection.
func (d *database) connected(ctx context.Context, f func(*pgxpool.Conn) error) error {
	waiting, cancel := context.WithTimeout(ctx, d.connect)
	defer cancel()
	conn, err := d.pool.Acquire(waiting)
	if err != nil {
		return explain(ctx, err)
	}
	defer conn.Release()
	return explain(ctx, f(conn))
}

// pause waits a random while, longer with each attempt: some milliseconds at
// first, below a second at last. It is false when the context ended.
func pause(ctx context.Context, attempt int) bool {
	timer := time.NewTimer(rand.N(5 * time.Millisecond << attempt))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// SchemaVersion implements [engine.Database].
func (d *database) SchemaVersion(ctx context.Context) (version int64, err error) {
	err = d.get(ctx, "SELECT coalesce(max(version_id), 0) FROM "+engine.VersionTable, &version)
	if hasCode(err, undefinedTable) {
		return 0, nil
	}
	return version, err
}

// Compact implements [engine.Database]. The server does it by itself.
func (d *database) Compact(ctx context.Context) error { return ctx.Err() }

// Check implements [engine.Database]. A standby can be read, but not written.
func (d *database) Check(ctx context.Context) error {
	var readOnly bool
	err := d.get(ctx, "SELECT current_setting('transaction_read_only')::boolean", &readOnly)
	if err == nil && readOnly {
		err = unavailable(errors.New("the server is read-only, perhaps a standby"))
	}
	return err
}

// Now implements [engine.Database].
func (d *database) Now(ctx context.Context) (now time.Time, err error) {
	err = d.get(ctx, "SELECT clock_timestamp()", &now)
	return now, err
}

// get reads the single row that a query finds.
func (d *database) get(ctx context.Context, query string, targets ...any) error {
	return d.connected(ctx, func(conn *pgxpool.Conn) error {
		return session{conn, d.timeout}.QueryRow(ctx, query).Scan(targets...)
	})
}
