package assign

import (
	"slices"

	"plannerd/internal/exact"
)

// placeHot puts the hot keys, the costliest first, where they hurt least, and
// raises the bounds of the instances that carry more than L_max for it.
func (p *Problem) placeHot() {
	if p.Items.Rules != nil {
		p.raiseBounds(p.placeHotByRule())
		return
	}
	hot := p.hotItems()
	background := slices.Clone(p.Residual)
	classes := p.classesByCapacity(background)
	for _, i := range hot {
		c, units := p.Cost.Fixed(p.Items.Cost[i]), p.Items.UnitsOf(int(i))
		first := len(p.Hot)
		if units > 1 {
			units -= p.fillHot(i, c, units, background)
			classes = p.classesByCapacity(background)
		}
		for range units {
			to := p.leastHot(i, c, background, classes)
			background[to] += c
			classes.grown(to)
			p.addHot(first, share{i, to, 1})
		}
	}
	p.raiseBounds(background)
}

// raiseBounds raises the bounds of instances that carry more than L_max whatever the plan.
func (p *Problem) raiseBounds(background []int64) {
	for _, d := range p.Live {
		p.Bound[d] = max(p.Bound[d], float64(background[d]))
		p.Limit[d] = max(p.Maximum[d], exact.AtMost(float64(background[d])))
	}
	p.roundLimits()
}

// roundLimits lowers each limit to the next load that keys can make: where all costs are
// multiples of some unit, the room for keys is one too. This is the rounding of Chvátal and
// Gomory. Units that are fine beside a load do not matter.
func (p *Problem) roundLimits() {
	fine := p.Total / int64(len(p.Live)) >> fineBits
	unit := int64(0)
	for _, c := range p.Items.Cost {
		for a, b := p.Cost.Fixed(c), unit; ; a, b = b, a%b { // Euclid's algorithm
			if b == 0 {
				unit = a
				break
			}
		}
		if unit != 0 && unit <= fine {
			return
		}
	}
	if unit <= 1 {
		return
	}
	for _, d := range p.Live {
		if room := p.Limit[d] - p.Residual[d]; room > 0 {
			p.Limit[d] -= room % unit
		}
	}
}

// fineBits says how fine a unit of cost is that does not matter, beside the mean load.
const fineBits = 20

// fillHot places most units of a hot item that has many, and returns how many.
func (p *Problem) fillHot(item int32, c, units int64, background []int64) int64 {
	placed := int64(0)
	p.fillBins(p.Live, background, units, c, Unlimited, 1, func(d int32, n int64) {
		background[d] += n * c
		placed += n
		p.Hot = append(p.Hot, share{item, d, n})
	})
	return placed
}

// addHot adds to the shares of an item, which begin at first.
func (p *Problem) addHot(first int, x share) {
	for i := range p.Hot[first:] {
		if h := &p.Hot[first+i]; h.To == x.To {
			h.Count += x.Count
			return
		}
	}
	p.Hot = append(p.Hot, x)
}

// hotItems returns the hot items by descending cost.
func (p *Problem) hotItems() []int32 {
	var hot []int32
	if p.Costliest > p.hotAbove {
		for i, c := range p.Items.Cost {
			if p.Cost.Fixed(c) > p.hotAbove {
				hot = append(hot, int32(i))
			}
		}
	}
	slices.SortFunc(hot, p.Items.HeavierFirst)
	return hot
}

// leastHot returns the instance on which a hot key of cost c ends with the least
// relative background. Ties: its current one, its hash instance, the lower id.
func (p *Problem) leastHot(item int32, c int64, background []int64, classes capacityClasses) int32 {
	rate := func(d int32) float64 { return p.Rate(d, background[d]+c) }
	best := classes.heaps[0].E[0]
	for _, h := range classes.heaps[1:] {
		if d := h.E[0]; rate(d) < rate(best) || rate(d) == rate(best) && d < best {
			best = d
		}
	}
	for _, d := range [2]int32{p.Items.Current[item], p.Items.Home[item]} {
		if p.IsLive[d] && rate(d) <= rate(best) {
			return d
		}
	}
	return best
}

// capacityClasses groups the live instances by capacity: within a class, the
// least loaded one is the best for every key.
type capacityClasses struct {
	heaps []exact.Heap[int32] // by load, ties by id
	of    map[float64]int     // capacity → index into heaps
	p     *Problem
}

// classesByCapacity groups the live instances under the given loads, which may
// change as long as grown is told.
func (p *Problem) classesByCapacity(load []int64) capacityClasses {
	c := capacityClasses{of: make(map[float64]int), p: p}
	for _, d := range p.Live {
		kappa := p.Instances[d].Capacity
		i, ok := c.of[kappa]
		if !ok {
			i = len(c.heaps)
			c.of[kappa] = i
			c.heaps = append(c.heaps, exact.Heap[int32]{Before: func(x, y int32) bool {
				return load[x] < load[y] || load[x] == load[y] && x < y
			}})
		}
		c.heaps[i].Push(d)
	}
	return c
}

// grown restores the order after the load of d grew.
func (c capacityClasses) grown(d int32) {
	h := &c.heaps[c.of[c.p.Instances[d].Capacity]]
	h.Sink(slices.Index(h.E, d))
}

// LeastOfClasses lists the least loaded live instance of each capacity.
func (p *Problem) LeastOfClasses(load []int64) []int32 {
	var least []int32
	for _, h := range p.classesByCapacity(load).heaps {
		least = append(least, h.E[0])
	}
	return least
}
