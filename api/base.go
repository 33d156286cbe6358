package api

import (
	"context"
	"fmt"

	"plannerd/api/wire"
	"plannerd/compact"
	"plannerd/internal/admission"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

// base is what a plan of an operator starts from.
type base struct {
	op      store.Operator
	newest  *placement            // what is planned for
	pinned  *placement            // what the committed table was committed under
	table   *planner.RoutingTable // nil: the engine holds it
	changed bool                  // pinned and newest place some key differently
	// Under the schemes ring and ranges there is no routing table: the layout is
	// what the entries that the store holds say.
	layout layout
	stored []store.Entry
	// stop reports whether nobody waits for the plan any more.
	stop func() bool
}

// loadBase reads what a plan of the operator starts from, into memory that the
// lease holds.
func (s *server) loadBase(ctx context.Context, operator string, memory *admission.Lease) (*base, error) {
	op, err := s.store.Operator(ctx, operator)
	if err != nil {
		return nil, aboutOperator(operator, err)
	}
	if err := holdTable(memory, op); err != nil {
		return nil, err
	}
	b := &base{op: op, stop: ended(ctx)}
	if b.newest, err = s.placement.get(ctx, op.Config); err != nil {
		return nil, err
	}
	if b.pinned, err = s.pinned(ctx, op); err != nil {
		return nil, err
	}
	if b.newest.Scheme != wire.SchemeTable {
		table, err := s.committed(ctx, op)
		if err != nil {
			return nil, err
		}
		err = b.readScheme(table)
		return b, err
	}
	b.changed = !samePlacement(b.pinned.configuration, b.newest.configuration)
	if b.engineHolds() {
		return b, nil
	}
	b.table, err = s.table(ctx, op)
	return b, err
}

// committed reads the committed routing table of an operator as it was read.
func (s *server) committed(ctx context.Context, op store.Operator) (store.Table, error) {
	table, err := s.store.Table(ctx, op.Name, nil)
	if err == nil && table.Version != op.TableVersion {
		err = fmt.Errorf("reading operator %s: %w: %w", op.Name, errOvertaken, store.ErrBaseChanged)
	}
	return table, aboutOperator(op.Name, err)
}

// tableKey names a version of a routing table, which never changes.
type tableKey struct {
	operator string
	version  int64
}

// maxTableBytes is about how much memory the routing tables that are kept may
// take at most, in bytes.
const maxTableBytes = 64 << 20

// table is the committed routing table as the planner takes it.
func (s *server) table(ctx context.Context, op store.Operator) (*planner.RoutingTable, error) {
	key := tableKey{op.Name, op.TableVersion}
	if t, ok := s.tables.get(key); ok {
		return t, nil
	}
	table, err := s.committed(ctx, op)
	if err != nil {
		return nil, err
	}
	t, err := plannerTable(table.Entries)
	if err != nil {
		return nil, fmt.Errorf("reading a stored routing table: %w", err)
	}
	s.tables.put(key, t)
	return t, nil
}

// pinned returns the configuration that the committed table pins.
func (s *server) pinned(ctx context.Context, op store.Operator) (*placement, error) {
	text := op.Config
	if op.TableConfigVersion != op.ConfigVersion {
		c, err := s.store.Configuration(ctx, op.Name, op.TableConfigVersion)
		if err != nil {
			return nil, aboutOperator(op.Name, err)
		}
		text = c.Config
	}
	return s.placement.get(ctx, text)
}

func plannerTable(entries []store.Entry) (*planner.RoutingTable, error) {
	list := make([]planner.Entry, len(entries))
	for i, e := range entries {
		list[i] = planner.Entry(e)
	}
	return planner.NewRoutingTable(list)
}

// engineHolds reports whether the engine holds the routing table.
func (b *base) engineHolds() bool { return b.newest.TableOwner == wire.Engine }

// admit refuses statistics that do not fit the table and the configuration.
func (b *base) admit(in *statistics) error {
	committed := b.op.TableVersion
	switch {
	case in.ahead(committed):
		return tableAhead(*in.tableVersion, committed)
	case b.layout != nil:
		return b.admitScheme(in)
	case in.outdated(committed) && (in.records != nil || b.engineHolds()):
		return conflict(wire.CodeTableVersionOutdated,
			fmt.Sprintf("The statistics are of table version %d, and nothing else tells where keys are; the committed one is %d.", *in.tableVersion, committed))
	case in.Partial && b.changed:
		return conflict(wire.CodeCompleteCoverageRequired,
			"The instances or the hash function changed since the routing table was committed: partial statistics do not tell what moves.")
	}
	return nil
}

// ahead reports whether the statistics are of a newer table than the committed one.
func (st *statistics) ahead(version int64) bool {
	return st.tableVersion != nil && *st.tableVersion > version
}

func tableAhead(said, committed int64) error {
	return conflict(wire.CodeTableVersionAhead, fmt.Sprintf("The statistics are of table version %d; the committed one is %d.", said, committed))
}

// outdated reports whether the rows' instances are older than the table.
func (st *statistics) outdated(version int64) bool {
	return st.tableVersion != nil && *st.tableVersion < version
}

// material is what a plan of the operator is made of.
func (b *base) material(in *statistics) (*material, error) {
	from := planner.Base{
		Configuration: b.pinned.planner, Table: b.table, HashChanged: b.changed, IgnoreInstances: in.outdated(b.op.TableVersion),
		Stop: b.stop,
	}
	switch {
	case in.records != nil && !b.engineHolds():
		from.Retained = b.retained(in.records)
	case in.records == nil && b.engineHolds() && b.changed:
		var err error
		if from.Table, err = b.enginesTable(in); err != nil {
			return nil, err
		}
	}
	return newMaterial(in, b.newest.planner, from)
}

// retained is the number of entries of the committed table that cannot be those
// of the keys that records count: keys that nobody can name, so they stay. When
// the hash changes none does, as every key that needs an entry is named then.
func (b *base) retained(st *compact.Statistics) int64 {
	if b.changed {
		return 0
	}
	n := int64(b.table.Len())
	for _, r := range st.Records {
		if r.Current != r.Hash {
			if n -= r.Count; n <= 0 {
				return 0
			}
		}
	}
	return n
}

// enginesTable is the table that the engine must hold before the hash changes: an
// entry for every key that is elsewhere than the committed hash puts it. Where
// that hash is the engine's own the table is empty; the plan then sets every
// entry that there is to be.
func (b *base) enginesTable(in *statistics) (*planner.RoutingTable, error) {
	var entries []planner.Entry
	if h := b.pinned.planner.Hash; h != nil {
		for i, d := range in.Instance {
			if d == planner.NoInstance {
				continue
			}
			key := in.Keys.At(i)
			home, err := h.Instance(key, in.Keys.Hash(i))
			if err != nil {
				return nil, &planner.InputError{Row: i, Field: "key", Detail: err.Error()}
			}
			if d != home {
				entries = append(entries, planner.Entry{Key: key, Instance: d})
			}
		}
	}
	return planner.NewRoutingTable(entries)
}

// size corrects the sizes of the table where the planner could not know it.
func (b *base) size(o *outcome) {
	switch {
	case o.shift != nil:
		return
	case o.classes != nil && !b.engineHolds():
		o.TableBefore = int64(b.table.Len())
	case o.classes == nil && b.engineHolds() && b.changed && b.pinned.planner.Hash == nil:
		o.TableBefore = 0
		for i, d := range o.Snapshot.Current {
			if d != o.Snapshot.Hash[i] {
				o.TableBefore++
			}
		}
	default:
		return
	}
	if untouched(o.Causes) || len(o.Moves) == 0 && !b.changed {
		o.TableAfter = o.TableBefore
		o.TableWithinLimit = o.Options.TableLimit == nil || o.TableAfter <= *o.Options.TableLimit
	}
}

// ended reports whether a request has ended.
func ended(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }

// lastingMigrations returns the migrations of a plan as the store keeps them. The
// moves of classes have those beside them that stay and need an entry, where the
// hash changes: these must be named too.
func (b *base) lastingMigrations(o *outcome) []byte {
	switch {
	case o.shift != nil:
		return o.shift.encode()
	case o.classes == nil:
		return statsio.EncodeMigrations(o.Plan)
	}
	named := o.classes.Moves(o.Plan)
	if b.changed && !b.engineHolds() {
		named = compact.Merge(append(named, o.stays()...))
	}
	return statsio.EncodeClassMoves(named)
}

// lastingInput returns the statistics as the store keeps them; nil when it is to
// keep none, or nobody waits for the plan any more.
func (b *base) lastingInput(in *statistics) []byte {
	switch {
	case !b.newest.StoreInputs:
		return nil
	case in.records != nil:
		return statsio.EncodeCompact(in.records)
	}
	return statsio.EncodeInputUntil(in.Statistics, b.stop)
}
