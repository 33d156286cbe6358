package serving

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"plannerd/internal/cli"
	"plannerd/store"
)

// Migrate is the command that changes the schema of a database.
type Migrate struct {
	Up     migrateCmd     `cmd:"" help:"Apply all migrations that are missing."`
	Down   migrateDownCmd `cmd:"" help:"Take back the newest migration. What only it can hold is lost."`
	Status migrateCmd     `cmd:"" help:"Print the version of the schema and the newest known."`
}

// migrateCmd is migrate up, or migrate status.
type migrateCmd struct{ databaseFlags }

type migrateDownCmd struct {
	databaseFlags
	Yes bool `help:"Do it even though data is lost."`
}

// Run brings the schema up to date, or prints where it stands.
func (c *migrateCmd) Run(env *cli.Environment, command *kong.Context) error {
	if command.Selected().Name == "status" {
		return c.status(env)
	}
	return c.migrate(env, c.change(env, store.Migrator.Up))
}

// change changes the schema and says what it is then.
func (f *databaseFlags) change(
	env *cli.Environment, to func(store.Migrator, context.Context) (int64, error),
) func(context.Context, migratedStore) error {
	return func(ctx context.Context, s migratedStore) error {
		version, err := to(s.Migrator(), ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.Stdout, "%s: schema version %d\n", f.shown(), version)
		return err
	}
}

// Run takes one migration back.
func (c *migrateDownCmd) Run(env *cli.Environment) error {
	if err := c.exists(); err != nil {
		return err
	}
	return c.migrate(env, func(ctx context.Context, s migratedStore) error {
		if !c.Yes {
			if err := c.refuseLoss(ctx, s); err != nil {
				return err
			}
		}
		return c.change(env, store.Migrator.Down)(ctx, s)
	})
}

// refuseLoss fails unless the database is known to be empty.
func (c *migrateDownCmd) refuseLoss(ctx context.Context, s migratedStore) error {
	version, _, err := s.Migrator().Status(ctx)
	if err != nil || version == 0 {
		return err
	}
	operators, plans, err := s.Migrator().Count(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		return fmt.Errorf("%s: what taking back migration %d would delete cannot be counted (%w); nothing was changed: "+
			"add --yes to do it nevertheless", c.shown(), version, err)
	case operators > 0:
		return fmt.Errorf("%s: taking back migration %d deletes what is stored under it, and this database has %s and %s, "+
			"with their routing tables; nothing was changed: add --yes to do it",
			c.shown(), version, cli.Plural(operators, "operator"), cli.Plural(plans, "plan"))
	}
	return nil
}

// status prints where the schema stands.
func (c *migrateCmd) status(env *cli.Environment) error {
	if err := c.exists(); err != nil {
		return err
	}
	return c.migrate(env, func(ctx context.Context, s migratedStore) error {
		current, latest, err := s.Migrator().Status(ctx)
		if err != nil {
			return err
		}
		state := "up to date"
		switch {
		case current < latest:
			state = fmt.Sprintf("%s missing: run plannerd migrate up", cli.Plural(latest-current, "migration"))
		case current > latest:
			state = "newer than this program: use the plannerd that migrated it"
		}
		_, err = fmt.Fprintf(env.Stdout, "%s: schema version %d of %d, %s\n", c.shown(), current, latest, state)
		return err
	})
}

// migrate waits for the database and calls use with it, once.
func (f *databaseFlags) migrate(env *cli.Environment, use func(context.Context, migratedStore) error) error {
	s, err := f.wait(env.Ctx,
		func(ctx context.Context, s migratedStore) error {
			_, _, err := s.Migrator().Status(ctx)
			return err
		},
		func(err error, delay time.Duration) {
			fmt.Fprintf(env.Stderr, "plannerd: trying again in %v: %s\n", delay, cli.OneLine(err.Error()))
		})
	if err != nil {
		return err
	}
	return errors.Join(use(env.Ctx, s), s.Close())
}
