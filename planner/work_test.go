package planner_test

import (
	"testing"

	"plannerd/planner"
)

// TestDividingKeepsToItsWork: dividing a problem of many keys, under a table limit that nothing
// keeps to, takes hardly more work than it may.
func TestDividingKeepsToItsWork(t *testing.T) {
	t.Parallel()
	limit, work := int64(1500), 1_000_000
	o := planner.Options{ThetaMax: 0.08, TableLimit: &limit}
	used, err := planner.WorkOfDividing(zipfSnapshot(30_000, 40), o, work)
	if err != nil {
		t.Fatal(err)
	}
	if used == 0 || used > 2*work {
		t.Errorf("work of %d, %d granted", used, work)
	}
}
