package assign

import (
	"math"
	"slices"

	"plannerd/internal/exact"
)

// Fill holds lower bounds on loads. Algorithms do not know them: what is left below is
// filled when they are done.
type Fill struct {
	Wanted []float64 // by instance: a_d; 0 where nothing is asked for. Nil: of none
	Least  []int64   // the least load that counts as ≥ a_d
	// Floor is the load below which no instance is pushed for the sake of another: its own
	// least load, or what that would be under θ_max.
	Floor []int64
}

// Reached reports whether every load counts as enough.
func (f *Fill) Reached(load []int64) bool {
	for d, least := range f.Least {
		if load[d] < least {
			return false
		}
	}
	return true
}

// setFill sets the lower bounds that the goal and the instances ask for.
func (p *Problem) setFill() {
	filling := func(d int32) bool { return p.Instances[d].Filling }
	if p.Goal.ThetaMin == nil && !slices.ContainsFunc(p.Live, filling) {
		return
	}
	n := len(p.Instances)
	f := Fill{Wanted: make([]float64, n), Least: make([]int64, n), Floor: make([]int64, n)}
	level := math.Inf(1) // under rules fair loads can be reached
	if p.Items.Rules == nil {
		level = p.reachableLevel()
	}
	for _, d := range p.Live {
		reachable := min(p.Fair[d], p.Instances[d].Capacity*level)
		f.Floor[d] = exact.AtLeast(max(0, 1-p.Goal.ThetaMax) * reachable)
		theta := 1.0
		if p.Goal.ThetaMin != nil {
			theta = *p.Goal.ThetaMin
		}
		if filling(d) {
			theta = min(theta, p.Goal.ThetaMax)
		}
		f.Wanted[d] = max(0, 1-theta) * reachable
		f.Least[d] = exact.AtLeast(f.Wanted[d])
		if p.Goal.ThetaMin != nil || filling(d) {
			f.Floor[d] = f.Least[d]
		}
	}
	p.Fill = f
}

// Background is by instance the cost that stays there in every plan: of keys that no item
// stands for, and of hot ones.
func (p *Problem) Background() []int64 {
	background := slices.Clone(p.Residual)
	for _, h := range p.Hot {
		background[h.To] += p.Cost.Fixed(p.Items.Cost[h.Item]) * h.Count
	}
	return background
}

// reachableLevel is the λ for which Σ max(background_d, κ_d·λ) over live instances is all
// cost: an instance can be at κ_d·λ while what cannot move keeps others above.
func (p *Problem) reachableLevel() float64 {
	background := p.Background()
	below, rest := slices.Clone(p.Live), p.Total // the instances that λ may raise, and their cost
	for {
		capacities := 0.0
		for _, d := range below {
			capacities += p.Instances[d].Capacity
		}
		level, before := max(0, float64(rest)/capacities), len(below)
		below = slices.DeleteFunc(below, func(d int32) bool {
			above := float64(background[d]) > p.Instances[d].Capacity*level
			if above {
				rest -= background[d]
			}
			return above
		})
		if len(below) == before || len(below) == 0 {
			return level
		}
	}
}
