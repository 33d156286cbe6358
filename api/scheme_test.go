package api_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"plannerd/api"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
)

// shifted is a plan of scheme ring or ranges as clients see it.
type shifted struct {
	ID, Status, Strategy, Migrates, KeyEncoding, EndReason string
	BaseVersion                                            int64
	Version                                                *int64
	Causes                                                 []string
	Balanced                                               bool
	Theta, Underload, Skewness                             struct{ Before, After float64 }
	Migration                                              struct {
		Keys                       int64
		State, Fraction, Objective float64
	}
	Certificate *struct {
		LowerBound, Gap *float64
		Scope           string
	}
	Instances []struct {
		ID                    int32
		LoadBefore, LoadAfter float64
		KeysBefore, KeysAfter int64
		StateIn, StateOut     float64
		Drained               bool
	}
	HotKeys []struct {
		Key      string
		Instance int32
	}
	DriftedKeys int64
	Parameters  map[string]any
	Ring        *struct {
		SizeBefore, SizeAfter      int64
		TokensAdded, TokensRemoved []ringToken
	}
	Ranges *struct {
		SizeBefore, SizeAfter int64
		Owners                []rangeOwner
	}
	Migrations []shiftMove
}

type ringToken struct {
	Instance, Index int32
	Position        uint32
}

type rangeOwner struct {
	From     string
	To       *string
	Instance int32
}

type shiftMove struct {
	Arc         *struct{ Start, End uint32 }
	Range       *rangeOwner
	From, To    int32
	Keys        int64
	Cost, State float64
	Reason      string
}

func (a *answer) shifted() (p shifted) {
	a.Helper()
	a.into(&p)
	return p
}

const (
	ringConfig   = `{"instances":4,"scheme":"ring","theta_max":0.1,"hash":{"tokens_per_instance":4},"ring":{"method":"fitted"}}`
	rangesConfig = `{"instances":3,"scheme":"ranges","theta_max":0.1,"ranges":{"max_intervals":3}}`
)

// load is an interval of keys k000, k001, … with a cost each.
func load(interval int, costs ...int) string {
	var keys []string
	for i, c := range costs {
		keys = append(keys, fmt.Sprintf(`{"key":"k%03d","cost":%d,"state":%d}`, i, c, i%7+1))
	}
	return fmt.Sprintf(`{"interval":%d,"keys":[%s]}`, interval, strings.Join(keys, ","))
}

// heavyFirst are costs of which the first are the greatest.
func heavyFirst(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 1 + 40*n/(i+n/4)/(i+1)
	}
	return out
}

func nodesOf(counts map[int32]int) (out []ring.Node) {
	for id, n := range counts {
		out = append(out, ring.Node{ID: id, Tokens: n})
	}
	slices.SortFunc(out, func(a, b ring.Node) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// tokens reads the ring of a version; "": the committed one.
func (e *env) tokens(query string) map[int32]int {
	e.Helper()
	var table struct {
		Scheme string
		Tokens []struct {
			Instance int32
			Tokens   int
		}
	}
	e.do("GET", "/v1/operators/ring/routing-table"+query, "").want(http.StatusOK).into(&table)
	out := map[int32]int{}
	for _, t := range table.Tokens {
		out[t.Instance] = t.Tokens
	}
	return out
}

func (e *env) owners(query string) []rangeOwner {
	e.Helper()
	var table struct{ Owners []rangeOwner }
	e.do("GET", "/v1/operators/ranges/routing-table"+query, "").want(http.StatusOK).into(&table)
	return table.Owners
}

func (e *env) routed(operator, key string) (int32, string) {
	e.Helper()
	var r struct {
		Instance int32
		Source   string
	}
	e.do("GET", "/v1/operators/"+operator+"/route?key="+key, "").want(http.StatusOK).into(&r)
	return r.Instance, r.Source
}

// TestRingLife: plan, repeat, commit, history, rescale and refusals of an operator
// whose keys lie on a token ring.
func TestRingLife(t *testing.T) {
	e := newEnv(t)
	const plans, operator = "/v1/operators/ring/plans", "/v1/operators/ring"
	e.operator("ring", ringConfig)
	// Before any plan the ring is the configuration's.
	first := map[int32]int{0: 4, 1: 4, 2: 4, 3: 4}
	if got := e.tokens(""); !maps.Equal(got, first) {
		t.Fatalf("%v", got)
	}
	want := ring.New(nodesOf(first)).Lookup([]byte("k001"))
	if at, source := e.routed("ring", "k001"); at != want || source != "ring" {
		t.Errorf("%d by %s, want %d", at, source, want)
	}
	var costs []int
	for i := range 60 {
		costs = append(costs, 1+i*7%11)
	}
	made := e.do("POST", plans, load(1, costs...)).want(http.StatusCreated)
	p := made.shifted()
	if p.Status != "approved" || p.Migrates != "arcs" || p.Strategy != "fitted" || p.Ring == nil || p.Ranges != nil ||
		p.Certificate != nil || len(p.Migrations) == 0 {
		t.Fatalf("%s", made.body)
	}
	if p.Parameters["ring"] == nil || p.Parameters["beta"] != nil {
		t.Errorf("parameters %v", p.Parameters)
	}
	e.checkRing(p, first, nil, costs)
	// Again: the same plan, whole.
	again := e.do("POST", plans, load(1, costs...)).want(http.StatusOK)
	if q := again.shifted(); q.ID != p.ID || len(q.Migrations) != len(p.Migrations) ||
		len(q.Ring.TokensAdded) != len(p.Ring.TokensAdded) || again.header.Get("ETag") != made.header.Get("ETag") {
		t.Errorf("%s", again.body)
	}
	if q := e.do("GET", "/v1/plans/"+p.ID, "").want(http.StatusOK).shifted(); q.Ring == nil || q.Ring.TokensAdded != nil ||
		q.Migrations != nil || q.Ring.SizeAfter != p.Ring.SizeAfter {
		t.Errorf("%+v", q)
	}
	if q := e.do("GET", "/v1/plans/"+p.ID+"?include=migrations,routing_table", "").want(http.StatusOK).
		shifted(); len(q.Migrations) != len(p.Migrations) || !slices.Equal(q.Ring.TokensAdded, p.Ring.TokensAdded) {
		t.Errorf("%+v", q)
	}
	e.do("GET", plans, "").want(http.StatusOK)
	e.do("POST", plans, load(1, 1, 2)).fails(http.StatusConflict, "interval_planned", "")
	if got := e.tokens(""); !maps.Equal(got, first) {
		t.Errorf("not committed, but %v", got)
	}
	for range 2 {
		done := e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK).shifted()
		if done.Version == nil || *done.Version != 1 {
			t.Errorf("%+v", done)
		}
	}
	second := e.tokens("")
	if got := e.apply(first, p); !maps.Equal(got, second) {
		t.Errorf("version 1 is %v, version 0 and its plan make %v", second, got)
	}
	if got := e.tokens("?version=0"); !maps.Equal(got, first) {
		t.Errorf("version 0 is now %v", got)
	}
	r := ring.New(nodesOf(second))
	for i := range costs {
		key := fmt.Sprintf("k%03d", i)
		if at, _ := e.routed("ring", key); at != r.Lookup([]byte(key)) {
			t.Errorf("%s goes to %d", key, at)
		}
	}
	// Balanced now: nothing to do. Drifted keys are counted.
	still := e.do("POST", plans, strings.Replace(load(2, costs...), `"state":1}`,
		fmt.Sprintf(`"state":1,"instance":%d}`, (r.Lookup([]byte("k000"))+1)%4), 1)).want(http.StatusCreated).shifted()
	if still.Status != "no_action" || !slices.Equal(still.Causes, []string{"balanced"}) || still.DriftedKeys != 1 ||
		still.Ring.SizeBefore != still.Ring.SizeAfter {
		t.Errorf("%+v", still)
	}
	// Tokens of the configuration are what an instance begins with: those on the ring stay.
	e.do("PUT", operator, strings.Replace(ringConfig, `"tokens_per_instance":4`, `"tokens_per_instance":9`, 1)).
		want(http.StatusOK)
	if q := e.do("POST", plans, load(3, costs...)).want(http.StatusCreated).shifted(); q.Status != "no_action" {
		t.Errorf("%+v", q)
	}
	// One joins, one leaves.
	e.do("PUT", operator, strings.Replace(strings.Replace(ringConfig, `"instances":4`,
		`"instances":[{"id":0},{"id":1},{"id":3},{"id":8,"tokens":6,"capacity":2}]`, 1), "0.1", "0.3", 1)).want(http.StatusOK)
	rescaled := e.do("POST", plans, load(4, costs...)).want(http.StatusCreated).shifted()
	third := e.checkRing(rescaled, second, map[int32]float64{0: 1, 1: 1, 3: 1, 8: 2}, costs)
	if third[2] != 0 || third[8] == 0 {
		t.Errorf("%v", third)
	}
	reasons := map[string]bool{}
	for _, m := range rescaled.Migrations {
		reasons[m.Reason] = true
		if (m.Reason == "drain") != (m.From == 2) {
			t.Errorf("%+v", m)
		}
	}
	if !reasons["drain"] || !reasons["fill"] {
		t.Errorf("%v", reasons)
	}
	e.do("POST", "/v1/plans/"+rescaled.ID+"/abort", `{"reason":"no"}`).want(http.StatusOK)
	anew := e.do("POST", plans, load(4, costs...)).want(http.StatusCreated).shifted()
	if anew.ID == rescaled.ID {
		t.Error("an aborted plan is back")
	}
	e.do("POST", "/v1/plans/"+anew.ID+"/commit", stopped).want(http.StatusOK)
	if got := e.tokens(""); !maps.Equal(got, third) {
		t.Errorf("%v, want %v", got, third)
	}
	e.do("GET", operator+"/routing-table?version=9", "").fails(http.StatusNotFound, "version_not_found", "")
	var op struct {
		Scheme                  string
		TableVersion, TableSize int64
		Beta, Strategy          any
	}
	e.do("GET", operator, "").want(http.StatusOK).into(&op)
	if op.Scheme != "ring" || op.TableVersion != 2 || op.TableSize != 4 || op.Beta != nil || op.Strategy != nil {
		t.Errorf("%+v", op)
	}
	if metrics := string(e.do("GET", "/metrics", "").body); strings.Contains(metrics,
		`plannerd_routing_table_entries{operator="ring"}`) ||
		!strings.Contains(metrics, `operator="ring"`) {
		t.Error("the metrics of a ring are not as documented")
	}
}

// apply carries the tokens out that a plan adds and removes.
func (e *env) apply(counts map[int32]int, p shifted) map[int32]int {
	e.Helper()
	held := map[ring.Token]bool{}
	for id, tokens := range counts {
		for i := range tokens {
			held[ring.Token{Node: id, Index: int32(i)}] = true
		}
	}
	for i, list := range [][]ringToken{p.Ring.TokensAdded, p.Ring.TokensRemoved} {
		for _, x := range list {
			if want := ring.Position(fmt.Appendf(nil, "token-%d-%d", x.Instance, x.Index)); x.Position != want {
				e.Errorf("token %+v lies at %d", x, want)
			}
			token := ring.Token{Node: x.Instance, Index: x.Index}
			if removed := i == 1; held[token] != removed {
				e.Fatalf("token %+v is there already, or is not there", x)
			}
			held[token] = i == 0
		}
	}
	out := map[int32]int{}
	for token, is := range held {
		if is {
			out[token.Node]++
		}
	}
	for token, is := range held {
		if is && int(token.Index) >= out[token.Node] {
			e.Errorf("node %d has %d tokens, and number %d", token.Node, out[token.Node], token.Index)
		}
	}
	return out
}

// checkRing recounts a plan of the costs of heavyFirst and returns the ring after it.
func (e *env) checkRing(p shifted, counts map[int32]int, capacity map[int32]float64, costs []int) map[int32]int {
	e.Helper()
	after := e.apply(counts, p)
	old, now := ring.New(nodesOf(counts)), ring.New(nodesOf(after))
	e.recount(p, capacity, costs, func(key string) int32 { return old.Lookup([]byte(key)) },
		func(key string) int32 { return now.Lookup([]byte(key)) },
		func(m shiftMove, key string) bool {
			return m.Arc.Start == m.Arc.End || ring.Position([]byte(key))-m.Arc.Start-1 < m.Arc.End-m.Arc.Start
		})
	sum := func(counts map[int32]int) (n int64) {
		for _, c := range counts {
			n += int64(c)
		}
		return n
	}
	if p.Ring.SizeBefore != sum(counts) || p.Ring.SizeAfter != sum(after) {
		e.Errorf("sizes %d and %d, not %d and %d", p.Ring.SizeBefore, p.Ring.SizeAfter, sum(counts), sum(after))
	}
	return after
}

// recount works all figures out anew. capacity nil: all instances named have 1.
func (e *env) recount(p shifted, capacity map[int32]float64, costs []int, before, after func(string) int32,
	in func(shiftMove, string) bool) {
	e.Helper()
	loadBefore, loadAfter, into, out := map[int32]float64{}, map[int32]float64{}, map[int32]float64{}, map[int32]float64{}
	total, state, allState, keys := 0.0, 0.0, 0.0, int64(0)
	covered := make([]struct {
		keys        int64
		cost, state float64
	}, len(p.Migrations))
	for i, c := range costs {
		key, cost, s := fmt.Sprintf("k%03d", i), float64(c), float64(i%7+1)
		from, to := before(key), after(key)
		loadBefore[from] += cost
		loadAfter[to] += cost
		total, allState = total+cost, allState+s
		hits := 0
		for j, m := range p.Migrations {
			if in(m, key) {
				hits++
				covered[j].keys++
				covered[j].cost += cost
				covered[j].state += s
				if m.From != from || m.To != to {
					e.Errorf("%s goes from %d to %d, its migration is %+v", key, from, to, m)
				}
			}
		}
		if from != to {
			keys++
			state += s
			into[to] += s
			out[from] += s
		}
		if (hits == 1) != (from != to) || hits > 1 {
			e.Errorf("%s from %d to %d is in %d migrations", key, from, to, hits)
		}
	}
	for j, m := range p.Migrations {
		if c := covered[j]; c.keys != m.Keys || c.cost != m.Cost || c.state != m.State {
			e.Errorf("%+v holds %+v", m, c)
		}
	}
	if p.Migration.Keys != keys || p.Migration.State != state || p.Migration.Objective != state ||
		math.Abs(p.Migration.Fraction-state/allState) > 1e-12 {
		e.Errorf("migration %+v, want %d keys of %v", p.Migration, keys, state)
	}
	capacities, theta := 0.0, [2]float64{}
	kappa := func(id int32) float64 {
		if capacity == nil {
			return 1
		}
		return capacity[id]
	}
	for _, x := range p.Instances {
		capacities += kappa(x.ID)
	}
	for _, x := range p.Instances {
		if x.LoadBefore != loadBefore[x.ID] || x.LoadAfter != loadAfter[x.ID] || x.StateIn != into[x.ID] ||
			x.StateOut != out[x.ID] || x.Drained != (kappa(x.ID) == 0) {
			e.Errorf("%+v, want loads %v and %v", x, loadBefore[x.ID], loadAfter[x.ID])
		}
		if k := kappa(x.ID); k > 0 {
			fair := total * k / capacities
			theta[0], theta[1] = max(theta[0], loadBefore[x.ID]/fair-1), max(theta[1], loadAfter[x.ID]/fair-1)
		}
	}
	if math.Abs(p.Theta.Before-theta[0]) > 1e-9 || math.Abs(p.Theta.After-theta[1]) > 1e-9 {
		e.Errorf("θ %+v, want %v", p.Theta, theta)
	}
}

// divide returns the owners as the library has them.
func divide(list []rangeOwner) (out ranges.Owners) {
	for _, o := range list {
		out = append(out, ranges.Owner{Low: []byte(o.From), Follower: o.Instance})
	}
	return out
}

// TestRangesLife does for ranges what TestRingLife does for a ring.
func TestRangesLife(t *testing.T) {
	e := newEnv(t)
	const plans, operator = "/v1/operators/ranges/plans", "/v1/operators/ranges"
	e.operator("ranges", rangesConfig)
	e.do("GET", operator+"/route?key=a", "").fails(http.StatusConflict, "nobody_owns", "")
	if got := e.owners(""); len(got) != 0 {
		t.Fatalf("%v", got)
	}
	// The first plan is the division itself.
	costs := []int{}
	for i := range 90 {
		costs = append(costs, 1+i%3)
	}
	made := e.do("POST", plans, load(1, costs...)).want(http.StatusCreated)
	p := made.shifted()
	if p.Status != "approved" || p.Migrates != "ranges" || p.Strategy != "min_movement" || p.Ring != nil ||
		len(p.Ranges.Owners) != 3 || len(p.Migrations) != 0 || p.Certificate != nil ||
		p.Theta.Before != 0 || p.Underload.Before != 1 || p.Skewness.Before != 1 || p.Ranges.SizeBefore != 0 || !p.Balanced ||
		p.Migration.Keys != 0 {
		t.Fatalf("%s", made.body)
	}
	for _, x := range p.Instances {
		if x.LoadBefore != 0 || x.KeysBefore != 0 || x.KeysAfter == 0 {
			t.Errorf("%+v", x)
		}
	}
	if again := e.do("POST", plans, load(1, costs...)).want(http.StatusOK).shifted(); again.ID != p.ID ||
		len(again.Ranges.Owners) != 3 {
		t.Errorf("%+v", again)
	}
	e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK)
	first := divide(e.owners(""))
	if !sameOwners(first, divide(p.Ranges.Owners)) {
		t.Errorf("%v", first)
	}
	if len(e.owners("?version=0")) != 0 {
		t.Error("version 0 has owners")
	}
	// A drift, and the least that has to move.
	for i := range 30 {
		costs[i] *= 3
	}
	drift := e.do("POST", plans, load(2, costs...)).want(http.StatusCreated).shifted()
	second := e.checkRanges(drift, first, nil, costs)
	if drift.Status != "approved" || !drift.Balanced || drift.Certificate == nil || drift.Certificate.Scope != "ranges" ||
		drift.Certificate.Gap == nil {
		t.Fatalf("%+v", drift)
	}
	moved := 0.0
	for _, m := range drift.Migrations {
		moved += m.Cost
	}
	if c := drift.Certificate; *c.LowerBound <= 0 || math.Abs(*c.Gap - (moved-*c.LowerBound) / *c.LowerBound) > 1e-6 {
		t.Errorf("%v moved, certificate %v and gap %v", moved, *c.LowerBound, *c.Gap)
	}
	e.do("POST", "/v1/plans/"+drift.ID+"/commit", stopped).want(http.StatusOK)
	if got := divide(e.owners("")); !sameOwners(got, second) {
		t.Errorf("%v, want %v", got, second)
	}
	for i := range costs {
		key := fmt.Sprintf("k%03d", i)
		want, _ := second.Find([]byte(key))
		if at, source := e.routed("ranges", key); at != want || source != "range" {
			t.Errorf("%s goes to %d by %s, not %d", key, at, source, want)
		}
	}
	// Up and down, at once.
	e.do("PUT", operator, strings.Replace(rangesConfig, `"instances":3`,
		`"instances":[{"id":0},{"id":2},{"id":5},{"id":6,"capacity":2}]`, 1)).want(http.StatusOK)
	rescaled := e.do("POST", plans, load(3, costs...)).want(http.StatusCreated).shifted()
	third := e.checkRanges(rescaled, second, map[int32]float64{0: 1, 2: 1, 5: 1, 6: 2}, costs)
	if rescaled.Status != "approved" || owns(third, 1) || !owns(third, 6) {
		t.Errorf("%+v", rescaled)
	}
	for _, m := range rescaled.Migrations {
		if (m.Reason == "drain") != (m.From == 1) {
			t.Errorf("%+v", m)
		}
	}
	e.do("POST", "/v1/plans/"+rescaled.ID+"/commit", stopped).want(http.StatusOK)
	if q := e.do("POST", plans, load(4, costs...)).want(http.StatusCreated).shifted(); q.Status != "no_action" ||
		len(q.Ranges.Owners) != len(third) {
		t.Errorf("%+v", q)
	}
	if got := divide(e.owners("?version=1")); !sameOwners(got, first) {
		t.Errorf("version 1 is now %v", got)
	}
}

func owns(o ranges.Owners, follower int32) bool {
	return slices.ContainsFunc(o, func(x ranges.Owner) bool { return x.Follower == follower })
}

// checkRanges recounts a plan and returns the owners after it.
func (e *env) checkRanges(p shifted, owners ranges.Owners, capacity map[int32]float64, costs []int) ranges.Owners {
	e.Helper()
	after := divide(p.Ranges.Owners)
	var transfers []ranges.Transfer
	var borders [][]byte // where some interval begins or ends
	for _, x := range slices.Concat(owners, after) {
		borders = append(borders, x.Low)
	}
	for _, m := range p.Migrations {
		t := ranges.Transfer{From: m.From, To: m.To, Interval: ranges.Interval{Low: []byte(m.Range.From)}}
		if m.Range.To != nil {
			t.Interval.High = []byte(*m.Range.To)
		}
		transfers = append(transfers, t)
		borders = append(borders, t.Interval.Low, t.Interval.High)
	}
	for _, key := range borders {
		at, _ := owners.Find(key)
		for _, t := range transfers {
			if t.From == at && t.Interval.Contains(key) {
				at = t.To
				break
			}
		}
		if to, _ := after.Find(key); to != at {
			e.Errorf("owners %v and migrations lead %q to %d, the plan to %d", owners, key, at, to)
		}
	}
	find := func(o ranges.Owners) func(string) int32 {
		return func(key string) int32 {
			id, _ := o.Find([]byte(key))
			return id
		}
	}
	e.recount(p, capacity, costs, find(owners), find(after), func(m shiftMove, key string) bool {
		return m.Range.From <= key && (m.Range.To == nil || key < *m.Range.To)
	})
	return after
}

// TestSchemeLists: pages, filters, order and the other media of the long lists.
func TestSchemeLists(t *testing.T) {
	e := newEnv(t)
	e.operator("ring",
		`{"instances":4,"scheme":"ring","theta_max":0,"hash":{"tokens_per_instance":8},"ring":{"method":"halving","tau":0,"max_rounds":2}}`)
	e.operator("ranges", rangesConfig)
	arcs := e.do("POST", "/v1/operators/ring/plans", load(1, heavyFirst(60)...)).want(http.StatusCreated).shifted()
	if arcs.Status != "approved" || len(arcs.Migrations) < 3 {
		t.Fatalf("%+v", arcs)
	}
	create := e.do("POST", "/v1/operators/ranges/plans", load(1, slices.Repeat([]int{2}, 40)...)).
		want(http.StatusCreated).shifted()
	e.do("POST", "/v1/plans/"+create.ID+"/commit", stopped).want(http.StatusOK)
	parts := e.do("POST", "/v1/operators/ranges/plans", load(2,
		slices.Concat(slices.Repeat([]int{9}, 10), slices.Repeat([]int{2}, 30))...)).want(http.StatusCreated).shifted()
	if len(parts.Migrations) == 0 {
		t.Fatalf("%+v", parts)
	}
	for _, p := range []shifted{arcs, parts} {
		list := "/v1/plans/" + p.ID + "/migrations"
		var page struct {
			Migrations    []shiftMove
			NextPageToken *string
		}
		var got []shiftMove
		for token := ""; ; {
			page.Migrations, page.NextPageToken = nil, nil
			e.do("GET", list+"?page_size=2"+token, "").want(http.StatusOK).into(&page)
			got = append(got, page.Migrations...)
			if page.NextPageToken == nil {
				break
			}
			token = "&page_token=" + *page.NextPageToken
		}
		if fmt.Sprint(len(got), got[0].From) != fmt.Sprint(len(p.Migrations), p.Migrations[0].From) {
			t.Errorf("%v", got)
		}
		for _, by := range []string{"cost", "state", "count"} {
			e.do("GET", list+"?sort="+by, "").want(http.StatusOK).into(&page)
			if !slices.IsSortedFunc(page.Migrations, func(a, b shiftMove) int {
				return map[string]int{"cost": cmp.Compare(b.Cost, a.Cost), "state": cmp.Compare(b.State, a.State),
					"count": cmp.Compare(b.Keys, a.Keys)}[by]
			}) {
				t.Errorf("by %s: %+v", by, page.Migrations)
			}
		}
		id, reason, want := p.Migrations[0].From, p.Migrations[0].Reason, 0
		for _, m := range p.Migrations {
			if (m.From == id || m.To == id) && m.Reason == reason {
				want++
			}
		}
		e.do("GET", fmt.Sprintf("%s?instance=%d&reason=%s&page_size=1000", list, id, reason), "").
			want(http.StatusOK).into(&page)
		if len(page.Migrations) != want {
			t.Errorf("%d, want %d", len(page.Migrations), want)
		}
		for media, head := range map[string]int{"text/csv": 1, "application/x-ndjson": 0} {
			a := e.do("GET", list, "", "Accept: "+media).want(http.StatusOK)
			if lines := strings.Count(string(a.body), "\n"); lines != head+len(p.Migrations) {
				t.Errorf("%s: %d lines", media, lines)
			}
		}
		e.do("GET", list+"?key_prefix=a", "").fails(unprocessable, "invalid", "?key_prefix")
		e.do("GET", list+"?key_contains=a", "").fails(unprocessable, "invalid", "?key_contains")
		e.do("GET", list+"?sort=key", "").fails(unprocessable, "invalid", "?sort")
		e.do("GET", "/v1/plans/"+p.ID+"/routing-table", "").fails(http.StatusConflict, "no_routing_table", "")
		e.do("PUT", "/v1/plans/"+p.ID+"/resolution", "key,from,to\n", csv).
			fails(http.StatusConflict, "resolution_not_needed", "")
	}
	e.do("GET", "/v1/plans/"+arcs.ID+"/migrations?key_encoding=base64", "").
		fails(unprocessable, "invalid", "?key_encoding")
	e.do("GET", "/v1/plans/"+parts.ID+"/migrations?key_encoding=base64", "").want(http.StatusOK)
	for operator, want := range map[string]string{"ring": "instance,tokens\n0,8\n1,8\n2,8\n3,8\n",
		"ranges": "from,to,instance\n,"} {
		a := e.do("GET", "/v1/operators/"+operator+"/routing-table", "", "Accept: text/csv").want(http.StatusOK)
		if !strings.HasPrefix(string(a.body), want) {
			t.Errorf("%s", a.body)
		}
		e.do("GET", "/v1/operators/"+operator+"/routing-table", "", "Accept: text/csv", "If-None-Match: "+
			a.header.Get("ETag")).want(http.StatusNotModified)
		e.do("GET", "/v1/operators/"+operator+"/routing-table", "", "Accept: application/x-ndjson").want(http.StatusOK)
	}
}

// TestRangesBytes: keys that are no text, and the least key there is.
func TestRangesBytes(t *testing.T) {
	e := newEnv(t)
	e.operator("ranges", `{"instances":3,"scheme":"ranges","theta_max":0,"ranges":{"method":"quantile"}}`)
	// The bytes 00, 00 00, 80 and ff. One each of the lowest two is enough for an instance.
	body := `{"interval":1,"key_encoding":"base64","keys":[{"key":"AA==","cost":10},{"key":"AAA=","cost":10},{"key":"gA==","cost":6},{"key":"/w==","cost":4}]}`
	a := e.do("POST", "/v1/operators/ranges/plans", body).want(http.StatusCreated)
	p := a.shifted()
	if p.KeyEncoding != "base64" || len(p.Ranges.Owners) != 3 || p.Ranges.Owners[0].From != "" ||
		p.Ranges.Owners[1].From != "AAA=" || p.Ranges.Owners[2].From != "gA==" {
		t.Fatalf("%s", a.body)
	}
	e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK)
	if got := e.owners(""); !slices.EqualFunc(got, p.Ranges.Owners,
		func(a, b rangeOwner) bool { return a.From == b.From && a.Instance == b.Instance }) {
		t.Errorf("%v", got)
	}
	for key, want := range map[string]int32{"AA==": 0, "AAA=": 1, "AAE=": 1, "gA==": 2, "fw==": 1} {
		var r struct{ Instance int32 }
		e.do("GET", "/v1/operators/ranges/route?key_encoding=base64&key="+key, "").want(http.StatusOK).into(&r)
		if r.Instance != want {
			t.Errorf("%s goes to %d, not %d", key, r.Instance, want)
		}
	}
	// The key 00 alone is too much for anyone: no range is cut off below it.
	heavy := `{"interval":2,"key_encoding":"base64","keys":[{"key":"AA==","cost":100},{"key":"AAA=","cost":1},{"key":"gA==","cost":1},{"key":"/w==","cost":1}]}`
	q := e.do("POST", "/v1/operators/ranges/plans", heavy).want(http.StatusCreated).shifted()
	if q.Balanced || len(q.Causes) == 0 || q.Causes[0] != "hot_key" || len(q.HotKeys) != 1 || q.HotKeys[0].Key != "AA==" {
		t.Errorf("%+v", q)
	}
	if q.Status == "approved" {
		e.do("POST", "/v1/plans/"+q.ID+"/commit", stopped).want(http.StatusOK)
	}
	e.owners("")
	e.do("GET", "/v1/operators/ranges/route?key_encoding=base64&key=AA==", "").want(http.StatusOK)
}

// TestSchemeCauses: why nothing, or not more, is done.
func TestSchemeCauses(t *testing.T) {
	e := newEnv(t)
	for i, c := range []struct{ config, body, status, cause string }{
		{`"instances":1,"scheme":"ring"`, load(1, 5, 1), "no_action", "balanced"},
		{`"instances":2,"scheme":"ring"`, load(1), "no_action", "balanced"},
		{`"instances":2,"scheme":"ring","theta_max":0,"ring":{"tau":1e9}`, load(1, heavyFirst(30)...), "no_action",
			"within_threshold"},
		{`"instances":2,"scheme":"ring","theta_max":0,"hash":{"tokens_per_instance":1}`, load(1, heavyFirst(30)...),
			"no_action", "exhausted"},
		{`"instances":2,"scheme":"ring","theta_max":0,"ring":{"method":"fitted"}`, load(1, 1000), "no_action", "hot_key"},
		{`"instances":2,"scheme":"ring","theta_max":0,"trigger":{"theta":"10000%"}`, load(1, heavyFirst(30)...),
			"no_action", "balanced"},
		{`"instances":1,"scheme":"ranges"`, load(1), "approved", ""},
		{`"instances":9,"scheme":"ranges","theta_max":0`, load(1, 4, 4, 4), "approved", "hot_key"},
		{`"instances":2,"scheme":"ranges","theta_max":0`, load(1, 3, 3, 3), "approved", "granularity"},
	} {
		name := fmt.Sprint("op", i)
		e.operator(name, "{"+c.config+","+anySize+"}")
		p := e.do("POST", "/v1/operators/"+name+"/plans", c.body).want(http.StatusCreated).shifted()
		if p.Status != c.status || c.cause != "" && !slices.Contains(p.Causes, c.cause) || c.cause == "" &&
			len(p.Causes) > 0 {
			t.Errorf("%s: %s with %v, want %s with %s", c.config, p.Status, p.Causes, c.status, c.cause)
		}
	}
}

// TestSchemeCooldown: no plan of mere imbalance soon after one that moved keys.
func TestSchemeCooldown(t *testing.T) {
	e := newEnv(t)
	e.operator("ranges", `{"instances":2,"scheme":"ranges","theta_max":0.05,"trigger":{"cooldown_intervals":2}}`)
	const plans = "/v1/operators/ranges/plans"
	costs := [][]int{{1, 1, 1, 1}, {9, 1, 1, 1, 9, 1}, {1, 1, 9, 1, 9, 1, 9}, {1, 9, 1, 1, 9, 9, 1}, {1, 1, 9, 9, 1, 9, 9}}
	var got []string
	for i, c := range costs {
		p := e.do("POST", plans, load(i+1, c...)).want(http.StatusCreated).shifted()
		got = append(got, p.Status+" "+strings.Join(p.Causes, ","))
		if p.Status == "approved" {
			e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK)
		}
	}
	if !strings.HasPrefix(got[1], "approved") || got[2] != "no_action cooldown" || got[3] != "no_action cooldown" ||
		!strings.HasPrefix(got[4], "approved") {
		t.Errorf("%q", got)
	}
}

// TestSchemeUnfinished: a search that has no time leaves everything as it is.
func TestSchemeUnfinished(t *testing.T) {
	e := newEnv(t, func(c *api.Config) { c.Limits.PlanTime = time.Millisecond })
	e.operator("ring", strings.Replace(ringConfig, `"theta_max":0.1`, `"theta_max":0`, 1))
	p := e.do("POST", "/v1/operators/ring/plans", load(1, heavyFirst(60)...)).want(http.StatusCreated).shifted()
	if p.Status != "no_action" || !slices.Equal(p.Causes, []string{"unfinished"}) || p.EndReason != "stopped" ||
		p.Theta.Before != p.Theta.After {
		t.Errorf("%+v", p)
	}
	e.operator("ranges", rangesConfig)
	create := e.do("POST", "/v1/operators/ranges/plans", load(1, 1, 1, 1, 1)).want(http.StatusCreated).shifted()
	e.do("POST", "/v1/plans/"+create.ID+"/commit", stopped).want(http.StatusOK)
	// One has gone, and yet all stays where it is.
	e.do("PUT", "/v1/operators/ranges", strings.Replace(rangesConfig, `"instances":3`, `"instances":2`, 1)).
		want(http.StatusOK)
	q := e.do("POST", "/v1/operators/ranges/plans", load(2, 9, 1, 1, 1)).want(http.StatusCreated).shifted()
	if q.Status != "no_action" || !slices.Equal(q.Causes, []string{"unfinished"}) ||
		len(q.Ranges.Owners) != len(create.Ranges.Owners) || q.Balanced || len(q.Instances) != 3 {
		t.Errorf("%+v", q)
	}
}

// TestSchemePinned: a plan may be committed after its operator was configured anew;
// the next one leads on from there.
func TestSchemePinned(t *testing.T) {
	e := newEnv(t)
	costs := heavyFirst(40)
	for operator, config := range map[string]string{"ring": ringConfig, "ranges": rangesConfig} {
		e.operator(operator, config)
		plans := "/v1/operators/" + operator + "/plans"
		commit := func(p shifted) {
			t.Helper()
			e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK)
		}
		more := strings.NewReplacer(`"instances":4`, `"instances":6`, `"instances":3`, `"instances":6`).Replace(config)
		fewer := strings.NewReplacer(`"instances":4`, `"instances":[{"id":1},{"id":5}]`, `"instances":3`,
			`"instances":[{"id":1},{"id":5}]`).Replace(config)
		if p := e.do("POST", plans, load(1, costs...)).want(http.StatusCreated).shifted(); p.Status == "approved" {
			commit(p)
		}
		e.do("PUT", "/v1/operators/"+operator, more).want(http.StatusOK)
		grown := e.do("POST", plans, load(2, costs...)).want(http.StatusCreated).shifted()
		e.do("PUT", "/v1/operators/"+operator, fewer).want(http.StatusOK)
		commit(grown)
		shrunk := e.do("POST", plans, load(3, costs...)).want(http.StatusCreated).shifted()
		for _, x := range shrunk.Instances {
			if (x.KeysAfter == 0) == (x.ID == 1 || x.ID == 5) || x.Drained == (x.ID == 1 || x.ID == 5) {
				t.Errorf("%s: %+v", operator, x)
			}
		}
		if len(shrunk.Instances) != 6 {
			t.Errorf("%s: %+v", operator, shrunk.Instances)
		}
		commit(shrunk)
		for i := range costs {
			if at, _ := e.routed(operator, fmt.Sprintf("k%03d", i)); at != 1 && at != 5 {
				t.Errorf("%s: k%03d goes to %d", operator, i, at)
			}
		}
	}
}

// TestRefusedSchemes: what means nothing under a scheme is refused, and so are
// statistics that cannot be planned on.
func TestRefusedSchemes(t *testing.T) {
	e := newEnv(t)
	e.operator("clicks", ringConfig)
	e.operator("ranges", rangesConfig)
	var cases []refusal
	put := func(body, where string) {
		cases = append(cases, refusal{body, "PUT", "/v1/operators/new", body, nil, unprocessable, "invalid", where})
	}
	for _, scheme := range []string{"ring", "ranges", "pkg"} {
		for field, value := range map[string]string{
			"strategy": `"mixed"`, "table_limit": "3", "beta": "1", "key_overhead": "0", "certificate": `"off"`,
			"objective":       `"min_migration"`,
			"migration_limit": `{"keys":1}`, "work_budget": "0", "compact": `{"degree":0}`, "table_owner": `"planner"`,
		} {
			put(fmt.Sprintf(`{"instances":2,"scheme":"%s","%s":%s}`, scheme, field, value), "/"+field)
		}
	}
	put(`{"instances":2,"scheme":"best"}`, "/scheme")
	put(`{"instances":2,"ring":{}}`, "/ring")
	put(`{"instances":2,"ranges":{}}`, "/ranges")
	put(`{"instances":2,"scheme":"ring","ranges":{}}`, "/ranges")
	put(`{"instances":2,"scheme":"ranges","ring":{}}`, "/ring")
	put(`{"instances":2,"scheme":"ranges","hash":{}}`, "/hash")
	put(`{"instances":2,"pkg":{}}`, "/pkg")
	put(`{"instances":2,"scheme":"ranges","pkg":{}}`, "/pkg")
	put(`{"instances":2,"scheme":"pkg","hash":{}}`, "/hash")
	put(`{"instances":2,"scheme":"pkg","pkg":{"method":"shuffle"}}`, "/pkg/method")
	put(`{"instances":2,"scheme":"pkg","pkg":{"choices":0}}`, "/pkg/choices")
	put(`{"instances":[{"id":0,"tokens":3}],"scheme":"pkg"}`, "/instances/0/tokens")
	put(`{"instances":2,"scheme":"pkg","policy":"auto"}`, "/policy")
	put(`{"instances":2049,"scheme":"ranges"}`, "/instances")
	put(`{"instances":[{"id":0,"tokens":3}],"scheme":"ranges"}`, "/instances/0/tokens")
	put(`{"instances":2,"scheme":"ring","hash":{"function":"modulo"}}`, "/hash/function")
	put(`{"instances":2,"scheme":"ring","hash":{"partitions":4}}`, "/hash/partitions")
	put(`{"instances":2,"scheme":"ring","ring":{"method":"tripling"}}`, "/ring/method")
	put(`{"instances":2,"scheme":"ring","ring":{"tau":-1}}`, "/ring/tau")
	put(`{"instances":2,"scheme":"ring","ring":{"method":"fitted","tau":1}}`, "/ring/tau")
	put(`{"instances":2,"scheme":"ring","ring":{"method":"fitted","max_rounds":1}}`, "/ring/max_rounds")
	put(`{"instances":2,"scheme":"ring","ring":{"max_rounds":0}}`, "/ring/max_rounds")
	put(`{"instances":[`+manyInstances(300)+`{"id":1000,"tokens":65536}],"scheme":"ring","ring":{"method":"fitted"}}`,
		"/ring/method")
	put(`{"instances":2,"scheme":"ranges","ranges":{"method":"halves"}}`, "/ranges/method")
	put(`{"instances":2,"scheme":"ranges","ranges":{"max_intervals":0}}`, "/ranges/max_intervals")
	put(`{"instances":2,"scheme":"ranges","ranges":{"method":"quantile","max_intervals":2}}`, "/ranges/max_intervals")
	for operator, config := range map[string]string{"clicks": rangesConfig, "ranges": `{"instances":2}`} {
		cases = append(cases, refusal{"scheme of " + operator, "PUT", "/v1/operators/" + operator, config, nil,
			http.StatusConflict, "scheme_fixed", ""})
	}
	for _, operator := range []string{"clicks", "ranges"} {
		plans := "/v1/operators/" + operator + "/plans"
		post := func(body string, status int, code, where string) {
			cases = append(cases, refusal{operator + body, "POST", plans, body, nil, status, code, where})
		}
		post(`{"interval":1,"coverage":"partial","keys":[{"key":"a","cost":1}]}`, http.StatusConflict,
			"complete_coverage_required", "")
		post(`{"interval":1,"compact":{"records":[[0,0,1,1,1]]}}`, unprocessable, "invalid", "/compact")
		post(`{"interval":1,"compact":{"degree":2},"keys":[{"key":"a","cost":1}]}`, unprocessable, "invalid", "/compact")
		post(`{"interval":1,"keys":[{"key":"a","cost":1,"hash_instance":0}]}`, unprocessable, "invalid",
			"/keys/0/hash_instance")
		post(`{"interval":1,"keys":[{"key":"b","cost":1},{"key":"a","cost":1,"instance":77}]}`, unprocessable, "invalid",
			"/keys/1/instance")
		post(`{"interval":1,"table_version":4,"keys":[{"key":"a","cost":1}]}`, http.StatusConflict, "table_version_ahead", "")
		cases = append(cases,
			refusal{"degree in the query", "POST", plans + "?interval=1&compact_degree=2", "key,cost\na,1\n", []string{csv},
				unprocessable, "invalid", "?compact_degree"},
			refusal{"records in CSV", "POST", plans + "?interval=1", "instance,hash_instance,cost,state,count\n0,0,1,1,1\n",
				[]string{csv}, unprocessable, "invalid", ""})
	}
	cases = append(cases, refusal{"what-if", "POST", "/v1/what-if",
		`{"operator":{"instances":2,"scheme":"ring"},"keys":[]}`, nil, unprocessable, "invalid", "/operator/scheme"})
	e.refused(t, cases)
	// A new operator of that name may be of another scheme.
	e.do("DELETE", "/v1/operators/clicks", "").want(http.StatusNoContent)
	e.do("PUT", "/v1/operators/clicks", rangesConfig).want(http.StatusCreated)
}

// TestSchemeDrift: where rows say that keys are counts only when they are of the
// committed version.
func TestSchemeDrift(t *testing.T) {
	e := newEnv(t)
	e.operator("ranges", rangesConfig)
	const plans = "/v1/operators/ranges/plans"
	rows := func(interval int, more string, at ...int) string {
		var keys []string
		for i, id := range at {
			keys = append(keys, fmt.Sprintf(`{"key":"k%d","cost":1,"instance":%d}`, i, id))
		}
		return fmt.Sprintf(`{"interval":%d%s,"keys":[%s]}`, interval, more, strings.Join(keys, ","))
	}
	// Nobody owns anything: no key is elsewhere.
	p := e.do("POST", plans, rows(1, "", 2, 2, 2)).want(http.StatusCreated).shifted()
	e.do("POST", "/v1/plans/"+p.ID+"/commit", stopped).want(http.StatusOK)
	for i, c := range []struct {
		body   string
		drifts int64
	}{
		{rows(2, "", 0, 1, 2), 0}, {rows(3, "", 0, 0, 0), 2}, {rows(4, `,"table_version":1`, 0, 0, 2), 1},
		{rows(5, `,"table_version":0`, 0, 0, 99), 0},
	} {
		if q := e.do("POST", plans, c.body).want(http.StatusCreated).shifted(); p.DriftedKeys != 0 ||
			q.DriftedKeys != c.drifts || q.Status != "no_action" {
			t.Errorf("%d: %+v", i, q)
		}
	}
}

func manyInstances(n int) string {
	out := ""
	for i := range n {
		out += fmt.Sprintf(`{"id":%d},`, i)
	}
	return out
}

func sameOwners(a, b ranges.Owners) bool {
	return slices.EqualFunc(a, b, func(x, y ranges.Owner) bool {
		return x.Follower == y.Follower && bytes.Equal(x.Low, y.Low)
	})
}
