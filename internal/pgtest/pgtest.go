// Package pgtest gives tests databases on a PostgreSQL server.
//
// The server is the one that PLANNERD_TEST_DATABASE_URL names, by a role that
// may create databases. Without that variable the first test that asks starts a
// server of its own from the programs installed on the machine; it listens on
// loopback, wants a random password, keeps its files in a temporary folder, and
// is stopped and removed when the test process ends, however that ends.
//
// Without a server tests are skipped, or fail if CI is "true" or
// PLANNERD_REQUIRE_POSTGRES is "1".
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// errNoServer: the machine has none.
var errNoServer = errors.New("no PostgreSQL server found: install one (on Debian and Ubuntu: apt-get install postgresql) " +
	"so that initdb and pg_ctl are on the PATH or in /usr/lib/postgresql/*/bin, " +
	"or set PLANNERD_TEST_DATABASE_URL to a server on which databases may be created")

// server returns the URL of the server that all tests of the process share.
var server = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("PLANNERD_TEST_DATABASE_URL"); given != "" {
		return given, nil
	}
	return startServer()
})

// NewDatabase returns the URL of a new, empty database. It is dropped when the
// test ends. If the server can, the database sorts text like English, which is
// not the order of the bytes.
func NewDatabase(t testing.TB) string {
	t.Helper()
	admin, err := server()
	if errors.Is(err, errNoServer) && !required() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	name := "plannerd_test_" + strings.ToLower(rand.Text())
	if err := createDatabase(t.Context(), admin, name); err != nil {
		t.Fatalf("creating a database: %v", err)
	}
	t.Cleanup(func() {
		// The test's context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := execute(ctx, admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("dropping the database: %v", err)
		}
	})
	return withDatabase(t, admin, name)
}

// Main runs the tests of a package and waits until their server has stopped:
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
// A package without it leaves the server a moment longer than its tests.
func Main(m *testing.M) int {
	code := m.Run()
	stopServer()
	return code
}

func required() bool {
	return os.Getenv("CI") == "true" || os.Getenv("PLANNERD_REQUIRE_POSTGRES") == "1"
}

// createDatabase asks for an ICU collation first. Servers before 15 do not know
// the words, and some are built without ICU.
func createDatabase(ctx context.Context, server, name string) error {
	create := "CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'UTF8'"
	err := execute(ctx, server, create+" LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'")
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return execute(ctx, server, create)
	}
	return err
}

func execute(ctx context.Context, server, query string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, query)
	return errors.Join(err, conn.Close(ctx))
}

// withDatabase returns the server's URL with another database, whichever way the
// URL is written.
func withDatabase(t testing.TB, server, name string) string {
	t.Helper()
	if !strings.Contains(server, "://") {
		return server + " dbname=" + name // of words, the last one counts
	}
	parsed, err := url.Parse(server)
	if err != nil {
		t.Fatal("PLANNERD_TEST_DATABASE_URL is no URL") // err would show the password
	}
	parsed.Path = "/" + name
	return parsed.String()
}
