package store_test

import (
	"testing"

	"plannerd/store"
)

// The matrix once more, as a picture: rows are from, columns are to.
func TestAllowed(t *testing.T) {
	statuses := []store.Status{
		"", store.StatusNoAction, store.StatusProposed, store.StatusApproved, store.StatusApplying,
		store.StatusAborting, store.StatusCommitted, store.StatusRejected, store.StatusAborted,
		store.StatusSuperseded, store.StatusExpired,
	}
	picture := []string{
		".npa..c....", // born
		"...........", // no action
		"...a...r.se", // proposed
		"....a.c.ase", // approved
		".....gc....", // applying
		"........a..", // aborting
		"...........", // committed
		"...........", // rejected
		"...........", // aborted
		"...........", // superseded
		"...........", // expired
	}
	for i, from := range statuses {
		next := store.Next(from)
		for j, to := range statuses {
			want := picture[i][j] != '.'
			if got := store.Allowed(from, to); got != want {
				t.Errorf("from %q to %q: allowed = %v", from, to, got)
			}
			if want {
				if len(next) == 0 || next[0] != to {
					t.Errorf("from %q: next is %q, want %q", from, next, to)
					continue
				}
				next = next[1:]
			}
		}
		if ended := i >= 7; from.Ended() != ended {
			t.Errorf("%q has ended: %v", from, from.Ended())
		}
	}
	store.Next(store.StatusApplying)[0] = "changed"
	if store.Allowed(store.StatusApplying, "changed") {
		t.Error("who asks what is next can change it")
	}
}
