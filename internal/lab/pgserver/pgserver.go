// Package pgserver starts PostgreSQL servers for tests and benchmarks, from the
// programs installed on the machine, and makes databases on servers.
//
// A started server listens on loopback, wants a random password, keeps its files
// in a temporary folder, and is stopped and removed when the process that
// started it ends, however that ends.
package pgserver

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNotInstalled says that the machine has no server.
var ErrNotInstalled = errors.New(
	"no PostgreSQL server found: install one (on Debian and Ubuntu: apt-get install postgresql) " +
		"so that initdb and pg_ctl are on the PATH or in /usr/lib/postgresql/*/bin")

// errNoURL does not show the URL, which may have a password.
var errNoURL = errors.New("the URL of the database server cannot be read")

// Volatile are the settings of a server whose data nobody needs after a crash.
var Volatile = []string{"fsync=off", "synchronous_commit=off", "full_page_writes=off"}

// Server is a server that this process started.
type Server struct {
	url   string
	guard *guard
}

// URL is that of the server's database postgres, by a role that may do all.
func (s *Server) URL() string { return s.url }

// Stop stops the server and removes its files.
func (s *Server) Stop() { s.guard.stop() }

// The ways to end a server that is to be started again.
const (
	Fast      = "fast"      // connections are cut, transactions rolled back
	Immediate = "immediate" // as in a crash: the next start recovers
)

// Restart ends the server in one of these ways and starts it again, on the same
// port and with the same settings. It returns when the server accepts
// connections. Only one goroutine may do so, and none while another calls Stop.
func (s *Server) Restart(mode string) error { return s.guard.restart(mode) }

// Copy starts another server with the data of this one as they are now, and with the settings given:
// one that goes on by itself, as after the restore of a backup, or, if upstream is the address of this
// one, as it is or through a proxy, a standby that follows it until [Server.Promote]. It needs
// pg_basebackup.
func (s *Server) Copy(upstream string, settings ...string) (*Server, error) {
	return s.duplicate(upstream, settings)
}

// Promote makes a standby a server that takes writes.
func (s *Server) Promote(ctx context.Context) error {
	return execute(ctx, s.url, "SELECT pg_promote()")
}

// Address is where the server listens, host:port.
func (s *Server) Address() string {
	parsed, err := url.Parse(s.url)
	if err != nil {
		panic(errNoURL) // it was made here
	}
	return parsed.Host
}

// Start starts a server with the settings given, each as name=value, beside those
// that it needs. The error is [ErrNotInstalled] where there is none to start.
func Start(settings ...string) (*Server, error) { return start(settings) }

// CreateDatabase makes an empty database on a server. If the server can, the
// database sorts text like English, which is not the order of the bytes.
// Servers before 15 do not know the words for that, and some are built without
// ICU.
func CreateDatabase(ctx context.Context, server, name string) error {
	create := "CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'UTF8'"
	err := execute(ctx, server, create+" LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'")
	if _, ok := errors.AsType[*pgconn.PgError](err); ok {
		return execute(ctx, server, create)
	}
	return err
}

// DropDatabase removes a database and cuts off who uses it.
func DropDatabase(ctx context.Context, server, name string) error {
	return execute(ctx, server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
}

func execute(ctx context.Context, server, query string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, query)
	return errors.Join(err, conn.Close(ctx))
}

// WithDatabase returns the server's URL with another database, whichever way the
// URL is written.
func WithDatabase(server, name string) (string, error) {
	if !strings.Contains(server, "://") {
		return server + " dbname=" + name, nil // of words, the last one counts
	}
	parsed, err := url.Parse(server)
	if err != nil {
		return "", errNoURL // err would show the password
	}
	parsed.Path = "/" + name
	return parsed.String(), nil
}

// freePort is below the ports that systems give to those who call, so that no caller takes it while its server is
// being restarted.
func freePort() (int, error) {
	var err error
	for range 100 {
		port := 10_000 + rand.IntN(22_000)
		var listener net.Listener
		listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, err
}
