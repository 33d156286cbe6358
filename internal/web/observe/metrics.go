package observe

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"plannerd/internal/service"
	"plannerd/internal/service/reading"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/store"
)

// Metrics are those of one server, in a registry of their own.
type Metrics struct {
	Registry      *prometheus.Registry
	planning      *prometheus.HistogramVec
	analysing     *prometheus.HistogramVec
	waiting       *prometheus.HistogramVec
	built         prometheus.Counter
	plans         *prometheus.CounterVec
	causes        *prometheus.CounterVec
	gap           *prometheus.HistogramVec
	migratedState *prometheus.CounterVec
	returnedState *prometheus.CounterVec
	migratedKeys  *prometheus.CounterVec
	transitions   *prometheus.CounterVec
	expired       prometheus.Counter
	theta         *prometheus.GaugeVec
	thetaMax      *prometheus.GaugeVec
	resource      *prometheus.GaugeVec
	resourceLimit *prometheus.GaugeVec
	newest        *prometheus.GaugeVec
	tableSize     *prometheus.GaugeVec
	tableLimit    *prometheus.GaugeVec
	waitingPlans  *prometheus.GaugeVec
	oldestPlan    *prometheus.GaugeVec
	deliveries    *prometheus.CounterVec
	outbox        *prometheus.GaugeVec
	oldestEvent   *prometheus.GaugeVec
	droppedEvents *prometheus.GaugeVec
	operators     operatorLabels
}

// NewMetrics registers what /metrics tells. Of so many operators each has metrics of its
// own.
func NewMetrics(version string, operators int, memory *admission.Budget) *Metrics {
	r := prometheus.NewRegistry()
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		r.MustRegister(v)
		return v
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
		r.MustRegister(v)
		return v
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		r.MustRegister(v)
		return v
	}
	m := &Metrics{
		Registry: r,
		planning: histogram("plannerd_plan_duration_seconds", "Time that a strategy took for a plan.",
			prometheus.ExponentialBuckets(0.0001, 4, 10), "strategy"),
		analysing: histogram("plannerd_analysis_duration_seconds", "Time that an analysis took.",
			prometheus.ExponentialBuckets(0.0001, 4, 12), "analysis"),
		waiting: histogram("plannerd_slot_wait_seconds", "Time that plans and analyses waited for a slot.",
			prometheus.ExponentialBuckets(0.0001, 4, 12), "slots"),
		built: counter("plannerd_hash_functions_built_total", "Hash functions built; those used last are kept.").
			WithLabelValues(),
		plans: counter("plannerd_plans_total", "Plans that requests to this process brought to a status.",
			"strategy", "status"),
		causes: counter("plannerd_plan_causes_total",
			"New plans by what they say about why they are as they are; a plan may have several causes.", "cause"),
		gap: histogram("plannerd_plan_gap_ratio",
			"How far a new plan is above what is proven to be least, relative to that; without plans that have no such figure.",
			[]float64{0, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}, "strategy"),
		migratedState: counter("plannerd_committed_state_total",
			"State that committed plans migrated, in the operator's unit.", "operator"),
		returnedState: counter("plannerd_committed_returned_state_total",
			"Of that, state that went back to an instance that it had left within the last five intervals.", "operator"),
		migratedKeys: counter("plannerd_committed_keys_total", "Keys that committed plans migrated.", "operator"),
		transitions: counter("plannerd_plan_transitions_total",
			"Steps of plans that requests to this process made; from is empty for their creation.", "operator", "from", "to"),
		expired: counter("plannerd_plans_expired_total", "Plans whose expiry this process wrote down, unasked.").
			WithLabelValues(),
		theta: gauge("plannerd_theta",
			"Largest relative overload: before the newest plan, which is realised, after it, and as planned for its interval.",
			"operator", "when"),
		thetaMax: gauge("plannerd_theta_max", "Largest relative overload that the newest plan was allowed to leave.",
			"operator"),
		resource: gauge("plannerd_resource_level",
			"Of a resource beside cost: its largest relative overload, or the greatest part of a capacity that is taken: "+
				"before the newest plan, which is realised, after it, and as planned for its interval.",
			"operator", "resource", "when"),
		resourceLimit: gauge("plannerd_resource_level_limit", "The highest level that the newest plan was allowed to leave.",
			"operator", "resource"),
		newest: gauge("plannerd_newest_plan_timestamp_seconds",
			"When this process made the operator's newest plan.", "operator"),
		tableSize: gauge("plannerd_routing_table_entries",
			"Size of the committed routing table, as this process last saw it.", "operator"),
		tableLimit: gauge("plannerd_routing_table_limit_entries",
			"Most entries that the newest plan was allowed to leave; only where there is a limit.", "operator"),
		waitingPlans: gauge("plannerd_plans_waiting",
			"Plans that are proposed and wait for a decision, or approved and wait to be started.", "status"),
		oldestPlan: gauge("plannerd_oldest_waiting_plan_seconds",
			"For how long the one of them has been so that has waited longest; 0 without any.", "status"),
		deliveries: counter("plannerd_webhook_deliveries_total",
			"Deliveries of webhooks by this process, and what came of them.",
			"receiver", "result"),
		outbox: gauge("plannerd_webhook_events", "Events that a receiver has not got yet.", "receiver"),
		oldestEvent: gauge("plannerd_webhook_oldest_event_seconds",
			"The age of the oldest of them; 0 without any.", "receiver"),
		droppedEvents: gauge("plannerd_webhook_events_dropped",
			"Events that a receiver will never get: they were too many, or too old.", "receiver"),
		operators: operatorLabels{limit: operators, known: map[string]bool{}},
	}
	m.Outstanding(time.Time{}, nil, nil)
	gauge("plannerd_build_info", "1; the labels tell what runs.", "version", "goversion").
		WithLabelValues(version, runtime.Version()).Set(1)
	r.MustRegister(budgetCollector{memory}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// operatorLabels bounds the operators whose names become labels: clients choose
// them, and each costs memory here and in Prometheus.
type operatorLabels struct {
	mu    sync.Mutex
	limit int
	known map[string]bool
}

// otherOperators stands for all operators beyond the limit where they can be
// added up. It is no operator's name.
const otherOperators = "(other)"

// named tells whether an operator has series of its own, which it gets as long as
// there is room.
func (l *operatorLabels) named(operator string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.known[operator] && len(l.known) < l.limit {
		l.known[operator] = true
	}
	return l.known[operator]
}

// label is the operator, or what stands for it in sums.
func (l *operatorLabels) label(operator string) string {
	if l.named(operator) {
		return operator
	}
	return otherOperators
}

// forget makes room.
func (l *operatorLabels) forget(operator string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known, operator)
}

// Watch adds what a service tells when it is asked.
func (m *Metrics) Watch(service *service.Service) {
	m.Registry.MustRegister(slotCollector{service})
	for _, g := range []struct {
		name, help string
		value      func() int
	}{
		{"plannerd_planning_slots", "Plans that may be computed at the same time.",
			func() int { return service.PlanSlots().Size }},
		{"plannerd_planning_slots_busy", "Plans that are being computed.",
			func() int { return service.PlanSlots().Busy }},
		{"plannerd_analysis_slots", "Analyses, what-ifs and replays that may be computed at the same time.",
			func() int { return service.AnalysisSlots().Size }},
		{"plannerd_analysis_slots_busy", "Analyses, what-ifs and replays that are being computed.",
			func() int { return service.AnalysisSlots().Busy }},
		{"plannerd_table_waiters", "Requests that wait for changes of routing tables.", service.Waiting},
	} {
		m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help},
			func() float64 { return float64(g.value()) }))
	}
}

// WatchReloads adds how often tokens and certificates were read again.
func (m *Metrics) WatchReloads(ok, failed *atomic.Int64) {
	for result, n := range map[string]*atomic.Int64{"ok": ok, "failed": failed} {
		m.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "plannerd_reloads_total",
			Help: "How often tokens and certificates were read again, as their files had changed (ok), or could not be " +
				"(failed): those from before stand.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(n.Load()) }))
	}
}

// WatchConnections adds how many connections are open, and how many were closed because
// there were too many.
func (m *Metrics) WatchConnections(usage func() (open int, closed int64)) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "plannerd_connections", Help: "Connections that are open.",
	}, func() float64 { open, _ := usage(); return float64(open) }))
	m.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "plannerd_connections_closed_total",
		Help: "Connections that were closed because more than --max-connections were open.",
	}, func() float64 { _, closed := usage(); return float64(closed) }))
}

// slotCollector tells who waits for slots.
type slotCollector struct{ service *service.Service }

var (
	slotsWaitingDesc = prometheus.NewDesc("plannerd_slots_waiting", "Plans and analyses that wait for a slot.",
		[]string{"slots"}, nil)
	slotRefusalsDesc = prometheus.NewDesc("plannerd_slot_rejections_total",
		"Plans and analyses that got no slot in time, or for which the queue was too long.", []string{"slots"}, nil)
)

// Describe implements prometheus.Collector.
func (slotCollector) Describe(out chan<- *prometheus.Desc) {
	out <- slotsWaitingDesc
	out <- slotRefusalsDesc
}

// Collect implements prometheus.Collector.
func (c slotCollector) Collect(out chan<- prometheus.Metric) {
	for kind, u := range map[string]admission.SlotUsage{
		"plans": c.service.PlanSlots(), "analyses": c.service.AnalysisSlots(),
	} {
		out <- prometheus.MustNewConstMetric(slotsWaitingDesc, prometheus.GaugeValue, float64(u.Waiting), kind)
		out <- prometheus.MustNewConstMetric(slotRefusalsDesc, prometheus.CounterValue, float64(u.Refusals), kind)
	}
}

// budgetCollector tells how the memory budget stands.
type budgetCollector struct{ budget *admission.Budget }

var (
	budgetDesc = prometheus.NewDesc("plannerd_memory_budget_bytes",
		"Memory that all requests together may hold.", nil, nil)
	reservedDesc = prometheus.NewDesc("plannerd_memory_reserved_bytes",
		"Memory that requests hold, as they reckon.", nil, nil)
	leasesDesc = prometheus.NewDesc("plannerd_memory_requests", "Requests that hold memory, or wait for it.",
		[]string{"state"}, nil)
	refusalsDesc = prometheus.NewDesc("plannerd_memory_rejections_total",
		"Requests that got no memory: it did not become free in time (full), all waited for each other (stalled), or they "+
			"need more than there is (exceeded).",
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
	}{{"full", u.Refusals.Full}, {"stalled", u.Refusals.Stalled}, {"exceeded", u.Refusals.Exceeded},
		{"share", u.Refusals.Share}} {
		out <- prometheus.MustNewConstMetric(refusalsDesc, prometheus.CounterValue, float64(r.n), r.reason)
	}
}

// Planned records a computed plan.
func (m *Metrics) Planned(strategy string, took time.Duration) {
	m.planning.WithLabelValues(strategy).Observe(took.Seconds())
}

// Created records a plan that is new in the store.
func (m *Metrics) Created(p service.Plan, plan *planner.Plan, levels []reading.Levels) {
	m.Moved(p, "")
	for _, cause := range plan.Causes {
		m.causes.WithLabelValues(string(cause)).Inc()
	}
	if c := plan.Certificate; c != nil && c.Gap != nil {
		m.gap.WithLabelValues(p.Strategy).Observe(*c.Gap)
	}
	if !m.operators.named(p.Operator) {
		return
	}
	m.levels(p.Operator, levels)
	m.newest.WithLabelValues(p.Operator).Set(float64(p.CreatedAt.UnixMilli()) / 1000)
	if limit := plan.Options.TableLimit; limit != nil {
		m.tableLimit.WithLabelValues(p.Operator).Set(float64(*limit))
	} else {
		m.tableLimit.DeleteLabelValues(p.Operator)
	}
}

// levels records the levels of cost and of the resources beside it, in place of those of the plan before.
func (m *Metrics) levels(operator string, levels []reading.Levels) {
	for _, v := range []*prometheus.GaugeVec{m.resource, m.resourceLimit} { // others may be configured now
		v.DeletePartialMatch(prometheus.Labels{"operator": operator})
	}
	for _, x := range levels {
		gauge, limit, labels := m.resource, m.resourceLimit, []string{operator, x.Resource}
		if x.Resource == "" {
			gauge, limit, labels = m.theta, m.thetaMax, labels[:1]
		}
		at := func(when string) prometheus.Gauge { return gauge.WithLabelValues(append(labels, when)...) }
		at("before").Set(x.Came)
		at("after").Set(x.After)
		if x.Planned != nil {
			at("planned").Set(*x.Planned)
		} else {
			gauge.DeleteLabelValues(append(labels, "planned")...)
		}
		limit.WithLabelValues(labels...).Set(x.Bound)
	}
}

// Committed records a plan that became the operator's table just now.
func (m *Metrics) Committed(p service.Plan) {
	operator := m.operators.label(p.Operator)
	m.migratedState.WithLabelValues(operator).Add(p.MigrationState)
	m.returnedState.WithLabelValues(operator).Add(p.ReturnedState)
	m.migratedKeys.WithLabelValues(operator).Add(float64(p.MigrationKeys))
}

// Moved records a step of a plan that a request made.
func (m *Metrics) Moved(p service.Plan, from service.Status) {
	m.plans.WithLabelValues(p.Strategy, string(p.Status)).Inc()
	m.transitions.WithLabelValues(m.operators.label(p.Operator), string(from), string(p.Status)).Inc()
}

// TableSize records the size of a committed routing table.
func (m *Metrics) TableSize(operator string, entries int64) {
	if m.operators.named(operator) {
		m.tableSize.WithLabelValues(operator).Set(float64(entries))
	}
}

// HashBuilt records that a hash function was built.
func (m *Metrics) HashBuilt() { m.built.Inc() }

// Analysed records an analysis.
func (m *Metrics) Analysed(name string, took time.Duration) {
	m.analysing.WithLabelValues(name).Observe(took.Seconds())
}

// Waited records a wait for a slot.
func (m *Metrics) Waited(kind string, took time.Duration) {
	m.waiting.WithLabelValues(kind).Observe(took.Seconds())
}

// Expired records the expiry of plans.
func (m *Metrics) Expired(n int) { m.expired.Add(float64(n)) }

// Delivered records a delivery of a webhook.
func (m *Metrics) Delivered(receiver string, ok bool) {
	result := "failed"
	if ok {
		result = "ok"
	}
	m.deliveries.WithLabelValues(receiver, result).Inc()
}

// Outstanding records what waits.
func (m *Metrics) Outstanding(now time.Time, waiting []store.WaitingPlan, receivers []store.Receiver) {
	for _, status := range []store.Status{store.StatusProposed, store.StatusApproved} {
		n, longest := 0, time.Duration(0)
		for _, w := range waiting {
			if w.Status == status {
				n, longest = n+1, max(longest, now.Sub(w.Since))
			}
		}
		m.waitingPlans.WithLabelValues(string(status)).Set(float64(n))
		m.oldestPlan.WithLabelValues(string(status)).Set(longest.Seconds())
	}
	for _, g := range []*prometheus.GaugeVec{m.outbox, m.oldestEvent, m.droppedEvents} {
		g.Reset()
	}
	for _, r := range receivers {
		age := 0.0
		if r.Oldest != nil {
			age = now.Sub(*r.Oldest).Seconds()
		}
		m.outbox.WithLabelValues(r.Name).Set(float64(r.Pending))
		m.oldestEvent.WithLabelValues(r.Name).Set(age)
		m.droppedEvents.WithLabelValues(r.Name).Set(float64(r.Dropped))
	}
}

// Deleted drops the series of an operator that was deleted.
func (m *Metrics) Deleted(operator string) {
	of := prometheus.Labels{"operator": operator}
	for _, v := range []interface{ DeletePartialMatch(prometheus.Labels) int }{
		m.migratedState, m.returnedState, m.migratedKeys, m.transitions, m.theta, m.thetaMax, m.resource,
		m.resourceLimit, m.newest, m.tableSize, m.tableLimit,
	} {
		v.DeletePartialMatch(of)
	}
	m.operators.forget(operator)
}
