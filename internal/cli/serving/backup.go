package serving

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"plannerd/internal/cli"
	"plannerd/store/sqlite"
)

// Backup is the command that copies a database.
type Backup struct {
	databaseURL
	File string `arg:"" help:"Where the copy goes: a new file."`
}

// Run makes the copy.
func (c *Backup) Run(env *cli.Environment) error {
	path, err := c.file("pg_dump")
	if err != nil {
		return err
	}
	if err := c.exists(); err != nil {
		return err
	}
	if err := sqlite.Backup(env.Ctx, path, c.File); err != nil {
		return refuseToReplace("backup", err)
	}
	_, err = fmt.Fprintf(env.Stdout, "%s: a backup of %s\n", c.File, c.shown())
	return err
}

// Restore is the command that makes a database of a backup.
type Restore struct {
	databaseURL
	File string `arg:"" help:"The backup."`
}

// Run makes the database.
func (c *Restore) Run(env *cli.Environment) error {
	path, err := c.file("pg_restore")
	if err != nil {
		return err
	}
	if err := sqlite.Restore(env.Ctx, c.File, path); err != nil {
		return refuseToReplace("restore", err)
	}
	_, err = fmt.Fprintf(env.Stdout, "%s: restored from %s\n", c.shown(), c.File)
	return err
}

// file is the path of the SQLite file; tool is what does the same for Postgres.
func (f *databaseURL) file(tool string) (string, error) {
	if err := f.check(); err != nil {
		return "", err
	}
	path, isFile := strings.CutPrefix(f.DatabaseURL, "sqlite:")
	if !isFile {
		return "", cli.Usagef("--database-url %q: this is for SQLite files; use %s for Postgres", f.shown(), tool)
	}
	return path, nil
}

// refuseToReplace says what to do about a file that is in the way.
func refuseToReplace(command string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s does not replace files: %w; nothing was changed", command, err)
	}
	return err
}
