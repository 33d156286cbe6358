package listing

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"plannerd/internal/input/lists"
	"plannerd/internal/input/stored"
	"plannerd/planner"
)

// TestListing filters, sorts, pages and sums up the arcs that a plan moves.
func TestListing(t *testing.T) {
	all := RingDiff{RingPlan: stored.RingPlan{Arcs: []lists.ArcMove{
		{Start: 1, From: 0, To: 1, Keys: 2, Cost: 5, State: 10, Reason: planner.ReasonOverload},
		{Start: 2, From: 0, To: 2, Keys: 9, Cost: 1, State: 30, Reason: planner.ReasonDrain},
		{Start: 3, From: 1, To: 2, Keys: 4, Cost: 7, State: 20, Reason: planner.ReasonOverload},
		{Start: 4, From: 0, To: 1, Keys: 1, Cost: 5, State: 40, Reason: planner.ReasonDrain},
	}}}.Index()
	starts := func(filter MoveFilter, order Sorting, offset, size int) (got []uint32, total int) {
		page, n, total := all.Listing(filter, order).Page(offset, size)
		for r := range page.(lists.Records[lists.ArcMove]) {
			got = append(got, r.Start)
		}
		if n != len(got) {
			t.Errorf("a page is said to have %d records, and has %v", n, got)
		}
		return got, total
	}
	from, reason := int32(0), planner.ReasonDrain
	for name, c := range map[string]struct {
		filter       MoveFilter
		order        Sorting
		offset, size int
		want         []uint32
		total        int
	}{
		"all":              {MoveFilter{}, Sorting{}, 0, 9, []uint32{1, 2, 3, 4}, 4},
		"the second page":  {MoveFilter{}, Sorting{}, 3, 3, []uint32{4}, 4},
		"behind the end":   {MoveFilter{}, Sorting{}, 4, 3, nil, 4},
		"from an instance": {MoveFilter{From: &from}, Sorting{}, 0, 9, []uint32{1, 2, 4}, 3},
		"for a reason":     {MoveFilter{Reason: &reason}, Sorting{}, 0, 9, []uint32{2, 4}, 2},
		"of much state":    {MoveFilter{MinState: 20}, Sorting{}, 0, 9, []uint32{2, 3, 4}, 3},
		"by state":         {MoveFilter{}, Sorting{By: "state"}, 0, 9, []uint32{1, 3, 2, 4}, 4},
		"the most first":   {MoveFilter{}, Sorting{By: "count", Descending: true}, 0, 2, []uint32{2, 3}, 4},
		"ties as they are": {MoveFilter{From: &from}, Sorting{By: "cost"}, 0, 9, []uint32{2, 1, 4}, 3},
	} {
		got, total := starts(c.filter, c.order, c.offset, c.size)
		if diff := cmp.Diff(c.want, got); diff != "" || total != c.total {
			t.Errorf("%s: %d in all, want %d; (-want +got)\n%s", name, total, c.total, diff)
		}
	}
	want := []lists.Flow{
		{From: 0, To: 1, Keys: 3, Cost: 10, State: 50}, {From: 0, To: 2, Keys: 9, Cost: 1, State: 30},
		{From: 1, To: 2, Keys: 4, Cost: 7, State: 20},
	}
	if diff := cmp.Diff(want, all.Flows()); diff != "" {
		t.Error(diff)
	}
}
