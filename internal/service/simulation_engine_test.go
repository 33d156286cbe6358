package service_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/input/lists"
	"plannerd/internal/operator"
	"plannerd/internal/service/feed"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/planner/ring"
)

// engine is a simulated engine: its routers, and where state is.
type engine struct {
	random *rand.Rand
	keys   int // that there are
	// routes and pending are by the committed table and by the pending one, which is nil
	// where none is.
	routes, pending *router
	// at is where the state of keys is, strays where there is more of it.
	at, strays map[string]int32
	cost       map[string]float64 // of the traffic in this interval
	seen       int64              // the table version when the interval began
	// faults number the keys of which a fault put state where no table routes it, until a
	// plan that knew of it is committed.
	faults map[string]int
	number int
}

func newEngine(random *rand.Rand) *engine {
	return &engine{
		random: random, keys: 3 + random.IntN(14), at: map[string]int32{}, strays: map[string]int32{},
		cost: map[string]float64{}, faults: map[string]int{},
	}
}

// router sends keys by a table, a ring or ranges.
type router struct {
	entries map[string]int32
	hash    planner.HashFunction // nil: nobody has what has no entry
	owners  []lists.RangeOwner
	named   map[string]bool // keys that are held back while the table is pending
}

func (r *router) route(key string) int32 {
	if id, ok := r.entries[key]; ok {
		return id
	}
	for i := len(r.owners) - 1; i >= 0; i-- {
		if string(r.owners[i].Range.From) <= key {
			return r.owners[i].Instance
		}
	}
	if r.hash == nil {
		return planner.NoInstance
	}
	id, err := r.hash.Instance([]byte(key), planner.KeyHash([]byte(key)))
	if err != nil {
		panic(err)
	}
	return id
}

// hashOf is the hash function of an engine; its own is modulo.
func hashOf(instances []operator.Instance, h *operator.Hash, by *operator.Placement) planner.HashFunction {
	if h == nil {
		return nil
	}
	nodes := make([]partitioner.Instance, len(instances))
	for i, d := range instances {
		nodes[i] = partitioner.Instance{ID: d.ID, Tokens: d.Tokens}
	}
	function := h.Function
	if function == partitioner.Reported {
		function, by = "modulo", nil
	}
	hash, err := partitioner.New(partitioner.Config{
		Function: function, TokensPerInstance: h.TokensPerInstance, Rules: by.Over(instances),
	}, nodes)
	if err != nil {
		panic(err)
	}
	return hash
}

// look has the routers read the table.
func (s *simulation) look() *feed.TableView {
	s.Helper()
	memory := s.budget.Lease(s.Context())
	defer memory.Release()
	view, err := s.Table(s.Context(), feed.TableQuery{Operator: s.name, Version: feed.NotAsked,
		Since: feed.NotAsked}, memory)
	if err != nil {
		s.Fatal(err)
	}
	s.routes = &router{entries: map[string]int32{}, hash: hashOf(view.Instances, view.Hash, view.Placement)}
	s.routes.follow(s.T, view.Parts)
	if s.pending = nil; view.NextPlan != nil {
		next := view.NextPlan
		s.pending = &router{entries: maps.Clone(s.routes.entries), hash: hashOf(next.Instances, next.Hash, next.Placement)}
		s.pending.follow(s.T, view.NextPlan.Parts)
	}
	return view
}

// follow takes over what parts of an answer say.
func (r *router) follow(t *testing.T, parts []listing.Part) {
	t.Helper()
	r.named = map[string]bool{}
	for _, part := range parts {
		switch list := part.List.(type) {
		case lists.Records[lists.Entry]:
			for e := range list {
				r.entries[string(e.Key)], r.named[string(e.Key)] = e.Instance, true
			}
		case lists.Records[lists.UnsetKey]:
			for key := range list {
				delete(r.entries, string(key))
				r.named[string(key)] = true
			}
		case lists.Records[lists.RingTokens]:
			var nodes []ring.Node
			for x := range list {
				nodes = append(nodes, ring.Node{ID: x.Instance, Tokens: int(x.Tokens)})
			}
			r.hash = ring.New(nodes)
		case lists.Records[lists.RangeOwner]:
			r.owners = slices.Collect(iterOf(list))
		default:
			t.Fatalf("a part of %T", list)
		}
	}
}

func iterOf[R lists.Record](list lists.Records[R]) func(func(R) bool) { return list }

// isHeld reports whether routers hold a key back while the table is pending.
func (e *engine) isHeld(key string) bool {
	p := e.pending
	return p != nil && (p.named[key] && p.owners == nil || p.route(key) != e.routes.route(key))
}

// traffic sends tuples; those of keys that are on their way are held back.
func (e *engine) traffic() {
	for range 1 + e.random.IntN(6) {
		key := fmt.Sprint("k", e.random.IntN(e.keys))
		to := e.routes.route(key)
		if at, ok := e.at[key]; to == planner.NoInstance || e.isHeld(key) || ok && at != to {
			continue // what a fault put elsewhere is not made worse
		}
		e.at[key] = to
		e.cost[key] += float64(1 + e.random.IntN(9))
	}
}

// forget lets state go that was not used for long, and says of which keys.
func (e *engine) forget() (gone []string) {
	for _, key := range slices.Sorted(maps.Keys(e.at)) {
		if e.random.IntN(4) == 0 && !e.isHeld(key) {
			delete(e.at, key)
			delete(e.strays, key)
			delete(e.cost, key)
			delete(e.faults, key)
			gone = append(gone, key)
		}
	}
	return gone
}

// fault puts all state of a key, or a part of it, on an instance that no table routes it
// to, and names the key.
func (e *engine) fault(instances []int32) string {
	keys := slices.Sorted(maps.Keys(e.at))
	if len(keys) == 0 {
		return ""
	}
	key, to := keys[e.random.IntN(len(keys))], instances[e.random.IntN(len(instances))]
	if to == e.at[key] {
		return ""
	}
	if e.random.IntN(2) == 0 {
		e.at[key] = to
		delete(e.strays, key)
	} else {
		e.strays[key] = to
	}
	e.number++
	e.faults[key] = e.number
	return key
}

// closed are the statistics of an interval that is over, and what was out of place then.
type closed struct {
	*scheme.Statistics
	strays map[string]int32
	faults map[string]int
	moving bool // state was on its way
}

// close says what is known of the interval, and begins the next one.
func (e *engine) close(version int64) *closed {
	keys := slices.SortedFunc(maps.Keys(e.at),
		func(a, b string) int { return cmp.Or(cmp.Compare(e.cost[b], e.cost[a]), strings.Compare(a, b)) })
	st := &planner.Statistics{Keys: planner.NewKeys(len(keys))}
	heavy := len(keys)
	if len(keys) > 3 && e.random.IntN(3) == 0 {
		st.Partial, heavy = true, 3
	}
	rest := map[int32]*planner.Residual{}
	for i, key := range keys {
		if i < heavy {
			st.Keys.Append([]byte(key))
			st.Cost, st.State, st.Instance = append(st.Cost, e.cost[key]), append(st.State, 1), append(st.Instance, e.at[key])
			continue
		}
		r := rest[e.at[key]]
		if r == nil {
			r = &planner.Residual{Instance: e.at[key]}
			rest[e.at[key]] = r
		}
		r.Cost, r.State, r.Keys = r.Cost+e.cost[key], r.State+1, r.Keys+1
	}
	for _, id := range slices.Sorted(maps.Keys(rest)) {
		st.Residual = append(st.Residual, *rest[id])
	}
	seen := e.seen
	out := &closed{
		Statistics: &scheme.Statistics{Statistics: st,
			TableVersion: &seen}, strays: maps.Clone(e.strays), faults: maps.Clone(e.faults),
		moving: e.pending != nil,
	}
	if e.random.IntN(4) == 0 {
		st.Instance, out.TableVersion = nil, nil // the engine does not say where keys are
	}
	e.seen = version
	for key := range e.at {
		e.cost[key] = 0
	}
	return out
}

// tellHomes adds the hash instances of keys under the newest configuration, now and then
// but for one.
func (e *engine) tellHomes(st *planner.Statistics, hash planner.HashFunction) {
	st.HashInstance = make([]int32, st.Len())
	for i := range st.HashInstance {
		id, err := hash.Instance(st.Keys.At(i), st.Keys.Hash(i))
		if err != nil {
			panic(err)
		}
		st.HashInstance[i] = id
	}
	if st.Len() > 0 && e.random.IntN(4) == 0 {
		st.HashInstance[e.random.IntN(st.Len())] = planner.NoInstance
	}
}
