package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// The modes of connection poolers.
const (
	Session     = "session"
	Transaction = "transaction"
)

// Pooler is a connection pooler, PgBouncer, that this process started.
type Pooler struct {
	url, folder string
	command     *exec.Cmd
}

// URL is that of the database through the pooler.
func (p *Pooler) URL() string { return p.url }

// Stop stops the pooler and removes its files.
func (p *Pooler) Stop() error {
	_ = p.command.Process.Kill()
	_ = p.command.Wait() // it was killed
	return os.RemoveAll(p.folder)
}

// StartPooler starts a pooler in a mode before the server of a database. Few sessions for many
// clients show whatever depends on a session. The error is [exec.ErrNotFound] where there is none.
func StartPooler(ctx context.Context, mode, database string) (_ *Pooler, err error) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		return nil, err
	}
	server, err := pgx.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &Pooler{}
	if p.folder, err = os.MkdirTemp("", "plannerd-pgbouncer-"); err != nil {
		return nil, err
	}
	sessions := 4
	if mode == Session {
		sessions = 40 // each client has one as long as it is connected
	}
	text := fmt.Sprintf("[databases]\n* = host=%s port=%d user=%s password=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"+
		"listen_port = %d\nunix_socket_dir =\nauth_type = any\npool_mode = %s\ndefault_pool_size = %d\n"+
		"max_client_conn = 200\nserver_login_retry = 1\nserver_connect_timeout = 3\nserver_idle_timeout = 5\n",
		server.Host, server.Port, server.User, server.Password, port, mode, sessions)
	if os.Geteuid() == 0 {
		text += "user = postgres\n" // it refuses to run as root
	}
	config := filepath.Join(p.folder, "pgbouncer.ini")
	p.command = exec.CommandContext(context.WithoutCancel(ctx), program, "--quiet", config)
	if err := errors.Join(os.WriteFile(config, []byte(text), 0o600), p.command.Start()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.folder))
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	p.url = (&url.URL{Scheme: "postgres", User: url.User(server.User), Host: address, Path: server.Database,
		RawQuery: "sslmode=disable"}).String()
	for range 100 {
		if err = execute(ctx, p.url, "SELECT 1"); err == nil {
			return p, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, errors.Join(fmt.Errorf("pgbouncer does not answer: %w", err), p.Stop())
}
