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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"go.opentelemetry.io/otel/trace"

	"plannerd"
	"plannerd/internal/analyses"
	"plannerd/internal/input"
	"plannerd/internal/service"
	"plannerd/internal/service/claim"
	"plannerd/internal/web/access"
	"plannerd/internal/web/admission"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
	"plannerd/internal/web/observe"
	"plannerd/sdk/go/wire"
)

// Server is the API as a handler, with what it does unasked.
type Server struct {
	*chi.Mux

	service *service.Service
}

// Run does until ctx ends what no request does; see [service.Service.Run].
func (s *Server) Run(ctx context.Context) { s.service.Run(ctx) }

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
	if c.Connections == nil {
		c.Connections = httpkit.NewConnections(0, c.Now)
	}
	c.Limits = c.Limits.withDefaults()
	spec, err := loadContract()
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	memory, log := admission.NewBudget(c.Limits.Memory, c.Limits.MemoryWait), httpkit.RequestLogger(c.Logger)
	watching := observe.New(observe.NewMetrics(c.Version, c.Limits.OperatorMetrics, memory), c.Tracing, failed)
	reloads := c.Access.reloads()
	watching.WatchReloads(&reloads.OK, &reloads.Failed)
	watching.WatchConnections(c.Connections.Usage)
	measured := service.Measurements{Registry: watching.Registry, Log: log, Tracing: c.Tracing, Refuses: refuses}
	service := service.New(service.Config{
		Store: c.Store, Measured: measured, Observer: watching, Logger: log, Now: c.Now, Memory: memory, Draining: c.Draining,
		Webhooks: c.Webhooks,
		Limits: service.Limits{
			Plans: c.Limits.Plans, Analyses: c.Limits.Analyses, Queue: c.Limits.Queue, PlanTime: c.Limits.PlanTime,
			Rows:    cmp.Or(c.Limits.Statistics.Rows, input.DefaultRows),
			Waiting: c.Limits.Waiting, SweepEvery: c.Limits.SweepEvery,
		},
	})
	watching.Watch(service)
	noticing := func(err error) *httpkit.Problem {
		return problemOf(service.NoticeDamage(context.Background(), err))
	}
	s := &shared{
		service: service, log: log, errors: &httpkit.ErrorHandler{Log: log, Now: c.Now, ProblemOf: noticing},
		limits: c.Limits, access: c.Access, version: c.Version, now: c.Now,
		observer: watching, draining: c.Draining, memory: memory,
	}
	mux, err := router(s, spec, c.Tracing)
	if err != nil {
		return nil, err
	}
	if c.Dashboard != nil {
		dashboard := httpkit.PlainETags(c.Dashboard)
		mux.Method("GET", "/", dashboard)
		mux.Method("GET", "/dashboard/*", dashboard)
	}
	return &Server{mux, service}, nil
}

// loadContract reads the contract that is built in, once: it never changes.
var loadContract = sync.OnceValues(func() (*contract.Contract, error) { return contract.Load(plannerd.OpenAPI) })

// router routes each operation of the contract to its handler.
func router(s *shared, spec *contract.Contract, tracing trace.TracerProvider) (*chi.Mux, error) {
	mux := chi.NewRouter()
	mux.Use(s.limits.Pace.Enforce)
	if tracing != nil {
		mux.Use(httpkit.TraceRequests(tracing, probes...))
	}
	mux.Use(httpkit.LogRequests(s.log, probes...), httpkit.MeasureRequests(s.observer.Registry, "plannerd"),
		httpkit.Compress, httpkit.SecureHeaders, s.access.identified, middleware.GetHead)
	mux.NotFound(s.access.unrouted(func(*http.Request) *httpkit.Problem {
		return newProblem(http.StatusNotFound, wire.CodeNotFound, "There is nothing at this path; /docs tells what there is.")
	}))
	mux.MethodNotAllowed(s.access.unrouted(func(r *http.Request) *httpkit.Problem {
		allow := httpkit.AllowedMethods(mux, r.URL.Path)
		p := newProblem(http.StatusMethodNotAllowed, wire.CodeMethodNotAllowed, "This path knows "+allow+".")
		p.Header = http.Header{"Allow": {allow}}
		return p
	}))
	put, err := spec.Operation("PUT", "/v1/operators/{operator}")
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	s.configuration = put.Body()
	for _, r := range routes(s) {
		op, err := spec.Operation(r.method, r.path)
		if err != nil {
			return nil, fmt.Errorf("api: %w", err)
		}
		need, err := s.access.requiredRole(op)
		if err != nil {
			return nil, fmt.Errorf("api: %w", err)
		}
		mux.MethodFunc(r.method, r.path, checked(s, op, need, r.handle))
	}
	return mux, nil
}

// route is an operation of the contract with its handler.
type route struct {
	method, path string
	handle       handler
}

func routes(s *shared) []route {
	operators, plans, reports, tables, routers := operators{s}, plans{s}, reports{s}, tables{s}, routers{s}
	analysesOf, process := analysesOf{s}, process{s}
	return []route{
		{"POST", "/v1/what-if", whatIf{s}.post},
		{"GET", "/v1/what-if", plans.whatIfOf},
		{"POST", "/v1/analyses/ring", analysed(analysesOf, "ring", analyses.RunRing, analyses.BoundRing)},
		{"POST", "/v1/analyses/pkg", analysed(analysesOf, "pkg", analyses.RunPKG, analyses.BoundPKG)},
		{"POST", "/v1/analyses/ranges", analysed(analysesOf, "ranges", analyses.RunRanges, analyses.BoundRanges)},
		{"POST", "/v1/analyses/schemes", analysed(analysesOf, "schemes", analyses.RunSchemes, analyses.BoundSchemes)},
		{"POST", "/v1/analyses/backtest", analysesOf.backtestIntervals},
		{"GET", "/v1/caller", callers{}.get},
		{"GET", "/v1/strategies", listStrategies},
		{"GET", "/v1/operators", operators.list},
		{"PUT", "/v1/operators/{operator}", operators.put},
		{"PATCH", "/v1/operators/{operator}", operators.patch},
		{"GET", "/v1/operators/{operator}", operators.get},
		{"DELETE", "/v1/operators/{operator}", operators.delete},
		{"POST", "/v1/operators/{operator}/plans", plans.create},
		{"GET", "/v1/operators/{operator}/plans", plans.list},
		{"GET", "/v1/operators/{operator}/next-plan", plans.next},
		{"GET", "/v1/operators/{operator}/changes", reviews{s}.changes},
		{"GET", "/v1/operators/{operator}/configurations", reviews{s}.configurations},
		{"GET", "/v1/operators/{operator}/configurations/{version}", reviews{s}.configuration},
		{"GET", "/v1/operators/{operator}/undo", undos{s}.preview},
		{"POST", "/v1/operators/{operator}/undo", undos{s}.propose},
		{"PUT", "/v1/operators/{operator}/freeze", freezes{s}.put},
		{"DELETE", "/v1/operators/{operator}/freeze", freezes{s}.delete},
		{"PUT", "/v1/freeze", freezes{s}.put},
		{"DELETE", "/v1/freeze", freezes{s}.delete},
		{"POST", "/v1/operators/{operator}/backtest", analysesOf.backtest},
		{"GET", "/v1/operators/{operator}/advice", operators.advice},
		{"GET", "/v1/operators/{operator}/intervals/{interval}/reports", reports.list},
		{"PUT", "/v1/operators/{operator}/intervals/{interval}/reports/{instance}", reports.put},
		{"GET", "/v1/operators/{operator}/routing-table", tables.get},
		{"GET", "/v1/operators/{operator}/route", tables.route},
		{"GET", "/v1/operators/{operator}/routers", routers.list},
		{"PUT", "/v1/operators/{operator}/routers/{router}", routers.put},
		{"DELETE", "/v1/operators/{operator}/routers/{router}", routers.delete},
		{"GET", "/v1/plans/{id}", plans.get},
		{"GET", "/v1/plans/{id}/migrations", plans.listing("migrations", plans.migrations)},
		{"GET", "/v1/plans/{id}/routing-table", plans.listing("changes", plans.tableChanges)},
		{"GET", "/v1/plans/{id}/flows", plans.listing("flows", plans.flows)},
		{"PUT", "/v1/plans/{id}/resolution", plans.resolve},
		{"POST", "/v1/plans/{id}/approve", plans.simple(s.service.Approve)},
		{"POST", "/v1/plans/{id}/reject", plans.simple(s.service.Reject)},
		{"POST", "/v1/plans/{id}/comments", plans.simple(s.service.Comment)},
		{"GET", "/v1/plans/{id}/diff", reviews{s}.diff},
		{"POST", "/v1/plans/{id}/start", plans.verb(plans.start)},
		{"POST", "/v1/plans/{id}/acks", plans.verb(plans.acknowledge)},
		{"POST", "/v1/plans/{id}/commit", plans.verb(plans.commit)},
		{"POST", "/v1/plans/{id}/stop", plans.verb(plans.stop)},
		{"POST", "/v1/plans/{id}/abort", plans.verb(plans.abort)},
		{"GET", "/v1/plans/{id}/transitions", plans.transitions},
		{"POST", "/v1/plans/{id}/replay", plans.replay},
		{"GET", "/healthz", process.healthz},
		{"GET", "/readyz", process.readyz},
		{"GET", "/metrics", process.metrics},
		{"GET", "/openapi.yaml", process.openAPI},
		{"GET", "/docs", process.docs},
		{"GET", "/docs/{asset}", process.docsAsset},
	}
}

// onlyLooks tells whether no engine waits for the answer of a request. Of a caller who is known the
// role says so; of others, which list they read.
func onlyLooks(ctx context.Context, op *contract.Operation, need requiredRole) bool {
	if caller := callerOf(ctx); caller != nil {
		return !caller.Role.Grants(access.Engine)
	}
	return op.Method == http.MethodGet && need.role == access.Viewer &&
		!slices.Contains([]string{"getRoutingTable", "route", "getPlan", "nextPlan"}, op.OperationID)
}

// checked holds a request against what its caller may do and against the contract
// before it reaches its handler, and turns the handler's error into an answer.
func checked(s *shared, op *contract.Operation, need requiredRole, handle handler) http.HandlerFunc {
	offers := offered(op)
	return func(w http.ResponseWriter, r *http.Request) {
		httpkit.NameSpan(r.Context(), op.Method, op.Path)
		c := &call{Request: r, op: op, memory: s.memory.Lease(r.Context())}
		defer s.release(c.memory)
		if onlyLooks(r.Context(), op, need) {
			c.memory.View()
		}
		s.errors.Handle(w, r, func(w http.ResponseWriter) error {
			err := s.access.admit(r, need)
			if err != nil {
				return err
			}
			if c.Parameters, err = op.Check(r); err != nil {
				return err
			}
			if err := s.seesNamed(c); err != nil {
				return err
			}
			if len(offers) > 1 {
				w.Header().Add("Vary", "Accept")
			}
			if c.media, err = negotiate(r, offers); err != nil {
				return err
			}
			if c.idempotent, err = newIdempotentRequest(c); err != nil {
				return err
			}
			defer c.idempotent.end(c.Context())
			err = handle(w, c)
			if e := (*claim.EarlierAnswer)(nil); errors.As(err, &e) {
				return s.again(w, c, e)
			}
			return err
		})
	}
}

// offered returns the media types of a route that negotiates, JSON first.
func offered(op *contract.Operation) []string {
	if op.Responses.Value("406") == nil {
		return nil
	}
	var out []string
	for media := range op.Responses.Value("200").Value.Content {
		out = append(out, media)
	}
	slices.Sort(out)
	return out
}

// negotiate returns the media type of an answer; "" of an operation that offers none.
func negotiate(r *http.Request, offers []string) (string, error) {
	if len(offers) == 0 {
		return "", nil
	}
	media, ok := httpkit.Negotiate(r.Header.Values("Accept"), offers)
	if !ok {
		return "", newProblem(http.StatusNotAcceptable, wire.CodeNotAcceptable,
			"This operation answers with "+strings.Join(offers, ", ")+": curl -H 'Accept: "+offers[len(offers)-1]+"'.")
	}
	return media, nil
}
