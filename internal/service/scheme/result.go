package scheme

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"plannerd/compact"
	"plannerd/internal/exact"
	"plannerd/internal/input/lists"
	"plannerd/internal/input/stored"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/resources"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/planner"
	"plannerd/planner/policy"
	"plannerd/store"
)

// Migrates is what the migrations of a plan are.
type Migrates string

// The kinds of migrations.
const (
	MigratesKeys    Migrates = "keys"
	MigratesClasses Migrates = "classes"
	MigratesArcs    Migrates = "arcs"
	MigratesRanges  Migrates = "ranges"
)

// Input is what a plan of a routing table is made of: keys, or classes of them and keys
// that are named.
type Input struct {
	*planner.Snapshot
	affinity *figures.Affinity // nil: rows are of keys
	classes  *compact.Classes  // whose items the snapshot has; nil: it has keys
	resource string            // the first resource; "": the operator has none
	degree   int               // of the classes; 0: not said
	// Foreseen is what is known of other intervals; nil: nothing is, and nothing but the
	// strategy decides. Else the policy does; since is how many intervals ago the last plan
	// took effect that moved keys, 0 if that is not asked.
	Foreseen *Foreseen
	Policy   policy.Policy
	Since    int

	// compression is the compact form of the keys that was used last, made as
	// compressed says.
	compression *compact.Compression
	compressed  compressed
}

// compressed is how a compact form was made. names: keys that may be split are as they are.
type compressed struct {
	degree int
	scales compact.Scales
	names  bool
}

// NewInput brings statistics into the form that strategies take.
func NewInput(in *Statistics, target *reading.Placement, from planner.Base) (*Input, error) {
	if in.Records == nil {
		s, err := planner.NewSnapshot(in.Planned(), target.Model, from)
		return &Input{Snapshot: s, affinity: in.Affinity, resource: target.Resources.Cost()}, err
	}
	switch {
	case target.Model.Restricts():
		return nil, planner.Invalid("compact", unrestricted)
	case target.Resources != nil:
		return nil, planner.Invalid("compact", operator.OneCost)
	}
	c, err := compact.NewClasses(in.Records, target.Model, from)
	if err != nil {
		return nil, err
	}
	return &Input{Snapshot: c.Items, classes: c, degree: in.Records.Degree}, nil
}

// unrestricted is why statistics in compact form are refused.
const unrestricted = "is not for operators with rules or cordons: records of classes do not tell keys"

// planCompact plans on the compact form of the keys.
func (in *Input) planCompact(strategy string, p parameters.Compact, o planner.Options) (*compact.KeyPlan, error) {
	switch {
	case in.Snapshot.Eligibility != nil:
		return nil, planner.Invalid("compact", unrestricted)
	case in.resource != "":
		return nil, planner.Invalid("compact", operator.OneCost)
	}
	options, names := p.Options(), o.Splitting != nil || len(in.Splits) > 0
	if in.compression == nil || in.compressed != (compressed{options.Degree, options.Scales, names}) {
		if err := in.checkScales(options.Scales); err != nil {
			return nil, err
		}
		in.compression = nil // it need not be in memory beside the new one
		if names {
			var err error
			if options.Named, err = planner.Divisible(in.Snapshot); err != nil {
				return nil, err
			}
		}
		c, err := compact.Compress(in.Snapshot, options)
		if err != nil {
			return nil, err
		}
		in.compression, in.compressed = c, compressed{options.Degree, options.Scales, names}
	}
	return in.compression.Plan(strategy, o)
}

// checkScales refuses scales in which some value would be greater than costs and
// states may be.
func (in *Input) checkScales(s compact.Scales) error {
	for _, v := range []struct {
		field  string
		scale  float64
		values []float64
	}{{"compact/cost_scale", s.Cost, in.Cost}, {"compact/state_scale", s.State, in.State}} {
		if v.scale > 0 && len(v.values) > 0 && slices.Max(v.values)/v.scale > planner.MaxAmount {
			return planner.Invalid(v.field, "is too small for values as great as these")
		}
	}
	return nil
}

// Result is a plan as it was computed, and what it was made of.
type Result struct {
	*planner.Plan
	Took time.Duration

	Classes    *compact.Classes     // what its items are; nil: keys
	compaction *figures.Compaction  // nil: it was made on keys
	affinity   *figures.Affinity    // nil: it was not made on routed keys
	resource   string               // as in Input
	loadErrors []planner.Comparison // by instance; nil: not known
	Foresight  *Foresight           // nil: nobody looks ahead
	// idleEntries are those of keys that have been absent for long.
	idleEntries int64

	// Of the schemes without a routing table:
	Diff     listing.LayoutDiff   // nil: it is of a routing table
	Changed  []store.Change       // of the entries that the store holds
	Rerouted bool                 // routes change beside those that the entries tell
	Touched  []int32              // instances that must know of it beside those of its migrations
	Layout   Layout               // after the plan, of schemes without a routing table
	Firsts   *FirstsOf            // nil: each key has one instance
	Proven   *figures.Certificate // nil: nothing is proven
}

// Result is what was planned on the input.
func (in *Input) Result(p *planner.Plan) *Result {
	out := &Result{Plan: p, Classes: in.classes, affinity: in.affinity, resource: in.resource}
	if in.classes == nil {
		return out
	}
	out.compaction = &figures.Compaction{
		CostScale: in.classes.Scales.Cost, StateScale: in.classes.Scales.State, Records: int64(in.Snapshot.Len()),
		Keys: countOf(in.classes.Records) + int64(in.Named),
	}
	if in.degree != 0 {
		degree := int32(in.degree)
		out.compaction.Degree = &degree
	}
	return out
}

func countOf(records []compact.Record) (n int64) {
	for _, r := range records {
		n += r.Count
	}
	return n
}

// compacted notes that the plan was made on the compact form of its keys.
func (o *Result) compacted(c *compact.Compression, p *compact.KeyPlan) {
	degree, worst := int32(c.Degree), p.GreatestError()
	o.loadErrors = p.Error
	o.compaction = &figures.Compaction{
		Degree: &degree, CostScale: c.Scales.Cost, StateScale: c.Scales.State,
		Records: int64(c.Items.Len()), Keys: int64(c.Keys.Len()),
		Error: &figures.Comparison{Before: worst.Before, After: worst.After},
	}
}

// Migrates is what the plan moves: of a routing table, keys or classes of them.
func (o *Result) Migrates() Migrates { return MigratesByClass(o.OfClasses()) }

// OfClasses reports whether it takes the engine to say which keys the plan changes. Where all
// of them are named, one that was made of classes is a plan of keys.
func (o *Result) OfClasses() bool {
	return o.Classes != nil && (o.Snapshot.Named == 0 || o.Snapshot.HashChanged ||
		slices.ContainsFunc(o.Moves, func(m planner.Move) bool { return !o.Classes.IsNamed(m.Item) }))
}

// MigratesByClass is what plans of routing tables migrate: classes of keys, or keys.
func MigratesByClass(classes bool) Migrates {
	if classes {
		return MigratesClasses
	}
	return MigratesKeys
}

// Changes returns what the plan does to the table; nil when nobody can tell.
func (o *Result) Changes() []store.Change {
	switch {
	case o.Diff != nil:
		return o.Changed
	case o.OfClasses():
		return nil
	}
	out := slices.AppendSeq(make([]store.Change, 0, len(o.Set)+len(o.Unset)), UnsortedChanges(o.Plan))
	slices.SortFunc(out, func(a, b store.Change) int { return bytes.Compare(a.Key, b.Key) })
	return out
}

// ListsWith are the lists of the plan, with what it does to the table.
func (o *Result) ListsWith(changes []store.Change) listing.Lists {
	l := listing.Lists{Migrations: o.migrations()}
	switch {
	case o.Diff != nil:
		l.Change = o.Diff.Parts()
	case changes != nil:
		l.Change = listing.ChangeParts(changes)
	}
	return l
}

// Lists are the lists of the plan. They are made anew each time that it is called.
func (o *Result) Lists() listing.Lists { return o.ListsWith(o.Changes()) }

// NeedsBase64 tells whether a key of the lists is not valid UTF-8, without making
// them.
func (o *Result) NeedsBase64() bool {
	if o.OfClasses() {
		return o.migrations().NeedsBase64()
	}
	var keys lists.Records[lists.UnsetKey] = func(yield func(lists.UnsetKey) bool) {
		for c := range UnsortedChanges(o.Plan) {
			if !yield(c.Key) {
				return
			}
		}
	}
	return keys.NeedsBase64() || o.migrations().NeedsBase64()
}

// UnsortedChanges yields what a plan does to the table.
func UnsortedChanges(p *planner.Plan) iter.Seq[store.Change] {
	s := p.Snapshot
	return func(yield func(store.Change) bool) {
		for _, x := range p.Set {
			c := store.Change{Key: s.Keys.At(int(x.Item)), New: s.Instances[x.To].ID}
			if c.Old, c.OldParts = committed(s, x.Item); !yield(c) {
				return
			}
		}
		for _, x := range p.Splits {
			c := store.Change{
				Key: s.Keys.At(int(x.Item)), New: s.Instances[x.Heaviest().Instance].ID, NewParts: figures.EncodeParts(x.OnIDs(s)),
			}
			if c.Old, c.OldParts = committed(s, x.Item); x.Changed && !yield(c) {
				return
			}
		}
		for i, u := range p.Unset {
			c := store.Change{Key: p.UnsetKey(i), New: store.NoInstance}
			if u.Entry >= 0 {
				c.Old, c.OldParts = entryAt(s, u.Entry)
			} else {
				c.Old, c.OldParts = committed(s, u.Item)
			}
			if !yield(c) {
				return
			}
		}
	}
}

// committed is where the committed entry of an item sends it; NoInstance if there is none.
func committed(s *planner.Snapshot, item int32) (instance int32, parts string) {
	instance, split := committedEntry(s, item)
	return instance, figures.EncodeParts(split)
}

func committedEntry(s *planner.Snapshot, item int32) (instance int32, parts []planner.Part) {
	switch {
	case s.Table == nil && s.Current[item] != s.Hash[item]:
		return s.Instances[s.Current[item]].ID, nil
	case s.Entry != nil && s.Entry[item] >= 0:
		e := s.Table.At(int(s.Entry[item]))
		return e.Instance, e.Parts
	}
	return store.NoInstance, nil
}

func entryAt(s *planner.Snapshot, entry int32) (instance int32, parts string) {
	e := s.Table.At(int(entry))
	return e.Instance, figures.EncodeParts(e.Parts)
}

// migrations lists what the plan moves.
func (o *Result) migrations() lists.List {
	switch {
	case o.Diff != nil:
		return o.Diff.List()
	case o.OfClasses():
		moves := o.Classes.Moves(o.Plan)
		if o.Snapshot.Named == 0 {
			return listing.ClassMigrations(moves).List()
		}
		return lists.ItemMovesOf(moves, lists.MigrationsOf(namedMoves(o)))
	}
	return lists.MigrationsOf(o.Plan)
}

// namedMoves is the plan with the moves of keys that are named alone.
func namedMoves(o *Result) *planner.Plan {
	p := *o.Plan
	p.Moves = o.Classes.MovesNamed(o.Plan)
	return &p
}

// staysOf are the keys that the plan leaves elsewhere than their hash instance, as
// moves to where they are.
func staysOf(o *Result) []compact.Record {
	left := slices.Clone(o.Classes.Items.Count)
	for _, m := range o.Moves {
		left[m.Item] -= m.Count
	}
	var out []compact.Record
	for i, r := range o.Classes.Records {
		if r.Current != r.Hash && left[i] > 0 {
			r.Count = left[i]
			out = append(out, r)
		}
	}
	return out
}

// EncodedMigrations are the migrations as the store keeps them. withStays puts beside
// the moves of classes those that stay and need an entry.
func (o *Result) EncodedMigrations(withStays bool) []byte {
	switch {
	case o.Diff != nil:
		return o.Diff.Encode()
	case !o.OfClasses():
		return stored.EncodeMigrations(o.Plan)
	}
	moves := o.Classes.Moves(o.Plan)
	if withStays {
		moves = compact.Merge(append(moves, staysOf(o)...))
	}
	if o.Snapshot.Named == 0 {
		return stored.EncodeClassMoves(moves)
	}
	return stored.EncodeItemMoves(moves, o.Classes.Scales, namedMoves(o), namedAfter(o))
}

// namedAfter are the keys that are named, by ascending bytes, with their entries after the
// plan: of NoInstance where a key has none.
func namedAfter(o *Result) []planner.Entry {
	s := o.Snapshot
	first := s.Len() - s.Named
	out := make([]planner.Entry, s.Named)
	for i := range out {
		out[i] = planner.Entry{Key: s.Keys.At(first + i), Instance: planner.NoInstance}
		out[i].Instance, out[i].Parts = committedEntry(s, int32(first+i))
	}
	for _, x := range o.Unset {
		out[int(x.Item)-first].Instance, out[int(x.Item)-first].Parts = planner.NoInstance, nil
	}
	for _, x := range o.Set {
		out[int(x.Item)-first].Instance, out[int(x.Item)-first].Parts = s.Instances[x.To].ID, nil
	}
	for _, x := range o.Splits {
		out[int(x.Item)-first].Instance, out[int(x.Item)-first].Parts = s.Instances[x.Heaviest().Instance].ID, x.OnIDs(s)
	}
	slices.SortFunc(out, func(a, b planner.Entry) int { return bytes.Compare(a.Key, b.Key) })
	return out
}

// Within reports whether a table of that size is within a limit; nil: there is none.
func Within(limit *int64, size int64) bool { return limit == nil || size <= *limit }

// LeaveIdle has a plan of a routing table that is not to be carried out leave the table
// alone, and counts the entries of absent keys that another plan may drop.
func (o *Result) LeaveIdle() {
	if figures.LeavesAll(o.Causes) || o.Acts() {
		return
	}
	for _, u := range o.Unset {
		if u.Item < 0 {
			o.idleEntries++
		}
	}
	o.LeaveTable()
}

// Status tells what becomes of a plan.
func (o *Result) Status() store.Status {
	acts := o.Rerouted || len(o.Changed) > 0
	if o.Diff == nil {
		acts = !figures.LeavesAll(o.Causes) && o.Acts()
	}
	if acts {
		return store.StatusApproved
	}
	return store.StatusNoAction
}

// AnswerBytes is what keeping and answering the plan takes.
func (o *Result) AnswerBytes() int64 {
	return int64(len(o.Moves)+len(o.Set)+len(o.Unset))*reading.MoveBytes/2 + reading.MoveKeyTimes*reading.MovedKeyBytes(
		o.Plan) +
		int64(len(o.Instances))*reading.LoadBytes
}

// TrialBytes is what the plan takes as one of a what-if until all are answered.
func (o *Result) TrialBytes(withLists bool) int64 {
	n := int64(len(o.Moves)) * reading.TrialMoveBytes
	if withLists {
		n += int64(len(o.Moves))*reading.TrialTextBytes + reading.MoveKeyTimes*reading.MovedKeyBytes(o.Plan)
	}
	return n
}

// Figures brings the figures of the plan into the form that the store keeps.
func (o *Result) Figures() (store.Figures, error) {
	causes := make([]string, len(o.Causes))
	for i, c := range o.Causes {
		causes[i] = string(c)
	}
	forcedKeys, forcedState := forced(o)
	f := store.Figures{
		EndReason: string(o.EndReason), Causes: causes, Balanced: o.Balanced, TableWithinLimit: o.TableWithinLimit,
		ThetaBefore: o.Theta.Before, ThetaAfter: o.Theta.After, UnderloadBefore: o.Underload.Before,
		UnderloadAfter: o.Underload.After,
		SkewnessBefore: o.Skewness.Before, SkewnessAfter: o.Skewness.After, TableBefore: o.TableBefore,
		TableAfter:    o.TableAfter,
		MigrationKeys: o.Migration.Keys, MigrationState: o.Migration.State, MigrationFraction: o.Migration.Fraction,
		ForcedKeys: forcedKeys, ForcedState: forcedState,
		Objective: o.Migration.Objective, DriftedKeys: o.Snapshot.Drifted,
		IdleEntries: o.idleEntries, PlannerRevision: planner.Revision, WorkUnits: o.WorkUnits, Merges: o.Merges(),
	}
	if o.Foresight != nil {
		f.ThetaRealised = &o.Foresight.RealisedTheta
	}
	for _, part := range []struct {
		into  *[]byte
		value any
	}{
		{&f.Instances, loadsOf(o)}, {&f.HotKeys, o.HotKeyList()}, {&f.Splits, o.SplitKeys()},
		{&f.Certificate, proofOf(o)}, {&f.Compaction, o.compaction},
		{&f.Forecast, o.Foresight}, {&f.Affinity, o.affinity}, {&f.Resources, resources.Of(o.Plan, o.resource)},
	} {
		text, err := json.Marshal(part.value)
		if err != nil {
			return f, fmt.Errorf("encoding the figures: %w", err)
		}
		if string(text) != "null" {
			*part.into = text
		}
	}
	return f, nil
}

// proofOf is the certificate of the plan; nil when there is none.
func proofOf(o *Result) *figures.Certificate {
	c := o.Certificate
	if o.Proven != nil || c == nil {
		return o.Proven
	}
	out := &figures.Certificate{LowerBound: &c.LowerBound, Gap: c.Gap, Scope: scopeOf(o), Infeasible: c.Infeasible,
		Unmet: make([]figures.Unmet, len(c.Unmet))}
	if c.Infeasible {
		out.LowerBound = nil
	}
	for i, u := range c.Unmet {
		out.Unmet[i] = figures.Unmet{
			Constraint: string(u.Constraint), Limit: u.Limit, AtLeast: resources.Finite(u.AtLeast), Rule: u.Rule,
			Without: u.Without, Resource: u.Resource,
		}
	}
	return out
}

// scopeOf is what the certificate of the planner is over.
func scopeOf(o *Result) string {
	if _, splits := o.Diff.(listing.PkgDiff); splits {
		return scopeCandidates
	}
	return string(MigratesByClass(o.Classes != nil))
}

// scopeCandidates is that of proofs over all ways to divide keys over their candidates.
const scopeCandidates = "candidates"

// FirstsOf is of how many keys each instance is the first candidate, before the plan and
// after it.
type FirstsOf struct{ Before, After []int64 }

func loadsOf(o *Result) []figures.Load {
	out := make([]figures.Load, len(o.Instances))
	for i, l := range o.Instances {
		d := o.Snapshot.Instances[i]
		out[i] = figures.Load{
			ID: d.ID, Name: d.Name, Capacity: d.Capacity, LoadBefore: l.Before, LoadAfter: l.After,
			KeysBefore: l.KeysBefore, KeysAfter: l.KeysAfter, StateIn: l.StateIn, StateOut: l.StateOut,
		}
		if d.Drained {
			out[i].Drained = &d.Drained
		}
		if d.Added {
			out[i].Added = &d.Added
		}
		if d.Cordoned {
			out[i].Cordoned = &d.Cordoned
		}
		if o.Snapshot.Eligibility != nil && d.Live() {
			out[i].FairLoad = &l.Fair
		}
		if d.Filling {
			out[i].Filling = &d.Filling
		}
		if o.Firsts != nil {
			out[i].MergesBefore = new(l.KeysBefore - o.Firsts.Before[i])
			out[i].MergesAfter = new(l.KeysAfter - o.Firsts.After[i])
		}
		if asksToFill(o) && d.Live() {
			out[i].LeastLoad = &l.Least
		}
		if o.loadErrors != nil {
			out[i].LoadError = &figures.Comparison{Before: o.loadErrors[i].Before, After: o.loadErrors[i].After}
		}
	}
	for _, y := range o.Unfilled {
		out[y.Instance].Unfilled = &figures.Shortage{Cause: string(y.Cause), Proven: y.Proven}
	}
	return out
}

// asksToFill reports whether some load has a lower bound.
func asksToFill(o *Result) bool {
	return o.Options.ThetaMin != nil ||
		slices.ContainsFunc(o.Snapshot.Instances, func(d planner.Instance) bool { return d.Filling })
}

// HotKeyList are the hot keys of the plan.
func (o *Result) HotKeyList() []figures.HotKey {
	out := make([]figures.HotKey, len(o.HotKeys))
	for i, h := range o.HotKeys {
		out[i] = figures.HotKey{Instance: o.Snapshot.Instances[h.Instance].ID, Cost: h.Cost,
			ForcedTheta: resources.Finite(h.ForcedTheta), Resource: h.Resource}
		if o.Classes == nil || o.Classes.IsNamed(h.Item) {
			out[i].Key = o.Snapshot.Keys.At(int(h.Item))
		} else {
			out[i].Class = figures.ClassOf(o.Classes.Records[h.Item])
		}
		if h.Pieces > 0 {
			pieces := int32(h.Pieces)
			out[i].Pieces = &pieces
		}
	}
	return out
}

// SplitKeys are the keys that the plan has go to several instances.
func (o *Result) SplitKeys() []figures.SplitKey {
	out := make([]figures.SplitKey, 0, len(o.Splits))
	s := o.Snapshot
	for _, x := range o.Splits {
		out = append(out, figures.SplitKey{
			Key: s.Keys.At(int(x.Item)), Cost: s.Cost[x.Item], Cause: string(x.Cause), Changed: x.Changed, Parts: x.OnIDs(s),
		})
	}
	return out
}

// forced sums up what a plan has to move: off instances that were removed, after a
// changed hash, and where the state of a key is on several instances.
func forced(o *Result) (keys int64, state float64) {
	var states []float64
	var times []int64
	add := func(reason planner.Reason, n int64, amount float64, count int64) {
		switch reason {
		case planner.ReasonDrain, planner.ReasonRehash, planner.ReasonGather, planner.ReasonTakeover,
			planner.ReasonPlacement:
			keys, states, times = keys+n, append(states, amount), append(times, count)
		}
	}
	switch d := o.Diff.(type) {
	case listing.RingDiff:
		for _, m := range d.Arcs {
			add(m.Reason, m.Keys, m.State, 1)
		}
	case listing.RangesDiff:
		for _, m := range d.Moves {
			add(m.Reason, m.Keys, m.State, 1)
		}
	default:
		for _, m := range o.Moves {
			add(m.Reason, m.Count, o.Snapshot.StateOf(m), m.Count)
		}
	}
	if keys == 0 {
		return 0, 0
	}
	return keys, exact.SumsBy(1, make([]int32, len(states)), states, times)[0]
}

// Affected yields the instances that the migrations of the plan concern, some of them
// several times.
func (o *Result) Affected() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		if o.Diff != nil {
			for _, f := range o.Diff.Index().Flows() {
				if !yield(f.From) || !yield(f.To) {
					return
				}
			}
			for _, id := range o.Touched {
				if !yield(id) {
					return
				}
			}
			return
		}
		for _, m := range o.Moves {
			if !yield(o.Snapshot.Instances[m.From].ID) || !yield(o.Snapshot.Instances[m.To].ID) {
				return
			}
		}
	}
}
