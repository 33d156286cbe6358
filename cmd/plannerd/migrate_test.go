package main

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// migrate runs a command that succeeds and returns what it says of the database.
func migrate(t *testing.T, database string, args ...string) string {
	t.Helper()
	out := succeed(t, "", append(append([]string{"migrate"}, args...), "--database-url", database)...)
	shown := redacted(database)
	text, named := strings.CutPrefix(strings.TrimSpace(out), shown+": ")
	if !named {
		t.Errorf("migrate %v does not name %s: %q", args, shown, out)
	}
	return text
}

// Without --yes an empty database may go up and down.
func TestMigrate(t *testing.T) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			database := database(t)
			latest := strings.TrimPrefix(migrate(t, database, "up"), "schema version ")
			if got, want := migrate(t, database, "status"), "schema version "+latest+" of "+latest+", up to date"; got != want {
				t.Errorf("status after up: %q, want %q", got, want)
			}
			for got := ""; got != "schema version 0"; {
				before := got
				if got = migrate(t, database, "down"); got == before {
					t.Fatalf("down changes nothing: %q", got)
				}
			}
			if got := migrate(t, database, "status"); !strings.HasPrefix(got, "schema version 0 of "+latest) ||
				!strings.Contains(got, "run plannerd migrate up") {
				t.Errorf("status after down: %q", got)
			}
			if got := migrate(t, database, "down"); got != "schema version 0" {
				t.Errorf("down with nothing to take back: %q", got)
			}
			if got := migrate(t, database, "up"); got != "schema version "+latest {
				t.Errorf("up again: %q", got)
			}
		})
	}
}

// refuseToLose expects that down keeps the data and tells what it is.
func refuseToLose(t *testing.T, database, want string) {
	t.Helper()
	before := migrate(t, database, "status")
	r := exec(t, nil, nil, "migrate", "down", "--database-url", database)
	if r.code != exitFailed || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, want) ||
		!strings.Contains(r.stderr, "--yes") {
		t.Errorf("down without --yes: exit %d, %q, %q; want %q", r.code, r.stdout, r.stderr, want)
	}
	if after := migrate(t, database, "status"); after != before {
		t.Errorf("down without --yes: %s, before %s", after, before)
	}
}

// takeBack takes back a migration of a database that has data.
func takeBack(t *testing.T, database string) {
	t.Helper()
	before := migrate(t, database, "status")
	if down := migrate(t, database, "down", "--yes"); !strings.HasPrefix(down, "schema version ") ||
		strings.HasPrefix(before, down+" ") {
		t.Errorf("down --yes: %q, before %q", down, before)
	}
}

// What only looks at a database, or takes from it, makes none.
func TestMigrateNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.db")
	for _, args := range [][]string{{"status"}, {"down"}, {"down", "--yes"}} {
		r := exec(t, nil, nil, append(append([]string{"migrate"}, args...), "--database-url", "sqlite:"+path)...)
		if want := "plannerd: there is no database sqlite:" + path; r.code != exitFailed || r.stdout != "" ||
			!strings.HasPrefix(r.stderr, want) {
			t.Errorf("migrate %v: exit %d, %q, want %q", args, r.code, r.stderr, want)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("migrate %v left a file: %v", args, err)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := exec(t, nil, nil, "migrate", "status", "--store-wait", "0s", "--database-url", "sqlite:"+path)
	if r.code != exitFailed || !strings.HasPrefix(r.stderr, "plannerd: ") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("not a database: exit %d, %q", r.code, r.stderr)
	}
}

// redacted is the URL of a database without its password.
func redacted(database string) string {
	u, err := url.Parse(database)
	if err != nil || u.Scheme == "sqlite" {
		return database
	}
	return u.Redacted()
}
