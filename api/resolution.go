package api

import (
	"cmp"
	"context"
	"fmt"
	"mime"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"plannerd/api/wire"
	"plannerd/internal/statsio"
	"plannerd/planner"
	"plannerd/store"
)

const howToResolve = "This operation takes application/x-ndjson and text/csv: " +
	"curl -X PUT -H 'Content-Type: text/csv' --data-binary @keys.csv."

// resolvePlan takes the keys of a plan of classes.
func (s *server) resolvePlan(w http.ResponseWriter, c *call) error {
	id := c.param("id")
	if c.once == nil { // else an earlier answer comes first
		if _, err := s.toResolve(c, id); err != nil { // before a large body is read
			return err
		}
	}
	in, err := s.readResolution(w, c)
	if err != nil {
		return err
	}
	if err := s.begin(c, stepReply); err != nil {
		return err
	}
	p, err := s.toResolve(c, id)
	if err != nil {
		return err
	}
	r, err := s.resolution(c, p, in)
	if err != nil {
		return err
	}
	p, err = s.store.ResolvePlan(c.Context(), id, r, attributed(c.Context(), store.Transition{At: s.now()}), c.demandPlan)
	if err != nil {
		return aboutPlan(id, err)
	}
	return s.finish(w, c, func() (*reply, error) { return stepReply(store.Outcome{Plan: p}) })
}

// toResolve reads a plan that the request may resolve.
func (s *server) toResolve(c *call, id string) (store.Plan, error) {
	p, err := s.store.Plan(c.Context(), id)
	if err != nil {
		return p, aboutPlan(id, err)
	}
	if err := c.demandPlan(p); err != nil {
		return p, err
	}
	return p, resolvable(p)
}

// resolvable refuses plans that take no resolution.
func resolvable(p store.Plan) error {
	switch {
	case !p.Classes:
		return conflict(wire.CodeResolutionNotNeeded, "The plan moves keys, not classes of them.")
	case p.EngineTable:
		return conflict(wire.CodeResolutionNotNeeded, "The engine holds the routing table: it alone has to know the keys.")
	case p.Status == store.StatusNoAction:
		return conflict(wire.CodeTransitionNotAllowed, "There is nothing to resolve: the plan is no_action.")
	case p.Status != store.StatusApproved:
		return aboutPlan(p.ID, store.ErrTransition)
	}
	return nil
}

// refuseUnresolved refuses to tell what a plan does to the table when only the
// engine knows.
func refuseUnresolved(p store.Plan) error {
	switch {
	case !p.Classes || p.ResolvedKeys != nil:
		return nil
	case p.EngineTable:
		return conflict(wire.CodeTableNotHeld, "The plan moves classes of keys, and the engine holds the routing table.")
	}
	return aboutPlan(p.ID, store.ErrUnresolved)
}

// readResolution reads the body of a resolution.
func (s *server) readResolution(w http.ResponseWriter, c *call) (*statsio.Resolution, error) {
	media, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil || !isUTF8(params) {
		return nil, unsupported(howToResolve)
	}
	decode := statsio.DecodeResolutionNDJSON
	switch media {
	case mediaNDJSON:
	case mediaCSV:
		decode = statsio.DecodeResolutionCSV
	default:
		return nil, unsupported(howToResolve)
	}
	body, options, err := s.bulkBody(w, c, media)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	in, err := decode(body, options)
	if err != nil {
		return nil, readProblem(c.Context(), err)
	}
	return in, c.memory.Settle(in.Bytes() + int64(in.Len())*changeBytes)
}

// resolver checks a resolution against its plan, and finds out what it does to
// the table.
type resolver struct {
	in      *statsio.Resolution
	planned *placement            // the plan's configuration
	pinned  *placement            // that of its base version
	table   *planner.RoutingTable // of its base version
	changed bool                  // pinned and planned place some key differently
	want    map[flow]int64        // keys that the plan counts
	bad     *problem

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
func (s *server) resolution(c *call, p store.Plan, in *statsio.Resolution) (store.Resolution, error) {
	ctx := c.Context()
	b, err := s.loadBase(ctx, p.Operator, c.memory)
	if err != nil {
		return store.Resolution{}, err
	}
	if b.op.TableVersion != p.BaseVersion {
		return store.Resolution{}, aboutPlan(p.ID, store.ErrBaseChanged)
	}
	stored, err := s.store.Configuration(ctx, p.Operator, p.ConfigVersion)
	if err != nil {
		return store.Resolution{}, aboutOperator(p.Operator, err)
	}
	r := &resolver{
		in: in, pinned: b.pinned, table: b.table, named: make([]bool, b.table.Len()),
		want: map[flow]int64{}, got: map[flow]int64{}, bad: invalid(),
	}
	if r.planned, err = s.placement.get(ctx, stored.Config); err != nil {
		return store.Resolution{}, err
	}
	r.changed = !samePlacement(r.pinned.configuration, r.planned.configuration)
	blob, err := s.store.Migrations(ctx, p.ID)
	if err != nil {
		return store.Resolution{}, aboutPlan(p.ID, err)
	}
	records, err := decodeClassMoves(p.ID, blob)
	if err != nil {
		return store.Resolution{}, err
	}
	for _, m := range records {
		r.want[flow{m.Current, m.Hash, m.Planned}] += m.Count
	}
	release, err := take(ctx, s.slots) // hashing many keys keeps a processor busy
	if err != nil {
		return store.Resolution{}, err
	}
	defer release()
	if err := r.resolve(ctx); err != nil {
		return store.Resolution{}, err
	}
	out := store.Resolution{Keys: int64(in.Len()), Changes: r.changes, TableAfter: r.tableAfter()}
	out.TableWithinLimit, err = withinLimit(p, out.TableAfter)
	return out, err
}

// tableAfter is the number of entries of the table that the changes make.
func (r *resolver) tableAfter() int64 {
	n := int64(r.table.Len())
	for _, c := range r.changes {
		switch store.NoInstance {
		case c.Old:
			n++
		case c.New:
			n--
		}
	}
	return n
}

// withinLimit reports whether a table of that size is within the limit under
// which the plan was made.
func withinLimit(p store.Plan, size int64) (bool, error) {
	var under struct {
		TableLimit *int64 `json:"table_limit"`
	}
	if err := json.Unmarshal(p.Parameters, &under); err != nil {
		return false, fmt.Errorf("reading the stored parameters of plan %s: %w", p.ID, err)
	}
	return under.TableLimit == nil || size <= *under.TableLimit, nil
}

// resolve goes through the keys.
func (r *resolver) resolve(ctx context.Context) error {
	for i := range r.in.Len() {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(r.bad.errors) >= maxFieldErrors {
			break
		}
		if home, ok := r.home(i); ok && r.known(i) {
			r.key(i, home)
		}
	}
	if err := r.bad.orNil(); err != nil {
		return err
	}
	if err := r.compare(); err != nil {
		return err
	}
	if r.changed {
		r.unsetOthers()
	}
	return nil
}

// unsetOthers removes the entries of keys that were not named. Those keys are
// where their new hash puts them, or are no more: every other one had to be named.
func (r *resolver) unsetOthers() {
	for i, named := range r.named {
		if !named {
			e := r.table.At(i)
			r.changes = append(r.changes, store.Change{Key: e.Key, Old: e.Instance, New: store.NoInstance})
		}
	}
}

// home is the hash instance of a key under the plan's configuration.
func (r *resolver) home(row int) (id int32, ok bool) {
	said := planner.NoInstance
	if r.in.HashInstance != nil {
		said = r.in.HashInstance[row]
	}
	h := r.planned.planner.Hash
	switch {
	case h == nil && said == planner.NoInstance:
		return 0, r.refuse(row, "hash_instance", `is needed with the hash function "reported"`)
	case h == nil:
		return said, r.planned.has(said) || r.refuse(row, "hash_instance", "is not an instance of the plan's configuration")
	case said != planner.NoInstance:
		return 0, r.refuse(row, "hash_instance", `is taken only with the hash function "reported"`)
	}
	id, err := h.Instance(r.in.Keys.At(row), r.in.Keys.Hash(row))
	if err != nil {
		return 0, r.refuse(row, "key", err.Error())
	}
	return id, true
}

// known reports whether the instances of a row are.
func (r *resolver) known(row int) bool {
	from, to := r.in.From[row], r.in.To[row]
	return (r.pinned.has(from) || r.planned.has(from) || r.refuse(row, "from", "is not a known instance")) &&
		(r.planned.has(to) || r.refuse(row, "to", "is not an instance of the plan's configuration"))
}

// refuse adds what is wrong with a row, and is false.
func (r *resolver) refuse(row int, field, detail string) bool {
	r.bad.at(r.in.Pointer(row, field), detail)
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
	for _, f := range flows[:min(len(flows), maxFieldErrors)] {
		r.bad.errors = append(r.bad.errors, wire.FieldError{Detail: fmt.Sprintf(
			"from %d, with hash instance %d, to %d: the plan has %d keys, %d are named", f.from, f.hash, f.to, r.want[f], r.got[f])})
	}
	return r.bad.orNil()
}
