package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"plannerd/api"
	"plannerd/internal/statsio"
)

type serveCmd struct {
	databaseFlags
	NoMigrate bool `group:"Database" help:"Do not bring the schema up to date; fail unless it is."`

	Listen   string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes a free one (default 127.0.0.1:8080). Beyond loopback only with tokens, and with TLS; see Access."`
	LogLevel string `enum:"debug,info,warn,error" default:"info" help:"Least level that is logged: debug, info, warn or error. The log goes to standard error, as text on a terminal, else as JSON."`

	accessFlags

	ReadHeaderTimeout time.Duration `default:"10s" group:"Limits" help:"Time to read the head of a request."`
	ReadTimeout       time.Duration `default:"10m" group:"Limits" help:"Time to read a whole request; bulk statistics over a slow line take long."`
	IdleTimeout       time.Duration `default:"2m" group:"Limits" help:"Time that an idle connection is kept."`
	ShutdownTimeout   time.Duration `default:"30s" group:"Limits" help:"Time that running requests get to finish after SIGINT or SIGTERM."`
	MaxHeaderBytes    int           `default:"65536" group:"Limits" help:"Greatest size of a request's head, in bytes."`
	MaxBodyBytes      int64         `default:"1073741824" group:"Limits" help:"Greatest size of a request's body, in bytes after decompression."`
	MaxRows           int           `default:"20000000" group:"Limits" help:"Most rows of one interval's statistics."`
	MaxPlanTime       time.Duration `default:"10m" group:"Limits" help:"Time that one plan may take, and greatest deadline that a client may set."`
	MaxPlans          int           `placeholder:"N" group:"Limits" help:"Most plans that are computed at the same time (default: one for each processor)."`

	MemoryBudget size          `placeholder:"SIZE" group:"Limits" help:"Memory that the server is to stay within, such as 2GiB, at least 192MiB (default: 60 % of the machine's memory, or of the container's limit if that is less). Requests together may reserve 60 % of what is beyond 96 MiB."`
	MemoryWait   time.Duration `default:"1s" group:"Limits" help:"Time that a request waits for memory that others hold, before it is refused with 429."`
	BodyTimeout  time.Duration `default:"30s" group:"Limits" help:"Time that a client may send nothing of a body, or be slower than --body-rate, before it is cut off with 408."`
	BodyRate     size          `default:"16KiB" placeholder:"SIZE" group:"Limits" help:"Least average rate of a body, for each second that the server waits for it (default 16KiB)."`
	WriteTimeout time.Duration `default:"1m" group:"Limits" help:"Time that a client may take nothing of its answer before it is cut off."`
}

// Help shows examples.
func (*serveCmd) Help() string {
	return `Needs nothing: the data is in a SQLite file, which is created and migrated. SIGINT and
SIGTERM end it after the running requests.

Requests are limited in time, in bytes, in rows and in the memory that they hold together,
and plans in how many are computed at once; see Limits below. A request that does not fit
now is refused with 429 and may come again; one that never fits, with 413.

Without tokens it listens on loopback only, and answers programs of this machine but no
pages of other servers. With tokens, every request for data needs one. Beyond loopback there
must be tokens, and TLS or --insecure-http; see Access below.

Examples:

    plannerd serve
    plannerd serve --listen 127.0.0.1:9000 --database-url sqlite:/var/lib/plannerd/data.db
    PLANNERD_DATABASE_URL=postgres://plannerd@db/plannerd plannerd serve --log-level debug
    plannerd serve --listen :8443 --tokens-file tokens --tls-cert tls.crt --tls-key tls.key`
}

// Run serves until the context ends.
func (c *serveCmd) Run(env *environment) error {
	if err := c.check(env); err != nil {
		return err
	}
	gate, err := c.gate(c.Listen, env.getenv)
	if err != nil {
		return err
	}
	logger := c.logger(env.stderr)
	s, err := c.wait(env.ctx, c.prepare, func(err error, delay time.Duration) {
		logger.Warn("the database is not ready", "retry_in", delay.String(), "error", err)
	})
	if err != nil {
		return err
	}
	err = c.serve(env, s, gate, logger)
	return errors.Join(err, s.Close())
}

// check refuses settings that cannot be meant.
func (c *serveCmd) check(env *environment) error {
	for _, limit := range []struct {
		flag  string
		value int64
		least int64
	}{
		{"read-header-timeout", int64(c.ReadHeaderTimeout), 1},
		{"read-timeout", int64(c.ReadTimeout), 1},
		{"idle-timeout", int64(c.IdleTimeout), 1},
		{"shutdown-timeout", int64(c.ShutdownTimeout), 0},
		{"max-header-bytes", int64(c.MaxHeaderBytes), 1},
		{"max-body-bytes", c.MaxBodyBytes, 1},
		{"max-rows", int64(c.MaxRows), 1},
		{"max-plan-time", int64(c.MaxPlanTime), 1},
		{"max-plans", int64(c.MaxPlans), 0},
		{"memory-wait", int64(c.MemoryWait), 1},
		{"body-timeout", int64(c.BodyTimeout), 1},
		{"body-rate", int64(c.BodyRate), 1},
		{"write-timeout", int64(c.WriteTimeout), 1},
	} {
		if limit.value < limit.least {
			return usagef("--%s: must be at least %d", limit.flag, limit.least)
		}
	}
	if c.MemoryBudget != 0 && c.MemoryBudget < leastBudget {
		return usagef("--memory-budget: must be at least %v", leastBudget)
	}
	return c.accessFlags.check(env.ctx, c.Listen, env.getenv)
}

// limits are those of the API.
func (c *serveCmd) limits(budget size) api.Limits {
	return api.Limits{
		Statistics: statsio.Limits{Bytes: c.MaxBodyBytes, Rows: c.MaxRows},
		Plans:      c.MaxPlans, PlanTime: c.MaxPlanTime, Memory: int64(forRequests(budget)), MemoryWait: c.MemoryWait,
		Pace: api.Pace{BodyTimeout: c.BodyTimeout, BodyRate: int64(c.BodyRate), ReadTime: c.ReadTimeout, WriteTimeout: c.WriteTimeout},
	}
}

// prepare migrates the store, unless told not to, and checks that it is ready.
func (c *serveCmd) prepare(ctx context.Context, s migratedStore) error {
	if !c.NoMigrate {
		if _, err := s.Migrator().Up(ctx); err != nil {
			return fmt.Errorf("migrating the database: %w", err)
		}
	}
	return s.Ready(ctx)
}

// serve listens and answers requests until env.ctx ends; then it lets the
// running ones finish.
func (c *serveCmd) serve(env *environment, s migratedStore, gate *gate, logger *slog.Logger) error {
	budget := c.budget()
	handler, err := api.New(api.Config{
		Store: s, Logger: logger, Version: version(), Now: env.now, Limits: c.limits(budget), Access: gate.access(),
	})
	if err != nil {
		return err
	}
	defer limitHeap(env, budget)()
	logger.Info("memory", "budget", budget.String(), "for_requests", forRequests(budget).String())
	var listen net.ListenConfig
	listener, err := listen.Listen(env.ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen, choose another --listen: %w", err)
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: c.ReadHeaderTimeout,
		ReadTimeout:       c.ReadTimeout,
		IdleTimeout:       c.IdleTimeout,
		MaxHeaderBytes:    c.MaxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	defer gate.watch(logger)()
	fmt.Fprintf(env.stdout, "plannerd %s is at %s://%s (reference: %[2]s://%[3]s/docs), data in %[4]s\n",
		version(), gate.scheme(), listener.Addr(), c.shown())
	defer beside(env.ctx, handler.Run)()
	served := make(chan error, 1)
	go func() { served <- gate.serve(server, listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving ended: %w", err)
	case <-env.ctx.Done():
	}
	logger.Info("shutting down", "at_most", c.ShutdownTimeout.String())
	return c.shutdown(server)
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

// shutdown waits for the running requests, at most ShutdownTimeout.
func (c *serveCmd) shutdown(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off after --shutdown-timeout %v: %w", c.ShutdownTimeout, err), server.Close())
	}
	return nil
}

// logger writes text for people on a terminal, JSON for programs elsewhere.
func (c *serveCmd) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // the enum of the flag admits levels only
	}
	options := &slog.HandlerOptions{Level: level}
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
