package scheme

import (
	"bytes"
	"context"
	"slices"

	"plannerd/internal/absence"
	"plannerd/internal/input/merging"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/planner"
	"plannerd/store"
)

// Scheme is a way to say where every key belongs: a routing table, a ring, ranges or
// candidates. It has no state. Who adds one implements the three interfaces, gives package
// operator the form of its configuration, and enters it in package schemes.
type Scheme interface {
	Placing
	Planning
	Telling
}

// Placing is where keys are under a scheme, as the committed table and statistics say.
type Placing interface {
	// Read reads what a plan starts from into b, whose operator and configurations are there
	// already: the table or the layout, and whether they change.
	Read(ctx context.Context, r *reading.Reader, b *Base) error
	// Admit refuses statistics that no plan can be made of, with a refusal or an input error.
	Admit(b *Base, st *Statistics) error
	// AdmitPartial refuses statistics that do not name all keys; nil: they are enough.
	AdmitPartial() error
	// RowHash is what the keys of a report are checked with; nil: nothing.
	RowHash(p *reading.Placement) planner.HashFunction
	// Place returns where the committed table, else the committed hash puts keys.
	Place(b *Base) merging.Place
	// Route says where the committed table puts a key; entry is that of the key, nil:
	// it has none.
	Route(ctx context.Context, r *reading.Reader, op store.Operator, key []byte, entry *store.Entry) (Route, error)
}

// Planning is how plans are made under a scheme.
type Planning interface {
	// Plan makes a plan that no other one is in the way of. It takes a slot of the engine, and
	// ends in its time.
	Plan(ctx context.Context, e *Engine, b *Base, st *Statistics) (*Result, error)
	// NoAction is the plan that leaves everything where it is, for that cause.
	NoAction(ctx context.Context, e *Engine, b *Base, st *Statistics, cause planner.Cause) (*Result, error)
	// Evaluate works out what a stored plan comes to under other statistics than it was
	// made of, those that now was made of; nil when that cannot be told.
	Evaluate(ctx context.Context, e *Engine, b *Base, st *Statistics, now *Result,
		other store.Plan) (*planner.Plan, error)
}

// Telling is what is said of stored plans and of tables under a scheme.
type Telling interface {
	// Migrates is what the migrations of a plan are.
	Migrates(classes bool) Migrates
	// Change reads what a stored plan does to the table; nil: that is not known.
	Change(ctx context.Context, r *reading.Reader, p store.Plan) ([]listing.Part, error)
	// Migrations reads the migrations of a stored plan.
	Migrations(ctx context.Context, r *reading.Reader, p store.Plan) (listing.Migrations, error)
	// RefuseTable refuses what needs plans of a routing table, where there is none.
	RefuseTable() error
	// Table describes a version of the committed table.
	Table(c operator.Configuration, entries []store.Entry) (TableContent, error)
	// Pending describes what a plan that is being carried out will make of the table, and
	// the hash function that will place keys without an entry; nil: there is none.
	Pending(ctx context.Context, r *reading.Reader, in PendingPlan) ([]listing.Part, *operator.Hash, error)
	// ChangesTell reports whether the changes of entries tell all that changes between
	// two configurations.
	ChangesTell(then, now operator.Configuration) bool
	// CountsEntries reports whether the size of a table is its number of entries.
	CountsEntries() bool
}

// PendingPlan is a plan that is being carried out, and what it starts from.
type PendingPlan struct {
	store.PendingChange
	Entries     []store.Entry
	Now, Target operator.Configuration // that the committed table pins, and that the plan will pin
}

// TableContent is what a version of a table says.
type TableContent struct {
	listing.Part
	Hash *operator.Hash // that places keys without an entry; nil: there is none
	// Routing is how routers choose among the parts of split keys.
	Routing parameters.Routing
}

// Route is where a key goes.
type Route struct {
	Instance int32
	Source   string // that says so: "table", "hash", "ring", "range" or "candidates"
	Version  int64  // of the table
	// RoutedKey is the part of the key that decides; nil: it is the key.
	RoutedKey []byte
	// Parts are where a split key goes, each with its weight; nil: it is whole.
	Parts   []planner.Part
	Routing parameters.Routing // how routers choose among Parts
	// Candidates are all that the key may go to, Instance first; nil: it goes to one.
	Candidates []int32

	Rule      string // that says which instances may have the key; "": none does
	Misplaced bool   // the instance is none of them

	Pins int64 // the version of the configuration that the table pins
}

// Has reports whether the key goes to an instance.
func (r Route) Has(instance int32) bool {
	return r.Instance == instance || slices.Contains(r.Candidates, instance) ||
		slices.ContainsFunc(r.Parts, func(p planner.Part) bool { return p.Instance == instance })
}

// Base is what a plan of an operator starts from.
type Base struct {
	Op       store.Operator
	Newest   *reading.Placement    // what is planned for
	Pinned   *reading.Placement    // what the committed table was committed under
	Table    *planner.RoutingTable // nil: the engine holds it, or the scheme has none
	Absences absentKeys
	Changed  bool    // pinned and newest place some key differently
	Filling  []int32 // ids of instances that are to be filled
	// Lost are the ids of instances that are gone, as their leases have run out; newest is
	// without them. takesOver: some of them own something, and nothing else has changed.
	Lost      []int32
	TakesOver bool
	// Under the schemes without a routing table the layout is what the entries that the
	// store holds say.
	Layout Layout
	Stored []store.Entry
	// Before is the newest plan of another interval whose statistics were not too small;
	// nil: there is none.
	Before *store.Plan
	// Foreseen is nil where nobody looks ahead.
	Foreseen *Foreseen
	// Stop reports whether nobody waits for the plan any more.
	Stop func() bool
}

// EngineHolds reports whether the engine holds the routing table.
func (b *Base) EngineHolds() bool { return b.Newest.TableOwner == operator.OwnerEngine }

// Regrouped reports whether keys have other routed keys than by the committed table.
func (b *Base) Regrouped() bool { return b.Pinned.Hash.Affinity != b.Newest.Hash.Affinity }

// Ended reports whether a call has ended.
func Ended(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }

// InstanceBy is where a hash function puts a key, NoInstance if it cannot.
func InstanceBy(h planner.HashFunction, key []byte, hash uint64) int32 {
	id, err := h.Instance(key, hash)
	if err != nil {
		return planner.NoInstance
	}
	return id
}

// Unevaluated takes it that statistics which do not fit another plan's configuration
// tell nothing about it: they fit the newest.
func Unevaluated(err error) error {
	if operator.IsInputError(err) {
		return nil
	}
	return err
}

// TermsOf are the configuration and the parameters that a stored plan was made under.
func TermsOf(ctx context.Context, r *reading.Reader, p store.Plan) (*reading.Placement, operator.Parameters, error) {
	under, err := reading.ParametersOf(p)
	if err != nil {
		return nil, under, err
	}
	config, err := r.Placement(ctx, p.Operator, p.ConfigVersion)
	return config, under, err
}

// HashProblem points an error of a hash function at the key of a row.
func HashProblem(row int, err error) error {
	return planner.InvalidRow(row, "key", err.Error())
}

// WithHeld are the changes of the batch that is handed over, and the keys that are held back
// besides.
func (in PendingPlan) WithHeld() []store.Change {
	all := slices.Concat(in.Changes, in.Held)
	slices.SortFunc(all, func(x, y store.Change) int { return bytes.Compare(x.Key, y.Key) })
	return all
}

// InstanceSet has the ids of instances.
func InstanceSet(instances []operator.Instance) map[int32]bool {
	out := make(map[int32]bool, len(instances))
	for _, d := range instances {
		out[d.ID] = true
	}
	return out
}

// absentKeys are the absences that a plan starts from. counted: they include those of its
// interval.
type absentKeys struct {
	Before  absence.Counts
	Counted bool
}

// Absent is what the statistics say about the keys of the table that they do not name.
func (b *Base) Absent(st *Statistics) absence.Interval {
	i := absence.Interval{Before: b.Absences.Before, Table: b.Table}
	if !b.Absences.Counted && st.Records == nil && !st.Outdated(b.Op.TableVersion) {
		i.Statistics = st.Statistics
	}
	return i
}

// AbsencesIn counts those of an interval for the next one. Records name no keys.
func (b *Base) AbsencesIn(st *Statistics, s *planner.Snapshot) absence.Counts {
	if st.Records != nil {
		return b.Absent(st).After(nil)
	}
	return b.Absent(st).After(s.Entry[:min(st.Len(), len(s.Entry))])
}

// Layout is what a version of the table says under a scheme without a routing
// table: where every key belongs. The store keeps it as entries, so that
// versions, differences and history are those of routing tables.
type Layout interface {
	// Placed returns what places keys by it; ready to place many.
	Placed() planner.HashFunction
	// Size is the number of tokens, of ranges, or of keys of the head.
	Size() int64
	// Nobody reports whether no key has an instance.
	Nobody() bool
	// Entries is what the store keeps, in ascending order.
	Entries() []store.Entry
	// Ids are the instances that have a part in it.
	Ids() map[int32]bool
	// Part is the layout as answers list it.
	Part() listing.Part
	// Unchanged is what a plan changes that leaves it as it is.
	Unchanged() listing.LayoutDiff
}
