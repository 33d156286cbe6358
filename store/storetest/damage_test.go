package storetest

import (
	"errors"
	"testing"

	"plannerd/store"
)

var damageCases = []testCase{
	{name: "rows that cannot be read stop all writes", run: damageStopsWrites, damages: true},
	{name: "a damaged table is not taken for another one", run: damagedTables, damages: true},
	{name: "tables without checksums get them", run: withoutChecksums, damages: true},
}

// another is the fixture with its database opened once more.
func (f *fixture) another(t *testing.T) *fixture {
	g := &fixture{Store: openStore(t, f.open), open: f.open, plans: f.plans}
	g.ticks.Store(f.ticks.Load())
	return g
}

// damageStopsWrites: what cannot be decoded is damage. Nothing is written from then on, until the
// store is opened anew.
func damageStopsWrites(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.commit(t, "clicks", store.Change{Key: []byte("k"), Old: store.NoInstance, New: 1})
	p := f.create(t, f.plan(t, "clicks", f.next(t, "clicks"), store.StatusApproved))
	db := database(t, f)
	for column, whole := range map[string]string{"awaited": "NULL", "causes": "'[]'", "routers": "NULL"} {
		g := f.another(t)
		become := func(value string) {
			t.Helper()
			must(db.ExecContext(ctx, `UPDATE plans SET `+column+` = `+value+` WHERE id = '`+p.ID+`'`))(t)
		}
		become("'7'")
		_, err := g.Plan(ctx, p.ID)
		fails(t, column, err, store.ErrDamaged)
		holds(t, errors.Is(err, store.ErrUnavailable), "%s: damage that is not unavailable: %v", column, err)
		g.wantNoWrites(t, column)
		become(whole)
		must(f.another(t).Plan(ctx, p.ID))(t)
	}
	g := f.another(t)
	fails(t, "what a caller says", g.NoticeDamage(ctx, store.Unreadable("it", errors.New("no"))), store.ErrDamaged)
	g.wantNoWrites(t, "what a caller says")
	g = f.another(t)
	fails(t, "another error", g.NoticeDamage(ctx, store.ErrUnavailable), store.ErrUnavailable)
	ok(t, g.NoticeDamage(ctx, store.Unreadable("it", nil)))
	g.put(t, "more", `{}`)
}

// wantNoWrites checks that nothing is written, and what is whole is read.
func (f *fixture) wantNoWrites(t *testing.T, after string) {
	t.Helper()
	ctx := t.Context()
	_, _, err := f.PutOperator(ctx, "another", []byte(`{}`), f.now())
	fails(t, "writing after "+after, err, store.ErrDamaged)
	fails(t, "readiness after "+after, f.Ready(ctx), store.ErrDamaged)
	if _, err := f.Table(ctx, "clicks", nil); err != nil {
		t.Errorf("reading what is whole after %s: %v", after, err)
	}
}

// damagedTables: each version of a table is held against its checksum when it is read whole.
func damagedTables(t *testing.T, f *fixture) {
	ctx := t.Context()
	for name, damage := range map[string]string{
		"another instance": `UPDATE table_entries SET instance = 7 WHERE instance = 2`,
		"another key":      `UPDATE table_entries SET key = (SELECT data FROM diffs LIMIT 1) WHERE instance = 2`,
		"an entry is lost": `DELETE FROM table_entries WHERE instance = 2`,
		"lost parts":       `UPDATE table_entries SET parts = NULL WHERE instance = 4`,
		"another checksum": `UPDATE table_versions SET checksum = checksum + 1 WHERE plan_id IS NOT NULL`,
		"another change":   `UPDATE diffs SET data = (SELECT data FROM diffs ORDER BY id LIMIT 1)`,
	} {
		ok(t, f.DeleteOperator(ctx, "clicks", f.now()))
		f.put(t, "clicks", `{}`)
		f.commit(t, "clicks", store.Change{Key: []byte("a"), Old: store.NoInstance, New: 1},
			store.Change{Key: []byte("b"), Old: store.NoInstance, New: 2})
		f.commit(t, "clicks", store.Change{Key: []byte("a"), Old: 1, New: 3})
		last := f.commit(t, "clicks", store.Change{Key: []byte("a"), Old: 3, New: store.NoInstance},
			store.Change{Key: []byte("c"), Old: store.NoInstance, New: 4, NewParts: "4:1,5:1"})
		ok(t, f.VerifyTable(ctx, "clicks"))
		must(database(t, f).ExecContext(ctx, damage))(t)
		g := f.another(t)
		fails(t, name+": verifying", g.VerifyTable(ctx, "clicks"), store.ErrDamaged)
		fails(t, name+": readiness", g.Ready(ctx), store.ErrDamaged)
		first := *last.Version - 1
		_, err := f.another(t).Table(ctx, "clicks", &first)
		fails(t, name+": a table before", err, store.ErrDamaged)
		if name == "another change" { // those of which the newest table is made are not read again
			continue
		}
		_, err = f.another(t).Table(ctx, "clicks", nil)
		fails(t, name+": the table", err, store.ErrDamaged)
		_, err = f.another(t).TableChanges(ctx, "clicks", -1)
		fails(t, name+": the table for a router", err, store.ErrDamaged)
	}
	fails(t, "an operator that is not there", f.VerifyTable(ctx, "none"), store.ErrNotFound)
}

// withoutChecksums: versions that older programs made have none. The next version has.
func withoutChecksums(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.commit(t, "clicks", store.Change{Key: []byte("a"), Old: store.NoInstance, New: 1})
	f.down(t, 16)
	must(f.Migrator().Up(ctx))(t)
	ok(t, f.VerifyTable(ctx, "clicks"))
	f.commit(t, "clicks", store.Change{Key: []byte("b"), Old: store.NoInstance, New: 2})
	ok(t, f.VerifyTable(ctx, "clicks"))
	must(database(t, f).ExecContext(ctx, `UPDATE table_entries SET instance = 3 WHERE instance = 1`))(t)
	fails(t, "an entry that was there before", f.VerifyTable(ctx, "clicks"), store.ErrDamaged)
}
