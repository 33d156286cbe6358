package planner

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
)

// With a finite price of parts, a plan may split keys that would fit whole: the objective
// is what moves and π for each part beyond the first of a key. Splitting competes with
// moving where much has to leave an instance. A part of a costly key that leaves instead
// moves nothing, since it starts empty; and a hot key on more instances is in the way of
// less on each.

// leastPart is the least weight of a part of a key that would fit whole. Without it, a key
// could go elsewhere but for one message in 65 536, and its state would not count as moved,
// though it is of no use where it is. A sixteenth is little enough to relieve an instance
// of nearly all of a key.
const leastPart = PartUnits / 16

// priced reports whether parts have a price that counts.
func (x *prepared) priced() bool {
	return x.o.Splitting != nil && x.o.Splitting.Price != nil && !x.p.Goal.Imbalance
}

// priceOf is what the parts of split keys add to the objective.
func (x *prepared) priceOf(splits []Split) float64 {
	if !x.priced() {
		return 0
	}
	merges := 0
	for _, y := range splits {
		merges += len(y.Parts) - 1
	}
	return float64(*x.o.Splitting.Price * float64(merges))
}

// leastWeight is the least weight of a part of the row's key.
func (x *prepared) leastWeight(row int32) int64 {
	if !x.priced() || x.before.Cost.Fixed(x.s.Cost[row]) > x.wholeRoom() {
		return 1
	}
	return leastPart
}

// pricedScore is the score of an assignment with all that the objective counts: the price
// of parts, and shares that are gathered.
func (x *prepared) pricedScore(v division) assign.Score {
	y := *x
	y.splits, y.p = v.splits, v.p
	state, keys := int64(0), int64(0)
	for _, m := range y.gather(v.a, nil) {
		state, keys = state+v.p.State.Fixed(y.s.StateOf(m)), keys+1
	}
	sc := v.a.Score()
	sc.Objective += v.p.Objective(state, keys) + y.priceOf(v.splits)
	return sc
}

// cheaperRounds bounds how often further parts are looked for.
const cheaperRounds = 4

// cheaper splits keys, and gives them further parts, as long as that lowers the objective
// of what an algorithm makes of it. Parts that promise most come first: all of them, half
// of them, and so on.
func (x *prepared) cheaper(info Info, a *assign.Assignment) *assign.Assignment {
	best := x.division(a)
	score, more := x.pricedScore(best), map[int32]int{}
	try := func(more map[int32]int) bool {
		v, ok := x.dividedBy(info, more)
		if !ok {
			return false
		}
		sc := x.pricedScore(v)
		if sc.Compare(score) >= 0 {
			return false
		}
		best, score = v, sc
		return true
	}
	if kept := x.partsKept(); len(kept) > 0 && try(kept) {
		more = kept
	}
	for range cheaperRounds {
		rows, found := x.relieving(best), false
		for n := len(rows); n > 0 && !found; n /= 2 {
			further := maps.Clone(more)
			for _, row := range rows[:n] {
				further[row]++
			}
			if found = try(further); found {
				more = further
			}
		}
		if !found {
			break
		}
	}
	return x.take(best)
}

// dividedBy divides keys with further parts, and runs an algorithm on the others. It
// reports whether there was time.
func (x *prepared) dividedBy(info Info, more map[int32]int) (division, bool) {
	x.p = x.before
	v := newDivider(x, x.before.Before)
	v.more = more
	if len(x.s.Splits) == 0 || !v.keepParts() {
		v = newDivider(x, x.before.Before)
		v.more = more
		v.divideHot()
	}
	x.adopt(v.splits)
	x.crowded = v.crowded
	x.other = division{}
	a, _ := x.solve(info)
	return x.division(a), a != nil
}

// partsKept are the parts beyond the first of keys that are split already and would fit
// whole.
func (x *prepared) partsKept() map[int32]int {
	kept := map[int32]int{}
	for _, y := range x.s.Splits {
		if splitOf(x.splits, y.Item) == nil {
			kept[y.Item] = len(y.Parts) - 1
		}
	}
	return kept
}

// relieving lists the rows of keys of which a further part may save more than its price:
// for each instance that more has to leave, or that is above its bound all the same, the
// costliest key that has a part there, the costliest that is whole, and the costliest that
// comes, which others have to make room for. Those whose instance is left by most come first.
func (x *prepared) relieving(v division) []int32 {
	s, leaves := x.s, make([]float64, len(x.s.Instances))
	for _, m := range v.a.Moves() {
		leaves[m.From] += float64(v.p.Weight(m.Item) * float64(m.Units))
	}
	for d, load := range v.a.Load {
		if load > v.p.Maximum[d] {
			leaves[d] = math.Inf(1)
		}
	}
	saved := map[int32]float64{}
	parted, whole, come := make([]bool, len(leaves)), make([]bool, len(leaves)), make([]bool, len(leaves))
	note := func(row, d int32, seen []bool) {
		if leaves[d] > *x.o.Splitting.Price && x.before.IsLive[d] && !seen[d] {
			seen[d] = true
			saved[row] += leaves[d]
		}
	}
	for _, row := range newDivider(x, v.a.Load).costly() {
		split := splitOf(v.splits, row)
		if split == nil {
			note(row, s.Current[row], whole)
			if to := v.a.At[row]; to != s.Current[row] {
				note(row, to, come)
			}
			continue
		}
		for _, part := range split.Parts {
			if len(split.Parts) < x.mostParts() {
				note(row, part.Instance, parted)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(saved), func(a, b int32) int {
		return cmp.Or(cmp.Compare(saved[b], saved[a]), s.Keys.Compare(a, b))
	})
}

// pricedBound is a bound on the objective of every plan, whichever keys it splits. A key
// that goes elsewhere, or in part, costs min(S(k)+o, π) at least, or S(k)+o where it has to
// leave; a part goes to the cheapest instance. Keys that do not fit on each instance
// whole may be anywhere; those that fit on none have as many parts as they need at least.
// That no plan keeps to the limits is not tried to prove.
func (f *finisher) pricedBound() float64 {
	s, price := f.s, *f.o.Splitting.Price
	items, instances := f.whole()
	entries, most, least := s.RetainedEntries(), f.wholeRoom(), int64(math.MaxInt64)
	residual := make([]int64, len(s.Instances))
	for d, y := range s.Instances {
		residual[d] = f.before.Cost.Fixed(y.ResidualCost)
	}
	for _, d := range f.before.Live {
		least = min(least, f.before.Maximum[d]-residual[d])
	}
	rooms, merges := rooms(f.before, residual), 0
	items.Cost, items.State = slices.Clone(items.Cost), make([]float64, s.Len())
	items.Current, items.Home = slices.Clone(items.Current), slices.Clone(items.Home)
	for i := range items.State {
		items.State[i] = at(s.State, i, 1) + f.o.KeyOverhead
		if s.Instances[s.Current[i]].Live() {
			items.State[i] = min(items.State[i], price)
		}
		if !s.isKey(i) {
			continue
		}
		cost := f.before.Cost.Fixed(s.Cost[i])
		if cost > most {
			entries += 2
			merges += max(piecesOf(cost, rooms), 2) - 1
		}
		if cost > least || splitOf(s.Splits, int32(i)) != nil {
			items.Unplaced += s.Cost[i]
			items.Cost[i], items.Current[i], items.Home[i] = 0, f.before.Live[0], f.before.Live[0]
		}
	}
	goal := f.o.goal()
	goal.KeyOverhead = 0
	p, _ := assign.NewProblem(items, instances, entries, goal, &assign.Meter{Stop: f.meter.Stop}).Busy()
	p.Fill = assign.Fill{}
	forced := float64(price * float64(merges))
	if p.Settled() {
		return forced
	}
	x := bound.NewProof(p, bound.Quick)
	if x.Infeasible() {
		return forced
	}
	return x.LowerBound() + forced
}
