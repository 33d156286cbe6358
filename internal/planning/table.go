package planning

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/store"
)

// tableScheme places keys by a hash function and a routing table of exceptions.
type tableScheme struct{}

func (tableScheme) read(ctx context.Context, r *reading.Reader, b *base) (err error) {
	b.changed = !operator.SamePlacement(b.pinned.Configuration, b.newest.Configuration)
	if b.filling, err = toFill(ctx, r, b); b.engineHolds() || err != nil {
		return err
	}
	if b.table, err = r.RoutingTable(ctx, b.op); err != nil {
		return err
	}
	b.pinned = b.pinned.Knowing(b.table)
	return nil
}

func (tableScheme) admit(b *base, st *Statistics) error {
	committed := b.op.TableVersion
	switch {
	case st.outdated(committed) && (st.Records != nil || b.engineHolds()):
		return refusal.New(refusal.TableVersionOutdated,
			fmt.Sprintf(
				"The statistics are of table version %d, and nothing else tells where keys are; the committed one is %d.",
				*st.TableVersion, committed))
	case st.Partial && b.changed:
		return refusal.New(refusal.CompleteCoverageRequired,
			"The instances or the hash function changed since the routing table was committed: partial statistics do not tell "+
				"what moves.")
	}
	return cmp.Or(unnamed(b, st), unplaced(b, st))
}

// unnamed refuses statistics in compact form that do not name every key that is split: its
// parts are planned on.
func unnamed(b *base, st *Statistics) error {
	if st.Records == nil || b.table.Size() == int64(b.table.Len()) {
		return nil
	}
	missing, most := st.Records.Unnamed(b.table), 20
	if len(missing) == 0 {
		return nil
	}
	more := ""
	if len(missing) > most {
		more = fmt.Sprintf(" and %d more", len(missing)-most)
	}
	return refusal.New(refusal.KeysNotKnown, "Statistics in compact form have to name the keys that are split, in keys beside "+
		"compact; these are not named: "+strings.Join(missing[:min(len(missing), most)], ", ")+more+".")
}

// unplaced refuses statistics after a change of the hash if a key of theirs may be
// anywhere: neither its row nor the table says where it is, and the hash that was
// committed is the engine's own.
func unplaced(b *base, st *Statistics) error {
	if !b.changed || b.pinned.Model.Hash != nil {
		return nil
	}
	for i := range st.Len() {
		said := st.Instance != nil && st.Instance[i] != planner.NoInstance && !st.outdated(b.op.TableVersion)
		if key := st.Keys.At(i); !said && b.table.Find(key, st.Keys.Hash(i)) < 0 {
			return refusal.New(refusal.HashNotKnown, fmt.Sprintf("The instances or the hash function changed, the one before is the "+
				"engine's own, and neither the statistics nor the routing table say where key %q is.", key))
		}
	}
	return nil
}

func (tableScheme) admitPartial() error { return nil }

func (tableScheme) rowHash(p *reading.Placement) planner.HashFunction { return p.Model.Hash }

func (tableScheme) place(b *base) statsio.Place {
	return func(key []byte, hash uint64, home int32) int32 {
		if i := b.table.Find(key, hash); i >= 0 {
			return b.table.At(i).Instance
		}
		switch h := b.pinned.Model.Hash; {
		case b.engineHolds():
			return planner.NoInstance
		case h != nil:
			return instanceBy(h, key, hash)
		case !b.changed:
			return home
		}
		return planner.NoInstance
	}
}

// plan runs the operator's strategy, unless its policy holds it back.
func (tableScheme) plan(ctx context.Context, e *engine, b *base, st *Statistics) (*PlanResult, error) {
	in, err := tableInput(b, st)
	if err != nil {
		return nil, err
	}
	in.foreseen, in.policy = b.foreseen, b.policy()
	if in.since, err = sinceMoved(ctx, e.Reader, b, st); err != nil {
		return nil, err
	}
	out, err := e.run(ctx, b.newest.Strategy, in, st.Over(b.newest.Planned()))
	return concluded(b, out, err)
}

func (tableScheme) noAction(
	ctx context.Context, e *engine, b *base, st *Statistics, cause planner.Cause,
) (*PlanResult, error) {
	in, err := tableInput(b, st)
	if err != nil {
		return nil, err
	}
	p := st.Over(b.newest.Parameters)
	p.Certificate = planner.CertificateOff
	plan, err := e.compute(ctx, planner.Inspect, in.Snapshot, p)
	if err != nil {
		return nil, err
	}
	plan.Strategy, plan.Causes = b.newest.Strategy, []planner.Cause{cause}
	plan.LeaveTable()
	out, err := concluded(b, in.result(plan), nil)
	if f := b.foreseen; f != nil && f.forecast != nil && err == nil {
		still := f.forecast.Predict(in.Snapshot, in.Current, in.Splits, p.ThetaMax)
		out.foresight = f.told(plan, still, still)
	}
	return out, err
}

// tableInput is what a plan of a routing table is made of.
func tableInput(b *base, st *Statistics) (*planInput, error) {
	from := planner.Base{
		Configuration: b.pinned.Model, Table: b.table, Filling: b.filling,
		Kept: b.absent(st).Kept(b.newest.EntryGrace), HashChanged: b.changed,
		IgnoreInstances: st.outdated(b.op.TableVersion), PinHomeless: true, Stop: b.stop,
		PartsExpire: b.newest.Splitting.Expires(),
	}
	var err error
	if st.Records == nil && b.engineHolds() && b.changed {
		if from.Table, err = enginesTable(b, st); err != nil {
			return nil, err
		}
	}
	in, err := newPlanInput(st, b.newest.Model, from)
	var input *planner.InputError
	if errors.As(err, &input) && st.foreseen != nil && input.Row >= st.Len() { // what was possible once no longer is
		st.foreseen = st.foreseen.Named()
		b.foreseen.forecast = st.foreseen
		return newPlanInput(st, b.newest.Model, from)
	}
	return in, err
}

// enginesTable is the table that the engine must hold before the hash changes: an
// entry for every key that is elsewhere than the committed hash puts it. Where that
// hash is the engine's own the table is empty; the plan then sets every entry that
// there is to be.
func enginesTable(b *base, st *Statistics) (*planner.RoutingTable, error) {
	var entries []planner.Entry
	if h := b.pinned.Model.Hash; h != nil {
		for i, d := range st.Instance {
			if d == planner.NoInstance {
				continue
			}
			key := st.Keys.At(i)
			home, err := h.Instance(key, st.Keys.Hash(i))
			if err != nil {
				return nil, hashProblem(i, err)
			}
			if d != home {
				entries = append(entries, planner.Entry{Key: key, Instance: d})
			}
		}
	}
	return planner.NewRoutingTable(entries)
}

// concluded finishes what was computed: it corrects the sizes of the table where the
// planner could not know them, and leaves the table alone where there is no reason for another version.
func concluded(b *base, o *PlanResult, err error) (*PlanResult, error) {
	if err != nil {
		return nil, err
	}
	correctSizes(b, o)
	o.leaveIdle()
	return o, nil
}

func correctSizes(b *base, o *PlanResult) {
	switch {
	case o.classes != nil && !b.engineHolds():
		o.TableBefore = b.table.Size()
	case o.classes == nil && b.engineHolds() && b.changed && b.pinned.Model.Hash == nil:
		o.TableBefore = 0
		for i, d := range o.Snapshot.Current {
			if d != o.Snapshot.Hash[i] {
				o.TableBefore++
			}
		}
	default:
		return
	}
	if figures.LeavesAll(o.Causes) || !o.Acts() {
		o.TableAfter = o.TableBefore
		o.TableWithinLimit = within(o.Options.TableLimit, o.TableAfter)
	}
}

func (tableScheme) migrates(classes bool) Migrates { return migratesKeys(classes) }

func (tableScheme) change(ctx context.Context, r *reading.Reader, p store.Plan) ([]listing.Part, error) {
	changes, err := r.StoredChanges(ctx, p)
	if changes == nil || err != nil {
		return nil, err
	}
	return listing.ChangeParts(changes), nil
}

func (tableScheme) migrations(ctx context.Context, r *reading.Reader, p store.Plan) (listing.Migrations, error) {
	blob, err := r.StoredMigrations(ctx, p)
	if err != nil {
		return nil, err
	}
	return listing.Decode(p.ID, blob)
}

func (tableScheme) refuseTable() error { return nil }

func (tableScheme) table(c operator.Configuration, entries []store.Entry) (TableContent, error) {
	return TableContent{listing.Part{Name: "entries", List: listing.EntriesOf(entries)}, &c.Hash, c.Splitting.Routing}, nil
}

// pending names every key that must be held back while its state moves: those whose
// route changes, and drifted ones that move to where they are routed already. After a
// change of the hash routers compare the routes themselves, so that only the latter count
// beside the entries.
func (s tableScheme) pending(ctx context.Context, r *reading.Reader, in pendingPlan) ([]listing.Part, *operator.Hash, error) {
	if in.Plan.BatchCount > 0 {
		return listing.ChangeParts(in.withHeld()), &in.target.Hash, nil
	}
	if in.Plan.DriftedKeys == 0 && !hidesDrift(in) {
		return listing.ChangeParts(in.Changes), &in.target.Hash, nil
	}
	moved, err := s.migrations(ctx, r, in.Plan)
	if err != nil {
		return nil, nil, err
	}
	all, named := namedMigrations(moved)
	if !named {
		return listing.ChangeParts(in.Changes), &in.target.Hash, nil
	}
	mayStay, err := mayStay(ctx, r, in)
	if err != nil {
		return nil, nil, err
	}
	held := slices.Clone(in.Changes)
	for i := range all.Len() {
		key, to := all.Key(i), all.Keyless(i).To
		_, changes := slices.BinarySearchFunc(in.Changes, key,
			func(c store.Change, k []byte) int { return bytes.Compare(c.Key, k) })
		if !changes && mayStay(key, to) {
			held = append(held, store.Change{Key: key, Old: store.NoInstance, New: to})
		}
	}
	slices.SortFunc(held, func(a, b store.Change) int { return bytes.Compare(a.Key, b.Key) })
	held = slices.CompactFunc(held, func(a, b store.Change) bool { return bytes.Equal(a.Key, b.Key) })
	return listing.ChangeParts(held), &in.target.Hash, nil
}

// namedMigrations are those of keys; false: none has a name.
func namedMigrations(m listing.Migrations) (listing.KeyMigrations, bool) {
	if items, is := m.(listing.ItemMigrations); is {
		return items.Named, true
	}
	keys, is := m.(listing.KeyMigrations)
	return keys, is
}

// hidesDrift reports whether nobody knows which keys are drifted: under the engine's own
// hash that shows only while the rows tell what it says.
func hidesDrift(in pendingPlan) bool {
	return in.now.Hash.Function == partitioner.Reported && !operator.SamePlacement(in.now, in.target)
}

// mayStay tells of keys without a change of their entry that go to an instance whether
// they may be routed there already. The engine's own hash leaves that open.
func mayStay(ctx context.Context, r *reading.Reader, in pendingPlan) (func(key []byte, to int32) bool, error) {
	anyway := func([]byte, int32) bool { return true }
	if operator.SamePlacement(in.now, in.target) {
		return anyway, nil
	}
	now, err := r.Hash(ctx, in.now)
	if err != nil {
		return nil, err
	}
	next, err := r.Hash(ctx, in.target)
	if err != nil {
		return anyway, err
	}
	return mayStayBetween(now, next), nil
}

// mayStayBetween is mayStay where one hash function takes the place of another.
func mayStayBetween(now, next planner.HashFunction) func(key []byte, to int32) bool {
	return func(key []byte, to int32) bool {
		if now == nil || next == nil {
			return true
		}
		hash := planner.KeyHash(key)
		return instanceBy(next, key, hash) != to || // it has an entry
			instanceBy(now, key, hash) == to
	}
}

// changesTell: of whole tables only it is said how parts are chosen.
func (tableScheme) changesTell(then, now operator.Configuration) bool {
	return operator.SamePlacement(then, now) && then.Splitting.Routing == now.Splitting.Routing
}

func (tableScheme) countsEntries() bool { return true }

func (tableScheme) route(ctx context.Context, r *reading.Reader, op store.Operator, key []byte, entry *store.Entry) (
	Route, error,
) {
	if entry != nil && entry.Parts == "" {
		return Route{Instance: entry.Instance, Source: "table", Version: op.TableVersion}, nil
	}
	pinned, err := r.Pinned(ctx, op)
	if err != nil {
		return Route{}, err
	}
	if entry != nil {
		parts, err := figures.DecodeParts(entry.Parts)
		return Route{
			Instance: entry.Instance, Parts: parts, Routing: pinned.Splitting.Routing, Source: "table",
			Version: op.TableVersion,
		}, err
	}
	if pinned.Model.Hash == nil {
		return Route{}, refusal.New(refusal.HashNotKnown,
			"The key has no entry in the routing table, and the hash function is the engine's own.")
	}
	id, err := pinned.Model.Hash.Instance(key, planner.KeyHash(key))
	if err != nil {
		return Route{}, hashProblem(-1, err)
	}
	return Route{Instance: id, Source: "hash", Version: op.TableVersion}, nil
}
