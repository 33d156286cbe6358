package plannertest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"plannerd/planner"
)

// dimension is what instances have bounds in: cost, or one of Snapshot.Resources. Its slices are by
// instance, but for amount.
type dimension struct {
	planner.Resource // of cost its θ_max alone

	amount             []float64 // of one unit of each item
	residual, capacity []float64
	total              float64
	fair               []float64 // L̄_d; 0 where it is limited
	max                []float64 // L_max,d, or the capacity
	background         []float64
	bound              []float64 // b_d
}

// dimensions are cost, and the resources in their order.
func dimensions(s *planner.Snapshot, o planner.Options) []*dimension {
	dims := []*dimension{{Resource: planner.Resource{ThetaMax: o.ThetaMax}, amount: s.Cost}}
	for r, of := range s.Resources {
		dims = append(dims, &dimension{Resource: of, amount: s.Amounts[r]})
	}
	for _, in := range s.Instances {
		for r, x := range dims {
			residual, capacity := in.ResidualCost, in.Capacity
			if r > 0 {
				residual = at(in.ResidualAmounts, r-1, 0)
				capacity = at(in.Capacities, r-1, in.Capacity)
			}
			x.residual, x.capacity = append(x.residual, residual), append(x.capacity, capacity)
		}
	}
	return dims
}

// at is an element, or what counts where there is no list.
func at(list []float64, i int, otherwise float64) float64 {
	if list == nil {
		return otherwise
	}
	return list[i]
}

// limits sets the bounds in a dimension, as if there were no hot item.
func (m *model) limits(x *dimension) {
	n, capacity := len(m.s.Instances), 0.0
	x.fair, x.max, x.bound = make([]float64, n), make([]float64, n), make([]float64, n)
	x.background = slices.Clone(x.residual)
	for d, in := range m.s.Instances {
		x.total += x.residual[d]
		if in.Live() {
			capacity += x.capacity[d]
		}
	}
	for i, v := range x.amount {
		x.total += v * float64(count(m.s, i))
	}
	if m.s.Eligibility != nil && !x.Limited {
		x.fair = m.ruledFair(x)
	}
	for _, d := range m.live() {
		switch {
		case x.Limited:
			x.max[d] = x.capacity[d]
			continue
		case m.s.Eligibility == nil:
			x.fair[d] = x.capacity[d] / capacity * x.total
		}
		x.max[d] = (1 + x.ThetaMax) * x.fair[d]
	}
}

// loads sums up what an assignment has on each instance.
func (x *dimension) loads(a Assignment) []float64 {
	load := slices.Clone(x.residual)
	for i, units := range a {
		for d, n := range units {
			load[d] += x.amount[i] * float64(n)
		}
	}
	return load
}

// level is the θ that a load on an instance has, from −1 up, or the part of the capacity that it takes.
func (x *dimension) level(d int, load float64) float64 {
	switch {
	case x.Limited:
		return part(load, x.capacity[d])
	case x.fair[d] > 0:
		return load/x.fair[d] - 1
	}
	return 0
}

// part is that of a bound which a load takes, of which nothing is 0.
func part(load, bound float64) float64 {
	if load == 0 {
		return 0
	}
	return load / bound
}

// What a plan may not exceed, and what is there in any case.
func (x *dimension) bounds() []float64      { return x.bound }
func (x *dimension) maxima() []float64      { return x.max }
func (x *dimension) backgrounds() []float64 { return x.background }

// scalar reports whether instances have bounds in cost alone.
func (m *model) scalar() bool { return len(m.dims) == 1 }

// size is what orders items: their greatest share of the total of a dimension.
func (m *model) size(i int) float64 { return m.sizeIn(m.dims, i) }

// sizeIn is that of some dimensions. Of one alone that there is it is the amount, which orders them alike.
func (m *model) sizeIn(dims []*dimension, i int) (size float64) {
	for _, x := range dims {
		if m.scalar() {
			return x.amount[i]
		}
		if x.total > 0 {
			size = max(size, x.amount[i]/x.total)
		}
	}
	return size
}

// takes reports whether an instance could have an item beside its residual alone, as far as the item takes something.
func (m *model) takes(d, i int) bool {
	return !slices.ContainsFunc(m.dims, func(x *dimension) bool { return m.tooLarge(x, d, i) })
}

func (m *model) tooLarge(x *dimension, d, i int) bool {
	return x.amount[i] > 0 && !fits(x.residual[d]+x.amount[i], x.max[d])
}

// fullest is the greatest part of a bound that loads take which an item is added to. load and of are
// by dimension, what they return by instance.
func (m *model) fullest(d, i int, load, of func(*dimension) []float64) float64 {
	greatest := 0.0
	for _, x := range m.dims {
		greatest = max(greatest, part(load(x)[d]+x.amount[i], of(x)[d]))
	}
	return greatest
}

// named is the dimension of that name, of which cost has none.
func (m *model) named(resource string) *dimension {
	i := slices.IndexFunc(m.dims, func(x *dimension) bool { return x.Name == resource })
	if i < 0 {
		return nil
	}
	return m.dims[i]
}

// resources checks the figures in each resource.
func (c *checker) resources() {
	if len(c.p.Resources) != len(c.dims)-1 {
		c.errorf("figures of %d resources, want %d", len(c.p.Resources), len(c.dims)-1)
		return
	}
	for r, x := range c.dims[1:] {
		got, what := c.p.Resources[r], fmt.Sprintf("resource %d: ", r)
		before, after := x.loads(current(c.s)), x.loads(c.after)
		if len(got.Instances) != len(c.s.Instances) || int(got.Worst) >= len(after) || got.Worst < 0 {
			c.errorf("%sfigures of %d instances, the worst is %d", what, len(got.Instances), got.Worst)
			continue
		}
		levelBefore, levelAfter, balanced := 0.0, 0.0, true
		for _, d := range c.live() {
			y, at := got.Instances[d], fmt.Sprintf("%sinstance %d: ", what, d)
			c.near(at+"fair load", y.Fair, x.fair[d], 0)
			c.near(at+"bound", y.Max, x.max[d], 0)
			levelBefore, levelAfter = max(levelBefore, x.level(d, before[d])), max(levelAfter, x.level(d, after[d]))
			balanced = balanced && fits(after[d], x.max[d])
		}
		for d, in := range c.s.Instances {
			if y := got.Instances[d]; !in.Frozen {
				c.near(fmt.Sprintf("%sload %d before", what, d), y.Before, before[d], x.total)
				c.near(fmt.Sprintf("%sload %d after", what, d), y.After, after[d], x.total)
			}
		}
		c.near(what+"level before", got.Level.Before, levelBefore, 1e3)
		c.near(what+"level after", got.Level.After, levelAfter, 1e3)
		c.near(what+"level of the worst", max(0, x.level(int(got.Worst), after[got.Worst])), levelAfter, 1e3)
		equal(c, what+"balanced", got.Balanced, balanced)
	}
}

// forced checks the level that a hot item is said to force in a dimension: that on the best instance,
// or if the item is not too large in this one, one above its bound that others can make it be at.
func (c *checker) forced(what string, x *dimension, i int, got float64) {
	alone, beside, tooLarge := math.Inf(1), math.Inf(1), true
	for _, d := range c.openTo(i) {
		load := x.residual[d] + x.amount[i]
		alone, tooLarge = min(alone, x.level(d, load)), tooLarge && c.tooLarge(x, d, i)
		if !slices.ContainsFunc(c.dims, func(y *dimension) bool { return y != x && c.tooLarge(y, d, i) }) {
			beside = min(beside, x.level(d, load))
		}
	}
	limit := x.ThetaMax
	if x.Limited {
		limit = 1
	}
	switch {
	case tooLarge:
		c.near(what, got, alone, 1e3)
	case !(got > limit) || got > beside:
		c.errorf("%s is %v, want more than %v and at most %v", what, got, limit, beside)
	}
}

// Table stands for the table limit among dimensions, of which 0 is cost.
const Table = -1

// Least is the least level of a dimension, or size of the table, of all assignments that keep within
// the bounds in all dimensions and the table limit but for those that give way, if there is one; +∞ where
// something has to be on an instance without capacity. No key is hot.
func Least(s *planner.Snapshot, o planner.Options, of int, giveWay ...int) (least float64, ok bool) {
	return LeastPlaced(s, anywhere(o), of, giveWay...)
}

// LeastPlaced is that of assignments which have hot keys where they are placed, and bounds that are
// raised for them.
func LeastPlaced(s *planner.Snapshot, o planner.Options, of int, giveWay ...int) (least float64, ok bool) {
	if slices.Contains(giveWay, Table) {
		o.TableLimit = nil
	}
	m := newModel(s, o)
	reached := func(p *partial) float64 {
		if of == Table {
			return float64(p.table)
		}
		return p.level(of)
	}
	bounded := func(p *partial, slack float64) bool {
		for r, x := range m.dims {
			for _, d := range m.live() {
				if !slices.Contains(giveWay, r) && !fits(p.load[r][d], x.bound[d]*(1+slack)) {
					return false
				}
			}
		}
		return true
	}
	m.enumerate(func(p *partial) bool {
		return p.tableExcess() > 0 || ok && reached(p) >= least || !bounded(p, slack)
	}, func(p *partial) {
		if bounded(p, 0) {
			least, ok = reached(p), true
		}
	})
	return least, ok
}

// AddResources gives a case one to three resources beside cost, of whole amounts, and mostly bounds
// that some assignment meets exactly, or just does not.
func AddResources(r *rand.Rand, c *Case) {
	c.Counted, c.Resources = false, nil
	for n := range 1 + r.IntN(3) {
		of := planner.Resource{Name: fmt.Sprintf("r%d", n+1), Limited: r.IntN(2) == 0}
		of.From = pick(r, "", "", "", planner.FromState, planner.FromCount)
		if !of.Limited {
			of.ThetaMax = pick(r, 0, 0.02, 0.1, 0.25, 1)
		}
		c.Resources = append(c.Resources, of)
	}
	states := 0.0
	for i := range c.Items {
		it := &c.Items[i]
		it.Count, it.Amounts = 1, nil
		for range c.Resources {
			it.Amounts = append(it.Amounts, float64(pick(r, 0, 1, 1, 1)*r.IntN(10)))
		}
		if r.IntN(12) == 0 {
			it.Amounts[r.IntN(len(it.Amounts))] *= 8 // likely hot
		}
		states += it.State
	}
	for _, in := range c.Instances {
		states += in.ResidualState
	}
	const resolved = 1e-8 // what fixed point rounds away could be too much for a capacity of 0
	for i := range c.Items {
		if c.Items[i].State < resolved*states {
			c.Items[i].State = 0
		}
	}
	for d := range c.Instances {
		if in := &c.Instances[d]; in.ResidualState < resolved*states || c.NoState && 1 < resolved*states {
			in.ResidualState = 0
		}
	}
	c.equip(r)
	if r.IntN(4) > 0 {
		c.limitsOf(c.witness(r), r)
	}
	c.boundBy(c.witness(r), func() float64 { return pick(r, 0, 1, 1, 1, 1/(1+0.9e-9), 1/(1+1.1e-9), 1.01, 1.2) }, r)
	if r.IntN(3) == 0 {
		c.Options.ThetaMax += 0.5 // that others decide
	}
}

// Pack sets bounds that a well balanced assignment keeps, with something to spare, and so that some
// keys have to move.
func Pack(r *rand.Rand, c *Case) {
	d := c.Clone()
	for n := range d.Resources {
		d.Resources[n].Limited = false
		for i, in := range d.Instances {
			d.Instances[i].Capacities[n] = in.Capacity
		}
	}
	d.Options = planner.Options{ThetaMax: 1e9} // no key is hot
	m := newModel(d.Snapshot(), d.Options)
	a := m.lpt()
	factor := func() float64 { return 1.005 + 0.1*r.Float64() }
	c.Options.ThetaMax, c.Options.TableLimit = (1+m.score(a).Theta)*factor()-1, nil
	c.boundBy(a, factor, r)
}

// equip says what instances have and hold of the resources.
func (c *Case) equip(r *rand.Rand) {
	own := r.IntN(2) == 0
	for d := range c.Instances {
		in := &c.Instances[d]
		in.ResidualAmounts, in.Capacities = nil, nil
		for _, of := range c.Resources {
			capacity, residual := in.Capacity, 0.0
			switch {
			case of.Limited:
				capacity = 0
			case own:
				capacity = pick(r, 0.5, 1, 1, 2, 3)
			}
			if c.Partial && !in.Frozen && r.IntN(2) == 0 {
				residual = float64(r.IntN(8))
			}
			in.Capacities, in.ResidualAmounts = append(in.Capacities, capacity), append(in.ResidualAmounts, residual)
		}
	}
}

// boundBy sets the bounds of resources, to what the assignment comes to times a factor. If
// that is 0 tolerances stay.
func (c *Case) boundBy(a Assignment, by func() float64, r *rand.Rand) {
	m := newModel(c.Snapshot(), c.Options)
	for n := range c.Resources {
		of, x := &c.Resources[n], m.dims[n+1]
		factor, level, largest := by(), 0.0, 0.0
		for _, d := range m.live() {
			level, largest = max(level, x.level(d, x.loads(a)[d])), max(largest, x.loads(a)[d])
		}
		if !of.Limited {
			if factor > 0 {
				of.ThetaMax = max(0, (1+level)*factor-1)
			}
			continue
		}
		alike, wide := r.IntN(2) == 0, r.IntN(4) == 0
		for _, d := range m.live() {
			capacity := x.loads(a)[d]
			if alike || wide && capacity > 0 {
				capacity = largest
			}
			c.Instances[d].Capacities[n] = min(capacity*cmp.Or(factor, 1), planner.MaxAmount)
		}
	}
}

// ScaleResources changes the unit of each resource that rows tell of.
func ScaleResources(r *rand.Rand, c *Case) {
	for n, of := range c.Resources {
		factor := pick(r, 1, 0.1, 1e-3, 3, 1e12, 0x1p-300, 1e280)
		if of.From != "" {
			continue
		}
		for i := range c.Items {
			c.Items[i].Amounts[n] *= factor
		}
		for d := range c.Instances {
			in := &c.Instances[d]
			if in.ResidualAmounts[n] *= factor; of.Limited {
				in.Capacities[n] *= factor
			}
		}
	}
}

// amounts sets what the snapshot has of the resources of the case.
func (c *Case) amounts(s *planner.Snapshot) {
	s.Resources = slices.Clone(c.Resources)
	for n, of := range c.Resources {
		var amounts []float64
		for _, it := range c.Items {
			amount := it.Amounts[n]
			switch {
			case of.From == planner.FromState && !c.NoState:
				amount = it.State
			case of.From != "":
				amount = 1
			}
			amounts = append(amounts, amount)
		}
		s.Amounts = append(s.Amounts, amounts)
		for d := range s.Instances {
			in := &s.Instances[d]
			switch of.From {
			case planner.FromState:
				in.ResidualAmounts[n] = in.ResidualState
			case planner.FromCount:
				in.ResidualAmounts[n] = float64(in.ResidualKeys)
			}
		}
	}
}

// simplerResources lists changes that make the resources of the case simpler.
func (c *Case) simplerResources() (changes []func(*Case)) {
	add := func(change func(*Case)) { changes = append(changes, change) }
	for n := range c.Resources {
		add(func(d *Case) { d.dropResource(n) })
		add(func(d *Case) { d.Resources[n].From = "" })
		add(func(d *Case) { d.Resources[n].ThetaMax = 0 })
		for i := range c.Items {
			add(func(d *Case) { d.Items[i].Amounts[n] = 0 })
			add(func(d *Case) { d.Items[i].Amounts[n] = less(c.Items[i].Amounts[n]) })
		}
		for i, in := range c.Instances {
			add(func(d *Case) { d.Instances[i].ResidualAmounts[n] = 0 })
			if c.Resources[n].Limited {
				add(func(d *Case) { d.Instances[i].Capacities[n] = less(in.Capacities[n]) })
			} else {
				add(func(d *Case) { d.Instances[i].Capacities[n] = 1 })
			}
		}
	}
	return changes
}

func (c *Case) dropResource(n int) {
	c.Resources = slices.Delete(c.Resources, n, n+1)
	for i := range c.Items {
		c.Items[i].Amounts = slices.Delete(c.Items[i].Amounts, n, n+1)
	}
	for d := range c.Instances {
		in := &c.Instances[d]
		in.Capacities = slices.Delete(in.Capacities, n, n+1)
		in.ResidualAmounts = slices.Delete(in.ResidualAmounts, n, n+1)
	}
}

// checkResources checks that a snapshot has an amount for each item and resource.
func checkResources(s *planner.Snapshot) error {
	if len(s.Amounts) != len(s.Resources) || len(s.Resources) > 0 && s.Count != nil {
		return errors.New("the resources have no amounts, or items have counts beside them")
	}
	for r, of := range s.Resources {
		if len(s.Amounts[r]) != s.Len() || slices.ContainsFunc(s.Amounts[r], func(v float64) bool { return !isAmount(v) }) {
			return fmt.Errorf("resource %d: amounts are missing or out of range", r)
		}
		for d, in := range s.Instances {
			capacity := at(in.Capacities, r, in.Capacity)
			valid := capacity >= planner.MinCapacity && capacity <= planner.MaxCapacity
			if of.Limited {
				valid = in.Capacities != nil && isAmount(capacity)
			}
			if in.Live() && !valid || !isAmount(at(in.ResidualAmounts, r, 0)) {
				return fmt.Errorf("instance %d: capacity or residual of resource %d out of range", d, r)
			}
		}
	}
	return nil
}
