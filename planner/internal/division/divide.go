package division

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"plannerd/planner/internal/assign"
)

// divider divides keys over the instances of a problem. Loads are in its fixed point.
type divider struct {
	x     *Space
	p     *assign.Problem
	merge int64
	// By instance: the load of keys without a row; of items that are whole; of parts.
	fixed, whole, parts []int64
	// packs: parts fill the rooms of instances one after the other, so that the rooms left
	// are few and large; else they level loads.
	packs   bool
	splits  []Split
	crowded []int32 // rows of keys that are split into as many parts as they may, which is not enough
	// more are by row parts beyond those that a key needs; see [Space.Cheaper].
	more map[int32]int
	// alone: parts are weighed as if no key were whole, and instances had any room.
	alone bool
}

// newDivider starts with the loads of an assignment of p. The parts of split keys are on
// no instance yet.
func newDivider(x *Space, p *assign.Problem, load []int64) *divider {
	v := &divider{
		x: x, p: p, fixed: make([]int64, len(load)), whole: make([]int64, len(load)), parts: make([]int64, len(load)),
		merge: p.Cost.Fixed(min(x.MergeCost(), p.Cost.Float(p.Total))),
	}
	for d := range load {
		v.fixed[d] = p.Cost.Fixed(x.Instances[d].Cost)
		v.whole[d] = load[d] - p.Residual[d]
	}
	x.runningOut(x.Splits, func(_, d int32) { v.fixed[d] += v.merge })
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
	s := v.x
	return slices.SortedFunc(slices.Values(splits), func(a, b Split) int {
		return cmp.Or(cmp.Compare(s.Items.Cost[b.Item], s.Items.Cost[a.Item]), s.Items.Compare(a.Item, b.Item))
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
	hi, lo := bits.Mul64(uint64(v.p.Cost.Fixed(v.x.Items.Cost[row])), uint64(weight))
	return int64(hi<<48 | lo>>16)
}

// divideHot divides keys, the costliest first, until the next fits on an instance. A key
// that has a part on a frozen instance stays as it is.
func (v *divider) divideHot() {
	s := v.x
	for _, y := range s.Splits {
		if v.x.frozen(y) {
			v.splits = append(v.splits, v.place(y))
		} else {
			v.whole[s.Items.Current[y.Item]] += v.p.Cost.Fixed(s.Items.Cost[y.Item])
		}
	}
	hot := true
	for _, row := range v.x.costly(v.p) {
		cost := v.p.Cost.Fixed(s.Items.Cost[row])
		if hot = hot && cost > v.greatestRoom()+v.merge; !hot && len(v.more) == 0 {
			break
		}
		if !hot && v.more[row] == 0 {
			continue
		}
		if at := v.choose(row, cost); at != nil {
			v.whole[s.Items.Current[row]] -= cost
			v.splits = append(v.splits, v.place(Split{row, v.weigh(row, at)}))
		}
	}
	v.spread(false)
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
func (x *Space) costly(p *assign.Problem) []int32 {
	least := p.Cost.Float(p.Total / int64(8*len(p.Live)))
	rows := assign.Collect(x.Items.Len(), func(from, to int) (rows []int32) {
		for i := from; i < to; i++ {
			if x.Items.Cost[i] > least && x.isKey(i) {
				rows = append(rows, int32(i))
			}
		}
		return rows
	})
	for _, y := range x.Splits { // they may stay divided
		if x.Items.Cost[y.Item] <= least && x.Items.Cost[y.Item] > 0 {
			rows = append(rows, y.Item)
		}
	}
	rows = slices.DeleteFunc(rows, func(row int32) bool {
		y := SplitOf(x.Splits, row)
		return y != nil && x.frozen(*y)
	})
	slices.SortFunc(rows, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.Items.Cost[b], x.Items.Cost[a]), x.Items.Compare(a, b))
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
	most := v.x.MostParts()
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
	sites := make([]site, 0, len(v.p.Live))
	for _, d := range v.p.Live {
		load := v.fixed[d] + v.parts[d] + v.whole[d]
		if v.x.Items.Current[row] == d {
			load -= cost
		}
		sites = append(sites, site{d, unitsIn(v.room(d), cost), v.x.held(row, d), v.p.Rate(d, load)})
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
