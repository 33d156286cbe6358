package bound

import (
	"cmp"
	"math"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/knapsack"
)

// ResourceProof is what is proven of a problem with several resources: the Lagrangian relaxation that prices
// each resource of each instance and each table entry, what must leave each overloaded instance for the
// resource that demands most there, and the proofs of each resource alone. The greatest counts.
type ResourceProof struct {
	Problem    *assign.Problem
	Y          Prices // the best known; Along and Table
	value      float64
	bound      float64 // scaled
	infeasible bool
	alone      []*Proof // by resource; nil where nothing is above a limit
	unit       float64  // weight → scaled

	excess      [][]float64 // by resource and instance: load above the limit if nothing but hot keys moves
	room        [][]int64   // limit less what stays whatever the plan
	least       []int64     // by resource: the smallest room
	limited     bool
	entries     float64
	tableExcess float64
	hot         float64
	everything  float64
}

// ProveResources bounds the objective of a problem with several resources. reached is the objective of a
// plan that meets all constraints, or +∞.
func ProveResources(p *assign.Problem, reached float64, level Level) *ResourceProof {
	f := newResourceProof(p)
	f.alone = make([]*Proof, len(p.Along))
	if p.Items.Len() <= quickWhole { // on more items whole keys hardly matter
		for r, q := range p.Along {
			if slices.ContainsFunc(q.Live, func(d int32) bool { return f.excess[r][d] > 0 }) || r == 0 && f.limited {
				f.proveAlone(r, level)
			}
		}
		f.cover()
		f.countEntries(reached)
	}
	if !f.infeasible && float64(f.bound/f.unit) < reached*(1-1e-7) {
		f.ascend(reached)
	}
	f.infeasible = f.infeasible || f.bound > f.everything*(1+1e-9)
	return f
}

func newResourceProof(p *assign.Problem) *ResourceProof {
	f := &ResourceProof{Problem: p, unit: p.UnitWeight(), limited: p.Goal.TableLimit != nil}
	entries := p.Entries
	for _, h := range p.Hot {
		from, home := p.Items.Current[h.Item], p.Items.Home[h.Item]
		if from == h.To {
			continue
		}
		f.hot += float64(f.unit * p.WeightBelow(h.Item))
		if from != home {
			entries--
		}
		if h.To != home {
			entries++
		}
	}
	if f.limited {
		f.tableExcess = float64(entries - *p.Goal.TableLimit)
	}
	for _, q := range p.Along {
		load, room, background := slices.Clone(q.Before), make([]int64, len(q.Before)), slices.Clone(q.Residual)
		for _, h := range p.Hot {
			amount := q.AmountOf(h.Item)
			load[p.Items.Current[h.Item]] -= amount
			load[h.To] += amount
			background[h.To] += amount
		}
		excess, least := make([]float64, len(load)), int64(math.MaxInt64)
		for _, d := range q.Live {
			excess[d] = float64(load[d] - q.Limit[d])
			room[d] = q.Limit[d] - background[d]
			least = min(least, room[d])
		}
		f.excess, f.room, f.least = append(f.excess, excess), append(f.room, room), append(f.least, least)
		f.Y.Along = append(f.Y.Along, make([]float64, len(load)))
	}
	state := p.TotalState
	for _, d := range p.Instances {
		state -= p.State.Fixed(d.State)
	}
	f.everything = f.unit * p.Objective(state, p.Named())
	return f
}

// countEntries proves that the table limit cannot be met, where no plan is known that meets it.
func (f *ResourceProof) countEntries(reached float64) {
	if !f.limited || f.infeasible || !math.IsInf(reached, 1) {
		return
	}
	if q := f.Problem.CountingEntries(); q != nil {
		f.entries = ProveResources(q, math.Inf(1), Quick).LowerBound() + float64(q.Retained)
		f.infeasible = f.entries > float64(*f.Problem.Goal.TableLimit)
	}
}

// Entries is a table size that no plan stays below; 0 where it was not looked for.
func (f *ResourceProof) Entries() float64 { return f.entries }

// Infeasible reports whether no plan meets all constraints.
func (f *ResourceProof) Infeasible() bool { return f.infeasible }

// Disprove notes that a complete search found that no plan meets all constraints.
func (f *ResourceProof) Disprove() { f.infeasible = true }

// proveAlone proves of one resource what is true whatever the others are.
func (f *ResourceProof) proveAlone(resource int, level Level) {
	alone := Prove(f.Problem.Along[resource], level)
	f.alone[resource] = alone
	f.infeasible = f.infeasible || alone.Infeasible()
	f.bound = max(f.bound, alone.Bound)
}

// Alone is the proof of one resource alone.
func (f *ResourceProof) Alone(resource int) *Proof {
	if f.alone[resource] == nil {
		f.proveAlone(resource, Quick)
	}
	return f.alone[resource]
}

// Raise notes that a complete search found that no plan has a lesser objective.
func (f *ResourceProof) Raise(objective float64) { f.bound = max(f.bound, f.unit*objective) }

// LowerBound is in units of the objective.
func (f *ResourceProof) LowerBound() float64 {
	b := max(0, f.bound/f.unit)
	if b < 1<<53 && wholeWeights(f.Problem) {
		return math.Ceil(b * (1 - 1e-12))
	}
	return b
}

// Fits reports whether an instance has room for an item beside what stays there.
func (f *ResourceProof) Fits(item, d int32) bool {
	for r, q := range f.Problem.Along {
		if q.AmountOf(item) > f.room[r][d] {
			return false
		}
	}
	return true
}

// cover adds up what leaves each overloaded instance at least.
func (f *ResourceProof) cover() {
	p := f.Problem
	on, total := make([][]int32, len(p.Before)), f.hot
	for i, d := range p.Items.Current {
		if !p.IsHot(i) && (!p.IsLive[d] || f.over(d)) {
			on[d] = append(on[d], int32(i))
		}
	}
	for d, items := range on {
		if len(items) > 0 {
			total += f.coverOf(int32(d), items)
		}
	}
	f.bound = max(f.bound, total*(1-1e-9))
}

func (f *ResourceProof) over(d int32) bool { return f.exceeded(d) > 0 }

// exceeded counts the limits above which an instance is if nothing moves.
func (f *ResourceProof) exceeded(d int32) int {
	n := 0
	for _, x := range f.excess {
		if x[d] > 0 {
			n++
		}
	}
	return n
}

const leavingStates = 20_000 // of each knapsack

// coverOf is what leaves an instance at least, scaled. What does not fit there leaves in any case.
func (f *ResourceProof) coverOf(d int32, items []int32) float64 {
	p, leaves := f.Problem, 0.0
	forced := make([]bool, len(items))
	for at, i := range items {
		if forced[at] = !p.IsLive[d] || !f.Fits(i, d); forced[at] {
			leaves += float64(f.unit * p.WeightBelow(i))
		}
	}
	most := 0.0
	for r, q := range p.Along {
		need := int64(f.excess[r][d])
		var list []knapsack.Item
		for at, i := range items {
			switch amount := q.AmountOf(i); {
			case forced[at]:
				need -= amount
			case amount > 0:
				list = append(list, knapsack.Item{
					Cost: amount, Weight: f.unit * p.WeightBelow(i), Tie: uint32(p.Items.Hashes[i] >> 32), ID: i,
				})
			}
		}
		if need > 0 && p.IsLive[d] {
			solver := knapsack.Solver{States: leavingStates, Splits: 2, Canonical: p.Items.Compare}
			if x := solver.Solve(list, need); x.Feasible {
				most = max(most, x.Bound)
			}
		}
	}
	return leaves + most
}

// priced is an item of the core of the relaxation.
type priced struct {
	amount     []float64 // by resource
	weight     float64
	times      float64 // how many items it stands for
	item       int32
	from, home int32 // home is None where it cannot go there, or is there
	class      int32
	anywhere   bool // it fits on all instances
	entry      bool // it has an entry if it stays
	must       bool // it may not stay
}

func (f *ResourceProof) pricedOf(i int32, amount []float64) priced {
	p := f.Problem
	k := priced{
		amount: amount, weight: f.unit * p.WeightBelow(i), times: 1, item: i, from: p.Items.Current[i], home: p.Items.Home[i], anywhere: true,
	}
	for r, q := range p.Along {
		fixed := q.AmountOf(i)
		amount[r] = float64(fixed)
		k.anywhere = k.anywhere && fixed <= f.least[r]
	}
	if p.Items.Rules != nil {
		k.class = p.Items.Rules.Class[i]
	}
	k.entry = k.from != k.home
	k.must = !p.IsLive[k.from] || !k.anywhere && !f.Fits(i, k.from)
	if k.home == k.from || !p.IsOpen(i, k.home) || !k.anywhere && !f.Fits(i, k.home) {
		k.home = assign.None
	}
	return k
}

// at is the price of what a key takes on an instance.
func (k *priced) at(y *Prices, d int32) float64 {
	x := 0.0
	for r, amount := range k.amount {
		x += float64(y.Along[r][d] * amount)
	}
	return x
}

// receivers are by class the live instances on which its items may be, without those that others undercut in
// all prices.
type receivers struct {
	cheap [][]int32
	free  [][]int32 // those that cost nothing
}

func (f *ResourceProof) receiversAt(y *Prices) receivers {
	classes := [][]int32{f.Problem.Live}
	if rules := f.Problem.Items.Rules; rules != nil {
		classes = make([][]int32, len(rules.Open))
		for c, open := range rules.Open {
			classes[c] = slices.DeleteFunc(slices.Clone(f.Problem.Live), func(d int32) bool { return !open[d] })
		}
	}
	m := receivers{make([][]int32, len(classes)), make([][]int32, len(classes))}
	for c, list := range classes {
		for _, d := range list {
			if !slices.ContainsFunc(y.Along, func(price []float64) bool { return price[d] > 0 }) {
				m.free[c] = append(m.free[c], d)
			}
		}
		if len(m.free[c]) > 0 {
			continue
		}
		for i, d := range list {
			if !slices.ContainsFunc(list[:i], func(e int32) bool { return undercuts(y, e, d) }) {
				m.cheap[c] = append(m.cheap[c], d)
			}
		}
	}
	return m
}

// undercuts reports whether no price of e is above that of d.
func undercuts(y *Prices, e, d int32) bool {
	return !slices.ContainsFunc(y.Along, func(price []float64) bool { return price[e] > price[d] })
}

// best is what a key does under prices, beyond what staying costs: to is where it goes, or None where it
// stays, and free that it may be any instance without a price. +∞: it fits nowhere.
func (f *ResourceProof) best(k *priced, y *Prices, m *receivers) (value float64, to int32, free bool) {
	here := k.at(y, k.from)
	freed, taken := 0.0, y.Table
	if k.entry {
		freed, taken = y.Table, 0
	}
	value, to = 0, assign.None
	if k.must {
		value = math.Inf(1)
	} else if here <= k.weight && freed == 0 {
		return 0, assign.None, false
	}
	if k.home >= 0 {
		if v := k.weight - here - freed + k.at(y, k.home); v < value {
			value, to = v, k.home
		}
	}
	base := k.weight - here + taken
	if base >= value {
		return value, to, false
	}
	if list := m.free[k.class]; len(list) > 0 && k.anywhere {
		return base, list[0], true
	}
	list := m.cheap[k.class]
	if !k.anywhere || len(list) == 0 {
		list = f.Problem.OpenTo(k.item)
	}
	for _, d := range list {
		if d == k.from || !k.anywhere && !f.Fits(k.item, d) {
			continue
		}
		if v := base + k.at(y, d); v < value {
			value, to = v, d
		}
	}
	return value, to, false
}

// Option is where a key goes under the best prices, or None where it stays, and what the best of the
// others costs more or less than staying does.
func (f *ResourceProof) Option(i int32, amount []float64, m *receivers) (to int32, regret float64) {
	k := f.pricedOf(i, amount)
	value, to, _ := f.best(&k, &f.Y, m)
	if to != assign.None {
		return to, math.Abs(value)
	}
	k.must = true
	value, _, _ = f.best(&k, &f.Y, m)
	return assign.None, value
}

// Receivers are those under the best prices.
func (f *ResourceProof) Receivers() receivers { return f.receiversAt(&f.Y) }

// core are the keys that may leave under prices near the first ones.
func (f *ResourceProof) core() []priced {
	p, n := f.Problem, len(f.Problem.Along)
	near := f.Y.Clone()
	for r := range near.Along {
		for d := range near.Along[r] {
			near.Along[r][d] *= coreMargin
		}
	}
	return assign.Collect(p.Items.Len(), func(from, to int) (list []priced) {
		block := make([]float64, n)
		for i := from; i < to; i++ {
			if p.IsHot(i) {
				continue
			}
			k := f.pricedOf(int32(i), block[:n:n])
			if k.must || k.entry && f.limited || k.at(&near, k.from) > k.weight {
				list = append(list, k)
				if block = block[n:]; len(block) < n {
					block = make([]float64, 1024*n)
				}
			}
		}
		return list
	})
}

// sampled is the core, or where that is large its largest keys and a sample of the others, each of which stands for
// several. Prices are hardly others then, and what they come to is computed over all items in the end.
func (f *ResourceProof) sampled(core []priced) []priced {
	if len(core) <= coreKeys {
		return core
	}
	times := uint64((len(core) + coreKeys - 1) / coreKeys)
	large := largeKey / float64(len(f.Problem.Live))
	var sample []priced
	for _, k := range core {
		if f.Problem.Size[k.item] < large {
			if f.Problem.Items.Hashes[k.item]>>16%times != 0 {
				continue
			}
			k.times = float64(times)
		}
		sample = append(sample, k)
	}
	return sample
}

// coreKeys is about how many keys a sample has, and largeKey from which part of a fair load on a key is in it.
const coreKeys, largeKey = 30_000, 1e-3

// coreMargin is how many times the first prices a key must be worth less than to stay for sure.
const coreMargin = 2

// startPrices price, on each instance, the resource of which more has to leave than is there, by its critical ratio:
// that for which this comes to most.
func (f *ResourceProof) startPrices() {
	p := f.Problem
	most := make([]float64, len(p.Before))
	for r, q := range p.Along {
		lists := make([][]knapsack.Ratioed, len(q.Before))
		for i, d := range p.Items.Current {
			if f.excess[r][d] > 0 && !p.IsHot(i) {
				if amount := q.AmountOf(int32(i)); amount > 0 {
					lists[d] = append(lists[d], knapsack.Ratioed{Ratio: f.unit * p.WeightBelow(int32(i)) / float64(amount), Cost: amount})
				}
			}
		}
		for d, list := range lists {
			u := knapsack.CriticalRatio(list, int64(f.excess[r][d]))
			if len(list) == 0 || math.IsInf(u, 1) {
				continue
			}
			value := float64(u * f.excess[r][d])
			for _, x := range list {
				value += min(0, float64((x.Ratio-u)*float64(x.Cost)))
			}
			if value > most[d] {
				most[d] = value
				for other := range f.Y.Along {
					f.Y.Along[other][d] = 0
				}
				f.Y.Along[r][d] = u
			}
		}
	}
}

const (
	resourceSteps    = 150
	resourceWork     = 1_500_000 // keys looked at in all steps
	resourcePatience = 7         // steps without a rise until they get shorter
	// After so many steps that hardly raised the value the ascent ends.
	resourceMilestones = 20
)

// ascend maximises the relaxation by deflected subgradients (Held, Wolfe and Crowder 1974; Camerini, Fratta and
// Maffioli 1975). Steps aim at the objective that is reached, or a little above the best value.
func (f *ResourceProof) ascend(reached float64) {
	p := f.Problem
	f.startPrices()
	core := f.sampled(f.core())
	y := f.Y.Clone()
	c := newClimb(f, core)
	best, at, length, vain, milestone := math.Inf(-1), y.Clone(), 1.0, 0, math.Inf(-1)
	enough := max(1e-5, 1e-10*float64(p.Items.Len()))
	for step := range min(resourceSteps, max(10, resourceWork/(len(core)+1))) {
		value := c.solve(&y)
		if math.IsInf(value, 1) {
			f.infeasible = true
			return
		}
		if value > best {
			best, at, vain = value, y.Clone(), 0
		} else if vain++; vain >= resourcePatience {
			length, vain = length/2, 0
			y = at.Clone()
			c.reset()
			value = c.solve(&y)
		}
		if step%resourceMilestones == resourceMilestones-1 {
			if best < milestone+float64(enough*math.Abs(milestone)) {
				break
			}
			milestone = best
		}
		target := min(f.unit*reached, best+max(0.5*math.Abs(best), 1e-3*c.typical*float64(len(core))/float64(step+1)))
		if best >= f.unit*reached*(1-enough) || length < 1e-3 || !p.Meter.Spend(int64(len(core)/assign.ItemsPerWorkUnit)+1) ||
			!c.move(&y, length*max(target-value, 1e-6*math.Abs(value))) {
			break
		}
	}
	f.Y = at
	if value := f.evaluate(&f.Y); value > f.bound {
		f.bound = value
	}
}

// climb is an ascent over a core.
type climb struct {
	*ResourceProof
	core     []priced
	over     [][]float64 // by resource and instance: load above the limit
	table    float64     // entries above the limit
	dir      [][]float64
	dirTable float64
	pool     [][]float64 // by class and resource: what goes to instances that cost nothing
	pooled   []float64   // by class
	scale    []float64   // by resource: about a load
	typical  float64     // a weight
}

func newClimb(f *ResourceProof, core []priced) *climb {
	c := &climb{ResourceProof: f, core: core}
	for r, q := range f.Problem.Along {
		n := len(f.excess[r])
		c.over, c.dir = append(c.over, make([]float64, n)), append(c.dir, make([]float64, n))
		c.scale = append(c.scale, float64(max(1, q.Total))/float64(len(q.Live)))
	}
	classes := 1
	if rules := f.Problem.Items.Rules; rules != nil {
		classes = len(rules.Open)
	}
	for range classes {
		c.pool = append(c.pool, make([]float64, len(f.excess)))
	}
	for i := range core {
		c.typical += core[i].weight / float64(len(core))
	}
	return c
}

func (c *climb) reset() {
	for r := range c.dir {
		clear(c.dir[r])
	}
	c.dirTable = 0
}

// solve computes the value over the core, and what it has above limits.
func (c *climb) solve(y *Prices) float64 {
	m := c.receiversAt(y)
	value := c.hot
	for r := range c.over {
		copy(c.over[r], c.excess[r])
		for d, u := range y.Along[r] {
			value += float64(u * c.excess[r][d])
		}
	}
	for class := range c.pool {
		clear(c.pool[class])
	}
	c.table = c.tableExcess
	value += float64(y.Table * c.table)
	for i := range c.core {
		k := &c.core[i]
		v, to, free := c.best(k, y, &m)
		if to == assign.None {
			if math.IsInf(v, 1) {
				return v
			}
			continue
		}
		value += float64(v * k.times)
		for r, amount := range k.amount {
			amount *= k.times
			c.over[r][k.from] -= amount
			if free {
				c.pool[k.class][r] += amount
			} else {
				c.over[r][to] += amount
			}
		}
		if k.entry {
			c.table -= k.times
		}
		if to != c.Problem.Items.Home[k.item] || free {
			c.table += k.times
		}
	}
	c.pour(&m)
	return value
}

// pour divides what goes to instances that cost nothing by their rooms, which is as good a subgradient as
// any other.
func (c *climb) pour(m *receivers) {
	for class, amounts := range c.pool {
		list := m.free[class]
		if len(list) == 0 {
			continue
		}
		share, sum := make([]float64, len(list)), 0.0
		for i, d := range list {
			share[i] = math.Inf(1)
			for r, amount := range amounts {
				if amount > 0 {
					share[i] = min(share[i], max(0, -c.over[r][d])/amount)
				}
			}
			if math.IsInf(share[i], 1) {
				share[i] = 0
			}
			sum += share[i]
		}
		for i, d := range list {
			part := 1 / float64(len(list))
			if sum > 0 {
				part = share[i] / sum
			}
			for r, amount := range amounts {
				c.over[r][d] += float64(part * amount)
			}
		}
	}
}

const keptDirection = 0.6

// move takes a step that aims at a rise. It reports false where no price has to change.
func (c *climb) move(y *Prices, rise float64) bool {
	norm := 0.0
	for r := range c.over {
		for _, d := range c.Problem.Live {
			g := c.over[r][d] / c.scale[r]
			if g < 0 && y.Along[r][d] == 0 {
				g = 0
			}
			v := g + float64(keptDirection*c.dir[r][d])
			if v < 0 && y.Along[r][d] == 0 {
				v = 0
			}
			c.dir[r][d] = v
			norm += float64(v * v)
		}
	}
	entries := 0.0
	if c.limited {
		entries = c.table / max(1, float64(*c.Problem.Goal.TableLimit))
		if entries < 0 && y.Table == 0 {
			entries = 0
		}
		if c.dirTable = entries + float64(keptDirection*c.dirTable); c.dirTable < 0 && y.Table == 0 {
			c.dirTable = 0
		}
		norm += float64(c.dirTable * c.dirTable)
	}
	if norm == 0 {
		return false
	}
	step := rise / norm
	for r := range c.over {
		for _, d := range c.Problem.Live {
			y.Along[r][d] = max(0, y.Along[r][d]+float64(step*c.dir[r][d])/c.scale[r])
		}
	}
	if c.limited {
		y.Table = max(0, y.Table+float64(step*c.dirTable)/max(1, float64(*c.Problem.Goal.TableLimit)))
	}
	return true
}

// evaluate is the value over all items, a lower bound on the scaled objective of every plan that meets all
// constraints.
func (f *ResourceProof) evaluate(y *Prices) float64 {
	p, m := f.Problem, f.receiversAt(y)
	parts, barred := make([]sum, assign.MostParts), make([]bool, assign.MostParts)
	assign.InParts(p.Items.Len(), func(part, from, to int) {
		amount := make([]float64, len(p.Along))
		for i := from; i < to; i++ {
			if p.IsHot(i) {
				continue
			}
			k := f.pricedOf(int32(i), amount)
			v, _, _ := f.best(&k, y, &m)
			if math.IsInf(v, 1) {
				barred[part] = true
				return
			}
			if here := k.at(y, k.from); v != 0 || here > k.weight*(1-1e-9) {
				parts[part].add(v, k.weight+here+math.Abs(v)+y.Table)
			}
		}
	})
	if slices.Contains(barred, true) {
		f.infeasible = true
		return 0
	}
	var total sum
	total.add(f.hot, f.hot)
	for r := range y.Along {
		for _, d := range p.Live {
			v := float64(y.Along[r][d] * f.excess[r][d])
			total.add(v, math.Abs(v))
		}
	}
	total.add(float64(y.Table*f.tableExcess), math.Abs(y.Table*f.tableExcess))
	for i := range parts {
		total.merge(&parts[i])
	}
	return total.floor()
}

// Larger orders items by descending size.
func (f *ResourceProof) Larger(a, b int32) int {
	size := f.Problem.Size
	return cmp.Or(cmp.Compare(size[b], size[a]), f.Problem.Items.Compare(a, b))
}
