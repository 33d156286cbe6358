package plannertest

import (
	"math"
	"math/rand/v2"
	"slices"

	"plannerd/planner"
)

// leastLoads are a_d; nil if nothing is asked for.
func (m *model) leastLoads() []float64 {
	if m.o.ThetaMin == nil && !slices.ContainsFunc(m.s.Instances, func(in planner.Instance) bool {
		return in.Filling && in.Live()
	}) {
		return nil
	}
	level := math.Inf(1) // under rules fair loads can be reached
	if m.s.Eligibility == nil {
		level = m.level()
	}
	least := make([]float64, len(m.s.Instances))
	for _, d := range m.live() {
		theta := 1.0
		if m.o.ThetaMin != nil {
			theta = *m.o.ThetaMin
		}
		if m.s.Instances[d].Filling {
			theta = min(theta, m.o.ThetaMax)
		}
		least[d] = max(0, 1-theta) * min(m.fair[d], m.s.Instances[d].Capacity*level)
	}
	return least
}

// level is λ by bisection: Σ max(background_d, κ_d·λ) grows with it.
func (m *model) level() float64 {
	sum := func(level float64) (all float64) {
		for _, d := range m.live() {
			all += max(m.background[d], m.s.Instances[d].Capacity*level)
		}
		return all
	}
	low, high := 0.0, 0.0
	for _, d := range m.live() {
		high = max(high, m.total/m.s.Instances[d].Capacity)
	}
	for range 200 {
		if mid := low + (high-low)/2; sum(mid) > m.total {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

// lost is what rounding may make of all cost where backgrounds leave next to nothing of it.
const lost = 1e-15

// unfilledBy are the instances that an assignment leaves below a_d.
func (m *model) unfilledBy(a Assignment) []int32 {
	var list []int32
	for d, l := range m.loads(a) {
		if m.least != nil && l < m.least[d]*(1-1e-9)-lost*m.total {
			list = append(list, int32(d))
		}
	}
	return list
}

// Unfilled are the live instances that an assignment leaves below their least load.
func Unfilled(s *planner.Snapshot, o planner.Options, a Assignment) []int32 {
	return newModel(s, o).unfilledBy(a)
}

// OptimumFilled is the least objective of any assignment that meets all constraints and
// leaves no instance below a_d; +∞ if there is none.
func OptimumFilled(s *planner.Snapshot, o planner.Options) float64 {
	m := newModel(s, o)
	best := math.Inf(1)
	m.enumerate(func(p *partial) bool {
		violated, _ := p.overloads()
		return violated > 0 || p.tableExcess() > 0 || p.objective > best*(1+slack)
	}, func(p *partial) {
		if len(m.unfilledBy(p.a)) == 0 && m.score(p.a).Violated == 0 {
			best = min(best, m.score(p.a).Objective)
		}
	})
	return best
}

// AskToFill sets lower bounds: mostly such that some assignment meets them, or just not. It
// sets none that rounding would decide on.
func AskToFill(r *rand.Rand, c *Case) {
	for i := range c.Instances {
		c.Instances[i].Filling = r.IntN(3) == 0
	}
	if r.IntN(3) > 0 {
		theta := r.Float64() / 2
		if r.IntN(2) == 0 {
			theta = c.underloadOf(c.witness(r)) * pick(r, 1, 1, 1-0.9e-9, 1-1.1e-9, 1.1)
		}
		c.Options.ThetaMin = new(min(max(theta, 0), 1))
	}
	m := newModel(c.Snapshot(), c.Options)
	if slices.ContainsFunc(m.least, func(a float64) bool { return a > 0 && a*1e-9 < lost*m.total }) {
		c.Options.ThetaMin = nil
		for i := range c.Instances {
			c.Instances[i].Filling = false
		}
	}
}

// underloadOf is how far an assignment leaves some instance below what it can have.
func (c *Case) underloadOf(a Assignment) float64 {
	o := c.Options
	o.ThetaMin = new(float64)
	m, worst := newModel(c.Snapshot(), o), 0.0
	for d, l := range m.loads(a) {
		if m.least[d] > 0 {
			worst = max(worst, 1-l/m.least[d])
		}
	}
	return worst
}

// unfilled checks what the plan says about instances below a_d.
func (c *checker) unfilled() {
	var got []int32
	for _, y := range c.p.Unfilled {
		got = append(got, y.Instance)
		switch y.Cause {
		case planner.ShortOfKeys:
		case planner.ShortOfTable:
			if c.o.TableLimit == nil {
				c.errorf("instance %d is short because of a table limit that there is not", y.Instance)
			}
		case planner.ShortOfBudget:
			if c.o.MigrationLimit == nil && c.p.EndReason == planner.EndCompleted {
				c.errorf("instance %d is short because of a budget that there is not", y.Instance)
			}
		default:
			c.errorf("instance %d is short because of %q", y.Instance, y.Cause)
		}
	}
	if want := c.unfilledBy(c.after); !slices.Equal(got, want) {
		c.errorf("unfilled are %v, want %v", got, want)
	}
	if len(got) > 0 && c.p.Certificate != nil {
		c.errorf("a certificate, though instances %v are unfilled", got)
	}
}
