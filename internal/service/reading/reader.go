package reading

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/listing"
	"plannerd/planner"
	"plannerd/store"
)

// Limits of what is kept of immutable things, in bytes.
const (
	maxTableBytes = 64 << 20  // routing tables
	maxMovesBytes = 128 << 20 // lists of migrations: those of a plan of a million keys have room
)

// Reader reads what the store has, and keeps what never changes.
type Reader struct {
	Store      store.Store
	Placements *placementCache
	Tables     *cache[tableKey, *planner.RoutingTable]
	Moves      *cache[string, listing.MoveIndex] // by plan
	form       atomic.Int64                      // programs that do not know this [store.Form] refuse to serve
}

// New returns a reader of a store. What it keeps in memory is a part of room, in bytes. It builds so
// many placements at a time.
func New(from store.Store, room int64, builds int, observer Observer) *Reader {
	build := func(text []byte) (*Placement, error) {
		p, err := buildPlacement(text)
		if err == nil {
			observer.HashBuilt()
		}
		return p, err
	}
	return &Reader{
		Store:      from,
		Placements: newPlacementCache(min(maxPlacementBytes, room/4), builds, build),
		Tables:     newCache[tableKey](int(min(maxTableBytes, room/32)), (*planner.RoutingTable).Bytes),
		Moves:      newCache[string](int(min(maxMovesBytes, room/32)), listing.MoveIndex.Bytes),
	}
}

// tableKey names a version of a routing table. Its number alone does not, as the database may go on
// from an older state and give it again.
type tableKey struct {
	operator, origin string
	version          int64
}

// StoredOperator reads an operator as the store has it.
func (r *Reader) StoredOperator(ctx context.Context, name string) (store.Operator, error) {
	op, err := r.Store.Operator(ctx, name)
	return op, refusal.AboutOperator(name, err)
}

// Plan reads a plan.
func (r *Reader) Plan(ctx context.Context, id string) (store.Plan, error) {
	p, err := r.Store.Plan(ctx, id)
	if err == nil {
		err = SchemeOf(p).Check()
	}
	return p, refusal.AboutPlan(id, err)
}

// SchemeOf is the scheme that a plan was made under.
func SchemeOf(p store.Plan) operator.SchemeName { return operator.SchemeName(p.Scheme) }

// Configuration reads a version of an operator's configuration.
func (r *Reader) Configuration(ctx context.Context, name string, version int64) (operator.Configuration, error) {
	c, err := r.Store.Configuration(ctx, name, version)
	if err != nil {
		return operator.Configuration{}, refusal.AboutOperator(name, err)
	}
	return operator.DecodeConfiguration(c.Config)
}

// Placement returns a version of an operator's configuration, ready to place keys.
func (r *Reader) Placement(ctx context.Context, name string, version int64) (*Placement, error) {
	c, err := r.Store.Configuration(ctx, name, version)
	if err != nil {
		return nil, refusal.AboutOperator(name, err)
	}
	return r.Placements.Get(ctx, c.Config)
}

// Hash is the hash function of a configuration; nil: the engine has its own.
func (r *Reader) Hash(ctx context.Context, c operator.Configuration) (planner.HashFunction, error) {
	text, err := c.Encode()
	if err != nil {
		return nil, err
	}
	p, err := r.Placements.Get(ctx, text)
	if err != nil {
		return nil, err
	}
	return p.Model.Hash, nil
}

// Newest is the placement of an operator's newest configuration.
func (r *Reader) Newest(ctx context.Context, op store.Operator) (*Placement, error) {
	return r.Placements.Get(ctx, op.Config)
}

// Pinned is the placement of the configuration that the committed table pins.
func (r *Reader) Pinned(ctx context.Context, op store.Operator) (*Placement, error) {
	if op.TableConfigVersion == op.ConfigVersion {
		return r.Newest(ctx, op)
	}
	return r.Placement(ctx, op.Name, op.TableConfigVersion)
}

// Committed reads the committed table of an operator as it was read.
func (r *Reader) Committed(ctx context.Context, op store.Operator) (store.Table, error) {
	table, err := r.Store.Table(ctx, op.Name, nil)
	if err == nil && (table.Version != op.TableVersion || table.Origin.String() != op.TableOrigin.String()) {
		err = fmt.Errorf("reading operator %s: %w: %w", op.Name, refusal.ErrOvertaken, store.ErrBaseChanged)
	}
	return table, refusal.AboutOperator(op.Name, err)
}

// RoutingTable is the committed routing table as the planner takes it.
func (r *Reader) RoutingTable(ctx context.Context, op store.Operator) (*planner.RoutingTable, error) {
	key := tableKey{op.Name, op.TableOrigin.String(), op.TableVersion}
	if t, ok := r.Tables.Get(key); ok {
		return t, nil
	}
	table, err := r.Committed(ctx, op)
	if err != nil {
		return nil, err
	}
	t, err := PlannerTable(table.Entries)
	if err != nil {
		return nil, fmt.Errorf("reading a stored routing table: %w", err)
	}
	r.Tables.Put(key, t)
	return t, nil
}

// PlannerTable is a routing table as the planner takes it, made of stored entries.
func PlannerTable(entries []store.Entry) (*planner.RoutingTable, error) {
	list := make([]planner.Entry, len(entries))
	for i, e := range entries {
		parts, err := figures.DecodeParts(e.Parts)
		if err != nil {
			return nil, err
		}
		list[i] = planner.Entry{Key: e.Key, Instance: e.Instance, Parts: parts}
	}
	return planner.NewRoutingTable(list)
}

// StoredChanges returns what a plan does to the table; nil when that is not known.
func (r *Reader) StoredChanges(ctx context.Context, p store.Plan) ([]store.Change, error) {
	if p.Classes && p.ResolvedKeys == nil {
		return nil, nil
	}
	changes, err := r.Store.Changes(ctx, p.ID)
	if changes == nil {
		changes = []store.Change{}
	}
	return changes, refusal.AboutPlan(p.ID, err)
}

// StoredMigrations returns what the store keeps of the migrations of a plan.
func (r *Reader) StoredMigrations(ctx context.Context, p store.Plan) ([]byte, error) {
	blob, err := r.Store.Migrations(ctx, p.ID)
	return blob, refusal.AboutPlan(p.ID, err)
}

// BalancedOf is what is claimed of the balance of a plan; nil: it was made of queue lengths, or
// its loads are expectations, as routers send split keys where they see the least load.
func BalancedOf(p store.Plan) (*bool, error) {
	if figures.MadeOfQueues(p) {
		return nil, nil
	}
	if p.Merges > 0 {
		under, err := ParametersOf(p)
		if err != nil || under.Splitting.Expects(p.Merges) {
			return nil, err
		}
	}
	return &p.Balanced, nil
}

// ParametersOf are the parameters that a stored plan was made under.
func ParametersOf(p store.Plan) (under operator.Parameters, err error) {
	err = json.Unmarshal(p.Parameters, &under)
	return under, store.Unreadable("the parameters of plan "+p.ID, err)
}

// RequireForms has programs refuse to serve that do not know a form.
func (r *Reader) RequireForms(ctx context.Context, form store.Form) error {
	if r.form.Load() >= int64(form) {
		return nil
	}
	if err := r.Store.RequireForms(ctx, form); err != nil {
		return refusal.AboutStore(err)
	}
	r.form.Store(int64(form))
	return nil
}
