package plannertest

import (
	"bytes"
	"math"
	"slices"

	"plannerd/planner"
)

// Assignment is F': how many units of each item are on each instance, by the
// indices of the snapshot.
type Assignment [][]int64

// Equal reports whether a and b put the same number of units everywhere.
func (a Assignment) Equal(b Assignment) bool {
	return slices.EqualFunc(a, b, slices.Equal)
}

// AssignmentOf applies the moves of a plan to the current assignment.
func AssignmentOf(p *planner.Plan) Assignment {
	a := current(p.Snapshot)
	for _, m := range p.Moves {
		a[m.Item][m.From] -= m.Count
		a[m.Item][m.To] += m.Count
	}
	return a
}

// current is F.
func current(s *planner.Snapshot) Assignment {
	a := make(Assignment, s.Len())
	for i := range a {
		a[i] = make([]int64, len(s.Instances))
		a[i][s.Current[i]] = count(s, i)
	}
	return a
}

func count(s *planner.Snapshot, i int) int64 {
	if s.Count == nil {
		return 1
	}
	return s.Count[i]
}

func state(s *planner.Snapshot, i int) float64 {
	if s.State == nil {
		return 1
	}
	return s.State[i]
}

// fits is the one predicate that decides balance, hotness and bounds.
func fits(x, bound float64) bool { return x <= bound*(1+1e-9) }

// compareKeys is the canonical order: by hash, then by bytes.
func compareKeys(a, b []byte) int {
	ha, hb := planner.KeyHash(a), planner.KeyHash(b)
	switch {
	case ha < hb:
		return -1
	case ha > hb:
		return 1
	}
	return bytes.Compare(a, b)
}

// model is the problem of mixed-routing §II as read off a snapshot.
type model struct {
	s *planner.Snapshot
	o planner.Options

	canonical []int // items in canonical order
	rank      []int // inverse of canonical
	absent    []int // table entries of keys that are no items
	retained  int64 // how many of them stay

	liveCount  int
	*dimension              // cost
	dims       []*dimension // cost first
	least      []float64    // a_d; nil: nothing is asked for

	overload float64       // the largest relative excess over b_d if nothing but hot units moves; +∞: others have to
	hot      []int         // hot items in descending size
	hotUnits map[int][]int // instance of each unit of a hot item, in order of placement
}

func newModel(s *planner.Snapshot, o planner.Options) *model {
	m := &model{s: s, o: o, hotUnits: map[int][]int{}}
	m.order()
	m.absent = absentEntries(s)
	for _, e := range m.absent {
		if staysAbsent(s, s.Table.At(e).Instance) {
			m.retained++
		}
	}
	m.liveCount, m.dims = len(m.live()), dimensions(s, o)
	m.dimension = m.dims[0]
	for _, x := range m.dims {
		m.limits(x)
	}
	m.placeHot()
	m.least = m.leastLoads()
	m.overload = math.Inf(1)
	if a, ok := m.standing(); ok && !m.scalar() {
		m.overload = m.score(a).Excess
	}
	return m
}

func (m *model) order() {
	m.canonical = make([]int, m.s.Len())
	for i := range m.canonical {
		m.canonical[i] = i
	}
	slices.SortFunc(m.canonical, func(a, b int) int { return compareKeys(m.s.Keys.At(a), m.s.Keys.At(b)) })
	m.rank = make([]int, m.s.Len())
	for r, i := range m.canonical {
		m.rank[i] = r
	}
}

// absentEntries lists the table entries that no item refers to.
func absentEntries(s *planner.Snapshot) []int {
	named := map[string]bool{}
	for i := range s.Len() {
		named[string(s.Keys.At(i))] = true
	}
	var absent []int
	for e := range s.Table.Len() {
		if !named[string(s.Table.At(e).Key)] {
			absent = append(absent, e)
		}
	}
	return absent
}

// staysAbsent reports whether an absent key may have something on the instance of
// that id, so that its entry stays.
func staysAbsent(s *planner.Snapshot, id int32) bool {
	return s.Partial || slices.ContainsFunc(s.Instances,
		func(in planner.Instance) bool { return in.ID == id && in.Partial })
}

// placeHot finds the hot items and puts each of their units where the hot and
// residual load, relative to the bound, ends least.
func (m *model) placeHot() {
	for _, i := range m.canonical {
		if m.pinned(i) {
			m.place(i, int(m.s.Current[i]))
			continue
		}
		hot := m.o.Objective != planner.MinImbalance // which places all keys alike
		for _, d := range m.openTo(i) {
			hot = hot && !m.takes(d, i)
		}
		if hot {
			m.hot = append(m.hot, i)
		}
	}
	slices.SortStableFunc(m.hot, func(a, b int) int { return descending(m.size(a), m.size(b)) })
	for _, i := range m.hot {
		for range count(m.s, i) {
			m.place(i, m.hotPlace(i))
		}
	}
	for _, x := range m.dims {
		for d := range x.bound {
			x.bound[d] = math.Max(x.max[d], x.background[d])
		}
	}
}

// place makes a unit of an item part of what is on an instance in any case.
func (m *model) place(i, d int) {
	for _, x := range m.dims {
		x.background[d] += x.amount[i]
	}
	m.hotUnits[i] = append(m.hotUnits[i], d)
}

func (m *model) hotPlace(i int) int {
	ends := func(d int) float64 {
		if m.scalar() {
			return (m.background[d] + m.s.Cost[i]) / m.s.Instances[d].Capacity
		}
		return m.fullest(d, i, (*dimension).backgrounds, (*dimension).maxima)
	}
	best := -1
	for _, d := range append([]int{int(m.s.Current[i]), int(m.s.Hash[i])}, m.live()...) {
		if m.may(i, d) && (best < 0 || ends(d) < ends(best)) {
			best = d
		}
	}
	return best
}

// live lists the live instances in ascending order of id.
func (m *model) live() []int {
	var live []int
	for d, in := range m.s.Instances {
		if in.Live() {
			live = append(live, d)
		}
	}
	return live
}

func (m *model) isHot(i int) bool { return m.hotUnits[i] != nil }

// tableSize counts the entries that an assignment needs.
func (m *model) tableSize(a Assignment) int64 {
	size := m.retained
	for i, units := range a {
		for d, n := range units {
			if d != int(m.s.Hash[i]) {
				size += n
			}
		}
	}
	return size
}

// idle reports whether there is nothing to do: no live instance above an
// L_max, nothing to drain, and the table within its limit.
func (m *model) idle() bool {
	a := current(m.s)
	if !m.within(a, (*dimension).maxima) {
		return false
	}
	for i := range m.s.Current {
		if m.leaves(i) {
			return false
		}
	}
	return m.o.TableLimit == nil || m.tableSize(a) <= *m.o.TableLimit
}

// within reports whether an assignment keeps the live instances within some bounds of each dimension.
func (m *model) within(a Assignment, of func(*dimension) []float64) bool {
	for _, x := range m.dims {
		load := x.loads(a)
		if slices.ContainsFunc(m.live(), func(d int) bool { return !fits(load[d], of(x)[d]) }) {
			return false
		}
	}
	return true
}

func descending(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}
