package storetest

import (
	"testing"

	"plannerd/store"
)

// Benchmark measures what grows with the size of a plan: committing 100 000
// changes to an empty table, to all of its entries, and back, and reading the
// table, the committed one and one that lies ten large plans back.
func Benchmark(b *testing.B, fresh func(t testing.TB) Open) {
	const n = 100_000
	var sets, moves, back, unsets []store.Change
	for _, key := range manyKeys(n) {
		sets = append(sets, set(key, 1))
		moves = append(moves, move(key, 1, 2))
		back = append(back, move(key, 2, 1))
		unsets = append(unsets, unset(key, 1))
	}
	for _, c := range []struct {
		name            string
		before, changes []store.Change
		after           []store.Change
	}{
		{name: "set", changes: sets, after: unsets},
		{name: "move", before: sets, changes: moves, after: back},
		{name: "unset", before: sets, changes: unsets, after: sets},
	} {
		b.Run("commit="+c.name+"/changes=1e5", func(b *testing.B) {
			f := newFixture(b, fresh(b), true)
			f.put(b, "clicks", `{}`)
			f.commit(b, "clicks", c.before...)
			for b.Loop() {
				f.commit(b, "clicks", c.changes...)
				b.StopTimer()
				f.commit(b, "clicks", c.after...)
				b.StartTimer()
			}
		})
	}
	b.Run("create/changes=1e5", func(b *testing.B) {
		f := newFixture(b, fresh(b), true)
		f.put(b, "clicks", `{}`)
		for b.Loop() {
			f.create(b, f.plan(b, "clicks", f.next(b, "clicks"), store.StatusApproved, sets...))
		}
	})
	b.Run("table/entries=1e5", func(b *testing.B) {
		f := newFixture(b, fresh(b), true)
		f.put(b, "clicks", `{}`)
		f.commit(b, "clicks", sets...)
		for range 5 {
			f.commit(b, "clicks", moves...)
			f.commit(b, "clicks", back...)
		}
		first := int64(1)
		for name, version := range map[string]*int64{"back=0": nil, "back=10": &first} {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					if _, err := f.Table(b.Context(), "clicks", version); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
	b.Run("route/entries=1e5", func(b *testing.B) {
		f := newFixture(b, fresh(b), true)
		f.put(b, "clicks", `{}`)
		f.commit(b, "clicks", sets...)
		for i := 0; b.Loop(); i++ {
			if _, _, found, err := f.Route(b.Context(), "clicks", sets[i%n].Key); err != nil || !found {
				b.Fatal(found, err)
			}
		}
	})
}
