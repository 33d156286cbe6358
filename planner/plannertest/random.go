package plannertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"plannerd/planner"
)

// pick returns one of the choices.
func pick[T any](r *rand.Rand, choices ...T) T { return choices[r.IntN(len(choices))] }

// zipf is a whole cost of the item of rank i.
func zipf(i int, z float64) float64 { return math.Floor(1000 / math.Pow(float64(i+1), z)) }

// instances makes live instances, and a drained and a frozen one if asked, with
// ids that leave gaps. The frozen one may be drained, too.
func instances(r *rand.Rand, live int, drain, freeze bool) []planner.Instance {
	equalCapacities := r.IntN(2) == 0
	n, drained, frozen := live, -1, -1
	if drain {
		n++
		drained = r.IntN(n)
	}
	if freeze {
		n++
		for frozen = r.IntN(n); frozen == drained; frozen = r.IntN(n) {
		}
	}
	ins := make([]planner.Instance, n)
	id := int32(0)
	for d := range ins {
		id += int32(r.IntN(3))
		ins[d] = planner.Instance{ID: id, Capacity: 1, Drained: d == drained}
		if !equalCapacities {
			ins[d].Capacity = pick(r, 0.5, 1, 1.5, 2, 3)
		}
		if ins[d].Frozen = d == frozen; ins[d].Frozen {
			ins[d].Partial, ins[d].Drained = true, r.IntN(4) == 0
		}
		ins[d].Added = !ins[d].Drained && live > 1 && r.IntN(8) == 0
		id++
	}
	return ins
}

// changed reports whether the instances differ from the committed ones.
func (c *Case) changed() bool {
	return slices.ContainsFunc(c.Instances, func(in planner.Instance) bool { return in.Added || in.Drained })
}

// item makes a random item; away in ten of them are not where the hash says.
func (c *Case) item(r *rand.Rand, i, away int) Item {
	it := Item{Key: fmt.Sprintf("k%d", i), Count: 1, Entry: planner.NoInstance,
		Cost: float64(r.IntN(11)), State: float64(r.IntN(8)), Hash: c.place(r, false)}
	it.Current = it.Hash
	if r.IntN(10) < away || c.Instances[it.Hash].Frozen {
		it.Current = c.place(r, true)
	}
	return it
}

// place picks an instance: live or frozen for a hash, neither frozen nor added for
// a current place.
func (c *Case) place(r *rand.Rand, isCurrent bool) int32 {
	for range 100 {
		d := r.IntN(len(c.Instances))
		if in := c.Instances[d]; isCurrent && !in.Frozen && (!in.Added || r.IntN(10) == 0) || !isCurrent && !in.Drained {
			return int32(d)
		}
	}
	for d, in := range c.Instances {
		if in.Live() {
			return int32(d)
		}
	}
	panic("no live instance")
}

// table makes the committed table known: mostly what the items say, with drift
// and entries of absent keys, some of which stay.
func (c *Case) table(r *rand.Rand) {
	c.TableKnown = true
	anywhere := func() int32 { return c.Instances[r.IntN(len(c.Instances))].ID }
	for i := range c.Items {
		it := &c.Items[i]
		if it.Current != it.Hash {
			it.Entry = c.Instances[it.Current].ID
		}
		switch r.IntN(12) {
		case 0:
			it.Entry = planner.NoInstance
		case 1:
			it.Entry = anywhere()
		}
	}
	for n := range pick(r, 0, 0, 1, 2) {
		c.Absent = append(c.Absent, planner.Entry{Key: fmt.Appendf(nil, "absent%d", n), Instance: anywhere()})
	}
	for d := range c.Instances {
		in := &c.Instances[d]
		in.Partial = in.Frozen || r.IntN(6) == 0
	}
}

func (c *Case) residuals(r *rand.Rand) {
	for d := range c.Instances {
		in := &c.Instances[d]
		if n := r.IntN(12); n > 4 && !in.Frozen {
			in.ResidualCost, in.ResidualState, in.ResidualKeys = float64(n), float64(r.IntN(20)), int64(n)
		}
	}
}

func (c *Case) options(r *rand.Rand, table int) {
	c.Options.ThetaMax = pick(r, 0, 0, 0.02, 0.08, 0.25, 1)
	c.Options.KeyOverhead = pick(r, 0, 0, 1, 2.5)
	if r.IntN(3) > 0 {
		c.Options.TableLimit = new(int64(r.IntN(1 + table)))
	}
	if r.IntN(2) == 0 {
		c.Options.Beta = new(pick(r, 0, 0.5, 1, 2))
	}
	if r.IntN(3) == 0 {
		c.Options.Sigma = new(pick(r, 0, 0.125, 0.5, 1))
	}
}
