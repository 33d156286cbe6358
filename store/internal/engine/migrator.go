package engine

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"plannerd/migrations"
)

// Migrator implements [store.Migrator] with goose, without its global state.
type Migrator struct {
	// DB runs the migrations; it stays open.
	DB      *sql.DB
	Dialect goose.Dialect
	Files   fs.FS
	// Options are made anew for each call: a locker counts its attempts.
	Options func() ([]goose.ProviderOption, error)
	// Version is [Database.SchemaVersion].
	Version func(context.Context) (int64, error)
	// Explain turns the driver's errors into the store's.
	Explain func(context.Context, error) error
}

// Up implements [store.Migrator].
func (m Migrator) Up(ctx context.Context) (int64, error) {
	provider, err := m.provider()
	if err != nil {
		return 0, err
	}
	if _, err := provider.Up(ctx); err != nil {
		return 0, fmt.Errorf("migrating up: %w", m.Explain(ctx, err))
	}
	return m.Version(ctx)
}

// Down implements [store.Migrator]. Version 0 stays.
func (m Migrator) Down(ctx context.Context) (int64, error) {
	version, err := m.Version(ctx)
	if err != nil || version == 0 {
		return version, err
	}
	provider, err := m.provider()
	if err != nil {
		return 0, err
	}
	if _, err := provider.Down(ctx); err != nil {
		return 0, fmt.Errorf("migrating down from version %d: %w", version, m.Explain(ctx, err))
	}
	return m.Version(ctx)
}

// Status implements [store.Migrator]. It changes nothing in the database.
func (m Migrator) Status(ctx context.Context) (current, latest int64, err error) {
	current, err = m.Version(ctx)
	return current, migrations.Latest, err
}

// Count implements [store.Migrator]. It reads columns only that are there from the
// first version on.
func (m Migrator) Count(ctx context.Context) (operators, plans int, err error) {
	version, err := m.Version(ctx)
	if err != nil || version == 0 {
		return 0, 0, err
	}
	err = m.DB.QueryRowContext(ctx,
		`SELECT (SELECT count(*) FROM operators WHERE deleted_at IS NULL), (SELECT count(*) FROM plans)`).Scan(&operators,
		&plans)
	if err != nil {
		return 0, 0, fmt.Errorf("counting operators and plans: %w", m.Explain(ctx, err))
	}
	return operators, plans, nil
}

func (m Migrator) provider() (*goose.Provider, error) {
	options, err := m.Options()
	if err != nil {
		return nil, err
	}
	options = append(options, goose.WithDisableGlobalRegistry(true), goose.WithTableName(VersionTable))
	return goose.NewProvider(m.Dialect, m.DB, m.Files, options...)
}
