package optimal

import (
	"cmp"
	"slices"

	"plannerd/planner/internal/assign"
)

// finish takes an assignment that meets all limits to a local optimum, with all limits kept: no
// move can be taken back, no key that moves goes home instead to save an entry, and no key
// can go back for another one that leaves in its stead, to where the first one was, to its
// home or to where there is most room. Exchanges of two keys are among the latter. These
// are complete for keys without counts, as long as no more than mostExchanges pairs are looked
// at, and not sought where the objective is close enough to the bound.
func finish(a *assign.Assignment, enough float64) {
	looks := mostExchanges
	if a.Loads != nil {
		looks = mostExchangesOfAll
	}
	for changed := true; changed; {
		if a.Loads != nil { // room in one resource opens others bit by bit, in as many rounds as there are keys
			if looks -= int(a.Tally().Moves); looks < 0 {
				return
			}
		}
		changed = undoMoves(a)
		changed = saveEntries(a) || changed
		if !changed && a.Units == nil && a.Score().Objective > enough {
			changed = exchange(a, &looks)
		}
	}
}

// mostExchanges bounds the pairs of keys that are looked at: with 20 000 keys on 10 instances
// these are those of 5 000 keys that move.
const mostExchanges = 10_000_000

// mostExchangesOfAll is that where there are several resources, so that a look takes longer.
const mostExchangesOfAll = 2_000_000

// exchange takes moves back, the heaviest first, for lighter ones. It reports whether it did.
func exchange(a *assign.Assignment, looks *int) (exchanged bool) {
	p := a.Problem
	if !p.Meter.Spend(int64(len(a.At)/assign.ItemsPerWorkUnit) + 1) {
		return false
	}
	moved := movedPieces(a, func(_, item int32) uint64 { return assign.Descending(p.Weight(item)) })
	slices.SortFunc(moved, a.CompareChunks)
	x := exchanges{a, substitutes(a, moved), a.Tally().Table, looks}
	for _, k := range moved {
		exchanged = x.takeBack(k.Piece) || exchanged
	}
	return exchanged
}

// exchanges are made on an assignment.
type exchanges struct {
	*assign.Assignment
	on    [][]substitute // by instance
	table int64
	looks *int
}

// substitute is a key that could leave an instance in another one's stead.
type substitute struct {
	weight float64 // that this adds to the objective, or more
	assign.Ranked
}

// substitutes are keys that cost enough and weigh little enough for one of the moved ones, by
// instance, the lightest first.
func substitutes(a *assign.Assignment, moved []assign.Ranked) [][]substitute {
	p, on := a.Problem, make([][]substitute, len(a.Load))
	heaviest, least, needs := make([]float64, len(a.Load)), slices.Clone(p.Limit), a.NoNeeds()
	for _, k := range moved {
		from := p.Items.Current[k.Piece]
		heaviest[from] = max(heaviest[from], p.Weight(k.Piece))
		least[from] = min(least[from], a.Load[from]+a.UnitCost(k.Piece)-p.Limit[from])
		needs.Add(a, k.Piece, from)
	}
	for item, d := range a.At {
		i, w := int32(item), 0.0
		if d == p.Items.Current[i] {
			w = p.Weight(i)
		}
		if w < heaviest[d] && a.UnitCost(i) >= least[d] && needs.Covered(p, i, d) && !p.IsHot(item) {
			on[d] = append(on[d], substitute{w, a.RankedPiece(i, 0)})
		}
	}
	for _, list := range on {
		slices.SortFunc(list, func(x, y substitute) int {
			return cmp.Or(cmp.Compare(x.weight, y.weight), a.CompareChunks(x.Ranked, y.Ranked))
		})
	}
	return on
}

// takeBack brings a key back if a lighter one can leave in its stead.
func (x *exchanges) takeBack(k int32) bool {
	p := x.Problem
	from, at, cost := p.Items.Current[k], x.At[k], x.UnitCost(k)
	room, weight, entries := p.Limit[from]-x.Load[from]-cost, p.Weight(k), entry(p, k, from)-entry(p, k, at)
	roomiest := x.roomiest()
	for _, s := range x.on[from] {
		*x.looks--
		i := s.Piece
		if s.weight >= weight || *x.looks < 0 {
			return false
		}
		c := x.UnitCost(i)
		if x.At[i] != from || room+c < 0 || !x.Fits(k, from, i) {
			continue
		}
		for _, to := range [...]int32{p.Items.Home[i], at, roomiest} {
			freed := int64(0)
			if to == at {
				freed = cost
			}
			table := x.table + entries + entry(p, i, to) - entry(p, i, from)
			without := assign.None
			if to == at {
				without = k
			}
			fits := x.Load[to]-freed+c <= p.Limit[to] && x.Fits(i, to, without)
			if to != from && p.IsOpen(i, to) && fits && p.TableExcess(table) == 0 {
				x.Move(k, from)
				x.Move(i, to)
				x.table = table
				return true
			}
		}
	}
	return false
}

// roomiest is the live instance with most room.
func (x *exchanges) roomiest() int32 {
	p := x.Problem
	return slices.MaxFunc(p.Live, func(d, e int32) int {
		return cmp.Or(cmp.Compare(p.Limit[d]-x.Load[d], p.Limit[e]-x.Load[e]), cmp.Compare(e, d))
	})
}

// entry is how many table entries a key has on an instance.
func entry(p *assign.Problem, item, d int32) int64 {
	if d == p.Items.Home[item] {
		return 0
	}
	return 1
}

// undoMoves takes back, the heaviest first, what moves although all limits hold without
// that. It reports whether anything did.
func undoMoves(a *assign.Assignment) (undone bool) {
	p := a.Problem
	moved := movedPieces(a, func(piece, item int32) uint64 {
		return assign.Descending(p.Weight(item) * float64(a.Count(piece)))
	})
	slices.SortFunc(moved, a.CompareChunks)
	table := a.Tally().Table
	for _, x := range moved {
		item, home, units := a.Item(x.Piece), a.Hash(x.Piece), a.Count(x.Piece)
		from := p.Items.Current[item]
		after := table
		if from != home {
			after += units
		}
		if a.At[x.Piece] != home {
			after -= units
		}
		fits := a.Load[from]+a.UnitCost(x.Piece)*units <= p.Limit[from] && p.TableExcess(after) == 0 &&
			a.Fits(item, from, assign.None)
		if fits && (p.Weight(item) > 0 || after <= table) { // else an entry is worth more than the move
			table, undone = after, true
			a.Move(x.Piece, from)
		}
	}
	return undone
}

// movedPieces are those that could be back where they were.
func movedPieces(a *assign.Assignment, rank func(piece, item int32) uint64) []assign.Ranked {
	p := a.Problem
	var moved []assign.Ranked
	for piece, d := range a.At {
		piece := int32(piece)
		item := a.Item(piece)
		from := p.Items.Current[item]
		if d != from && p.IsLive[from] && !p.IsHot(int(item)) && a.Count(piece) > 0 {
			moved = append(moved, a.RankedPiece(piece, rank(piece, item)))
		}
	}
	return moved
}

// saveEntries sends pieces that move anyway to their hash instances, if there is
// room, the lightest first. It reports whether any went.
func saveEntries(a *assign.Assignment) (saved bool) {
	var guests []assign.Ranked
	for piece, d := range a.At {
		piece := int32(piece)
		h := a.Hash(piece)
		item := a.Item(piece)
		if d == h || d == a.Problem.Items.Current[item] || !a.Problem.IsLive[h] || a.Problem.IsHot(int(item)) {
			continue
		}
		guests = append(guests, a.RankedPiece(piece, uint64(a.UnitCost(piece)*a.Count(piece))))
	}
	slices.SortFunc(guests, a.CompareChunks)
	for _, x := range guests {
		if h := a.Hash(x.Piece); a.Load[h]+int64(x.Rank) <= a.Problem.Limit[h] &&
			a.Fits(a.Item(x.Piece), h, assign.None) {
			a.Move(x.Piece, h)
			saved = true
		}
	}
	return saved
}
