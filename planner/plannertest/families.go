package plannertest

import (
	"math"
	"math/rand/v2"
	"slices"

	"plannerd/planner"
)

// CaseOf takes a snapshot without shares apart.
func CaseOf(s *planner.Snapshot, o planner.Options) *Case {
	c := &Case{
		Instances: s.Instances, NoState: s.State == nil, Counted: s.Count != nil, TableKnown: s.Table != nil,
		Partial: s.Partial, HashChanged: s.HashChanged, Options: o,
	}
	for i := range s.Len() {
		it := Item{
			Key: string(s.Keys.At(i)), Cost: s.Cost[i], State: state(s, i), Count: count(s, i),
			Current: s.Current[i], Hash: s.Hash[i], Entry: planner.NoInstance,
		}
		if s.Entry != nil && s.Entry[i] >= 0 {
			it.Entry = s.Table.At(int(s.Entry[i])).Instance
		}
		c.Items = append(c.Items, it)
	}
	for _, e := range absentEntries(s) {
		c.Absent = append(c.Absent, s.Table.At(e))
	}
	return c
}

// Vary gives a case what its generator may not have: equal keys in one item, an instance
// that is removed or added, residuals, an overhead of each key, and limits that some
// assignment meets, or just does not. It returns the case.
func (c *Case) Vary(r *rand.Rand) *Case {
	if !c.Counted && r.IntN(4) == 0 {
		c.count(r)
	}
	if at := int32(r.IntN(len(c.Instances))); len(c.Instances) > 1 && !c.changed() && !c.frozen() {
		if r.IntN(4) == 0 {
			c.drain(at, r)
		} else if r.IntN(4) == 0 {
			c.add(at, r)
		}
	}
	if !c.Partial && r.IntN(6) == 0 {
		c.Partial = true
		c.residuals(r)
		for d := range c.Instances {
			c.Instances[d].ResidualCost *= c.Items[0].Cost / 10
		}
	}
	c.options(r, 1+len(c.Items))
	if r.IntN(2) == 0 {
		c.Options.KeyOverhead *= c.Items[r.IntN(len(c.Items))].State
	}
	c.limit(r)
	return c
}

func (c *Case) frozen() bool {
	return slices.ContainsFunc(c.Instances, func(d planner.Instance) bool { return d.Frozen })
}

// count makes some items stand for several keys, at most 8 in all.
func (c *Case) count(r *rand.Rand) {
	c.Counted, c.TableKnown, c.Absent = true, false, nil
	for i := range c.Items {
		c.Items[i].Entry = planner.NoInstance
	}
	for range 8 - len(c.Items) {
		c.Items[r.IntN(len(c.Items))].Count++
	}
}

// drain removes an instance: its keys are hashed elsewhere.
func (c *Case) drain(at int32, r *rand.Rand) {
	c.Instances[at].Drained, c.HashChanged = true, true
	for i := range c.Items {
		if c.Items[i].Hash == at {
			c.Items[i].Hash = c.place(r, false)
		}
	}
}

// add makes an instance one that is new: its keys are still elsewhere.
func (c *Case) add(at int32, r *rand.Rand) {
	c.Instances[at].Added, c.HashChanged = true, true
	for i := range c.Items {
		it := &c.Items[i]
		for it.Current == at {
			it.Current = int32(r.IntN(len(c.Instances)))
		}
		if it.Entry == c.Instances[at].ID {
			it.Entry = c.Instances[it.Current].ID
		}
	}
}

// limit sets limits like those of [Varied], some of them just below what is possible.
func (c *Case) limit(r *rand.Rand) {
	if r.IntN(5) > 0 {
		c.limitsOf(c.witness(r), r)
	}
	if limit := c.Options.TableLimit; limit != nil && *limit > 0 && r.IntN(4) == 0 {
		*limit--
	}
}

// Mix gives the costs and the states of a case magnitudes from 1e-290 to 1e287, up to so
// many decades apart, and limits anew. It returns the case.
func (c *Case) Mix(r *rand.Rand) *Case {
	scales := func() func() float64 {
		spread := pick(r, 3., 9, 17, 20, 40, 577) * r.Float64()
		least := -290 + (577-spread)*r.Float64()
		return func() float64 { return math.Pow(10, least+spread*r.Float64()) }
	}
	cost, state := scales(), scales()
	each := func(x *float64, scale float64) {
		if *x > 0 {
			*x = max(1e-290, min(*x*1e-2*scale, 1e288))
		}
	}
	for i := range c.Items {
		each(&c.Items[i].Cost, cost())
		each(&c.Items[i].State, state())
	}
	for d := range c.Instances {
		each(&c.Instances[d].ResidualCost, cost())
		each(&c.Instances[d].ResidualState, state())
	}
	each(&c.Options.KeyOverhead, state())
	c.limit(r)
	return c
}
