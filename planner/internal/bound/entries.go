package bound

import (
	"math"

	"plannerd/planner/internal/assign"
)

// otherEntries are those of hot keys and of keys that the statistics do not name.
func otherEntries(p *assign.Problem) int64 {
	n := p.Retained
	for _, h := range p.Hot {
		if h.To != p.Items.Home[h.Item] {
			n += h.Count
		}
	}
	return n
}

// FewestEntries is how many entries every plan has, whatever the loads: those of keys
// that cannot be at home, of pinned ones elsewhere, and of keys that the statistics do not name.
func FewestEntries(p *assign.Problem) int64 {
	n := p.Retained
	for i, d := range p.Items.Home {
		if !p.IsLive[d] {
			n += p.Items.UnitsOf(i)
		}
	}
	for _, h := range p.Hot[:p.Pinned] {
		if d := p.Items.Home[h.Item]; p.IsLive[d] && d != h.To {
			n++
		}
	}
	return n
}

// leastEntries is a table size that no plan stays below which keeps to the load
// limits; +∞ if none does.
func leastEntries(p *assign.Problem, level Level) float64 {
	q := p.CountingEntries()
	if q == nil {
		return 0
	}
	f := Prove(q, level)
	if f.Infeasible() {
		return math.Inf(1)
	}
	return f.LowerBound() + float64(otherEntries(p))
}
