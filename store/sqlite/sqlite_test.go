package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plannerd/store"
	"plannerd/store/internal/engine"
	"plannerd/store/sqlite"
)

// crashing is set in the process that TestCrash starts, to the file it fills.
const crashing = "PLANNERD_TEST_CRASH"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashing); path != "" {
		fmt.Println(commitUntilKilled(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// opening opens a store on one database, which may be open several times at once.
type opening func(t testing.TB, options ...store.Option) *sqlite.Store

func opener(path string) opening {
	return func(t testing.TB, options ...store.Option) *sqlite.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, options...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// migrated opens a store that has a schema and an operator.
func migrated(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s := opener(path)(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.PutOperator(t.Context(), "clicks", []byte(`{}`), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFilesAreTheirOwnersAndAreCalledAsAsked(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"plannerd.db", "a b?mode=memory#c%20d&_journal_mode=OFF.db", "ä'\";.db"} {
		migrated(t, filepath.Join(folder, name))
		for _, suffix := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(filepath.Join(folder, name+suffix))
			if err != nil {
				t.Error(err)
				continue
			}
			if info.Mode() != 0o600 {
				t.Errorf("%s has mode %v", name+suffix, info.Mode())
			}
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 9 {
		t.Errorf("%d files, error %v; want 9", len(entries), err)
	}
}

func TestOpenKeepsAnExistingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plannerd.db")
	if err := os.WriteFile(path, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	migrated(t, path)
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
}

// A migration that edits the text of the schema leaves a file that SQLite finds
// nothing wrong with, and tells other connections.
func TestMigratedFileIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plannerd.db")
	s := migrated(t, path)
	migrator, other := s.Migrator(), opener(path)(t)
	defer other.Close()
	propose := func(id string, interval int64) error {
		_, _, err := other.CreatePlan(t.Context(), store.NewPlan{
			Plan: store.Plan{ID: id, Operator: "clicks", Interval: interval, Status: store.StatusProposed,
				ConfigVersion: 1},
			Migrations: []byte("migrations"), OnPending: store.PendingReplace,
		}, store.Transition{})
		return err
	}
	if err := propose("before", 1); err != nil {
		t.Fatal(err)
	}
	for version := int64(0); version != 4; {
		var err error
		if version, err = migrator.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := migrator.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := propose("after", 2); err != nil {
		t.Error(err)
	}
	if data, err := other.Migrations(t.Context(), "before"); err != nil || string(data) != "migrations" {
		t.Errorf("migrations %q, error %v", data, err)
	}
	for _, check := range []string{"PRAGMA integrity_check", "SELECT count(*) || '' FROM pragma_foreign_key_check"} {
		var found string
		err := migrator.(engine.Migrator).DB.QueryRowContext(t.Context(), check).Scan(&found)
		if err != nil || found != "ok" && found != "0" {
			t.Errorf("%s: %s, error %v", check, found, err)
		}
	}
}

func TestOpenWhatIsNoDatabase(t *testing.T) {
	folder := t.TempDir()
	for what, path := range map[string]string{
		"a folder":           folder,
		"a folder not there": filepath.Join(folder, "none", "plannerd.db"),
	} {
		if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: error %v, want %v", what, err, store.ErrUnavailable)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made: %v", err)
	}
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), text); err == nil || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a text file: error %v, want one that waiting does not mend", err)
	}
}

// TestCrash kills a process that commits plans. All that it was told to be
// committed must be there, the file whole, and its numbers without a gap.
func TestCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plannerd.db")
	var last int64
	for range 3 {
		acknowledged := crash(t, path)
		if acknowledged <= last {
			t.Fatalf("version %d was acknowledged after %d", acknowledged, last)
		}
		s := opener(path)(t)
		op, err := s.Operator(t.Context(), "clicks")
		if err != nil {
			t.Fatal(err)
		}
		// One more may have been committed and not acknowledged any more.
		if op.TableVersion != acknowledged && op.TableVersion != acknowledged+1 {
			t.Errorf("version %d, but %d was acknowledged last", op.TableVersion, acknowledged)
		}
		for version := range op.TableVersion + 1 {
			table, err := s.Table(t.Context(), "clicks", &version)
			if err != nil || int64(len(table.Entries)) != version {
				t.Errorf("version %d has %d entries, error %v", version, len(table.Entries), err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		last = op.TableVersion
	}
}

// crash lets a process commit some plans and kills it while it goes on. It
// returns the last version that was acknowledged.
func crash(t *testing.T, path string) (version int64) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), crashing+"="+path)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	for n := 1; lines.Scan(); n++ {
		if _, err := fmt.Sscan(lines.Text(), &version); err != nil {
			t.Fatalf("the process says: %s", lines.Text())
		}
		if n == 10 {
			if err := command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := command.Wait(); err == nil {
		t.Fatal("the process was not killed")
	}
	return version
}

// commitUntilKilled adds an entry with each plan and prints the version that was
// committed.
func commitUntilKilled(path string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	if _, err := s.Migrator().Up(ctx); err != nil {
		return err
	}
	op, _, err := s.PutOperator(ctx, "clicks", []byte(`{}`), time.Now())
	if err != nil {
		return err
	}
	for version := op.TableVersion; ; version++ {
		id := fmt.Sprint("plan ", version)
		p := store.NewPlan{
			Plan: store.Plan{
				ID: id, Operator: "clicks", Interval: version, Status: store.StatusCommitted,
				BaseVersion: version, ConfigVersion: 1, Fingerprint: id,
			},
			Changes: []store.Change{{Key: []byte(id), Old: store.NoInstance, New: 1}},
		}
		committed, _, err := s.CreatePlan(ctx, p, store.Transition{})
		if err != nil {
			return err
		}
		fmt.Println(*committed.Version)
	}
}

// raw opens the file beside the store.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// A program that is too old for the schema does not serve it.
func TestTooOldForTheSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plannerd.db")
	s := migrated(t, path)
	if _, err := raw(t, path).ExecContext(t.Context(), "UPDATE oldest_program SET version = 1000"); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, store.ErrOutdated) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, store.ErrOutdated)
	}
}

// To SQLite before 3.42, that of Debian 12 among them, NULL is no valid JSON: a column that
// may be NULL says so.
func TestOlderSQLiteTakesNulls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plannerd.db")
	migrated(t, path)
	var schema string
	err := raw(t, path).QueryRowContext(t.Context(), "SELECT group_concat(sql, ';') FROM sqlite_schema").Scan(&schema)
	if err != nil {
		t.Fatal(err)
	}
	checked := regexp.MustCompile(`(\w+) +TEXT([^,]*) CHECK \((.*?)json_valid\((\w+)\)\)`).FindAllStringSubmatch(schema, -1)
	if len(checked) < 10 || len(checked) != strings.Count(schema, "json_valid(") {
		t.Fatalf("%d columns of %d", len(checked), strings.Count(schema, "json_valid("))
	}
	for _, c := range checked {
		if !strings.Contains(c[2], "NOT NULL") && c[3] != c[1]+" IS NULL OR " || c[1] != c[4] {
			t.Error(c[0])
		}
	}
}

// A file that was deleted, replaced or damaged is noticed: what would be lost is not taken.
func TestDamagedFile(t *testing.T) {
	for what, damage := range map[string]func(path string) error{
		"deleted": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
		"emptied":       func(path string) error { return os.Truncate(path, 0) },
		"log deleted":   func(path string) error { return os.Remove(path + "-wal") },
		"index deleted": func(path string) error { return os.Remove(path + "-shm") },
		"log deleted, and the file opened again": func(path string) error {
			if err := errors.Join(os.Remove(path+"-wal"), os.Remove(path+"-shm")); err != nil {
				return err
			}
			other, err := sql.Open("sqlite", "file:"+path)
			if err != nil {
				return err
			}
			defer other.Close()
			_, err = other.Exec("PRAGMA user_version = 1")
			return err
		},
		"overwritten": func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("not a database ", 1000)), 0o600)
		},
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "plannerd.db")
			s := migrated(t, path)
			other := raw(t, path)
			var busy, pages, moved int
			err := other.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
			if err != nil || busy != 0 {
				t.Fatalf("busy %d, error %v", busy, err)
			}
			_ = other.Close()
			if err := s.Ready(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := s.Ready(t.Context()); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("readiness: error %v", err)
				}
				_, _, err := s.PutOperator(t.Context(), "late", []byte(`{}`), time.Unix(0, 0))
				if !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("writing: error %v", err)
				}
			}
		})
	}
}

// A damaged page is met sooner or later, and from then on nothing is written.
func TestDamagedPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plannerd.db")
	s := migrated(t, path)
	long := []byte(`{"long":"` + strings.Repeat("x", 1<<20) + `"}`)
	if _, _, err := s.PutOperator(t.Context(), "long", long, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for at := info.Size() / 2; at < info.Size(); at += 4096 { // pages of the long one, or what names them
		if _, err := file.WriteAt([]byte(strings.Repeat("\xff", 64)), at/4096*4096); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	again := opener(path)(t)
	defer again.Close()
	if _, err := again.Operator(t.Context(), "long"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("reading: error %v, want %v", err, store.ErrUnavailable)
	}
	if err := again.Ready(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("readiness: error %v, want %v", err, store.ErrUnavailable)
	}
	_, _, err = again.PutOperator(t.Context(), "late", []byte(`{}`), time.Unix(0, 0))
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("writing: error %v, want %v", err, store.ErrUnavailable)
	}
}

// What was removed gives its space back.
func TestCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plannerd.db")
	s := migrated(t, path)
	size := func() int64 {
		t.Helper()
		_, err := raw(t, path).ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
		info, e := os.Stat(path)
		if err := errors.Join(err, e); err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	const large = 20 << 20
	long := []byte(`{"long":"` + strings.Repeat("x", large) + `"}`)
	if _, _, err := s.PutOperator(t.Context(), "long", long, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteOperator(t.Context(), "long", time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if before := size(); before < large {
		t.Fatalf("%d bytes", before)
	}
	if err := s.Tidy(t.Context(), time.Unix(0, 0), store.Keep{}); err != nil {
		t.Fatal(err)
	}
	if after := size(); after > large/2 {
		t.Errorf("%d bytes are left", after)
	}
}
