package reading

import (
	"context"
	"errors"
	"testing"

	"plannerd/planner"
	"plannerd/store"
)

// rewound is a store that has gone back to a state before one that was read.
type rewound struct {
	store.Store
	table store.Table
}

func (r *rewound) Table(context.Context, string, *int64) (store.Table, error) { return r.table, nil }

// TestTableOfAnotherHistory: what is kept of a version is not taken for another one of the same
// number.
func TestTableOfAnotherHistory(t *testing.T) {
	var s rewound
	r := New(&s, 1<<20, 1, nil)
	at := func(origin string, instance int32) (store.Operator, store.Table) {
		o := store.Origin{Plan: origin}
		return store.Operator{Name: "clicks", TableVersion: 1, TableOrigin: o},
			store.Table{Version: 1, Origin: o, Entries: []store.Entry{{Key: []byte("k"), Instance: instance}}}
	}
	read := func(op store.Operator) (*planner.RoutingTable, error) { return r.RoutingTable(t.Context(), op) }
	lost, lostTable := at("lost", 1)
	now, nowTable := at("now", 2)
	s.table = lostTable
	first, err := read(lost)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(now); !errors.Is(err, store.ErrBaseChanged) {
		t.Errorf("the table went back between two looks: %v", err)
	}
	s.table = nowTable
	second, err := read(now)
	if err != nil || second == first {
		t.Errorf("the lost table is taken for the one of its number: %v", err)
	}
}
