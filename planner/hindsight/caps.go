package hindsight

import (
	"cmp"
	"slices"
)

// Caps are what the loads and tables of a sequence are held to.
type Caps struct {
	// Theta bounds the overload of each interval: a load is at most (1 + Theta[t]) of the
	// instance's fair load, or the load there that cannot move.
	Theta []float64
	// Table bounds the entries of each interval. Nil: no bound.
	Table []int64
	// First is the interval, from 0, under whose assignment all begin. What was before it
	// does not count, but that the keys of then are known.
	First int
	// Warmup is the first interval that is held to them. No key can move up to First.
	Warmup int
	// Broken is how many intervals may have any loads.
	Broken int
}

// Profile are the caps that a policy met: theta_max, or what it realised where that is
// more, and likewise the table limit, unless that is nil. Under them the policy itself is
// feasible, so that the bound is at most what it moved.
func (h *History) Profile(thetaMax float64, tableLimit *int64, warmup int, policy Tables) Caps {
	c := Caps{Theta: h.Theta(policy), Warmup: warmup}
	for t := range c.Theta {
		c.Theta[t] = max(c.Theta[t], thetaMax)
	}
	if tableLimit != nil {
		for _, table := range policy {
			c.Table = append(c.Table, max(*tableLimit, int64(table.Len())))
		}
	}
	return c
}

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
	return h.theta(load)
}
