// Package plannerdtest runs the real server in the process of a test, so that the tests
// of an engine need nothing that is installed:
//
//	server := plannerdtest.NewServer(t)
//	plan, err := server.Client().CreatePlan(ctx, "clicks", request)
package plannerdtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"plannerd/api"
	"plannerd/internal/web/access"
	"plannerd/internal/web/httpkit"
	"plannerd/sdk/go/client"
	"plannerd/store"
	"plannerd/store/sqlite"
	"plannerd/web"
)

// Config changes a server.
type Config struct {
	// Now is the server's clock. Defaults to time.Now.
	Now func() time.Time
	// Logger gets what the server logs. Defaults to nothing.
	Logger *slog.Logger
	// Access: the server asks for tokens. See [Server.Token].
	Access bool
}

// Server is a plannerd on a port of loopback. Its data is in a file of SQLite in the
// test's temporary folder.
type Server struct {
	// URL is where it is, such as "http://127.0.0.1:1234". A restart does not change it.
	URL string

	t       testing.TB
	config  Config
	address string
	path    string
	secrets map[access.Role]string // nil: it asks for no tokens
	tokens  access.Tokens
	running *running // nil: it is stopped
}

// running is what lasts from a start to the next stop.
type running struct {
	gate   *httpkit.Gate
	server *http.Server
	store  *sqlite.Store
	end    context.CancelFunc
	done   sync.WaitGroup
}

// NewServer starts a server, which is stopped when the test ends.
func NewServer(t testing.TB) *Server { return NewServerWith(t, Config{}) }

// NewServerWith starts a server that is configured, which is stopped when the test ends.
func NewServerWith(t testing.TB, c Config) *Server {
	t.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{t: t, config: c, address: "127.0.0.1:0", path: filepath.Join(t.TempDir(), "plannerd.db")}
	if c.Access {
		s.secrets = map[access.Role]string{}
		for _, role := range []access.Role{access.Viewer, access.Engine, access.Approver, access.Admin} {
			caller := access.Caller{Name: string(role), Role: role, Operators: []string{access.Everywhere}}
			s.secrets[role] = access.NewSecret()
			if err := s.tokens.Add(s.secrets[role], caller); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// Token returns the token of a caller with a role: viewer, engine, approver or admin, which
// is the caller's name as well. The server has to be one with Access.
func (s *Server) Token(role string) string {
	s.t.Helper()
	secret, found := s.secrets[access.Role(role)]
	if !found {
		s.t.Fatalf("plannerdtest: there is no token of the role %q", role)
	}
	return secret
}

// Client returns a client of the server, which may do everything.
func (s *Server) Client() *client.Client {
	s.t.Helper()
	var config client.Config
	if s.secrets != nil {
		config.Token = client.StaticToken(s.Token("admin"))
	}
	c, err := client.New(s.URL, config)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// Start starts the server again after Stop, at the same address and with the same data.
func (s *Server) Start() {
	s.t.Helper()
	if s.running != nil {
		return
	}
	if err := s.start(); err != nil {
		s.t.Fatalf("plannerdtest: %v", err)
	}
}

func (s *Server) start() (err error) {
	var listening net.ListenConfig
	listener, err := listening.Listen(context.Background(), "tcp", s.address)
	if err != nil {
		return err
	}
	r := &running{}
	defer func() {
		if err != nil {
			err = errors.Join(err, listener.Close())
		}
	}()
	ctx, end := context.WithCancel(context.Background())
	r.end = end
	if r.store, err = sqlite.Open(ctx, s.path, store.WithClock(s.config.Now)); err != nil {
		end()
		return err
	}
	handler, config, err := s.handler(ctx, r)
	if err != nil {
		end()
		return errors.Join(err, r.store.Close())
	}
	r.gate.Open(handler)
	r.server = &http.Server{Handler: r.gate, ReadHeaderTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(config.Logger.Handler(), slog.LevelWarn)}
	r.done.Go(func() { handler.Run(ctx) })
	r.done.Go(func() { _ = r.server.Serve(listener) }) // until it is closed
	s.address, s.running = listener.Addr().String(), r
	s.URL = "http://" + s.address
	return nil
}

// handler brings the schema up to date and makes the API over it.
func (s *Server) handler(ctx context.Context, r *running) (*api.Server, api.Config, error) {
	if _, err := r.store.Migrator().Up(ctx); err != nil {
		return nil, api.Config{}, err
	}
	dashboard, err := web.Handler()
	if err != nil {
		return nil, api.Config{}, err
	}
	config := api.Config{Logger: s.config.Logger, Dashboard: dashboard, Version: "plannerdtest", Now: s.config.Now}
	if s.secrets != nil {
		config.Access.Tokens = func() *access.Tokens { return &s.tokens }
	}
	r.gate = api.NewGate(config)
	config.Store, config.Draining = r.store, r.gate.Draining()
	handler, err := api.New(config)
	if err != nil {
		return nil, config, fmt.Errorf("the API: %w", err)
	}
	return handler, config, nil
}

// Stop ends the server as a crash of it would look to its clients: connections are cut,
// and new ones refused. Its data stays for another Start.
func (s *Server) Stop() {
	s.t.Helper()
	r := s.running
	if r == nil {
		return
	}
	s.running = nil
	err := r.server.Close()
	idle := r.gate.Close()
	r.gate.Drain()
	<-idle
	r.end()
	r.done.Wait()
	if err := errors.Join(err, r.store.Close()); err != nil {
		s.t.Errorf("plannerdtest: %v", err)
	}
}
