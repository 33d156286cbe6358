package planner

import (
	"math"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/knapsack"
)

// Unfilled is a live instance that a plan leaves below its least load.
type Unfilled struct {
	Instance int32 // index into Snapshot.Instances
	// Cause is what keeps it there. Empty where nothing was tried, as in [Inspect].
	Cause Shortage
	// Proven: no plan that keeps to θ_max gives it enough.
	Proven bool
}

// Shortage is why an instance stays below its least load.
type Shortage string

// The shortages.
const (
	// ShortOfKeys: no key elsewhere fits on the instance whose own instance can spare it.
	ShortOfKeys Shortage = "few_keys"
	// ShortOfTable: such keys would need entries beyond the table limit.
	ShortOfTable Shortage = "table_limit"
	// ShortOfBudget: they would exceed the migration limit, or time or work ran out.
	ShortOfBudget Shortage = "budget"
)

// filled is what an algorithm came to, with keys pulled to instances below their least
// load. Of strategies that are not to be worse than others it is the best of theirs.
func (x *prepared) filled(info Info, a *assign.Assignment) *assign.Assignment {
	if x.p.Fill.Reached(a.Load) {
		return a
	}
	var best assign.Incumbent
	offer := func(b *assign.Assignment, byCover bool) {
		short := x.fill(b, byCover)
		sc := b.Score()
		sc.Unfilled = len(short)
		if best.Keep(b, sc); best.Best == b {
			x.short = short
		}
	}
	offer(a.Clone(), false)
	if !info.proves {
		return best.Best
	}
	offer(a.Clone(), true)
	if !x.p.Settled() && !x.p.Goal.Imbalance && x.p.Items.Len() <= fewForRivals {
		for _, rival := range []func(*assign.Problem, Options) *assign.Assignment{mixed, minMig, minTable} {
			if b := rival(x.p, x.o); b != nil {
				offer(b.Clone(), true)
				offer(b, false)
			}
		}
	}
	return best.Best
}

// fewForRivals is up to how many items a plan is compared with the others' filled ones:
// beyond, that takes longer than the plan.
const fewForRivals = 100_000

// filler is the last phase of every strategy: it pulls keys of the largest γ from the most
// loaded instances to those below their least load.
type filler struct {
	*assign.Assignment
	*sources
	p       *assign.Problem
	most    []int64 // by instance: the greatest load that the phase may bring it to
	byCover bool    // the keys of least weight that are enough come first
	tally   assign.Tally
	pulled  []pull
	lacking Shortage // what most recently kept a key that would do
}

// pull is units of a piece that went to the instance at hand.
type pull struct {
	piece, from int32
	units       int64
}

// fill fills instances as far as it can, the emptiest first. It tells what keeps the others
// below their least load.
func (x *prepared) fill(a *assign.Assignment, byCover bool) map[int32]Unfilled {
	p := x.p
	f := &filler{Assignment: a, p: p, most: p.Limit, tally: a.Tally(), byCover: byCover && a.Units == nil}
	if p.Goal.Imbalance {
		f.most = f.noHigher()
	}
	if !p.Meter.Spend(int64(p.Items.Len()/assign.ItemsPerWorkUnit) + 1) {
		return f.outOfTime()
	}
	f.sources = newSources(a, criterion{rank: f.cheapestFirst(largestGamma(x.o))})
	short := map[int32]Unfilled{}
	for {
		d, share := assign.None, math.Inf(1)
		for _, e := range p.Live {
			if _, tried := short[e]; tried || a.Load[e] >= p.Fill.Least[e] {
				continue
			}
			if s := float64(a.Load[e]) / p.Fill.Wanted[e]; s < share {
				d, share = e, s
			}
		}
		if d == assign.None {
			return short
		}
		if !f.fillOne(d) {
			short[d] = Unfilled{Instance: d, Cause: f.lacking, Proven: f.cannot(d)}
		}
	}
}

// outOfTime is what keeps all instances short if there is no time to fill them.
func (f *filler) outOfTime() map[int32]Unfilled {
	short := map[int32]Unfilled{}
	for _, d := range f.p.Live {
		if f.Load[d] < f.p.Fill.Least[d] {
			short[d] = Unfilled{Instance: d, Cause: ShortOfBudget}
		}
	}
	return short
}

// noHigher are loads under which θ does not grow.
func (f *filler) noHigher() []int64 {
	greatest, most := 0.0, make([]int64, len(f.Load))
	for _, d := range f.p.Live {
		greatest = max(greatest, f.p.Rate(d, f.Load[d]))
	}
	for _, d := range f.p.Live {
		most[d] = int64(min(greatest*f.p.Instances[d].Capacity, math.MaxInt64/2))
	}
	return most
}

// cheapestFirst ranks keys that move anyway before all others: they may as well go
// elsewhere.
func (f *filler) cheapestFirst(gamma criterion) func(*assign.Problem) func(int32) uint64 {
	return func(p *assign.Problem) func(int32) uint64 {
		rank, at := gamma.rank(p), f.At
		return func(item int32) uint64 {
			if f.ItemOf == nil && at[item] != p.Items.Current[item] && p.Items.Cost[item] > 0 {
				return 0
			}
			return rank(item)
		}
	}
}

// fillOne pulls keys to d until it has enough, and reports whether it has.
func (f *filler) fillOne(d int32) bool {
	f.pulled, f.lacking = f.pulled[:0], ShortOfKeys
	for more := f.byCover; more && f.Load[d] < f.p.Fill.Least[d]; {
		before := len(f.pulled)
		f.pullCover(d)
		more = len(f.pulled) > before
	}
	givers := instancesByLoad(f.Assignment)
	for i := range f.p.Live { // the most loaded first
		givers.rate[f.p.Live[i]] *= -1
	}
	givers.tried.Heapify()
	next := make([]int, len(f.Load)) // in the order of each giver
	for len(givers.tried.E) > 0 && f.Load[d] < f.p.Fill.Least[d] {
		from := givers.tried.E[0]
		piece, units := f.next(from, d, &next[from])
		if units == 0 {
			givers.refuse()
			continue
		}
		f.pull(piece, from, d, units)
		givers.rate[from] = -f.p.Rate(from, f.Load[from])
		givers.tried.Sink(0)
	}
	f.returnSpare(d)
	return f.Load[d] >= f.p.Fill.Least[d]
}

// coverStates bounds the search for a cover, coverSplits how often it divides.
const coverStates, coverSplits = 20_000, 8

// pullCover pulls the keys of least weight that together are enough for d, those of the
// largest γ first, as far as they may go there.
func (f *filler) pullCover(d int32) {
	var items []knapsack.Item
	room := f.most[d] - f.Load[d]
	for i, from := range f.At {
		cost := f.UnitCost(int32(i))
		if from == d || cost == 0 || cost > room || f.Load[from]-cost < f.p.Fill.Floor[from] || f.p.IsHot(i) ||
			!f.p.IsOpen(f.Item(int32(i)), d) || !f.Fits(f.Item(int32(i)), d, assign.None) {
			continue
		}
		_, _, moves := f.changes(int32(i), from, d, 1)
		items = append(items, knapsack.Item{
			Cost: cost, Weight: float64(moves) * f.p.Weight(int32(i)), Tie: uint32(f.p.Items.Hashes[i] >> 32), ID: int32(i),
		})
	}
	if !f.p.Meter.Spend(int64(len(items)/assign.ItemsPerWorkUnit) + 1) {
		return
	}
	solver := knapsack.Solver{States: coverStates, Splits: coverSplits, Canonical: f.p.Items.Compare}
	taken := solver.Solve(items, f.p.Fill.Least[d]-f.Load[d]).Taken
	slices.SortFunc(taken, func(x, y knapsack.Item) int {
		return f.CompareChunks(f.RankedPiece(x.ID, f.rank(x.ID)), f.RankedPiece(y.ID, f.rank(y.ID)))
	})
	for _, y := range taken {
		if from := f.At[y.ID]; f.unitsFor(y.ID, from, d) > 0 {
			f.pull(y.ID, from, d, 1)
		}
	}
}

// next finds the first key on an instance, from a place in its order on, that may go to d,
// and how many units of it; 0: none may.
func (f *filler) next(from, d int32, place *int) (piece int32, units int64) {
	if from == d || f.Load[from] <= f.p.Fill.Floor[from] {
		return 0, 0
	}
	order := &f.source(from).psi
	for {
		for order.Sorted <= *place {
			if !order.SortMore() {
				return 0, 0
			}
		}
		piece = order.E[*place].Piece
		if f.At[piece] == from {
			if !f.p.Meter.Spend(1) {
				f.lacking = ShortOfBudget
				return 0, 0
			}
			if units = f.unitsFor(piece, from, d); units > 0 {
				return piece, units
			}
		}
		*place++
	}
}

// unitsFor is how many units of a piece may go to d, and are needed there.
func (f *filler) unitsFor(piece, from, d int32) int64 {
	cost := f.UnitCost(piece)
	if cost == 0 || !f.p.IsOpen(f.Item(piece), d) || !f.Fits(f.Item(piece), d, assign.None) {
		return 0
	}
	need := (f.p.Fill.Least[d] - f.Load[d] + cost - 1) / cost
	units := min(f.Count(piece), need, (f.Load[from]-f.p.Fill.Floor[from])/cost, (f.most[d]-f.Load[d])/cost)
	for ; units > 0; units /= 2 {
		lacking := f.exceeded(piece, from, d, units)
		if lacking == "" {
			return units
		}
		f.lacking = lacking
	}
	return 0
}

// exceeded tells which limit forbids to bring units of a piece elsewhere; "": none.
func (f *filler) exceeded(piece, from, to int32, units int64) Shortage {
	table, state, moves := f.changes(piece, from, to, units)
	switch {
	case table > 0 && f.p.TableExcess(f.tally.Table+table) > 0:
		return ShortOfTable
	case f.p.Goal.Imbalance && moves > 0 && !f.p.Affordable(f.tally.State+state, f.tally.Moves+moves):
		return ShortOfBudget
	}
	return ""
}

// changes are those of the tally if units of a piece go elsewhere.
func (f *filler) changes(piece, from, to int32, units int64) (table, state, moves int64) {
	item := f.Item(piece)
	home, current := f.p.Items.Home[item], f.p.Items.Current[item]
	if from == home {
		table = units
	} else if to == home {
		table = -units
	}
	if from == current {
		moves = units
	} else if to == current {
		moves = -units
	}
	return table, f.p.State.Fixed(f.p.Items.StateOf(int(item))) * moves, moves
}

// pull brings units of a piece to d.
func (f *filler) pull(piece, from, d int32, units int64) {
	if part := units < f.Count(piece); part {
		piece = f.Split(piece, units)
	}
	f.bring(piece, from, d, units)
	f.pulled = append(f.pulled, pull{piece, from, units})
}

// bring brings units of a piece elsewhere. Those left behind remain the piece.
func (f *filler) bring(piece, from, to int32, units int64) {
	table, state, moves := f.changes(piece, from, to, units)
	f.tally.Table, f.tally.State, f.tally.Moves = f.tally.Table+table, f.tally.State+state, f.tally.Moves+moves
	f.MoveUnits(piece, units, to)
}

// returnSpare returns keys that d has enough without, those of the least γ first.
func (f *filler) returnSpare(d int32) {
	for i := len(f.pulled) - 1; i >= 0; i-- {
		y := f.pulled[i]
		cost := f.UnitCost(y.piece)
		units := min(y.units, (f.Load[d]-f.p.Fill.Least[d])/cost, (f.most[y.from]-f.Load[y.from])/cost)
		_, _, moves := f.changes(y.piece, d, y.from, 1)
		fits := f.Fits(f.Item(y.piece), y.from, assign.None)
		if units > 0 && moves < 0 && fits && f.exceeded(y.piece, d, y.from, units) == "" {
			f.bring(y.piece, d, y.from, units)
		}
	}
}

// cannot reports whether all keys that fit on d together are not enough for it.
func (f *filler) cannot(d int32) bool {
	p, background := f.p, f.p.Background()[d]
	reach, room := background, f.most[d]-background
	if p.Goal.Imbalance {
		room = math.MaxInt64 // θ is no limit
	}
	for i := range p.Items.Len() {
		cost := p.Cost.Fixed(p.Items.Cost[i])
		if cost > room || p.IsHot(i) || !p.IsOpen(int32(i), d) {
			continue
		}
		if reach += cost * p.Items.UnitsOf(i); reach >= p.Fill.Least[d] {
			return false
		}
	}
	return true
}
