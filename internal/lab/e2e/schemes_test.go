package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"

	"plannerd/internal/lab/deep"
	"plannerd/planner/ranges"
	"plannerd/planner/ring"
	"plannerd/sdk/go/wire"
	"plannerd/store"
)

// shifted is a plan of scheme ring or ranges.
type shifted struct {
	ID          string          `json:"id"`
	Status      string          `json:"status"`
	BaseVersion int64           `json:"base_version"`
	Version     *int64          `json:"version"`
	Causes      []string        `json:"causes"`
	Balanced    bool            `json:"balanced"`
	Theta       wire.Comparison `json:"theta"`
	Underload   wire.Comparison `json:"underload"`
	Skewness    wire.Comparison `json:"skewness"`
	Migration   struct {
		Keys     int64   `json:"keys"`
		State    float64 `json:"state"`
		Fraction float64 `json:"fraction"`
	} `json:"migration"`
	Certificate *struct {
		LowerBound float64  `json:"lower_bound"`
		Gap        *float64 `json:"gap"`
	} `json:"certificate"`
	Instances []struct {
		ID         int32   `json:"id"`
		LoadBefore float64 `json:"load_before"`
		LoadAfter  float64 `json:"load_after"`
		KeysBefore int64   `json:"keys_before"`
		KeysAfter  int64   `json:"keys_after"`
		StateIn    float64 `json:"state_in"`
		StateOut   float64 `json:"state_out"`
	} `json:"instances"`
	Ring struct {
		Added   []ringToken `json:"tokens_added"`
		Removed []ringToken `json:"tokens_removed"`
	} `json:"ring"`
	Ranges struct {
		Owners []rangeOwner `json:"owners"`
	} `json:"ranges"`
	Migrations []shift `json:"migrations"`
	Timing     struct {
		Plan float64 `json:"plan_ms"`
	} `json:"timing"`
}

type ringToken struct {
	Instance int32 `json:"instance"`
	Index    int32 `json:"index"`
}

type rangeOwner struct {
	From     string  `json:"from"`
	To       *string `json:"to"`
	Instance int32   `json:"instance"`
}

type shift struct {
	Arc struct {
		Start uint32 `json:"start"`
		End   uint32 `json:"end"`
	} `json:"arc"`
	Range  rangeOwner `json:"range"`
	From   int32      `json:"from"`
	To     int32      `json:"to"`
	Keys   int64      `json:"keys"`
	Cost   float64    `json:"cost"`
	State  float64    `json:"state"`
	Reason string     `json:"reason"`
}

// placing is what a version of the table says.
type placing struct {
	nodes  []ring.Node
	lookup *ring.Ring // nil: ranges
	owners ranges.Owners
}

func onRing(counts map[int32]int) placing {
	var nodes []ring.Node
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		nodes = append(nodes, ring.Node{ID: id, Tokens: counts[id]})
	}
	return placing{nodes: nodes, lookup: ring.New(nodes)}
}

// nobody is where a key is before ranges have owners.
const nobody = -1

func (p placing) at(key string) int32 {
	if p.lookup != nil {
		return p.lookup.Lookup([]byte(key))
	}
	if id, ok := p.owners.Find([]byte(key)); ok {
		return id
	}
	return nobody
}

func sameOwners(a, b ranges.Owners) bool {
	return slices.EqualFunc(a, b, func(x, y ranges.Owner) bool {
		return x.Follower == y.Follower && bytes.Equal(x.Low, y.Low)
	})
}

func (p placing) equal(q placing) bool {
	return slices.Equal(p.nodes, q.nodes) && sameOwners(p.owners, q.owners)
}

func divided(list []rangeOwner) (out ranges.Owners) {
	for _, o := range list {
		out = append(out, ranges.Owner{Low: []byte(o.From), Follower: o.Instance})
	}
	return out
}

// shifting is an engine with an operator of scheme ring or ranges.
type shifting struct {
	drive
	scheme   string
	versions []placing // by version
	live     []int32
	moved    float64 // the fractions of state, added up
	unmet    int     // plans that left some instance above its bound
	slowest  float64 // plan_ms
}

const schemeTokens = 16

// TestSchemes posts streams to operators without a routing table, while
// instances are added and removed, and the server is started anew now and then
// between a plan and its commit. Every plan is recounted.
func TestSchemes(t *testing.T) {
	for k, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			open := opener(t, kind)
			for n, stream := range allStreams(t) {
				for m, scheme := range []string{"ring", "ranges"} {
					if !deep.On() && !whole && n > 0 && (k+n+m)%2 != 0 { // a usual run tries each on one store
						continue
					}
					t.Run(stream.name+"/"+scheme, func(t *testing.T) {
						d := &shifting{
							drive:  drive{t: t, operator: stream.name + "-" + scheme, intervals: stream.intervals},
							scheme: scheme,
						}
						d.run(open, n == 0)
					})
				}
			}
		})
	}
}

func (d *shifting) run(open func(*testing.T) store.Store, routes bool) {
	d.t.Helper()
	d.start(open)
	d.put(ids(driveInstances))
	d.versions = []placing{{}}
	if d.scheme == "ring" {
		counts := map[int32]int{}
		for _, id := range d.live {
			counts[id] = schemeTokens
		}
		d.versions[0] = onRing(counts)
	}
	for i := range d.intervals {
		d.at = &d.intervals[i]
		switch third := max(1, len(d.intervals)/3); i {
		case third:
			d.put(slices.Concat(ids(driveInstances), []int32{20, 31}))
		case 2 * third:
			d.put(slices.Delete(slices.Concat(ids(driveInstances), []int32{20, 31}), 2, 4))
		}
		d.post(open)
	}
	d.close()
	d.start(open)
	for v, want := range d.versions {
		if got := d.version(fmt.Sprintf("?version=%d", v)); !got.equal(want) {
			d.t.Fatalf("version %d is %+v, not %+v", v, got, want)
		}
	}
	if routes {
		d.routes()
	}
	d.t.Logf("%d intervals, %d versions; fractions of state moved %.3f in all; %d plans above the bound; slowest %.1f ms",
		len(d.intervals), len(d.versions)-1, d.moved, d.unmet, d.slowest)
}

func (d *shifting) path(rest string) string { return "/v1/operators/" + d.operator + rest }

func (d *shifting) put(live []int32) {
	d.t.Helper()
	config := map[string]any{"scheme": d.scheme, "theta_max": driveThetaMax, "approval": map[string]any{"auto": "always"}}
	var list []map[string]any
	for _, id := range live {
		list = append(list, map[string]any{"id": id})
	}
	config["instances"] = list
	if d.scheme == "ring" {
		config["hash"], config["ring"] = map[string]any{"tokens_per_instance": schemeTokens},
			map[string]any{"method": "fitted"}
	}
	body, err := json.Marshal(config)
	if err != nil {
		d.t.Fatal(err)
	}
	d.call("PUT", d.path(""), "application/json", body, 0, nil)
	d.live = live
}

// version reads a version of the table.
func (d *shifting) version(query string) placing {
	d.t.Helper()
	var table struct {
		Tokens []struct {
			Instance int32 `json:"instance"`
			Tokens   int   `json:"tokens"`
		} `json:"tokens"`
		Owners []rangeOwner `json:"owners"`
	}
	d.call("GET", d.path("/routing-table"+query), "", nil, 200, &table)
	if d.scheme == "ranges" {
		return placing{owners: divided(table.Owners)}
	}
	counts := map[int32]int{}
	for _, x := range table.Tokens {
		counts[x.Instance] = x.Tokens
	}
	return onRing(counts)
}

// post posts the interval, again, sometimes after a restart, checks the plan and
// commits it, twice.
func (d *shifting) post(open func(*testing.T) store.Store) {
	d.t.Helper()
	columns := struct {
		Key   []string  `json:"key"`
		Cost  []float64 `json:"cost"`
		State []float64 `json:"state"`
	}{}
	for _, r := range d.at.rows {
		columns.Key, columns.Cost, columns.State = append(columns.Key, r.key), append(columns.Cost, r.cost),
			append(columns.State, r.state)
	}
	body, err := json.Marshal(map[string]any{"interval": d.at.number, "columns": columns})
	if err != nil {
		d.t.Fatal(err)
	}
	var p, again shifted
	d.call("POST", d.path("/plans"), "application/json", body, 201, &p)
	if len(d.versions)%3 == 1 {
		d.close()
		d.start(open)
	}
	d.call("POST", d.path("/plans"), "application/json", body, 200, &again)
	if again.ID != p.ID || !slices.Equal(again.Migrations, p.Migrations) && d.scheme == "ring" ||
		len(again.Ranges.Owners) != len(p.Ranges.Owners) {
		d.t.Fatalf("interval %d: another plan of the same statistics", d.at.number)
	}
	before := d.versions[len(d.versions)-1]
	after := d.apply(before, p)
	d.check(p, before, after)
	d.moved += p.Migration.Fraction
	d.slowest = max(d.slowest, p.Timing.Plan)
	if !p.Balanced {
		d.unmet++
	}
	if (p.Status == "approved") == before.equal(after) || p.BaseVersion != int64(len(d.versions)-1) {
		d.t.Fatalf("interval %d: %s on version %d, equal: %t", d.at.number, p.Status, p.BaseVersion, before.equal(after))
	}
	if p.Status == "approved" {
		for range 2 {
			d.call("POST", "/v1/plans/"+p.ID+"/commit", "application/json", []byte(`{"stopped":true}`), 200, &again)
		}
		d.versions = append(d.versions, after)
		if *again.Version != int64(len(d.versions)-1) {
			d.t.Fatalf("version %d", *again.Version)
		}
	}
	if got := d.version(""); !got.equal(d.versions[len(d.versions)-1]) {
		d.t.Fatalf("interval %d: committed is %+v", d.at.number, got)
	}
}

// carried are the nodes with some tokens more and some less.
func carried(nodes []ring.Node, added, removed []ringToken) placing {
	counts := map[int32]int{}
	for _, n := range nodes {
		counts[n.ID] = n.Tokens
	}
	for _, x := range added {
		counts[x.Instance]++
	}
	for _, x := range removed {
		counts[x.Instance]--
	}
	maps.DeleteFunc(counts, func(_ int32, tokens int) bool { return tokens == 0 })
	return onRing(counts)
}

// borders are where some interval begins or ends.
func borders(before, after ranges.Owners, transfers []ranges.Transfer) (all [][]byte) {
	for _, x := range slices.Concat(before, after) {
		all = append(all, x.Low)
	}
	for _, x := range transfers {
		all = append(all, x.Interval.Low, x.Interval.High)
	}
	return all
}

// apply carries a plan out.
func (d *shifting) apply(before placing, p shifted) placing {
	d.t.Helper()
	if d.scheme == "ring" {
		return carried(before.nodes, p.Ring.Added, p.Ring.Removed)
	}
	after := divided(p.Ranges.Owners)
	if len(before.owners) == 0 {
		return placing{owners: after}
	}
	var transfers []ranges.Transfer
	for _, m := range p.Migrations {
		t := ranges.Transfer{From: m.From, To: m.To, Interval: ranges.Interval{Low: []byte(m.Range.From)}}
		if m.Range.To != nil {
			t.Interval.High = []byte(*m.Range.To)
		}
		transfers = append(transfers, t)
	}
	for _, low := range borders(before.owners, after, transfers) {
		owner, _ := before.owners.Find(low)
		for _, t := range transfers {
			if t.From == owner && t.Interval.Contains(low) {
				owner = t.To
				break
			}
		}
		if to, _ := after.Find(low); to != owner {
			d.t.Fatalf("interval %d: the migrations lead %q to %d, not to %d", d.at.number, low, owner, to)
		}
	}
	return placing{owners: after}
}

// holds reports whether a migration takes a key along.
func (d *shifting) holds(m shift, key string) bool {
	if d.scheme == "ring" {
		return m.Arc.Start == m.Arc.End || ring.Position([]byte(key))-m.Arc.Start-1 < m.Arc.End-m.Arc.Start
	}
	return m.Range.From <= key && (m.Range.To == nil || key < *m.Range.To)
}

// sums is what the naive recount adds up for an instance or a migration.
type sums struct {
	keys        int64
	cost, state float64
}

func (s *sums) add(r row) { s.keys, s.cost, s.state = s.keys+1, s.cost+r.cost, s.state+r.state }

// check recounts a plan, key by key.
func (d *shifting) check(p shifted, before, after placing) {
	d.t.Helper()
	was, is, in, out := map[int32]*sums{}, map[int32]*sums{}, map[int32]*sums{}, map[int32]*sums{}
	of := func(m map[int32]*sums, id int32) *sums {
		if m[id] == nil {
			m[id] = &sums{}
		}
		return m[id]
	}
	var moved, all sums
	on := make([]sums, len(p.Migrations))
	for _, r := range d.at.rows {
		from, to := before.at(r.key), after.at(r.key)
		of(was, from).add(r)
		of(is, to).add(r)
		all.add(r)
		if !slices.Contains(d.live, to) {
			d.t.Fatalf("%q goes to %d, which is not there", r.key, to)
		}
		if from == to || from == nobody {
			continue
		}
		moved.add(r)
		of(out, from).add(r)
		of(in, to).add(r)
		i := slices.IndexFunc(p.Migrations, func(m shift) bool { return d.holds(m, r.key) })
		if i < 0 || p.Migrations[i].From != from || p.Migrations[i].To != to {
			d.t.Fatalf("%q goes from %d to %d, but no migration says so", r.key, from, to)
		}
		on[i].add(r)
	}
	for i, m := range p.Migrations {
		d.near("cost of a migration", m.Cost, on[i].cost)
		d.near("state of a migration", m.State, on[i].state)
		if m.Keys != on[i].keys || (m.Reason == "drain") == slices.Contains(d.live, m.From) {
			d.t.Fatalf("migration %+v has %d keys", m, on[i].keys)
		}
	}
	d.near("migration.state", p.Migration.State, moved.state)
	d.near("migration.fraction", p.Migration.Fraction, moved.state/all.state)
	if p.Migration.Keys != moved.keys {
		d.t.Fatalf("%d keys, not %d", p.Migration.Keys, moved.keys)
	}
	d.loads(p, all.cost/float64(len(d.live)), was, is)
	for _, x := range p.Instances {
		d.near("state_in", x.StateIn, of(in, x.ID).state)
		d.near("state_out", x.StateOut, of(out, x.ID).state)
		if x.KeysBefore != of(was, x.ID).keys || x.KeysAfter != of(is, x.ID).keys {
			d.t.Fatalf("%+v", x)
		}
	}
	if c := p.Certificate; c != nil && p.Balanced && c.LowerBound > moved.cost*(1+1e-9) {
		d.t.Fatalf("%v is moved, less than the bound %v", moved.cost, c.LowerBound)
	}
}

// loads recounts the loads and the figures that follow from them.
func (d *shifting) loads(p shifted, fair float64, was, is map[int32]*sums) {
	d.t.Helper()
	for side, loads := range []map[int32]*sums{was, is} {
		theta, underload, most, sum := 0.0, 0.0, 0.0, 0.0
		for _, x := range p.Instances {
			load := 0.0
			if s := loads[x.ID]; s != nil {
				load = s.cost
			}
			d.near("load", []float64{x.LoadBefore, x.LoadAfter}[side], load)
			if slices.Contains(d.live, x.ID) {
				theta, underload = max(theta, load/fair-1), max(underload, 1-load/fair)
				most, sum = max(most, load), sum+load
			}
		}
		skewness := 1.0
		if sum > 0 {
			skewness = most / sum * float64(len(d.live))
		}
		pick := func(f wire.Comparison) float64 { return []float64{f.Before, f.After}[side] }
		d.near("theta", pick(p.Theta), theta)
		d.near("underload", pick(p.Underload), underload)
		d.near("skewness", pick(p.Skewness), skewness)
		if side == 1 && p.Balanced != (theta <= driveThetaMax*(1+1e-9)+1e-9) {
			d.t.Fatalf("balanced: %t with θ %v", p.Balanced, theta)
		}
	}
}

func (d *shifting) near(what string, got, want float64) {
	d.t.Helper()
	if math.Abs(got-want) > 1e-9*max(math.Abs(got), math.Abs(want), 1e-6) {
		d.t.Fatalf("interval %d: %s is %v, recounted %v", d.at.number, what, got, want)
	}
}

// routes asks where thousands of keys go, known ones and others.
func (d *shifting) routes() {
	d.t.Helper()
	last := d.versions[len(d.versions)-1]
	for i := range 2000 {
		key := fmt.Sprintf("unheard of %d", i)
		if i%2 == 0 {
			key = d.at.rows[i%len(d.at.rows)].key
		}
		var r struct {
			Instance int32  `json:"instance"`
			Source   string `json:"source"`
		}
		d.call("GET", d.path("/route?key="+url.QueryEscape(key)), "", nil, 200, &r)
		if r.Instance != last.at(key) || r.Source != strings.TrimSuffix(d.scheme, "s") {
			d.t.Fatalf("%q goes to %d by %s, not to %d", key, r.Instance, r.Source, last.at(key))
		}
	}
}
