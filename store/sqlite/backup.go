package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"plannerd/migrations"
	"plannerd/store"
	"plannerd/store/internal/statements"
)

// companions are what the names of files end with that SQLite has beside a database.
var companions = []string{"-wal", "-shm", "-journal"}

// Backup copies the database at path into a new file, as it stands at one instant, whoever
// writes to it meanwhile. The copy is compact, checked, and for its owner only. It is there
// whole or not at all. [fs.ErrExist] when there is such a file already.
func Backup(ctx context.Context, path, to string) error { return duplicate(ctx, path, to, "rw") }

// Restore makes a new database at path of a backup, which is checked first. [fs.ErrExist]
// when there is a file of that name, or one that SQLite has beside it: a process may have
// the database open that was there.
func Restore(ctx context.Context, backup, path string) error {
	for _, suffix := range companions {
		if err := absent(path + suffix); err != nil {
			return fmt.Errorf("%w: does a plannerd have the database open?", err)
		}
	}
	if err := absent(path); err != nil {
		return err
	}
	if _, err := os.Stat(backup); err != nil {
		return err
	}
	if err := Verify(ctx, backup); err != nil {
		return fmt.Errorf("%s: %w", backup, err)
	}
	return duplicate(ctx, backup, path, "ro")
}

// absent refuses what is there.
func absent(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// duplicate copies a database that is opened in a mode of SQLite's. Until the copy is whole
// it has another name.
func duplicate(ctx context.Context, from, to, mode string) (err error) {
	if err := absent(to); err != nil {
		return err
	}
	if _, err := os.Stat(from); err != nil {
		return err
	}
	folder, beginning := filepath.Dir(to), filepath.Base(to)+".unfinished-"
	if err := removeUnfinished(folder, beginning); err != nil {
		return err
	}
	unfinished, err := os.CreateTemp(folder, beginning)
	if err != nil {
		return err
	}
	lock(unfinished) // for as long as this process lives; see removeUnfinished
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(unfinished.Name()))
		}
	}()
	defer unfinished.Close()
	if err := vacuumInto(ctx, from, unfinished.Name(), mode); err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	if err := Verify(ctx, unfinished.Name()); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if err := unfinished.Sync(); err != nil {
		return err
	}
	name, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // nobody else takes it
	if err != nil {
		return err
	}
	if err := errors.Join(name.Close(), os.Rename(unfinished.Name(), to)); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return syncFolder(folder)
}

// removeUnfinished removes copies whose process was killed: a living one has its copy locked.
func removeUnfinished(folder, beginning string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), beginning) {
			continue
		}
		path := filepath.Join(folder, f.Name())
		left, err := os.Open(path)
		if err == nil {
			if lock(left) {
				err = os.Remove(path)
			}
			err = errors.Join(err, left.Close())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // another backup may have been first
			return err
		}
	}
	return nil
}

// vacuumInto copies a database into an empty file. The copy is in the mode of auto_vacuum of
// new files.
func vacuumInto(ctx context.Context, from, to, mode string) error {
	db, err := openIn(from, mode)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var vacuums int
	if err := db.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&vacuums); err != nil {
		return err
	}
	if vacuums != incremental { // it is the copy's: a file that has tables keeps its own
		if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA auto_vacuum = %d", incremental)); err != nil {
			return err
		}
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	return err
}

// openIn opens a file that is there.
func openIn(path, mode string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_busy_timeout=10000&mode="+mode)
}

// Verify checks that a file is whole, and is a database that this program can serve.
func Verify(ctx context.Context, path string) error {
	db, err := openIn(path, "ro")
	if err != nil {
		return err
	}
	defer db.Close()
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", store.ErrDamaged, found)
	}
	d := &database{file: file{path: path}, readers: db}
	version, err := d.SchemaVersion(ctx)
	switch {
	case err != nil:
		return err
	case version == 0:
		return errors.New("it is no database of plannerd")
	case version <= migrations.Latest:
		return nil
	}
	oldest, err := statements.On(session{runner: &runner{known: newPrepared(db)}}).OldestProgram(ctx)
	if err == nil && oldest > migrations.Latest {
		err = errors.New("it needs a newer plannerd than this one")
	}
	return err
}
