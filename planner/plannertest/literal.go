package plannertest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plannerd/planner"
)

// Literal runs a strategy as its definition reads, one unit at a time. It knows
// llfd, lpt, mintable, minmig, mixed, mixed_bf and readj.
func Literal(name string, s *planner.Snapshot, o planner.Options) (Assignment, error) {
	m := newModel(s, o)
	if m.idle() {
		return current(s), nil
	}
	switch name {
	case planner.LLFD:
		return m.phases(0, byCost), nil
	case planner.LPT:
		return m.lpt(), nil
	case planner.MinTable:
		return m.phases(math.MaxInt, byCost), nil
	case planner.MinMig:
		return m.phases(0, m.byGamma), nil
	case planner.Mixed:
		return m.mixed(), nil
	case planner.MixedBruteForce:
		return m.mixedBF(), nil
	case planner.Readj:
		return m.readj(), nil
	}
	return nil, fmt.Errorf("plannertest: no literal strategy %q", name)
}

// unit is one key of an item.
type unit struct {
	item, rank  int
	cost, state float64
	hash        int
	hot         bool
	at          int // instance, −1 in the candidate set C
}

// order is a selection criterion ψ or η: negative when a comes before b. Ties
// that it leaves are canonical.
type order func(a, b *unit) int

func byCost(a, b *unit) int { return descending(a.cost, b.cost) }

func byState(a, b *unit) int { return -descending(a.state, b.state) }

// byGamma is ψ of mixed-routing Algorithm 3: largest c^β/S first, keys without
// state before all, keys without cost after all.
func (m *model) byGamma(a, b *unit) int { return descending(m.gamma(a), m.gamma(b)) }

func (m *model) gamma(u *unit) float64 {
	beta := planner.DefaultBeta
	if m.o.Beta != nil {
		beta = *m.o.Beta
	}
	switch {
	case u.cost == 0:
		return 0
	case u.state == 0:
		return math.Inf(1)
	}
	return math.Pow(u.cost, beta) / u.state
}

// desk is a tentative assignment L̂ that the phases work on.
type desk struct {
	m     *model
	units []*unit
	load  []float64
}

// open puts every unit where it is now, and hot ones where they go.
func (m *model) open() *desk {
	w := &desk{m: m, load: append(slices.Clone(m.background), 0)}
	for i := range m.s.Len() {
		for n := range count(m.s, i) {
			u := &unit{item: i, rank: m.rank[i], cost: m.s.Cost[i], state: state(m.s, i),
				hash: int(m.s.Hash[i]), at: int(m.s.Current[i]), hot: m.isHot(i)}
			if m.leaves(i) {
				u.at = len(m.s.Instances) // it counts for no load
			}
			if u.hot {
				u.at = m.hotUnits[i][n]
			} else {
				w.load[u.at] += u.cost
			}
			w.units = append(w.units, u)
		}
	}
	return w
}

func (w *desk) put(u *unit, d int) {
	if u.at >= 0 {
		w.load[u.at] -= u.cost
	}
	if d >= 0 {
		w.load[d] += u.cost
	}
	u.at = d
}

func (w *desk) may(u *unit, d int) bool      { return w.m.may(u.item, d) }
func (w *desk) relative(d int) float64       { return w.load[d] / w.m.s.Instances[d].Capacity }
func (w *desk) within(d int, c float64) bool { return fits(w.load[d]+c, w.m.bound[d]) }

// pick lists the movable units that satisfy a condition, in order psi; units of
// one item by where they are.
func (w *desk) pick(psi order, where func(*unit) bool) []*unit {
	var us []*unit
	for _, u := range w.units {
		if !u.hot && where(u) {
			us = append(us, u)
		}
	}
	slices.SortStableFunc(us, func(a, b *unit) int {
		return cmp.Or(psi(a, b), a.rank-b.rank, a.at-b.at)
	})
	return us
}

// returns reports whether a unit is away from where the hash puts it, and may go
// there.
func (w *desk) returns(u *unit) bool { return u.at != u.hash && w.may(u, u.hash) }

func (w *desk) assignment() Assignment {
	a := make(Assignment, w.m.s.Len())
	for i := range a {
		a[i] = make([]int64, len(w.m.s.Instances))
	}
	for _, u := range w.units {
		a[u.item][u.at]++
	}
	return a
}

// phases moves the n entries of smallest state back, then prepares and assigns.
func (m *model) phases(n int, psi order) Assignment {
	w := m.open()
	entries := w.pick(byState, w.returns)
	for _, u := range entries[:min(n, len(entries))] {
		w.put(u, u.hash)
	}
	w.prepare(psi)
	w.assign(psi)
	return w.assignment()
}

func (w *desk) prepare(psi order) {
	for _, u := range w.pick(psi, func(u *unit) bool { return !w.may(u, u.at) }) {
		w.put(u, -1)
	}
	for _, d := range w.m.live() {
		for _, u := range w.pick(psi, func(u *unit) bool { return u.at == d }) {
			if !w.within(d, 0) && u.cost > 0 {
				w.put(u, -1)
			}
		}
	}
}

// assign is LLFD, mixed-routing Algorithm 1.
func (w *desk) assign(psi order) {
	for {
		candidates := w.pick(byCost, func(u *unit) bool { return u.at < 0 })
		if len(candidates) == 0 {
			return
		}
		k := candidates[0]
		tries := w.m.openTo(k.item)
		slices.SortStableFunc(tries, func(a, b int) int { return -descending(w.relative(a), w.relative(b)) })
		if !slices.ContainsFunc(tries, func(d int) bool { return w.adjust(k, d, psi) }) {
			w.put(k, w.leastAfter(k))
		}
	}
}

// adjust accepts k on d, making room if need be, or refuses.
func (w *desk) adjust(k *unit, d int, psi order) bool {
	if w.within(d, k.cost) {
		w.put(k, d)
		return true
	}
	var leaving []*unit
	room := 0.0
	for _, u := range w.pick(psi, func(u *unit) bool { return u.at == d && u.cost < k.cost }) {
		leaving, room = append(leaving, u), room+u.cost
		if w.within(d, k.cost-room) {
			for _, u := range leaving {
				w.put(u, -1)
			}
			w.put(k, d)
			return true
		}
	}
	return false
}

// leastAfter is the instance, of those on which a unit may be, of least relative load with it.
func (w *desk) leastAfter(u *unit) int {
	best, least := -1, 0.0
	for _, d := range w.m.openTo(u.item) {
		if r := (w.load[d] + u.cost) / w.m.s.Instances[d].Capacity; best < 0 || r < least {
			best, least = d, r
		}
	}
	return best
}

// lpt puts all keys, in descending cost, onto the least loaded instance.
func (m *model) lpt() Assignment {
	w := m.open()
	all := w.pick(byCost, func(*unit) bool { return true })
	for _, u := range all {
		w.put(u, -1)
	}
	for _, u := range all {
		best := -1
		for _, d := range m.openTo(u.item) {
			if best < 0 || w.relative(d) < w.relative(best) {
				best = d
			}
		}
		w.put(u, best)
	}
	return w.assignment()
}

// entries counts the table entries that may be moved back.
func (m *model) entries() int {
	w := m.open()
	return len(w.pick(byState, w.returns))
}

// mixed is mixed-routing Algorithm 4 with a step that always grows.
func (m *model) mixed() Assignment {
	var best Assignment
	for n, all := 0, m.entries(); ; {
		a := m.phases(n, m.byGamma)
		if m.o.TableLimit == nil || m.tableSize(a) <= *m.o.TableLimit {
			return a
		}
		if best == nil || m.better(a, best) {
			best = a
		}
		if n == all {
			return best
		}
		n = min(all, n+max(int(m.tableSize(a)-*m.o.TableLimit), n))
	}
}

func (m *model) mixedBF() Assignment {
	var best Assignment
	for n := range m.entries() + 1 {
		if a := m.phases(n, m.byGamma); best == nil || m.better(a, best) {
			best = a
		}
	}
	return best
}
