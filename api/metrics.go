package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"plannerd/api/wire"
	"plannerd/internal/admission"
	"plannerd/planner"
	"plannerd/store"
)

// metrics are those of one server, in a registry of their own.
type metrics struct {
	registry      *prometheus.Registry
	requests      *prometheus.CounterVec
	latency       *prometheus.HistogramVec
	planning      *prometheus.HistogramVec
	analysing     *prometheus.HistogramVec
	built         prometheus.Counter
	migratedState *prometheus.CounterVec
	migratedKeys  *prometheus.CounterVec
	transitions   *prometheus.CounterVec
	expired       prometheus.Counter
	theta         *prometheus.GaugeVec
	tableSize     *prometheus.GaugeVec
	storeLatency  *prometheus.HistogramVec
}

func newMetrics(memory *admission.Budget) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "plannerd_http_requests_total", Help: "Requests answered."}, []string{"method", "route", "status"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "plannerd_http_request_duration_seconds", Help: "Time from a request to the end of its answer.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9)}, []string{"method", "route"}),
		planning: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "plannerd_plan_duration_seconds", Help: "Time that a strategy took for a plan.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10)}, []string{"strategy"}),
		analysing: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "plannerd_analysis_duration_seconds", Help: "Time that an analysis took.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 12)}, []string{"analysis"}),
		built: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "plannerd_hash_functions_built_total", Help: "Hash functions built; those used last are kept."}),
		migratedState: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "plannerd_committed_state_total", Help: "State that committed plans migrated, in the operator's unit."}, []string{"operator"}),
		migratedKeys: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "plannerd_committed_keys_total", Help: "Keys that committed plans migrated."}, []string{"operator"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "plannerd_plan_transitions_total", Help: "Steps of plans that requests to this process made; from is empty for their creation."}, []string{"operator", "from", "to"}),
		expired: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "plannerd_plans_expired_total", Help: "Plans whose expiry this process wrote down, unasked."}),
		theta: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "plannerd_theta", Help: "Largest relative overload of the newest plan, before and after it."}, []string{"operator", "when"}),
		tableSize: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "plannerd_routing_table_entries", Help: "Size of the committed routing table, as this process last saw it."}, []string{"operator"}),
		storeLatency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "plannerd_store_duration_seconds", Help: "Time that the store took for an operation.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10)}, []string{"operation", "result"}),
	}
	m.registry.MustRegister(m.requests, m.latency, m.planning, m.analysing, m.built, m.migratedState, m.migratedKeys, m.transitions, m.expired, m.theta, m.tableSize, m.storeLatency,
		budgetCollector{memory}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// budgetCollector tells how the memory budget stands.
type budgetCollector struct{ budget *admission.Budget }

var (
	budgetDesc   = prometheus.NewDesc("plannerd_memory_budget_bytes", "Memory that all requests together may hold.", nil, nil)
	reservedDesc = prometheus.NewDesc("plannerd_memory_reserved_bytes", "Memory that requests hold, as they reckon.", nil, nil)
	leasesDesc   = prometheus.NewDesc("plannerd_memory_requests", "Requests that hold memory, or wait for it.", []string{"state"}, nil)
	refusalsDesc = prometheus.NewDesc("plannerd_memory_rejections_total",
		"Requests that got no memory: it did not become free in time (full), all waited for each other (stalled), or they need more than there is (exceeded).",
		[]string{"reason"}, nil)
)

// Describe implements prometheus.Collector.
func (budgetCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{budgetDesc, reservedDesc, leasesDesc, refusalsDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c budgetCollector) Collect(out chan<- prometheus.Metric) {
	u := c.budget.Usage()
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	gauge(budgetDesc, u.Budget)
	gauge(reservedDesc, u.Reserved)
	gauge(leasesDesc, int64(u.Leases), "holding")
	gauge(leasesDesc, int64(u.Waiting), "waiting")
	for _, r := range []struct {
		reason string
		n      int64
	}{{"full", u.Refusals.Full}, {"stalled", u.Refusals.Stalled}, {"exceeded", u.Refusals.Exceeded}} {
		out <- prometheus.MustNewConstMetric(refusalsDesc, prometheus.CounterValue, float64(r.n), r.reason)
	}
}

// statusHungUp counts requests whose client hung up before there was an answer.
// No client sees it; nginx has the same number for this.
const statusHungUp = 499

// observe counts and times requests by the route that answered them.
func (m *metrics) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			method, route, status := answerOf(wrapped, r)
			m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
			m.latency.WithLabelValues(method, route).Observe(time.Since(begin).Seconds())
		}()
		next.ServeHTTP(wrapped, r)
	})
}

// serve writes all metrics. Compression is left to the server.
func (m *metrics) serve(w http.ResponseWriter, c *call) error {
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, c.Request)
	return nil
}

// planned records a computed plan.
func (m *metrics) planned(strategy string, took time.Duration) {
	m.planning.WithLabelValues(strategy).Observe(took.Seconds())
}

// stored records a plan that is new in the store.
func (m *metrics) stored(p store.Plan, made *planner.Plan) {
	m.theta.WithLabelValues(p.Operator, "before").Set(made.Theta.Before)
	m.theta.WithLabelValues(p.Operator, "after").Set(made.Theta.After)
	m.moved(p, "")
}

// committed records a plan that became the operator's table just now.
func (m *metrics) committed(p store.Plan) {
	m.migratedState.WithLabelValues(p.Operator).Add(p.MigrationState)
	m.migratedKeys.WithLabelValues(p.Operator).Add(float64(p.MigrationKeys))
	if !p.EngineTable && schemeOf(p.Strategy) != wire.SchemeRing {
		m.tableSize.WithLabelValues(p.Operator).Set(float64(p.TableAfter))
	}
}

// moved records a step of a plan that a request made.
func (m *metrics) moved(p store.Plan, from store.Status) {
	m.transitions.WithLabelValues(p.Operator, string(from), string(p.Status)).Inc()
}

func (m *metrics) setTable(op store.Operator) {
	m.tableSize.WithLabelValues(op.Name).Set(float64(op.TableSize))
}

// forget drops the series of an operator that was deleted.
func (m *metrics) forget(operator string) {
	of := prometheus.Labels{"operator": operator}
	for _, v := range []interface{ DeletePartialMatch(prometheus.Labels) int }{m.migratedState, m.migratedKeys, m.transitions, m.theta, m.tableSize} {
		v.DeletePartialMatch(of)
	}
}

// meteredStore times every operation of a store.
type meteredStore struct {
	store.Store
	metrics *metrics
}

// timed starts the clock of an operation; the function it returns stops it.
func (s meteredStore) timed(operation string) func(*error) {
	begin := time.Now()
	return func(err *error) {
		result := "ok"
		if *err != nil {
			result = "error"
		}
		s.metrics.storeLatency.WithLabelValues(operation, result).Observe(time.Since(begin).Seconds())
	}
}

func (s meteredStore) PutOperator(
	ctx context.Context, name string, config []byte, at time.Time, guards ...store.OperatorGuard,
) (op store.Operator, created bool, err error) {
	defer s.timed("put_operator")(&err)
	return s.Store.PutOperator(ctx, name, config, at, guards...)
}

func (s meteredStore) Operator(ctx context.Context, name string) (op store.Operator, err error) {
	defer s.timed("operator")(&err)
	return s.Store.Operator(ctx, name)
}

func (s meteredStore) Operators(ctx context.Context, after string, limit int) (ops []store.Operator, err error) {
	defer s.timed("operators")(&err)
	return s.Store.Operators(ctx, after, limit)
}

func (s meteredStore) DeleteOperator(ctx context.Context, name string, at time.Time, guards ...store.OperatorGuard) (err error) {
	defer s.timed("delete_operator")(&err)
	return s.Store.DeleteOperator(ctx, name, at, guards...)
}

func (s meteredStore) Configuration(ctx context.Context, operator string, version int64) (c store.Configuration, err error) {
	defer s.timed("configuration")(&err)
	return s.Store.Configuration(ctx, operator, version)
}

func (s meteredStore) Table(ctx context.Context, operator string, version *int64) (t store.Table, err error) {
	defer s.timed("table")(&err)
	return s.Store.Table(ctx, operator, version)
}

func (s meteredStore) Route(ctx context.Context, operator string, key []byte) (op store.Operator, instance int32, found bool, err error) {
	defer s.timed("route")(&err)
	return s.Store.Route(ctx, operator, key)
}

func (s meteredStore) PutReport(
	ctx context.Context, operator string, r store.Report, data []byte, keep int,
) (last []store.Report, created bool, err error) {
	defer s.timed("put_report")(&err)
	return s.Store.PutReport(ctx, operator, r, data, keep)
}

func (s meteredStore) Reports(ctx context.Context, operator string, epoch, interval int64) (last []store.Report, err error) {
	defer s.timed("reports")(&err)
	return s.Store.Reports(ctx, operator, epoch, interval)
}

func (s meteredStore) ReportData(ctx context.Context, operator string, revision int64) (data []byte, err error) {
	defer s.timed("report_data")(&err)
	return s.Store.ReportData(ctx, operator, revision)
}

func (s meteredStore) FindPlan(ctx context.Context, operator string, epoch, interval int64, fingerprint string) (p store.Plan, err error) {
	defer s.timed("find_plan")(&err)
	return s.Store.FindPlan(ctx, operator, epoch, interval, fingerprint)
}

func (s meteredStore) CheckInterval(ctx context.Context, operator string, epoch, interval int64) (err error) {
	defer s.timed("check_interval")(&err)
	return s.Store.CheckInterval(ctx, operator, epoch, interval)
}

func (s meteredStore) CreatePlan(ctx context.Context, plan store.NewPlan, by store.Transition) (p store.Plan, created bool, err error) {
	defer s.timed("create_plan")(&err)
	return s.Store.CreatePlan(ctx, plan, by)
}

func (s meteredStore) Plan(ctx context.Context, id string) (p store.Plan, err error) {
	defer s.timed("plan")(&err)
	return s.Store.Plan(ctx, id)
}

func (s meteredStore) Plans(ctx context.Context, f store.PlanFilter) (plans []store.Plan, next int64, err error) {
	defer s.timed("plans")(&err)
	return s.Store.Plans(ctx, f)
}

func (s meteredStore) Changes(ctx context.Context, plan string) (changes []store.Change, err error) {
	defer s.timed("changes")(&err)
	return s.Store.Changes(ctx, plan)
}

func (s meteredStore) Migrations(ctx context.Context, plan string) (blob []byte, err error) {
	defer s.timed("migrations")(&err)
	return s.Store.Migrations(ctx, plan)
}

func (s meteredStore) Input(ctx context.Context, plan string) (blob []byte, err error) {
	defer s.timed("input")(&err)
	return s.Store.Input(ctx, plan)
}

func (s meteredStore) ResolvePlan(
	ctx context.Context, id string, r store.Resolution, by store.Transition, guards ...store.PlanGuard,
) (p store.Plan, err error) {
	defer s.timed("resolve_plan")(&err)
	return s.Store.ResolvePlan(ctx, id, r, by, guards...)
}

func (s meteredStore) Transitions(ctx context.Context, plan string) (all []store.Transition, err error) {
	defer s.timed("transitions")(&err)
	return s.Store.Transitions(ctx, plan)
}

func (s meteredStore) ApprovePlan(ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard) (p store.Plan, err error) {
	defer s.timed("approve_plan")(&err)
	return s.Store.ApprovePlan(ctx, id, by, guards...)
}

func (s meteredStore) RejectPlan(ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard) (p store.Plan, err error) {
	defer s.timed("reject_plan")(&err)
	return s.Store.RejectPlan(ctx, id, by, guards...)
}

func (s meteredStore) StartPlan(
	ctx context.Context, id, executor string, by store.Transition, guards ...store.PlanGuard,
) (p store.Plan, err error) {
	defer s.timed("start_plan")(&err)
	return s.Store.StartPlan(ctx, id, executor, by, guards...)
}

func (s meteredStore) AckPlan(
	ctx context.Context, id string, instances []int32, by store.Transition, keep store.Retention, guards ...store.PlanGuard,
) (p store.Plan, committed bool, err error) {
	defer s.timed("ack_plan")(&err)
	return s.Store.AckPlan(ctx, id, instances, by, keep, guards...)
}

func (s meteredStore) Expire(ctx context.Context, at time.Time) (n int, err error) {
	defer s.timed("expire")(&err)
	return s.Store.Expire(ctx, at)
}

func (s meteredStore) PurgeIdempotency(ctx context.Context, before time.Time) (n int, err error) {
	defer s.timed("purge_idempotency")(&err)
	return s.Store.PurgeIdempotency(ctx, before)
}

func (s meteredStore) CommitPlan(
	ctx context.Context, id string, to store.Transition, keep store.Retention, guards ...store.PlanGuard,
) (p store.Plan, committed bool, err error) {
	defer s.timed("commit_plan")(&err)
	return s.Store.CommitPlan(ctx, id, to, keep, guards...)
}

func (s meteredStore) AbortPlan(
	ctx context.Context, id string, rolledBack bool, to store.Transition, guards ...store.PlanGuard,
) (p store.Plan, err error) {
	defer s.timed("abort_plan")(&err)
	return s.Store.AbortPlan(ctx, id, rolledBack, to, guards...)
}

func (s meteredStore) Ready(ctx context.Context) (err error) {
	defer s.timed("ready")(&err)
	return s.Store.Ready(ctx)
}
