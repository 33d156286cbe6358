package assign

import (
	"cmp"
	"math"
	"slices"
)

// Nowhere is the place of a piece that is in the candidate set C.
const Nowhere int32 = -1

// Assignment is F' while it is being made. It consists of pieces: a piece is an
// item, or some units of one, that is in one place.
type Assignment struct {
	Problem *Problem
	At      []int32   // piece → instance, or nowhere
	Load    []int64   // L̂(d)
	Loads   [][]int64 // by resource, that of cost first, where there are several; nil otherwise

	// For items with counts; nil otherwise, when piece i is item i.
	ItemOf []int32 // piece → item
	Units  []int64 // piece → number of units
}

// NewAssignment returns F, but for the hot keys, which are where the problem
// placed them.
func NewAssignment(p *Problem) *Assignment {
	a := &Assignment{Problem: p, At: slices.Clone(p.Items.Current), Load: slices.Clone(p.Before)}
	a.setLoads()
	if p.Items.Units != nil {
		a.Units = slices.Clone(p.Items.Units)
		a.ItemOf = UpTo(p.Items.Len())
	}
	for _, h := range p.Hot {
		a.MoveUnits(h.Item, h.Count, h.To)
	}
	return a
}

// Each are the loads in each resource, that of cost first.
func (a *Assignment) Each() [][]int64 {
	if a.Loads == nil {
		return [][]int64{a.Load}
	}
	return a.Loads
}

// Item is the item of a piece.
func (a *Assignment) Item(piece int32) int32 {
	if a.ItemOf == nil {
		return piece
	}
	return a.ItemOf[piece]
}

// Count is how many units a piece has.
func (a *Assignment) Count(piece int32) int64 {
	if a.Units == nil {
		return 1
	}
	return a.Units[piece]
}

// UnitCost is the fixed-point cost of one unit of the piece.
func (a *Assignment) UnitCost(piece int32) int64 {
	return a.Problem.Cost.Fixed(a.Problem.Items.Cost[a.Item(piece)])
}

// Hash is the hash instance of a piece.
func (a *Assignment) Hash(piece int32) int32 { return a.Problem.Items.Home[a.Item(piece)] }

// Split takes units off a piece and returns them as a new one in the same place.
func (a *Assignment) Split(piece int32, units int64) int32 {
	a.Units[piece] -= units
	a.ItemOf = append(a.ItemOf, a.ItemOf[piece])
	a.Units = append(a.Units, units)
	a.At = append(a.At, a.At[piece])
	return int32(len(a.At) - 1)
}

// DropLast takes the last piece back, which has no units left.
func (a *Assignment) DropLast() {
	last := len(a.At) - 1
	a.ItemOf, a.Units, a.At = a.ItemOf[:last], a.Units[:last], a.At[:last]
}

// Join gives units of a piece that is nowhere to another piece of the same item.
func (a *Assignment) Join(piece, other int32, units int64) {
	a.Units[piece] -= units
	a.Units[other] += units
	if d := a.At[other]; d != Nowhere {
		a.Load[d] += a.UnitCost(other) * units
	}
}

// Move puts a piece somewhere else, or nowhere, and keeps the loads.
func (a *Assignment) Move(piece, to int32) {
	cost := a.UnitCost(piece) * a.Count(piece)
	if from := a.At[piece]; from != Nowhere {
		a.Load[from] -= cost
	}
	if to != Nowhere {
		a.Load[to] += cost
	}
	if a.Loads != nil {
		a.shiftLoads(piece, a.At[piece], to)
	}
	a.At[piece] = to
}

// MoveUnits puts that many units of a piece somewhere else. It reports whether any
// are left behind.
func (a *Assignment) MoveUnits(piece int32, units int64, to int32) (left bool) {
	if left = units < a.Count(piece); left {
		piece = a.Split(piece, units)
	}
	a.Move(piece, to)
	return left
}

// RankedPiece pairs a piece with its rank.
func (a *Assignment) RankedPiece(piece int32, rank uint64) Ranked {
	return Ranked{Rank: rank, Tie: uint32(a.Problem.Items.Hashes[a.Item(piece)] >> 32), Piece: piece}
}

// Movable returns the pieces on instances that are not hot, grouped by where they
// are: those on d are list[start[d]:start[d+1]].
func (a *Assignment) Movable() (list []int32, start []int32) {
	start = make([]int32, len(a.Load)+1)
	hot := len(a.Problem.Hot) > 0 || a.Problem.Items.Divided != nil
	skip := func(piece int) bool {
		return a.At[piece] == Nowhere || hot && a.Problem.IsHot(int(a.Item(int32(piece))))
	}
	n := int32(0)
	for piece, d := range a.At {
		if !skip(piece) {
			start[d+1]++
			n++
		}
	}
	for d := range a.Load {
		start[d+1] += start[d]
	}
	list = make([]int32, n)
	next := slices.Clone(start)
	for piece, d := range a.At {
		if !skip(piece) {
			list[next[d]] = int32(piece)
			next[d]++
		}
	}
	return list, start
}

// places returns, for items with counts, the units of each item by instance,
// in ascending order of item and instance, merged.
func (a *Assignment) places() []share {
	order := make([]int32, 0, len(a.At))
	for piece := range a.At {
		if a.Units[piece] > 0 {
			order = append(order, int32(piece))
		}
	}
	slices.SortFunc(order, func(x, y int32) int {
		if c := cmp.Compare(a.ItemOf[x], a.ItemOf[y]); c != 0 {
			return c
		}
		return cmp.Compare(a.At[x], a.At[y])
	})
	var out []share
	for _, piece := range order {
		item, to := a.ItemOf[piece], a.At[piece]
		if last := len(out) - 1; last >= 0 && out[last].Item == item && out[last].To == to {
			out[last].Count += a.Units[piece]
			continue
		}
		out = append(out, share{item, to, a.Units[piece]})
	}
	return out
}

// Unmoved is the assignment F itself, hot keys included.
func (p *Problem) Unmoved() *Assignment {
	a := &Assignment{Problem: p, At: p.Items.Current, Load: p.Before}
	a.setLoads()
	if p.Items.Units != nil {
		a.Units, a.ItemOf = p.Items.Units, UpTo(p.Items.Len())
	}
	return a
}

// Move says that so many units of an item change their instance.
type Move struct {
	Item, From, To int32
	Units          int64
}

// Moves is Δ(F,F') in canonical key order, then by destination.
func (a *Assignment) Moves() []Move {
	s := a.Problem.Items
	add := func(moves []Move, item, to int32, units int64) []Move {
		if from := s.Current[item]; from != to {
			moves = append(moves, Move{item, from, to, units})
		}
		return moves
	}
	var moves []Move
	if s.Units == nil {
		moves = Collect(len(a.At), func(from, to int) (moves []Move) {
			for i := from; i < to; i++ {
				if a.At[i] != s.Current[i] {
					moves = add(moves, int32(i), a.At[i], 1)
				}
			}
			return moves
		})
	} else {
		for _, x := range a.places() {
			moves = add(moves, x.Item, x.To, x.Count)
		}
	}
	if len(moves) == 0 {
		return nil
	}
	// Those of an item are in ascending order of destinations already.
	return InOrder(moves, s, func(x *Move) int32 { return x.Item })
}

// Clone is a copy that can be changed.
func (a *Assignment) Clone() *Assignment {
	b := *a
	b.At, b.Load = slices.Clone(a.At), slices.Clone(a.Load)
	b.ItemOf, b.Units = slices.Clone(a.ItemOf), slices.Clone(a.Units)
	if a.Loads != nil {
		b.Loads = slices.Clone(a.Loads)
		b.Loads[0] = b.Load
		for r := range b.Loads[1:] {
			b.Loads[r+1] = slices.Clone(a.Loads[r+1])
		}
	}
	return &b
}

// LeastLoadedWith is the instance, of those open to an item, whose relative load is least with
// cost added; ties: the lower id.
func (a *Assignment) LeastLoadedWith(item int32, cost int64) int32 {
	best, least := int32(-1), math.Inf(1)
	for _, d := range a.Problem.OpenTo(item) {
		x := a.Problem.Rate(d, a.Load[d]+cost)
		if a.Loads != nil {
			x = a.FillingWith(item, d)
		}
		if x < least || best < 0 {
			best, least = d, x
		}
	}
	return best
}

// WithinLimits reports whether every live instance keeps to its bound.
func (a *Assignment) WithinLimits() bool {
	for _, d := range a.Problem.Live {
		if a.Load[d] > a.Problem.Limit[d] {
			return false
		}
	}
	for r := 1; r < len(a.Loads); r++ {
		for _, d := range a.Problem.Live {
			if a.Loads[r][d] > a.Problem.ByResource[r].Limit[d] {
				return false
			}
		}
	}
	return true
}

// CompareChunks orders ranked pieces so that the order of rows makes no
// difference.
func (a *Assignment) CompareChunks(x, y Ranked) int {
	if c := cmp.Or(cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.Tie, y.Tie)); c != 0 {
		return c
	}
	if i, j := a.Item(x.Piece), a.Item(y.Piece); i != j {
		return a.Problem.Items.Compare(i, j)
	}
	return cmp.Or(cmp.Compare(a.Count(x.Piece), a.Count(y.Piece)), cmp.Compare(a.At[x.Piece], a.At[y.Piece]))
}
