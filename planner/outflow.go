package planner

import (
	"encoding/binary"
	"math"
	"slices"
)

// outflow strengthens the relaxation by constraints that follow from the priced
// ones and stay demanded: from each instance, whole keys have to leave whose
// costs make up for what it has too much. Under given prices every instance is a
// covering knapsack of its own. The bound is
//
//	base(u,λ) + Σ_d min { Σ r_k z_k : Σ c_k z_k ≥ need_d, z binary },
//
// r_k being what the key's best way to leave costs beyond staying. As long as the
// keys that leave do not find room, the costliest of them is branched on: it stays,
// or it goes to one of the instances, from which others may have to leave then.
type outflow struct {
	x       *relaxation
	y       prices
	market  market
	fixed   float64       // the part that no cover changes, rounded down
	need    []int64       // by instance, in fixed point: what has to leave; negative: what has room
	leavers [][]coverItem // by instance
	looked  []bool        // by instance: whether its leavers are known
	ratio   []float64     // by instance: none of its leavers has a lesser one; 0: some do
	forced  []int32       // keys that cannot stay, the costliest
	gone    []int32       // items that leave in any case, those of the covers aside
	item    []int32       // by the id of a leaver, if items have counts

	covers  coverer
	scratch []coverItem
	known   map[string]covered
	initial []covered // of the root
	view    outflowView
	work    int // leavers that may still be looked at
}

const (
	coverStates = 1 << 12 // partial covers to look at for an instance
	coverSplits = 2
	mostTaken   = 32 // costliest items of a cover that may be branched on
	mostForced  = 64 // costliest ones of the keys that cannot stay
	// To look at a node takes the time of so many leavers, and some for each instance; to make one less.
	nodeWork, workPerInstance, childWork = 400, 4, 40
)

// newOutflow sets up the knapsacks under prices, to be searched with that much
// work. The keys of instances from which none has to leave are looked at later.
// It returns nil if some key fits nowhere.
func (x *relaxation) newOutflow(y *prices, work int) *outflow {
	p := x.p
	o := &outflow{
		x: x, y: y.clone(), market: x.market(y), known: map[string]covered{}, work: work,
		need: make([]int64, len(x.excess)), leavers: make([][]coverItem, len(x.excess)),
	}
	o.covers = coverer{states: coverStates, splits: coverSplits, canonical: o.canonical}
	o.looked, o.ratio = make([]bool, len(x.excess)), slices.Repeat([]float64{math.MaxFloat64}, len(x.excess))
	for _, d := range p.live {
		o.need[d] = x.load[d] - p.limit[d]
		o.looked[d] = o.need[d] > 0
	}
	free := x.base(&o.y)
	if p.s.Count != nil {
		o.item = []int32{}
	}
	parts := make([]outflowPart, mostParts)
	inParts(p.s.Len(), func(part, from, to int) { parts[part] = o.part(from, to) })
	for i := range parts {
		switch {
		case parts[i].barred:
			return nil
		case parts[i].leaving == nil:
			continue
		}
		free.merge(&parts[i].free)
		o.take(&parts[i])
		for _, d := range p.live {
			o.need[d] -= parts[i].leaving[d]
			o.ratio[d] = min(o.ratio[d], parts[i].ratio[d])
		}
	}
	slices.SortFunc(o.forced, p.s.heavierFirst)
	o.forced = o.forced[:min(len(o.forced), mostForced)]
	o.fixed = free.floor()
	return o
}

// outflowPart is what some of the items add to an outflow.
type outflowPart struct {
	free    sum
	leaving []int64   // by instance: what goes in any case
	ratio   []float64 // by instance: the least of its leavers, 0 if one is negative
	leavers [][]coverItem
	forced  []int32
	gone    []int32
	barred  bool // some key fits nowhere
}

// part goes through a range of items.
func (o *outflow) part(first, end int) outflowPart {
	p, s := o.x.p, o.x.p.s
	n := len(o.need)
	q := outflowPart{leaving: make([]int64, n), ratio: slices.Repeat([]float64{math.MaxFloat64}, n),
		leavers: make([][]coverItem, n)}
	for i := first; i < end; i++ {
		cost, units, d := p.cost.Fixed(s.Cost[i]), s.count(i), s.Current[i]
		if !o.looked[d] && d == s.Hash[i] && p.isLive[d] && cost <= o.x.least && o.y.load[d] == 0 {
			if cost > 0 && !p.isHot(i) { // then leaving costs at least what it weighs
				q.ratio[d] = min(q.ratio[d], o.x.unitWeight*p.weight(int32(i))/float64(cost))
			}
			continue
		}
		if p.isHot(i) {
			continue
		}
		k := o.x.choiceOf(i)
		r := o.toLeave(&k)
		switch {
		case k.must && math.IsInf(r, 1):
			q.barred = true
		case k.must:
			q.free.add(k.units*r, k.units*math.Abs(r))
			q.leaving[k.from] += cost * units
			q.gone = append(q.gone, k.item)
			if s.Count == nil && cost > 0 {
				q.forced = append(q.forced, k.item)
			}
		case r < 0 && (cost == 0 || !o.looked[k.from]): // it leaves in any case
			q.free.add(k.units*r, k.units*-r)
			q.leaving[k.from] += cost * units
			q.gone = append(q.gone, k.item)
		case cost > 0 && !math.IsInf(r, 1):
			q.ratio[k.from] = min(q.ratio[k.from], max(0, r/float64(cost)))
			if o.looked[k.from] {
				q.leavers[k.from] = o.appendLeaver(q.leavers[k.from], &k, cost, r)
			}
		}
	}
	return q
}

// take adds a part. Leavers of items with counts get their ids here.
func (o *outflow) take(q *outflowPart) {
	o.forced, o.gone = append(o.forced, q.forced...), append(o.gone, q.gone...)
	for d, list := range q.leavers {
		if o.item != nil {
			for i := range list {
				o.item = append(o.item, list[i].id)
				list[i].id = int32(len(o.item) - 1)
			}
		}
		if o.leavers[d] == nil {
			o.leavers[d] = list
		} else {
			o.leavers[d] = append(o.leavers[d], list...)
		}
	}
}

// toLeave is what the best way to leave costs a unit beyond staying, rounded
// down.
func (o *outflow) toLeave(k *choice) float64 {
	_, home, away := k.costs(&o.y, o.market)
	return o.below(k, min(home, away))
}

// below is less than r, which k costs somewhere, by more than rounding can have
// added to it.
func (o *outflow) below(k *choice, r float64) float64 {
	if math.IsInf(r, 1) || r == k.weight && o.y.table == 0 && o.y.load[k.from] == 0 {
		return r
	}
	return r - float64(0x1p-48*(math.Abs(r)+k.weight+o.y.table+float64(o.y.load[k.from]*k.cost)))
}

// appendLeaver appends the units of an item in chunks of 1, 2, 4, … and a rest,
// which sum to every number of them. Their id is the item.
func (o *outflow) appendLeaver(e []coverItem, k *choice, cost int64, r float64) []coverItem {
	s := o.x.p.s
	tie := uint32(s.Keys.hashes[k.item] >> 32)
	if s.Count == nil {
		return append(e, coverItem{cost, r, tie, k.item})
	}
	left := s.Count[k.item]
	for n := int64(1); left > 0; n *= 2 {
		n = min(n, left)
		left -= n
		weight := float64(float64(n) * r)
		if n&(n-1) != 0 {
			weight -= float64(0x1p-52 * math.Abs(weight))
		}
		e = append(e, coverItem{cost * n, weight, tie, k.item})
	}
	return e
}

// itemOf is the item that a leaver is, or is a part of.
func (o *outflow) itemOf(id int32) int32 {
	if o.item != nil {
		return o.item[id]
	}
	return id
}

func (o *outflow) canonical(a, b int32) int {
	return o.x.p.s.Keys.Compare(o.itemOf(a), o.itemOf(b))
}

// cover solves the knapsack of an instance in the node on view.
func (o *outflow) cover(d int32) covered {
	need, left := o.view.need[d], o.decided(d)
	name := make([]byte, 0, 64)
	name = binary.LittleEndian.AppendUint32(name, uint32(d))
	name = binary.LittleEndian.AppendUint64(name, uint64(need))
	for _, i := range left {
		name = binary.LittleEndian.AppendUint32(name, uint32(i))
	}
	if c, ok := o.known[string(name)]; ok {
		return c
	}
	o.look(d)
	got := o.covers.cover(o.without(d, left), need)
	o.work -= len(o.leavers[d]) + o.covers.used
	c := covered{bound: got.bound, taken: slices.Clone(got.taken)}
	o.known[string(name)] = c
	return c
}

// without copies the leavers of an instance but for some.
func (o *outflow) without(d int32, items []int32) []coverItem {
	o.scratch = o.scratch[:0]
	for _, x := range o.leavers[d] {
		if len(items) == 0 || !slices.Contains(items, o.itemOf(x.id)) {
			o.scratch = append(o.scratch, x)
		}
	}
	return o.scratch
}

// decided returns the placed items of an instance.
func (o *outflow) decided(d int32) []int32 {
	var items []int32
	for _, x := range o.view.placed {
		if o.x.p.s.Current[x.item] == d {
			items = append(items, x.item)
		}
	}
	slices.Sort(items)
	return items
}

// assemble makes the assignment that a node stands for: what is placed, and what
// the covers take sent home, if that is cheaper, or to market.
func (o *outflow) assemble(n *outflowNode) *assignment {
	p := o.x.p
	a := newAssignment(p)
	o.show(n)
	for _, x := range o.view.placed {
		if x.at != p.s.Current[x.item] {
			a.move(x.item, x.at)
		}
	}
	leaving := o.leaving()
	var queue []pending
	for piece := range int32(len(a.at)) {
		item := a.item(piece)
		units := leaving[item]
		if units == 0 || a.at[piece] != p.s.Current[item] || p.isHot(int(item)) {
			continue
		}
		part := piece
		if units < a.count(piece) {
			part = a.split(piece, units)
		}
		k := o.x.choiceOf(int(item))
		if _, home, away := k.costs(&o.y, o.market); home < away {
			a.move(part, k.home)
			continue
		}
		a.move(part, nowhere)
		queue = append(queue, pending{part, a.unitCost(part)})
	}
	a.toMarket(queue)
	return a
}

// leaving returns by item how many units leave in the node on view: those that
// leave in any case, and what the covers take.
func (o *outflow) leaving() []int64 {
	s, cost := o.x.p.s, o.x.p.cost
	units := make([]int64, s.Len())
	for _, i := range o.gone {
		units[i] = s.count(int(i))
	}
	for _, d := range o.x.p.live {
		for _, x := range o.view.covered[d].taken {
			if item := o.itemOf(x.id); o.item == nil {
				units[item] = 1
			} else {
				units[item] += x.cost / cost.Fixed(s.Cost[item])
			}
		}
	}
	return units
}

// look makes sure that the leavers of an instance are known.
func (o *outflow) look(d int32) {
	if o.looked[d] {
		return
	}
	s := o.x.p.s
	o.looked[d] = true
	list := collect(s.Len(), func(from, to int) (e []coverItem) {
		for i, at := range s.Current[from:to] {
			if i += from; at != d || s.Cost[i] == 0 || o.x.p.isHot(i) {
				continue
			}
			k := o.x.choiceOf(i)
			if r := o.toLeave(&k); !k.must && r >= 0 && !math.IsInf(r, 1) { // others are dealt with
				e = o.appendLeaver(e, &k, o.x.p.cost.Fixed(s.Cost[i]), r)
			}
		}
		return e
	})
	q := outflowPart{leavers: make([][]coverItem, d+1)}
	q.leavers[d] = list
	o.take(&q)
}

// at is what going to an instance costs a key beyond staying, rounded down.
func (o *outflow) at(k *choice, d int32) float64 {
	r := k.weight - float64(o.y.load[k.from]*k.cost) + float64(o.y.load[d]*k.cost)
	if k.entry {
		r -= o.y.table
	}
	if d != k.home {
		r += o.y.table
	}
	return o.below(k, r)
}
