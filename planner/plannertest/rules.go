package plannertest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"plannerd/planner"
)

// may reports whether an item may be on an instance.
func (m *model) may(i, d int) bool {
	e := m.s.Eligibility
	return d < len(m.s.Instances) && m.s.Instances[d].Live() && (e == nil || e.Open[e.Class[i]][d])
}

// open lists the instances on which an item may be.
func (m *model) openTo(i int) []int {
	return slices.DeleteFunc(m.live(), func(d int) bool { return !m.may(i, d) })
}

func (m *model) pinned(i int) bool {
	e := m.s.Eligibility
	return e != nil && e.Pinned != nil && e.Pinned[i]
}

// leaves reports whether an item has to leave the instance where it is.
func (m *model) leaves(i int) bool { return !m.may(i, int(m.s.Current[i])) }

// divisible is a load that may be divided over some instances.
type divisible struct {
	load float64
	on   []int
}

// divisibles are all loads of a case as if keys were divisible.
func (m *model) divisibles(x *dimension) (loads []divisible) {
	for i, v := range x.amount {
		on := m.openTo(i)
		if m.pinned(i) {
			on = []int{int(m.s.Current[i])}
		}
		loads = append(loads, divisible{v, on})
	}
	for d, in := range m.s.Instances {
		on := []int{d}
		if !in.Live() {
			on = m.live()
		}
		loads = append(loads, divisible{x.residual[d], on})
	}
	return loads
}

// inside reports whether a load can be on none of the instances that are left but chosen ones.
func (x divisible) inside(left, chosen []int) bool {
	some := false
	for _, d := range x.on {
		if !slices.Contains(left, d) {
			continue
		}
		some = true
		if !slices.Contains(chosen, d) {
			return false
		}
	}
	return some
}

// ruledFair are fair loads under rules, by trying all sets of instances: those of a set carry at
// least what may be on no others. The set that has to carry most for its capacity carries just
// that, and what may be on it is gone for the rest.
func (m *model) ruledFair(of *dimension) []float64 {
	loads := m.divisibles(of)
	fair, left := make([]float64, len(m.s.Instances)), m.live()
	for len(left) > 0 {
		best, most := m.busiest(of, left, loads)
		loads = slices.DeleteFunc(loads, func(x divisible) bool { return x.inside(left, best) })
		for _, d := range best {
			fair[d] = most * of.capacity[d]
		}
		left = slices.DeleteFunc(left, func(d int) bool { return slices.Contains(best, d) })
	}
	return fair
}

// busiest is the set of instances that have to carry most for their capacity.
func (m *model) busiest(of *dimension, left []int, loads []divisible) (best []int, most float64) {
	most = -1
	for set := 1; set < 1<<len(left); set++ {
		var chosen []int
		capacity, load := 0.0, 0.0
		for b, d := range left {
			if set>>b&1 == 1 {
				chosen, capacity = append(chosen, d), capacity+of.capacity[d]
			}
		}
		for _, x := range loads {
			if x.inside(left, chosen) {
				load += x.load
			}
		}
		if load/capacity > most*(1+1e-12) {
			best, most = chosen, load/capacity
		}
	}
	return best, most
}

// Restrict lays rules on a case: some classes of keys may be on some of the live instances alone,
// and some keys stay where they are. Costs that fixed point rounds away beside others are 0: under
// rules they could be all that some instances may carry.
func Restrict(r *rand.Rand, c *Case) {
	c.Counted = false
	var live []int
	for d, in := range c.Instances {
		if in.Live() {
			live = append(live, d)
		}
	}
	classes := 1 + r.IntN(4)
	c.Open = nil
	for range classes {
		open := make([]bool, len(c.Instances))
		open[live[r.IntN(len(live))]] = true
		for _, d := range live {
			open[d] = open[d] || r.IntN(3) > 0
		}
		c.Open = append(c.Open, open)
	}
	stays, all := r.IntN(3) == 0, 0.0
	for _, it := range c.Items {
		all += it.Cost
	}
	for d := range c.Instances {
		all += c.Instances[d].ResidualCost
	}
	for i := range c.Items {
		it := &c.Items[i]
		if it.Cost < 1e-8*all {
			it.Cost = 0
		}
		it.Class, it.Count = int32(r.IntN(classes)), 1
		if r.IntN(3) > 0 && !c.Open[it.Class][it.Hash] && c.Instances[it.Hash].Live() { // most hashes know the rules
			it.Hash = int32(slices.Index(c.Open[it.Class], true))
		}
		it.Pinned = stays && r.IntN(3) == 0 && c.Open[it.Class][it.Current]
	}
}

// eligibility is that of the case's items; nil without rules.
func (c *Case) eligibility() *planner.Eligibility {
	if c.Open == nil {
		return nil
	}
	e := &planner.Eligibility{Open: c.Open}
	for _, it := range c.Items {
		e.Class, e.Pinned = append(e.Class, it.Class), append(e.Pinned, it.Pinned)
	}
	return e
}

func (c *Case) rulesString() string {
	if c.Open == nil {
		return ""
	}
	return "\tOpen: " + fmt.Sprintf("%#v", c.Open) + ",\n"
}
