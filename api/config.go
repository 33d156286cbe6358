package api

import (
	"cmp"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/trace"

	"plannerd/internal/input"
	"plannerd/internal/service"
	"plannerd/internal/web/httpkit"
)

// Limits bound what one request may ask for. Zero values mean the defaults.
type Limits struct {
	// Statistics bound the bodies of statistics: decoded bytes (1 GiB) and rows
	// (20 million).
	Statistics input.Limits
	// Plans is how many plans are computed at the same time. Defaults to GOMAXPROCS.
	Plans int
	// Analyses is how many analyses, and plans of what-ifs and replays, are besides.
	// Defaults to half of GOMAXPROCS, at least one.
	Analyses int
	// Queue is how many plans may wait to be computed, and how many analyses. Defaults
	// to 256.
	Queue int
	// PlanTime is how long one plan or analysis may take, its wait included, and the
	// greatest deadline that a client may set. Defaults to 10 minutes.
	PlanTime time.Duration
	// Memory is how much all requests together may hold, in bytes; see package
	// admission. Caches take up to 3/8 as much besides. Defaults to 4 GiB.
	Memory int64
	// MemoryWait is how long a request waits for memory. Defaults to 100 ms: whoever
	// is accepted should not have waited longer than planning takes.
	MemoryWait time.Duration
	// OperatorMetrics is how many operators have metrics of their own; what is
	// counted of all others is counted together. Defaults to 100, none if negative.
	OperatorMetrics int
	// Waiting is how many requests may wait for changes of routing tables. Defaults
	// to 10 000.
	Waiting int
	// Pace bounds how slowly clients may send and take.
	Pace httpkit.Pace
	// SweepEvery is how often Run of a [Server] looks for what has expired. Defaults
	// to a minute.
	SweepEvery time.Duration
}

// Defaults of Limits.
const (
	defaultQueue           = 256
	defaultPlanTime        = 10 * time.Minute
	defaultMemory          = 4 << 30
	defaultMemoryWait      = 100 * time.Millisecond
	defaultOperatorMetrics = 100
	defaultSweepEvery      = time.Minute
	defaultWaiting         = 10_000
)

func (l Limits) withDefaults() Limits {
	l.Plans = cmp.Or(max(0, l.Plans), runtime.GOMAXPROCS(0))
	l.Analyses = cmp.Or(max(0, l.Analyses), max(1, runtime.GOMAXPROCS(0)/2))
	l.Queue = cmp.Or(max(0, l.Queue), defaultQueue)
	l.PlanTime = cmp.Or(max(0, l.PlanTime), defaultPlanTime)
	l.Memory = cmp.Or(max(0, l.Memory), defaultMemory)
	l.MemoryWait = cmp.Or(max(0, l.MemoryWait), defaultMemoryWait)
	l.OperatorMetrics = cmp.Or(l.OperatorMetrics, defaultOperatorMetrics)
	l.Waiting = cmp.Or(max(0, l.Waiting), defaultWaiting)
	l.SweepEvery = cmp.Or(max(0, l.SweepEvery), defaultSweepEvery)
	l.Pace = l.Pace.WithDefaults()
	return l
}

// Webhooks say who is told what happens.
type Webhooks = service.Webhooks

// Config is what the API needs.
type Config struct {
	// Store keeps everything. Required.
	Store service.Store
	// Logger gets failures as errors and each request as a record. Defaults to
	// slog.Default.
	Logger *slog.Logger
	// Limits bound requests.
	Limits Limits
	// Access says who may do what.
	Access Access
	// Draining, when it is closed, says that the process is about to end: /readyz
	// answers 503, and requests that only wait end. Nil: it never is.
	Draining <-chan struct{}
	// Tracing takes the spans of requests. Nil: there are none.
	Tracing trace.TracerProvider
	// Connections are those of the server, for its metrics. Nil: none are counted.
	Connections *httpkit.Connections
	// Webhooks say who is told what happens while a [Server] runs.
	Webhooks Webhooks
	// Dashboard answers "/" and what is below "/dashboard/", for everybody: it holds no
	// data. Nil: there is none.
	Dashboard http.Handler
	// Version is the version of the program, as /healthz tells it.
	Version string
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}
