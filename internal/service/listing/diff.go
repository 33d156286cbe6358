package listing

import (
	"bytes"
	"cmp"
	"slices"

	"plannerd/internal/input/lists"
	"plannerd/planner"
)

// PlanDiff is what one plan of keys moves otherwise than another one.
type PlanDiff struct {
	// How many keys both move to the same instance, both to different ones, and only one of them moves.
	Same, Elsewhere, OnlyFirst, OnlySecond int
	// Differing are the keys but for the same, those of greatest cost first, ties by ascending key.
	Differing Listing
}

// pair is a migration of each plan, of the same key; -1: the plan does not move it.
type pair struct{ first, second int32 }

// Diff compares two plans that migrate keys. Of a key that has several migrations in a plan, as its parts
// have, the first of one plan is compared with the first of the other, and so on.
func Diff(first, second MoveIndex) (d PlanDiff) {
	a, b := first.(*moves[lists.Migration]), second.(*moves[lists.Migration])
	var differing []pair
	for i, j := 0, 0; i < a.n || j < b.n; {
		x := pair{-1, -1}
		var order int
		switch {
		case i == a.n:
			order = 1
		case j == b.n:
			order = -1
		default:
			order = bytes.Compare(a.key(a.usually(i)), b.key(b.usually(j)))
		}
		if order <= 0 {
			x.first = int32(a.usually(i))
			i++
		}
		if order >= 0 {
			x.second = int32(b.usually(j))
			j++
		}
		switch {
		case order < 0:
			d.OnlyFirst++
		case order > 0:
			d.OnlySecond++
		case a.of(int(x.first)).to == b.of(int(x.second)).to:
			d.Same++
			continue
		default:
			d.Elsewhere++
		}
		differing = append(differing, x)
	}
	at := func(i int) lists.MoveDiff {
		x := differing[i]
		row := lists.MoveDiff{From: planner.NoInstance, To: planner.NoInstance, OtherFrom: planner.NoInstance,
			OtherTo: planner.NoInstance}
		if x.second >= 0 {
			m := b.at(int(x.second))
			row.Key, row.OtherFrom, row.OtherTo, row.Cost, row.State = m.Key, m.From, m.To, m.Cost, m.State
		}
		if x.first >= 0 {
			m := a.at(int(x.first))
			row.Key, row.From, row.To, row.Cost, row.State = m.Key, m.From, m.To, m.Cost, m.State
		}
		return row
	}
	slices.SortStableFunc(differing, func(x, y pair) int { return cmp.Compare(costOf(a, b, y), costOf(a, b, x)) })
	d.Differing = Selection[lists.MoveDiff]{Count: len(differing), At: at}
	return d
}

// costOf is the cost of the key that a pair is about, by the first plan if that moves it.
func costOf(a, b *moves[lists.Migration], x pair) float64 {
	if x.first >= 0 {
		return a.of(int(x.first)).cost
	}
	return b.of(int(x.second)).cost
}
