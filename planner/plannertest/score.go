package plannertest

import (
	"cmp"
	"math"

	"plannerd/planner"
)

// Score holds what decides which of two assignments is better, in the order of
// its fields; less is better.
type Score struct {
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
	for i, units := range a {
		moved := count(m.s, i) - units[m.s.Current[i]]
		sc.Moves += moved
		sc.Objective += float64(moved) * (state(m.s, i) + m.o.KeyOverhead)
	}
	return sc
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
