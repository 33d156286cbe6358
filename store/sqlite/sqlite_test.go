package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plannerd/store"
	"plannerd/store/internal/engine"
	"plannerd/store/sqlite"
	"plannerd/store/storetest"
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

func TestStore(t *testing.T) { storetest.Run(t, fresh) }

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, fresh) }

func fresh(t testing.TB) storetest.Open { return opener(filepath.Join(t.TempDir(), "plannerd.db")) }

func opener(path string) storetest.Open {
	return func(t testing.TB, options ...store.Option) storetest.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, options...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// migrated opens a store that has a schema and an operator.
func migrated(t *testing.T, path string) storetest.Store {
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
