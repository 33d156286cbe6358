package division

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"plannerd/planner/internal/assign"
)

// weigh weighs the parts of a key on these instances, so that they fill the least loaded
// first, within the rooms of all. Where these do not suffice, loads that cannot leave are
// levelled without regard to them.
func (v *divider) weigh(row int32, at []int32) []Part {
	cost := max(1, v.p.Cost.Fixed(v.x.Items.Cost[row]))
	bins, room, least := make([]bin, len(at)), int64(0), v.x.leastWeight(row)
	for i, d := range at {
		bins[i] = bin{
			base: float64(float64(v.load(d))*PartUnits) / float64(cost),
			wide: v.p.Instances[d].Capacity, least: min(least, PartUnits/int64(len(at))),
			most: max(1, unitsIn(v.room(d), cost)),
		}
		if v.alone {
			bins[i].most = PartUnits
		}
		bins[i].most = max(bins[i].most, bins[i].least)
		room += bins[i].most
	}
	if room < PartUnits {
		for i, d := range at {
			bins[i].base = float64(float64(v.fixed[d]+v.parts[d])*PartUnits) / float64(cost)
			bins[i].most = PartUnits
		}
	}
	if v.packs && room >= PartUnits {
		fill(bins, PartUnits)
	} else {
		level(bins, PartUnits)
	}
	parts := make([]Part, len(at))
	for i, d := range at {
		parts[i] = Part{Instance: d, Weight: int32(bins[i].units)}
	}
	return parts
}

// bin takes units on top of its base, from least ≥ 1 to most.
type bin struct {
	base, wide         float64
	least, most, units int64
}

// level spreads n units so that the fullest bin is as low as can be, (base+units)/wide.
// The bins can take them.
func level(bins []bin, n int64) {
	low, high := math.Inf(1), 0.0
	for _, x := range bins {
		low, high = min(low, x.base/x.wide), max(high, (x.base+float64(n))/x.wide)
	}
	for range 60 {
		middle := (low + high) / 2
		if taken := fillTo(bins, middle); taken <= n {
			if low = middle; taken == n {
				break
			}
		} else {
			high = middle
		}
	}
	for left := n - fillTo(bins, low); left != 0; {
		step := int64(1)
		if left < 0 { // as each has its least
			step = -1
		}
		best := -1
		for i, x := range bins {
			if y := x.units + step; y < x.least || y > x.most {
				continue
			}
			if best < 0 || float64(step)*(x.height()-bins[best].height()) < 0 {
				best = i
			}
		}
		bins[best].units += step
		left -= step
	}
}

// fill puts n units into the bins, as many as they take, the lowest base first. Each keeps
// its least.
func fill(bins []bin, n int64) {
	order := assign.UpTo(len(bins))
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Compare(bins[a].base/bins[a].wide, bins[b].base/bins[b].wide)
	})
	kept := int64(0)
	for _, x := range bins {
		kept += x.least
	}
	for _, at := range order {
		x := &bins[at]
		kept -= x.least
		x.units = min(x.most, n-kept)
		n -= x.units
	}
}

func (x bin) height() float64 { return (x.base + float64(x.units)) / x.wide }

// fillTo fills the bins up to a level, and returns how many units it takes.
func fillTo(bins []bin, level float64) int64 {
	sum := int64(0)
	for i := range bins {
		x := &bins[i]
		x.units = min(x.most, max(x.least, int64(float64(level*x.wide)-x.base)))
		sum += x.units
	}
	return sum
}

// unitsIn is the greatest weight of a key of that cost that room allows.
func unitsIn(room, cost int64) int64 {
	if room = min(room, cost); room <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(room), PartUnits)
	units, _ := bits.Div64(hi, lo, uint64(cost))
	return int64(units)
}

// spreadRounds bounds how often all keys are weighed anew, and worthShifting is the weight
// below which a change is none, unless parts fit only with it.
const (
	spreadRounds  = 60
	worthShifting = PartUnits / 4096
)

// spread weighs the parts of each key anew, given those of the others, until loads are as
// level as parts can make them, or nearly; alone: as if no key were whole, until the parts
// fit. It reports whether they do.
func (v *divider) spread(alone bool) bool {
	v.alone = alone
	defer func() { v.alone = false }()
	everywhere := slices.Repeat([]bool{true}, len(v.parts))
	now, worth := everywhere, int32(worthShifting) // the load has changed since keys there were weighed
	for range spreadRounds {
		then, changed := v.round(now, worth)
		switch {
		case alone && v.fit():
			return true
		case changed:
			now = then
		case worth > 1 && !alone && v.overfull():
			now, worth = everywhere, 1
		default:
			return v.fit()
		}
	}
	return v.fit()
}

// round weighs the keys once that have a part where the load has changed, and tells where it
// has changed by that, by as much as a weight that is worth it.
func (v *divider) round(now []bool, worth int32) (then []bool, changed bool) {
	now, then = slices.Clone(now), make([]bool, len(now))
	for i, y := range v.splits {
		if v.x.frozen(y) || !slices.ContainsFunc(y.Parts, func(x Part) bool { return now[x.Instance] }) {
			continue
		}
		v.take(y)
		parts := v.weigh(y.Item, instancesOf(y.Parts))
		v.splits[i] = v.place(Split{y.Item, parts})
		for j, x := range parts {
			if shift := x.Weight - y.Parts[j].Weight; max(shift, -shift) >= worth {
				now[x.Instance], then[x.Instance], changed = true, true, true
			}
		}
	}
	return then, changed
}

// overfull reports whether some instance with parts is above its bound, whole keys included.
func (v *divider) overfull() bool {
	return slices.ContainsFunc(v.p.Live, func(d int32) bool {
		return v.parts[d] > 0 && v.room(d)+v.merge < v.whole[d]
	})
}

// fit reports whether the parts fit, if no key were whole.
func (v *divider) fit() bool {
	for _, d := range v.p.Live {
		if v.parts[d] > 0 && v.room(d)+v.merge < 0 {
			return false
		}
	}
	return true
}
