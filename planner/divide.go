package planner

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
)

// A key that no instance can carry is divided before the others are planned: no strategy
// can place it, and its parts leave the others less room. Each such key, the costliest
// first, gets as few parts as the rooms of instances allow, where its state is already if
// they do, else where the least load is in their way. The weights level the loads of its
// instances, with keys that are whole where they are: changing weights moves nothing, so
// as little as can be has to leave. (N_D−1 parts beyond the first always suffice for
// θ = 0: McNaughton's rule of wrapping around, Management Science 6, 1959.)

// divide makes items of split keys cost nothing and stay: their parts are background.
func (x *prepared) divide(items *assign.Items, splits []Split) {
	items.Cost, items.Divided = slices.Clone(items.Cost), make([]bool, items.Len())
	items.Current, items.Home = slices.Clone(items.Current), slices.Clone(items.Home)
	for _, y := range splits {
		at := x.seat(y)
		items.Cost[y.Item], items.Divided[y.Item] = 0, true
		items.Current[y.Item], items.Home[y.Item] = at, at
	}
}

// undivided is the problem of which certificates are, where keys are divided: one in which
// these may be on any instances in any parts, and count nothing there. What is proven of it
// is true of all divisions, not of one alone.
func (x *prepared) undivided(m *assign.Meter) *assign.Problem {
	items, instances := x.whole()
	x.divide(items, x.splits)
	entries, room := x.s.RetainedEntries(), x.wholeRoom()
	for _, y := range x.splits {
		items.Unplaced += x.s.Cost[y.Item]
		if x.before.Cost.Fixed(x.s.Cost[y.Item]) > room { // it has two parts at least in every division
			entries += 2
		}
	}
	p := assign.NewProblem(items, instances, entries, x.o.goal(), m)
	p.Goal.Effort = x.p.Goal.Effort
	p.Fill = assign.Fill{} // parts can fill instances, too
	return p
}

// wholeRoom is the greatest cost that some instance can carry beside the keys without a row.
func (x *prepared) wholeRoom() int64 {
	room := int64(0)
	for _, d := range x.before.Live {
		room = max(room, x.before.Maximum[d]-x.before.Cost.Fixed(x.s.Instances[d].ResidualCost))
	}
	return room
}

// seat is the instance where the item of a split key is counted: that of its heaviest part
// on a live one.
func (x *prepared) seat(y Split) int32 {
	live := slices.DeleteFunc(slices.Clone(y.Parts), func(part Part) bool { return !x.s.Instances[part.Instance].Live() })
	if len(live) == 0 {
		live = y.Parts
	}
	return heaviest(live).Instance
}

// addParts adds what the parts of a key cost to the instances.
func (x *prepared) addParts(instances []assign.Instance, y Split) {
	known := int32(0) // the costs are of parts on instances of which something is known
	for _, part := range y.Parts {
		if !x.s.Instances[part.Instance].Frozen {
			known += part.Weight
		}
	}
	seat := x.seat(y)
	for _, part := range y.Parts {
		d := &instances[part.Instance]
		if x.s.Instances[part.Instance].Frozen {
			continue
		}
		d.Cost += float64(x.s.Cost[y.Item] * (float64(part.Weight) / float64(known)))
		d.Merging += x.mergeCost()
		if part.Instance != seat {
			d.Parts++
		}
	}
}

func (x *prepared) mergeCost() float64 {
	if x.o.Splitting == nil {
		return 0
	}
	return x.o.Splitting.MergeCost
}

// mostParts is how many parts a key may have.
func (x *prepared) mostParts() int {
	if m := x.o.Splitting.MaxParts; m > 0 {
		return min(m, len(x.p.Live))
	}
	return len(x.p.Live)
}

// settled reports whether there is nothing to do in the snapshot as it is.
func (x *prepared) settled() bool {
	return x.before.Settled() && (x.o.Splitting != nil || len(x.s.Splits) == 0)
}

// split divides the keys that have to be. It reports whether nothing has to move then: as
// before, or because keys that are split get other weights.
func (x *prepared) split() (settled bool) {
	switch {
	case x.settled():
		return true
	case x.o.Splitting == nil:
		if len(x.s.Splits) > 0 {
			x.adopt(nil)
		}
		return false
	case len(x.s.Splits) == 0 && len(x.p.Hot) == 0 && !x.o.goal().Imbalance:
		return false
	}
	if len(x.s.Splits) > 0 {
		x.adopt(newDivider(x, x.p.Before).reweighed(x.s.Splits))
		if x.p.Settled() && (x.p.Goal.Imbalance || !newDivider(x, x.p.Before).excessive()) {
			return true
		}
	}
	if kept := newDivider(x, x.p.Before); len(x.s.Splits) > 0 && !x.p.Goal.Imbalance && kept.keepParts() {
		fresh := newDivider(x, x.p.Before)
		fresh.divideHot()
		x.other = division{splits: fresh.splits, crowded: fresh.crowded}
		x.adopt(kept.splits)
		return x.p.Settled()
	}
	v := newDivider(x, x.p.Before)
	v.divideHot()
	x.crowded = v.crowded
	if len(v.splits) > 0 || len(x.splits) > 0 {
		x.adopt(v.splits)
	}
	return false
}

// adopt divides keys as splits says.
func (x *prepared) adopt(splits []Split) {
	slices.SortFunc(splits, func(a, b Split) int { return cmp.Compare(a.Item, b.Item) })
	effort := x.p.Goal.Effort
	x.splits, x.p = splits, x.problem(splits)
	x.p.Goal.Effort = effort
}

// division is one way to divide keys, and what an algorithm has made of it.
type division struct {
	splits  []Split
	crowded []int32
	p       *assign.Problem
	a       *assign.Assignment
}

func (x *prepared) division(a *assign.Assignment) division {
	return division{x.splits, x.crowded, x.p, a}
}

func (v division) orBetter(w division) division {
	if w.a.Score().Compare(v.a.Score()) < 0 {
		return w
	}
	return v
}

// take makes a division that of the plan.
func (x *prepared) take(v division) *assign.Assignment {
	x.splits, x.crowded, x.p = v.splits, v.crowded, v.p
	return v.a
}

// solve runs an algorithm on the keys that are whole. Where that leaves some instance above
// its bound, keys are divided otherwise. The assignment is nil where there was no time.
func (x *prepared) solve(info Info) (*assign.Assignment, bound.Evidence) {
	if len(x.splits) == 0 {
		return x.run(x.p, info.proves, info.algorithm)
	}
	best, known := x.beside(info)
	if best.a != nil && !best.a.WithinLimits() && len(x.other.splits) > 0 {
		x.adopt(slices.Clone(x.other.splits))
		x.crowded = x.other.crowded
		if v, _ := x.beside(info); v.a != nil {
			best = best.orBetter(v)
		}
	}
	if best.a != nil && !best.a.WithinLimits() {
		x.take(best)
		if v, ok := x.pour(info); ok {
			best = best.orBetter(v)
		}
	}
	if info.proves {
		known = bound.Evidence{} // of this division alone
	}
	return x.take(best), known
}

// beside runs an algorithm on the keys beside the parts: on pools, and where that does not meet
// all limits, on instances.
func (x *prepared) beside(info Info) (division, bound.Evidence) {
	was := x.division(nil)
	a, known := x.pooled(info)
	pooled := x.division(a)
	if a != nil && a.Score().Violated == 0 {
		return pooled, known
	}
	x.take(was)
	if a, known = x.run(x.p, info.proves, info.algorithm); a == nil {
		return x.division(nil), known
	}
	best := x.division(a)
	if !a.WithinLimits() && !x.p.Goal.Imbalance {
		best = best.orBetter(x.division(x.levelled(a)))
	}
	if pooled.a != nil {
		best = best.orBetter(pooled)
	}
	return best, known
}

// levelled is the assignment under weights that level the loads that it makes.
func (x *prepared) levelled(a *assign.Assignment) *assign.Assignment {
	x.adopt(newDivider(x, a.Load).reweighed(x.splits))
	return x.counted(a)
}

// counted is the assignment with the keys divided as they are now.
func (x *prepared) counted(a *assign.Assignment) *assign.Assignment {
	b := a.Clone()
	b.Problem, b.Load = x.p, slices.Clone(x.p.Residual)
	for _, y := range x.splits {
		b.At[y.Item] = x.p.Items.Home[y.Item]
	}
	for piece, d := range b.At {
		b.Load[d] += b.UnitCost(int32(piece)) * b.Count(int32(piece))
	}
	return b
}

// divider divides keys over the instances of a problem. Loads are in its fixed point.
type divider struct {
	x     *prepared
	p     *assign.Problem
	merge int64
	// By instance: the load of keys without a row; of items that are whole; of parts.
	fixed, whole, parts []int64
	// packs: parts fill the rooms of instances one after the other, so that the rooms left
	// are few and large; else they level loads.
	packs   bool
	splits  []Split
	crowded []int32 // rows of keys that are split into as many parts as they may, which is not enough
	// more are by row parts beyond those that a key needs; see [prepared.cheaper].
	more map[int32]int
	// alone: parts are weighed as if no key were whole, and instances had any room.
	alone bool
}

// newDivider starts with the loads of an assignment of x.p. The parts of split keys are on
// no instance yet.
func newDivider(x *prepared, load []int64) *divider {
	p := x.p
	v := &divider{
		x: x, p: p, fixed: make([]int64, len(load)), whole: make([]int64, len(load)), parts: make([]int64, len(load)),
		merge: p.Cost.Fixed(min(x.mergeCost(), p.Cost.Float(p.Total))),
	}
	for d := range load {
		v.fixed[d] = p.Cost.Fixed(x.s.Instances[d].ResidualCost)
		v.whole[d] = load[d] - p.Residual[d]
	}
	x.runningOut(x.s.Splits, func(_, d int32) { v.fixed[d] += v.merge })
	return v
}

// load is that of an instance: of whole keys, too, unless parts are weighed alone.
func (v *divider) load(d int32) int64 {
	if v.alone {
		return v.fixed[d] + v.parts[d]
	}
	return v.fixed[d] + v.parts[d] + v.whole[d]
}

// room is what a part on an instance may cost. What counts as within L_max beyond it is
// left to rounding.
func (v *divider) room(d int32) int64 {
	most := v.p.Maximum[d]
	if v.p.Bound[d] < float64(most) {
		most = int64(v.p.Bound[d])
	}
	return most - v.fixed[d] - v.parts[d] - v.merge
}

// reweighed divides keys over the same instances, with weights that level the loads.
func (v *divider) reweighed(splits []Split) []Split {
	for _, y := range v.costliestFirst(splits) {
		v.splits = append(v.splits, v.place(y))
	}
	v.spread(true)
	v.spread(false)
	return v.splits
}

// costliestFirst are splits in an order that does not depend on that of rows.
func (v *divider) costliestFirst(splits []Split) []Split {
	s := v.x.s
	return slices.SortedFunc(slices.Values(splits), func(a, b Split) int {
		return cmp.Or(cmp.Compare(s.Cost[b.Item], s.Cost[a.Item]), s.Keys.Compare(a.Item, b.Item))
	})
}

func instancesOf(parts []Part) []int32 {
	at := make([]int32, len(parts))
	for i, x := range parts {
		at[i] = x.Instance
	}
	return at
}

// place adds what a split key costs to the loads; take takes it off.
func (v *divider) place(y Split) Split {
	v.add(y, 1)
	return y
}

func (v *divider) take(y Split) { v.add(y, -1) }

func (v *divider) add(y Split, sign int64) {
	for _, part := range y.Parts {
		v.parts[part.Instance] += sign * (v.costOf(y.Item, part.Weight) + v.merge)
	}
}

// costOf is what a part of the row's key of that weight costs.
func (v *divider) costOf(row, weight int32) int64 {
	hi, lo := bits.Mul64(uint64(v.p.Cost.Fixed(v.x.s.Cost[row])), uint64(weight))
	return int64(hi<<48 | lo>>16)
}

// divideHot divides keys, the costliest first, until the next fits on an instance. A key
// that has a part on a frozen instance stays as it is.
func (v *divider) divideHot() {
	s := v.x.s
	for _, y := range s.Splits {
		if v.x.frozen(y) {
			v.splits = append(v.splits, v.place(y))
		} else {
			v.whole[s.Current[y.Item]] += v.p.Cost.Fixed(s.Cost[y.Item])
		}
	}
	hot := true
	for _, row := range v.costly() {
		cost := v.p.Cost.Fixed(s.Cost[row])
		if hot = hot && cost > v.greatestRoom()+v.merge; !hot && len(v.more) == 0 {
			break
		}
		if !hot && v.more[row] == 0 {
			continue
		}
		if at := v.choose(row, cost); at != nil {
			v.whole[s.Current[row]] -= cost
			v.splits = append(v.splits, v.place(Split{row, v.weigh(row, at)}))
		}
	}
	v.spread(false)
}

// merges is how many parts there are beyond the first of each key.
func (v *divider) merges() int {
	n := 0
	for _, y := range v.splits {
		n += len(y.Parts) - 1
	}
	return n
}

// frozen reports whether nothing is known of one of the key's instances.
func (x *prepared) frozen(y Split) bool {
	return slices.ContainsFunc(y.Parts, func(part Part) bool { return x.s.Instances[part.Instance].Frozen })
}

func (v *divider) greatestRoom() int64 {
	most := int64(math.MinInt64)
	for _, d := range v.p.Live {
		most = max(most, v.room(d))
	}
	return most
}

// costly lists the rows of keys of some cost, the costliest first: all that could
// have to be divided are among them.
func (v *divider) costly() []int32 {
	s, least := v.x.s, v.p.Cost.Float(v.p.Total/int64(8*len(v.p.Live)))
	rows := assign.Collect(s.Len(), func(from, to int) (rows []int32) {
		for i := from; i < to; i++ {
			if s.Cost[i] > least && s.isKey(i) {
				rows = append(rows, int32(i))
			}
		}
		return rows
	})
	for _, y := range s.Splits { // they may stay divided
		if s.Cost[y.Item] <= least && s.Cost[y.Item] > 0 {
			rows = append(rows, y.Item)
		}
	}
	rows = slices.DeleteFunc(rows, func(row int32) bool {
		y := splitOf(s.Splits, row)
		return y != nil && v.x.frozen(*y)
	})
	slices.SortFunc(rows, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.Cost[b], s.Cost[a]), s.Keys.Compare(a, b))
	})
	return rows
}

// site is an instance as a place for a part of one key.
type site struct {
	instance int32
	units    int64   // the greatest weight that its room allows
	held     float64 // state of the key that is there
	load     float64 // what is in the way, relative to the capacity
}

// choose lists the instances over which a key is divided, ascending: as few as have room
// for it. Nil: one cannot be divided over fewer than two.
func (v *divider) choose(row int32, cost int64) []int32 {
	sites := v.sites(row, cost)
	most := v.x.mostParts()
	if most < 2 {
		return nil
	}
	slices.SortFunc(sites, site.roomier)
	n, units := 0, int64(0)
	for n < most && units < PartUnits {
		units += sites[n].units
		n++
	}
	n = max(n, 2, min(n+v.more[row], most))
	if units < PartUnits {
		v.crowded = append(v.crowded, row)
	} else {
		sites = v.preferred(sites, n)
	}
	at := make([]int32, n)
	for i := range at {
		at[i] = sites[i].instance
	}
	slices.Sort(at)
	return at
}

// sites are the live instances as places for a key.
func (v *divider) sites(row int32, cost int64) []site {
	s := v.x.s
	sites := make([]site, 0, len(v.p.Live))
	for _, d := range v.p.Live {
		x := site{instance: d, units: unitsIn(v.room(d), cost), load: v.p.Rate(d, v.fixed[d]+v.parts[d]+v.whole[d])}
		if s.Current[row] == d {
			x.held = at(s.State, int(row), 1)
			x.load = v.p.Rate(d, v.fixed[d]+v.parts[d]+v.whole[d]-cost)
		}
		if i, found := slices.BinarySearchFunc(s.Shares, Share{Row: row, Instance: d}, Share.compare); found {
			x.held += s.Shares[i].State
		}
		sites = append(sites, x)
	}
	return sites
}

// roomier orders sites by how much of a key they have room for.
func (x site) roomier(y site) int {
	return cmp.Or(cmp.Compare(y.units, x.units), cmp.Compare(x.load, y.load), cmp.Compare(x.instance, y.instance))
}

// preferred are n sites with room for the whole key: those that hold most of its state,
// then those with the least load in the way; to pack it, those with the least room. The
// sites come by descending room.
func (v *divider) preferred(sites []site, n int) []site {
	order := slices.Clone(sites)
	slices.SortFunc(order, func(x, y site) int {
		if v.packs && x.units != y.units {
			return cmp.Compare(x.units, y.units)
		}
		return cmp.Or(cmp.Compare(y.held, x.held), cmp.Compare(x.load, y.load), cmp.Compare(x.instance, y.instance))
	})
	chosen, units := make([]site, 0, n), int64(0)
	for _, x := range order {
		if len(chosen) == n {
			break
		}
		// With x there must be room enough: on those chosen, x, and the roomiest others.
		all, others := units+x.units, n-len(chosen)-1
		for _, y := range sites {
			if others > 0 && y.instance != x.instance && !slices.Contains(chosen, y) {
				all += y.units
				others--
			}
		}
		if all >= PartUnits {
			chosen, units = append(chosen, x), units+x.units
		}
	}
	return chosen
}
