package planner

import (
	"cmp"
	"math"
	"slices"
)

// relaxation is the problem with its coupling constraints, the loads and the
// table limit, priced instead of demanded. What is left is one choice per key:
// stay, go home to the hash instance, or go to market, that is to the cheapest
// instance on which the key fits. Costs and weights are scaled to at most 1.
type relaxation struct {
	p          *problem
	unitCost   float64 // fixed-point cost → scaled
	unitWeight float64 // weight → scaled, a power of two

	load        []int64   // by instance, in fixed point, if nothing but hot keys moves
	excess      []float64 // by instance: load above the limit then; 0 when not live
	room        []int64   // by instance: the costliest key that fits beside the background
	tableExcess float64   // likewise, entries above the limit
	limited     bool      // there is a table limit
	hot         float64   // weight of the hot keys that move
	everything  float64   // weight of all keys: more than any plan costs

	byRoom []int32 // live instances by descending room
	least  int64   // the smallest room: what costs no more fits everywhere
}

// choice is a key, or the equal units of an item, with its options.
type choice struct {
	cost, weight float64 // of one unit, scaled
	units        float64
	from, home   int32 // home is −1 when the key is there, it is not live, or the key does not fit
	item         int32
	fitting      int32 // to how many of byRoom it fits
	entry        bool  // it has a table entry if it stays
	must         bool  // it may not stay
}

// option is what becomes of a key.
type option uint8

const (
	stay option = iota
	goHome
	goToMarket
)

func newRelaxation(p *problem) *relaxation {
	x := &relaxation{
		p: p, unitCost: math.Ldexp(1, -62), limited: p.o.TableLimit != nil,
		excess: make([]float64, len(p.before)), room: make([]int64, len(p.before)),
	}
	x.unitWeight = p.unitWeight()
	x.load = slices.Clone(p.before)
	background, entries := slices.Clone(p.residual), p.entries
	for _, h := range p.hot {
		cost := p.cost.Fixed(p.s.Cost[h.item]) * h.count
		from := p.s.Current[h.item]
		background[h.to] += cost
		if from == h.to {
			continue
		}
		x.load[from] -= cost
		x.load[h.to] += cost
		x.hot += float64(x.unitWeight * p.weight(h.item) * float64(h.count))
		if from != p.s.Hash[h.item] {
			entries -= h.count
		}
		if h.to != p.s.Hash[h.item] {
			entries += h.count
		}
	}
	for _, d := range p.live {
		x.excess[d] = x.unitCost * float64(x.load[d]-p.limit[d])
		x.room[d] = p.limit[d] - background[d]
	}
	x.byRoom = slices.Clone(p.live)
	slices.SortFunc(x.byRoom, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.room[b], x.room[a]), cmp.Compare(a, b))
	})
	x.least = x.room[x.byRoom[len(x.byRoom)-1]]
	if x.limited {
		x.tableExcess = float64(entries - *p.o.TableLimit)
	}
	state := p.totalState - p.sharedState
	for _, d := range p.s.Instances {
		state -= p.state.Fixed(d.ResidualState)
	}
	x.everything = x.unitWeight * p.objective(state, p.named())
	return x
}

// unitWeight is the scale of weights: a power of two that brings them all below 1,
// but not by much.
func (p *problem) unitWeight() float64 {
	_, e := math.Frexp(p.mostState + p.o.KeyOverhead)
	return 1 / math.Ldexp(1, max(min(e, 1000), -1000))
}

// choiceOf describes a key that is not hot.
func (x *relaxation) choiceOf(item int) choice {
	p := x.p
	cost := p.cost.Fixed(p.s.Cost[item])
	from, home := p.s.Current[item], p.s.Hash[item]
	k := choice{
		cost: x.unitCost * float64(cost), weight: x.unitWeight * p.weight(int32(item)), units: float64(p.s.count(item)),
		from: from, home: home, item: int32(item), fitting: int32(len(x.byRoom)), entry: from != home,
	}
	k.must = !p.isLive[from]
	if cost > x.least {
		k.fitting = int32(x.fitting(cost))
		k.must = k.must || cost > x.room[from]
	}
	if home == from || !p.isLive[home] || cost > x.least && cost > x.room[home] {
		k.home = -1
	}
	return k
}

// fitting counts the instances that have room for the cost.
func (x *relaxation) fitting(cost int64) int {
	n, _ := slices.BinarySearchFunc(x.byRoom, cost, func(d int32, cost int64) int {
		if x.room[d] >= cost {
			return -1
		}
		return 1
	})
	return n
}

// market is what the market charges under given prices: for a key that fits on
// the first n of byRoom, price[n-1] at instance[n-1].
type market struct {
	price    []float64
	instance []int32
}

func (x *relaxation) market(y *prices) market {
	m := market{make([]float64, len(x.byRoom)), make([]int32, len(x.byRoom))}
	x.setMarket(&m, y)
	return m
}

func (x *relaxation) setMarket(m *market, y *prices) {
	best := x.byRoom[0]
	for i, d := range x.byRoom {
		if y.load[d] < y.load[best] {
			best = d
		}
		m.price[i], m.instance[i] = y.load[best], best
	}
}

// costs returns what the options cost beyond what the key pays now: its price
// there and that of its entry. An option that is not open costs +∞.
func (k *choice) costs(y *prices, m market) (stay, home, away float64) {
	here, now := float64(y.load[k.from]*k.cost), 0.0
	if k.entry {
		now = y.table
	}
	stay, home, away = 0, math.Inf(1), math.Inf(1)
	if k.must {
		stay = math.Inf(1)
	}
	if k.home >= 0 {
		home = k.weight - here - now + float64(y.load[k.home]*k.cost)
	}
	if k.fitting > 0 {
		away = k.weight - here - now + y.table + float64(m.price[k.fitting-1]*k.cost)
	}
	return stay, home, away
}

// best is the cheapest option; on a tie the one that moves less and needs no
// entry.
func (k *choice) best(y *prices, m market) (option, float64) {
	stays, home, away := k.costs(y, m)
	switch {
	case stays <= home && stays <= away:
		return stay, stays
	case home <= away:
		return goHome, home
	}
	return goToMarket, away
}

// sum adds up floats with a bound on the rounding error. Neither depends on the
// order of the terms.
type sum struct {
	values     []float64
	magnitudes uint64 // sum of the terms' magnitudes, rounded up, in units of 2^−20
	huge       float64
}

// largest is above all magnitudes whose sum fits in units of 2^−20.
const largest = 1 << 12

func (s *sum) add(v, magnitude float64) {
	s.values = append(s.values, v)
	if magnitude < largest {
		s.magnitudes += uint64(float64(magnitude*(1<<20))) + 1
	} else {
		s.huge = max(s.huge, magnitude)
	}
}

// merge adds the terms of t.
func (s *sum) merge(t *sum) {
	s.values = append(s.values, t.values...)
	s.magnitudes += t.magnitudes
	s.huge = max(s.huge, t.huge)
}

// floor is a value that the exact sum is not below.
func (s *sum) floor() float64 {
	slices.Sort(s.values)
	total, n := 0.0, float64(len(s.values))
	for _, v := range s.values {
		total += v
	}
	magnitude := float64(float64(s.magnitudes)*0x1p-20) + float64(n*s.huge)
	return total - float64((n+32)*0x1p-51*magnitude)
}

// total is about the sum.
func (s *sum) total() float64 {
	total := 0.0
	for _, v := range s.values {
		total += v
	}
	return total
}

// base is the part of the Lagrangian that no choice changes.
func (x *relaxation) base(y *prices) sum {
	var s sum
	s.add(x.hot, x.hot)
	for _, d := range x.p.live {
		if u := y.load[d]; u > 0 {
			v := float64(u * x.excess[d])
			s.add(v, math.Abs(v))
		}
	}
	s.add(float64(y.table*x.tableExcess), math.Abs(y.table*x.tableExcess))
	return s
}

// evaluate is g(u,λ), a lower bound on the scaled objective of every plan that
// satisfies the constraints and keeps to what is fixed. It calls missed for
// every item that would move and is not a member of the core. +∞: some key fits nowhere.
func (x *relaxation) evaluate(y *prices, fixed []fixing, member []bool, missed func(k choice)) float64 {
	at, m := x.glanceAt(y), x.market(y)
	parts := make([]leaving, mostParts)
	inParts(x.p.s.Len(), func(part, from, to int) {
		l := &parts[part]
		for i := range at.restless(from, to) {
			l.add(x, i, y, m, fixed, member)
		}
	})
	for _, f := range fixed {
		if i := int(f.item); at.stays(i) {
			parts[0].add(x, i, y, m, fixed, member)
		}
	}
	if slices.ContainsFunc(parts, func(l leaving) bool { return l.barred }) {
		return math.Inf(1)
	}
	total := x.base(y)
	for i := range parts {
		total.merge(&parts[i].sum)
		for _, k := range parts[i].missed {
			missed(k)
		}
	}
	return total.floor()
}

// leaving is what some of the items add to the Lagrangian.
type leaving struct {
	sum    sum
	missed []choice // those that are not members of the core
	barred bool     // some key fits nowhere
}

func (l *leaving) add(x *relaxation, i int, y *prices, m market, fixed []fixing, member []bool) {
	if x.p.isHot(i) {
		return
	}
	k := x.choiceOf(i)
	k.apply(fixed)
	o, v := k.best(y, m)
	switch {
	case o == stay:
		return
	case math.IsInf(v, 1):
		l.barred = true
		return
	}
	l.sum.add(k.units*v, k.units*(k.weight+float64(y.load[k.from]*k.cost)+y.table+math.Abs(v)))
	if !member[i] && v < 0 {
		l.missed = append(l.missed, k)
	}
}
