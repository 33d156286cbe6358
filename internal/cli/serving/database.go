package serving

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"plannerd/internal/cli"
	"plannerd/store"
	"plannerd/store/postgres"
	"plannerd/store/sqlite"
)

// databaseURL says where the data is.
type databaseURL struct {
	DatabaseURL string `name:"database-url" default:"sqlite:plannerd.db" placeholder:"URL" help:"Where the data is kept: postgres://user@host/db or sqlite:path (default sqlite:plannerd.db)."`
}

// databaseFlags say where the data is, and how long to wait for it.
type databaseFlags struct {
	databaseURL
	StoreWait    time.Duration `least:"0" default:"30s" group:"Tuning" help:"How long to wait for the database at the start; 0s: try once."`
	StoreTimeout time.Duration `least:"1" default:"30s" group:"Tuning" help:"Time that Postgres may take for a statement, or the network for its answer, before the database counts as away."`

	listenURL string // of the server itself, past a connection pooler
}

// migratedStore is a store whose schema can be changed.
type migratedStore interface {
	store.Store
	Migrator() store.Migrator
	// Pooled tells whether a connection pooler is between.
	Pooled() bool
}

// The delays between attempts to reach the database.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 3 * time.Second
)

// open opens the store, without looking at its schema. The URL is a checked one.
func (f *databaseFlags) open(ctx context.Context) (migratedStore, error) {
	if path, ok := strings.CutPrefix(f.DatabaseURL, "sqlite:"); ok {
		return sqlite.Open(ctx, path)
	}
	return postgres.Open(ctx, f.DatabaseURL, store.WithTimeout(f.StoreTimeout), store.WithListenURL(f.listenURL))
}

// check refuses URLs that name neither kind of database.
func (f *databaseURL) check() error {
	scheme, path, _ := strings.Cut(f.DatabaseURL, ":")
	switch {
	case (scheme == "postgres" || scheme == "postgresql") && strings.HasPrefix(path, "//"),
		scheme == "sqlite" && path != "":
		return nil
	}
	return cli.Usagef("--database-url %q: write postgres://user@host/database or sqlite:path/to/file.db", f.shown())
}

// exists refuses the path of a SQLite file that is not there, which open would
// create. Whether a server has a database is seen on opening it.
func (f *databaseURL) exists() error {
	path, file := strings.CutPrefix(f.DatabaseURL, "sqlite:")
	if !file {
		return nil
	}
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database %s; plannerd serve and plannerd migrate up create one", f.shown())
	}
	return err
}

// shown is the URL without its password.
func (f *databaseURL) shown() string {
	if !strings.Contains(f.DatabaseURL, "://") {
		return f.DatabaseURL
	}
	u, err := url.Parse(f.DatabaseURL)
	if err != nil {
		return "(not a URL)"
	}
	query := u.Query()
	for _, name := range []string{"password", "sslpassword"} {
		if query.Has(name) {
			query.Set(name, "xxxxx")
			u.RawQuery = query.Encode()
		}
	}
	return u.Redacted()
}

// passing tells whether waiting may help: a database can come up, but the path
// of a file does not become right.
func passing(err error) bool {
	is := func(target error) bool { return errors.Is(err, target) }
	return is(store.ErrUnavailable) && !is(store.ErrOutdated) && !is(store.ErrDamaged) && !is(fs.ErrNotExist) &&
		!is(fs.ErrPermission)
}

// wait opens the store and calls use with it until that succeeds, for at most
// StoreWait, as long as the failure is a passing one. It returns the open store;
// waiting is told how long the next attempt is off.
func (f *databaseFlags) wait(ctx context.Context, use func(context.Context, migratedStore) error,
	waiting func(error, time.Duration)) (migratedStore, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(f.StoreWait)
	for delay := firstRetry; ; delay = min(2*delay, lastRetry) {
		s, err := f.attempt(ctx, use)
		if err == nil {
			return s, nil
		}
		if !passing(err) {
			return nil, fmt.Errorf("the database %s: %w", f.shown(), err)
		}
		if left := time.Until(deadline); left < delay {
			return nil, fmt.Errorf("the database %s was not ready within %v: %w", f.shown(), f.StoreWait, err)
		}
		waiting(err, delay)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(delay):
		}
	}
}

func (f *databaseFlags) attempt(ctx context.Context, use func(context.Context, migratedStore) error) (migratedStore,
	error) {
	s, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := use(ctx, s); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
