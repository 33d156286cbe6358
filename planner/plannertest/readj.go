package plannertest

import (
	"cmp"
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
	for _, u := range w.pick(bySize, func(u *unit) bool { return !w.may(u, u.at) }) {
		if w.may(u, u.hash) && w.within(u.hash, u) {
			w.put(u, u.hash)
		} else {
			w.put(u, w.leastAfter(u))
		}
	}
	for _, u := range w.pick(bySize, w.returns) {
		if w.within(u.hash, u) {
			w.put(u, u.hash)
		}
	}
	smallest := sigma * m.total / float64(m.liveCount)
	large := w.pick(byCanonical, func(u *unit) bool { return fits(smallest, u.size) })
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
	return !slices.ContainsFunc(w.m.live(), func(d int) bool { return len(w.broken(d)) > 0 })
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

// bestChange tries every move and every swap. The moved key of a swap is the one
// that leaves the relatively more loaded instance: the other way round never
// helps.
func (w *desk) bestChange(large []*unit) change {
	var best change
	lowest := w.vector()
	try := func(c change) {
		from := c.moved.at
		w.apply(c)
		v := w.vector()
		w.put(c.moved, from)
		if c.swapped != nil {
			w.put(c.swapped, c.to)
		}
		d := slices.Compare(v, lowest)
		if d < 0 || d == 0 && best.moved != nil && c.before(best) {
			best, lowest = c, v
		}
	}
	for _, u := range large {
		for _, d := range w.m.openTo(u.item) {
			if d != u.at {
				try(change{moved: u, to: d})
			}
		}
		for _, v := range large {
			if u.at != v.at && w.may(u, v.at) && w.may(v, u.at) && w.relative(u.at) > w.relative(v.at) {
				try(change{moved: u, swapped: v, to: v.at})
			}
		}
	}
	return best
}

// before orders changes that help alike: a move before a swap, then the
// canonical order of the moved and of the swapped key, then the lower
// destination. (Units of one item may still differ in their source: the lower.)
func (c change) before(d change) bool {
	rank := func(u *unit) int {
		if u == nil {
			return -1
		}
		return u.rank
	}
	return cmp.Or(
		cmp.Compare(min(0, rank(c.swapped)), min(0, rank(d.swapped))),
		cmp.Compare(c.moved.rank, d.moved.rank),
		cmp.Compare(rank(c.swapped), rank(d.swapped)),
		cmp.Compare(c.to, d.to),
		cmp.Compare(c.moved.at, d.moved.at),
	) < 0
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
