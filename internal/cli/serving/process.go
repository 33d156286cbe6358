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
)

// listen starts the server, before there is anything behind it: who asks learns
// that it is starting, and an address that is taken is told at once.
func (c *Serve) listen(env *cli.Environment, config api.Config) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(env.Ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen, choose another --listen (is another plannerd running?): %w", err)
	}
	requests, cut := context.WithCancel(context.Background())
	c.env, c.log, c.url = env, config.Logger, c.scheme()+"://"+listener.Addr().String()
	c.gate, c.served, c.cut = api.NewGate(config), make(chan error, 1), cut
	c.server = &http.Server{
		Handler:           c.gate,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       c.ReadTimeout,
		IdleTimeout:       c.IdleTimeout,
		MaxHeaderBytes:    64 << 10,
		ConnState:         config.Connections.State,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(config.Logger.Handler(), slog.LevelWarn),
	}
	go func() { c.served <- c.answer(c.server, listener) }()
	return nil
}

// prepare migrates the store, unless told not to, and checks that it is ready.
func (c *Serve) prepare(ctx context.Context, s migratedStore) error {
	if !c.NoMigrate {
		before, _, err := s.Migrator().Status(ctx)
		if err != nil {
			return fmt.Errorf("reading the schema version: %w", err)
		}
		after, err := s.Migrator().Up(ctx)
		if err != nil {
			return fmt.Errorf("migrating the database: %w", err)
		}
		if after != before {
			c.log.Info("migrated the database", "from", before, "to", after)
		}
	}
	return s.Ready(ctx)
}

// serve answers requests with the handler until the program is told to stop, and
// then lets the running ones finish.
func (c *Serve) serve(handler *api.Server) error {
	defer beside(c.env.Ctx, handler.Run)()
	c.gate.Open(handler)
	if c.env.Ready != nil {
		c.env.Ready(c.url)
	} else {
		fmt.Fprintf(c.env.Stdout, "plannerd %s is at %s (reference: %[2]s/docs), data in %[3]s\n", version(),
			c.url, c.shown())
	}
	c.log.Info("ready", "url", c.url)
	c.notify("READY=1")
	select {
	case err := <-c.served:
		return fmt.Errorf("serving ended: %w", err)
	case <-c.env.Ctx.Done():
	}
	c.log.Info("shutting down", "drain_delay", c.DrainDelay.String(), "at_most",
		(c.DrainDelay + c.ShutdownTimeout).String())
	c.notify("STOPPING=1")
	return c.shutdown()
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
func (c *Serve) shutdown() error {
	c.gate.Drain()
	select {
	case err := <-c.served:
		return fmt.Errorf("serving ended: %w", err)
	case <-time.After(c.DrainDelay):
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancel()
	idle := c.gate.Close()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	err := c.server.Shutdown(ctx)
	if err == nil {
		return nil
	}
	_ = c.close()
	select {
	case <-idle:
	case <-time.After(cutTime):
	}
	return fmt.Errorf("requests were cut off after --shutdown-timeout %v: %w", c.ShutdownTimeout, err)
}

// close cuts off what is left.
func (c *Serve) close() error {
	c.cut()
	return c.server.Close()
}

// notify tells the service manager, if there is one that wants to know: a
// datagram to the socket that it names, as sd_notify(3) has it. What cannot be
// told is logged, and nothing else: the server runs all the same.
func (c *Serve) notify(state string) {
	socket := c.env.Getenv("NOTIFY_SOCKET")
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
		c.log.Warn("the service manager cannot be told", "state", state, "error", err)
	}
}
