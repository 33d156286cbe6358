package life

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"plannerd/internal/input"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/store"
)

// CheckResolvable refuses plans that take no resolution.
func (s *Life) CheckResolvable(ctx context.Context, id string, guard PlanGuard) error {
	_, err := s.resolvable(ctx, id, guard)
	return err
}

// resolvable reads a plan that may be resolved.
func (s *Life) resolvable(ctx context.Context, id string, guard PlanGuard) (store.Plan, error) {
	p, err := s.Plan(ctx, id)
	if err != nil {
		return p, err
	}
	if err := guard(p); err != nil {
		return p, err
	}
	switch {
	case !p.Classes:
		err = refusal.New(refusal.ResolutionNotNeeded, "The plan moves keys, not classes of them.")
	case p.EngineTable:
		err = refusal.New(refusal.ResolutionNotNeeded, "The engine holds the routing table, "+
			"so only the engine has to know the keys.")
	case p.Status == store.StatusNoAction:
		err = refusal.New(refusal.TransitionNotAllowed, "There is nothing to resolve: the plan is no_action.")
	case p.Status != store.StatusApproved:
		err = refusal.AboutPlan(p.ID, store.ErrTransition)
	}
	return p, err
}

// Resolve takes the keys of a plan of classes.
func (s *Life) Resolve(
	ctx context.Context, step Step, in *input.Resolution, memory *admission.Lease,
) (store.Plan, error) {
	if err := memory.Settle(in.Bytes() + int64(in.Len())*reading.ChangeBytes); err != nil {
		return store.Plan{}, err
	}
	p, err := s.resolvable(ctx, step.Plan, step.Guard)
	if err != nil {
		return p, err
	}
	r, err := s.resolution(ctx, p, in, memory)
	if err != nil {
		return p, err
	}
	if step.By.At, err = s.Store.Now(ctx); err != nil {
		return store.Plan{}, refusal.AboutStore(err)
	}
	ctx = step.Claim.Completing(ctx, func(out store.Outcome) (store.Plan, error) { return out.Plan, nil })
	p, err = s.Store.ResolvePlan(ctx, step.Plan, r, step.By, store.PlanGuard(step.Guard))
	return p, refusal.AboutPlan(step.Plan, err)
}

// resolver checks a resolution against its plan, and finds out what it does to
// the table.
type resolver struct {
	in      *input.Resolution
	planned *reading.Placement    // the plan's configuration
	pinned  *reading.Placement    // that of its base version
	table   *planner.RoutingTable // of its base version
	changed bool                  // pinned and planned place some key differently
	want    map[flow]int64        // keys that the plan counts
	after   []planner.Entry       // of the keys that the statistics name, by ascending bytes
	bad     []planner.InputError

	got     map[flow]int64
	named   []bool // by entry of table: its key was named
	changes []store.Change
}

// flow is where keys go: from d, with hash instance d_h, to d′.
type flow struct{ from, hash, to int32 }

func (f flow) compare(o flow) int {
	return cmp.Or(cmp.Compare(f.from, o.from), cmp.Compare(f.hash, o.hash), cmp.Compare(f.to, o.to))
}

// resolution is what the keys of a plan come to.
func (s *Life) resolution(ctx context.Context, p store.Plan, in *input.Resolution,
	memory *admission.Lease) (store.Resolution, error) {
	b, err := schemes.Load(ctx, s.Reader, p.Operator, memory)
	if err != nil {
		return store.Resolution{}, err
	}
	if b.Op.TableVersion != p.BaseVersion {
		return store.Resolution{}, refusal.AboutPlan(p.ID, store.ErrBaseChanged)
	}
	r := &resolver{
		in: in, pinned: b.Pinned, table: b.Table, named: make([]bool, b.Table.Len()),
		want: map[flow]int64{}, got: map[flow]int64{},
	}
	if r.planned, err = s.Placement(ctx, p.Operator, p.ConfigVersion); err != nil {
		return store.Resolution{}, err
	}
	r.changed = !operator.SamePlacement(r.pinned.Configuration, r.planned.Configuration)
	blob, err := s.StoredMigrations(ctx, p)
	if err != nil {
		return store.Resolution{}, err
	}
	moves, err := listing.DecodeClassMoves(p.ID, blob)
	if err != nil {
		return store.Resolution{}, err
	}
	r.after = moves.After
	for _, m := range moves.Classes {
		r.want[flow{m.Current, m.Hash, m.Planned}] += m.Count
	}
	release, err := s.Turn(ctx) // hashing many keys keeps a processor busy
	if err != nil {
		return store.Resolution{}, err
	}
	defer release()
	if err := r.resolve(ctx); err != nil {
		return store.Resolution{}, err
	}
	under, err := reading.ParametersOf(p)
	after := r.tableAfter()
	return store.Resolution{
		Keys: int64(in.Len()), Changes: r.changes, TableAfter: after, TableWithinLimit: scheme.Within(under.TableLimit,
			after),
	}, err
}

// tableAfter is the number of entries of the table that the changes make.
func (r *resolver) tableAfter() int64 {
	n := r.table.Size()
	size := func(e store.Entry) int64 {
		if e.Instance == store.NoInstance {
			return 0
		}
		return max(1, int64(len(figures.PartsOf(e.Parts))))
	}
	for _, c := range r.changes {
		n += size(figures.After(c)) - size(figures.Before(c))
	}
	return n
}

// addNamed adds what the plan does to keys that the statistics name.
func (r *resolver) addNamed() {
	for _, e := range r.after {
		c := store.Change{Key: e.Key, Old: store.NoInstance, New: e.Instance, NewParts: figures.EncodeParts(e.Parts)}
		if at := r.table.Find(e.Key, planner.KeyHash(e.Key)); at >= 0 {
			r.named[at] = true
			was := r.table.At(at)
			c.Old, c.OldParts = was.Instance, figures.EncodeParts(was.Parts)
		}
		if c.Old != c.New || c.OldParts != c.NewParts {
			r.changes = append(r.changes, c)
		}
	}
}

// resolve goes through the keys.
func (r *resolver) resolve(ctx context.Context) error {
	for i := range r.in.Len() {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(r.bad) >= refusal.MaxProblems {
			break
		}
		if home, ok := r.home(i); ok && r.known(i) {
			r.key(i, home)
		}
	}
	if err := r.refusal(); err != nil {
		return err
	}
	if err := r.compare(); err != nil {
		return err
	}
	r.addNamed()
	if r.changed {
		r.unsetOthers()
	}
	return nil
}

// refusal is what is wrong with the resolution; nil: nothing.
func (r *resolver) refusal() error {
	if len(r.bad) == 0 {
		return nil
	}
	return &refusal.Error{Reason: refusal.Invalid, Problems: r.bad}
}

// unsetOthers removes the entries of keys that were not named. Those keys are
// where their new hash puts them, or are no more: every other one had to be named.
func (r *resolver) unsetOthers() {
	for i, named := range r.named {
		if !named {
			e := r.table.At(i)
			r.changes = append(r.changes, store.Change{Key: e.Key, Old: e.Instance, OldParts: figures.EncodeParts(e.Parts),
				New: store.NoInstance})
		}
	}
}

// home is the hash instance of a key under the plan's configuration.
func (r *resolver) home(row int) (id int32, ok bool) {
	said := planner.NoInstance
	if r.in.HashInstance != nil {
		said = r.in.HashInstance[row]
	}
	h := r.planned.Model.Hash
	switch {
	case h == nil && said == planner.NoInstance:
		return 0, r.refuse(row, "hash_instance", `is needed with the hash function "reported"`)
	case h == nil:
		return said, r.planned.Has(said) || r.refuse(row, "hash_instance", "is not an instance of the plan's configuration")
	case said != planner.NoInstance:
		return 0, r.refuse(row, "hash_instance", `is taken only with the hash function "reported"`)
	}
	id, err := h.Instance(r.in.Keys.At(row), r.in.Keys.Hash(row))
	if err != nil {
		return 0, r.refuse(row, "key", err.Error())
	}
	return id, true
}

// known reports whether the instances of a row are, and the key is none that the statistics
// name.
func (r *resolver) known(row int) bool {
	if _, named := slices.BinarySearchFunc(r.after, r.in.Keys.At(row),
		func(e planner.Entry, key []byte) int { return bytes.Compare(e.Key, key) }); named {
		return r.refuse(row, "key", "is one that the statistics name: what becomes of it is known")
	}
	from, to := r.in.From[row], r.in.To[row]
	return (r.pinned.Has(from) || r.planned.Has(from) || r.refuse(row, "from", "is not a known instance")) &&
		(r.planned.Has(to) || r.refuse(row, "to", "is not an instance of the plan's configuration"))
}

// refuse adds what is wrong with a row, and is false.
func (r *resolver) refuse(row int, field, detail string) bool {
	r.bad = append(r.bad, planner.InputError{Row: row, Field: field, Detail: detail})
	return false
}

// key counts a key, and notes what its move does to the table.
func (r *resolver) key(row int, home int32) {
	to := r.in.To[row]
	r.got[flow{r.in.From[row], home, to}]++
	key := r.in.Keys.At(row)
	c := store.Change{Key: key, Old: store.NoInstance, New: store.NoInstance}
	if entry := r.table.Find(key, r.in.Keys.Hash(row)); entry >= 0 {
		c.Old, r.named[entry] = r.table.At(entry).Instance, true
	}
	if to != home {
		c.New = to
	}
	if c.Old != c.New {
		r.changes = append(r.changes, c)
	}
}

// compare holds the numbers of keys against those of the plan.
func (r *resolver) compare() error {
	var flows []flow
	for f, n := range r.want {
		if r.got[f] != n {
			flows = append(flows, f)
		}
	}
	for f := range r.got {
		if _, planned := r.want[f]; !planned {
			flows = append(flows, f)
		}
	}
	slices.SortFunc(flows, flow.compare)
	for _, f := range flows[:min(len(flows), refusal.MaxProblems)] {
		r.bad = append(r.bad, planner.InputError{Row: -1, Detail: fmt.Sprintf(
			"from %d, with hash instance %d, to %d: the plan has %d keys, %d are named", f.from, f.hash, f.to,
			r.want[f], r.got[f])})
	}
	return r.refusal()
}
