// Package store keeps what plannerd must not forget: operators and their
// configuration versions, routing-table versions, plans with their figures,
// migrations and the input of each interval.
//
// [Store] is the contract. store/sqlite and store/postgres implement it, and
// store/storetest holds the one suite that both must pass. Every method is one
// transaction: it happens whole or not at all, and what it returned is there
// after a crash. Any number of processes may use one Postgres store at once.
//
// The store decides what only a transaction can decide (which version is
// committed, which plan an interval has) and treats the rest as opaque bytes:
// configurations, migrations and inputs are encoded by its callers.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// The sentinel errors. Methods wrap them; test with errors.Is.
var (
	// ErrNotFound: no such operator, plan, version or entry.
	ErrNotFound = errors.New("not found")
	// ErrPurged: it existed, and retention or its operator's deletion removed it.
	ErrPurged = errors.New("purged by retention")
	// ErrConfigurationChanged: the operator has a newer configuration version
	// than the one that was planned for.
	ErrConfigurationChanged = errors.New("the operator's configuration changed")
	// ErrBaseChanged: the committed table is no longer the plan's base version.
	ErrBaseChanged = errors.New("the committed routing table changed")
	// ErrIntervalPlanned: the interval already has a plan made of other input.
	ErrIntervalPlanned = errors.New("the interval already has a plan")
	// ErrIntervalOutdated: a newer interval was planned already.
	ErrIntervalOutdated = errors.New("a newer interval was planned already")
	// ErrFenced: an engine with a higher epoch has taken over.
	ErrFenced = errors.New("a higher epoch was planned already")
	// ErrTransition: the plan's status does not allow it.
	ErrTransition = errors.New("the plan's status does not allow this")
	// ErrPlanPending: a proposed plan of the operator waits for approval.
	ErrPlanPending = errors.New("a plan of the operator waits for approval")
	// ErrPlanInFlight: another plan of the operator is being applied.
	ErrPlanInFlight = errors.New("a plan of the operator is being applied")
	// ErrNotAwaited: the plan does not wait for the instance.
	ErrNotAwaited = errors.New("the plan does not wait for the instance")
	// ErrAcksMissing: not all instances that the plan waits for have finished.
	ErrAcksMissing = errors.New("acks of instances are missing")
	// ErrRouterFenced: the router was registered again since, or removed.
	ErrRouterFenced = errors.New("the router has a newer epoch, or none")
	// ErrRouterAwaited: a plan that is being applied names the router.
	ErrRouterAwaited = errors.New("a plan that is being applied names the router")
	// ErrUnnamed: who approves a plan that several people have to approve gave no name.
	ErrUnnamed = errors.New("the approver has no name")
	// ErrCommented: a plan has as many comments as it may have.
	ErrCommented = errors.New("the plan has too many comments")
	// ErrReportsChanged: reports came, or were replaced, since the plan was begun.
	ErrReportsChanged = errors.New("the reports of the interval changed")
	// ErrUnresolved: the plan is one of classes, and nobody has said yet which keys move.
	ErrUnresolved = errors.New("the plan's classes are not resolved to keys")
	// ErrIdempotencyRunning: another request with the key is being worked on.
	ErrIdempotencyRunning = errors.New("a request with this idempotency key is running")
	// ErrIdempotencyMismatch: the key was used for another request.
	ErrIdempotencyMismatch = errors.New("the idempotency key was used for another request")
	// ErrIdempotencyLost: the lease ran out and another request took the key over.
	ErrIdempotencyLost = errors.New("another request took the idempotency key over")
	// ErrUnavailable: the database cannot be reached or is not migrated.
	ErrUnavailable = errors.New("store unavailable")
	// ErrOutdated: the database is of a newer program, and this one would do wrong on
	// it. It is ErrUnavailable, too.
	ErrOutdated = fmt.Errorf("%w: this program is too old for its database", ErrUnavailable)
	// ErrDamaged: something that the database holds is not what was stored. It is
	// ErrUnavailable, too: nothing more is written once it was found.
	ErrDamaged = fmt.Errorf("%w: what it holds is damaged", ErrUnavailable)
	// ErrFull: the database has no room for what is to be kept. It is an
	// ErrUnavailable as well; what was kept can still be read.
	ErrFull = fmt.Errorf("%w: its disk is full", ErrUnavailable)
)

// Unreadable is the ErrDamaged of what a caller once had stored and cannot read any more, as err
// says; nil if that is nil.
func Unreadable(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading %s: %w: %w", what, ErrDamaged, err)
}

// Operator is one balanced operator as it stands.
type Operator struct {
	Name string
	// ConfigVersion is the newest configuration version, from 1.
	ConfigVersion int64
	// Config is that version's configuration, as JSON.
	Config []byte
	// TableVersion is the committed routing-table version. A new operator has an
	// empty table, version 0; one created again after Delete goes on counting.
	TableVersion int64
	// TableConfigVersion is the configuration version that the committed table pins.
	TableConfigVersion int64
	// TableOrigin is that of the committed table.
	TableOrigin Origin
	// TableSize is the number of entries of the committed table; 0 where the
	// engine holds the table.
	TableSize int64
	// LastEpoch and LastInterval are the newest that have a plan; nil before the
	// first.
	LastEpoch, LastInterval *int64
	// CurrentPlan is the plan that is being applied; without one, that which is approved;
	// without one, the one that is proposed; or "". CurrentStatus is its status, and ExecutorEpoch the
	// epoch of its executor.
	CurrentPlan   string
	CurrentStatus Status
	ExecutorEpoch int64
	// LimitsChanged is that of CurrentPlan.
	LimitsChanged bool
	// Freeze is what holds the operator now, the longest; nil: nothing.
	Freeze *Freeze
	// UpdatedAt is when the configuration or the committed table last changed, and ReadAt the time of
	// which all this is.
	CreatedAt, UpdatedAt, ReadAt time.Time
}

// Freeze holds an operator, or all of them: until then no plan is made that is to be carried out,
// and none is started. What is under way goes on.
type Freeze struct {
	Until  time.Time `json:"until"`
	Since  time.Time `json:"since"`
	Actor  string    `json:"actor"`
	Reason string    `json:"reason"`
	All    bool      `json:"all"` // operators are held
}

// FrozenError refuses what a freeze does not allow.
type FrozenError struct{ Freeze }

func (e *FrozenError) Error() string { return "frozen until " + e.Until.Format(time.RFC3339) }

// KeptConfigurations is how many versions of a configuration are kept in any case, and KeptFreezes how
// many events of the freezes of an operator, or of all.
const (
	KeptConfigurations = 100
	KeptFreezes        = 100
)

// InstanceNames are the names and ids that instances of an operator have ever had. The zero value
// is that they had none.
type InstanceNames struct {
	ConfigVersion int64            // of the newest configuration
	Next          int64            // the least id above all of them
	IDs           map[string]int32 // by name, of which an instance may have had several
}

// Configuration is one version of an operator's configuration.
type Configuration struct {
	Version   int64
	Config    []byte // JSON
	CreatedAt time.Time
	Actor     string // who configured; "": it is not known
}

// FreezeEvent is the begin of a freeze, or its end before its time.
type FreezeEvent struct {
	At    time.Time
	Actor string
	Ended bool
	Freeze
}

// PlanStep is a step of some plan.
type PlanStep struct {
	Plan     string
	Interval int64
	Transition
}

// OperatorChanges are what happened to an operator after a time.
type OperatorChanges struct {
	Until time.Time // when they were read
	// Counts are how many plans came to each status, but for those that were made with nothing to do,
	// and Comments how many comments there are. Steps are the newest of these steps, newest first.
	Counts   map[Status]int64
	Comments int64
	Steps    []PlanStep
	// Before and Now are the configurations of that time and of now; Before is nil where it is not kept
	// or the operator is newer. Configured are the versions between them, oldest first.
	Before     *Configuration
	Configured []Configuration
	Freezes    []FreezeEvent // of the operator and of all, oldest first
}

// Entry is one line of a routing table. What keys and instances are is the caller's
// business: a table may as well hold tokens or ranges.
type Entry struct {
	Key      []byte
	Instance int32
	// Parts is what there is to say of a key that goes to more than one instance. "": it
	// goes to Instance alone.
	Parts string
}

// NoInstance in a Change: there is no entry.
const NoInstance int32 = -1

// Change is what a plan does to one table entry. It is reversible.
type Change struct {
	Key      []byte
	Old, New int32 // instance ids, or NoInstance
	// OldParts and NewParts are the Parts of the entries, at most [MaxPartsBytes] long; ""
	// where there is no entry. Old and New never agree in both.
	OldParts, NewParts string
}

// Origin is what made a version of a table. It tells two versions of the same number apart, which
// there are when a database goes on from a state before one that was told of: a backup that was
// restored, or a standby that was behind when it was promoted.
type Origin struct {
	Plan string // "": none
	At   time.Time
}

// String is the origin as routers keep it, 12 hexadecimal digits.
func (o Origin) String() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", o.Plan, o.At.UnixMicro()))
	return hex.EncodeToString(sum[:6])
}

// Table is one version of an operator's routing table.
type Table struct {
	Version       int64
	Origin        Origin
	ConfigVersion int64   // the configuration that it pins
	Entries       []Entry // ascending bytes of the keys; none where the engine holds the table
}

// Plan is a plan's record.
type Plan struct {
	ID            string
	Operator      string
	Epoch         int64
	Interval      int64
	Status        Status
	Scheme        string // by which keys are placed; the store takes any
	Strategy      string
	Parameters    []byte // JSON
	BaseVersion   int64
	Version       *int64 // the table version it became; nil before commit
	ConfigVersion int64
	// Fingerprint identifies input, parameters, configuration and base version
	// of the request: a second plan with the same operator, epoch, interval and
	// fingerprint is the same plan.
	Fingerprint string
	// Source is the Fingerprint of the plan that the statistics came for: another one if
	// this plan is a replay of it.
	Source string
	// Outdated: the statistics are of an older table than that of BaseVersion.
	Outdated  bool
	CreatedAt time.Time
	// Classes: the plan moves classes of keys, as compact statistics name them.
	// Which keys they are, and so its changes, is known only after ResolvePlan.
	Classes bool
	// EngineTable: the engine holds the routing table. Committing the plan makes
	// a new table version, of which no entries are stored; its changes are for the
	// record. Entries of the versions before it are history.
	EngineTable bool
	// ResolvedKeys is the number of keys that the resolution named; nil as long as
	// there is none.
	ResolvedKeys *int64
	// ExpiresAt is when the plan expires if it is proposed or approved still; nil: never.
	ExpiresAt *time.Time
	// WaitsFor are coded reasons why the plan was proposed, not approved.
	WaitsFor []string
	// LeavesOpen: the interval of a plan that is no_action takes other statistics, and
	// has no plan before these come.
	LeavesOpen bool
	// Undo is JSON: which version of the table the plan brings back; nil: none. Such a plan may be
	// beside the other one of its interval, which may be older than the newest.
	Undo []byte
	// Approvers is how many different people have to approve the plan; 0 stands for one. ApprovedBy are
	// those who have, where it is more than one.
	Approvers  int64
	ApprovedBy []string
	// SupersededBy is the plan that took the place of this one; "": none did.
	SupersededBy string
	// Latest is JSON: how the plan does under the newest statistics that it was evaluated
	// on; nil: it was not. LimitsChanged: it breaks limits there that nobody has agreed to.
	Latest        []byte
	LimitsChanged bool
	// Executor is who applies the plan, or did, since ExecutorSince; its name is "" and
	// the time nil before it is started.
	Executor      Executor
	ExecutorSince *time.Time
	// Routers are the routers that the operator had when the plan was started, with their
	// epochs then; nil: none.
	Routers map[string]int64
	// BatchCount is in how many batches the plan is handed over; 0: at once. BatchesDone is
	// how many have been: a plan that is committed with fewer was stopped. Stopping: it ends
	// after the batch that is being handed over. Batches are all of them.
	BatchCount, BatchesDone int64
	Stopping                bool
	Batches                 []Batch
	// Awaited are the instances that must acknowledge the plan, ascending, or the batch of it
	// that is handed over, last or first; and Acked those of them that are done.
	Awaited []int32
	Acked   []Ack
	Figures
}

// Batch is a part of a plan that is handed over, and becomes a version of the table, on its
// own. Units are those of [Figures].
type Batch struct {
	Keys       int64    // that change their route, or have state moved
	State      float64  // that moves
	Busiest    float64  // the most that any instance sends or receives
	Seconds    *float64 // how long that takes; nil: it is not known
	ThetaAfter float64
	TableAfter int64
	Version    *int64  // the table version that it became; nil: it did not
	Awaited    []int32 // the instances that must acknowledge it, ascending
}

// NewBatch is a batch of a plan that is created.
type NewBatch struct {
	Batch
	// Changes turn the table that the batch before left into that of this one.
	Changes []Change
	// Held are keys whose state moves while their routes stay, as changes without Old.
	Held []Change
}

// Figures are what a plan reports about itself. Units are those of the
// operator's statistics.
type Figures struct {
	EndReason         string
	Causes            []string
	Balanced          bool
	TableWithinLimit  bool
	ThetaBefore       float64
	ThetaAfter        float64
	ThetaRealised     *float64 // of the loads that came; nil: it is ThetaBefore
	UnderloadBefore   float64
	UnderloadAfter    float64
	SkewnessBefore    float64
	SkewnessAfter     float64
	TableBefore       int64
	TableAfter        int64
	MigrationKeys     int64
	MigrationState    float64
	MigrationFraction float64
	ForcedKeys        int64
	ForcedState       float64
	ReturnedState     float64 // of keys that go back to an instance that they left lately
	Objective         float64
	Certificate       []byte // JSON; nil: none
	Compaction        []byte // JSON: how the statistics were compacted, with what error; nil: they were not
	Pending           []byte // JSON: which plan was in the way, and how it would do; nil: none was
	Forecast          []byte // JSON: the policy of the plan, and what it expects of the next interval; nil: it has none
	Instances         []byte // JSON
	HotKeys           []byte // JSON
	Splits            []byte // JSON: the keys that go to several instances; nil: there are none
	Merges            int64  // how many parts they have beyond the first
	Reports           []byte // JSON: which reports of instances the statistics were merged of; nil: they came whole
	Affinity          []byte // JSON: how many keys and routed keys there were; nil: keys are routed as they are
	Resources         []byte // JSON: what the plan does in each resource; nil: cost is all that counts
	DriftedKeys       int64
	IdleEntries       int64
	InputHash         string
	PlannerRevision   string
	WorkUnits         int64
	DecodeMS          float64
	PlanMS            float64
}

// NewPlan is a plan with its long parts, as it is created.
type NewPlan struct {
	Plan
	// BaseOrigin is that of BaseVersion, as a string; "": it is not compared.
	BaseOrigin string
	// Changes turn the table of BaseVersion into the planned one. A plan of
	// classes is created without any.
	Changes []Change
	// NewBatches come to Changes, one after the other; none: the plan is handed over at once.
	NewBatches []NewBatch
	// Migrations and Input are opaque to the store. Input may be nil.
	Migrations, Input []byte
	// Absences tell how long the keys of table entries have been absent. Opaque, too.
	Absences []byte
	// ForecastState is what a forecast remembers of the intervals so far. Opaque, too; it
	// is kept as long as inputs are, whether or not the plan has one. Nil: none.
	ForecastState []byte
	// Evaluated is how another plan does under the statistics of this one; nil: it is not
	// known, or there is none. Of a plan that has come to its end it is forgotten.
	Evaluated *Evaluation
	// LastReports is what Reports returned when the plan was begun, for a plan that
	// is made of reports; nil for others.
	LastReports []Report
	// OnPending says what becomes of a proposed plan that waits. Defaults to PendingKeep.
	OnPending PendingPolicy
	// Replaces is the plan whose place this one takes if that is proposed still, also in
	// its interval: it is superseded in the same transaction. "": none.
	Replaces string
	// Retention is applied in the same transaction.
	Retention Retention
}

// Approval is what an approval does to a plan beside its status; see the fields of [Plan].
type Approval struct {
	ExpiresAt *time.Time
	Latest    []byte
}

// Evaluation is how a plan does under newer statistics; see the fields of [Plan].
type Evaluation struct {
	Plan          string // its id
	Latest        []byte // JSON
	LimitsChanged bool
}

// Resolution says which keys the classes of a plan are, by what that does to the
// table.
type Resolution struct {
	// Keys is the number of keys that were named, those whose entries stay as they
	// are included.
	Keys int64
	// Changes turn the table of the plan's BaseVersion into the planned one.
	Changes []Change
	// TableAfter and TableWithinLimit take the place of the plan's figures: with
	// the keys known, the size of the planned table is.
	TableAfter       int64
	TableWithinLimit bool
}

// Report is the share of one instance in the statistics of an interval.
type Report struct {
	Epoch    int64
	Interval int64
	Instance int32
	// TableVersion is the version of the routing table that it is of.
	TableVersion int64
	Rows         int64
	At           time.Time
	// Revision is set by the store: no other report, nor one that replaces it, has
	// the same.
	Revision int64
}

// Router is a router of an engine that ends the messages of a pending plan by markers.
type Router struct {
	Name string
	// Epoch tells the router from who used its name before: no other registration of any
	// router of the operator has had the same, and later ones have higher ones.
	Epoch int64
	// RegisteredAt is when it got the epoch. At ExpiresAt it counts as lost unless it has
	// extended its lease. It stays registered: messages of it may be on their way.
	RegisteredAt, ExpiresAt time.Time
}

// Retention says how much of an operator's history is kept; 0 keeps all. Plans
// count whatever their status, or else those of an engine that never commits
// would pile up: one that waits and is too old is removed and can no longer be
// committed. Only the plan of the committed table and one that is being applied
// are never removed.
type Retention struct {
	Inputs   int // inputs of the newest plans
	Plans    int // newest plans
	Versions int // newest table versions that can still be reconstructed
	// ReportAge is how many intervals older than the newest plan an instance's last
	// report may get.
	ReportAge int64
}

// BriefPlan is what a plan tells of how its operator went; see [Plan] and [Figures]. It may
// be proposed or approved and have expired.
type BriefPlan struct {
	ID                        string
	CreatedAt                 time.Time
	Epoch, Interval           int64
	Status                    Status
	ThetaRealised, ThetaAfter float64 // ThetaRealised is set always
	MigrationKeys             int64
	MigrationFraction         float64
	// Returned is the part of the state that the plan moves that goes back to an instance
	// that it left lately.
	Returned float64
	// Forecast is what the plan expects, as JSON, if the operator has several resources; else nil.
	Forecast []byte
}

// Recent is how an operator went lately.
type Recent struct {
	// Brief are its newest plans, whatever their status, oldest first.
	Brief []BriefPlan
	// Plans are the newest one and, if that is another, the current one.
	Plans []Plan
}

// Keep says how much is kept of what no operator's [Retention] bounds.
type Keep struct {
	// Keys is for how long idempotency keys are kept, from the begin of their requests.
	Keys time.Duration
	// MostKeys is how many idempotency keys are kept of requests that are done, the newest.
	MostKeys int
	// Purged is for how long it is known of a purged plan that it existed: ErrPurged
	// instead of ErrNotFound.
	Purged time.Duration
	// Routers is for how long a router stays registered whose lease has run out, unless a plan
	// of its operator is being applied or aborted. 0: for ever.
	Routers time.Duration
	// Receiver is for how long events are written for a receiver of webhooks that no process
	// holds or asks to hold any more; Events is for how long one is kept that could not be
	// delivered, and MostEvents how many are of each receiver, the newest. 0: for ever, all.
	Receiver, Events time.Duration
	MostEvents       int
}

// PlanFilter selects and pages through plans, newest first.
type PlanFilter struct {
	Operator string
	Status   Status // "": all
	Interval *int64 // nil: all
	Before   int64  // a cursor that Plans returned; 0: from the newest
	Limit    int    // > 0
}

// Store is the contract, divided by what it is about: who needs a part of it asks for that.
//
// Times are kept to the microsecond, in UTC. What changes something happens at the time
// that it is given, which is one of Now; what only reads happens about now.
//
// A plan that is proposed or approved and whose ExpiresAt is not after that time has expired.
// Whatever changes something of its operator next writes that down, as a
// transition of the actor [Expirer] at ExpiresAt; reads show it already.
//
// Guards are asked in the transaction, under the operator's lock and before
// anything else is looked at; see [PlanGuard]. Methods that change something
// finish the [Completion] that the context carries.
type Store interface {
	Operators
	Tables
	Reports
	Routers
	Plans
	Lifecycle
	IdempotencyKeys
	Webhooks
	Maintenance

	// Close releases all resources.
	Close() error
}

// Operators are the operators and their configurations.
type Operators interface {
	// PutOperator creates the operator, or gives it a new configuration version.
	// config must be JSON; it is kept byte for byte, with [ActorOf].
	// A config that equals the newest version's, byte for byte, changes nothing. Of the
	// versions before the newest [KeptConfigurations] those are kept that a plan or a
	// version of the table is of.
	// created tells whether the operator is new. The first configuration is the
	// one that the empty first table pins. The ids and names of the objects in the member
	// "instances" are noted for InstanceNames.
	PutOperator(ctx context.Context, name string, config []byte, at time.Time, guards ...OperatorGuard) (op Operator,
		created bool, err error)
	// Operator returns one operator. ErrNotFound.
	Operator(ctx context.Context, name string) (Operator, error)
	// Operators lists operators in ascending byte order of their names, those
	// after the name `after` only.
	Operators(ctx context.Context, after string, limit int) ([]Operator, error)
	// RecentPlans tells how operators went lately, in their order: at most so many of the
	// newest plans in brief, and the newest and the current plan as Plans lists them.
	RecentPlans(ctx context.Context, operators []Operator, most int) ([]Recent, error)
	// Freeze holds an operator, or with the name "" all that there are and will be, until
	// f.Until, in place of what held it before; nil ends that. Receivers of webhooks are told in
	// the same transaction, and the actor of an end is [ActorOf]. ErrNotFound. While an operator
	// is held, CreatePlan of other plans than those that are no_action, and StartPlan and
	// CommitPlan of approved ones are refused with a [FrozenError].
	Freeze(ctx context.Context, operator string, f *Freeze) error
	// DeleteOperator removes the operator with all its history. Its version
	// numbers are never used again. ErrNotFound.
	DeleteOperator(ctx context.Context, name string, at time.Time, guards ...OperatorGuard) error
	// Configuration returns one configuration version. ErrNotFound.
	Configuration(ctx context.Context, operator string, version int64) (Configuration, error)
	// Configurations lists the versions that are kept, newest first: those before a version, or all
	// for 0, at most so many. ErrNotFound when there is no such operator.
	Configurations(ctx context.Context, operator string, before int64, limit int) ([]Configuration, error)
	// OperatorChanges tells what happened to an operator after a time, with at most so many Steps.
	// ErrNotFound.
	OperatorChanges(ctx context.Context, operator string, since time.Time, steps int) (OperatorChanges, error)
	// InstanceNames returns which names and ids instances of an operator have ever had, in
	// configurations that are not kept any more, too. ErrNotFound.
	InstanceNames(ctx context.Context, operator string) (InstanceNames, error)
}

// Tables are the routing tables, and what happens to them.
type Tables interface {
	// Table returns a version of the routing table; the committed one when
	// version is nil. ErrNotFound, ErrPurged.
	Table(ctx context.Context, operator string, version *int64) (Table, error)
	// Route returns key's entry in the committed table, nil when it has none, together
	// with the operator as it stands.
	// ErrNotFound when there is no such operator.
	Route(ctx context.Context, operator string, key []byte) (op Operator, entry *Entry, err error)
	// TableChanges returns what happened to the routing table since an older
	// version, and what is about to. With a version that is unknown or purged, such as
	// -1, it is the whole table. ErrNotFound.
	TableChanges(ctx context.Context, operator string, since int64) (Feed, error)
	// Watch returns a channel of events, one or more after each change of a routing
	// table's version, or of what is pending on it, that is committed after Watch
	// returned. It is closed when ctx ends or the store is closed. A watcher that is
	// slow gets events merged and keeps nobody waiting. ErrUnavailable.
	Watch(ctx context.Context) (<-chan Event, error)
}

// Reports are the shares of instances in the statistics of an interval.
type Reports interface {
	// PutReport stores the report of one instance for an interval, in place of the
	// one that it sent before, and returns what Reports returns after it. created
	// tells whether there was none. Of the instance's reports the newest keep are
	// kept, by their epochs and intervals; 0 keeps all. The report's Revision is set
	// by the store. Refusals are those of CheckInterval: no report comes in
	// once the interval has a plan that has not [Status.Ended].
	PutReport(ctx context.Context, operator string, r Report, data []byte, keep int) (last []Report,
		created bool, err error)
	// Reports returns the newest report of each instance up to the interval, in
	// ascending order of the instances: of those that have reported this interval,
	// and the last ones of others. ErrNotFound when there is no such operator.
	Reports(ctx context.Context, operator string, epoch, interval int64) ([]Report, error)
	// ReportData returns a report as it was given. ErrNotFound, also when it was
	// replaced or removed.
	ReportData(ctx context.Context, operator string, revision int64) ([]byte, error)
	// KeptReports lists all reports that are kept of an operator, oldest first. ErrNotFound when
	// there is no such operator.
	KeptReports(ctx context.Context, operator string) ([]Report, error)
}

// Routers are the routers that end the messages of a pending plan by markers.
type Routers interface {
	// RegisterRouter registers a router until at+lease: a new one, or, with the next epoch,
	// one that is there already. With an epoch it extends the lease of that registration,
	// also of one that has run out: ErrRouterFenced, if it is not the router's last one.
	// created tells whether the router was not there before. ErrNotFound when there is no
	// such operator.
	RegisterRouter(ctx context.Context, operator, router string, epoch *int64, lease time.Duration, at time.Time) (
		r Router, created bool, err error)
	// Routers lists the routers of an operator in ascending byte order of their names,
	// those with leases that have run out included. ErrNotFound when there is no such operator.
	Routers(ctx context.Context, operator string) ([]Router, error)
	// DeleteRouter removes a router. ErrNotFound, also when there is no such operator;
	// ErrRouterAwaited as long as a plan that is being applied or aborted has it in Routers.
	DeleteRouter(ctx context.Context, operator, router string) error
}

// Plans are the plans as they are made and kept; [Lifecycle] takes them on.
type Plans interface {
	// FindPlan returns the plan of this operator, epoch, interval and
	// fingerprint, unless it has [Status.Ended], or leaves an interval open that has
	// another one now. ErrNotFound.
	FindPlan(ctx context.Context, operator string, epoch, interval int64, fingerprint string) (Plan, error)
	// CheckInterval reports whether a new plan of this interval may be created:
	// ErrNotFound, ErrFenced, ErrIntervalPlanned, ErrIntervalOutdated. CreatePlan
	// decides again; this spares the work.
	CheckInterval(ctx context.Context, operator string, epoch, interval int64) error
	// CreatePlan stores a plan with status no_action, proposed or approved, or, with
	// status committed, commits it at once. If FindPlan finds a plan with the same
	// operator, epoch, interval and fingerprint, that one is returned and created
	// is false. by becomes the first transition; its From and To are set by the
	// store, as are the plan's Version, ResolvedKeys, Executor, Routers, BatchesDone,
	// Stopping and Acked; ExpiresAt
	// is kept of a plan that is proposed or approved, WaitsFor of a proposed one only,
	// LeavesOpen of one that is no_action;
	// SupersededBy, ApprovedBy, Latest and LimitsChanged are set by the store. A lower epoch than the newest is fenced, a
	// higher one begins its intervals anew. A plan with Undo is refused for no interval and
	// begins none. Of approved plans one
	// waits to be applied, the newest: it supersedes the one before. Of
	// proposed ones there is one. Refusals, the first that applies: ErrNotFound,
	// ErrFenced, ErrIntervalPlanned (unless the interval's plans have all
	// [Status.Ended], leave it open or are replaced), ErrIntervalOutdated, ErrConfigurationChanged, ErrBaseChanged,
	// ErrReportsChanged (a plan made of reports, when Reports would now return
	// others), and, unless the plan is no_action, ErrPlanInFlight and ErrPlanPending
	// (with PendingKeep; with PendingReplace the proposed plan is superseded);
	// ErrTransition for any other status. Of the reports of earlier intervals only the
	// last of each instance is kept, of lower epochs none. A plan of classes that
	// needs a resolution cannot be created committed: ErrUnresolved.
	CreatePlan(ctx context.Context, plan NewPlan, by Transition) (p Plan, created bool, err error)
	// Plan returns one plan. ErrNotFound, ErrPurged.
	Plan(ctx context.Context, id string) (Plan, error)
	// Plans lists plans, newest first, without what grows with the operator: their
	// Instances, HotKeys, Splits, Resources, Reports, Routers, Batches, Awaited and Acked are nil, Plan has
	// them. next is the cursor of the following page, 0 after the last. ErrNotFound when there is no such operator.
	Plans(ctx context.Context, f PlanFilter) (plans []Plan, next int64, err error)
	// Changes returns what the plan does to the table, in ascending bytes of the
	// keys; nothing as long as a plan of classes is not resolved. ErrNotFound,
	// ErrPurged.
	Changes(ctx context.Context, plan string) ([]Change, error)
	// Migrations returns the plan's migrations as they were given. ErrNotFound, ErrPurged.
	Migrations(ctx context.Context, plan string) ([]byte, error)
	// Input returns the plan's input as it was given; nil if it was given none.
	// ErrNotFound, ErrPurged.
	Input(ctx context.Context, plan string) ([]byte, error)
	// Absences returns the plan's absences as they were given; nil if it was given none.
	// ErrNotFound, ErrPurged.
	Absences(ctx context.Context, plan string) ([]byte, error)
	// ForecastState returns that of the plan as it was given; nil if it was given none, or
	// it is too old. ErrNotFound, ErrPurged.
	ForecastState(ctx context.Context, plan string) ([]byte, error)
	// Transitions returns the plan's lifecycle so far, oldest first. ErrNotFound, ErrPurged.
	Transitions(ctx context.Context, plan string) ([]Transition, error)
}

// Lifecycle has the verbs of a plan's lifecycle. In the transition that each of them
// records From and To are set by the store. All refuse with ErrNotFound and
// ErrPurged first, then with what a guard says, then with ErrTransition, see
// [Allowed], and then with what is named here, in this order. One that finds the
// plan where it would bring it changes nothing and succeeds.
type Lifecycle interface {
	// ApprovePlan approves a proposed plan, or agrees to the limits of an approved one
	// that have changed. agree tells what else becomes of it. One that several people have to approve
	// stays as it is until as many have: whoever has already changes nothing. ErrUnnamed.
	ApprovePlan(ctx context.Context, id string, agree func(Plan) (Approval, error), by Transition, guards ...PlanGuard) (
		Plan, error)
	// CommentPlan notes what somebody says of a plan, by.Reason, whatever its status. What the same
	// person has said of it already changes nothing. ErrCommented.
	CommentPlan(ctx context.Context, id string, by Transition, guards ...PlanGuard) (Plan, error)
	// RejectPlan ends a proposed plan.
	RejectPlan(ctx context.Context, id string, by Transition, guards ...PlanGuard) (Plan, error)
	// ResolvePlan gives an approved plan of classes its changes. As long as it is
	// approved, a later resolution replaces an earlier one; the same one again
	// changes nothing and succeeds. Of the plan's figures TableAfter and
	// TableWithinLimit become the resolution's, the others stay. ErrTransition also for
	// a plan that is of keys, or with EngineTable: those need none; ErrBaseChanged.
	ResolvePlan(ctx context.Context, id string, r Resolution, by Transition, guards ...PlanGuard) (Plan, error)
	// AwaitInstances has an approved plan wait for instances that waits for none, as a program
	// stored it that did not work out for whom. Other plans stay as they are.
	AwaitInstances(ctx context.Context, id string, instances []int32) error
	// StartPlan says that an executor applies an approved plan. Its Routers are those that
	// the operator has now, and stay so. Other plans stay as
	// they are: the end of this one supersedes them. An executor with a higher epoch
	// takes over a plan that is being applied or aborted, whose status stays; the one
	// that has it may start it again. ErrTransition also for any other executor;
	// ErrBaseChanged, ErrUnresolved, ErrPlanInFlight.
	StartPlan(ctx context.Context, id string, executor Executor, by Transition, guards ...PlanGuard) (Plan, error)
	// AckPlan notes that instances have finished their migrations of a batch, from 1; that of
	// a plan that is handed over at once is 1. An instance that
	// has done so before stays noted as it was. Once none of Awaited is missing, the
	// batch is committed in the same transaction, and with the last one the plan;
	// committed tells whether this call made a version of the table.
	// Acks of what was committed meanwhile change nothing and succeed. ErrTransition also
	// for a batch that has not begun. ErrNotAwaited; and those of CommitPlan.
	AckPlan(
		ctx context.Context, id string, batch int64, instances []int32, by Transition, keep Retention, guards ...PlanGuard,
	) (p Plan, committed bool, err error)
	// CommitPlan makes the table of an approved plan, or of one that is being applied,
	// the operator's, under the plan's configuration version, and supersedes the
	// operator's other plans that are approved or proposed. committed tells whether
	// this call did it. ErrAcksMissing (of a plan that is being applied),
	// ErrBaseChanged, ErrUnresolved (a plan of classes without a resolution, unless it
	// has EngineTable), ErrPlanInFlight.
	CommitPlan(ctx context.Context, id string, to Transition, keep Retention, guards ...PlanGuard) (p Plan,
		committed bool, err error)
	// StopPlan has a plan that is being applied end, committed, with the batch that is being
	// handed over.
	StopPlan(ctx context.Context, id string, by Transition, guards ...PlanGuard) (Plan, error)
	// AbortPlan gives an approved plan up. One that is being applied is first aborting:
	// no ack counts any more, and its engine takes the state back. Once the engine says
	// so by rolledBack, the plan is aborted. That makes a new table version with the same
	// entries, so that statistics which were taken while state was on its way are of an
	// older one, and supersedes the operator's other plans that are approved or
	// proposed. With rolledBack, ErrTransition also for a plan that is being applied:
	// its acks counted until now.
	AbortPlan(ctx context.Context, id string, rolledBack bool, to Transition, guards ...PlanGuard) (Plan, error)
	// Expire writes down what has expired by then, in one transaction for each
	// operator, and returns the number of plans. Nobody needs to call it: it keeps
	// histories complete where nothing else happens.
	Expire(ctx context.Context, at time.Time) (n int, err error)
}

// IdempotencyKeys are the requests that are carried out once, however often they come.
type IdempotencyKeys interface {
	// BeginIdempotent begins a request under a key. Either the caller now holds the
	// key until at+lease, and goes on to the method whose [Completion] has the claim's
	// Token; or the claim is Done, with the answer that an earlier request was given.
	// A lease that ran out is as good as none. ErrIdempotencyMismatch,
	// ErrIdempotencyRunning.
	BeginIdempotent(ctx context.Context, i Idempotency, lease time.Duration, at time.Time) (Claim, error)
	// ExtendIdempotent lets a request that is still being worked on hold its key until
	// at+lease. It does so too when the lease ran out and nobody took the key over; else
	// ErrIdempotencyLost.
	ExtendIdempotent(ctx context.Context, i Idempotency, token string, lease time.Duration, at time.Time) error
	// FinishIdempotent gives the answer to a request that had nothing to change.
	// ErrIdempotencyLost.
	FinishIdempotent(ctx context.Context, i Idempotency, token string, status int, answer []byte) error
	// ReleaseIdempotent gives a key back whose request failed. It changes nothing if
	// the caller no longer holds it, or the request is done.
	ReleaseIdempotent(ctx context.Context, i Idempotency, token string) error
	// Answers lists what is kept under the keys that come after one, of which there are at most
	// limit; nil comes before all. A request that has no answer yet has an empty one.
	Answers(ctx context.Context, after []byte, limit int) ([]KeptAnswer, error)
}

// Webhooks are the receivers that are told what happens, and the outbox of what they have yet to get. As long
// as there is a receiver, each step that changes the status of a plan, but for its birth with nothing to do, is
// announced in the transaction that takes it.
type Webhooks interface {
	// HoldReceiver says that there is a receiver, and has holder deliver to it until at+lease, unless
	// another one does. held tells which.
	HoldReceiver(ctx context.Context, receiver, holder string, lease time.Duration, at time.Time) (held bool, err error)
	// PendingEvents returns the oldest events that a receiver has not got, at most so many and those of each
	// operator in their order. Of an operator with one that is delayed beyond at there are none.
	PendingEvents(ctx context.Context, receiver string, most int, at time.Time) ([]WebhookEvent, error)
	// RemoveEvents removes events that were delivered, by their Seq.
	RemoveEvents(ctx context.Context, seqs []int64) error
	// DelayEvent notes that an event could not be delivered, and is to be tried again then.
	DelayEvent(ctx context.Context, seq int64, until time.Time) error
	// Announce writes an event for all receivers, once for each ID. Of a plan, it does so only as long as the
	// plan is in that status. announced tells whether it did.
	Announce(ctx context.Context, e WebhookEvent, status Status) (announced bool, err error)
	// Receivers tells how the receivers stand, by their names.
	Receivers(ctx context.Context) ([]Receiver, error)
	// WaitingPlans lists the plans that are proposed or approved at that time, oldest first, as Plans does.
	WaitingPlans(ctx context.Context, at time.Time) ([]WaitingPlan, error)
}

// Form is what programs must know to do right by what is stored: the version of the schema that
// brought it.
type Form int64

// The forms. Each program knows those before the ones that it knows.
const (
	FormReports   Form = 15 // reports of other things than keys; windows and phases in configurations
	FormNamedKeys Form = 16 // keys that are named beside compact records, in reports, inputs and plans
	FormReviews   Form = 21 // several approvers, and start windows in configurations
	FormRouting   Form = 23 // keys that stay together, rules of placement and cordons, in configurations
	FormResources Form = 24 // resources in configurations, and amounts of them in reports and inputs
)

// Maintenance is what concerns the whole database.
type Maintenance interface {
	// RequireForms has programs refuse to serve from now on that do not know a form: they would take
	// what has it for damaged, or pass over it. Who stores such a thing has called it before.
	RequireForms(ctx context.Context, form Form) error
	// Tidy removes what need not be kept any longer, and gives the space of what was
	// removed back to the system.
	Tidy(ctx context.Context, at time.Time, keep Keep) error
	// VerifyTable reads the routing table of an operator and all its versions, and holds
	// them against their checksums. ErrDamaged, ErrNotFound.
	VerifyTable(ctx context.Context, operator string) error
	// NoticeDamage returns what it is given. If that is ErrDamaged, as a caller cannot read
	// what it once had stored, every method that writes fails with it from now on.
	NoticeDamage(ctx context.Context, damage error) error
	// Now is the time by the store's clock, which is the same for all processes that use
	// the store: callers hand in times of this clock, and not of their own.
	// ErrUnavailable.
	Now(ctx context.Context) (time.Time, error)
	// Ready reports whether the store can be reached and written, and has a schema that
	// this program may serve. ErrUnavailable, ErrOutdated.
	Ready(ctx context.Context) error
}

// Migrator changes the schema of a store.
type Migrator interface {
	// Up applies all migrations that are missing and returns the new version.
	Up(ctx context.Context) (int64, error)
	// Down takes back the newest migration and returns the new version; without
	// any it returns 0.
	Down(ctx context.Context) (int64, error)
	// Status returns the version that the database has and the newest known.
	Status(ctx context.Context) (current, latest int64, err error)
	// Count returns how many operators and plans the database holds, whatever
	// version its schema has.
	Count(ctx context.Context) (operators, plans int, err error)
}
