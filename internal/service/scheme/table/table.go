package table

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plannerd/internal/input/merging"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/store"
)

// Scheme places keys by a hash function and a routing table of exceptions.
type Scheme struct{}

func (Scheme) Read(ctx context.Context, r *reading.Reader, b *scheme.Base) (err error) {
	b.Changed = !operator.SamePlacement(b.Pinned.Configuration, b.Newest.Configuration)
	if b.Filling, err = toFill(ctx, r, b); b.EngineHolds() || err != nil {
		return err
	}
	if b.Table, err = r.RoutingTable(ctx, b.Op); err != nil {
		return err
	}
	b.Pinned = b.Pinned.Knowing(b.Table)
	return nil
}

// Admit implements [scheme.Placing].
func (Scheme) Admit(b *scheme.Base, st *scheme.Statistics) error {
	committed := b.Op.TableVersion
	switch {
	case st.Outdated(committed) && (st.Records != nil || b.EngineHolds()):
		return refusal.New(refusal.TableVersionOutdated,
			fmt.Sprintf(
				"The statistics are of table version %d, but the committed one is %d, and nothing else says where keys are.",
				*st.TableVersion, committed))
	case st.Partial && b.Changed:
		return refusal.New(refusal.CompleteCoverageRequired,
			"The instances or the hash function changed since the routing table was committed: partial statistics do not say "+
				"what moves.")
	}
	return cmp.Or(unnamed(b, st), unplaced(b, st))
}

// unnamed refuses statistics in compact form that do not name every key that is split: its
// parts are planned on.
func unnamed(b *scheme.Base, st *scheme.Statistics) error {
	if st.Records == nil || b.Table.Size() == int64(b.Table.Len()) {
		return nil
	}
	missing, most := st.Records.Unnamed(b.Table), 20
	if len(missing) == 0 {
		return nil
	}
	more := ""
	if len(missing) > most {
		more = fmt.Sprintf(" and %d more", len(missing)-most)
	}
	return refusal.New(refusal.KeysNotKnown,
		"Statistics in compact form have to name the keys that are split, in keys beside "+
			"compact; these are not named: "+strings.Join(missing[:min(len(missing), most)], ", ")+more+".")
}

// unplaced refuses statistics after a change of the hash if a key of theirs may be
// anywhere: neither its row nor the table says where it is, and the hash that was
// committed is the engine's own.
func unplaced(b *scheme.Base, st *scheme.Statistics) error {
	if !b.Changed || b.Pinned.Model.Hash != nil {
		return nil
	}
	for i := range st.Len() {
		said := st.Instance != nil && st.Instance[i] != planner.NoInstance && !st.Outdated(b.Op.TableVersion)
		if key := st.Keys.At(i); !said && b.Table.Find(key, st.Keys.Hash(i)) < 0 {
			return refusal.New(refusal.HashNotKnown,
				fmt.Sprintf("The instances or the hash function changed, the earlier hash function is the "+
					"engine's own, and neither the statistics nor the routing table say where key %q is.", key))
		}
	}
	return nil
}

// AdmitPartial implements [scheme.Placing].
func (Scheme) AdmitPartial() error { return nil }

// RowHash implements [scheme.Placing].
func (Scheme) RowHash(p *reading.Placement) planner.HashFunction { return p.Model.Hash }

// Place implements [scheme.Placing].
func (Scheme) Place(b *scheme.Base) merging.Place {
	return func(key []byte, hash uint64, home int32) int32 {
		if i := b.Table.Find(key, hash); i >= 0 {
			return b.Table.At(i).Instance
		}
		switch h := b.Pinned.Model.Hash; {
		case b.EngineHolds():
			return planner.NoInstance
		case h != nil:
			return scheme.InstanceBy(h, key, hash)
		case !b.Changed:
			return home
		}
		return planner.NoInstance
	}
}

// Plan runs the operator's strategy, unless its policy holds it back.
func (Scheme) Plan(ctx context.Context, e *scheme.Engine, b *scheme.Base, st *scheme.Statistics) (*scheme.Result,
	error) {
	in, err := Input(b, st)
	if err != nil {
		return nil, err
	}
	in.Foreseen, in.Policy = b.Foreseen, b.Policy()
	if in.Since, err = scheme.SinceMoved(ctx, e.Reader, b, st); err != nil {
		return nil, err
	}
	out, err := e.Run(ctx, b.Newest.Strategy, in, st.Over(b.Newest.Planned()))
	return concluded(b, out, err)
}

// NoAction implements [scheme.Planning].
func (Scheme) NoAction(
	ctx context.Context, e *scheme.Engine, b *scheme.Base, st *scheme.Statistics, cause planner.Cause,
) (*scheme.Result, error) {
	in, err := Input(b, st)
	if err != nil {
		return nil, err
	}
	p := st.Over(b.Newest.Parameters)
	p.Certificate = planner.CertificateOff
	plan, err := e.Compute(ctx, planner.Inspect, in.Snapshot, p)
	if err != nil {
		return nil, err
	}
	plan.Strategy, plan.Causes = b.Newest.Strategy, []planner.Cause{cause}
	plan.LeaveTable()
	out, err := concluded(b, in.Result(plan), nil)
	if f := b.Foreseen; f != nil && f.Forecast != nil && err == nil {
		still := f.Forecast.Predict(in.Snapshot, in.Current, in.Splits, p.ThetaMax)
		out.Foresight = f.Told(out, still, still)
	}
	return out, err
}

// Input is what a plan of a routing table is made of.
func Input(b *scheme.Base, st *scheme.Statistics) (*scheme.Input, error) {
	from := planner.Base{
		Configuration: b.Pinned.Model, Table: b.Table, Filling: b.Filling,
		Kept: kept(b, st), HashChanged: b.Changed,
		IgnoreInstances: st.Outdated(b.Op.TableVersion), PinHomeless: true, Stop: b.Stop,
		PartsExpire: b.Newest.Splitting.Expires(),
	}
	var err error
	if st.Records == nil && b.EngineHolds() && b.Changed {
		if from.Table, err = enginesTable(b, st); err != nil {
			return nil, err
		}
	}
	in, err := scheme.NewInput(st, b.Newest, from)
	// What was possible once no longer is.
	if given, ok := errors.AsType[*planner.InputError](err); ok && st.Foreseen != nil && given.Row >= st.Len() {
		st.Foreseen = st.Foreseen.Named()
		b.Foreseen.Forecast = st.Foreseen
		return scheme.NewInput(st, b.Newest, from)
	}
	return in, err
}

// kept are the entries that stay though no row names their keys. Those of keys that are no longer routed keys
// do not, nor those that name an instance where a rule lets the key no longer be.
func kept(b *scheme.Base, st *scheme.Statistics) []bool {
	all := b.Absent(st).Kept(b.Newest.EntryGrace)
	rules := b.Newest.Model.Placement
	for i := range all {
		e := b.Table.At(i)
		if len(b.Newest.Hash.Affinity.RoutedKey(e.Key)) < len(e.Key) ||
			rules != nil && !slices.Contains(rules.Eligible(rules.Rule(e.Key, planner.KeyHash(e.Key))), e.Instance) {
			all[i] = false
		}
	}
	return all
}

// enginesTable is the table that the engine must hold before the hash changes: an
// entry for every key that is elsewhere than the committed hash puts it. Where that
// hash is the engine's own the table is empty; the plan then sets every entry that
// there is to be.
func enginesTable(b *scheme.Base, st *scheme.Statistics) (*planner.RoutingTable, error) {
	var entries []planner.Entry
	if h := b.Pinned.Model.Hash; h != nil {
		for i, d := range st.Instance {
			if d == planner.NoInstance {
				continue
			}
			key := st.Keys.At(i)
			home, err := h.Instance(key, st.Keys.Hash(i))
			if err != nil {
				return nil, scheme.HashProblem(i, err)
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
func concluded(b *scheme.Base, o *scheme.Result, err error) (*scheme.Result, error) {
	if err != nil {
		return nil, err
	}
	CorrectSizes(b, o)
	o.LeaveIdle()
	return o, nil
}

// CorrectSizes corrects the sizes of the table where the planner could not know them.
func CorrectSizes(b *scheme.Base, o *scheme.Result) {
	switch {
	case o.Classes != nil && !b.EngineHolds():
		o.TableBefore = b.Table.Size()
	case o.Classes == nil && b.EngineHolds() && b.Changed && b.Pinned.Model.Hash == nil:
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
		o.TableWithinLimit = scheme.Within(o.Options.TableLimit, o.TableAfter)
	}
}

// Migrates implements [scheme.Telling].
func (Scheme) Migrates(classes bool) scheme.Migrates { return scheme.MigratesByClass(classes) }

// Change implements [scheme.Telling].
func (Scheme) Change(ctx context.Context, r *reading.Reader, p store.Plan) ([]listing.Part, error) {
	changes, err := r.StoredChanges(ctx, p)
	if changes == nil || err != nil {
		return nil, err
	}
	return listing.ChangeParts(changes), nil
}

// Migrations implements [scheme.Telling].
func (Scheme) Migrations(ctx context.Context, r *reading.Reader, p store.Plan) (listing.Migrations, error) {
	blob, err := r.StoredMigrations(ctx, p)
	if err != nil {
		return nil, err
	}
	return listing.Decode(p.ID, blob)
}

// RefuseTable implements [scheme.Telling].
func (Scheme) RefuseTable() error { return nil }

// Table implements [scheme.Telling].
func (Scheme) Table(c operator.Configuration, entries []store.Entry) (scheme.TableContent, error) {
	return scheme.TableContent{Part: listing.Part{Name: "entries", List: listing.EntriesOf(entries)}, Hash: &c.Hash,
		Routing: c.Splitting.Routing}, nil
}

// Pending names every key that must be held back while its state moves: those whose
// route changes, and drifted ones that move to where they are routed already. After a
// change of the hash routers compare the routes themselves, so that only the latter count
// beside the entries.
func (s Scheme) Pending(ctx context.Context, r *reading.Reader, in scheme.PendingPlan) ([]listing.Part,
	*operator.Hash, error) {
	if in.Plan.BatchCount > 0 {
		return listing.ChangeParts(in.WithHeld()), &in.Target.Hash, nil
	}
	if in.Plan.DriftedKeys == 0 && !hidesDrift(in) {
		return listing.ChangeParts(in.Changes), &in.Target.Hash, nil
	}
	moved, err := s.Migrations(ctx, r, in.Plan)
	if err != nil {
		return nil, nil, err
	}
	all, named := namedMigrations(moved)
	if !named {
		return listing.ChangeParts(in.Changes), &in.Target.Hash, nil
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
	return listing.ChangeParts(held), &in.Target.Hash, nil
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
func hidesDrift(in scheme.PendingPlan) bool {
	return in.Now.Hash.Function == partitioner.Reported && !operator.SamePlacement(in.Now, in.Target)
}

// mayStay tells of keys without a change of their entry that go to an instance whether
// they may be routed there already. The engine's own hash leaves that open.
func mayStay(ctx context.Context, r *reading.Reader, in scheme.PendingPlan) (func(key []byte, to int32) bool, error) {
	anyway := func([]byte, int32) bool { return true }
	if operator.SamePlacement(in.Now, in.Target) {
		return anyway, nil
	}
	now, err := r.Hash(ctx, in.Now)
	if err != nil {
		return nil, err
	}
	next, err := r.Hash(ctx, in.Target)
	if err != nil {
		return anyway, err
	}
	return MayStayBetween(now, next), nil
}

// MayStayBetween is mayStay where one hash function takes the place of another.
func MayStayBetween(now, next planner.HashFunction) func(key []byte, to int32) bool {
	return func(key []byte, to int32) bool {
		if now == nil || next == nil {
			return true
		}
		hash := planner.KeyHash(key)
		return scheme.InstanceBy(next, key, hash) != to || // it has an entry
			scheme.InstanceBy(now, key, hash) == to
	}
}

// ChangesTell implements [scheme.Telling]: of whole tables only it is said how parts are chosen.
func (Scheme) ChangesTell(then, now operator.Configuration) bool {
	return operator.SamePlacement(then, now) && then.Splitting.Routing == now.Splitting.Routing &&
		operator.SameNames(then, now)
}

// CountsEntries implements [scheme.Telling].
func (Scheme) CountsEntries() bool { return true }

// Route implements [scheme.Placing].
func (Scheme) Route(ctx context.Context, r *reading.Reader, op store.Operator, key []byte, entry *store.Entry) (
	scheme.Route, error,
) {
	to, err := routeOf(ctx, r, op, key, entry)
	if err != nil || op.TableConfigVersion == op.ConfigVersion && !bytes.Contains(op.Config, []byte(`"placement"`)) {
		return to, err
	}
	pinned, err := r.Pinned(ctx, op)
	if err != nil || pinned.Model.Placement == nil {
		return to, err
	}
	key = pinned.Hash.Affinity.RoutedKey(key)
	rule := pinned.Model.Placement.Rule(key, planner.KeyHash(key))
	if rule >= 0 {
		to.Rule = pinned.Placement.Rules[rule].Name
	}
	may := pinned.Model.Placement.Eligible(rule)
	to.Misplaced = !slices.Contains(may, to.Instance) ||
		slices.ContainsFunc(to.Parts, func(p planner.Part) bool { return !slices.Contains(may, p.Instance) })
	return to, nil
}

// routeOf is where a key goes.
func routeOf(ctx context.Context, r *reading.Reader, op store.Operator, key []byte, entry *store.Entry) (
	scheme.Route, error,
) {
	if entry != nil && entry.Parts == "" {
		return scheme.Route{Instance: entry.Instance, Source: "table", Version: op.TableVersion}, nil
	}
	pinned, err := r.Pinned(ctx, op)
	if err != nil {
		return scheme.Route{}, err
	}
	if entry != nil {
		parts, err := figures.DecodeParts(entry.Parts)
		return scheme.Route{
			Instance: entry.Instance, Parts: parts, Routing: pinned.Splitting.Routing, Source: "table",
			Version: op.TableVersion,
		}, err
	}
	if pinned.Model.Hash == nil {
		return scheme.Route{}, refusal.New(refusal.HashNotKnown,
			"The key has no entry in the routing table, and the hash function is the engine's own.")
	}
	id, err := pinned.Model.Hash.Instance(key, planner.KeyHash(key))
	if err != nil {
		return scheme.Route{}, scheme.HashProblem(-1, err)
	}
	return scheme.Route{Instance: id, Source: "hash", Version: op.TableVersion}, nil
}
