package migrations

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

func TestBothDialectsHaveTheSameNumbersWithoutGaps(t *testing.T) {
	postgres, sqlite := names(t, Postgres()), names(t, SQLite())
	if !slices.Equal(postgres, sqlite) {
		t.Fatalf("postgres has %q, sqlite has %q", postgres, sqlite)
	}
	if int64(len(postgres)) != Latest {
		t.Errorf("Latest = %d, but there are %d migrations", Latest, len(postgres))
	}
	for i, name := range postgres {
		if want := fmt.Sprintf("%05d_", i+1); !strings.HasPrefix(name, want) {
			t.Errorf("migration %d is called %q, want %s….sql", i+1, name, want)
		}
	}
}

func TestEveryMigrationGoesUpAndDown(t *testing.T) {
	for dialect, files := range map[string]fs.FS{"postgres": Postgres(), "sqlite": SQLite()} {
		for _, name := range names(t, files) {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, mark := range []string{"-- +goose Up\n", "-- +goose Down\n"} {
				if n := strings.Count(string(text), mark); n != 1 {
					t.Errorf("%s/%s: %q stands %d times, want once", dialect, name, mark, n)
				}
			}
		}
	}
}

func names(t *testing.T, files fs.FS) []string {
	t.Helper()
	found, err := fs.Glob(files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}
