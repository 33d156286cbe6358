package hindsight

// Caps are what the loads and tables of a sequence are held to.
type Caps struct {
	// Theta bounds the overload of each interval: a load is at most (1 + Theta[t]) of the
	// instance's fair load, or the load there that cannot move.
	Theta []float64
	// Fair is by interval and instance the part of all load that is fair. Where it is 0, nothing is bounded.
	// Nil: by capacity.
	Fair [][]float64
	// Table bounds the entries of each interval. Nil: no bound.
	Table []int64
	// First is the interval, from 0, under whose assignment all begin. What was before it
	// does not count, but that the keys of then are known.
	First int
	// Warmup is the first interval that is held to them. No key can move up to First.
	Warmup int
}

// Profile are the caps that a policy met: theta_max, or what it realised where that is
// more, and likewise the table limit, unless that is nil. Under them the policy itself is
// feasible, so that the bound is at most what it moved. Fair loads are those that rules gave
// the policy; nil: there are none.
func (h *History) Profile(thetaMax float64, tableLimit *int64, warmup int, policy Tables, fair [][]float64) Caps {
	c := Caps{Theta: h.Theta(policy, fair), Fair: fair, Warmup: warmup}
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
