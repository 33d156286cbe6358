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
	bins, room, least := make([]bin, len(at)), int64(0), v.x.leastWeight(row)
	for i, d := range at {
		bins[i].setLines(v, row, d, v.load)
		bins[i].least = min(least, PartUnits/int64(len(at)))
		bins[i].most = max(1, v.all.units(row, d, 1))
		if v.alone {
			bins[i].most = PartUnits
		}
		bins[i].most = max(bins[i].most, bins[i].least)
		room += bins[i].most
	}
	if room < PartUnits {
		for i, d := range at {
			bins[i].setLines(v, row, d, func(c *account, d int32) int64 { return c.fixed[d] + c.parts[d] })
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

// bin takes units on top of what is there, from least ≥ 1 to most.
type bin struct {
	line
	more               []line // those of further resources
	least, most, units int64
}

// line is how high units stand in one resource: (base+units)/wide.
type line struct{ base, wide float64 }

// setLines sets how high units of a key stand on an instance under some loads: in relation to the capacity, or where
// there are several resources to the bound of each.
func (x *bin) setLines(v *divider, row, d int32, load func(*account, int32) int64) {
	if len(v.all) == 1 {
		x.line = v.lineOf(row, d, load, v.p.Instances[d].Capacity)
		return
	}
	var lines []line
	for _, c := range v.all {
		if amount := c.amount(row); amount > 0 && !c.entire {
			wide := float64(max(c.p.Bound[d], 1)*PartUnits) / float64(amount)
			lines = append(lines, c.lineOf(row, d, load, wide))
		}
	}
	if lines == nil { // it takes nothing that weights divide
		lines = []line{v.lineOf(row, d, load, float64(max(v.p.Bound[d], 1)*PartUnits))}
	}
	x.line, x.more = lines[0], lines[1:]
}

func (c *account) lineOf(row, d int32, load func(*account, int32) int64, wide float64) line {
	return line{float64(float64(load(c, d))*PartUnits) / float64(max(1, c.amount(row))), wide}
}

// level spreads n units so that the fullest bin is as low as can be, (base+units)/wide.
// The bins can take them.
func level(bins []bin, n int64) {
	low, high := math.Inf(1), 0.0
	for _, x := range bins {
		low, high = min(low, x.height(0)), max(high, x.height(n))
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
			if best < 0 || float64(step)*(x.height(x.units)-bins[best].height(bins[best].units)) < 0 {
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
		return cmp.Compare(bins[a].height(0), bins[b].height(0))
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

// height is how high so many units stand in the bin.
func (x *bin) height(units int64) float64 {
	h := (x.base + float64(units)) / x.wide
	for _, y := range x.more {
		h = max(h, (y.base+float64(units))/y.wide)
	}
	return h
}

// fillTo fills the bins up to a level, and returns how many units it takes.
func fillTo(bins []bin, level float64) int64 {
	sum := int64(0)
	for i := range bins {
		x := &bins[i]
		room := float64(level*x.wide) - x.base
		for _, y := range x.more {
			room = min(room, float64(level*y.wide)-y.base)
		}
		x.units = x.most
		if room < float64(x.most) {
			x.units = max(x.least, int64(max(room, 0)))
		}
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
	return v.exceeds(func(c *account, d int32) int64 { return c.whole[d] })
}

// fit reports whether the parts fit, if no key were whole.
func (v *divider) fit() bool {
	return !v.exceeds(func(*account, int32) int64 { return 0 })
}

// exceeds reports whether some instance with parts has less room than what is beside them.
func (v *divider) exceeds(beside func(*account, int32) int64) bool {
	return slices.ContainsFunc(v.all, func(c *account) bool {
		return slices.ContainsFunc(v.p.Live, func(d int32) bool {
			return c.parts[d] > 0 && c.room(d)+c.merge < beside(c, d)
		})
	})
}
