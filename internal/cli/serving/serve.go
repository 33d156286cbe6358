package serving

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"plannerd/api"
	"plannerd/internal/cli"
	"plannerd/internal/input"
	"plannerd/internal/web/httpkit"
	"plannerd/web"
)

// Serve is the command that serves the HTTP API.
type Serve struct {
	Listen string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes a free one (default 127.0.0.1:8080). Beyond loopback only with tokens, and with TLS."`
	databaseFlags
	accessFlags
	webhookFlags
	ListenURL    string `name:"listen-url" placeholder:"URL" help:"Postgres itself, which notifies of other replicas' commits, if --database-url leads to a connection pooler in transaction mode (default: --database-url)."`
	MemoryBudget int64  `type:"bytes" placeholder:"SIZE" help:"Memory that the server is to stay within, such as 2GiB, at least 192MiB (default: 60 % of the machine's memory, or of the container's limit if that is less). Requests together may reserve 60 % of what is above 96 MiB."`
	LogLevel     string `enum:"debug,info,warn,error" default:"info" help:"Least level that is logged: debug, info, warn or error. The log goes to standard error, as text on a terminal, else as JSON."`

	NoMigrate       bool          `group:"Tuning" help:"Do not migrate the schema; fail if it is not up to date."`
	ReadTimeout     time.Duration `least:"1" default:"10m" group:"Tuning" help:"Time to read a whole request; bulk statistics over a slow line take long."`
	IdleTimeout     time.Duration `least:"1" default:"2m" group:"Tuning" help:"Time that an idle connection is kept."`
	DrainDelay      time.Duration `least:"0" default:"0s" group:"Tuning" help:"Time after SIGINT or SIGTERM in which requests are still taken while /readyz is 503, so that load balancers notice; then new ones are refused."`
	ShutdownTimeout time.Duration `least:"0" default:"30s" group:"Tuning" help:"Time that running requests get to finish after that; then they are cut off."`
	MaxBodyBytes    int64         `least:"1" default:"1073741824" group:"Tuning" help:"Greatest size of a request's body, in bytes after decompression."`
	MaxRows         int           `least:"1" default:"20000000" group:"Tuning" help:"Most rows of one interval's statistics."`
	MaxPlanTime     time.Duration `least:"1" default:"10m" group:"Tuning" help:"Time that one plan or analysis may take, its wait for a slot included, and greatest deadline that a client may set."`
	MaxPlans        int           `least:"0" placeholder:"N" group:"Tuning" help:"Most plans that are computed at the same time (default: one for each processor)."`
	MaxAnalyses     int           `least:"0" placeholder:"N" group:"Tuning" help:"Most analyses, what-ifs and replays that are computed at the same time, besides plans (default: one for two processors)."`
	MaxConnections  int           `least:"0" placeholder:"N" group:"Tuning" help:"Most connections; beyond them one of the address with the most is closed, one that waits for a request first (default: as many as fit into 12 % of the memory budget, 16 KiB each)."`
	MaxQueued       int           `least:"1" default:"256" group:"Tuning" help:"Most plans that wait to be computed, and most analyses; beyond them the caller with the most of them is refused with 429."`

	MemoryWait   time.Duration `least:"1" default:"100ms" group:"Tuning" help:"Time that a request waits for memory that others hold, before it is refused with 429."`
	MaxWaiting   int           `least:"1" default:"10000" group:"Tuning" help:"Most requests that wait for changes of routing tables at the same time; others are refused with 503."`
	BodyTimeout  time.Duration `least:"1" default:"30s" group:"Tuning" help:"Time that a client may send nothing of a body, or be slower than --body-rate, before it is cut off with 408."`
	BodyRate     int64         `type:"bytes" least:"1" default:"16KiB" placeholder:"SIZE" group:"Tuning" help:"Least average rate of a body and of an answer, for each second that the server waits for the client (default 16KiB)."`
	WriteTimeout time.Duration `least:"1" default:"1m" group:"Tuning" help:"Time that a client may take nothing of its answer, or less than --body-rate, before it is cut off."`

	OperatorMetrics int    `least:"0" default:"100" group:"Tuning" help:"Most operators that have metrics of their own; all others are counted together."`
	DebugListen     string `placeholder:"HOST:PORT" group:"Tuning" help:"Address to serve profiles on, under /debug/pprof/; loopback only (default: off)."`
	OTLPEndpoint    string `name:"otlp-endpoint" placeholder:"URL" group:"Tuning" help:"Where to send OpenTelemetry traces, over OTLP/HTTP, such as http://127.0.0.1:4318; /v1/traces is appended (default: what OTEL_EXPORTER_OTLP_ENDPOINT says, else off)."`

	// Of the server, from the moment that it listens until it has ended:
	env    *cli.Environment
	log    *slog.Logger
	url    string
	gate   *httpkit.Gate
	server *http.Server
	served chan error // why it no longer listens
	cut    context.CancelFunc
}

// Run serves until the context ends.
func (c *Serve) Run(env *cli.Environment) error {
	if err := c.check(env); err != nil {
		return err
	}
	logger := c.logger(env.Stderr)
	for _, warning := range env.Unknown {
		logger.Warn(warning)
	}
	logger.Info("starting", "version", version(), "database", c.shown())
	err := c.run(env, logger)
	if env.Ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // it was told to stop before it had started
	}
	if err == nil {
		logger.Info("stopped")
	}
	return err
}

// run listens, waits for the store and serves.
func (c *Serve) run(env *cli.Environment, logger *slog.Logger) (err error) {
	if err := c.load(c.Listen, env.Getenv); err != nil {
		return err
	}
	webhooks, err := c.receivers(c.InsecureHTTP, env.Now)
	if err != nil {
		return err
	}
	tracing, stopTracing, err := c.startTracing(env, logger)
	if err != nil {
		return err
	}
	defer stopTracing()
	stopDebugging, err := c.startDebugging(env, logger)
	if err != nil {
		return err
	}
	defer stopDebugging()
	budget := c.budget()
	dashboard, err := web.Handler()
	if err != nil {
		return err
	}
	config := api.Config{
		Logger: logger, Dashboard: dashboard, Version: version(), Now: env.Now, Limits: c.limits(budget),
		Access: c.access(), Tracing: tracing, Webhooks: webhooks,
	}
	config.Connections = httpkit.NewConnections(c.connections(budget), env.Now)
	defer c.watch(logger)()
	if err := c.listen(env, config); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	c.listenURL = c.ListenURL
	s, err := c.wait(env.Ctx, c.prepare, func(err error, delay time.Duration) {
		logger.Warn("the database is not ready", "retry_in", delay.String(), "error", err)
	})
	if err != nil {
		return err
	}
	if s.Pooled() && c.ListenURL == "" {
		logger.Warn("the database is behind a connection pooler: in transaction mode, commits of other replicas " +
			"are looked for every second; --listen-url names the server itself")
	}
	config.Store, config.Draining = s, c.gate.Draining()
	handler, err := api.New(config)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	defer limitHeap(env, budget)()
	logger.Info("memory", "budget", bytesText(budget), "for_requests", bytesText(forRequests(budget)))
	return errors.Join(c.serve(handler), s.Close())
}

// check refuses settings that cannot be meant.
func (c *Serve) check(env *cli.Environment) error {
	if err := c.databaseFlags.check(); err != nil {
		return err
	}
	if c.MemoryBudget != 0 && c.MemoryBudget < leastBudget {
		return cli.Usagef("--memory-budget: must be at least %s", bytesText(leastBudget))
	}
	return c.accessFlags.check(env.Ctx, c.Listen, env.Getenv)
}

// limits are those of the API.
func (c *Serve) limits(budget int64) api.Limits {
	operators := c.OperatorMetrics
	if operators == 0 {
		operators = -1
	}
	return api.Limits{
		OperatorMetrics: operators,
		Statistics:      input.Limits{Bytes: c.MaxBodyBytes, Rows: c.MaxRows},
		Plans:           c.MaxPlans, Analyses: c.MaxAnalyses, Queue: c.MaxQueued, PlanTime: c.MaxPlanTime,
		Memory: forRequests(budget), MemoryWait: c.MemoryWait,
		Waiting: c.MaxWaiting,
		Pace: httpkit.Pace{BodyTimeout: c.BodyTimeout, BodyRate: c.BodyRate, ReadTime: c.ReadTimeout,
			WriteTimeout: c.WriteTimeout},
	}
}

// logger writes text for people on a terminal, JSON for programs elsewhere.
func (c *Serve) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // the enum of the flag admits levels only
	}
	options := &slog.HandlerOptions{Level: level}
	if cli.IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
