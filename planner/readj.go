package planner

import (
	"cmp"
	"slices"

	"plannerd/planner/internal/assign"
)

// sigmaRungs is the number of values σ = 1, ½, ¼, … that "auto" tries.
const sigmaRungs = 11

// readj is the baseline of mixed-routing §V after Gedik ("Partitioning functions
// for stateful data parallelism in stream processing", 2014): entries go back
// where that keeps the balance, then single keys are moved or swapped.
func readj(p *assign.Problem, o Options) *assign.Assignment {
	start := assign.NewAssignment(p)
	if !evacuate(start) || !returnEntries(start) {
		return nil
	}
	if o.Sigma != nil {
		a, _ := readjust(start, *o.Sigma)
		return a
	}
	var b assign.Incumbent
	rung, tracked := 1.0, -1
	for range sigmaRungs {
		a := start.Clone()
		a, n := readjust(a, rung)
		rung /= 2
		if n == tracked { // the same keys as the last rung, so the same plan
			continue
		}
		tracked = n
		b.Offer(a)
		if p.Meter.End != assign.Running {
			break
		}
	}
	return b.Best
}

// evacuate empties instances that are not live, the costliest keys first: each goes
// to its hash instance if it fits there, else where the relative load ends least. It
// reports false when the meter ran out.
func evacuate(a *assign.Assignment) bool {
	order := ordered(a, func(piece int32) bool { return !a.Problem.IsLive[a.At[piece]] })
	for e := range order.All() {
		piece, cost := e.Piece, a.UnitCost(e.Piece)
		divisible := true
		for left := true; left; {
			if !a.Problem.Meter.Spend(1) {
				return false
			}
			h, units := a.Hash(piece), int64(1)
			to := h
			room := a.Problem.Limit[h] - a.Load[h]
			if cost > room || !a.Problem.IsLive[h] || !a.Fits(a.Item(piece), h, assign.None) {
				if divisible {
					divisible = false
					a.FillBins(a.Problem.Live, piece, assign.Unlimited, 1, func(d int32, units int64) { a.MoveUnits(piece, units, d) })
				}
				to = a.LeastLoadedWith(a.Item(piece), cost)
			} else if cost > 0 {
				units = min(a.Count(piece), room/cost)
			}
			if cost == 0 {
				units = a.Count(piece)
			}
			left = a.MoveUnits(piece, units, to)
		}
	}
	return true
}

// returnEntries moves the keys off their hash instance back to it where that is
// live and they fit, the costliest first. It reports false when the meter ran out.
func returnEntries(a *assign.Assignment) bool {
	order := ordered(a, func(piece int32) bool { return a.At[piece] != a.Hash(piece) && a.Problem.IsLive[a.Hash(piece)] })
	for e := range order.All() {
		if !a.Problem.Meter.Spend(1) {
			return false
		}
		piece, h := e.Piece, a.Hash(e.Piece)
		units, room := a.Count(piece), a.Problem.Limit[h]-a.Load[h]
		if cost := a.UnitCost(piece); cost > 0 {
			units = min(units, room/cost)
		}
		if room >= 0 && units > 0 && a.Fits(a.Item(piece), h, assign.None) {
			a.MoveUnits(piece, units, h)
		}
	}
	return true
}

// ordered returns the pieces that are not hot and satisfy keep, by descending
// cost.
func ordered(a *assign.Assignment, keep func(piece int32) bool) *assign.LazyOrder {
	var e []assign.Ranked
	for piece := range a.At {
		if keep(int32(piece)) && !a.Problem.IsHot(int(a.Item(int32(piece)))) {
			e = append(e, byCostRank(a, int32(piece)))
		}
	}
	order := assign.NewLazyOrder(e, a.Problem.Items, a.ItemOf)
	return &order
}

// change is a move of a unit of piece from one instance to another, or a swap
// with a unit of other.
type change struct {
	from, to     int32
	piece, other int32 // other is −1 for a move
	delta        int64 // load that goes from from to to
}

// readjuster looks for changes among the keys of some minimum cost.
type readjuster struct {
	*assign.Assignment
	tracked [][]assign.Ranked // by instance: its tracked pieces by descending cost
}

// readjust makes the change that most lowers the descending vector of relative
// loads, until all loads are within their limits or no change lowers it, among
// the keys with cost ≥ sigma·L̄. It returns how many pieces those are.
func readjust(a *assign.Assignment, sigma float64) (*assign.Assignment, int) {
	r := &readjuster{Assignment: a, tracked: make([][]assign.Ranked, len(a.Load))}
	n := 0
	least := sigma * float64(a.Problem.Total) / float64(len(a.Problem.Live))
	order := ordered(a, func(piece int32) bool {
		if size := a.Problem.Size; size != nil {
			return size[piece] > 0 && size[piece] >= sigma/float64(len(a.Problem.Live))
		}
		c := a.UnitCost(piece)
		return c > 0 && float64(c) >= least
	})
	for e := range order.All() {
		r.tracked[a.At[e.Piece]] = append(r.tracked[a.At[e.Piece]], e)
		n++
	}
	for !r.WithinLimits() {
		c, ok := r.best()
		if !ok {
			break
		}
		r.apply(c)
	}
	return a, n
}

// best returns the best change. The vector is lowered most by a change that
// takes load off the first instance of which that is possible, so instances are
// looked at in descending relative load, those of equal load together. With
// unequal capacities a change can lift the other one to just the same load; then
// the next instances compete with it.
func (r *readjuster) best() (change, bool) {
	order := slices.Clone(r.Problem.Live)
	slices.SortStableFunc(order, func(x, y int32) int {
		return cmp.Compare(r.level(y), r.level(x))
	})
	var best change
	found := false
	for i, from := range order {
		if found && r.level(from) < r.level(order[i-1]) && r.lowers(best) {
			break
		}
		if len(r.tracked[from]) == 0 {
			continue
		}
		for _, to := range order[i+1:] {
			if !r.Problem.Meter.Spend(1) {
				return change{}, false
			}
			if r.level(to) == r.level(from) {
				continue
			}
			ok := r.changes(from, to, func(c change) {
				if r.improves(c) && (!found || r.better(c, best)) {
					best, found = c, true
				}
			})
			if !ok {
				return change{}, false
			}
		}
	}
	return best, found
}

// changes yields, for every tracked key of from, the changes with to that can be
// best: those that bring both nearest to equal relative load from either side.
// It reports false when the meter ran out.
func (r *readjuster) changes(from, to int32, yield func(change)) bool {
	if r.Loads != nil {
		return r.changesOfAll(from, to, yield)
	}
	kf, kt := r.Problem.Instances[from].Capacity, r.Problem.Instances[to].Capacity
	even := int64((float64(float64(r.Load[from])*kt) - float64(float64(r.Load[to])*kf)) / (kf + kt))
	mine, theirs := r.tracked[from], r.tracked[to]
	for i, e := range mine {
		if i > 0 && mine[i-1].Rank == e.Rank && r.Problem.Items.Rules == nil {
			continue // keys of equal cost: the canonically first
		}
		if !r.Problem.Meter.Spend(1) {
			return false
		}
		cost := r.UnitCost(e.Piece)
		if !r.Problem.IsOpen(r.Item(e.Piece), to) {
			continue
		}
		yield(change{from, to, e.Piece, -1, cost})
		// Around cost − even, two distinct costs either side: the division above rounds.
		at, _ := slices.BinarySearchFunc(theirs, cost-even, func(x assign.Ranked, want int64) int {
			return cmp.Compare(want, r.UnitCost(x.Piece))
		})
		lo, hi := at, at
		for n := 0; n < 2 && lo > 0; {
			end := lo
			lo = r.firstOfCost(theirs, lo-1)
			n += r.swap(change{from, to, e.Piece, -1, cost}, theirs[lo:end], yield)
		}
		for n := 0; n < 2 && hi < len(theirs); {
			begin := r.firstOfCost(theirs, hi)
			hi = r.endOfCost(theirs, begin)
			n += r.swap(change{from, to, e.Piece, -1, cost}, theirs[begin:hi], yield)
		}
	}
	return true
}

// swap yields the change of a move to one for the first of some pieces of equal cost that may come
// instead. It returns 1, or 0 if none may.
func (r *readjuster) swap(c change, alike []assign.Ranked, yield func(change)) int {
	for _, e := range alike {
		if r.Problem.IsOpen(r.Item(e.Piece), c.from) {
			c.other = e.Piece
			if c.delta -= r.UnitCost(e.Piece); c.delta > 0 {
				yield(c)
			}
			return 1
		}
	}
	return 0
}

// level is the relative load of an instance: of several resources that of the fullest.
func (r *readjuster) level(d int32) float64 {
	if r.Loads == nil {
		return r.Problem.Rate(d, r.Load[d])
	}
	return r.Filling(d)
}

// swapsTried is how many keys of the other instance are tried for a key, of several resources.
const swapsTried = 32

// changesOfAll is changes where there are several resources: a key goes, or is swapped with one of those of
// the next smaller sizes.
func (r *readjuster) changesOfAll(from, to int32, yield func(change)) bool {
	theirs := r.tracked[to]
	for _, e := range r.tracked[from] {
		if !r.Problem.Meter.Spend(1) {
			return false
		}
		if !r.Problem.IsOpen(e.Piece, to) {
			continue
		}
		yield(change{from, to, e.Piece, -1, 0})
		at := r.firstBehind(theirs, e.Rank)
		for _, other := range theirs[at:min(len(theirs), at+swapsTried)] {
			if r.Problem.IsOpen(other.Piece, from) {
				yield(change{from, to, e.Piece, other.Piece, 0})
			}
		}
	}
	return true
}

// firstOfCost is the first index of the run of equal costs that holds index i.
func (r *readjuster) firstOfCost(list []assign.Ranked, i int) int {
	return r.firstBehind(list, list[i].Rank)
}

// firstBehind is the first index of a rank, or one that comes later.
func (r *readjuster) firstBehind(list []assign.Ranked, rank uint64) int {
	at, _ := slices.BinarySearchFunc(list, rank,
		func(x assign.Ranked, want uint64) int { return cmp.Compare(x.Rank, want) })
	return at
}

// endOfCost is the index behind the run of equal costs that holds index i.
func (r *readjuster) endOfCost(list []assign.Ranked, i int) int {
	if list[i].Rank == ^uint64(0) {
		return len(list)
	}
	return r.firstBehind(list, list[i].Rank+1)
}

// after returns the relative loads of a change's two instances after it.
func (r *readjuster) after(c change) (from, to float64) {
	if r.Loads != nil {
		for i, q := range r.Problem.ByResource {
			amount := q.AmountOf(c.piece)
			if c.other >= 0 {
				amount -= q.AmountOf(c.other)
			}
			from = max(from, q.Filling(c.from, r.Loads[i][c.from]-amount))
			to = max(to, q.Filling(c.to, r.Loads[i][c.to]+amount))
		}
		return from, to
	}
	return r.Problem.Rate(c.from, r.Load[c.from]-c.delta), r.Problem.Rate(c.to, r.Load[c.to]+c.delta)
}

// lowers reports whether both instances of c end below the load that its from
// has now.
func (r *readjuster) lowers(c change) bool {
	a, b := r.after(c)
	return max(a, b) < r.level(c.from)
}

// improves reports whether c lowers the descending vector of relative loads.
func (r *readjuster) improves(c change) bool {
	a, b := r.after(c)
	from, to := r.level(c.from), r.level(c.to)
	return compareVectors([]float64{a, b}, []float64{from, to}) < 0
}

// better reports whether c lowers the vector more than d. Ties: a move before a
// swap, then canonical order of the keys, then the lower destination.
func (r *readjuster) better(c, d change) bool {
	if o := compareVectors(r.vector(c, d), r.vector(d, c)); o != 0 {
		return o < 0
	}
	if (c.other < 0) != (d.other < 0) {
		return c.other < 0
	}
	s := r.Problem.Items
	if o := s.Compare(r.Item(c.piece), r.Item(d.piece)); o != 0 {
		return o < 0
	}
	if c.other >= 0 {
		if o := s.Compare(r.Item(c.other), r.Item(d.other)); o != 0 {
			return o < 0
		}
	}
	return c.to < d.to
}

// vector is the relative loads after c of the instances that c or other change.
func (r *readjuster) vector(c, other change) []float64 {
	from, to := r.after(c)
	v := append(make([]float64, 0, 4), from, to)
	for _, d := range [2]int32{other.from, other.to} {
		if d != c.from && d != c.to {
			v = append(v, r.level(d))
		}
	}
	return v
}

// compareVectors compares two multisets, sorted descending, lexicographically.
func compareVectors(a, b []float64) int {
	descend := func(x, y float64) int { return cmp.Compare(y, x) }
	slices.SortFunc(a, descend)
	slices.SortFunc(b, descend)
	return slices.Compare(a, b)
}

func (r *readjuster) apply(c change) {
	r.transfer(c.piece, c.from, c.to)
	if c.other >= 0 {
		r.transfer(c.other, c.to, c.from)
	}
}

// transfer moves one unit of a tracked piece.
func (r *readjuster) transfer(piece, from, to int32) {
	list := r.tracked[from]
	i := slices.IndexFunc(list, func(e assign.Ranked) bool { return e.Piece == piece })
	e := list[i]
	if r.Count(piece) > 1 {
		e.Piece = r.Split(piece, 1)
	} else {
		r.tracked[from] = slices.Delete(list, i, i+1)
	}
	r.Move(e.Piece, to)
	order := assign.PieceOrder{Items: r.Problem.Items, ItemOf: r.ItemOf}
	at, _ := slices.BinarySearchFunc(r.tracked[to], e, order.Compare)
	r.tracked[to] = slices.Insert(r.tracked[to], at, e)
}
