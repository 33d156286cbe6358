package optimal

import (
	"cmp"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/search"
)

// Kept tells which limits an assignment has to keep to.
type Kept struct{ Loads, Table, Allowance bool }

// Fit is how Repair makes assignments fit: Phases II and III of a strategy, nil when
// the meter ran out, and the order ψ in which that takes keys off an instance.
type Fit struct {
	Run  func(*assign.Assignment) *assign.Assignment
	Rank func(item int32) uint64
}

// Repair returns the assignment, changed where it does not meet what it has to, or
// nil when the meter ran out before every key was on a live instance.
func Repair(a *assign.Assignment, keep Kept, fit Fit) *assign.Assignment {
	p := a.Problem
	imbalance := p.Goal.Imbalance
	if imbalance && keep.Allowance {
		takeBack(a)
	}
	unmet := keep.Table && p.TableExcess(a.Tally().Table) > 0 ||
		!imbalance && keep.Loads && !a.WithinLimits()
	if !unmet && !onClosed(a) {
		return a
	}
	if !keep.Table && p.Goal.TableLimit != nil { // it does not count
		q := *p
		q.Goal.TableLimit = nil
		b := repaired(adopt(&q, a), fit)
		if b == nil {
			return nil
		}
		return adopt(p, b)
	}
	return repaired(a, fit)
}

// repaired is the best that repairing comes to, which may be the assignment itself.
func repaired(a *assign.Assignment, fit Fit) *assign.Assignment {
	found := assign.Incumbent{Best: fit.Run(a.Clone())}
	if found.Best == nil {
		if onClosed(a) {
			return nil
		}
		return a
	}
	found.Score = found.Best.Score()
	for _, start := range []*assign.Assignment{a, found.Best} {
		if !onClosed(start) {
			b := start.Clone()
			search.Improve(a.Problem, b, repairCore(b, fit.Rank), nil, search.Effort{Evaluations: repairEffort})
			found.Offer(b)
		}
	}
	if !onClosed(a) {
		found.Offer(a)
	}
	return found.Best
}

// repairEffort is how many shifts the search for what mends a plan evaluates.
const repairEffort = 100_000

// onClosed reports whether some key is on an instance that is not live.
func onClosed(a *assign.Assignment) bool {
	if len(a.Problem.Live) == len(a.Load) {
		return false
	}
	return slices.ContainsFunc(a.At, func(d int32) bool { return !a.Problem.IsLive[d] })
}

// takeBack takes moves back until the migration limit holds, the heaviest first.
func takeBack(a *assign.Assignment) {
	p := a.Problem
	total := a.Tally()
	if p.Affordable(total.State, total.Moves) {
		return
	}
	moved := movedPieces(a, func(_, item int32) uint64 { return assign.Descending(p.Items.StateOf(int(item))) })
	order := assign.NewLazyOrder(moved, p.Items, a.ItemOf)
	for e := range order.All() {
		if p.Affordable(total.State, total.Moves) {
			return
		}
		item, units := a.Item(e.Piece), a.Count(e.Piece)
		a.Move(e.Piece, p.Items.Current[item])
		total.Moves -= units
		total.State -= p.State.Fixed(p.Items.StateOf(int(item))) * units
	}
}

// repairCore are the pieces among which the search for what mends a plan
// chooses: on every instance above its limit those of most cost per state and
// those whose cost is close to what is too much, and of what moves the heaviest.
func repairCore(a *assign.Assignment, rank func(item int32) uint64) []int32 {
	p := a.Problem
	type near struct {
		off int64 // how far the cost is from what is too much
		assign.Ranked
	}
	guests, above := []assign.Ranked{}, make([][]near, len(a.Load))
	excess, over := make([]int64, len(a.Load)), 0
	for _, d := range p.Live {
		if excess[d] = a.Load[d] - p.Limit[d]; excess[d] > 0 {
			over++
		}
	}
	for piece, d := range a.At {
		piece := int32(piece)
		item := a.Item(piece)
		if a.Count(piece) == 0 || p.IsHot(int(item)) {
			continue
		}
		if d != p.Items.Current[item] {
			guests = append(guests, a.RankedPiece(piece, assign.Descending(p.Items.StateOf(int(item)))))
		}
		if excess[d] > 0 {
			off := a.UnitCost(piece) - excess[d]
			above[d] = append(above[d], near{max(off, -off), a.RankedPiece(piece, rank(item))})
		}
	}
	in := make(map[int32]bool)
	var core []int32
	take := func(piece int32) {
		if !in[piece] {
			in[piece] = true
			core = append(core, piece)
		}
	}
	slices.SortFunc(guests, a.CompareChunks)
	for _, x := range guests[:min(len(guests), searchSize/2)] {
		take(x.Piece)
	}
	for _, list := range above {
		n := min(len(list), max(1, searchSize/4/max(1, over)))
		slices.SortFunc(list, func(x, y near) int { return a.CompareChunks(x.Ranked, y.Ranked) })
		for _, x := range list[:n] {
			take(x.Piece)
		}
		slices.SortFunc(list, func(x, y near) int {
			return cmp.Or(cmp.Compare(x.off, y.off), a.CompareChunks(x.Ranked, y.Ranked))
		})
		for _, x := range list[:n] {
			take(x.Piece)
		}
	}
	return core
}
