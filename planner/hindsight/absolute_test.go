package hindsight

import (
	"cmp"
	"slices"
)

// Absolute are caps that ask for theta_max wherever an assignment was found that keeps
// to it, and elsewhere for the theta of what was found. Which is the least possible theta
// is not known: caps of it might allow no sequence.
func (h *History) Absolute(thetaMax float64, tableLimit *int64, warmup int) Caps {
	c := Caps{Theta: make([]float64, h.Len()), Warmup: warmup}
	for t := range c.Theta {
		c.Theta[t] = max(thetaMax, h.evenTheta(t))
		if tableLimit != nil {
			c.Table = append(c.Table, *tableLimit)
		}
	}
	return c
}

// evenTheta is the overload if the keys that can have moved by interval t are placed by
// descending cost, each where it makes the least load (Graham 1969).
func (h *History) evenTheta(t int) float64 {
	in, load := h.intervals[t], make([]float64, len(h.fair))
	copy(load, in.residual)
	var free []row
	for _, r := range in.rows {
		if int(h.first[r.key]) < t {
			free = append(free, r)
		} else {
			load[h.home[r.key]] += r.cost
		}
	}
	slices.SortStableFunc(free, func(a, b row) int { return cmp.Compare(b.cost, a.cost) })
	for _, r := range free {
		best := 0
		for d := range load {
			if (load[d]+r.cost)/h.fair[d] < (load[best]+r.cost)/h.fair[best] {
				best = d
			}
		}
		load[best] += r.cost
	}
	return theta(load, h.fair)
}
