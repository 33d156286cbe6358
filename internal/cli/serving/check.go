package serving

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"plannerd/internal/cli"
	"plannerd/internal/service"
	"plannerd/store/sqlite"
)

// Check is the command that looks whether anything in a database is damaged.
type Check struct{ databaseFlags }

// Run reads the database.
func (c *Check) Run(env *cli.Environment) error {
	if err := errors.Join(c.check(), c.exists()); err != nil {
		return err
	}
	damaged := 0
	found := func(err error) {
		damaged++
		_, _ = fmt.Fprintln(env.Stdout, err)
	}
	if path, ok := strings.CutPrefix(c.DatabaseURL, "sqlite:"); ok { // else reading may stop at the first bad page
		if err := sqlite.Verify(env.Ctx, path); err != nil {
			return fmt.Errorf("%s: %w", c.shown(), err)
		}
	}
	return c.migrate(env, func(ctx context.Context, s migratedStore) error {
		err := s.Ready(ctx)
		if err != nil {
			return err
		}
		read, err := service.Verify(ctx, s, found)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", c.shown(), err)
		case damaged > 0:
			return fmt.Errorf("%s: %s of damage", c.shown(), cli.Plural(damaged, "case"))
		}
		_, err = fmt.Fprintf(env.Stdout, "%s: %s with %s, nothing is damaged\n", c.shown(),
			cli.Plural(read.Operators, "operator"), cli.Plural(read.Plans, "plan"))
		return err
	})
}
