package planner

import (
	"cmp"
	"math"
	"slices"
)

// sigmaRungs is the number of values σ = 1, ½, ¼, … that "auto" tries.
const sigmaRungs = 11

// readj is the baseline of mixed-routing §V after Gedik ("Partitioning functions
// for stateful data parallelism in stream processing", 2014): entries go back
// where that keeps the balance, then single keys are moved or swapped.
func readj(p *problem) *assignment {
	start := newAssignment(p)
	if !start.evacuate() || !start.returnEntries() {
		return nil
	}
	if p.o.Sigma != nil {
		a, _ := start.readjust(*p.o.Sigma)
		return a
	}
	var b incumbent
	sigma, tracked := 1.0, -1
	for range sigmaRungs {
		a := start.clone()
		a, n := a.readjust(sigma)
		sigma /= 2
		if n == tracked { // the same keys as the last rung, so the same plan
			continue
		}
		tracked = n
		b.offer(a)
		if p.meter.reason != "" {
			break
		}
	}
	return b.best
}

func (a *assignment) clone() *assignment {
	b := *a
	b.at, b.load = slices.Clone(a.at), slices.Clone(a.load)
	b.items, b.units = slices.Clone(a.items), slices.Clone(a.units)
	return &b
}

// evacuate empties instances that are not live, the costliest keys first: each goes
// to its hash instance if it fits there, else where the relative load ends least. It
// reports false when the meter ran out.
func (a *assignment) evacuate() bool {
	order := a.ordered(func(piece int32) bool { return !a.p.isLive[a.at[piece]] })
	for e := range order.all() {
		piece, cost := e.piece, a.unitCost(e.piece)
		pourable := true
		for left := true; left; {
			if !a.p.meter.spend(1) {
				return false
			}
			h, units := a.hash(piece), int64(1)
			to := h
			if room := a.p.limit[h] - a.load[h]; cost > room || !a.p.isLive[h] {
				if pourable {
					pourable = false
					a.pourInto(a.p.live, piece, unlimited, 1, func(d int32, units int64) { a.moveUnits(piece, units, d) })
				}
				to = a.leastLoadedWith(cost)
			} else if cost > 0 {
				units = min(a.count(piece), room/cost)
			}
			if cost == 0 {
				units = a.count(piece)
			}
			left = a.moveUnits(piece, units, to)
		}
	}
	return true
}

// leastLoadedWith is the live instance whose relative load is least with cost
// added; ties: the lower id.
func (a *assignment) leastLoadedWith(cost int64) int32 {
	best, least := int32(-1), math.Inf(1)
	for _, d := range a.p.live {
		if x := a.p.rate(d, a.load[d]+cost); x < least {
			best, least = d, x
		}
	}
	return best
}

// returnEntries moves the keys off their hash instance back to it where that is
// live and they fit, the costliest first. It reports false when the meter ran out.
func (a *assignment) returnEntries() bool {
	order := a.ordered(func(piece int32) bool { return a.at[piece] != a.hash(piece) && a.p.isLive[a.hash(piece)] })
	for e := range order.all() {
		if !a.p.meter.spend(1) {
			return false
		}
		piece, h := e.piece, a.hash(e.piece)
		units, room := a.count(piece), a.p.limit[h]-a.load[h]
		if cost := a.unitCost(piece); cost > 0 {
			units = min(units, room/cost)
		}
		if room >= 0 && units > 0 {
			a.moveUnits(piece, units, h)
		}
	}
	return true
}

// ordered returns the pieces that are not hot and satisfy keep, by descending
// cost.
func (a *assignment) ordered(keep func(piece int32) bool) *lazyOrder {
	var e []ranked
	for piece := range a.at {
		if keep(int32(piece)) && !a.p.isHot(int(a.item(int32(piece)))) {
			e = append(e, a.byCostRank(int32(piece)))
		}
	}
	order := newLazyOrder(e, a.p.s.Keys, a.items)
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
	*assignment
	tracked [][]ranked // by instance: its tracked pieces by descending cost
}

// readjust makes the change that most lowers the descending vector of relative
// loads, until all loads are within their limits or no change lowers it, among
// the keys with cost ≥ sigma·L̄. It returns how many pieces those are.
func (a *assignment) readjust(sigma float64) (*assignment, int) {
	r := &readjuster{assignment: a, tracked: make([][]ranked, len(a.load))}
	n := 0
	least := sigma * float64(a.p.total) / float64(len(a.p.live))
	order := a.ordered(func(piece int32) bool {
		c := a.unitCost(piece)
		return c > 0 && float64(c) >= least
	})
	for e := range order.all() {
		r.tracked[a.at[e.piece]] = append(r.tracked[a.at[e.piece]], e)
		n++
	}
	for !r.withinLimits() {
		c, ok := r.best()
		if !ok {
			break
		}
		r.apply(c)
	}
	return a, n
}

func (a *assignment) withinLimits() bool {
	for _, d := range a.p.live {
		if a.load[d] > a.p.limit[d] {
			return false
		}
	}
	return true
}

// best returns the best change. The vector is lowered most by a change that
// takes load off the first instance of which that is possible, so instances are
// looked at in descending relative load, those of equal load together. With
// unequal capacities a change can lift the other one to just the same load; then
// the next instances compete with it.
func (r *readjuster) best() (change, bool) {
	order := slices.Clone(r.p.live)
	slices.SortStableFunc(order, func(x, y int32) int {
		return cmp.Compare(r.p.rate(y, r.load[y]), r.p.rate(x, r.load[x]))
	})
	var best change
	found := false
	for i, from := range order {
		if found && r.p.rate(from, r.load[from]) < r.p.rate(order[i-1], r.load[order[i-1]]) && r.lowers(best) {
			break
		}
		if len(r.tracked[from]) == 0 {
			continue
		}
		for _, to := range order[i+1:] {
			if !r.p.meter.spend(1) {
				return change{}, false
			}
			if r.p.rate(to, r.load[to]) == r.p.rate(from, r.load[from]) {
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
	kf, kt := r.p.s.Instances[from].Capacity, r.p.s.Instances[to].Capacity
	even := int64((float64(float64(r.load[from])*kt) - float64(float64(r.load[to])*kf)) / (kf + kt))
	mine, theirs := r.tracked[from], r.tracked[to]
	for i, e := range mine {
		if i > 0 && mine[i-1].rank == e.rank {
			continue // keys of equal cost: the canonically first
		}
		if !r.p.meter.spend(1) {
			return false
		}
		cost := r.unitCost(e.piece)
		yield(change{from, to, e.piece, -1, cost})
		// Around cost − even, two distinct costs either side: the division above rounds.
		at, _ := slices.BinarySearchFunc(theirs, cost-even, func(x ranked, want int64) int {
			return cmp.Compare(want, r.unitCost(x.piece))
		})
		lo, hi := at, at
		for range 2 {
			if lo > 0 {
				lo = r.firstOfCost(theirs, lo-1)
				r.swap(from, to, e.piece, theirs[lo].piece, cost, yield)
			}
			if hi < len(theirs) {
				hi = r.firstOfCost(theirs, hi)
				r.swap(from, to, e.piece, theirs[hi].piece, cost, yield)
				hi = r.endOfCost(theirs, hi)
			}
		}
	}
	return true
}

func (r *readjuster) swap(from, to, piece, other int32, cost int64, yield func(change)) {
	if delta := cost - r.unitCost(other); delta > 0 {
		yield(change{from, to, piece, other, delta})
	}
}

// firstOfCost is the first index of the run of equal costs that holds index i.
func (r *readjuster) firstOfCost(list []ranked, i int) int {
	at, _ := slices.BinarySearchFunc(list, list[i].rank,
		func(x ranked, want uint64) int { return cmp.Compare(x.rank, want) })
	return at
}

// endOfCost is the index behind the run of equal costs that holds index i.
func (r *readjuster) endOfCost(list []ranked, i int) int {
	if list[i].rank == ^uint64(0) {
		return len(list)
	}
	at, _ := slices.BinarySearchFunc(list, list[i].rank+1,
		func(x ranked, want uint64) int { return cmp.Compare(x.rank, want) })
	return at
}

// after returns the relative loads of a change's two instances after it.
func (r *readjuster) after(c change) (from, to float64) {
	return r.p.rate(c.from, r.load[c.from]-c.delta), r.p.rate(c.to, r.load[c.to]+c.delta)
}

// lowers reports whether both instances of c end below the load that its from
// has now.
func (r *readjuster) lowers(c change) bool {
	a, b := r.after(c)
	return max(a, b) < r.p.rate(c.from, r.load[c.from])
}

// improves reports whether c lowers the descending vector of relative loads.
func (r *readjuster) improves(c change) bool {
	a, b := r.after(c)
	return compareVectors([]float64{a, b}, []float64{r.p.rate(c.from, r.load[c.from]), r.p.rate(c.to, r.load[c.to])}) < 0
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
	keys := r.p.s.Keys
	if o := keys.Compare(r.item(c.piece), r.item(d.piece)); o != 0 {
		return o < 0
	}
	if c.other >= 0 {
		if o := keys.Compare(r.item(c.other), r.item(d.other)); o != 0 {
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
			v = append(v, r.p.rate(d, r.load[d]))
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
	i := slices.IndexFunc(list, func(e ranked) bool { return e.piece == piece })
	e := list[i]
	if r.count(piece) > 1 {
		e.piece = r.split(piece, 1)
	} else {
		r.tracked[from] = slices.Delete(list, i, i+1)
	}
	r.move(e.piece, to)
	order := pieceOrder{r.p.s.Keys, r.items}
	at, _ := slices.BinarySearchFunc(r.tracked[to], e, order.compare)
	r.tracked[to] = slices.Insert(r.tracked[to], at, e)
}
