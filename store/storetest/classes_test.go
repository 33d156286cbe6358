package storetest

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"plannerd/store"
	"plannerd/store/internal/engine"
)

var classCases = []testCase{
	{name: "a plan keeps what it is of", run: planKeepsKind},
	{name: "a plan of classes is resolved to keys", run: classesAreResolved},
	{name: "a later resolution replaces an earlier one", run: resolutionIsReplaced},
	{name: "a resolution tells the size of the table", run: resolutionTellsTable},
	{name: "the same resolution again changes nothing", run: sameResolution},
	{name: "a plan of classes is not committed unresolved", run: unresolvedIsNotCommitted},
	{name: "refusals of a resolution come in their order", run: resolutionRefusals},
	{name: "an impossible resolution leaves nothing behind", run: impossibleResolutions},
	{name: "a resolution that does not fit the table", run: unfittingResolution},
	{name: "resolved keys are bytes", run: resolvedKeysAreBytes},
	{name: "resolutions go with their plans", run: resolutionsArePurged},
	{name: "of the engine's table no entries are stored", run: engineTable},
	{name: "the engine's table has a history of versions", run: engineTableHistory, bare: true},
	{name: "an engine takes a table over and gives it back", run: engineTakesOver},
}

// classes is plan for an approved plan of classes of operator clicks.
func (f *fixture) classes(t testing.TB, interval int64) store.NewPlan {
	t.Helper()
	p := f.plan(t, "clicks", interval, store.StatusApproved)
	p.Classes = true
	return p
}

// resolve gives a plan of classes its keys.
func (f *fixture) resolve(t testing.TB, id string, keys int64, changes ...store.Change) store.Plan {
	t.Helper()
	return must(f.ResolvePlan(t.Context(), id, store.Resolution{Keys: keys, Changes: changes}, f.by("resolver")))(t)
}

func (f *fixture) commitPlan(t testing.TB, id string) store.Plan {
	t.Helper()
	return did(f.CommitPlan(t.Context(), id, f.by("x"), store.Retention{}))(t, "the call", true)
}

// finish acks a plan that is being applied for all that it awaits.
func (f *fixture) finish(t testing.TB, p store.Plan) {
	t.Helper()
	if _, committed, err := f.AckPlan(t.Context(), p.ID, 1, p.Awaited, f.by("x"), store.Retention{}); err != nil ||
		!committed {
		t.Fatalf("committed = %v, error %v", committed, err)
	}
}

func (f *fixture) wantChanges(t testing.TB, id string, want ...store.Change) {
	t.Helper()
	got := must(f.Changes(t.Context(), id))(t)
	same(t, "changes of "+id, want, got)
}

// wantDiffs counts the diffs that the database holds. What nobody needs any more
// cannot be seen through a store, and must be gone all the same.
func wantDiffs(t testing.TB, f *fixture, want int) {
	t.Helper()
	var got int
	ok(t, database(t, f).QueryRowContext(t.Context(), `SELECT count(*) FROM diffs`).Scan(&got))
	is(t, "the database holds", got, want)
}

// database is what is under a store.
func database(t testing.TB, f *fixture) *sql.DB {
	t.Helper()
	migrator, ok := f.Migrator().(engine.Migrator)
	need(t, ok, "a %T does not tell its database", f.Migrator())
	return migrator.DB
}

func planKeepsKind(t *testing.T, f *fixture) {
	for i, c := range []struct {
		status               store.Status
		classes, engineTable bool
	}{
		{store.StatusNoAction, true, false},
		{store.StatusApproved, true, false},
		{store.StatusApproved, false, true},
		{store.StatusCommitted, false, true},
		{store.StatusNoAction, true, true},
		{store.StatusCommitted, true, true},
	} {
		in := f.plan(t, "clicks", int64(i), c.status)
		in.Classes, in.EngineTable = c.classes, c.engineTable
		in.ResolvedKeys = new(int64(7)) // the store decides
		want := f.create(t, in)
		if want.Classes != c.classes || want.EngineTable != c.engineTable || want.ResolvedKeys != nil {
			t.Errorf("%+v: classes %v, engine's table %v, resolved keys %v", c, want.Classes, want.EngineTable,
				want.ResolvedKeys)
		}
		same(t, "compactions", in.Compaction, want.Compaction)
		same(t, "plans", want, must(f.Plan(t.Context(), in.ID))(t))
		listed, _ := must2(f.Plans(t.Context(), store.PlanFilter{Operator: "clicks", Limit: 1}))(t)
		same(t, "plans listed", summaries([]store.Plan{want}), listed)
	}
}

func classesAreResolved(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.commit(t, "clicks", set("a", 1), set("b", 1))
	want := f.create(t, f.classes(t, 7))
	f.wantChanges(t, want.ID)

	unsorted := []store.Change{set("c", 3), unset("b", 1), move("a", 1, 2)}
	by := f.by("someone")
	resolution := store.Resolution{Keys: 5, Changes: unsorted, TableAfter: 2, TableWithinLimit: true}
	got := must(f.ResolvePlan(ctx, want.ID, resolution, by))(t)
	want.ResolvedKeys, want.TableAfter, want.TableWithinLimit = new(int64(5)), 2, true
	same(t, "resolved plans", want, got)
	f.wantChanges(t, want.ID, move("a", 1, 2), unset("b", 1), set("c", 3))
	same(t, "the caller's changes", []store.Change{set("c", 3), unset("b", 1), move("a", 1, 2)}, unsorted)
	f.wantLast(t, want.ID, 2, store.Transition{
		From: store.StatusApproved, To: store.StatusApproved, Actor: "someone", Reason: "because", At: kept(by.At),
	})
	// Nothing has happened to the table yet.
	f.wantTable(t, "clicks", -1, "a=1", "b=1")
	if op := f.operator(t, "clicks"); op.CurrentPlan != want.ID || op.TableVersion != 1 {
		t.Errorf("before the commit: %+v", op)
	}

	want.Status, want.Version = store.StatusCommitted, new(int64(2))
	same(t, "committed plans", want, f.commitPlan(t, want.ID))
	f.wantTable(t, "clicks", -1, "a=2", "c=3")
	f.wantTable(t, "clicks", 1, "a=1", "b=1")
	f.wantTable(t, "clicks", 0)
	f.wantChanges(t, want.ID, move("a", 1, 2), unset("b", 1), set("c", 3))
	is(t, "the size of the table", f.operator(t, "clicks").TableSize, 2)
	wantDiffs(t, f, 2)
}

func resolutionIsReplaced(t *testing.T, f *fixture) {
	p := f.create(t, f.classes(t, 1))
	wantDiffs(t, f, 0)
	for i, changes := range [][]store.Change{
		{set("a", 1), set("b", 2)},
		{set("a", 2)},
		nil, // the keys may be where the hash sends them
		{set("c", 1)},
	} {
		got := f.resolve(t, p.ID, int64(10+i), changes...)
		holds(t, got.ResolvedKeys != nil && *got.ResolvedKeys == int64(10+i),
			"resolved keys %v, want %d", got.ResolvedKeys, 10+i)
		f.wantChanges(t, p.ID, changes...)
		wantDiffs(t, f, min(len(changes), 1))
		f.wantSteps(t, p.ID, 2+i)
	}
	f.commitPlan(t, p.ID)
	f.wantTable(t, "clicks", -1, "c=1")
	// A plan may be resolved to no change at all.
	still := f.create(t, f.classes(t, 2))
	f.resolve(t, still.ID, 0)
	f.commitPlan(t, still.ID)
	f.wantTable(t, "clicks", 2, "c=1")
}

// resolutionTellsTable: what is said of the table is the newest resolution's, all
// else about the plan stays.
func resolutionTellsTable(t *testing.T, f *fixture) {
	want := f.create(t, f.classes(t, 1))
	for i, r := range []store.Resolution{
		{Keys: 2, Changes: []store.Change{set("a", 1), set("b", 1)}, TableAfter: 2},
		{Keys: 2, Changes: []store.Change{set("a", 1)}, TableAfter: 1, TableWithinLimit: true},
		{Keys: 2, Changes: []store.Change{set("a", 1)}, TableAfter: 1}, // told differently, it is another one
		{Keys: 2, Changes: []store.Change{set("a", 1)}, TableAfter: 3},
		{TableWithinLimit: true},
	} {
		want.ResolvedKeys, want.TableAfter, want.TableWithinLimit = new(r.Keys), r.TableAfter, r.TableWithinLimit
		for range 2 {
			got := must(f.ResolvePlan(t.Context(), want.ID, r, f.by("x")))(t)
			same(t, "resolved plans", want, got)
			same(t, "plans", want, must(f.Plan(t.Context(), want.ID))(t))
			listed, _ := must2(f.Plans(t.Context(), store.PlanFilter{Operator: "clicks", Limit: 1}))(t)
			same(t, "plans listed", summaries([]store.Plan{want}), listed)
		}
		f.wantSteps(t, want.ID, 2+i)
	}
	// A resolution that is refused says nothing.
	must(f.AbortPlan(t.Context(), want.ID, false, f.by("x")))(t)
	want.Status = store.StatusAborted
	_, err := f.ResolvePlan(t.Context(), want.ID, store.Resolution{TableAfter: 7}, f.by("x"))
	fails(t, "resolving an aborted plan", err, store.ErrTransition)
	same(t, "plans", want, must(f.Plan(t.Context(), want.ID))(t))
}

func sameResolution(t *testing.T, f *fixture) {
	for i, changes := range [][]store.Change{{set("a", 1), set("b", 2)}, nil} {
		p := f.create(t, f.classes(t, int64(i)))
		want := f.resolve(t, p.ID, 3, changes...)
		before := read(t, f)
		slices.Reverse(changes)
		same(t, "plans", want, f.resolve(t, p.ID, 3, changes...))
		same(t, "contents", before, read(t, f))
		// With another number of keys it is another one, and so with other changes.
		is(t, "resolved keys", *f.resolve(t, p.ID, 4, changes...).ResolvedKeys, 4)
		for _, other := range [][]store.Change{{set("a", 2), set("b", 2)}, nil, {set("a", 3)}} {
			f.resolve(t, p.ID, 4, other...)
			f.wantChanges(t, p.ID, other...)
		}
	}
	wantDiffs(t, f, 2)
}

func unresolvedIsNotCommitted(t *testing.T, f *fixture) {
	p := f.create(t, f.classes(t, 1))
	before := read(t, f)
	_, committed, err := f.CommitPlan(t.Context(), p.ID, f.by("x"), store.Retention{Inputs: 1, Plans: 1, Versions: 1})
	fails(t, "an unresolved plan", err, store.ErrUnresolved)
	is(t, "committed", committed, false)
	born := f.classes(t, 2)
	born.Status = store.StatusCommitted
	fails(t, "a plan of classes born committed", notDone(f.CreatePlan(t.Context(), born, f.by("x"))), store.ErrUnresolved)
	// A build that does not know of classes is held back by the schema.
	if _, err := database(t, f).ExecContext(t.Context(),
		`UPDATE plans SET status = 'committed', version = 1`); err == nil {
		t.Error("the schema lets an unresolved plan be committed")
	}
	same(t, "contents", before, read(t, f))
	// It can be given up, and another one supersedes it, as any plan.
	must(f.AbortPlan(t.Context(), p.ID, false, f.by("x")))(t)
	_, _, err = f.CommitPlan(t.Context(), p.ID, f.by("x"), store.Retention{})
	fails(t, "an unresolved plan that was aborted", err, store.ErrTransition)
	f.create(t, f.classes(t, 3))
	f.commit(t, "clicks", set("a", 1))
	f.wantStatuses(t, "clicks", store.StatusAborted, store.StatusSuperseded, store.StatusCommitted)
}

func resolutionRefusals(t *testing.T, f *fixture) {
	ctx := t.Context()
	resolution := store.Resolution{Keys: 1, Changes: []store.Change{set("k", 1)}}
	purged := f.create(t, f.classes(t, 1))
	idle := f.classes(t, 2)
	idle.Status, idle.Retention = store.StatusNoAction, store.Retention{Plans: 1}
	f.create(t, idle) // purges the one before it

	aborted := f.create(t, f.classes(t, 3))
	f.resolve(t, aborted.ID, 1, set("a", 1))
	must(f.AbortPlan(ctx, aborted.ID, false, f.by("x")))(t)
	superseded := f.create(t, f.classes(t, 4))
	committed := f.create(t, f.classes(t, 5))
	f.resolve(t, committed.ID, 1, set("b", 1))
	f.commitPlan(t, committed.ID)
	ofKeys := f.create(t, f.plan(t, "clicks", 6, store.StatusApproved, set("c", 1)))
	engines := f.classes(t, 7)
	engines.EngineTable = true
	f.create(t, engines)

	before := read(t, f)
	for _, c := range []struct {
		what, id string
		want     error
	}{
		{"none", "none", store.ErrNotFound},
		{"a purged plan", purged.ID, store.ErrPurged},
		{"a plan without action", idle.ID, store.ErrTransition},
		{"an aborted plan", aborted.ID, store.ErrTransition},
		{"a superseded plan, whose base changed too", superseded.ID, store.ErrTransition},
		{"a committed plan", committed.ID, store.ErrTransition},
		{"a plan of keys", ofKeys.ID, store.ErrTransition},
		{"a plan of the engine's table", engines.ID, store.ErrTransition},
	} {
		fails(t, "resolving "+c.what, errorOf(f.ResolvePlan(ctx, c.id, resolution, f.by("x"))), c.want)
	}
	// A committed plan is not resolved again even in the same way.
	_, err := f.ResolvePlan(ctx, committed.ID, store.Resolution{Keys: 1, Changes: []store.Change{set("b", 1)}}, f.by("x"))
	fails(t, "resolving a committed plan again", err, store.ErrTransition)
	same(t, "contents", before, read(t, f))
	wantDiffs(t, f, 3) // of the aborted, the committed and the plan of keys
}

func impossibleResolutions(t *testing.T, f *fixture) {
	p := f.create(t, f.classes(t, 1))
	f.resolve(t, p.ID, 1, set("a", 1))
	before := read(t, f)
	for what, r := range map[string]store.Resolution{
		"a key twice":            {Changes: []store.Change{set("x", 1), set("a", 1), set("x", 2)}},
		"an empty key":           {Changes: []store.Change{set("", 1)}},
		"a key too long":         {Changes: []store.Change{set(string(make([]byte, store.MaxKeyBytes+1)), 1)}},
		"a change of nothing":    {Changes: []store.Change{move("a", 1, 1)}},
		"a negative instance":    {Changes: []store.Change{set("x", -2)}},
		"less than no keys":      {Keys: -1},
		"a key that never stood": {Changes: []store.Change{unset("x", store.NoInstance)}},
	} {
		refused(t, what, errorOf(f.ResolvePlan(t.Context(), p.ID, r, f.by("x"))))
		same(t, "contents after "+what, before, read(t, f))
	}
	// Classes name no keys, so a plan of them is born without changes.
	in := f.classes(t, 2)
	in.Changes = []store.Change{set("x", 1)}
	refused(t, "a plan of classes with changes", errorOf2(f.CreatePlan(t.Context(), in, f.by("x"))))
	same(t, "contents", before, read(t, f))
	wantDiffs(t, f, 1)
}

// unfittingResolution is as any plan whose changes cannot be made: its commit
// says so and leaves nothing behind. Another resolution mends it.
func unfittingResolution(t *testing.T, f *fixture) {
	f.commit(t, "clicks", set("a", 1))
	p := f.create(t, f.classes(t, 9))
	for _, change := range []store.Change{set("a", 2), move("a", 2, 3), unset("a", 2), unset("z", 1)} {
		f.resolve(t, p.ID, 2, set("0", 1), change)
		before := read(t, f)
		_, _, err := f.CommitPlan(t.Context(), p.ID, f.by("x"), store.Retention{})
		refused(t, "a resolution of another table", err)
		same(t, "contents", before, read(t, f))
	}
	f.resolve(t, p.ID, 2, set("0", 1), move("a", 1, 3))
	f.commitPlan(t, p.ID)
	f.wantTable(t, "clicks", -1, "0=1", "a=3")
}

func resolvedKeysAreBytes(t *testing.T, f *fixture) {
	var changes []store.Change
	var want []string
	for i, key := range oddKeys {
		changes = append(changes, set(key, int32(i)))
		want = append(want, fmt.Sprintf("%s=%d", key, i))
	}
	shuffled := slices.Clone(changes)
	slices.Reverse(shuffled)
	p := f.create(t, f.classes(t, 1))
	f.resolve(t, p.ID, int64(len(changes)), shuffled...)
	f.wantChanges(t, p.ID, changes...)
	f.commitPlan(t, p.ID)
	f.wantTable(t, "clicks", -1, want...)
	for i, key := range oddKeys {
		if _, e, err := f.Route(t.Context(), "clicks", []byte(key)); err != nil || e == nil || int(e.Instance) != i {
			t.Errorf("key %q goes to %v (error %v), want %d", key, e, err, i)
		}
	}
}

func resolutionsArePurged(t *testing.T, f *fixture) {
	ctx := t.Context()
	// An open one, given up by retention, takes its resolution with it.
	open := f.create(t, f.classes(t, 0))
	f.resolve(t, open.ID, 1, set("open", 1))
	wantDiffs(t, f, 1)
	var plans []store.Plan
	for i := range 4 {
		in := f.classes(t, int64(i+1))
		in.Retention = store.Retention{Plans: 1}
		p := f.create(t, in)
		f.resolve(t, p.ID, 1, set(fmt.Sprint("never ", i), 1))
		f.resolve(t, p.ID, 1, set(fmt.Sprint("key ", i), 1))
		plans = append(plans, f.commitPlan(t, p.ID))
	}
	wantPurged(t, f, open.ID)
	for _, p := range plans[:2] {
		wantPurged(t, f, p.ID)
	}
	wantDiffs(t, f, 4) // the table versions need them still
	f.wantTable(t, "clicks", 2, "key 0=1", "key 1=1")
	last := f.create(t, f.classes(t, 9))
	f.resolve(t, last.ID, 1, set("last", 1))
	must2(f.CommitPlan(ctx, last.ID, f.by("x"), store.Retention{Plans: 1, Versions: 1}))(t)
	wantDiffs(t, f, 1)
	f.wantTable(t, "clicks", -1, "key 0=1", "key 1=1", "key 2=1", "key 3=1", "last=1")
	waiting := f.create(t, f.classes(t, 10))
	f.resolve(t, waiting.ID, 1, set("waiting", 1))
	ok(t, f.DeleteOperator(ctx, "clicks", f.now()))
	wantPurged(t, f, waiting.ID)
	wantDiffs(t, f, 0)
}

func engineTable(t *testing.T, f *fixture) {
	changes := []store.Change{set("a", 1), move("b", 1, 2), unset("c", 3)} // of a table that only the engine knows
	for i, classes := range []bool{false, true} {
		for j, status := range []store.Status{store.StatusApproved, store.StatusCommitted} {
			in := f.plan(t, "clicks", int64(2*i+j), status)
			in.EngineTable, in.Classes = true, classes
			if !classes {
				in.Changes = changes
			}
			p := f.create(t, in)
			f.wantChanges(t, in.ID, in.Changes...)
			if status == store.StatusApproved {
				p = f.commitPlan(t, p.ID)
			}
			want := in.Plan
			want.Status, want.Version, want.CreatedAt = store.StatusCommitted, new(int64(2*i+j+1)), kept(in.CreatedAt)
			same(t, "plans", want, p)
			f.wantChanges(t, in.ID, in.Changes...)
			f.wantTable(t, "clicks", *want.Version)
			if op := f.operator(t, "clicks"); op.TableVersion != *want.Version || op.TableSize != 0 {
				t.Errorf("version %d with %d entries, want %d with none", op.TableVersion, op.TableSize, *want.Version)
			}
		}
	}
	if _, e, err := f.Route(t.Context(), "clicks", []byte("a")); err != nil || e != nil {
		t.Errorf("an entry of the engine's table is stored (error %v)", err)
	}
	waiting := f.plan(t, "clicks", 9, store.StatusApproved, changes...)
	waiting.EngineTable = true
	f.create(t, waiting)
	f.commit(t, "clicks")
	_, _, err := f.CommitPlan(t.Context(), waiting.ID, f.by("x"), store.Retention{})
	fails(t, "a superseded plan of the engine's table", err, store.ErrTransition)
}

func engineTableHistory(t *testing.T, f *fixture) {
	f.put(t, "clicks", `{"v":0}`)
	var plans []store.Plan
	for i := range 6 {
		f.put(t, "clicks", fmt.Sprintf(`{"v":%d}`, i+1))
		in := f.plan(t, "clicks", int64(i), store.StatusCommitted, move("a", int32(i), int32(i+1)))
		in.EngineTable, in.Retention = true, store.Retention{Plans: 2, Versions: 3}
		plans = append(plans, f.create(t, in))
	}
	for version := range int64(7) {
		table, err := f.Table(t.Context(), "clicks", &version)
		if version <= 3 {
			fails(t, fmt.Sprintf("version %d of 6", version), err, store.ErrPurged)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		same(t, "tables", store.Table{Version: version, ConfigVersion: version + 1}, table)
	}
	for _, p := range plans[:4] {
		wantPurged(t, f, p.ID)
	}
	f.wantChanges(t, plans[4].ID, move("a", 4, 5))
	f.wantChanges(t, plans[5].ID, move("a", 5, 6))
	wantDiffs(t, f, 2) // those of the plans that are left: versions have none
}

// engineTakesOver changes who holds a table. The entries that were stored are
// history from then on, and nothing that is stored later is an older version's.
func engineTakesOver(t *testing.T, f *fixture) {
	f.commit(t, "clicks", set("a", 1), set("b", 2))
	takeover := f.plan(t, "clicks", 5, store.StatusApproved, move("a", 1, 3))
	takeover.EngineTable = true
	f.create(t, takeover)
	f.wantTable(t, "clicks", -1, "a=1", "b=2")
	f.commitPlan(t, takeover.ID)
	if op := f.operator(t, "clicks"); op.TableVersion != 2 || op.TableSize != 0 {
		t.Errorf("version %d with %d entries, want 2 with none", op.TableVersion, op.TableSize)
	}
	f.wantChanges(t, takeover.ID, move("a", 1, 3))
	wantDiffs(t, f, 3)
	f.commit(t, "clicks", set("c", 4))
	for version, want := range [][]string{nil, {"a=1", "b=2"}, nil, {"c=4"}} {
		f.wantTable(t, "clicks", int64(version), want...)
	}
	// Retention takes the diff that was made for the version alone.
	f.keeping(t, store.Retention{Plans: 1, Versions: 1}, 1)
	wantDiffs(t, f, 1)
}
