package division

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

// Priced reports whether parts have a price that counts.
func (x *Input) Priced() bool {
	return x.Splitting != nil && x.Splitting.Price != nil && !x.Goal.Imbalance
}

// Price is what the parts of split keys add to the objective.
func (d *Division) Price() float64 {
	if !d.space.Priced() {
		return 0
	}
	return float64(*d.space.Splitting.Price * float64(merges(d.Splits)))
}

// leastWeight is the least weight of a part of the row's key.
func (x *Space) leastWeight(row int32) int64 {
	if !x.Priced() || x.IsHot(row) {
		return 1
	}
	return leastPart
}

// pricedScore is the score of an assignment with all that the objective counts: the price
// of parts, and shares that are gathered.
func (v Planned) pricedScore() assign.Score {
	state, keys := int64(0), int64(0)
	for _, m := range v.Gathered(v.Assignment) {
		state, keys = state+v.Problem.State.Fixed(m.State), keys+1
	}
	sc := v.Assignment.Score()
	sc.Objective += v.Problem.Objective(state, keys) + v.Price()
	return sc
}

// cheaperRounds bounds how often further parts are looked for.
const cheaperRounds = 4

// Cheaper splits keys, and gives them further parts, as long as that lowers the objective
// of what the strategy makes of it. Parts that promise most come first: all of them, half
// of them, and so on.
func (x *Space) Cheaper(s Strategy, best Planned) Planned {
	score, more, kept := best.pricedScore(), map[int32]int{}, best.partsKept()
	try := func(more map[int32]int) bool {
		v, ok := x.dividedBy(s, more)
		if !ok {
			return false
		}
		sc := v.pricedScore()
		if sc.Compare(score) >= 0 {
			return false
		}
		best, score = v, sc
		return true
	}
	if len(kept) > 0 && try(kept) {
		more = kept
	}
	for range cheaperRounds {
		rows, found := best.relieving(), false
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
	return best
}

// dividedBy divides keys with further parts, and runs a strategy on the others. It
// reports whether there was time.
func (x *Space) dividedBy(s Strategy, more map[int32]int) (Planned, bool) {
	p := x.Committed.Problem
	v := newDivider(x, p.Unmoved())
	v.more = more
	if len(x.Splits) == 0 || !v.keepParts() {
		v = newDivider(x, p.Unmoved())
		v.more = more
		v.divideHot()
	}
	planned, _ := Start{Division: x.Divided(v.splits, v.crowded)}.Solve(s)
	return planned, planned.Assignment != nil
}

// partsKept are the parts beyond the first of keys that are split already and would fit
// whole.
func (d *Division) partsKept() map[int32]int {
	kept := map[int32]int{}
	for _, y := range d.space.Splits {
		if SplitOf(d.Splits, y.Item) == nil {
			kept[y.Item] = len(y.Parts) - 1
		}
	}
	return kept
}

// relieving lists the rows of keys of which a further part may save more than its price:
// for each instance that more has to leave, or that is above its bound all the same, the
// costliest key that has a part there, the costliest that is whole, and the costliest that
// comes, which others have to make room for. Those whose instance is left by most come first.
func (v Planned) relieving() []int32 {
	x, leaves := v.space, make([]float64, len(v.space.Instances))
	for _, m := range v.Assignment.Moves() {
		leaves[m.From] += float64(v.Problem.Weight(m.Item) * float64(m.Units))
	}
	for d, load := range v.Assignment.Load {
		if load > v.Problem.Maximum[d] {
			leaves[d] = math.Inf(1)
		}
	}
	saved := map[int32]float64{}
	parted, whole, come := make([]bool, len(leaves)), make([]bool, len(leaves)), make([]bool, len(leaves))
	note := func(row, d int32, seen []bool) {
		if leaves[d] > *x.Splitting.Price && x.Committed.Problem.IsLive[d] && !seen[d] {
			seen[d] = true
			saved[row] += leaves[d]
		}
	}
	for _, row := range x.costly(v.Problem) {
		split := SplitOf(v.Splits, row)
		if split == nil {
			note(row, x.Items.Current[row], whole)
			if to := v.Assignment.At[row]; to != x.Items.Current[row] {
				note(row, to, come)
			}
			continue
		}
		for _, part := range split.Parts {
			if len(split.Parts) < x.MostParts() {
				note(row, part.Instance, parted)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(saved), func(a, b int32) int {
		return cmp.Or(cmp.Compare(saved[b], saved[a]), x.Items.Compare(a, b))
	})
}

// PricedBound is a bound on the objective of every plan, whichever keys it splits. A key
// that goes elsewhere, or in part, costs min(S(k)+o, π) at least, or S(k)+o where it has to
// leave; a part goes to the cheapest instance. Keys that do not fit on each instance
// whole may be anywhere; those that fit on none have as many parts as they need at least.
// That no plan keeps to the limits is not tried to prove. Of several resources it is about cost alone.
func (x *Space) PricedBound() float64 {
	price := *x.Splitting.Price
	items, instances := x.whole()
	items.Resources = nil
	entries, most, least := x.Entries, x.WholeRoom(), int64(math.MaxInt64)
	residual := make([]int64, len(x.Instances))
	for d, y := range x.Instances {
		residual[d] = x.Committed.Problem.Cost.Fixed(y.Cost)
	}
	for _, d := range x.Committed.Problem.Live {
		least = min(least, x.Committed.Problem.Maximum[d]-residual[d])
	}
	rooms, merges := Rooms(x.Committed.Problem, x.Committed.Problem.Live, residual), 0
	items.Cost, items.State = slices.Clone(items.Cost), make([]float64, x.Items.Len())
	items.Current, items.Home = slices.Clone(items.Current), slices.Clone(items.Home)
	for i := range items.State {
		items.State[i] = x.stateOf(int32(i)) + x.Goal.KeyOverhead
		if x.Instances[x.Items.Current[i]].Live {
			items.State[i] = min(items.State[i], price)
		}
		if !x.isKey(i) {
			continue
		}
		cost := x.Committed.Problem.Cost.Fixed(x.Items.Cost[i])
		if cost > most {
			entries += 2
			merges += max(PiecesOf(cost, rooms), 2) - 1
		}
		if cost > least || SplitOf(x.Splits, int32(i)) != nil {
			items.Unplaced += x.Items.Cost[i]
			items.Cost[i], items.Current[i], items.Home[i] = 0, x.Committed.Problem.Live[0], x.Committed.Problem.Live[0]
		}
	}
	goal := x.Goal
	goal.KeyOverhead = 0
	p, _ := assign.NewProblem(items, instances, entries, goal, &assign.Meter{Stop: x.Meter.Stop}).Busy()
	p.Fill = assign.Fill{}
	forced := float64(price * float64(merges))
	if p.Settled() {
		return forced
	}
	proof := bound.NewProof(p, bound.Quick)
	if proof.Infeasible() {
		return forced
	}
	return proof.LowerBound() + forced
}
