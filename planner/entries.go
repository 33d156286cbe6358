package planner

import (
	"math"
	"slices"
)

// leastTable is the problem to keep to the load limits with as few table entries
// as possible: all keys are at home, and each that leaves counts 1. Hot keys are
// where they are placed in p. It is nil for items with counts.
func (p *problem) leastTable() *problem {
	if p.s.Count != nil {
		return nil
	}
	s := p.s.stateless()
	s.Current = slices.Clone(s.Hash)
	for _, h := range p.hot {
		s.Current[h.item] = h.to
	}
	o := p.o
	o.Objective, o.TableLimit, o.MigrationLimit, o.KeyOverhead = MinMigration, nil, nil, 0
	q, err := newProblem(s, o)
	if err != nil {
		return nil
	}
	q.hot, q.bound, q.limit, q.meter = p.hot, p.bound, p.limit, p.meter
	return q
}

// otherEntries are those of hot keys and of keys that the statistics do not name.
func (p *problem) otherEntries() int64 {
	n := p.retained
	for _, h := range p.hot {
		if h.to != p.s.Hash[h.item] {
			n += h.count
		}
	}
	return n
}

// leastEntries is a table size that no plan stays below which keeps to the load
// limits; +∞ if none does.
func (p *problem) leastEntries(level CertificateLevel) float64 {
	q := p.leastTable()
	if q == nil {
		return 0
	}
	f := q.prove(level)
	if f.infeasible() {
		return math.Inf(1)
	}
	return f.lowerBound() + float64(p.otherEntries())
}

// smallTable is an assignment of about the fewest table entries, improved where
// it meets the table limit; nil if there is none.
func (p *problem) smallTable(f *proof, effort int64) *assignment {
	q := p.leastTable()
	if q == nil || p.meter.reason != "" {
		return nil
	}
	a := minMigration(q, f.level)
	p.meter = q.meter
	if a == nil {
		return nil
	}
	a = p.adopt(a)
	if a.score().tableExcess == 0 && !f.infeasible() {
		y := &f.nodes[0].y
		p.improve(a, a.searchCore(f.x, y), y, effort)
	}
	return a
}
