package planner

import (
	"cmp"
	"slices"
)

// nowhere is the place of a piece that is in the candidate set C.
const nowhere int32 = -1

// assignment is F' while it is being made. It consists of pieces: a piece is an
// item, or some units of one, that is in one place.
type assignment struct {
	p    *problem
	at   []int32 // piece → instance, or nowhere
	load []int64 // L̂(d)

	// For items with counts; nil otherwise, when piece i is item i.
	items []int32 // piece → item
	units []int64 // piece → number of units
}

// newAssignment returns F, but for the hot keys, which are where the problem
// placed them.
func newAssignment(p *problem) *assignment {
	a := &assignment{p: p, at: slices.Clone(p.s.Current), load: slices.Clone(p.before)}
	if p.s.Count != nil {
		a.units = slices.Clone(p.s.Count)
		a.items = upTo(p.s.Len())
	}
	for _, h := range p.hot {
		a.moveUnits(h.item, h.count, h.to)
	}
	return a
}

func (a *assignment) item(piece int32) int32 {
	if a.items == nil {
		return piece
	}
	return a.items[piece]
}

func (a *assignment) count(piece int32) int64 {
	if a.units == nil {
		return 1
	}
	return a.units[piece]
}

// unitCost is the fixed-point cost of one unit of the piece.
func (a *assignment) unitCost(piece int32) int64 {
	return a.p.cost.Fixed(a.p.s.Cost[a.item(piece)])
}

func (a *assignment) hash(piece int32) int32 { return a.p.s.Hash[a.item(piece)] }

// split takes units off a piece and returns them as a new one in the same place.
func (a *assignment) split(piece int32, units int64) int32 {
	a.units[piece] -= units
	a.items = append(a.items, a.items[piece])
	a.units = append(a.units, units)
	a.at = append(a.at, a.at[piece])
	return int32(len(a.at) - 1)
}

// dropLast takes the last piece back, which has no units left.
func (a *assignment) dropLast() {
	last := len(a.at) - 1
	a.items, a.units, a.at = a.items[:last], a.units[:last], a.at[:last]
}

// join gives units of a piece that is nowhere to another piece of the same item.
func (a *assignment) join(piece, other int32, units int64) {
	a.units[piece] -= units
	a.units[other] += units
	if d := a.at[other]; d != nowhere {
		a.load[d] += a.unitCost(other) * units
	}
}

// move puts a piece somewhere else, or nowhere, and keeps the loads.
func (a *assignment) move(piece, to int32) {
	cost := a.unitCost(piece) * a.count(piece)
	if from := a.at[piece]; from != nowhere {
		a.load[from] -= cost
	}
	if to != nowhere {
		a.load[to] += cost
	}
	a.at[piece] = to
}

// moveUnits puts that many units of a piece somewhere else. It reports whether any
// are left behind.
func (a *assignment) moveUnits(piece int32, units int64, to int32) (left bool) {
	if left = units < a.count(piece); left {
		piece = a.split(piece, units)
	}
	a.move(piece, to)
	return left
}

// rankedPiece pairs a piece with its rank.
func (a *assignment) rankedPiece(piece int32, rank uint64) ranked {
	return ranked{rank: rank, tie: uint32(a.p.s.Keys.hashes[a.item(piece)] >> 32), piece: piece}
}

// movable returns the pieces that are not hot, grouped by the instance where
// they are: those on d are list[start[d]:start[d+1]].
func (a *assignment) movable() (list []int32, start []int32) {
	start = make([]int32, len(a.load)+1)
	hot := len(a.p.hot) > 0
	skip := func(piece int) bool { return hot && a.p.isHot(int(a.item(int32(piece)))) }
	n := int32(0)
	for piece, d := range a.at {
		if !skip(piece) {
			start[d+1]++
			n++
		}
	}
	for d := range a.load {
		start[d+1] += start[d]
	}
	list = make([]int32, n)
	next := slices.Clone(start)
	for piece, d := range a.at {
		if !skip(piece) {
			list[next[d]] = int32(piece)
			next[d]++
		}
	}
	return list, start
}

// places returns, for items with counts, the units of each item by instance,
// in ascending order of item and instance, merged.
func (a *assignment) places() []share {
	order := make([]int32, 0, len(a.at))
	for piece := range a.at {
		if a.units[piece] > 0 {
			order = append(order, int32(piece))
		}
	}
	slices.SortFunc(order, func(x, y int32) int {
		if c := cmp.Compare(a.items[x], a.items[y]); c != 0 {
			return c
		}
		return cmp.Compare(a.at[x], a.at[y])
	})
	var out []share
	for _, piece := range order {
		item, to := a.items[piece], a.at[piece]
		if last := len(out) - 1; last >= 0 && out[last].item == item && out[last].to == to {
			out[last].count += a.units[piece]
			continue
		}
		out = append(out, share{item, to, a.units[piece]})
	}
	return out
}
