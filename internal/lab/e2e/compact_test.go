package e2e

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"plannerd/compact"
	"plannerd/internal/input/lists"
	"plannerd/internal/lab/deep"
	"plannerd/internal/lab/workload"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/sdk/go/wire"
	"plannerd/store"
)

// Of an engine: how many keys it has, and how many where what comes out depends on there being many.
const compactKeys, manyKeys = 25_000, 100_000

// engine is one whose keys the service need not know: it keeps where they are.
type engine struct {
	drive
	workload   *workload.Generator
	open       func(*testing.T) store.Store
	home, at   []int32 // by key: where the hash puts it, and where it is
	gone       []bool  // by key: it has no statistics any more
	statistics *planner.Statistics
	rows       []int // by row of the statistics: the key
	degree     int   // of the compact form
}

// newEngine makes an operator of eight instances on the default hash.
func newEngine(t *testing.T, kind, operator, config string, keys int) *engine {
	t.Helper()
	g, err := workload.New(workload.Config{
		Keys: keys, Instances: driveInstances, Z: workload.DefaultZ, Fluctuation: workload.DefaultFluctuation, Seed: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{drive: drive{t: t, operator: operator, table: map[string]int32{}}, workload: g, open: opener(t, kind)}
	e.place(driveInstances)
	e.at, e.gone, e.pinned = slices.Clone(e.home), make([]bool, len(e.home)), e.wanted
	e.start(e.open)
	e.call("PUT", "/v1/operators/"+operator, "application/json", []byte(config), 201, nil)
	return e
}

// place makes the hash one of n instances.
func (e *engine) place(n int32) {
	e.t.Helper()
	var nodes []partitioner.Instance
	for _, id := range ids(n) {
		nodes = append(nodes, partitioner.Instance{ID: id})
	}
	hash, err := partitioner.New(partitioner.Config{}, nodes)
	if err != nil {
		e.t.Fatal(err)
	}
	if e.home, err = e.workload.Assign(hash); err != nil {
		e.t.Fatal(err)
	}
	e.wanted = layout{ids(n), hash}
}

// configuration is a layout as the planner takes it.
func (l layout) configuration() planner.Configuration {
	c := planner.Configuration{Hash: l.hash}
	for _, id := range l.instances {
		c.Instances = append(c.Instances, planner.Instance{ID: id, Capacity: 1})
	}
	return c
}

// next begins an interval.
func (e *engine) next() {
	e.t.Helper()
	all, err := e.workload.Next(e.at)
	if err != nil {
		e.t.Fatal(err)
	}
	e.rows, e.statistics = nil, &planner.Statistics{Keys: planner.NewKeys(len(e.at))}
	for k, d := range e.at {
		if e.gone[k] {
			continue
		}
		e.rows = append(e.rows, k)
		s := e.statistics
		s.Keys.Append(all.Keys.At(k))
		s.Cost, s.State, s.Instance = append(s.Cost, all.Cost[k]), append(s.State, all.State[k]), append(s.Instance, d)
	}
}

// compression is the compact form of the interval, as the engine makes it, of the
// keys where they are now.
func (e *engine) compression() *compact.Compression {
	e.t.Helper()
	for i, k := range e.rows {
		e.statistics.Instance[i] = e.at[k]
	}
	s, err := planner.NewSnapshot(e.statistics, e.wanted.configuration(),
		planner.Base{Configuration: e.pinned.configuration(), HashChanged: e.rescaled()})
	if err != nil {
		e.t.Fatal(err)
	}
	c, err := compact.Compress(s, compact.Options{Degree: e.degree, Scales: compact.Scales{Cost: 1, State: 1}})
	if err != nil {
		e.t.Fatal(err)
	}
	return c
}

// rescaled reports whether the hash is no longer that of the committed table.
func (e *engine) rescaled() bool { return len(e.wanted.instances) != len(e.pinned.instances) }

// classPlan is a plan of classes as the service answers it.
type classPlan struct {
	ID           string          `json:"id"`
	Status       string          `json:"status"`
	Migrates     string          `json:"migrates"`
	ResolvedKeys *int64          `json:"resolved_keys"`
	Version      *int64          `json:"version"`
	Balanced     bool            `json:"balanced"`
	Causes       []string        `json:"causes"`
	Theta        wire.Comparison `json:"theta"`
	Migration    struct {
		Keys int64 `json:"keys"`
	} `json:"migration"`
	RoutingTable struct {
		SizeBefore int64 `json:"size_before"`
		SizeAfter  int64 `json:"size_after"`
	} `json:"routing_table"`
	Migrations [][6]float64 `json:"migrations"`
}

func (p *classPlan) moves() (out []compact.Record) {
	for _, m := range p.Migrations {
		out = append(out, compact.Record{
			Planned: int32(m[0]), Current: int32(m[1]), Hash: int32(m[2]), Cost: m[3], State: m[4], Count: int64(m[5]),
		})
	}
	return out
}

// post sends the compact form of an interval.
func (e *engine) post(number int64, c *compact.Compression) (p classPlan) {
	e.t.Helper()
	var body bytes.Buffer
	if err := lists.WriteCompactJSON(&body, number,
		&compact.Statistics{Records: c.Records, Scales: c.Scales, Degree: c.Degree}, false); err != nil {
		e.t.Fatal(err)
	}
	e.call("POST", "/v1/operators/"+e.operator+"/plans", "application/json", body.Bytes(), 201, &p)
	if p.Migrates != "classes" {
		e.t.Fatalf("interval %d: %+v", number, p)
	}
	return p
}

// carryOut chooses keys for the moves of a plan and moves them; it returns them
// as the body of a resolution, and their number. After a rescale it names as well
// those that stay elsewhere than the new hash puts them.
func (e *engine) carryOut(c *compact.Compression, p *classPlan) (resolution []byte, keys int64) {
	e.t.Helper()
	moves, err := c.Resolve(p.moves())
	if err != nil {
		e.t.Fatal(err)
	}
	if int64(len(moves)) != p.Migration.Keys {
		e.t.Fatalf("%d keys for moves of %d", len(moves), p.Migration.Keys)
	}
	var body bytes.Buffer
	body.WriteString("key,from,to\n")
	for _, m := range moves {
		e.at[e.rows[m.Item]] = c.Keys.Instances[m.To].ID
	}
	for i, from := range e.statistics.Instance {
		k := e.rows[i]
		if to := e.at[k]; to != from || e.rescaled() && to != e.home[k] {
			fmt.Fprintf(&body, "%s,%d,%d\n", e.statistics.Keys.At(i), from, to)
			keys++
		}
	}
	return body.Bytes(), keys
}

// entries is the table that the places of the keys need.
func (e *engine) entries() map[string]int32 {
	out := map[string]int32{}
	for k, d := range e.at {
		if d != e.home[k] && !e.gone[k] {
			out[string(e.workload.Keys().At(k))] = d
		}
	}
	return out
}

// theta is the largest overload of an instance, recounted.
func (e *engine) theta() (theta float64) {
	load, total := make([]float64, len(e.wanted.instances)), 0.0
	for i, cost := range e.statistics.Cost {
		load[e.at[e.rows[i]]] += cost
		total += cost
	}
	for _, l := range load {
		theta = max(theta, l/total*float64(len(load))-1)
	}
	return theta
}

// checkTheta holds the real loads after a plan against those that it expected. The
// records' costs are off by R/2 in sum and by R for each key that comes or goes,
// and not at all at R = 1, as costs are whole numbers.
func (e *engine) checkTheta(number int64, c *compact.Compression, p *classPlan) {
	e.t.Helper()
	moved, total := make([]float64, driveInstances), 0.0
	for _, m := range p.moves() {
		moved[m.Planned] += float64(m.Count)
		moved[m.Current] += float64(m.Count)
	}
	for _, cost := range e.statistics.Cost {
		total += cost
	}
	off := 1e-9
	if e.degree > 1 {
		n := len(e.wanted.instances)
		off += float64(e.degree) * (0.5 + slices.Max(moved[:n])) / (total / float64(n))
	}
	got := e.theta()
	if math.Abs(got-p.Theta.After) > off {
		e.t.Errorf("interval %d: θ is %v after the plan, which expected %v ± %v", number, got, p.Theta.After, off)
	}
	e.t.Logf("R = %d: %d records; θ %.4f → %.4f as planned, %.4f in fact (± %.4f); %d keys",
		e.degree, len(c.Records), p.Theta.Before, p.Theta.After, got, off, p.Migration.Keys)
}

// TestCompactedKeys posts the same keys to be planned on as they are and in
// compact form: every figure is right, and the balance is the same.
func TestCompactedKeys(t *testing.T) {
	e := newEngine(t, "sqlite", "keys", `{"instances":8}`, manyKeys)
	for i := range int64(3) {
		e.next()
		e.comparePlans(2 * i)
	}
}

// comparePlans plans on an interval without and with compaction, and carries out
// the plan that was made with it.
func (e *engine) comparePlans(n int64) {
	e.t.Helper()
	s := situation{keys: map[string]key{}, table: e.table, capacity: map[int32]float64{}, thetaMax: driveThetaMax,
		tableLimit: -1}
	for _, id := range e.wanted.instances {
		s.capacity[id] = 1
	}
	body, index := bytes.NewBufferString("key,cost,state\n"), map[string]int{}
	for k, cost := range e.statistics.Cost {
		name := string(e.workload.Keys().At(k))
		s.keys[name], index[name] = key{cost, e.statistics.State[k], e.at[k], e.home[k]}, k
		fmt.Fprintf(body, "%s,%s,%s\n", name, number(cost), number(e.statistics.State[k]))
	}
	var plans [2]plan
	for i, degree := range []int{0, 8} {
		p := &plans[i]
		e.call("POST", fmt.Sprintf("/v1/operators/keys/plans?interval=%d&compact_degree=%d", n+int64(i), degree), "text/csv",
			body.Bytes(), 201, p)
		_, errs := check(s, p)
		for _, err := range errs {
			e.t.Errorf("R = %d: %v", degree, err)
		}
		if p.Balanced == nil || !*p.Balanced || p.Status != "approved" {
			e.t.Errorf("R = %d: status %s, θ %v", degree, p.Status, p.Theta)
		}
		e.t.Logf("R = %d: θ %v, %d keys and %v state move", degree, p.Theta, p.Migration.Keys, p.Migration.State)
	}
	c := plans[1].Compaction
	if plans[0].Compaction != nil || c == nil || c.Keys != manyKeys || c.Records > manyKeys/4 ||
		c.Error.Before > 0.001 {
		e.t.Errorf("%+v", c)
	}
	if keys, compacted := plans[0].Migration.State, plans[1].Migration.State; compacted > 1.1*keys {
		e.t.Errorf("in compact form %v state moves, without %v", compacted, keys)
	}
	for _, m := range plans[1].Migrations {
		e.at[index[m.Key]] = m.To
	}
	e.call("POST", "/v1/plans/"+plans[1].Id+"/commit", "application/json", []byte(`{"stopped":true}`), 200, nil)
	e.committed(e.entries())
	e.compareTable()
}

// TestClasses posts compact records, resolves the plans, and commits them, each
// step twice as after a crash: the table has exactly the entries that the keys
// need, and what was balanced stays so.
func TestClasses(t *testing.T) {
	for k, kind := range []string{"sqlite", "postgres"} {
		for m, degree := range []int{1, 8} {
			if !deep.On() && k != m { // a usual run tries each degree on one store
				continue
			}
			t.Run(fmt.Sprintf("%s/R=%d", kind, degree), func(t *testing.T) {
				t.Parallel()
				e := newEngine(t, kind, "classes", `{"instances":8}`, deep.Count(compactKeys, manyKeys))
				e.degree = degree
				for i := range int64(3) {
					e.next()
					e.resolved(2 * i)
					// The same loads again.
					idle := e.post(2*i+1, e.compression())
					e.plans = append(e.plans, idle.ID)
					if degree == 1 && (idle.Status != "no_action" || !slices.Contains(idle.Causes, "balanced")) {
						t.Errorf("interval %d: %s, θ %v", 2*i+1, idle.Status, idle.Theta)
					}
				}
				e.restart(e.open)
			})
		}
	}
}

// resolved has an interval planned, and the plan resolved and committed.
func (e *engine) resolved(number int64) {
	e.t.Helper()
	c := e.compression()
	p := e.post(number, c)
	e.plans = append(e.plans, p.ID)
	if p.Status != "approved" || !p.Balanced || p.RoutingTable.SizeBefore != int64(len(e.table)) {
		e.t.Fatalf("interval %d: status %s, θ %v, table %+v", number, p.Status, p.Theta, p.RoutingTable)
	}
	body, keys := e.carryOut(c, &p)
	path := "/v1/plans/" + p.ID
	for range 2 {
		var resolved classPlan
		e.call("PUT", path+"/resolution", "text/csv", body, 200, &resolved)
		if resolved.ResolvedKeys == nil || *resolved.ResolvedKeys != keys || resolved.RoutingTable != p.RoutingTable {
			e.t.Fatalf("interval %d: %+v, want %d keys and a table of %+v", number, resolved, keys, p.RoutingTable)
		}
	}
	for range 2 {
		e.call("POST", path+"/commit", "application/json", []byte(`{"stopped":true}`), 200, nil)
	}
	e.committed(e.entries())
	e.compareTable()
	if int64(len(e.table)) != p.RoutingTable.SizeAfter {
		e.t.Errorf("interval %d: %d entries, the plan said %d", number, len(e.table), p.RoutingTable.SizeAfter)
	}
	e.checkTheta(number, c, &p)
}

// TestClassesRescaled does the same while an instance is removed and added again
// and keys vanish: the table has no entry that no key needs.
func TestClassesRescaled(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		if kind == "postgres" && !deep.On() { // a usual run tries TestClasses on both
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, kind, "rescaled", `{"instances":8}`, manyKeys)
			e.degree = 8
			for i := range int64(3) {
				e.next()
				e.resolved(i)
			}
			for i, n := range []int32{driveInstances - 1, driveInstances} {
				e.vanish()
				e.rescale(n)
				e.next()
				e.resolved(int64(3 + i))
			}
			e.restart(e.open)
		})
	}
}

// vanish lets every second key with an entry vanish, of those on each instance.
func (e *engine) vanish() {
	e.t.Helper()
	entries, seen := e.entries(), make([]int, driveInstances)
	for k, d := range e.at {
		if _, ok := entries[string(e.workload.Keys().At(k))]; ok {
			e.gone[k] = seen[d]%2 == 0
			seen[d]++
		}
	}
	if last := seen[len(e.wanted.instances)-1]; last == 0 {
		e.t.Fatal("the last instance has no entries: the test tests nothing")
	}
}

// rescale makes it n instances. When one is removed, its hash puts some keys where
// they are already.
func (e *engine) rescale(n int32) {
	e.t.Helper()
	entries, fewer := e.entries(), int(n) < len(e.wanted.instances)
	e.place(n)
	for key := range e.entries() {
		delete(entries, key)
	}
	if fewer && len(entries) == 0 {
		e.t.Fatal("every key with an entry still needs one: the test tests nothing")
	}
	e.call("PUT", "/v1/operators/"+e.operator, "application/json", fmt.Appendf(nil, `{"instances":%d}`, n), 200, nil)
}

// TestEnginesTable does the same where the engine holds the table: nothing is to
// be resolved.
func TestEnginesTable(t *testing.T) {
	e := newEngine(t, "sqlite", "held", `{"instances":8,"table_owner":"engine"}`, compactKeys)
	e.degree = 8
	for i := range int64(3) {
		e.next()
		c := e.compression()
		p := e.post(i, c)
		if p.Status != "approved" || !p.Balanced || p.RoutingTable.SizeBefore != int64(len(e.entries())) {
			t.Fatalf("interval %d: status %s, θ %v, table %+v", i, p.Status, p.Theta, p.RoutingTable)
		}
		e.carryOut(c, &p)
		for range 2 {
			var done classPlan
			e.call("POST", "/v1/plans/"+p.ID+"/commit", "application/json", []byte(`{"stopped":true}`), 200, &done)
			if done.Version == nil || *done.Version != i+1 || done.RoutingTable.SizeAfter != int64(len(e.entries())) {
				t.Fatalf("interval %d: %+v", i, done)
			}
		}
		e.checkTheta(i, c, &p)
	}
	var refused struct {
		Code string `json:"code"`
	}
	e.call("GET", "/v1/operators/held/routing-table", "", nil, 409, &refused)
	if refused.Code != "table_not_held" {
		t.Error(refused)
	}
}

// TestClassReports: every instance reports records of its own keys, and names those of them
// that move.
func TestClassReports(t *testing.T) {
	e := newEngine(t, "sqlite", "reported", `{"instances":8}`, compactKeys)
	e.degree = 8
	for i := range int64(3) {
		e.next()
		own := make([]*compact.Compression, driveInstances)
		rows := make([][]int, driveInstances) // by instance: the rows of its keys
		for d := range own {
			own[d], rows[d] = e.compressionOf(int32(d))
			var body bytes.Buffer
			if err := lists.WriteCompactJSON(&body, i,
				&compact.Statistics{Records: own[d].Records, Scales: own[d].Scales, Degree: own[d].Degree}, false); err != nil {
				t.Fatal(err)
			}
			e.call("PUT", fmt.Sprintf("/v1/operators/reported/intervals/%d/reports/%d", i, d), "application/json",
				body.Bytes(), 201, nil)
		}
		var p classPlan
		e.call("POST", "/v1/operators/reported/plans", "application/json", fmt.Appendf(nil, `{"interval":%d}`, i), 201, &p)
		if p.Status != "approved" || !p.Balanced || p.Migrates != "classes" || p.Migration.Keys == 0 {
			t.Fatalf("interval %d: %+v", i, p)
		}
		resolution := bytes.NewBufferString("key,from,to\n")
		for d, c := range own {
			moves, err := c.Resolve(slices.DeleteFunc(p.moves(), func(m compact.Record) bool { return m.Current != int32(d) }))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range moves {
				k, to := e.rows[rows[d][m.Item]], c.Keys.Instances[m.To].ID
				fmt.Fprintf(resolution, "%s,%d,%d\n", e.workload.Keys().At(k), d, to)
				e.at[k] = to
			}
		}
		e.call("PUT", "/v1/plans/"+p.ID+"/resolution", "text/csv", resolution.Bytes(), 200, nil)
		e.call("POST", "/v1/plans/"+p.ID+"/commit", "application/json", []byte(`{"stopped":true}`), 200, nil)
		e.plans = append(e.plans, p.ID)
		e.committed(e.entries())
		e.compareTable()
		if got := e.theta(); got > driveThetaMax+0.01 {
			t.Errorf("interval %d: θ is %v", i, got)
		}
	}
}

// compressionOf is what an instance makes of its own keys, and the rows that these are.
func (e *engine) compressionOf(d int32) (*compact.Compression, []int) {
	e.t.Helper()
	own, rows := &planner.Statistics{Keys: planner.NewKeys(0)}, []int(nil)
	for i, k := range e.rows {
		if e.at[k] != d {
			continue
		}
		own.Keys.Append(e.statistics.Keys.At(i))
		own.Cost, own.State = append(own.Cost, e.statistics.Cost[i]), append(own.State, e.statistics.State[i])
		own.Instance, rows = append(own.Instance, d), append(rows, i)
	}
	s, err := planner.NewSnapshot(own, e.wanted.configuration(), planner.Base{Configuration: e.pinned.configuration()})
	if err != nil {
		e.t.Fatal(err)
	}
	c, err := compact.Compress(s, compact.Options{Degree: e.degree, Scales: compact.Scales{Cost: 1, State: 1}})
	if err != nil {
		e.t.Fatal(err)
	}
	return c, rows
}
