package storetest

import (
	"testing"

	"plannerd/store"
)

// benchKeys is the size of the plans and tables that are measured.
const benchKeys = 100_000

// Benchmark measures what grows with the size of a plan: committing 100 000
// changes to an empty table, to all of its entries, and back, and reading the
// table, the committed one and one that lies ten large plans back.
func Benchmark(b *testing.B, fresh func(t testing.TB) Open) {
	var sets, moves, back, unsets []store.Change
	for _, key := range manyKeys(benchKeys) {
		sets = append(sets, set(key, 1))
		moves = append(moves, move(key, 1, 2))
		back = append(back, move(key, 2, 1))
		unsets = append(unsets, unset(key, 1))
	}
	// Each benchmark begins with a table that holds the given entries.
	run := func(name string, held []store.Change, measure func(b *testing.B, f *fixture)) {
		b.Run(name, func(b *testing.B) {
			f := newFixture(b, fresh(b), true)
			f.put(b, "clicks", `{}`)
			f.commit(b, "clicks", held...)
			b.ResetTimer()
			measure(b, f)
		})
	}
	run("create/changes=1e5", nil, func(b *testing.B, f *fixture) { benchCreate(b, f, sets) })
	run("resolve/changes=1e5", nil, func(b *testing.B, f *fixture) { benchResolve(b, f, sets) })
	run("commit=set/changes=1e5", nil, func(b *testing.B, f *fixture) { benchCommit(b, f, sets, unsets) })
	run("commit=move/changes=1e5", sets, func(b *testing.B, f *fixture) { benchCommit(b, f, moves, back) })
	run("commit=unset/changes=1e5", sets, func(b *testing.B, f *fixture) { benchCommit(b, f, unsets, sets) })
	run("table/entries=1e5/back=0", sets, func(b *testing.B, f *fixture) { benchTable(b, f, nil) })
	run("table/entries=1e5/back=10", sets, func(b *testing.B, f *fixture) {
		for range 5 {
			f.commit(b, "clicks", moves...)
			f.commit(b, "clicks", back...)
		}
		benchTable(b, f, new(int64(1)))
	})
	run("route/entries=1e5", sets, func(b *testing.B, f *fixture) { benchRoute(b, f, sets) })
}

func benchCreate(b *testing.B, f *fixture, changes []store.Change) {
	for b.Loop() {
		f.create(b, f.plan(b, "clicks", f.next(b, "clicks"), store.StatusApproved, changes...))
	}
}

// benchResolve replaces one resolution by another, over and over again.
func benchResolve(b *testing.B, f *fixture, changes []store.Change) {
	id := f.create(b, f.classes(b, 1)).ID
	for keys := int64(0); b.Loop(); keys++ {
		f.resolve(b, id, keys, changes...)
	}
}

// benchCommit measures a plan and not the one that takes it back.
func benchCommit(b *testing.B, f *fixture, changes, back []store.Change) {
	for b.Loop() {
		f.commit(b, "clicks", changes...)
		b.StopTimer()
		f.commit(b, "clicks", back...)
		b.StartTimer()
	}
}

func benchTable(b *testing.B, f *fixture, version *int64) {
	for b.Loop() {
		if _, err := f.Table(b.Context(), "clicks", version); err != nil {
			b.Fatal(err)
		}
	}
}

func benchRoute(b *testing.B, f *fixture, held []store.Change) {
	for i := 0; b.Loop(); i++ {
		if _, e, err := f.Route(b.Context(), "clicks", held[i%len(held)].Key); err != nil || e == nil {
			b.Fatal(e, err)
		}
	}
}
