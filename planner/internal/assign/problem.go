package assign

import (
	"math"
	"slices"

	"plannerd/internal/exact"
)

// Problem is a set of items under a goal, prepared for planning: loads in fixed
// point, bounds, and the hot keys where they are placed. It is never changed once it
// is made.
type Problem struct {
	Items     *Items
	Instances []Instance
	Goal      Goal
	Cost      exact.Scale
	State     exact.Scale

	Live       []int32 // indices of the live instances, ascending
	Total      int64   // all cost
	Costliest  int64   // no key costs more
	UnitCost   float64 // brings all costs into [0,1], exactly
	UnitState  float64 // and all states
	TotalState int64   // all state
	mostState  float64 // no unit of an item has more
	capacities float64 // Σκ over live instances

	// Per instance:
	IsLive   []bool    // keys may be placed on it
	Fair     []float64 // L̄_d; 0 when not live
	Maximum  []int64   // greatest load that counts as ≤ L_max,d
	Bound    []float64 // b_d
	Limit    []int64   // greatest load that counts as ≤ b_d
	Fill     Fill
	Residual []int64
	Before   []int64 // L(d,F)
	NamedOn  []int64 // keys that items stand for, before

	hotAbove int64     // a key is hot iff its cost is above
	Hot      []share   // in the order of placement
	Pinned   int       // how many of them are not hot, but pinned: the first ones
	hot      []bool    // by item, under rules: whether it is one of them
	open     [][]int32 // under rules, by class: the live instances on which its items may be
	// ByResource are the problems of one resource each, where there are several: that of cost first.
	ByResource []*Problem
	Size       []float64 // then, by item: its greatest share of all of a resource
	overload   float64   // and by how much, relative to it, a bound is exceeded at most if nothing moves
	fixed      bool      // it is one of ByResource: its bounds are not its own alone
	Retained   int64     // table entries of other keys, which stay
	Entries    int64     // table entries if nothing moves, retained ones included

	// meter counts the work on the problem.
	Meter *Meter
}

// share says that count units of an item go to an instance.
type share struct {
	Item, To int32
	Count    int64
}

// NewProblem prepares items on sites for planning. retained is the number of table
// entries of other keys, which stay.
func NewProblem(s *Items, sites []Instance, retained int64, g Goal, m *Meter) *Problem {
	p := &Problem{Items: s, Instances: sites, Retained: retained, Goal: g, Meter: m}
	p.measure()
	p.sumUp()
	p.setOpen()
	p.setBounds()
	if g.Imbalance {
		p.hotAbove = math.MaxInt64 // every key counts towards θ, wherever it goes
	}
	if len(s.Resources) > 0 {
		p.setByResource()
	} else {
		p.placeHot()
	}
	p.setFill()
	return p
}

// measure chooses the scales of cost and state.
func (p *Problem) measure() {
	s := p.Items
	var cost, state exact.Magnitudes
	if s.Unplaced > 0 {
		cost.Add(s.Unplaced, 1)
	}
	for _, d := range p.Instances {
		cost.Add(d.Cost, 1)
		if d.Merging > 0 {
			cost.Add(d.Merging, 1)
		}
	}
	var parts [MostParts]*[2]exact.Magnitudes
	InParts(s.Len(), func(part, from, to int) {
		var m [2]exact.Magnitudes
		counts := s.Units
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
		if s.Units != nil {
			keys = 0
			for _, n := range s.Units {
				keys += n
			}
		}
		state.Add(1, keys)
	}
	p.mostState, p.UnitState = state.Greatest, evenScale(state.Greatest)
	for _, d := range p.Instances {
		state.Add(d.State, 1)
	}
	p.Cost, p.State = cost.Scale(), state.Scale()
	p.Costliest = p.Cost.Fixed(cost.Greatest)
	p.UnitCost = evenScale(cost.Greatest)
}

// sums is what some items add up to.
type sums struct {
	cost, keys     []int64 // by instance
	entries, state int64
}

// sumsOf adds up a range of items as they are now.
func (p *Problem) sumsOf(from, to int) sums {
	s := p.Items
	x := sums{cost: make([]int64, len(p.Instances)), keys: make([]int64, len(p.Instances))}
	current, home := s.Current[from:to], s.Home[from:to]
	for i, c := range s.Cost[from:to] {
		d, units := current[i], s.UnitsOf(from+i)
		x.cost[d] += p.Cost.Fixed(c) * units
		x.keys[d] += units
		if d != home[i] {
			x.entries += units
		}
		x.state += p.State.Fixed(s.StateOf(from+i)) * units
	}
	return x
}

// sumUp adds up loads, state, keys and table entries as they are now.
func (p *Problem) sumUp() {
	n := len(p.Instances)
	p.IsLive, p.Fair, p.Bound = make([]bool, n), make([]float64, n), make([]float64, n)
	p.Maximum, p.Limit = make([]int64, n), make([]int64, n)
	p.Residual, p.Before = make([]int64, n), make([]int64, n)
	p.NamedOn = make([]int64, n)

	parts := make([]sums, MostParts)
	InParts(p.Items.Len(), func(part, from, to int) { parts[part] = p.sumsOf(from, to) })
	for _, x := range parts {
		for d := range x.cost {
			p.Before[d] += x.cost[d]
			p.NamedOn[d] += x.keys[d]
		}
		p.Entries += x.entries
		p.TotalState += x.state
	}
	p.Total = p.Cost.Fixed(p.Items.Unplaced)
	for d, x := range p.Instances {
		p.Residual[d] = p.Cost.Fixed(x.Cost)
		p.Total += p.Before[d] + p.Residual[d]
		p.Residual[d] += p.Cost.Fixed(x.Merging)
		p.Before[d] += p.Residual[d]
		p.NamedOn[d] += x.Parts
		p.TotalState += p.State.Fixed(x.State)
		if x.Live {
			p.IsLive[d] = true
			p.Live = append(p.Live, int32(d))
			p.capacities += x.Capacity
		}
	}
	p.Entries += p.Retained
}

// Named is the number of keys that the items stand for.
func (p *Problem) Named() int64 {
	keys := int64(0)
	for _, n := range p.NamedOn {
		keys += n
	}
	return keys
}

func (p *Problem) setBounds() {
	if p.Items.Rules != nil {
		p.setBoundsByRule()
		return
	}
	for _, d := range p.Live {
		p.Fair[d] = p.Instances[d].Capacity / p.capacities * float64(p.Total)
		p.Bound[d] = (1 + p.Goal.ThetaMax) * p.Fair[d]
		p.Maximum[d] = exact.AtMost(p.Bound[d])
		p.hotAbove = max(p.hotAbove, p.Maximum[d]-p.Residual[d])
	}
}

// IsHot reports whether no instance can carry one unit of the item within its share: it
// stands where the problem has placed it, or divided it.
func (p *Problem) IsHot(item int) bool {
	if p.hot != nil {
		return p.hot[item]
	}
	return len(p.Hot) > 0 && p.Cost.Fixed(p.Items.Cost[item]) > p.hotAbove ||
		p.Items.Divided != nil && p.Items.Divided[item]
}

// Settled reports whether there is nothing to do: every live instance within
// L_max, or its fair load under objective MinImbalance, no key on a drained one,
// the table within its limit.
func (p *Problem) Settled() bool {
	for d := range p.Instances {
		most := p.Maximum[d]
		if p.Goal.Imbalance {
			most = exact.AtMost(p.Fair[d])
		}
		if !p.IsLive[d] && p.NamedOn[d] > 0 || p.IsLive[d] && p.Before[d] > most {
			return false
		}
	}
	return p.TableExcess(p.Entries) == 0 && p.settledResources()
}

// settledResources reports whether all resources beside cost are within their bounds.
func (p *Problem) settledResources() bool {
	for r, q := range p.ByResource {
		for _, d := range q.Live {
			if r > 0 && q.Before[d] > q.Maximum[d] {
				return false
			}
		}
	}
	return true
}

// TableExcess is how many entries a table of that size has too many.
func (p *Problem) TableExcess(size int64) int64 {
	if p.Goal.TableLimit == nil {
		return 0
	}
	return max(0, size-*p.Goal.TableLimit)
}

// Rate is a load relative to the instance's capacity.
func (p *Problem) Rate(d int32, load int64) float64 {
	return float64(load) / p.Instances[d].Capacity
}

// Meter counts work and knows when to stop.
type Meter struct {
	Used, Budget int64
	asked        int64
	Stop         func() bool
	End          End
}

// End is what ended planning early, if anything has.
type End uint8

// The ends.
const (
	Running   End = iota // nothing
	OutOfWork            // the budget ran out
	Stopped              // stop said so
)

const askEvery = 4096 // work units between two calls of Stop

// ItemsPerWorkUnit is how many items are gone through for one work unit.
const ItemsPerWorkUnit = 256

// Spend counts work units that are about to be done. It reports false when
// planning is to end, from then on always; they are not counted then, so that
// the units of a plan that was cut short are the budget that repeats it.
func (m *Meter) Spend(units int64) bool {
	switch {
	case m.End != Running:
	case m.Budget > 0 && m.Used+units > m.Budget:
		m.End = OutOfWork
	case m.Stop != nil && m.Used-m.asked >= askEvery && m.asksToStop():
		m.End = Stopped
	default:
		m.Used += units
		return true
	}
	return false
}

// Stopped reports whether planning is to end, without counting any work.
func (p *Problem) Stopped() bool {
	m := p.Meter
	if m.End == Running && m.Stop != nil && m.Stop() {
		m.End = Stopped
	}
	return m.End == Stopped
}

func (m *Meter) asksToStop() bool {
	m.asked = m.Used
	return m.Stop()
}

// CountingEntries is the problem to keep to the load limits with as few table entries
// as possible: all keys are at home, and each that leaves counts 1. Hot keys are
// where they are placed in p. It is nil for items with counts.
func (p *Problem) CountingEntries() *Problem {
	if p.Items.Units != nil || p.ByResource != nil && len(p.Hot) > 0 {
		return nil
	}
	s, sites := p.Stateless()
	s.Current = slices.Clone(s.Home)
	for _, h := range p.Hot {
		s.Current[h.Item] = h.To
	}
	goal := Goal{ThetaMax: p.Goal.ThetaMax, Effort: p.Goal.Effort}
	if p.fixed {
		return p.with(s, sites, goal)
	}
	q := NewProblem(s, sites, p.Retained, goal, p.Meter)
	if p.ByResource != nil {
		return q
	}
	q.Hot, q.Bound, q.Limit, q.hot = p.Hot, p.Bound, p.Limit, p.hot
	return q
}

// Stateless are the items with each key counting 1, and other keys nothing.
func (p *Problem) Stateless() (*Items, []Instance) {
	s, sites := *p.Items, slices.Clone(p.Instances)
	s.State = nil
	for d := range sites {
		sites[d].State = 0
	}
	return &s, sites
}

// evenScale is the power of four that brings x, and all below, into [0,1].
func evenScale(x float64) float64 {
	if x == 0 {
		return 1
	}
	_, e := math.Frexp(x)
	e += e & 1
	return math.Ldexp(1, -max(min(e, 1000), -1000))
}
