package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plannerd/store"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Apply all migrations that are missing."`
	Down   migrateDownCmd   `cmd:"" help:"Take back the newest migration. What only it can hold is lost."`
	Status migrateStatusCmd `cmd:"" help:"Print the version of the schema and the newest known."`
}

// Help shows examples.
func (*migrateCmd) Help() string {
	return `plannerd serve migrates by itself, unless it is told not to.

Examples:

    plannerd migrate status
    plannerd migrate up --database-url postgres://plannerd@db/plannerd`
}

type (
	migrateUpCmd     struct{ databaseFlags }
	migrateDownCmd   struct{ databaseFlags }
	migrateStatusCmd struct{ databaseFlags }
)

// Run brings the schema up to date.
func (c *migrateUpCmd) Run(env *environment) error {
	return c.migrate(env, func(ctx context.Context, m store.Migrator) error {
		version, err := m.Up(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "%s: schema version %d\n", c.shown(), version)
		return err
	})
}

// Run takes one migration back.
func (c *migrateDownCmd) Run(env *environment) error {
	return c.migrate(env, func(ctx context.Context, m store.Migrator) error {
		version, err := m.Down(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "%s: schema version %d\n", c.shown(), version)
		return err
	})
}

// Run prints where the schema stands.
func (c *migrateStatusCmd) Run(env *environment) error {
	return c.migrate(env, func(ctx context.Context, m store.Migrator) error {
		current, latest, err := m.Status(ctx)
		if err != nil {
			return err
		}
		state := "up to date"
		switch {
		case current < latest:
			state = fmt.Sprintf("%s missing: run plannerd migrate up", plural(latest-current, "migration"))
		case current > latest:
			state = "newer than this program: use the plannerd that migrated it"
		}
		_, err = fmt.Fprintf(env.stdout, "%s: schema version %d of %d, %s\n", c.shown(), current, latest, state)
		return err
	})
}

// migrate waits for the database and calls use, once, with its migrator.
func (f *databaseFlags) migrate(env *environment, use func(context.Context, store.Migrator) error) error {
	s, err := f.wait(env.ctx,
		func(ctx context.Context, s migratedStore) error {
			_, _, err := s.Migrator().Status(ctx)
			return err
		},
		func(err error, delay time.Duration) {
			fmt.Fprintf(env.stderr, "plannerd: trying again in %v: %s\n", delay, oneLine(err.Error()))
		})
	if err != nil {
		return err
	}
	return errors.Join(use(env.ctx, s.Migrator()), s.Close())
}
