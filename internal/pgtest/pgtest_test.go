package pgtest

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestNewDatabaseIsEmptyAndOnItsOwn(t *testing.T) {
	first, second := NewDatabase(t), NewDatabase(t)
	if first == second {
		t.Fatal("the same database twice")
	}
	if err := execute(t.Context(), first, "CREATE TABLE t (x int)"); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var tables int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables); err != nil {
		t.Fatal(err)
	}
	if tables != 0 {
		t.Errorf("a new database has %d tables", tables)
	}
}

func TestWithDatabase(t *testing.T) {
	for server, want := range map[string]string{
		"postgres://u:p@h:1/old?sslmode=disable": "postgres://u:p@h:1/new?sslmode=disable",
		"host=h dbname=old":                      "host=h dbname=old dbname=new",
	} {
		if got := withDatabase(t, server, "new"); got != want {
			t.Errorf("withDatabase(%q) = %q, want %q", server, got, want)
		}
	}
}
