package storetest

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"plannerd/store"
)

var tableCases = []testCase{
	{name: "keys are bytes", run: keysAreBytes, bare: true},
	{name: "a table version pins its configuration", run: versionsPinConfigurations, bare: true},
	{name: "every version of a random history can be rebuilt", run: randomHistory, bare: true},
	{name: "a plan of 100 000 changes", run: largePlan, bare: true},
}

// oddKeys are in ascending bytes. Whoever compares them as text mixes them up.
var oddKeys = []string{
	"\x00", "\x00\x00", " ", " a", "A", "Z", "a", "a\x00", "a\x00b", "a ", "a  ", "aa", "b", "e\u0301", "k\nk", "k\\k",
	"ss", "z", "\x80", "\xc3", "\u00c4", "\u00df", "\u00e4", "\u00e9", "\uffff", "\U0001F600", "\xf8\x88\x80\x80\x80",
	"\xff", "\xff\xff",
}

func keysAreBytes(t *testing.T, f *fixture) {
	long := string(bytes.Repeat([]byte{0xff}, store.MaxKeyBytes))
	keys := append(slices.Clone(oddKeys), long)
	f.put(t, "clicks", `{}`)
	var changes []store.Change
	for i, key := range keys {
		changes = append(changes, set(key, int32(i)))
	}
	rand.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	f.commit(t, "clicks", changes...)

	table := must(f.Table(t.Context(), "clicks", nil))(t)
	var got []string
	for i, e := range table.Entries {
		got = append(got, string(e.Key))
		is(t, "key", int(e.Instance), i)
	}
	same(t, "keys", keys, got)
	for i, key := range keys {
		op, e, err := f.Route(t.Context(), "clicks", []byte(key))
		holds(t, err == nil && e != nil && int(e.Instance) == i && string(e.Key) == key && e.Parts == "",
			"key %q goes to %v (error %v), want %d", key, e, err, i)
		same(t, "operators", f.operator(t, "clicks"), op)
	}
	for _, key := range []string{"B", "é", "a   ", "\x00 ", "ä ", "\xc3\x28", "", long[1:]} {
		if slices.Contains(keys, key) {
			continue
		}
		if _, e, err := f.Route(t.Context(), "clicks", []byte(key)); err != nil || e != nil {
			t.Errorf("key %q, which is not there, goes to %v (error %v)", key, e, err)
		}
	}
	// One key is moved, its neighbours in any collation stay.
	f.commit(t, "clicks", move("a", 6, 1000), unset("A", 4))
	for _, want := range []store.Entry{{Key: []byte("a "), Instance: 9}, {Key: []byte("a\x00"), Instance: 7},
		{Key: []byte("a"), Instance: 1000}} {
		_, e, err := f.Route(t.Context(), "clicks", want.Key)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "routes", &want, e)
	}
	if _, e, err := f.Route(t.Context(), "clicks", []byte("A")); err != nil || e != nil {
		t.Errorf("key A is still there (error %v)", err)
	}
	// One goes to two instances, in other parts, and at last to one of them alone.
	for _, c := range []store.Change{
		{Key: []byte("a"), Old: 1000, New: 1000, NewParts: "2:1"}, {Key: []byte("a"), Old: 1000, OldParts: "2:1", New: 7,
			NewParts: "1:\xff\x00"}, {Key: []byte("a"), Old: 7, OldParts: "1:\xff\x00", New: 7},
	} {
		f.commit(t, "clicks", c)
		_, e, err := f.Route(t.Context(), "clicks", c.Key)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "routes", &store.Entry{Key: c.Key, Instance: c.New, Parts: c.NewParts}, e)
	}
	wrong := f.plan(t, "clicks", f.next(t, "clicks"), store.StatusCommitted,
		store.Change{Key: []byte("a"), Old: 7, OldParts: "2:1", New: 8})
	if _, _, err := f.CreatePlan(t.Context(), wrong, f.by("x")); err == nil {
		t.Error("a plan is committed that takes a whole key for one in parts")
	}
}

func versionsPinConfigurations(t *testing.T, f *fixture) {
	f.put(t, "clicks", `{"v":1}`)
	f.put(t, "clicks", `{"v":2}`)
	f.commit(t, "clicks", set("a", 1)) // version 1 pins 2
	waiting := f.create(t, f.plan(t, "clicks", 7, store.StatusApproved, set("b", 1)))
	f.put(t, "clicks", `{"v":3}`)
	// The plan was made for configuration 2 and is committed under it.
	must2(f.CommitPlan(t.Context(), waiting.ID, f.by("x"), store.Retention{}))(t)
	op := f.operator(t, "clicks")
	holds(t, op.ConfigVersion == 3 && op.TableVersion == 2 && op.TableConfigVersion == 2,
		"configuration %d, table %d pins %d; want 3, 2, 2", op.ConfigVersion, op.TableVersion, op.TableConfigVersion)
	f.commit(t, "clicks", set("c", 1)) // version 3 pins 3
	f.put(t, "clicks", `{"v":4}`)
	for version, pinned := range []int64{1, 2, 2, 3} {
		v := int64(version)
		table := must(f.Table(t.Context(), "clicks", &v))(t)
		is(t, "version", table.Version, v)
		is(t, "version", table.ConfigVersion, pinned)
	}
}

// model is what a store should hold, in the plainest form.
type model struct {
	tables  []map[string]route // by version
	configs []int64            // by table version
	changes map[string][]store.Change
	status  map[string]store.Status
}

// route is where a key goes.
type route struct {
	Instance int32
	Parts    string
}

func routesOf(entries []store.Entry) map[string]route {
	out := map[string]route{}
	for _, e := range entries {
		out[string(e.Key)] = route{e.Instance, e.Parts}
	}
	return out
}

// randomHistory makes 200 plans of all fates and compares every table and every
// plan with the model.
func randomHistory(t *testing.T, f *fixture) {
	ctx := t.Context()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	f.put(t, "clicks", `{"v":0}`)
	m := model{tables: []map[string]route{{}}, configs: []int64{1}, changes: map[string][]store.Change{},
		status: map[string]store.Status{}}
	for i := range 200 {
		if random.IntN(10) == 0 {
			f.put(t, "clicks", fmt.Sprintf(`{"v":%d}`, i+1))
		}
		statuses := []store.Status{store.StatusNoAction, store.StatusApproved, store.StatusApproved, store.StatusCommitted}
		p := f.plan(t, "clicks", int64(i), statuses[random.IntN(len(statuses))])
		if p.Status != store.StatusNoAction {
			p.Changes = randomChanges(random, m.tables[len(m.tables)-1])
		}
		f.create(t, p)
		if p.Status == store.StatusApproved { // it takes the place of the one that waits
			for id, status := range m.status {
				if status == store.StatusApproved {
					m.status[id] = store.StatusSuperseded
				}
			}
		}
		m.changes[p.ID], m.status[p.ID] = p.Changes, p.Status
		switch fate := random.IntN(3); {
		case p.Status == store.StatusCommitted:
			m.commit(p)
		case p.Status == store.StatusApproved && fate == 0:
			must2(f.CommitPlan(ctx, p.ID, f.by("x"), store.Retention{}))(t)
			m.commit(p)
		case p.Status == store.StatusApproved && fate == 1:
			must(f.AbortPlan(ctx, p.ID, false, f.by("x")))(t)
			m.status[p.ID] = store.StatusAborted
		}
	}
	m.check(t, f)
}

// randomChanges changes a table of at most some dozens of keys.
func randomChanges(random *rand.Rand, table map[string]route) []store.Change {
	var changes []store.Change
	for _, i := range random.Perm(40)[:random.IntN(12)] {
		key := fmt.Sprintf("%skey %d", oddKeys[i%len(oddKeys)], i)
		parts := ""
		if random.IntN(4) == 0 {
			parts = oddKeys[random.IntN(len(oddKeys))]
		}
		old, there := table[key]
		c := move(key, old.Instance, old.Instance+1+random.Int32N(3))
		switch {
		case !there:
			c = set(key, random.Int32N(5))
		case random.IntN(2) == 0:
			c = unset(key, old.Instance)
		case parts != old.Parts && random.IntN(2) == 0: // in other parts, where it is
			c.New = c.Old
		}
		c.OldParts = old.Parts
		if c.New != store.NoInstance {
			c.NewParts = parts
		}
		changes = append(changes, c)
	}
	return changes
}

func (m *model) commit(p store.NewPlan) {
	next := maps.Clone(m.tables[len(m.tables)-1])
	for _, c := range p.Changes {
		if c.New == store.NoInstance {
			delete(next, string(c.Key))
		} else {
			next[string(c.Key)] = route{c.New, c.NewParts}
		}
	}
	m.tables, m.configs = append(m.tables, next), append(m.configs, p.ConfigVersion)
	for id, status := range m.status {
		if status == store.StatusApproved {
			m.status[id] = store.StatusSuperseded
		}
	}
	m.status[p.ID] = store.StatusCommitted
}

func (m *model) check(t *testing.T, f *fixture) {
	t.Helper()
	op := f.operator(t, "clicks")
	if newest := len(m.tables) - 1; op.TableVersion != int64(newest) || op.TableSize != int64(len(m.tables[newest])) {
		t.Errorf("version %d with %d entries, want %d with %d", op.TableVersion, op.TableSize, newest, len(m.tables[newest]))
	}
	for version, want := range m.tables {
		v := int64(version)
		table := must(f.Table(t.Context(), "clicks", &v))(t)
		is(t, "version", table.Version, v)
		is(t, "version", table.ConfigVersion, m.configs[version])
		same(t, fmt.Sprintf("tables of version %d", version), want, routesOf(table.Entries))
		if !slices.IsSortedFunc(table.Entries, func(a, b store.Entry) int { return bytes.Compare(a.Key, b.Key) }) {
			t.Errorf("version %d is not in ascending bytes of the keys", version)
		}
	}
	for id, want := range m.changes {
		got := must(f.Changes(t.Context(), id))(t)
		slices.SortFunc(want, func(a, b store.Change) int { return bytes.Compare(a.Key, b.Key) })
		same(t, "changes of "+id, want, got)
		p := must(f.Plan(t.Context(), id))(t)
		is(t, "plan", p.Status, m.status[id])
	}
}

// manyKeys are n keys in ascending bytes, far from each other and near.
func manyKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%04x:%08d", i/100*40503%65536, i)
	}
	slices.Sort(keys)
	return keys
}

// largePlan sets 100 000 keys, then moves a third, unsets a third and sets as
// many others in one plan. Short tests take a tenth: under the race detector
// SQLite is slow.
func largePlan(t *testing.T, f *fixture) {
	n := 100_000
	if testing.Short() {
		n /= 10
	}
	f.put(t, "clicks", `{}`)
	keys := manyKeys(n + n/3)
	var first, second []store.Change
	before, after := map[string]int32{}, map[string]int32{}
	for i, key := range keys {
		instance := int32(i % 97)
		if i%4 == 3 {
			second = append(second, set(key, instance))
			after[key] = instance
			continue
		}
		first = append(first, set(key, instance))
		before[key] = instance
		switch i % 4 {
		case 0:
			second = append(second, move(key, instance, instance+1))
			after[key] = instance + 1
		case 1:
			second = append(second, unset(key, instance))
		default:
			after[key] = instance
		}
	}
	f.commit(t, "clicks", first...)
	p := f.create(t, f.plan(t, "clicks", 9, store.StatusApproved, second...))
	must2(f.CommitPlan(t.Context(), p.ID, f.by("x"), store.Retention{}))(t)
	is(t, "the size of the table", f.operator(t, "clicks").TableSize, int64(len(after)))
	for version, want := range []map[string]int32{{}, before, after} {
		v := int64(version)
		table := must(f.Table(t.Context(), "clicks", &v))(t)
		got := map[string]int32{}
		for _, e := range table.Entries {
			got[string(e.Key)] = e.Instance
		}
		if len(table.Entries) != len(got) || !maps.Equal(want, got) {
			t.Errorf("version %d: %d entries, or %d keys, differ from the %d wanted", version, len(table.Entries),
				len(got), len(want))
		}
	}
	got := must(f.Changes(t.Context(), p.ID))(t)
	if !slices.EqualFunc(second, got, func(a, b store.Change) bool {
		return bytes.Equal(a.Key, b.Key) && a.Old == b.Old && a.New == b.New
	}) {
		t.Errorf("%d changes were stored, %d others returned", len(second), len(got))
	}
}
