package intake

import (
	"testing"

	"plannerd/internal/service/figures"
	"plannerd/planner"
	"plannerd/store"
)

// TestIsSmall: statistics stay too small until somebody approves the plan that was made of them.
func TestIsSmall(t *testing.T) {
	waits := []string{string(figures.WaitSmall)}
	for name, c := range map[string]struct {
		plan store.Plan
		want bool
	}{
		"nothing was planned":        {store.Plan{Status: store.StatusNoAction, LeavesOpen: true}, true},
		"there was nothing to do":    {store.Plan{Status: store.StatusNoAction}, false},
		"it waits for that reason":   {store.Plan{Status: store.StatusProposed, WaitsFor: waits}, true},
		"it waits for another one":   {store.Plan{Status: store.StatusProposed, WaitsFor: []string{"table_limit"}}, false},
		"it was rejected":            {store.Plan{Status: store.StatusRejected, WaitsFor: waits}, true},
		"somebody has approved that": {store.Plan{Status: store.StatusApproved, WaitsFor: waits}, false},
		"it was committed":           {store.Plan{Status: store.StatusCommitted, WaitsFor: waits}, false},
	} {
		if got := IsSmall(c.plan); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestSharesOf: what earlier intervals added is where the key is.
func TestSharesOf(t *testing.T) {
	own := &planner.Statistics{
		State: []float64{10, 20}, Instance: []int32{0, 1},
		Shares: []planner.Share{
			{Row: 0, Instance: 0, State: 4}, {Row: 0, Instance: 2, State: 6}, {Row: 1, Instance: 2, State: 20},
		},
	}
	got := sharesOf(own, []float64{15, 50})
	for i, want := range []float64{9, 6, 20} {
		if got[i].State != want {
			t.Errorf("share %d has %v, want %v", i, got[i].State, want)
		}
	}
}
