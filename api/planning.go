package api

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"plannerd/api/wire"
	"plannerd/compact"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// planAttempts is how often a plan is made when another request is faster to
// change what it is made of.
const planAttempts = 3

// errOvertaken: the table, the configuration or the interval's plan changed
// while planning. Another attempt finds the plan that is now there, or sees what
// refuses this one.
var errOvertaken = errors.New("overtaken by another request")

// Causes of plans that the service itself knows.
const (
	causeCooldown   planner.Cause = "cooldown"
	causeUnfinished planner.Cause = "unfinished" // no plan was complete in time
)

// made is a plan that the store holds, with its lists.
type made struct {
	store.Plan
	lists
	created bool
	persist time.Duration
}

// makePlan makes and stores the plan of an operator's statistics, or finds the
// one that was made of them before.
func (s *server) makePlan(ctx context.Context, operator string, in *statistics) (*made, error) {
	if in.interval == nil {
		return nil, errors.New("statistics without an interval") // the handler has checked
	}
	var err error
	decoded := in.memory.Used()
	for range planAttempts {
		if err = in.memory.Settle(decoded + in.planBytes()); err != nil {
			break
		}
		var m *made
		if m, err = s.tryPlan(ctx, operator, in); err == nil {
			return m, nil
		}
		if !errors.Is(err, errOvertaken) {
			break
		}
	}
	return nil, err
}

func (s *server) tryPlan(ctx context.Context, operator string, in *statistics) (*made, error) {
	b, err := s.loadBase(ctx, operator, in.memory)
	if err != nil {
		return nil, err
	}
	hash := ""
	if in.reports == nil {
		hash = inputHash(in)
	}
	if m, err := s.findPlan(ctx, b, in, hash); m != nil || err != nil {
		if err := s.unlessStale(ctx, b, err); err != nil {
			return nil, err
		}
		return m, nil
	}
	if in.reports != nil {
		if in, err = s.merge(ctx, b, in); err != nil {
			return nil, err
		}
		hash = inputHash(in)
	}
	if err := b.admit(in); err != nil {
		return nil, s.unlessStale(ctx, b, err)
	}
	begin := s.now()
	plan, err := s.plan(ctx, b, in)
	switch {
	case ctx.Err() != nil: // nobody waits for it any more
		return nil, ctx.Err()
	case err != nil:
		return nil, in.inputProblem(err)
	}
	b.size(plan)
	in.mark(plan)
	if err := in.memory.Reserve(plan.answerBytes()); err != nil {
		return nil, err
	}
	d := draft{
		outcome: plan, parameters: in.over(b.newest.parameters), hash: hash, took: s.now().Sub(begin),
		fingerprint: in.fingerprint(hash, b.op.ConfigVersion, b.op.TableVersion),
	}
	if d.reports, err = in.reportsText(); err != nil {
		return nil, fmt.Errorf("encoding the reports: %w", err)
	}
	return s.keep(ctx, b, in, d)
}

// unlessStale returns a refusal, or none, and marks what rests on a configuration
// or a table that is no longer the operator's: together with what was read after
// them it may never have been true. A plan that was found rests on the
// configuration alone.
func (s *server) unlessStale(ctx context.Context, b *base, refusal error) error {
	op, err := s.store.Operator(ctx, b.op.Name)
	switch {
	case err != nil && refusal == nil:
		return aboutOperator(b.op.Name, err)
	case err != nil:
		return refusal
	case refusal == nil && op.ConfigVersion != b.op.ConfigVersion:
		return aboutOperator(b.op.Name, overtaken(store.ErrConfigurationChanged))
	case refusal != nil && (op.ConfigVersion != b.op.ConfigVersion || op.TableVersion != b.op.TableVersion):
		return fmt.Errorf("%w: %w", errOvertaken, refusal)
	}
	return refusal
}

// plan plans by the operator's scheme, unless another plan is in the way.
func (s *server) plan(ctx context.Context, b *base, in *statistics) (*outcome, error) {
	other, err := s.inTheWay(ctx, b)
	switch {
	case err != nil:
		return nil, err
	case other != nil:
		return s.standStill(ctx, b, in, other)
	case b.layout != nil:
		return s.planScheme(ctx, b, in)
	}
	m, err := b.material(in)
	if err != nil {
		return nil, err
	}
	return s.decide(ctx, b, m, in)
}

func inputHash(in *statistics) string {
	sum := in.Fingerprint()
	if in.records != nil {
		sum = in.records.Fingerprint()
	}
	return hex.EncodeToString(sum[:])
}

// fingerprint identifies input, configuration (hence parameters), base version
// and compact form of a request. The degree that records are said to have makes
// no difference to the plan, so it makes none here. Neither do reports: they are
// closed once the interval has its plan, so it has one of them.
func (st *statistics) fingerprint(hash string, config, version int64) string {
	if st.reports != nil {
		hash = "reports"
	}
	text := fmt.Sprintf("%s/config-%d/table-%d/outdated-%t", hash, config, version, st.outdated(version))
	switch {
	case st.records != nil:
		text += fmt.Sprintf("/records-%g-%g", st.records.Scales.Cost, st.records.Scales.State)
	case st.compact != nil:
		o := st.compact.options()
		text += fmt.Sprintf("/compact-%d-%g-%g", o.Degree, o.Scales.Cost, o.Scales.State)
	}
	return text
}

// ofOutdated reports whether a fingerprint is of statistics of an older table than
// the plan's base version.
func ofOutdated(fingerprint string) bool { return strings.Contains(fingerprint, "/outdated-true") }

// replayed is what the fingerprint of a replay has behind that of the plan.
const replayed = "/replay-"

// findPlan looks for the plan that was made of the same statistics before: on
// the committed table, or, when the interval can have no other plan, on the
// table that was committed then. It returns nil when there is none and one may
// be made.
func (s *server) findPlan(ctx context.Context, b *base, in *statistics, hash string) (*made, error) {
	name, epoch, interval := b.op.Name, in.epoch, *in.interval
	p, err := s.store.FindPlan(ctx, name, epoch, interval, in.fingerprint(hash, b.op.ConfigVersion, b.op.TableVersion))
	if err == nil {
		return s.load(ctx, p)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, aboutOperator(name, err)
	}
	refused := s.store.CheckInterval(ctx, name, epoch, interval)
	if refused == nil {
		return nil, nil
	}
	if errors.Is(refused, store.ErrIntervalPlanned) || errors.Is(refused, store.ErrIntervalOutdated) || errors.Is(refused, store.ErrFenced) {
		earlier, _, err := s.store.Plans(ctx, store.PlanFilter{Operator: name, Interval: &interval, Limit: maxPageSize})
		if err != nil {
			return nil, aboutOperator(name, err)
		}
		for _, p := range earlier {
			if p.Epoch != epoch || p.Fingerprint != in.fingerprint(hash, b.op.ConfigVersion, p.BaseVersion) {
				continue
			}
			whole, err := s.store.Plan(ctx, p.ID)
			if err != nil {
				return nil, aboutPlan(p.ID, err)
			}
			return s.load(ctx, whole)
		}
	}
	return nil, aboutOperator(name, refused)
}

// load adds its lists to a stored plan.
func (s *server) load(ctx context.Context, p store.Plan) (*made, error) {
	m := &made{Plan: p}
	var err error
	if schemeOf(p.Strategy) != wire.SchemeTable {
		if m.shift, err = s.shift(ctx, p); err != nil {
			return nil, err
		}
		m.migrations = m.shift.migrations()
		return m, nil
	}
	if m.changes, err = s.changes(ctx, p); err != nil {
		return nil, err
	}
	m.migrations, err = s.migrations(ctx, p.ID)
	return m, err
}

// changes returns what a plan does to the table; nil when that is not known.
func (s *server) changes(ctx context.Context, p store.Plan) ([]store.Change, error) {
	if p.Classes && p.ResolvedKeys == nil {
		return nil, nil
	}
	changes, err := s.store.Changes(ctx, p.ID)
	if changes == nil {
		changes = []store.Change{}
	}
	return changes, aboutPlan(p.ID, err)
}

// migrations returns the list of a plan's migrations.
func (s *server) migrations(ctx context.Context, id string) (migrationList, error) {
	blob, err := s.store.Migrations(ctx, id)
	if err != nil {
		return nil, aboutPlan(id, err)
	}
	if statsio.IsClassMoves(blob) {
		records, err := decodeClassMoves(id, blob)
		return classMigrations(movesOnly(records)), err
	}
	m, err := statsio.DecodeMigrations(blob)
	if err != nil {
		return nil, fmt.Errorf("reading the stored migrations of plan %s: %w", id, err)
	}
	return keyMigrations{m}, nil
}

// decide runs the operator's strategy, unless something holds it back.
func (s *server) decide(ctx context.Context, b *base, m *material, in *statistics) (*outcome, error) {
	cause, err := s.held(ctx, b, m.Snapshot, in)
	if err != nil {
		return nil, err
	}
	if cause == "" {
		return s.run(ctx, b.newest.Strategy, m, in.over(b.newest.parameters))
	}
	plan, err := s.compute(ctx, planner.Inspect, m.Snapshot, b.newest.parameters)
	if err != nil {
		return nil, err
	}
	plan.Strategy, plan.Causes = b.newest.Strategy, []planner.Cause{cause}
	return m.outcome(plan), nil
}

// run computes one plan when a slot is free.
func (s *server) run(ctx context.Context, strategy string, m *material, p parameters) (*outcome, error) {
	info, ok := planner.Lookup(strategy)
	if !ok {
		return nil, fmt.Errorf("there is no strategy %q", strategy) // what is stored was checked
	}
	begin := time.Now()
	var compacted *compact.Plan
	ctx, end := s.tracing.start(ctx, "plan", "plannerd.strategy", strategy)
	plan, err := s.compute(ctx, func(snapshot *planner.Snapshot, o planner.Options) (*planner.Plan, error) {
		if p.Compact.Degree == 0 {
			return info.Plan(snapshot, o)
		}
		var err error
		if compacted, err = m.planCompact(strategy, p.Compact, o); err != nil {
			return nil, err
		}
		return compacted.Plan, nil
	}, m.Snapshot, p)
	end(err)
	if err != nil {
		return nil, err
	}
	plan.Strategy = strategy
	s.metrics.planned(strategy, time.Since(begin))
	out := m.outcome(plan)
	if compacted != nil {
		out.compacted(m.compression, compacted)
	}
	return out, nil
}

// compute runs a strategy when a slot is free, within the time that the
// parameters and the server allow.
func (s *server) compute(ctx context.Context, strategy planner.Strategy, snapshot *planner.Snapshot, p parameters) (*planner.Plan, error) {
	release, err := take(ctx, s.slots)
	if err != nil {
		return nil, err
	}
	defer release()
	w, options := s.watch(ctx, p), p.options()
	options.Stop = w.stop
	plan, err := strategy(snapshot, options)
	switch {
	case ctx.Err() != nil: // nobody waits for it any more
		return nil, ctx.Err()
	case errors.Is(err, planner.ErrStopped):
		return unfinished(snapshot, p.options(), w.late)
	}
	return plan, err
}

// watch tells a plan when it has to stop.
type watch struct {
	late bool // its time is up
	stop func() bool
}

// watch starts the time that the parameters and the server allow for a plan.
func (s *server) watch(ctx context.Context, p parameters) *watch {
	w, end := &watch{}, s.now().Add(p.time(s.limits.PlanTime))
	w.stop = func() bool {
		w.late = w.late || !s.now().Before(end)
		return w.late || ctx.Err() != nil
	}
	return w
}

// unfinished is the plan of a strategy that had none when its time or its work
// budget was up: everything stays as it is.
func unfinished(snapshot *planner.Snapshot, options planner.Options, late bool) (*planner.Plan, error) {
	options.Certificate = planner.CertificateOff
	plan, err := planner.Inspect(snapshot, options)
	if err != nil {
		return nil, err
	}
	plan.Causes, plan.EndReason = []planner.Cause{causeUnfinished}, planner.EndWorkBudget
	if late {
		plan.EndReason = planner.EndStopped
	}
	leaveTable(plan)
	return plan, nil
}

// held returns the cause that forbids to act on mere imbalance: the trigger's
// theta is not exceeded, or the last plan is too recent. Drained instances, a
// changed hash and a table over its limit are never held back.
func (s *server) held(ctx context.Context, b *base, snapshot *planner.Snapshot, in *statistics) (planner.Cause, error) {
	c := b.newest.configuration
	if b.changed || c.Trigger.Theta <= c.ThetaMax && c.Trigger.CooldownIntervals == 0 {
		return "", nil
	}
	for _, hold := range []struct {
		theta float64
		cause planner.Cause
		holds func() (bool, error)
	}{
		{max(c.Trigger.Theta, c.ThetaMax), planner.CauseBalanced, func() (bool, error) { return true, nil }},
		{anyTheta(c.Instances), causeCooldown, func() (bool, error) { return s.coolingDown(ctx, b.op.Name, c.Trigger, in) }},
	} {
		options := c.options()
		options.ThetaMax, options.Certificate = hold.theta, planner.CertificateOff
		probe, err := planner.Inspect(snapshot, options)
		if err != nil {
			return "", err
		}
		if !slices.Contains(probe.Causes, planner.CauseBalanced) {
			continue
		}
		if yes, err := hold.holds(); yes || err != nil {
			return hold.cause, err
		}
	}
	return "", nil
}

// anyTheta is a tolerance that no placement exceeds: one instance may carry all.
func anyTheta(instances []instance) float64 {
	least, sum := math.Inf(1), 0.0
	for _, d := range instances {
		least, sum = min(least, d.Capacity), sum+d.Capacity
	}
	return min(sum/least, math.MaxFloat64)
}

// coolingDown reports whether a plan that migrated keys was committed within the
// last intervals of this epoch.
func (s *server) coolingDown(ctx context.Context, operator string, t trigger, in *statistics) (bool, error) {
	if t.CooldownIntervals == 0 {
		return false, nil
	}
	filter := store.PlanFilter{Operator: operator, Status: store.StatusCommitted, Limit: defaultPageSize}
	for {
		plans, next, err := s.store.Plans(ctx, filter)
		if err != nil {
			return false, aboutOperator(operator, err)
		}
		for _, p := range plans {
			if p.Epoch != in.epoch || *in.interval-p.Interval > t.CooldownIntervals {
				return false, nil
			}
			if p.MigrationKeys > 0 {
				return true, nil
			}
		}
		if next == 0 {
			return false, nil
		}
		filter.Before = next
	}
}

// draft is a plan that is to be stored.
type draft struct {
	*outcome
	parameters  parameters
	hash        string // of the statistics
	fingerprint string
	reports     []byte // JSON; nil: the statistics came whole
	took        time.Duration
	by          store.Transition
}

// keep stores a plan.
func (s *server) keep(ctx context.Context, b *base, in *statistics, d draft) (*made, error) {
	begin := s.now()
	record, err := b.record(in, d, begin)
	if err != nil {
		return nil, err
	}
	if in.reports != nil {
		record.LastReports = in.reports.last
	}
	if ctx.Err() != nil { // encoding has stopped, perhaps
		return nil, ctx.Err()
	}
	d.by.At = begin
	long := lists{changes: record.Changes, migrations: d.migrations(), shift: d.shift}
	if in.kept != nil {
		*in.kept = long
	}
	p, created, err := s.store.CreatePlan(ctx, record, attributed(ctx, d.by))
	if err != nil {
		return nil, aboutOperator(b.op.Name, overtaken(err))
	}
	if !created {
		return s.load(ctx, p)
	}
	s.metrics.stored(p, d.Plan)
	if p.Status == store.StatusCommitted {
		s.metrics.committed(p)
	}
	return &made{Plan: p, created: true, persist: s.now().Sub(begin), lists: long}, nil
}

// record is a plan as the store takes it.
func (b *base) record(in *statistics, d draft, at time.Time) (store.NewPlan, error) {
	status := d.settle(b.changed) // it may change the figures
	f, err := figuresOf(d.outcome)
	if err != nil {
		return store.NewPlan{}, err
	}
	f.InputHash, f.Reports, f.DecodeMS, f.PlanMS = d.hash, d.reports, milliseconds(in.decode), milliseconds(d.took)
	id, err := uuid.NewV7()
	if err != nil {
		return store.NewPlan{}, fmt.Errorf("making an id: %w", err)
	}
	parameters, err := d.parameters.encode()
	if err != nil {
		return store.NewPlan{}, err
	}
	p := store.Plan{
		ID: id.String(), Operator: b.op.Name, Epoch: in.epoch, Interval: *in.interval, Status: status,
		Strategy: d.Strategy, Parameters: parameters, BaseVersion: b.op.TableVersion, ConfigVersion: b.op.ConfigVersion,
		Fingerprint: d.fingerprint, CreatedAt: at, Figures: f,
		Classes: d.classes != nil, EngineTable: b.engineHolds(),
	}
	if status == store.StatusApproved {
		p.Status, p.ExpiresAt = b.newest.born(at)
		p.Awaited = d.awaited()
	}
	return store.NewPlan{
		Plan: p, Changes: d.changes(), Retention: b.newest.keep(), OnPending: b.newest.onPending(),
		Migrations: b.lastingMigrations(d.outcome), Input: b.lastingInput(in),
	}, nil
}

// overtaken marks the refusals of CreatePlan that another attempt may answer.
func overtaken(err error) error {
	for _, changed := range []error{
		store.ErrBaseChanged, store.ErrConfigurationChanged, store.ErrIntervalPlanned, store.ErrIntervalOutdated, store.ErrFenced,
		store.ErrReportsChanged, store.ErrPlanInFlight, store.ErrPlanPending,
	} {
		if errors.Is(err, changed) {
			return fmt.Errorf("%w: %w", errOvertaken, err)
		}
	}
	return err
}

// settle tells what becomes of a plan.
func (o *outcome) settle(changed bool) store.Status {
	switch {
	case o.shift == nil:
		return settle(o.Plan, changed)
	case len(o.changed) > 0:
		return store.StatusApproved
	}
	return store.StatusNoAction
}

// settle tells what becomes of a plan of a routing table. One that moves nothing, under an unchanged
// hash and with a table within its limit, is no action: it leaves even the
// entries of drifted keys alone. If it drops entries of absent keys it needs
// nobody's consent, and one that was not finished changes nothing whatever the
// hash. All others wait to be committed.
func settle(p *planner.Plan, changed bool) store.Status {
	if untouched(p.Causes) {
		return store.StatusNoAction
	}
	present := func(u planner.Removal) bool { return u.Item >= 0 }
	limit := p.Options.TableLimit
	cure := limit != nil && p.TableBefore > *limit && (len(p.Set) > 0 || slices.ContainsFunc(p.Unset, present))
	if changed || len(p.Moves) > 0 || cure {
		return store.StatusApproved
	}
	p.Set = nil
	p.Unset = slices.DeleteFunc(p.Unset, present)
	p.TableAfter = p.TableBefore - int64(len(p.Unset))
	if len(p.Unset) > 0 {
		return store.StatusCommitted
	}
	return store.StatusNoAction
}
