// Package api is the HTTP API of plannerd: it turns requests into calls of the
// planner and the store, and what comes back into answers. openapi.yaml at the
// root is its contract, which it serves and holds requests against.
//
// The package keeps no state between requests but caches of immutable things:
// any replica may answer any request.
package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/getkin/kin-openapi/routers"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"go.opentelemetry.io/otel/trace"

	"plannerd/api/wire"
	"plannerd/internal/admission"
	"plannerd/internal/analyses"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// Limits bound what one request may ask for. Zero values mean the defaults.
type Limits struct {
	// Statistics bound the bodies of statistics: decoded bytes (1 GiB) and rows
	// (20 million).
	Statistics statsio.Limits
	// Plans is how many plans and analyses are computed at the same time. Defaults
	// to GOMAXPROCS.
	Plans int
	// PlanTime is how long one plan or analysis may take, and the greatest deadline
	// that a client may set. Defaults to 10 minutes.
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
	Pace Pace
	// SweepEvery is how often Run of a [Server] looks for what has expired. Defaults
	// to a minute.
	SweepEvery time.Duration
}

// Defaults of Limits.
const (
	defaultPlanTime        = 10 * time.Minute
	defaultMemory          = 4 << 30
	defaultMemoryWait      = 100 * time.Millisecond
	defaultOperatorMetrics = 100
	defaultSweepEvery      = time.Minute
	defaultWaiting         = 10_000
)

func (l Limits) withDefaults() Limits {
	l.Plans = cmp.Or(max(0, l.Plans), runtime.GOMAXPROCS(0))
	l.PlanTime = cmp.Or(max(0, l.PlanTime), defaultPlanTime)
	l.Memory = cmp.Or(max(0, l.Memory), defaultMemory)
	l.MemoryWait = cmp.Or(max(0, l.MemoryWait), defaultMemoryWait)
	l.OperatorMetrics = cmp.Or(l.OperatorMetrics, defaultOperatorMetrics)
	l.Waiting = cmp.Or(max(0, l.Waiting), defaultWaiting)
	l.SweepEvery = cmp.Or(max(0, l.SweepEvery), defaultSweepEvery)
	l.Pace = l.Pace.withDefaults()
	return l
}

// Config is what the API needs.
type Config struct {
	// Store keeps everything. Required.
	Store store.Store
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
	// Dashboard answers "/" and what is below "/dashboard/", for everybody: it holds no
	// data. Nil: there is none.
	Dashboard http.Handler
	// Version is the version of the program, as /healthz tells it.
	Version string
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// server holds what handlers share.
type server struct {
	store     store.Store
	log       *slog.Logger
	limits    Limits
	access    Access
	version   string
	now       func() time.Time
	contract  *contract
	metrics   *metrics
	slots     chan struct{} // for planning
	draining  <-chan struct{}
	tracing   *tracing
	hub       *hub
	memory    *admission.Budget
	placement *placementCache
	tables    *cache[tableKey, *planner.RoutingTable]
	kept      *cache[string, moveList] // by plan
	// collecting: a collection of what a large request left behind is running.
	collecting atomic.Bool
}

// New returns the whole API. It fails when the contract that is
// built in is not sound or names an operation that is not there.
func New(c Config) (*Server, error) {
	if c.Store == nil {
		return nil, errors.New("api: Config.Store is missing")
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Limits = c.Limits.withDefaults()
	spec, err := loadContract()
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	memory := admission.NewBudget(c.Limits.Memory, c.Limits.MemoryWait)
	slots := make(chan struct{}, c.Limits.Plans)
	m := newMetrics(c, memory, slots)
	traced, log := newTracing(c.Tracing), visitLogger(c.Logger)
	s := &server{
		store: meteredStore{next: c.Store, metrics: m, tracing: traced, presence: &presence{log: log}}, log: log,
		limits: c.Limits, access: c.Access, version: c.Version, now: c.Now, contract: spec, metrics: m, slots: slots,
		draining: c.Draining, tracing: traced, memory: memory, placement: newPlacementCache(min(maxPlacementBytes, c.Limits.Memory/4), slots, m),
		tables: newCache[tableKey](int(min(maxTableBytes, c.Limits.Memory/16)), (*planner.RoutingTable).Bytes),
		kept:   newCache[string](int(min(maxMovesBytes, c.Limits.Memory/16)), moveList.bytes),
	}
	s.hub = newHub(s.store.Watch, c.Limits.Waiting)
	m.waiters(s.hub)
	mux, err := s.router()
	if err != nil {
		return nil, err
	}
	if c.Dashboard != nil {
		dashboard := plainTags(c.Dashboard)
		mux.Method("GET", "/", dashboard)
		mux.Method("GET", "/dashboard/*", dashboard)
	}
	return &Server{mux, s}, nil
}

// call is one request on its way through a handler.
type call struct {
	*http.Request
	route *routers.Route
	query url.Values // checked against the contract
	media string     // the media type that Accept chose
	// memory is what the request holds of the budget, until its handler has returned.
	memory *admission.Lease
	once   *once // nil: it has no idempotency key
}

func (c *call) param(name string) string { return chi.URLParam(c.Request, name) }

type handler func(w http.ResponseWriter, c *call) error

func (s *server) router() (*chi.Mux, error) {
	mux := chi.NewRouter()
	mux.Use(s.limits.Pace.paced, s.tracing.requests, s.visited, s.metrics.observe, compress, s.secure, s.identified, middleware.GetHead)
	mux.NotFound(s.unrouted(func(*http.Request) *problem {
		return &problem{status: http.StatusNotFound, code: wire.CodeNotFound, detail: "There is nothing at this path; /docs tells what there is."}
	}))
	mux.MethodNotAllowed(s.unrouted(func(r *http.Request) *problem {
		allow := allowed(mux, r.URL.Path)
		return &problem{status: http.StatusMethodNotAllowed, code: wire.CodeMethodNotAllowed, detail: "This path knows " + allow + ".", allow: allow}
	}))
	for _, r := range []struct {
		method, path string
		handle       handler
	}{
		{"POST", "/v1/what-if", s.whatIf},
		{"POST", "/v1/analyses/ring", analysed(s, "ring", analyses.RunRing, rowsOnly)},
		{"POST", "/v1/analyses/pkg", analysed(s, "pkg", analyses.RunPKG, boundPKG)},
		{"POST", "/v1/analyses/ranges", analysed(s, "ranges", analyses.RunRanges, rowsOnly)},
		{"POST", "/v1/analyses/schemes", analysed(s, "schemes", analyses.RunSchemes, boundSchemes)},
		{"GET", "/v1/caller", s.getCaller},
		{"GET", "/v1/operators", s.listOperators},
		{"PUT", "/v1/operators/{operator}", s.putOperator},
		{"GET", "/v1/operators/{operator}", s.getOperator},
		{"DELETE", "/v1/operators/{operator}", s.deleteOperator},
		{"POST", "/v1/operators/{operator}/plans", s.createPlan},
		{"GET", "/v1/operators/{operator}/plans", s.listPlans},
		{"GET", "/v1/operators/{operator}/intervals/{interval}/reports", s.listReports},
		{"PUT", "/v1/operators/{operator}/intervals/{interval}/reports/{instance}", s.putReport},
		{"GET", "/v1/operators/{operator}/routing-table", s.getRoutingTable},
		{"GET", "/v1/operators/{operator}/route", s.getRoute},
		{"GET", "/v1/plans/{id}", s.getPlan},
		{"GET", "/v1/plans/{id}/migrations", s.listMigrations},
		{"GET", "/v1/plans/{id}/routing-table", s.listTableChanges},
		{"GET", "/v1/plans/{id}/flows", s.listFlows},
		{"PUT", "/v1/plans/{id}/resolution", s.resolvePlan},
		{"POST", "/v1/plans/{id}/approve", s.approvePlan},
		{"POST", "/v1/plans/{id}/reject", s.rejectPlan},
		{"POST", "/v1/plans/{id}/start", s.startPlan},
		{"POST", "/v1/plans/{id}/acks", s.ackPlan},
		{"POST", "/v1/plans/{id}/commit", s.commitPlan},
		{"POST", "/v1/plans/{id}/abort", s.abortPlan},
		{"GET", "/v1/plans/{id}/transitions", s.listTransitions},
		{"POST", "/v1/plans/{id}/replay", s.replayPlan},
		{"GET", "/healthz", s.healthz},
		{"GET", "/readyz", s.readyz},
		{"GET", "/metrics", s.metrics.serve},
		{"GET", "/openapi.yaml", s.openAPI},
		{"GET", "/docs", s.docs},
		{"GET", "/docs/{asset}", s.docsAsset},
	} {
		route, err := s.contract.operation(r.method, r.path)
		if err != nil {
			return nil, fmt.Errorf("api: %w", err)
		}
		need, err := s.demand(route)
		if err != nil {
			return nil, fmt.Errorf("api: %w", err)
		}
		mux.MethodFunc(r.method, r.path, s.checked(route, need, r.handle))
	}
	return mux, nil
}

// largeRequest is how much memory a request holds, in bytes, that is worth a
// collection when it ends.
const largeRequest = 32 << 20

// release gives back what a request held. What a large one leaves behind is
// collected at once: that takes little time, as little else is alive then, and the
// next large request need not grow the heap beside it.
func (s *server) release(held *admission.Lease) {
	large := held.Used() >= largeRequest
	held.Release()
	if large && s.collecting.CompareAndSwap(false, true) {
		go func() {
			defer s.collecting.Store(false)
			runtime.GC()
		}()
	}
}

// checked holds a request against what its caller may do and against the contract
// before it reaches its handler, and turns the handler's error into an answer.
func (s *server) checked(route *routers.Route, need demand, handle handler) http.HandlerFunc {
	offers := offered(route)
	return func(w http.ResponseWriter, r *http.Request) {
		s.tracing.routed(r.Context(), route.Method, route.Path)
		c := &call{Request: r, route: route, memory: s.memory.Lease(r.Context())}
		defer s.release(c.memory)
		s.answer(w, r, func(w http.ResponseWriter) error {
			err := s.admit(r, need)
			if err != nil {
				return err
			}
			if c.query, err = checkParameters(r, route); err != nil {
				return err
			}
			if err := s.seesNamed(c); err != nil {
				return err
			}
			if len(offers) > 1 {
				w.Header().Add("Vary", "Accept")
			}
			if len(offers) > 0 {
				if c.media, err = negotiate(r.Header.Values("Accept"), offers); err != nil {
					return err
				}
			}
			if c.once, err = newOnce(c); err != nil {
				return err
			}
			defer s.giveBack(c)
			err = handle(w, c)
			if e := (*earlier)(nil); errors.As(err, &e) {
				return s.again(w, c, e)
			}
			return err
		})
	}
}

// answer runs do and answers with its error, or with what it panicked about. An
// answer that has begun is cut instead, so that the client sees it fail, and a
// client that hung up gets none: it may have closed its side only, and must not take
// silence for success.
func (s *server) answer(w http.ResponseWriter, r *http.Request, do func(http.ResponseWriter) error) {
	wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
	fail := func(err error, gone bool) {
		p := problemOf(err)
		switch {
		case gone:
			s.log.DebugContext(r.Context(), "client hung up", "method", r.Method, "path", r.URL.Path, "error", err)
		case errors.Is(err, store.ErrUnavailable): // the log has it from when it began
			s.log.DebugContext(r.Context(), "the store was not there", "method", r.Method, "path", r.URL.Path, "error", err)
		case p.status >= http.StatusInternalServerError:
			s.log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "status", p.status, "error", err)
		}
		if gone || wrapped.Status() != 0 {
			panic(http.ErrAbortHandler)
		}
		p.write(wrapped)
	}
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			panic(v)
		default:
			fail(fmt.Errorf("panic: %v\n%s", v, debug.Stack()), false)
		}
	}()
	if err := do(wrapped); err != nil {
		// Once the answer has begun, it can only be the client that broke it off.
		fail(err, hungUp(r) && (errors.Is(err, context.Canceled) || wrapped.Status() != 0))
	}
}

// hungUp reports whether the client of a request no longer waits for its answer.
func hungUp(r *http.Request) bool { return errors.Is(r.Context().Err(), context.Canceled) }

// secure sets the headers that every answer has.
func (s *server) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// allowed lists the methods that path knows.
func allowed(mux *chi.Mux, path string) string {
	var out []string
	for _, m := range []string{"GET", "HEAD", "POST", "PUT", "DELETE"} {
		asked := m
		if m == "HEAD" {
			asked = "GET"
		}
		if mux.Match(chi.NewRouteContext(), asked, path) {
			out = append(out, m)
		}
	}
	return strings.Join(out, ", ")
}

// offered returns the media types of a route that negotiates, JSON first.
func offered(route *routers.Route) []string {
	if route.Operation.Responses.Value("406") == nil {
		return nil
	}
	var out []string
	for media := range route.Operation.Responses.Value("200").Value.Content {
		out = append(out, media)
	}
	slices.Sort(out)
	return out
}

// negotiate chooses one of the offers as the Accept headers weigh them; the
// first when they do not care.
func negotiate(accept, offers []string) (string, error) {
	if len(accept) == 0 {
		return offers[0], nil
	}
	best, weight := "", 0.0
	for _, offer := range offers {
		if q := weigh(strings.Join(accept, ","), offer); q > weight {
			best, weight = offer, q
		}
	}
	if best == "" {
		return "", &problem{status: http.StatusNotAcceptable, code: wire.CodeNotAcceptable,
			detail: "This operation answers with " + strings.Join(offers, ", ") + ": curl -H 'Accept: " + offers[len(offers)-1] + "'."}
	}
	return best, nil
}

// weigh returns the weight of the most specific range of accept that covers media.
func weigh(accept, media string) float64 {
	kind, _, _ := strings.Cut(media, "/")
	weight, specific := 0.0, 0
	for part := range strings.SplitSeq(accept, ",") {
		name, params, _ := strings.Cut(part, ";")
		rank := 0
		switch strings.ToLower(strings.TrimSpace(name)) {
		case media:
			rank = 3
		case kind + "/*":
			rank = 2
		case "*/*":
			rank = 1
		}
		if rank > specific {
			weight, specific = quality(params), rank
		}
	}
	return weight
}

func unsupported(detail string) *problem {
	return &problem{status: http.StatusUnsupportedMediaType, code: wire.CodeUnsupportedMediaType, detail: detail}
}
