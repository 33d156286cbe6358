package plannertest

import (
	"cmp"
	"math"
	"math/rand/v2"

	"plannerd/planner"
)

// Varied makes a random case as small as [Tiny]'s, of all that may mislead a
// proof: magnitudes far apart and close to the largest allowed, fractions, equal
// keys, nothing but zeros, several hot keys, and limits that are met exactly. In
// most cases the limits are taken from an assignment that balances well, so that
// some assignment meets them and the present one does not.
func Varied(r *rand.Rand) *Case {
	for range 3 {
		if c := varied(r); !newModel(c.Snapshot(), c.Options).idle() {
			return c
		}
	}
	return varied(r)
}

func varied(r *rand.Rand) *Case {
	c := Tiny(r)
	for len(c.Items) < 4 && r.IntN(8) > 0 {
		c = Tiny(r)
	}
	c.magnitudes(r)
	if c.TableKnown && r.IntN(3) == 0 {
		c.Partial = true
		c.Absent = append(c.Absent, planner.Entry{Key: []byte("absent too"), Instance: c.Instances[0].ID})
	}
	switch {
	case r.IntN(6) == 0:
		c.heat(r)
	case r.IntN(10) < 8:
		c.limitsOf(c.witness(r), r)
	}
	return c
}

// heat makes some keys hot, if they cost anything.
func (c *Case) heat(r *rand.Rand) {
	hottest := 0.0
	for range 1 + r.IntN(3) {
		it := &c.Items[r.IntN(len(c.Items))]
		it.Cost *= float64(3 + r.IntN(12))
		hottest = max(hottest, it.Cost)
	}
	c.limitsOf(c.witness(r), r)
	m, forced := newModel(c.Snapshot(), c.Options), math.Inf(1)
	for _, d := range m.live() {
		forced = min(forced, (c.Instances[d].ResidualCost+hottest)/m.fair[d]-1)
	}
	if forced > 0 && forced < 100 {
		c.Options.ThetaMax = forced * r.Float64()
	}
}

// magnitudes changes the costs and states.
func (c *Case) magnitudes(r *rand.Rand) {
	each := func(change func(it *Item)) {
		for i := range c.Items {
			change(&c.Items[i])
		}
	}
	scale := func(costs, states float64) {
		each(func(it *Item) { it.Cost *= costs; it.State *= states })
		for d := range c.Instances {
			c.Instances[d].ResidualCost *= costs
			c.Instances[d].ResidualState *= states
		}
		c.Options.KeyOverhead *= states
	}
	switch r.IntN(16) {
	case 0, 1:
		scale(0.1, 0.1)
	case 2:
		each(func(it *Item) { it.Cost, it.State = r.Float64(), r.ExpFloat64() })
	case 3:
		each(func(it *Item) { it.Cost *= pick(r, 1e-12, 1, 1e12); it.State *= pick(r, 1e-12, 1, 1e12) })
	case 4:
		scale(pick(r, 1e287, 1e-290, 0x1p-960), pick(r, 1e287, 1e-290, 0x1p-960))
	case 5:
		cost, state := float64(r.IntN(4)), float64(r.IntN(4))
		each(func(it *Item) { it.Cost, it.State = cost, state })
	case 6:
		each(func(it *Item) { it.Cost *= float64(r.IntN(2)); it.State *= float64(r.IntN(2)) })
	case 7:
		costs, states := float64(r.IntN(2)), float64(r.IntN(2))
		scale(costs, states)
	case 8:
		each(func(it *Item) { it.Cost = float64(1000 + r.IntN(5)) }) // nearly equal
	case 9:
		each(func(it *Item) { it.State = math.Floor(it.Cost * 1.5) }) // like state that tuples leave
	}
}

// witness is the best balanced of some assignments.
func (c *Case) witness(r *rand.Rand) Assignment {
	s := c.Snapshot()
	m := newModel(s, planner.Options{})
	var best Assignment
	least := math.Inf(1)
	for range 1 + r.IntN(12) {
		a := current(s)
		moving := r.IntN(2 + len(a))
		for i := range a {
			from := s.Current[i]
			if live := m.openTo(i); m.leaves(i) || !m.pinned(i) && r.IntN(1+len(a)) < moving {
				n := a[i][from]
				a[i][from] = 0
				a[i][live[r.IntN(len(live))]] += n
			}
		}
		if theta := m.score(a).Theta; theta < least {
			best, least = a, theta
		}
	}
	if best == nil {
		best = current(s)
	}
	return best
}

// limitsOf sets limits that the assignment meets, mostly exactly, or by the
// tolerance, or just not.
func (c *Case) limitsOf(a Assignment, r *rand.Rand) {
	s := c.Snapshot()
	score := newModel(s, planner.Options{}).score(a)
	factor := pick(r, 1, 1, 1, 1, 1/(1+0.9e-9), 1/(1+1.1e-9), 1.01, 1.1)
	c.Options.ThetaMax = max(0, (1+score.Theta)*factor-1)
	c.Options.TableLimit = nil
	if r.IntN(3) > 0 {
		c.Options.TableLimit = new(score.Table + int64(cmp.Or(r.IntN(3), 1)-1))
		if r.IntN(3) == 0 {
			*c.Options.TableLimit += int64(r.IntN(4))
		}
	}
}

// LimitMigration makes balancing within a migration limit the objective of the
// case.
func LimitMigration(r *rand.Rand, c *Case) {
	s := c.Snapshot()
	o := planner.Options{Objective: planner.MinImbalance, MigrationLimit: &planner.MigrationLimit{
		Unit: pick(r, planner.MigrationState, planner.MigrationFraction, planner.MigrationKeys)}}
	moved := Migrated(s, o, c.witness(r))
	if all := newModel(s, o).allState(); o.MigrationLimit.Unit == planner.MigrationFraction && all > 0 {
		moved /= all
	}
	o.MigrationLimit.Amount = moved * pick(r, 0, 0.5, 1, 1, 1, 1.2)
	c.Options.Objective, c.Options.MigrationLimit = o.Objective, o.MigrationLimit
}

// LimitBy sets limits that some assignment of the case meets, which the rules on it may have changed.
func LimitBy(r *rand.Rand, c *Case) {
	if r.IntN(4) > 0 {
		c.limitsOf(c.witness(r), r)
	}
}
