package planner

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
)

// placeHot puts the hot keys, the costliest first, where they hurt least, and
// raises the bounds of the instances that carry more than L_max for it.
func (p *problem) placeHot() {
	hot := p.hotItems()
	background := slices.Clone(p.residual)
	classes := p.classesByCapacity(background)
	for _, i := range hot {
		c, units := p.cost.Fixed(p.s.Cost[i]), p.s.count(int(i))
		first := len(p.hot)
		if units > 1 {
			units -= p.pourHot(i, c, units, background)
			classes = p.classesByCapacity(background)
		}
		for range units {
			to := p.leastHot(i, c, background, classes)
			background[to] += c
			classes.grown(to)
			p.addHot(first, share{i, to, 1})
		}
	}
	for _, d := range p.live {
		p.bound[d] = max(p.bound[d], float64(background[d]))
		p.limit[d] = max(p.maximum[d], exact.AtMost(float64(background[d])))
	}
}

// pourHot places most units of a hot item that has many, and returns how many.
func (p *problem) pourHot(item int32, c, units int64, background []int64) int64 {
	poured := int64(0)
	p.pourInto(p.live, background, units, c, unlimited, 1, func(d int32, n int64) {
		background[d] += n * c
		poured += n
		p.hot = append(p.hot, share{item, d, n})
	})
	return poured
}

// addHot adds to the shares of an item, which begin at first.
func (p *problem) addHot(first int, x share) {
	for i := range p.hot[first:] {
		if h := &p.hot[first+i]; h.to == x.to {
			h.count += x.count
			return
		}
	}
	p.hot = append(p.hot, x)
}

// hotItems returns the hot items by descending cost.
func (p *problem) hotItems() []int32 {
	var hot []int32
	if p.costliest > p.hotAbove {
		for i, c := range p.s.Cost {
			if p.cost.Fixed(c) > p.hotAbove {
				hot = append(hot, int32(i))
			}
		}
	}
	slices.SortFunc(hot, p.s.heavierFirst)
	return hot
}

// leastHot returns the instance on which a hot key of cost c ends with the least
// relative background. Ties: its current one, its hash instance, the lower id.
func (p *problem) leastHot(item int32, c int64, background []int64, classes capacityClasses) int32 {
	rate := func(d int32) float64 { return p.rate(d, background[d]+c) }
	best := classes.heaps[0].E[0]
	for _, h := range classes.heaps[1:] {
		if d := h.E[0]; rate(d) < rate(best) || rate(d) == rate(best) && d < best {
			best = d
		}
	}
	for _, d := range [2]int32{p.s.Current[item], p.s.Hash[item]} {
		if p.isLive[d] && rate(d) <= rate(best) {
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
	p     *problem
}

// classesByCapacity groups the live instances under the given loads, which may
// change as long as grown is told.
func (p *problem) classesByCapacity(load []int64) capacityClasses {
	c := capacityClasses{of: make(map[float64]int), p: p}
	for _, d := range p.live {
		kappa := p.s.Instances[d].Capacity
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
	h := &c.heaps[c.of[c.p.s.Instances[d].Capacity]]
	h.Sink(slices.Index(h.E, d))
}

// hotKeys reports the hot keys.
func (p *problem) hotKeys() []HotKey {
	if len(p.hot) == 0 {
		return nil
	}
	rooms, classes := p.rooms(), p.classesByCapacity(p.residual)
	var keys []HotKey
	for i, h := range p.hot {
		if i > 0 && p.hot[i-1].item == h.item {
			continue
		}
		cost := p.cost.Fixed(p.s.Cost[h.item])
		forced := math.Inf(1)
		for _, h := range classes.heaps {
			least := h.E[0]
			forced = min(forced, relative(float64(p.residual[least]+cost), p.fair[least]))
		}
		keys = append(keys, HotKey{
			Item: h.item, Instance: h.to, Cost: p.s.Cost[h.item],
			Pieces: piecesOf(cost, rooms), ForcedTheta: forced,
		})
	}
	return keys
}

// rooms returns the sums of the 1, 2, … largest rooms L_max,d − residual_d, as
// long as they grow.
func (p *problem) rooms() []int64 {
	sums := make([]int64, 0, len(p.live))
	for _, d := range p.live {
		sums = append(sums, p.maximum[d]-p.residual[d])
	}
	slices.SortFunc(sums, func(a, b int64) int { return cmp.Compare(b, a) })
	for i := range sums {
		switch {
		case sums[i] <= 0:
			return sums[:i]
		case i > 0:
			sums[i] = min(sums[i]+sums[i-1], math.MaxInt64/2)
		}
	}
	return sums
}

// piecesOf is the least n whose n largest rooms sum to at least cost, or 0.
func piecesOf(cost int64, rooms []int64) int {
	n, _ := slices.BinarySearch(rooms, cost)
	if n == len(rooms) {
		return 0
	}
	return n + 1
}
