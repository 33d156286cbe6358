package planning

import (
	"bytes"
	"context"
	"slices"

	"plannerd/internal/absence"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// scheme is a way to say where every key belongs: a routing table, a ring, ranges or
// candidates.
// Its methods know all that differs between them. They have no state.
type scheme interface {
	// read reads what a plan starts from: the rest of b, whose configurations are there.
	read(ctx context.Context, r *reading.Reader, b *base) error
	// admit refuses statistics that no plan can be made of.
	admit(b *base, st *Statistics) error
	// admitPartial refuses statistics that do not name all keys.
	admitPartial() error
	// rowHash is what the keys of a report are checked with; nil: nothing.
	rowHash(p *reading.Placement) planner.HashFunction
	// place returns where the committed table, else the committed hash puts keys.
	place(b *base) statsio.Place
	// plan makes a plan that no other one is in the way of.
	plan(ctx context.Context, e *engine, b *base, st *Statistics) (*PlanResult, error)
	// noAction is the plan that leaves everything where it is, for that cause.
	noAction(ctx context.Context, e *engine, b *base, st *Statistics, cause planner.Cause) (*PlanResult, error)
	// evaluate works out what a stored plan comes to under other statistics than it was
	// made of, those that now was made of; nil when that cannot be told.
	evaluate(ctx context.Context, e *engine, b *base, st *Statistics, now *PlanResult,
		other store.Plan) (*planner.Plan, error)

	// migrates is what the migrations of a plan are.
	migrates(classes bool) Migrates
	// change reads what a stored plan does to the table; nil: that is not known.
	change(ctx context.Context, r *reading.Reader, p store.Plan) ([]listing.Part, error)
	// migrations reads the migrations of a stored plan.
	migrations(ctx context.Context, r *reading.Reader, p store.Plan) (listing.Migrations, error)
	// refuseTable refuses what needs plans of a routing table, where there is none.
	refuseTable() error

	// table describes a version of the committed table.
	table(c operator.Configuration, entries []store.Entry) (TableContent, error)
	// pending describes what a plan that is being carried out will make of the table, and
	// the hash function that will place keys without an entry; nil: there is none.
	pending(ctx context.Context, r *reading.Reader, in pendingPlan) ([]listing.Part, *operator.Hash, error)
	// changesTell reports whether the changes of entries tell all that changes between
	// two configurations.
	changesTell(then, now operator.Configuration) bool
	// countsEntries reports whether the size of a table is its number of entries.
	countsEntries() bool
	// route says where the committed table puts a key; entry is that of the key, nil:
	// it has none.
	route(ctx context.Context, r *reading.Reader, op store.Operator, key []byte, entry *store.Entry) (Route, error)
}

// pendingPlan is a plan that is being carried out, and what it starts from.
type pendingPlan struct {
	store.PendingChange
	entries     []store.Entry
	now, target operator.Configuration // that the committed table pins, and that the plan will pin
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
	// Parts are where a split key goes, each with its weight; nil: it is whole.
	Parts   []planner.Part
	Routing parameters.Routing // how routers choose among Parts
	// Candidates are all that the key may go to, Instance first; nil: it goes to one.
	Candidates []int32

	pins int64 // the version of the configuration that the table pins
}

// has reports whether the key goes to an instance.
func (r Route) has(instance int32) bool {
	return r.Instance == instance || slices.Contains(r.Candidates, instance) ||
		slices.ContainsFunc(r.Parts, func(p planner.Part) bool { return p.Instance == instance })
}

// base is what a plan of an operator starts from.
type base struct {
	op       store.Operator
	newest   *reading.Placement    // what is planned for
	pinned   *reading.Placement    // what the committed table was committed under
	table    *planner.RoutingTable // nil: the engine holds it, or the scheme has none
	absences absentKeys
	changed  bool    // pinned and newest place some key differently
	filling  []int32 // ids of instances that are to be filled
	// lost are the ids of instances that are gone, as their leases have run out; newest is
	// without them. takesOver: some of them own something, and nothing else has changed.
	lost      []int32
	takesOver bool
	// Under the schemes without a routing table the layout is what the entries that the
	// store holds say.
	layout layout
	stored []store.Entry
	// before is the newest plan of another interval whose statistics were not too small;
	// nil: there is none.
	before *store.Plan
	// foreseen is nil where nobody looks ahead.
	foreseen *foreseen
	// stop reports whether nobody waits for the plan any more.
	stop func() bool
}

// engineHolds reports whether the engine holds the routing table.
func (b *base) engineHolds() bool { return b.newest.TableOwner == operator.OwnerEngine }

// ended reports whether a call has ended.
func ended(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }

// instanceBy is where a hash function puts a key, NoInstance if it cannot.
func instanceBy(h planner.HashFunction, key []byte, hash uint64) int32 {
	id, err := h.Instance(key, hash)
	if err != nil {
		return planner.NoInstance
	}
	return id
}

// unevaluated takes it that statistics which do not fit another plan's configuration
// tell nothing about it: they fit the newest.
func unevaluated(err error) error {
	if operator.IsInputError(err) {
		return nil
	}
	return err
}

// termsOf are the configuration and the parameters that a stored plan was made under.
func termsOf(ctx context.Context, r *reading.Reader, p store.Plan) (*reading.Placement, operator.Parameters, error) {
	under, err := reading.ParametersOf(p)
	if err != nil {
		return nil, under, err
	}
	config, err := r.Placement(ctx, p.Operator, p.ConfigVersion)
	return config, under, err
}

// hashProblem points an error of a hash function at the key of a row.
func hashProblem(row int, err error) error {
	return planner.InvalidRow(row, "key", err.Error())
}

// withHeld are the changes of the batch that is handed over, and the keys that are held back
// besides.
func (in pendingPlan) withHeld() []store.Change {
	all := slices.Concat(in.Changes, in.Held)
	slices.SortFunc(all, func(x, y store.Change) int { return bytes.Compare(x.Key, y.Key) })
	return all
}

func instanceSet(instances []operator.Instance) map[int32]bool {
	out := make(map[int32]bool, len(instances))
	for _, d := range instances {
		out[d.ID] = true
	}
	return out
}

// absentKeys are the absences that a plan starts from. counted: they include those of its
// interval.
type absentKeys struct {
	before  absence.Counts
	counted bool
}

// absent is what the statistics say about the keys of the table that they do not name.
func (b *base) absent(st *Statistics) absence.Interval {
	i := absence.Interval{Before: b.absences.before, Table: b.table}
	if !b.absences.counted && st.Records == nil && !st.outdated(b.op.TableVersion) {
		i.Statistics = st.Statistics
	}
	return i
}

// absencesIn counts those of an interval for the next one. Records name no keys.
func (b *base) absencesIn(st *Statistics, s *planner.Snapshot) absence.Counts {
	if st.Records != nil {
		return b.absent(st).After(nil)
	}
	return b.absent(st).After(s.Entry[:min(st.Len(), len(s.Entry))])
}

// layout is what a version of the table says under a scheme without a routing
// table: where every key belongs. The store keeps it as entries, so that
// versions, differences and history are those of routing tables.
type layout interface {
	// placed returns what places keys by it; ready to place many.
	placed() planner.HashFunction
	// size is the number of tokens, of ranges, or of keys of the head.
	size() int64
	// nobody reports whether no key has an instance.
	nobody() bool
	// entries is what the store keeps, in ascending order.
	entries() []store.Entry
	// ids are the instances that have a part in it.
	ids() map[int32]bool
	// part is the layout as answers list it.
	part() listing.Part
	// unchanged is what a plan changes that leaves it as it is.
	unchanged() listing.LayoutDiff
}
