package planner

import (
	"cmp"
	"slices"
)

// Better reports whether a is a better plan than b of the same snapshot and
// options: fewest violated constraints; least largest relative excess over b_d;
// least table excess; least objective; smallest table; fewest moves; least θ;
// canonical order of what moves.
func Better(a, b *Plan) bool {
	if c := a.score.Compare(b.score); c != 0 {
		return c < 0
	}
	return compareMoves(a.Snapshot.Keys, a.Moves, b.Moves) < 0
}

func compareMoves(keys *Keys, a, b []Move) int {
	return slices.CompareFunc(a, b, func(x, y Move) int {
		if x.Item != y.Item {
			return keys.Compare(x.Item, y.Item)
		}
		return cmp.Or(cmp.Compare(x.To, y.To), cmp.Compare(y.Count, x.Count)) // as if unit by unit
	})
}
