package plannertest

import (
	"cmp"
	"math"

	"plannerd/planner"
)

// Score holds what decides which of two assignments is better, in the order of
// its fields; less is better.
type Score struct {
	// Of several dimensions: how many kinds of constraints are violated, 4 where the greatest excess is above that if
	// nothing but hot units moves; and 1 plus that excess, if there is any, in 24 bits.
	Broken      int
	Worst       float32
	Violated    int     // live instances above b_d, in each dimension, and the table if above its limit
	Excess      float64 // largest L(d)/b_d − 1 of those instances, else 0; +∞ where b_d is 0
	TableExcess int64
	Objective   float64
	Table       int64
	Moves       int64
	Theta       float64
}

// Compare is negative when a is better than b.
func (a Score) Compare(b Score) int {
	return cmp.Or(
		cmp.Compare(a.Broken, b.Broken),
		cmp.Compare(a.Worst, b.Worst),
		cmp.Compare(a.Violated, b.Violated),
		compareExcess(a.Excess, b.Excess),
		cmp.Compare(a.TableExcess, b.TableExcess),
		cmp.Compare(a.Objective, b.Objective),
		cmp.Compare(a.Table, b.Table),
		cmp.Compare(a.Moves, b.Moves),
		cmp.Compare(a.Theta, b.Theta),
	)
}

// compareExcess takes for equal what the one predicate cannot tell apart.
func compareExcess(a, b float64) int {
	if fits(1+a, 1+b) && fits(1+b, 1+a) {
		return 0
	}
	return cmp.Compare(a, b)
}

// ScoreOf scores an assignment.
func ScoreOf(s *planner.Snapshot, o planner.Options, a Assignment) Score {
	return newModel(s, o).score(a)
}

func (m *model) score(a Assignment) Score {
	sc := Score{Table: m.tableSize(a)}
	for _, x := range m.dims {
		load := x.loads(a)
		for _, d := range m.live() {
			if !fits(load[d], x.bound[d]) {
				sc.Violated++
				sc.Excess = math.Max(sc.Excess, load[d]/x.bound[d]-1)
			}
			if x == m.dimension {
				sc.Theta = math.Max(sc.Theta, x.level(d, load[d]))
			}
		}
	}
	if m.o.TableLimit != nil && sc.Table > *m.o.TableLimit {
		sc.Violated++
		sc.TableExcess = sc.Table - *m.o.TableLimit
	}
	m.breach(&sc)
	for i, units := range a {
		moved := count(m.s, i) - units[m.s.Current[i]]
		sc.Moves += moved
		sc.Objective += float64(moved) * (state(m.s, i) + m.o.KeyOverhead)
	}
	return sc
}

// breach sets what comes first where there are several dimensions.
func (m *model) breach(sc *Score) {
	if m.scalar() {
		return
	}
	if sc.Excess > 0 {
		sc.Worst = float32(1 + sc.Excess)
	}
	for _, broken := range []bool{sc.Excess > 0, sc.TableExcess > 0} {
		if broken {
			sc.Broken++
		}
	}
	if sc.Excess > m.overload && compareExcess(sc.Excess, m.overload) != 0 {
		sc.Broken = 4
	}
}

// standing leaves all units where they are but the hot ones. It reports false if others have to leave.
func (m *model) standing() (a Assignment, ok bool) {
	a, ok = current(m.s), true
	for i := range a {
		ok = ok && !m.leaves(i)
		if m.isHot(i) {
			clear(a[i])
			a[i][m.hotUnits[i][0]] = 1
		}
	}
	return a, ok
}

// noWorse is an assignment, or the standing one where that exceeds no bound by as much.
func (m *model) noWorse(a Assignment) Assignment {
	if !m.scalar() && m.score(a).Broken == 4 {
		a, _ = m.standing()
	}
	return a
}

// better compares two assignments; on equal scores the first item in canonical
// order that is placed otherwise decides, by moving to the lower instance.
func (m *model) better(a, b Assignment) bool {
	if c := m.score(a).Compare(m.score(b)); c != 0 {
		return c < 0
	}
	for _, i := range m.canonical {
		for d := range a[i] {
			if d != int(m.s.Current[i]) && a[i][d] != b[i][d] {
				return a[i][d] > b[i][d]
			}
		}
	}
	return false
}

func (a Assignment) clone() Assignment {
	c := make(Assignment, len(a))
	for i := range a {
		c[i] = append([]int64(nil), a[i]...)
	}
	return c
}
