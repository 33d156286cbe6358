// Package pgtest gives tests databases on a PostgreSQL server.
//
// The server is the one that PLANNERD_TEST_DATABASE_URL names, by a role that
// may create databases. Without that variable the first test that asks starts a
// server of its own, as [pgserver.Start] does; it ends with the test process,
// however that ends.
//
// Without a server tests are skipped, or fail if CI is "true" or
// PLANNERD_REQUIRE_POSTGRES is "1".
package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"plannerd/internal/lab/pgserver"
)

// stopServer stops the server that was started, if any.
var stopServer = func() {}

// server returns the URL of the server that all tests of the process share.
var server = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("PLANNERD_TEST_DATABASE_URL"); given != "" {
		return given, nil
	}
	started, err := pgserver.Start(pgserver.Volatile...)
	if err != nil {
		return "", err
	}
	stopServer = started.Stop
	return started.URL(), nil
})

// NewDatabase returns the URL of a new, empty database. It is dropped when the
// test ends. If the server can, the database sorts text like English, which is
// not the order of the bytes.
func NewDatabase(t testing.TB) string {
	t.Helper()
	admin, err := server()
	if errors.Is(err, pgserver.ErrNotInstalled) {
		err = fmt.Errorf("%w, or set PLANNERD_TEST_DATABASE_URL to a server on which databases may be created", err)
		if !required() {
			t.Skip(err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	name := "plannerd_test_" + strings.ToLower(rand.Text())
	url, err := pgserver.WithDatabase(admin, name)
	if err != nil {
		t.Fatalf("PLANNERD_TEST_DATABASE_URL: %v", err)
	}
	if err := pgserver.CreateDatabase(t.Context(), admin, name); err != nil {
		t.Fatalf("creating a database: %v", err)
	}
	t.Cleanup(func() {
		// The test's context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := pgserver.DropDatabase(ctx, admin, name); err != nil {
			t.Errorf("dropping the database: %v", err)
		}
	})
	return url
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

// Pooler starts a connection pooler before the server of a database, and returns the URL of the
// database through it.
func Pooler(t testing.TB, mode, database string) string {
	t.Helper()
	p, err := pgserver.StartPooler(t.Context(), mode, database)
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p.URL()
}
