package plannertest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plannerd/planner"
)

// Literal runs a strategy as its definition reads, one unit at a time. It knows
// llfd, lpt, mintable, minmig, mixed, mixed_bf and, without resources, readj.
func Literal(name string, s *planner.Snapshot, o planner.Options) (Assignment, error) {
	m := newModel(s, o)
	if m.idle() {
		return current(s), nil
	}
	switch name {
	case planner.LLFD:
		return m.noWorse(m.phases(0, byLack)), nil
	case planner.LPT:
		return m.noWorse(m.lpt()), nil
	case planner.MinTable:
		return m.noWorse(m.phases(math.MaxInt, byLack)), nil
	case planner.MinMig:
		return m.noWorse(m.phases(0, m.byGamma)), nil
	case planner.Mixed:
		return m.noWorse(m.mixed()), nil
	case planner.MixedBruteForce:
		return m.noWorse(m.mixedBF()), nil
	case planner.Readj:
		if m.scalar() {
			return m.readj(), nil
		}
	}
	return nil, fmt.Errorf("plannertest: no literal strategy %q", name)
}

// unit is one key of an item.
type unit struct {
	item, rank  int
	size, state float64
	hash        int
	hot         bool
	lack        float64 // size in what lacks on its instance
	at          int     // instance, −1 in the candidate set C
}

// order is a selection criterion ψ or η: negative when a comes before b. Ties
// that it leaves are canonical.
type order func(a, b *unit) int

func bySize(a, b *unit) int { return descending(a.size, b.size) }

// byLack is ψ of llfd and mintable.
func byLack(a, b *unit) int { return descending(a.lack, b.lack) }

func byState(a, b *unit) int { return -descending(a.state, b.state) }

// byGamma is ψ of mixed-routing Algorithm 3: largest c^β/S first, where c is what a key takes of what
// lacks; keys without state before all.
func (m *model) byGamma(a, b *unit) int { return descending(m.gamma(a), m.gamma(b)) }

func (m *model) gamma(u *unit) float64 {
	beta := planner.DefaultBeta
	if m.o.Beta != nil {
		beta = *m.o.Beta
	}
	if u.state == 0 {
		return math.Inf(1)
	}
	return math.Pow(u.lack, beta) / u.state
}

// desk is a tentative assignment L̂ that the phases work on.
type desk struct {
	m     *model
	units []*unit
	load  map[*dimension][]float64
}

// open puts every unit where it is now, and hot ones where they go.
func (m *model) open() *desk {
	w := &desk{m: m, load: map[*dimension][]float64{}}
	for _, x := range m.dims {
		w.load[x] = append(slices.Clone(x.background), 0)
	}
	for i := range m.s.Len() {
		for n := range count(m.s, i) {
			u := &unit{item: i, rank: m.rank[i], size: m.size(i), state: state(m.s, i),
				hash: int(m.s.Hash[i]), at: int(m.s.Current[i]), hot: m.isHot(i)}
			if m.leaves(i) {
				u.at = len(m.s.Instances) // it counts for no load
			}
			if u.hot {
				u.at = m.hotUnits[i][n]
			} else {
				w.add(u, u.at, 1)
			}
			w.units = append(w.units, u)
		}
	}
	return w
}

func (w *desk) put(u *unit, d int) {
	if u.at >= 0 {
		w.add(u, u.at, -1)
	}
	if d >= 0 {
		w.add(u, d, 1)
	}
	u.at = d
}

func (w *desk) add(u *unit, d int, times float64) {
	for _, x := range w.m.dims {
		w.load[x][d] += times * x.amount[u.item]
	}
}

func (w *desk) may(u *unit, d int) bool { return w.m.may(u.item, d) }

// relative is the load in cost.
func (w *desk) relative(d int) float64 { return w.load[w.m.dimension][d] / w.m.s.Instances[d].Capacity }

// within reports whether an instance keeps to all bounds with another unit.
func (w *desk) within(d int, u *unit) bool {
	return !slices.ContainsFunc(w.m.dims, func(x *dimension) bool {
		return !fits(w.load[x][d]+x.amount[u.item], x.bound[d])
	})
}

// broken are the dimensions whose bound an instance breaks.
func (w *desk) broken(d int) []*dimension {
	return slices.DeleteFunc(slices.Clone(w.m.dims), func(x *dimension) bool { return fits(w.load[x][d], x.bound[d]) })
}

// next is the first unit on an instance, in order psi, that takes something of what lacks there and is
// smaller than another one; nil if there is none.
func (w *desk) next(d int, psi order, size float64) *unit {
	broken := w.broken(d)
	for _, u := range w.units {
		u.lack = w.m.sizeIn(broken, u.item)
	}
	list := w.pick(psi, func(u *unit) bool { return u.at == d && u.lack > 0 && u.size < size })
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// fullest is the greatest part of some bound that an instance takes with another unit.
func (w *desk) fullest(d int, u *unit, of func(*dimension) []float64) float64 {
	return w.m.fullest(d, u.item, func(x *dimension) []float64 { return w.load[x] }, of)
}

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
	for _, u := range w.pick(bySize, func(u *unit) bool { return !w.may(u, u.at) }) {
		w.put(u, -1)
	}
	for _, d := range w.m.live() {
		for u := w.next(d, psi, math.Inf(1)); u != nil; u = w.next(d, psi, math.Inf(1)) {
			w.put(u, -1)
		}
	}
}

// assign is LLFD, mixed-routing Algorithm 1.
func (w *desk) assign(psi order) {
	for {
		candidates := w.pick(bySize, func(u *unit) bool { return u.at < 0 })
		if len(candidates) == 0 {
			return
		}
		k := candidates[0]
		tries := w.m.openTo(k.item)
		ends := func(d int) float64 {
			if w.m.scalar() {
				return w.relative(d)
			}
			return w.fullest(d, k, (*dimension).bounds)
		}
		slices.SortStableFunc(tries, func(a, b int) int { return -descending(ends(a), ends(b)) })
		if !slices.ContainsFunc(tries, func(d int) bool { return w.adjust(k, d, psi) }) {
			w.put(k, w.leastAfter(k))
		}
	}
}

// adjust accepts k on d, making room if need be, or refuses.
func (w *desk) adjust(k *unit, d int, psi order) bool {
	w.put(k, d)
	var left []*unit
	for len(w.broken(d)) > 0 {
		u := w.next(d, psi, k.size)
		if u == nil {
			w.put(k, -1)
			for _, u := range left {
				w.put(u, d)
			}
			return false
		}
		w.put(u, -1)
		left = append(left, u)
	}
	return true
}

// leastAfter is the instance, of those on which a unit may be, of least relative load with it: the
// greatest of any dimension.
func (w *desk) leastAfter(u *unit) int {
	best, least := -1, 0.0
	for _, d := range w.m.openTo(u.item) {
		r := w.fullest(d, u, (*dimension).bounds)
		if w.m.scalar() {
			r = (w.load[w.m.dimension][d] + w.m.amount[u.item]) / w.m.s.Instances[d].Capacity
		}
		if best < 0 || r < least {
			best, least = d, r
		}
	}
	return best
}

// lpt puts all keys, in descending size, onto the least loaded instance.
func (m *model) lpt() Assignment {
	w := m.open()
	all := w.pick(bySize, func(*unit) bool { return true })
	for _, u := range all {
		w.put(u, -1)
	}
	for _, u := range all {
		ends := func(d int) float64 {
			if m.scalar() {
				return w.relative(d)
			}
			return w.fullest(d, u, (*dimension).bounds)
		}
		best := -1
		for _, d := range m.openTo(u.item) {
			if best < 0 || ends(d) < ends(best) {
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
