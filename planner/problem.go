package planner

import (
	"math"

	"plannerd/internal/exact"
)

// problem is a snapshot under options, prepared for planning: loads in fixed
// point, bounds, and the hot keys where they are placed. It is never changed
// after newProblem, but for the meter.
type problem struct {
	s     *Snapshot
	o     Options
	cost  exact.Scale
	state exact.Scale

	live       []int32 // indices of the live instances, ascending
	total      int64   // all cost
	costliest  int64   // no key costs more
	unitCost   float64 // brings all costs into [0,1], exactly
	unitState  float64 // and all states
	totalState int64   // all state
	// sharedState is that of Snapshot.Shares.
	sharedState int64
	mostState   float64 // no unit of an item has more
	capacities  float64 // Σκ over live instances

	// Per instance:
	isLive     []bool    // keys may be placed on it
	fair       []float64 // L̄_d; 0 when not live
	maximum    []int64   // greatest load that counts as ≤ L_max,d
	bound      []float64 // b_d
	limit      []int64   // greatest load that counts as ≤ b_d
	residual   []int64
	before     []int64 // L(d,F)
	keysBefore []int64
	namedOn    []int64 // keys with a row, before

	hotAbove int64   // a key is hot iff its cost is above
	hot      []share // in the order of placement
	retained int64   // table entries of absent keys that stay
	entries  int64   // table entries if nothing moves, retained ones included

	meter meter
	// What strategies found out on their way, for the certificate.
	leastTheta float64 // no plan within the limits has a smaller θ
	proof      *proof  // of the last strategy that made one; the certificate rests on it
	// enough is an objective that is asked for, no less; 0: the least.
	enough float64
}

// share says that count units of an item go to an instance.
type share struct {
	item, to int32
	count    int64
}

func newProblem(s *Snapshot, o Options) (*problem, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := validateInstances("instances", s.Instances); err != nil {
		return nil, err
	}
	p := &problem{s: s, o: o, meter: meter{budget: o.WorkBudget, stop: o.Stop}}
	p.measure()
	p.sumUp()
	p.setBounds()
	if o.Objective == MinImbalance {
		p.hotAbove = math.MaxInt64 // every key counts towards θ, wherever it goes
	}
	p.placeHot()
	return p, nil
}

// measure chooses the scales of cost and state.
func (p *problem) measure() {
	s := p.s
	var cost, state exact.Magnitudes
	for _, d := range s.Instances {
		cost.Add(d.ResidualCost, 1)
	}
	var parts [mostParts]*[2]exact.Magnitudes
	inParts(s.Len(), func(part, from, to int) {
		var m [2]exact.Magnitudes
		counts := s.Count
		if counts != nil {
			counts = counts[from:to]
		}
		m[0].AddAll(s.Cost[from:to], counts)
		if s.State != nil {
			m[1].AddAll(s.State[from:to], counts)
		}
		parts[part] = &m
	})
	for _, m := range parts {
		if m != nil {
			cost.Merge(&m[0])
			state.Merge(&m[1])
		}
	}
	if s.State == nil {
		keys := int64(s.Len())
		if s.Count != nil {
			keys = 0
			for _, n := range s.Count {
				keys += n
			}
		}
		state.Add(1, keys)
	}
	p.mostState, p.unitState = state.Greatest, evenScale(state.Greatest)
	for _, d := range s.Instances {
		state.Add(d.ResidualState, 1)
	}
	for _, x := range s.Shares {
		state.Add(x.State, 1)
	}
	p.cost, p.state = cost.Scale(), state.Scale()
	p.costliest = p.cost.Fixed(cost.Greatest)
	p.unitCost = evenScale(cost.Greatest)
}

// sums is what some items add up to.
type sums struct {
	cost, keys     []int64 // by instance
	entries, state int64
}

// sumsOf adds up a range of items as they are now.
func (p *problem) sumsOf(from, to int) sums {
	s := p.s
	x := sums{cost: make([]int64, len(s.Instances)), keys: make([]int64, len(s.Instances))}
	current, hash := s.Current[from:to], s.Hash[from:to]
	for i, c := range s.Cost[from:to] {
		d, units := current[i], s.count(from+i)
		x.cost[d] += p.cost.Fixed(c) * units
		x.keys[d] += units
		if d != hash[i] {
			x.entries += units
		}
		x.state += p.state.Fixed(s.state(from+i)) * units
	}
	return x
}

// sumUp adds up loads, state, keys and table entries as they are now.
func (p *problem) sumUp() {
	s, n := p.s, len(p.s.Instances)
	p.isLive, p.fair, p.bound = make([]bool, n), make([]float64, n), make([]float64, n)
	p.maximum, p.limit = make([]int64, n), make([]int64, n)
	p.residual, p.before = make([]int64, n), make([]int64, n)
	p.keysBefore, p.namedOn = make([]int64, n), make([]int64, n)

	parts := make([]sums, mostParts)
	inParts(s.Len(), func(part, from, to int) { parts[part] = p.sumsOf(from, to) })
	for _, x := range parts {
		for d := range x.cost {
			p.before[d] += x.cost[d]
			p.namedOn[d] += x.keys[d]
		}
		p.entries += x.entries
		p.totalState += x.state
	}
	for d, x := range s.Instances {
		p.residual[d] = p.cost.Fixed(x.ResidualCost)
		p.before[d] += p.residual[d]
		p.total += p.before[d]
		p.totalState += p.state.Fixed(x.ResidualState)
		p.keysBefore[d] = p.namedOn[d] + x.ResidualKeys
		if x.Live() {
			p.isLive[d] = true
			p.live = append(p.live, int32(d))
			p.capacities += x.Capacity
		}
	}
	for _, x := range s.Shares {
		p.sharedState += p.state.Fixed(x.State)
	}
	p.totalState += p.sharedState
	p.retained = s.RetainedEntries()
	p.entries += p.retained
}

// named is the number of keys that the items stand for.
func (p *problem) named() int64 {
	keys := int64(0)
	for _, n := range p.namedOn {
		keys += n
	}
	return keys
}

func (p *problem) setBounds() {
	for _, d := range p.live {
		p.fair[d] = p.s.Instances[d].Capacity / p.capacities * float64(p.total)
		p.bound[d] = (1 + p.o.ThetaMax) * p.fair[d]
		p.maximum[d] = exact.AtMost(p.bound[d])
		p.hotAbove = max(p.hotAbove, p.maximum[d]-p.residual[d])
	}
}

func (p *problem) isHot(item int) bool {
	return len(p.hot) > 0 && p.cost.Fixed(p.s.Cost[item]) > p.hotAbove
}

// settled reports whether there is nothing to do: every live instance within
// L_max, or its fair load under objective MinImbalance, no key on a drained one,
// the table within its limit.
func (p *problem) settled() bool {
	for d := range p.s.Instances {
		most := p.maximum[d]
		if p.o.Objective == MinImbalance {
			most = exact.AtMost(p.fair[d])
		}
		if !p.isLive[d] && p.namedOn[d] > 0 || p.isLive[d] && p.before[d] > most {
			return false
		}
	}
	return p.tableExcess(p.entries) == 0
}

// tableExcess is how many entries a table of that size has too many.
func (p *problem) tableExcess(size int64) int64 {
	if p.o.TableLimit == nil {
		return 0
	}
	return max(0, size-*p.o.TableLimit)
}

// rate is a load relative to the instance's capacity.
func (p *problem) rate(d int32, load int64) float64 {
	return float64(load) / p.s.Instances[d].Capacity
}

// meter counts work and knows when to stop.
type meter struct {
	used, budget int64
	asked        int64
	stop         func() bool
	reason       EndReason
}

const (
	askEvery     = 4096 // work units between two calls of Options.Stop
	itemsPerUnit = 256  // items that are gone through for one work unit
)

// spend counts work units that are about to be done. It reports false when
// planning is to end, from then on always; they are not counted then, so that
// the units of a plan that was cut short are the budget that repeats it.
func (m *meter) spend(units int64) bool {
	switch {
	case m.reason != "":
	case m.budget > 0 && m.used+units > m.budget:
		m.reason = EndWorkBudget
	case m.stop != nil && m.used-m.asked >= askEvery && m.asksToStop():
		m.reason = EndStopped
	default:
		m.used += units
		return true
	}
	return false
}

// stopped reports whether planning is to end, without counting any work.
func (p *problem) stopped() bool {
	m := &p.meter
	if m.reason == "" && m.stop != nil && m.stop() {
		m.reason = EndStopped
	}
	return m.reason == EndStopped
}

func (m *meter) asksToStop() bool {
	m.asked = m.used
	return m.stop()
}
