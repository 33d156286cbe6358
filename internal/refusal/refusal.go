package refusal

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plannerd/planner"
	"plannerd/store"
)

// Reason says in one word why something is refused.
type Reason string

// The reasons.
const (
	AcksMissing              Reason = "acks_missing"
	ApproverUnnamed          Reason = "approver_unnamed"
	BaseChanged              Reason = "base_changed"
	Busy                     Reason = "busy"
	CompleteCoverageRequired Reason = "complete_coverage_required"
	ConfigurationChanged     Reason = "configuration_changed"
	Fenced                   Reason = "fenced"
	Frozen                   Reason = "frozen"
	HashNotKnown             Reason = "hash_not_known"
	IdempotencyKeyReused     Reason = "idempotency_key_reused"
	IdempotencyKeyRunning    Reason = "idempotency_key_running"
	IntervalNotFound         Reason = "interval_not_found"
	IntervalOutdated         Reason = "interval_outdated"
	IntervalPlanned          Reason = "interval_planned"
	Invalid                  Reason = "invalid"
	KeysNotKnown             Reason = "keys_not_known"
	LimitsChanged            Reason = "limits_changed"
	NoRoutingTable           Reason = "no_routing_table"
	NobodyOwns               Reason = "nobody_owns"
	NotAwaited               Reason = "not_awaited"
	NotOwner                 Reason = "not_owner"
	NotServing               Reason = "not_serving"
	OperatorNotFound         Reason = "operator_not_found"
	OtherExecutor            Reason = "other_executor"
	OutsideWindow            Reason = "outside_window"
	PlanInFlight             Reason = "plan_in_flight"
	PlanNotFound             Reason = "plan_not_found"
	PlanPending              Reason = "plan_pending"
	Purged                   Reason = "purged"
	ReportClosed             Reason = "report_closed"
	ReportsChanged           Reason = "reports_changed"
	ReportsDiffer            Reason = "reports_differ"
	ReportsMissing           Reason = "reports_missing"
	ResolutionNotNeeded      Reason = "resolution_not_needed"
	ResolutionRequired       Reason = "resolution_required"
	RouterAwaited            Reason = "router_awaited"
	RouterNotFound           Reason = "router_not_found"
	SchemeFixed              Reason = "scheme_fixed"
	StorageFull              Reason = "storage_full"
	TableNotHeld             Reason = "table_not_held"
	TableOwnerFixed          Reason = "table_owner_fixed"
	TableVersionAhead        Reason = "table_version_ahead"
	TableVersionOutdated     Reason = "table_version_outdated"
	TooLarge                 Reason = "too_large"
	TooManyComments          Reason = "too_many_comments"
	TransitionNotAllowed     Reason = "transition_not_allowed"
	Unavailable              Reason = "unavailable"
	Unfinished               Reason = "unfinished"
	VersionNotFound          Reason = "version_not_found"
)

// Error refuses what was asked for.
type Error struct {
	Reason Reason
	Detail string // a sentence; "": Problems say it all
	// Missing are the instances without a report, for [ReportsMissing].
	Missing []int32
	// Owner is the instance that answers, for [NotOwner].
	Owner *int32
	// Problems are what is wrong with the input, for [Invalid]. One without a field
	// is about the whole.
	Problems []planner.InputError

	Err error
}

func (e *Error) Error() string {
	parts := []string{string(e.Reason) + ": " + e.Detail}
	for _, p := range e.Problems {
		parts = append(parts, p.Error())
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns the error of the store behind the refusal, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// New refuses for a reason, with a sentence that says why.
func New(reason Reason, detail string) error { return &Error{Reason: reason, Detail: detail} }

// MaxProblems is the most problems that are looked for in one input.
const MaxProblems = 100

type storeRefusal struct {
	err    error
	reason Reason
	detail string
}

// storeRefusals are what the errors of the store mean, the first that fits. %s is
// what the error is about.
var storeRefusals = []storeRefusal{
	{store.ErrIdempotencyMismatch, IdempotencyKeyReused, "The idempotency key was used for another request."},
	{store.ErrIdempotencyRunning, IdempotencyKeyRunning, "Another request with the idempotency key is still running."},
	{store.ErrIdempotencyLost, IdempotencyKeyRunning, "Another request with the idempotency key is still running."},
	{store.ErrNotFound, "", "%s does not exist."},
	{store.ErrPurged, Purged, "%s is no longer kept."},
	{store.ErrIntervalPlanned, IntervalPlanned,
		"The interval has a plan that was made of other statistics or under another configuration."},
	{store.ErrFenced, Fenced, "An engine with a higher epoch has taken over."},
	{store.ErrIntervalOutdated, IntervalOutdated, "A newer interval was planned already."},
	{store.ErrBaseChanged, BaseChanged, "The committed routing table is no longer the one that the plan changes."},
	{store.ErrConfigurationChanged, ConfigurationChanged,
		"The operator's configuration changed while planning; try again."},
	{store.ErrReportsChanged, ReportsChanged, "Reports of the interval keep coming while planning; try again."},
	{store.ErrPlanInFlight, PlanInFlight, "Another plan of the operator is being carried out."},
	{store.ErrPlanPending, PlanPending, "Another plan of the operator waits for approval."},
	{store.ErrNotAwaited, NotAwaited, "The plan does not await all of these instances."},
	{store.ErrAcksMissing, AcksMissing,
		"The plan is being carried out: it is committed once all the instances that it awaits have acknowledged it."},
	{store.ErrRouterAwaited, RouterAwaited, "A plan that is being carried out names the router."},
	{store.ErrRouterFenced, Fenced, "The router was taken for lost, and registered again or removed in the meantime. " +
		"Register it without an epoch, and read the routing table before you send anything more."},
	{store.ErrUnnamed, ApproverUnnamed,
		"Two people have to approve the plan, and this server has no tokens that name them."},
	{store.ErrCommented, TooManyComments, "The plan has as many comments as it may have."},
	{store.ErrTransition, TransitionNotAllowed, "The status of the plan does not allow this."},
	{store.ErrUnresolved, ResolutionRequired, "The plan moves classes of keys: its resolution must name the keys first."},
	{store.ErrFull, StorageFull, "The disk of the store is full: stored data can be read, but nothing new can be stored."},
	{store.ErrOutdated, Unavailable, "The database needs a newer plannerd than this one."},
	{store.ErrDamaged, Unavailable, "Data in the store are damaged, and nothing more is written to it: " +
		"the log says which, and plannerd check looks for more damage."},
	{store.ErrUnavailable, Unavailable, "The store cannot be reached or is not migrated."},
}

// Damage reports whether the refusal is due to something that is stored and damaged.
func (e *Error) Damage() bool { return errors.Is(e.Err, store.ErrDamaged) }

// About makes a refusal of an error of the store. what is its subject, missing the
// reason when that does not exist. It returns other errors wrapped.
func About(err error, missing Reason, what string) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	if frozen, ok := errors.AsType[*store.FrozenError](err); ok {
		return &Error{Reason: Frozen, Detail: FrozenText(frozen.Freeze), Err: err}
	}
	for _, r := range storeRefusals {
		if !errors.Is(err, r.err) {
			continue
		}
		detail := strings.Replace(r.detail, "%s", "The "+what, 1)
		return &Error{Reason: cmp.Or(r.reason, missing), Detail: detail, Err: err}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// FrozenText says who holds an operator, until when and why.
func FrozenText(f store.Freeze) string {
	who, what := cmp.Or(f.Actor, "somebody"), "The operator is"
	if f.All {
		what = "All operators are"
	}
	return fmt.Sprintf("%s frozen until %s by %s: %s. Until then no plan is made or started; a started one goes on.",
		what, f.Until.UTC().Format(time.RFC3339), who, strings.TrimSuffix(f.Reason, "."))
}

// AboutStore makes a refusal of an error of the store as a whole; see [About].
func AboutStore(err error) error { return About(err, Unavailable, "store") }

// AboutOperator makes a refusal of an error of the store about an operator.
func AboutOperator(name string, err error) error {
	return About(err, OperatorNotFound, "operator "+strconv.Quote(name))
}

// AboutPlan makes a refusal of an error of the store about a plan.
func AboutPlan(id string, err error) error {
	return About(err, PlanNotFound, "plan "+strconv.Quote(id))
}

// NoPlan refuses a plan as if it did not exist.
func NoPlan(id string) error { return AboutPlan(id, store.ErrNotFound) }

// AboutVersion makes a refusal of an error of the store about a version of an operator.
func AboutVersion(operator string, version int64, err error) error {
	return About(err, VersionNotFound, fmt.Sprintf("version %d of operator %q", version, operator))
}

// AboutInterval makes a refusal of an error of the store about the input of an interval.
func AboutInterval(operator string, interval int64, err error) error {
	return About(err, IntervalNotFound, fmt.Sprintf("input of interval %d of operator %q", interval, operator))
}

// ErrOvertaken says that the table, the configuration or the interval's plan changed while
// planning. Another attempt finds the plan that is now there, or sees what refuses
// this one.
var ErrOvertaken = errors.New("overtaken by another request")

// Overtaken marks the refusals of CreatePlan that another attempt may answer.
func Overtaken(err error) error {
	for _, changed := range []error{
		store.ErrBaseChanged, store.ErrConfigurationChanged, store.ErrIntervalPlanned, store.ErrIntervalOutdated,
		store.ErrFenced,
		store.ErrReportsChanged, store.ErrPlanInFlight, store.ErrPlanPending,
	} {
		if errors.Is(err, changed) {
			return fmt.Errorf("%w: %w", ErrOvertaken, err)
		}
	}
	return err
}
