package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// TestUnfinishedBackups: a backup removes what a killed one to the same file has left, and nothing
// that a living one is at work on.
func TestUnfinishedBackups(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	from, err := Open(t.Context(), in("data.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if _, err := from.Migrator().Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"copy.db.unfinished-1", "copy.db.unfinished-2", "other.db.unfinished-3"} {
		if err := os.WriteFile(in(name), []byte("begun"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	living, err := os.Open(in("copy.db.unfinished-2"))
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	if !lock(living) {
		t.Fatal("a file cannot be locked")
	}
	if err := Backup(t.Context(), in("data.db"), in("copy.db")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"copy.db": true, "copy.db.unfinished-1": false, "copy.db.unfinished-2": true, "other.db.unfinished-3": true,
	} {
		if _, err := os.Stat(in(name)); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", name, err == nil, want)
		}
	}
}
