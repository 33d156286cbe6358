package assign

import "slices"

// Busy is the problem without its idle items, those that cost nothing and are at home: they
// stay in every plan worth making. rows tells which items of p the others are; it is nil, and
// the problem p itself, if none is idle. What is known of one problem holds for the other.
func (p *Problem) Busy() (q *Problem, rows []int32) {
	s := p.Items
	if p.ByResource != nil || p.fixed {
		return p, nil
	}
	parts := make([]int, MostParts)
	InParts(s.Len(), func(part, from, to int) {
		for i := from; i < to; i++ {
			if p.isIdle(i) {
				parts[part]++
			}
		}
	})
	idle := 0
	for _, n := range parts {
		idle += n
	}
	if idle == 0 {
		return p, nil
	}
	n, sites := s.Len()-idle, slices.Clone(p.Instances)
	rows = make([]int32, 0, n)
	t := &Items{
		Cost: make([]float64, n), Current: make([]int32, n), Home: make([]int32, n), Hashes: make([]uint64, n),
		Compare:  func(i, j int32) int { return s.Compare(rows[i], rows[j]) },
		Unplaced: s.Unplaced,
	}
	for i := range s.Len() {
		if p.isIdle(i) {
			sites[s.Current[i]].State += float64(s.StateOf(i) * float64(s.UnitsOf(i)))
		} else {
			rows = append(rows, int32(i))
		}
	}
	t.Rules = s.Rules.Of(rows)
	if s.State != nil {
		t.State = make([]float64, n)
	}
	if s.Units != nil {
		t.Units = make([]int64, n)
	}
	if s.Divided != nil {
		t.Divided = make([]bool, n)
	}
	for j, i := range rows {
		if s.Divided != nil {
			t.Divided[j] = s.Divided[i]
		}
		t.Cost[j], t.Current[j], t.Home[j], t.Hashes[j] = s.Cost[i], s.Current[i], s.Home[i], s.Hashes[i]
		if s.State != nil {
			t.State[j] = s.State[i]
		}
		if s.Units != nil {
			t.Units[j] = s.Units[i]
		}
	}
	return NewProblem(t, sites, p.Retained, p.Goal, p.Meter), rows
}

func (p *Problem) isIdle(i int) bool {
	s := p.Items
	return s.Cost[i] == 0 && s.Current[i] == s.Home[i] && p.IsLive[s.Home[i]] && (s.Divided == nil || !s.Divided[i])
}

// Within makes an assignment of p of one of the problem that p is without its idle items.
func (a *Assignment) Within(p *Problem, rows []int32) *Assignment {
	if rows == nil {
		return a
	}
	b := p.Unmoved().Clone()
	for _, m := range a.Moves() {
		b.MoveUnits(rows[m.Item], m.Units, m.To)
	}
	return b
}
