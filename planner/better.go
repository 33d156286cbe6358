package planner

import (
	"cmp"
	"slices"
)

// Better reports whether a is a better plan than b of the same snapshot and
// options: where there are several resources, fewest kinds of constraints violated
// and least largest relative excess over b_d; fewest violated constraints; least
// largest relative excess; least table excess; least objective; smallest table;
// fewest moves; least θ; canonical order of what moves. A plan that no function of
// this package made has no such score: every plan that has one is better, and of two
// without neither is.
func Better(a, b *Plan) bool {
	if !a.scored() || !b.scored() {
		return a.scored() && !b.scored()
	}
	if c := a.score.Compare(b.score); c != 0 {
		return c < 0
	}
	return compareMoves(a.Snapshot.Keys, a.Moves, b.Moves) < 0
}

// scored reports whether a strategy made the plan, and its snapshot is still there.
func (p *Plan) scored() bool { return p != nil && p.made && p.Snapshot != nil }

func compareMoves(keys *Keys, a, b []Move) int {
	return slices.CompareFunc(a, b, func(x, y Move) int {
		if x.Item != y.Item {
			return keys.Compare(x.Item, y.Item)
		}
		return cmp.Or(cmp.Compare(x.To, y.To), cmp.Compare(y.Count, x.Count)) // as if unit by unit
	})
}
