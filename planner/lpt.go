package planner

import (
	"math"
	"slices"

	"plannerd/planner/internal/assign"
)

// longestProcessingTime places all keys anew, whatever it moves.
func longestProcessingTime(p *assign.Problem, _ Options) *assign.Assignment {
	if p.ByResource != nil {
		return largestFirst(p)
	}
	a := assign.NewAssignment(p)
	e := make([]assign.Ranked, 0, len(a.At))
	for piece := range a.At {
		if !p.IsHot(int(a.Item(int32(piece)))) {
			a.Move(int32(piece), assign.Nowhere)
			e = append(e, byCostRank(a, int32(piece)))
		}
	}
	slices.SortFunc(e, (&assign.PieceOrder{Items: p.Items, ItemOf: a.ItemOf}).Compare)
	r := newPlacer(a)
	for _, e := range e {
		r.next()
		r.fill(e.Piece, func(int32, int64) int64 { return math.MaxInt64 })
		for done := false; !done; {
			if !p.Meter.Spend(1) {
				return nil
			}
			if !p.IsOpen(a.Item(e.Piece), r.tried.E[0]) {
				r.refuse()
				continue
			}
			done = r.place(e.Piece, r.tried.E[0], r.unitsUntilNext(r.UnitCost(e.Piece), r.Count(e.Piece)))
			r.tried.Sink(0)
		}
	}
	return a
}
