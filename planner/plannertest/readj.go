package plannertest

import (
	"math"
	"slices"
)

// readj is the baseline of mixed-routing §V: entries home where that keeps the
// balance, then the best single move or swap, again and again.
func (m *model) readj() Assignment {
	if m.o.Sigma != nil {
		return m.readjOf(*m.o.Sigma)
	}
	var best Assignment
	for e := range 11 {
		if a := m.readjOf(math.Ldexp(1, -e)); best == nil || m.better(a, best) {
			best = a
		}
	}
	return best
}

func (m *model) readjOf(sigma float64) Assignment {
	w := m.open()
	for _, u := range w.pick(byCost, func(u *unit) bool { return w.drained(u.at) }) {
		if w.within(u.hash, u.cost) {
			w.put(u, u.hash)
		} else {
			w.put(u, w.leastAfter(u.cost))
		}
	}
	for _, u := range w.pick(byCost, func(u *unit) bool { return u.at != u.hash }) {
		if w.within(u.hash, u.cost) {
			w.put(u, u.hash)
		}
	}
	smallest := sigma * m.total / float64(m.liveCount)
	large := w.pick(byCanonical, func(u *unit) bool { return fits(smallest, u.cost) })
	for !w.balanced() {
		c := w.bestChange(large)
		if c.moved == nil {
			break
		}
		w.apply(c)
	}
	return w.assignment()
}

func byCanonical(a, b *unit) int { return a.rank - b.rank }

func (w *desk) balanced() bool {
	return !slices.ContainsFunc(w.m.live(), func(d int) bool { return !w.within(d, 0) })
}

// change moves a unit to an instance, and one of that instance's units back if
// it is a swap.
type change struct {
	moved, swapped *unit
	to             int
}

func (w *desk) apply(c change) {
	from := c.moved.at
	w.put(c.moved, c.to)
	if c.swapped != nil {
		w.put(c.swapped, from)
	}
}

// bestChange tries every move, then every swap. Large is in canonical order, so
// the first of equals is the one to take. The moved key of a swap is the one
// that leaves the relatively more loaded instance: the other way round never
// helps.
func (w *desk) bestChange(large []*unit) change {
	var best change
	lowest := w.vector()
	try := func(c change) {
		from := c.moved.at
		w.apply(c)
		if v := w.vector(); slices.Compare(v, lowest) < 0 {
			best, lowest = c, v
		}
		w.put(c.moved, from)
		if c.swapped != nil {
			w.put(c.swapped, c.to)
		}
	}
	for _, u := range large {
		for _, d := range w.m.live() {
			if d != u.at {
				try(change{moved: u, to: d})
			}
		}
	}
	for _, u := range large {
		for _, v := range large {
			if u.at != v.at && w.relative(u.at) > w.relative(v.at) {
				try(change{moved: u, swapped: v, to: v.at})
			}
		}
	}
	return best
}

// vector lists the relative loads of the live instances, largest first.
func (w *desk) vector() []float64 {
	var v []float64
	for _, d := range w.m.live() {
		v = append(v, w.relative(d))
	}
	slices.SortFunc(v, descending)
	return v
}
