package layout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plannerd/internal/input/merging"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/planner/policy"
	"plannerd/store"
)

// Scheme is what the schemes without a routing table have in common: a layout says where
// every key belongs, and a plan changes it.
type Scheme struct{ layoutKind }

// The schemes without a routing table.
var (
	Ring   = Scheme{ringKind{}}   // tokens on a ring
	Ranges = Scheme{rangesKind{}} // owners of key ranges
	Pkg    = Scheme{pkgKind{}}    // several candidates for each key
)

// layoutKind is what differs between them.
type layoutKind interface {
	name() operator.SchemeName
	// strategy is what plans under the configuration are said to be made by.
	strategy(c operator.Configuration) string
	RowHash(p *reading.Placement) planner.HashFunction
	Migrates(classes bool) scheme.Migrates
	CountsEntries() bool
	// layout reads a version of the table; c is the configuration that it pins.
	layout(c operator.Configuration, entries []store.Entry) (scheme.Layout, error)
	// diff reads what a stored plan changes, head among the entries.
	diff(blob []byte, head func() ([]store.Change, error)) (listing.LayoutDiff, error)
	// sameRoutes reports whether two configurations of the same instances route alike.
	sameRoutes(then, now operator.Configuration) bool
	// snapshot says where keys are by one layout, and where they go by another under a
	// configuration.
	snapshot(b *scheme.Base, st *scheme.Statistics, config *reading.Placement, before,
		after scheme.Layout) (*planner.Snapshot, error)
	// firsts is of how many keys each instance is the first candidate; nil: each key has one
	// instance.
	firsts(st *scheme.Statistics, all []planner.Instance, at scheme.Layout) []int64
	// judge works out what comes of going from one layout to another.
	judge(b *scheme.Base, st *scheme.Statistics, config *reading.Placement, before, after scheme.Layout,
		thetaMax float64) (*planner.Plan, error)
	// replan makes a new layout.
	replan(b *scheme.Base, st *scheme.Statistics, stop func() bool) (*replanned, error)
	// routeBy says where a layout puts a key.
	routeBy(ctx context.Context, r *reading.Reader, c operator.Configuration, held scheme.Layout,
		key []byte) (scheme.Route, error)
}

// replanned is a new layout, and how it comes about.
type replanned struct {
	after scheme.Layout
	diff  listing.LayoutDiff
	cause planner.Cause // why it leaves some instance above its bound, if it does
	work  int64
	lost  bool // of some of what moves nobody has a copy
	// Where the entries do not tell all that changes: see [scheme.Result].
	rerouted bool
	touched  []int32
	// moved makes the diff of what was judged; nil: it is there.
	moved func(judged *planner.Plan) (listing.LayoutDiff, error)
	// certificate proves how little could have moved at best; nil: nothing is proven.
	certificate func(judged *planner.Plan) *figures.Certificate
}

func (s Scheme) Read(ctx context.Context, r *reading.Reader, b *scheme.Base) error {
	table, err := r.Committed(ctx, b.Op)
	if err != nil {
		return err
	}
	if b.Layout, err = s.layout(b.Pinned.Configuration, table.Entries); err != nil {
		return err
	}
	b.Stored = table.Entries
	b.Changed = s.changed(b)
	return nil
}

// changed reports whether the newest configuration places keys otherwise than the layout.
func (s Scheme) changed(b *scheme.Base) bool {
	has, joined := b.Layout.Ids(), false
	for _, d := range b.Newest.Instances {
		joined = joined || joins(b, has, d.ID)
		delete(has, d.ID)
	}
	return joined || len(has) > 0 || !s.sameRoutes(b.Pinned.Configuration, b.Newest.Configuration)
}

// Without takes instances for lost: a plan is made as if they were removed, but nothing
// waits for them. What they own others have a copy of; these own it from then on, which
// breaks no limit, and nothing that waits for approval is in the way of.
func (s Scheme) Without(b *scheme.Base, lost []int32) {
	gone := func(id int32) bool { return slices.Contains(lost, id) }
	left := *b.Newest
	left.Instances = slices.DeleteFunc(slices.Clone(left.Instances), func(d operator.Instance) bool { return gone(d.ID) })
	left.Model.Instances = slices.DeleteFunc(slices.Clone(left.Model.Instances),
		func(d planner.Instance) bool { return gone(d.ID) })
	has := b.Layout.Ids()
	b.TakesOver = !b.Changed && slices.ContainsFunc(lost, func(id int32) bool { return has[id] })
	if b.TakesOver {
		left.Approval.OnPending = operator.PendingReplace
		if left.Approval.Auto == operator.AutoWithinLimits {
			left.Approval.Auto = operator.AutoAlways
		}
	}
	b.Newest, b.Lost = &left, lost
	b.Changed = s.changed(b)
}

// joins reports whether an instance is new beside those that have a part in the
// layout.
func joins(b *scheme.Base, has map[int32]bool, id int32) bool {
	return !b.Layout.Nobody() && !has[id] && !b.Pinned.Has(id)
}

// Admit implements [scheme.Placing].
func (s Scheme) Admit(_ *scheme.Base, st *scheme.Statistics) error {
	switch {
	case st.Partial:
		return s.AdmitPartial()
	case st.Records != nil || st.Compact != nil:
		return planner.Invalid("compact", operator.MeansNothing(s.name())+", where statistics are of keys")
	}
	return nil
}

// AdmitPartial implements [scheme.Placing].
func (s Scheme) AdmitPartial() error {
	return refusal.New(refusal.CompleteCoverageRequired, "Under the scheme "+string(s.name())+
		" only complete statistics say what moves.")
}

// Place implements [scheme.Placing].
func (Scheme) Place(b *scheme.Base) merging.Place {
	h, empty := b.Layout.Placed(), b.Layout.Nobody()
	return func(key []byte, hash uint64, _ int32) int32 {
		if empty {
			return planner.NoInstance
		}
		return scheme.InstanceBy(h, key, hash)
	}
}

// Plan plans the tokens or the ranges of an operator.
func (s Scheme) Plan(ctx context.Context, e *scheme.Engine, b *scheme.Base, st *scheme.Statistics) (*scheme.Result,
	error) {
	if !b.Changed && !b.Layout.Nobody() {
		stay, err := s.snapshot(b, st, b.Newest, b.Layout, b.Layout)
		if err != nil {
			return nil, err
		}
		since, err := scheme.SinceMoved(ctx, e.Reader, b, st)
		if err != nil {
			return nil, err
		}
		as := *stay
		as.HashChanged = false // the layout stands for the hash, and is what it was
		situation := policy.Situation{Snapshot: &as, Since: since}
		switch why, err := b.Newest.Policy.Held(situation, b.Newest.Planner()); {
		case err != nil:
			return nil, err
		case why == policy.Cooldown:
			return s.unmoved(b, st, stay, figures.CauseCooldown)
		case why != policy.Planned:
			return s.unmoved(b, st, stay, planner.CauseBalanced)
		}
	}
	w := e.Watch(ctx, b.Newest.Parameters)
	release, err := e.Slots.Take(ctx, b.Newest.Time(e.Longest))
	if err != nil {
		return nil, err
	}
	defer release()
	begin, strategy := e.Now(), s.strategy(b.Newest.Configuration)
	_, end := e.Observer.Start(ctx, "plan", "plannerd.strategy", strategy)
	next, err := s.replan(b, st, w.Stop)
	end(err)
	switch {
	case ctx.Err() != nil: // nobody waits for it any more
		return nil, ctx.Err()
	case errors.Is(err, planner.ErrStopped):
		stay, err := anySnapshot(s, b, st)
		if err != nil {
			return nil, err
		}
		out, err := s.unmoved(b, st, stay, figures.CauseUnfinished)
		if err == nil {
			out.EndReason = planner.EndStopped
		}
		return out, err
	case err != nil:
		return nil, err
	}
	e.Observer.Planned(strategy, e.Now().Sub(begin))
	return s.result(b, st, next)
}

// NoAction implements [scheme.Planning].
func (s Scheme) NoAction(
	_ context.Context, _ *scheme.Engine, b *scheme.Base, st *scheme.Statistics, cause planner.Cause,
) (*scheme.Result, error) {
	stay, err := anySnapshot(s, b, st)
	if err != nil {
		return nil, err
	}
	return s.unmoved(b, st, stay, cause)
}

// Evaluate implements [scheme.Planning].
func (s Scheme) Evaluate(ctx context.Context, e *scheme.Engine, b *scheme.Base, st *scheme.Statistics, _ *scheme.Result,
	other store.Plan) (*planner.Plan, error) {
	if st.Queues { // they say nothing of keys
		return nil, nil
	}
	config, p, err := scheme.TermsOf(ctx, e.Reader, other)
	if err != nil {
		return nil, err
	}
	changes, err := e.Store.Changes(ctx, other.ID)
	if err != nil {
		return nil, refusal.AboutPlan(other.ID, err)
	}
	after, err := s.layout(config.Configuration, entriesAfter(b.Stored, changes))
	if err != nil {
		return nil, err
	}
	before, created := b.Layout, b.Layout.Nobody()
	if created { // nobody owns anything
		before = after
	}
	release, err := e.Slots.Take(ctx, p.Time(e.Longest))
	if err != nil {
		return nil, err
	}
	defer release()
	out, err := s.judge(b, st, config, before, after, p.ThetaMax)
	if err != nil {
		return nil, scheme.Unevaluated(err)
	}
	if created {
		fromNobody(out)
	}
	return out, nil
}

// wholeKeys is how layouts are judged that have each key on one instance: they stand for
// the hash.
type wholeKeys struct{}

func (wholeKeys) sameRoutes(operator.Configuration, operator.Configuration) bool { return true }

func (wholeKeys) firsts(*scheme.Statistics, []planner.Instance, scheme.Layout) []int64 { return nil }

func (wholeKeys) judge(
	b *scheme.Base, st *scheme.Statistics, config *reading.Placement, before, after scheme.Layout, thetaMax float64,
) (*planner.Plan, error) {
	snapshot, err := wholeKeys{}.snapshot(b, st, config, before, after)
	if err != nil {
		return nil, err
	}
	return planner.Rehash(snapshot, planner.Options{ThetaMax: thetaMax}, nil)
}

func (wholeKeys) snapshot(b *scheme.Base, st *scheme.Statistics, config *reading.Placement, before,
	after scheme.Layout) (*planner.Snapshot, error) {
	empty, err := planner.NewRoutingTable(nil)
	if err != nil {
		return nil, err
	}
	s, err := planner.NewSnapshot(st.Statistics,
		planner.Configuration{Instances: config.Model.Instances, Hash: after.Placed()},
		planner.Base{
			Configuration: planner.Configuration{Instances: b.Pinned.Model.Instances, Hash: before.Placed()},
			Table:         empty, HashChanged: true, IgnoreInstances: true, Stop: b.Stop,
		})
	if err != nil || st.Instance == nil || st.Outdated(b.Op.TableVersion) {
		return s, err
	}
	index := make(map[int32]int32, len(s.Instances))
	for i, d := range s.Instances {
		index[d.ID] = int32(i)
	}
	for i, id := range st.Instance {
		if id == planner.NoInstance {
			continue
		}
		at, known := index[id]
		if !known {
			return nil, planner.InvalidRow(i, "instance", "is not a known instance")
		}
		if at != s.Current[i] && !b.Layout.Nobody() {
			s.Drifted++
		}
	}
	return s, nil
}

// anySnapshot is the snapshot of statistics of which nothing is to be planned: where
// keys would go makes no difference, but that it is there.
func anySnapshot(s Scheme, b *scheme.Base, st *scheme.Statistics) (*planner.Snapshot, error) {
	anywhere := allOf(b.Newest.Instances[0].ID)
	if b.Layout.Nobody() {
		return s.snapshot(b, st, b.Newest, anywhere, anywhere)
	}
	return s.snapshot(b, st, b.Newest, b.Layout, anywhere)
}

// unmoved is the plan that leaves everything where it is.
func (s Scheme) unmoved(
	b *scheme.Base, st *scheme.Statistics, snapshot *planner.Snapshot, cause planner.Cause,
) (*scheme.Result, error) {
	p, err := planner.Inspect(snapshot, planner.Options{ThetaMax: b.Newest.ThetaMax, Certificate: planner.CertificateOff})
	if err != nil {
		return nil, err
	}
	p.Causes = []planner.Cause{cause}
	if b.Layout.Nobody() {
		toNobody(p)
	}
	return s.named(b, st, &scheme.Result{Plan: p, Diff: b.Layout.Unchanged()}, b.Layout), nil
}

// named fills in what the plan says about its strategy and sizes.
func (s Scheme) named(b *scheme.Base, st *scheme.Statistics, o *scheme.Result, after scheme.Layout) *scheme.Result {
	all := o.Snapshot.Instances
	if first := s.firsts(st, all, b.Layout); first != nil {
		o.Firsts = &scheme.FirstsOf{Before: first, After: s.firsts(st, all, after)}
	}
	o.Strategy, o.Set, o.Unset = s.strategy(b.Newest.Configuration), nil, nil
	o.TableBefore, o.TableAfter, o.TableWithinLimit, o.Layout = b.Layout.Size(), after.Size(), true, after
	return o
}

// result works out the figures of a new layout.
func (s Scheme) result(b *scheme.Base, st *scheme.Statistics, next *replanned) (*scheme.Result, error) {
	before, created := b.Layout, b.Layout.Nobody()
	if created { // nobody owned anything
		before = next.after
	}
	p, err := s.judge(b, st, b.Newest, before, next.after, b.Newest.ThetaMax)
	if err != nil {
		return nil, err
	}
	if created {
		fromNobody(p)
	}
	p.WorkUnits = next.work
	out := &scheme.Result{Plan: p, Diff: next.diff, Rerouted: next.rerouted, Touched: next.touched}
	if next.moved != nil {
		if out.Diff, err = next.moved(p); err != nil {
			return nil, err
		}
	}
	if len(changesTo(next.after, b.Layout.Entries())) > 0 {
		out.Changed = changesTo(next.after, b.Stored)
	}
	p.Balanced = p.Balanced && !st.Queues
	p.Causes = causesOf(p, out.Changed == nil && !out.Rerouted, next.cause)
	if next.lost {
		p.Causes = append(p.Causes, figures.CauseStateLost)
	}
	if next.certificate != nil {
		out.Proven = next.certificate(p)
	}
	return s.named(b, st, out, next.after), nil
}

// causesOf says why nothing changes, or why some instance is still above its bound:
// because of a hot key, if there is one, and of the cause that is given.
func causesOf(p *planner.Plan, unchanged bool, cause planner.Cause) []planner.Cause {
	switch {
	case p.Balanced && unchanged:
		return []planner.Cause{planner.CauseBalanced}
	case p.Balanced:
		return nil
	case len(p.HotKeys) > 0:
		return []planner.Cause{planner.CauseHotKey, cause}
	}
	return []planner.Cause{cause}
}

// fromNobody takes what instances carried before out of the figures: nothing.
func fromNobody(p *planner.Plan) {
	total := 0.0
	for i := range p.Instances {
		l := &p.Instances[i]
		total += l.Before
		l.Before, l.KeysBefore = 0, 0
	}
	p.Theta.Before, p.Underload.Before, p.Skewness.Before = 0, 0, 1
	if total > 0 {
		p.Underload.Before = 1
	}
}

// toNobody is fromNobody for a plan after which there is still nobody to carry
// anything.
func toNobody(p *planner.Plan) {
	fromNobody(p)
	for i := range p.Instances {
		p.Instances[i].After, p.Instances[i].KeysAfter = 0, 0
	}
	p.Theta.After, p.Underload.After, p.Skewness.After, p.Balanced = p.Theta.Before, p.Underload.Before,
		p.Skewness.Before, true
}

// Change implements [scheme.Telling].
func (s Scheme) Change(ctx context.Context, r *reading.Reader, p store.Plan) ([]listing.Part, error) {
	d, err := s.readDiff(ctx, r, p)
	if err != nil {
		return nil, err
	}
	return d.Parts(), nil
}

// Migrations implements [scheme.Telling].
func (s Scheme) Migrations(ctx context.Context, r *reading.Reader, p store.Plan) (listing.Migrations, error) {
	return s.readDiff(ctx, r, p)
}

// readDiff reads what a stored plan changes.
func (s Scheme) readDiff(ctx context.Context, r *reading.Reader, p store.Plan) (listing.LayoutDiff, error) {
	blob, err := r.StoredMigrations(ctx, p)
	if err != nil {
		return nil, err
	}
	d, err := s.diff(blob, func() ([]store.Change, error) { return r.StoredChanges(ctx, p) })
	if err != nil {
		return nil, fmt.Errorf("reading what plan %s changes: %w", p.ID, err)
	}
	return d, nil
}

// RefuseTable implements [scheme.Telling].
func (s Scheme) RefuseTable() error {
	return refusal.New(refusal.NoRoutingTable, "Under the scheme "+string(s.name())+
		" plans change no routing table, and cannot be replayed; GET the plan with include=routing_table.")
}

// Table implements [scheme.Telling].
func (s Scheme) Table(c operator.Configuration, entries []store.Entry) (scheme.TableContent, error) {
	held, err := s.layout(c, entries)
	if err != nil {
		return scheme.TableContent{}, err
	}
	return scheme.TableContent{Part: held.Part()}, nil
}

// Pending is all that there will be.
func (s Scheme) Pending(_ context.Context, _ *reading.Reader, in scheme.PendingPlan) ([]listing.Part, *operator.Hash,
	error) {
	content, err := s.Table(in.Target, entriesAfter(in.Entries, in.Changes))
	return []listing.Part{content.Part}, nil, err
}

// ChangesTell implements [scheme.Telling].
func (Scheme) ChangesTell(operator.Configuration, operator.Configuration) bool { return false }

// Route implements [scheme.Placing].
func (s Scheme) Route(ctx context.Context, r *reading.Reader, op store.Operator, key []byte, _ *store.Entry) (
	scheme.Route, error,
) {
	table, err := r.Store.Table(ctx, op.Name, nil)
	if err != nil {
		return scheme.Route{}, refusal.AboutOperator(op.Name, err)
	}
	config, err := r.Configuration(ctx, op.Name, table.ConfigVersion)
	if err != nil {
		return scheme.Route{}, err
	}
	held, err := s.layout(config, table.Entries)
	if err != nil {
		return scheme.Route{}, err
	}
	out, err := s.routeBy(ctx, r, config, held, key)
	out.Version, out.Pins = table.Version, table.ConfigVersion
	return out, err
}
