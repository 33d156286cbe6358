package bound

import (
	"math"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/knapsack"
	"plannerd/planner/internal/relaxation"
)

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
		amount: amount, weight: f.unit * p.WeightBelow(i), times: 1, item: i,
		from: p.Items.Current[i], home: p.Items.Home[i], anywhere: true,
	}
	for r, q := range p.ByResource {
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

// Receivers are prices with what follows from them for each instance.
type Receivers struct {
	// cheap are by class the live instances on which its items may be, without those that others undercut in
	// all prices, and free those that cost nothing. Where there are any of these, none is cheap.
	cheap, free [][]int32
	Quiet       []bool    // by instance: it costs nothing, and all keys fit there
	price       []float64 // by instance and resource: those of an instance lie side by side
	table       float64
}

// of is the price of what a key takes on an instance.
func (m *Receivers) of(k *priced, d int32) float64 {
	x, n := 0.0, len(k.amount)
	price := m.price[int(d)*n:][:n]
	for r, amount := range k.amount {
		x += float64(price[r] * amount)
	}
	return x
}

// stays reports whether an item stays where it is for sure, without a look at what it takes.
func (m *Receivers) stays(p *assign.Problem, item int) bool {
	from := p.Items.Current[item]
	return m.Quiet[from] && (m.table == 0 || from == p.Items.Home[item])
}

func (f *ResourceProof) receiversAt(y *relaxation.Prices) Receivers {
	classes := [][]int32{f.Problem.Live}
	if rules := f.Problem.Items.Rules; rules != nil {
		classes = make([][]int32, len(rules.Open))
		for c, open := range rules.Open {
			classes[c] = slices.DeleteFunc(slices.Clone(f.Problem.Live), func(d int32) bool { return !open[d] })
		}
	}
	n := len(f.Problem.IsLive)
	m := Receivers{
		cheap: make([][]int32, len(classes)), free: make([][]int32, len(classes)), Quiet: make([]bool, n), table: y.Table,
	}
	for d, live := range f.Problem.IsLive {
		m.Quiet[d] = live
		for r, price := range y.ByResource {
			m.price = append(m.price, price[d])
			m.Quiet[d] = m.Quiet[d] && price[d] == 0 && f.Problem.ByResource[r].Costliest <= f.room[r][d]
		}
	}
	for c, list := range classes {
		for _, d := range list {
			if !slices.ContainsFunc(y.ByResource, func(price []float64) bool { return price[d] > 0 }) {
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
func undercuts(y *relaxation.Prices, e, d int32) bool {
	return !slices.ContainsFunc(y.ByResource, func(price []float64) bool { return price[e] > price[d] })
}

// best is what a key does under prices, beyond what staying costs: to is where it goes, or None where it
// stays, and free that it may be any instance without a price. +∞: it fits nowhere.
func (f *ResourceProof) best(k *priced, m *Receivers) (value float64, to int32, free bool) {
	here := m.of(k, k.from)
	freed, taken := 0.0, m.table
	if k.entry {
		freed, taken = m.table, 0
	}
	value, to = 0, assign.None
	if k.must {
		value = math.Inf(1)
	} else if here <= k.weight && freed == 0 {
		return 0, assign.None, false
	}
	if k.home >= 0 {
		if v := k.weight - here - freed + m.of(k, k.home); v < value {
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
		if v := base + m.of(k, d); v < value {
			value, to = v, d
		}
	}
	return value, to, false
}

// Option is where a key goes under the best prices, or None where it stays, and what the best of the
// others costs more or less than staying does.
func (f *ResourceProof) Option(i int32, amount []float64, m *Receivers) (to int32, regret float64) {
	k := f.pricedOf(i, amount)
	value, to, _ := f.best(&k, m)
	if to != assign.None {
		return to, math.Abs(value)
	}
	k.must = true
	value, _, _ = f.best(&k, m)
	return assign.None, value
}

// Receivers are those under the best prices.
func (f *ResourceProof) Receivers() Receivers { return f.receiversAt(&f.Y) }

// drawn is an item that stands for so many like it.
type drawn struct {
	item  int32
	times int64
}

// draw are the items that are not hot, or where there are many of them the largest ones and a sample of the others.
func draw(p *assign.Problem) []drawn {
	large := largeOf(p)
	times := uint64(1)
	for ; p.Items.Len() > 8*coreKeys*int(times); times *= 2 {
	}
	return assign.Collect(p.Items.Len(), func(from, to int) (list []drawn) {
		for i := from; i < to; i++ {
			switch sampled := p.Items.Hashes[i]>>40&(times-1) == 0; {
			case !sampled && p.Size[i] < large || p.IsHot(i):
			case p.Size[i] >= large:
				list = append(list, drawn{int32(i), 1})
			default:
				list = append(list, drawn{int32(i), int64(times)})
			}
		}
		return list
	})
}

// core are those of some items that may leave under prices near the first ones.
func (f *ResourceProof) core(items []drawn) []priced {
	n := len(f.Problem.ByResource)
	near := f.Y.Clone()
	for r := range near.ByResource {
		for d := range near.ByResource[r] {
			near.ByResource[r][d] *= coreMargin
		}
	}
	m := f.receiversAt(&near)
	if f.limited { // what has an entry may leave
		m.table = 1
	}
	return assign.Collect(len(items), func(from, to int) (list []priced) {
		block := make([]float64, n)
		for _, x := range items[from:to] {
			if m.stays(f.Problem, int(x.item)) {
				continue
			}
			k := f.pricedOf(x.item, block[:n:n])
			k.times = float64(x.times)
			if k.must || k.entry && f.limited || m.of(&k, k.from) > k.weight {
				list = append(list, k)
				if block = block[n:]; len(block) < n {
					block = make([]float64, 1024*n)
				}
			}
		}
		return list
	})
}

// sampled is the core, or where that is large its largest keys and a sample of the others. Prices are hardly others
// then, and what they come to is computed over all items in the end.
func sampled(p *assign.Problem, core []priced) []priced {
	if len(core) <= coreKeys {
		return core
	}
	times, large := uint64((len(core)+coreKeys-1)/coreKeys), largeOf(p)
	var sample []priced
	for _, k := range core {
		if p.Size[k.item] < large {
			if p.Items.Hashes[k.item]>>16%times != 0 {
				continue
			}
			k.times *= float64(times)
		}
		sample = append(sample, k)
	}
	return sample
}

// largeOf is the size from which an item stands for itself alone.
func largeOf(p *assign.Problem) float64 { return largeKey / float64(len(p.Live)) }

// coreKeys is about how many keys a sample has, and largeKey from which part of a fair load on a key is in it.
const coreKeys, largeKey = 20_000, 1e-3

// coreMargin is how many times the first prices a key must be worth less than to stay for sure.
const coreMargin = 2

// startPrices price, on each instance, the resource of which more has to leave than is there, by its critical ratio:
// that for which this comes to most.
func (f *ResourceProof) startPrices(items []drawn) {
	most := make([]float64, len(f.Problem.Before))
	for r, q := range f.Problem.ByResource {
		for d, list := range f.ratios(r, q, items) {
			u := knapsack.CriticalRatio(list, f.excess[r][d])
			if len(list) == 0 || math.IsInf(u, 1) {
				continue
			}
			value := float64(u * float64(f.excess[r][d]))
			for _, x := range list {
				value += min(0, float64((x.Ratio-u)*float64(x.Cost)))
			}
			if value > most[d] {
				most[d] = value
				for other := range f.Y.ByResource {
					f.Y.ByResource[other][d] = 0
				}
				f.Y.ByResource[r][d] = u
			}
		}
	}
}

// ratios are, by instance that is above its limit in a resource, those of some keys there that take something of it.
func (f *ResourceProof) ratios(r int, q *assign.Problem, items []drawn) [][]knapsack.Ratioed {
	lists := make([][]knapsack.Ratioed, len(q.Before))
	for _, x := range items {
		d := q.Items.Current[x.item]
		if f.excess[r][d] <= 0 {
			continue
		}
		if amount := q.AmountOf(x.item); amount > 0 {
			if lists[d] == nil {
				lists[d] = make([]knapsack.Ratioed, 0, 2*len(items)/len(lists))
			}
			weight := f.unit * f.Problem.WeightBelow(x.item)
			lists[d] = append(lists[d], knapsack.Ratioed{Ratio: weight / float64(amount), Cost: amount * x.times})
		}
	}
	return lists
}

const (
	resourceSteps    = 150
	resourceWork     = 1_000_000 // keys looked at in all steps
	resourcePatience = 7         // steps without a rise until they get shorter
	// After so many steps that hardly raised the value the ascent ends.
	resourceMilestones = 20
)

// ascend maximises the relaxation by deflected subgradients (Held, Wolfe and Crowder 1974; Camerini, Fratta and
// Maffioli 1975). Steps aim at the objective that is reached, or a little above the best value.
func (f *ResourceProof) ascend(reached float64) {
	p := f.Problem
	items := draw(f.Problem)
	f.startPrices(items)
	core := sampled(f.Problem, f.core(items))
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
	scale    []float64   // by resource: about a load
	typical  float64     // a weight
}

func newClimb(f *ResourceProof, core []priced) *climb {
	c := &climb{ResourceProof: f, core: core}
	for r, q := range f.Problem.ByResource {
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
func (c *climb) solve(y *relaxation.Prices) float64 {
	m := c.receiversAt(y)
	value := c.hot
	for r := range c.over {
		for d, u := range y.ByResource[r] {
			c.over[r][d] = float64(c.excess[r][d])
			value += float64(u * c.over[r][d])
		}
	}
	for class := range c.pool {
		clear(c.pool[class])
	}
	c.table = c.tableExcess
	value += float64(y.Table * c.table)
	for i := range c.core {
		k := &c.core[i]
		v, to, free := c.best(k, &m)
		if to == assign.None {
			if math.IsInf(v, 1) {
				return v
			}
			continue
		}
		value += float64(v * k.times)
		for r, amount := range k.amount {
			amount = float64(amount * k.times)
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
		if to != k.home || free {
			c.table += k.times
		}
	}
	c.pour(&m)
	return value
}

// pour divides what goes to instances that cost nothing by their rooms, which is as good a subgradient as
// any other.
func (c *climb) pour(m *Receivers) {
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
func (c *climb) move(y *relaxation.Prices, rise float64) bool {
	norm := 0.0
	for r := range c.over {
		for _, d := range c.Problem.Live {
			g := c.over[r][d] / c.scale[r]
			if g < 0 && y.ByResource[r][d] == 0 {
				g = 0
			}
			v := g + float64(keptDirection*c.dir[r][d])
			if v < 0 && y.ByResource[r][d] == 0 {
				v = 0
			}
			c.dir[r][d] = v
			norm += float64(v * v)
		}
	}
	if c.limited {
		entries := c.table / max(1, float64(*c.Problem.Goal.TableLimit))
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
			y.ByResource[r][d] = max(0, y.ByResource[r][d]+float64(step*c.dir[r][d])/c.scale[r])
		}
	}
	if c.limited {
		y.Table = max(0, y.Table+float64(step*c.dirTable)/max(1, float64(*c.Problem.Goal.TableLimit)))
	}
	return true
}

// evaluate is the value over all items, a lower bound on the scaled objective of every plan that meets all
// constraints.
func (f *ResourceProof) evaluate(y *relaxation.Prices) float64 {
	p, m := f.Problem, f.receiversAt(y)
	parts, barred := make([]relaxation.Sum, assign.MostParts), make([]bool, assign.MostParts)
	assign.InParts(p.Items.Len(), func(part, from, to int) {
		amount := make([]float64, len(p.ByResource))
		for i := from; i < to; i++ {
			if p.IsHot(i) || m.stays(p, i) {
				continue
			}
			k := f.pricedOf(int32(i), amount)
			v, _, _ := f.best(&k, &m)
			if math.IsInf(v, 1) {
				barred[part] = true
				return
			}
			if here := m.of(&k, k.from); v != 0 || here > k.weight*(1-1e-9) {
				parts[part].Add(v, k.weight+here+math.Abs(v)+y.Table)
			}
		}
	})
	if slices.Contains(barred, true) {
		f.infeasible = true
		return 0
	}
	var total relaxation.Sum
	total.Add(f.hot, f.hot)
	for r := range y.ByResource {
		for _, d := range p.Live {
			v := float64(y.ByResource[r][d] * float64(f.excess[r][d]))
			total.Add(v, math.Abs(v))
		}
	}
	total.Add(float64(y.Table*f.tableExcess), math.Abs(y.Table*f.tableExcess))
	for i := range parts {
		total.Merge(&parts[i])
	}
	return total.Floor()
}
