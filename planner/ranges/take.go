package ranges

import "math"

// take moves about so much weight from one end of segment i to a follower, but no
// heavy key, and reports whether it moved anything.
func (m *mover) take(i int, fromRight bool, want int64, to int) bool {
	a, b := m.takeable(i, fromRight, want, to)
	if a == b || m.g.weight(a, b) == 0 && m.followers[m.segments[i].owner].stays() {
		return false
	}
	m.assign(i, a, b, to)
	return true
}

// takeable is what take moves: the points whose weight is nearest to what is
// wanted; one less if the taker would else be above its bound and further from its
// aim, or one more if the giver would.
func (m *mover) takeable(i int, fromRight bool, want int64, to int) (a, b int) {
	from, end, x := m.segments[i].from, m.endOf(i), m.segments[i].owner
	if fromRight {
		for _, p := range m.heavy {
			if p < end {
				from = max(from, p+1)
			}
		}
		a = min(max(from, m.g.nearest(float64(m.g.below(end)-want))), end)
		switch {
		case a < end && m.oneLess(to, m.load[to]+m.g.weight(a, end), m.g.weight(a, a+1)):
			a++
		case a > from && m.another(x, m.load[x]-m.g.weight(a, end), m.g.weight(a-1, a)):
			a--
		}
		return a, end
	}
	for _, p := range m.heavy {
		if p >= from {
			end = min(end, p)
		}
	}
	b = max(from, min(end, m.g.nearest(float64(m.g.below(from)+want))))
	switch {
	case b > from && m.oneLess(to, m.load[to]+m.g.weight(from, b), m.g.weight(b-1, b)):
		b--
	case b < end && m.another(x, m.load[x]-m.g.weight(from, b), m.g.weight(b, b+1)):
		b++
	}
	return from, b
}

// oneLess reports whether a taker that comes to that load should do without the
// last key.
func (m *mover) oneLess(taker int, load, key int64) bool {
	return exceeds(load, m.bound[taker]) && math.Abs(float64(load-key)-m.aim[taker]) < math.Abs(float64(load)-m.aim[taker])
}

// another reports whether a giver with that load should give a further key.
func (m *mover) another(giver int, load, key int64) bool {
	return m.followers[giver].stays() && key > 0 && exceeds(load, m.bound[giver]) &&
		math.Abs(float64(load-key)-m.aim[giver]) < math.Abs(float64(load)-m.aim[giver])
}
