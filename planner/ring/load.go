package ring

import (
	"math"

	"plannerd/internal/exact"
	"plannerd/planner"
)

// measured is statistics ready for sums, and where each key lies.
type measured struct {
	*planner.Statistics
	position    []uint32
	cost, state exact.Column
}

func measure(l *planner.Statistics) *measured {
	n := l.Keys.Len()
	m := &measured{
		Statistics: l, position: make([]uint32, n),
		cost: exact.NewColumn(l.Cost, n), state: exact.NewColumn(l.State, n),
	}
	for i := range m.position {
		m.position[i] = Position(l.Keys.At(i))
	}
	return m
}

// Skew is S = (W−U)/(M−U) of the messages that each node processed: W of the
// node with most, M of all R nodes together, U = ⌈M/R⌉; 0 if M = U ("DPA Load
// Balancer" §6.1.1). Loads that are not all whole numbers have U = M/R.
func Skew(loads []float64) float64 {
	m, w, whole := 0.0, 0.0, true
	for _, l := range loads {
		m += l
		w = max(w, l)
		whole = whole && l == math.Trunc(l)
	}
	if len(loads) == 0 {
		return 0
	}
	u := m / float64(len(loads))
	if whole {
		u = math.Ceil(u)
	}
	if m <= u {
		return 0
	}
	return max(0, (w-u)/(m-u))
}

// balance judges loads by the capacities of their nodes.
type balance struct {
	capacity []float64
	whole    float64 // Σκ
}

func newBalance(capacity []float64) balance {
	b := balance{capacity: capacity}
	for _, c := range capacity {
		b.whole += c
	}
	return b
}

// theta is max_d L(d)/L̄_d − 1, ≥ 0, of nodes that share a total load, some of
// which may be elsewhere; 0 without any load.
func (b balance) theta(loads []int64, total int64) float64 {
	most := 0.0
	for i, l := range loads {
		most = max(most, float64(l)/b.capacity[i])
	}
	return b.thetaOf(most, total)
}

// thetaOf is the θ of a greatest load per capacity.
func (b balance) thetaOf(most float64, total int64) float64 {
	if total == 0 {
		return 0
	}
	return max(0, most/(float64(total)/b.whole)-1)
}

// within reports whether θ counts as ≤ θ_max.
func within(theta, thetaMax float64) bool { return 1+theta <= (1+thetaMax)*(1+exact.Tolerance) }
