package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"plannerd/api"
	"plannerd/internal/cli"
	"plannerd/internal/web/httpkit"
)

// process is a server from the moment that it listens until it has ended.
type process struct {
	*Serve
	env    *cli.Environment
	log    *slog.Logger
	url    string
	gate   *httpkit.Gate
	server *http.Server
	served chan error // why it no longer listens
	cut    context.CancelFunc
}

// listen starts the server, before there is anything behind it: who asks learns
// that it is starting, and an address that is taken is told at once.
func (c *Serve) listen(env *cli.Environment, config api.Config) (*process, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(env.Ctx, "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen, choose another --listen (does another plannerd run?): %w", err)
	}
	gate := api.NewGate(config)
	requests, cut := context.WithCancel(context.Background())
	p := &process{
		Serve: c, env: env, log: config.Logger, url: c.scheme() + "://" + listener.Addr().String(),
		gate: gate, served: make(chan error, 1), cut: cut,
		server: &http.Server{
			Handler:           gate,
			ReadHeaderTimeout: 10 * time.Second,
			ReadTimeout:       c.ReadTimeout,
			IdleTimeout:       c.IdleTimeout,
			MaxHeaderBytes:    64 << 10,
			ConnState:         config.Connections.State,
			BaseContext:       func(net.Listener) context.Context { return requests },
			ErrorLog:          slog.NewLogLogger(config.Logger.Handler(), slog.LevelWarn),
		},
	}
	go func() { p.served <- c.answer(p.server, listener) }()
	return p, nil
}

// prepare migrates the store, unless told not to, and checks that it is ready.
func (p *process) prepare(ctx context.Context, s migratedStore) error {
	if !p.NoMigrate {
		before, _, err := s.Migrator().Status(ctx)
		if err != nil {
			return fmt.Errorf("reading the schema version: %w", err)
		}
		after, err := s.Migrator().Up(ctx)
		if err != nil {
			return fmt.Errorf("migrating the database: %w", err)
		}
		if after != before {
			p.log.Info("migrated the database", "from", before, "to", after)
		}
	}
	return s.Ready(ctx)
}

// serve answers requests with the handler until the program is told to stop, and
// then lets the running ones finish.
func (p *process) serve(handler *api.Server) error {
	defer beside(p.env.Ctx, handler.Run)()
	p.gate.Open(handler)
	if p.env.Ready != nil {
		p.env.Ready(p.url)
	} else {
		fmt.Fprintf(p.env.Stdout, "plannerd %s is at %s (reference: %[2]s/docs), data in %[3]s\n", version(),
			p.url, p.shown())
	}
	p.log.Info("ready", "url", p.url)
	p.notify("READY=1")
	select {
	case err := <-p.served:
		return fmt.Errorf("serving ended: %w", err)
	case <-p.env.Ctx.Done():
	}
	p.log.Info("shutting down", "drain_delay", p.DrainDelay.String(), "at_most",
		(p.DrainDelay + p.ShutdownTimeout).String())
	p.notify("STOPPING=1")
	return p.shutdown()
}

// beside runs a task beside the server; the function it returns ends it.
func beside(ctx context.Context, task func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { task(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// cutTime is how long requests that were cut off may take to end.
const cutTime = 5 * time.Second

// shutdown goes on for DrainDelay but is no longer ready, then refuses new
// requests and waits for the running ones, at most ShutdownTimeout. It cuts off what is
// left: the store is closed next, and waits for those that use it.
func (p *process) shutdown() error {
	p.gate.Drain()
	select {
	case err := <-p.served:
		return fmt.Errorf("serving ended: %w", err)
	case <-time.After(p.DrainDelay):
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.ShutdownTimeout)
	defer cancel()
	idle := p.gate.Close()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	err := p.server.Shutdown(ctx)
	if err == nil {
		return nil
	}
	_ = p.close()
	select {
	case <-idle:
	case <-time.After(cutTime):
	}
	return fmt.Errorf("requests were cut off after --shutdown-timeout %v: %w", p.ShutdownTimeout, err)
}

// close cuts off what is left.
func (p *process) close() error {
	p.cut()
	return p.server.Close()
}

// notify tells the service manager, if there is one that wants to know: a
// datagram to the socket that it names, as sd_notify(3) has it. What cannot be
// told is logged, and nothing else: the server runs all the same.
func (p *process) notify(state string) {
	socket := p.env.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(context.Background(), "unixgram", socket)
	if err == nil {
		_, err = conn.Write([]byte(state))
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		p.log.Warn("the service manager cannot be told", "state", state, "error", err)
	}
}
