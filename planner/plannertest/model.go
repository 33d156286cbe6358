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
	total      float64
	fair       []float64 // L̄_d
	max        []float64 // L_max,d
	background []float64
	bound      []float64 // b_d
	least      []float64 // a_d; nil: nothing is asked for

	hot      []int         // hot items in descending cost
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
	m.limits()
	m.placeHot()
	m.least = m.leastLoads()
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

func (m *model) limits() {
	n := len(m.s.Instances)
	m.fair, m.max = make([]float64, n), make([]float64, n)
	m.background, m.bound = make([]float64, n), make([]float64, n)
	var capacity float64
	for d, in := range m.s.Instances {
		m.total += in.ResidualCost
		m.background[d] = in.ResidualCost
		if in.Live() {
			m.liveCount++
			capacity += in.Capacity
		}
	}
	for i, c := range m.s.Cost {
		m.total += c * float64(count(m.s, i))
	}
	if m.s.Eligibility != nil {
		m.fair = m.ruledFair()
	}
	for d, in := range m.s.Instances {
		if in.Live() {
			if m.s.Eligibility == nil {
				m.fair[d] = in.Capacity / capacity * m.total
			}
			m.max[d] = (1 + m.o.ThetaMax) * m.fair[d]
		}
	}
}

// placeHot finds the hot items and puts each of their units where the hot and
// residual load, relative to the capacity, ends least.
func (m *model) placeHot() {
	for _, i := range m.canonical {
		if m.pinned(i) {
			d := int(m.s.Current[i])
			m.background[d] += m.s.Cost[i]
			m.hotUnits[i] = []int{d}
			continue
		}
		hot := m.o.Objective != planner.MinImbalance // which places all keys alike
		for d, in := range m.s.Instances {
			if m.may(i, d) && fits(in.ResidualCost+m.s.Cost[i], m.max[d]) {
				hot = false
			}
		}
		if hot {
			m.hot = append(m.hot, i)
		}
	}
	slices.SortStableFunc(m.hot, func(a, b int) int { return descending(m.s.Cost[a], m.s.Cost[b]) })
	for _, i := range m.hot {
		for range count(m.s, i) {
			d := m.hotPlace(i)
			m.background[d] += m.s.Cost[i]
			m.hotUnits[i] = append(m.hotUnits[i], d)
		}
	}
	for d := range m.bound {
		m.bound[d] = math.Max(m.max[d], m.background[d])
	}
}

func (m *model) hotPlace(i int) int {
	ends := func(d int) float64 { return (m.background[d] + m.s.Cost[i]) / m.s.Instances[d].Capacity }
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

// loads sums up the cost of an assignment on each instance.
func (m *model) loads(a Assignment) []float64 {
	load := make([]float64, len(m.s.Instances))
	for d, in := range m.s.Instances {
		load[d] = in.ResidualCost
	}
	for i, units := range a {
		for d, n := range units {
			load[d] += m.s.Cost[i] * float64(n)
		}
	}
	return load
}

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

// idle reports whether there is nothing to do: no live instance above its
// L_max, nothing to drain, and the table within its limit.
func (m *model) idle() bool {
	a := current(m.s)
	for d, l := range m.loads(a) {
		if m.s.Instances[d].Live() && !fits(l, m.max[d]) {
			return false
		}
	}
	for i := range m.s.Current {
		if m.leaves(i) {
			return false
		}
	}
	return m.o.TableLimit == nil || m.tableSize(a) <= *m.o.TableLimit
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
