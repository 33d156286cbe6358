package cases

import (
	"slices"
	"testing"

	"plannerd/planner"
	"plannerd/planner/plannertest"
)

// Tiny cases of a family are as small as they have to be.
func TestDrawTiny(t *testing.T) {
	for _, family := range Families {
		for seed := range uint64(20) {
			c, err := DrawTiny(family, seed)
			if err != nil {
				t.Fatal(err)
			}
			if err := plannertest.CheckSnapshot(c.Snapshot); err != nil {
				t.Fatal(err)
			}
			keys, instances := c.Snapshot.Len(), len(c.Snapshot.Instances)
			if keys < 2 || keys > 7 || instances < 2 || instances > 4 {
				t.Errorf("%s has %d keys on %d instances", c.Name(), keys, instances)
			}
		}
	}
}

// A seed stands for one case, and its limits can mostly be met.
func TestDraw(t *testing.T) {
	met := 0
	for _, family := range Families {
		for seed := range uint64(4) {
			c, err := Draw(family, seed, 400)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Draw(family, seed, 400)
			if err != nil {
				t.Fatal(err)
			}
			if err := plannertest.CheckSnapshot(c.Snapshot); err != nil {
				t.Fatal(err)
			}
			if c.Name() != again.Name() || !slices.Equal(c.Snapshot.Cost, again.Snapshot.Cost) ||
				!slices.Equal(c.Snapshot.Current, again.Snapshot.Current) {
				t.Errorf("%s is not the same twice", c.Name())
			}
			plan, err := planner.Run(planner.Optimal, c.Snapshot, c.Options)
			if err != nil {
				t.Fatal(err)
			}
			if plan.TableWithinLimit && plan.Certificate != nil && !plan.Certificate.Infeasible {
				met++
			}
		}
	}
	if met < 3*len(Families) {
		t.Errorf("the limits of %d of %d cases are met", met, 4*len(Families))
	}
}

// Earlier intervals have filled the table of most cases of family FullTable.
func TestFullTable(t *testing.T) {
	const seeds = 20
	full := 0
	for seed := range uint64(seeds) {
		c, err := Draw(FullTable, seed, 2000)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Inspect(c.Snapshot, c.Options)
		if err != nil {
			t.Fatal(err)
		}
		if limit := *c.Options.TableLimit; 100*plan.TableBefore >= 95*limit {
			full++
		}
	}
	if full < seeds/2 {
		t.Errorf("the tables of %d of %d cases are full", full, seeds)
	}
}
