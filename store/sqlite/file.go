package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"plannerd/store"
	"plannerd/store/internal/engine"
)

// file is the file that was opened. What is committed to one that was deleted or replaced
// would be lost, and what is written to one that is damaged may damage more.
type file struct {
	path    string
	opened  os.FileInfo
	beside  map[string]os.FileInfo // its log and the log's index, while it is open
	damaged atomic.Bool
}

// openBeside remembers the files that SQLite keeps beside the file as long as it is open.
func (f *file) openBeside() {
	f.beside = map[string]os.FileInfo{}
	for _, suffix := range []string{"-wal", "-shm"} {
		if info, err := os.Stat(f.path + suffix); err == nil {
			f.beside[suffix] = info
		}
	}
}

// check fails if the file is no longer the one that was opened.
func (f *file) check() error {
	now, err := os.Stat(f.path)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the file is gone: %w", store.ErrUnavailable, err)
	case !os.SameFile(f.opened, now):
		return fmt.Errorf("%w: %s was replaced; restart plannerd to use the new file", store.ErrUnavailable, f.path)
	}
	return nil
}

// checkWritable is check, and fails if the file was found to be damaged, or if what is
// written now would go to a log that nobody reads again.
func (f *file) checkWritable() error {
	if f.damaged.Load() {
		return fmt.Errorf("%w: %s is damaged; stop plannerd and restore a backup", store.ErrUnavailable, f.path)
	}
	for suffix, opened := range f.beside {
		if now, err := os.Stat(f.path + suffix); err != nil || !os.SameFile(opened, now) {
			return fmt.Errorf("%w: %s%s was removed or replaced; restart plannerd, which goes on with what is in %s",
				store.ErrUnavailable, f.path, suffix, f.path)
		}
	}
	return f.check()
}

// notice remembers that the file is damaged, if that is what an error of SQLite says.
func (f *file) notice(err error) {
	if failure, ok := errors.AsType[*sqlite.Error](err); ok {
		switch failure.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			f.damaged.Store(true)
		}
	}
}

// Check implements [engine.Database]. It opens the file once more, as connections that
// are open have much of it in memory.
func (d *database) Check(ctx context.Context) error {
	if err := d.file.checkWritable(); err != nil {
		return err
	}
	fresh := d.readers
	if !d.alone {
		var err error
		if fresh, err = sql.Open("sqlite", source(d.file.path, "_query_only=1")); err != nil {
			return err
		}
		defer fresh.Close()
	}
	var migrations int
	err := fresh.QueryRowContext(ctx, "SELECT count(*) FROM "+engine.VersionTable).Scan(&migrations)
	// There is no such table any more.
	if failure, ok := errors.AsType[*sqlite.Error](err); ok && failure.Code() == sqlite3.SQLITE_ERROR {
		d.file.damaged.Store(true)
		return d.file.checkWritable()
	}
	return d.explain(ctx, err)
}

// The free pages that stay in the file, as new data soon takes them, and those that are
// given back at a time, so that nobody waits long.
const (
	freePages    = 1024
	compactPages = 256
)

// Compact implements [engine.Database].
func (d *database) Compact(ctx context.Context) error {
	for {
		var free int
		if err := d.readers.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free); err != nil || free <= freePages {
			return d.explain(ctx, err)
		}
		var mode int // incremental, unless the file is of a version that did not ask for it
		if err := d.readers.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode); err != nil || mode != incremental {
			return d.explain(ctx, err)
		}
		statement := fmt.Sprintf("PRAGMA incremental_vacuum(%d)", min(compactPages, free-freePages))
		if _, err := d.writer.ExecContext(ctx, statement); err != nil {
			return d.explain(ctx, err)
		}
	}
}

// incremental is the mode of PRAGMA auto_vacuum in which Compact does something.
const incremental = 2
