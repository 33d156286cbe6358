package planner

import (
	"cmp"
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
// r_k being what the key's best way to leave costs beyond staying. A key that
// is so heavy that others have to make room for it wherever it goes is branched
// on: it stays, or it goes to one of the instances.
type outflow struct {
	x       *relaxation
	y       prices
	market  market
	fixed   float64 // the part that no cover changes, rounded down
	need    []int64 // by instance, in fixed point: what has to leave; negative: what has room
	leavers [][]coverItem
	forced  []int32 // keys that cannot stay
	item    []int32 // by the id of a leaver, if items have counts

	covers  coverer
	scratch []coverItem
	known   map[string]covered
	work    int // leavers that may still be looked at
}

// covered is what is known about one instance.
type covered struct {
	bound float64
	taken []int32 // the costliest items of the cover, in descending order
}

// outflowNode is a part of the problem: some keys are placed.
type outflowNode struct {
	placed  []placement
	need    []int64
	covered []covered // by instance
	fixed   float64
	bound   float64
}

// placement puts an item on an instance, maybe the one it is on.
type placement struct{ item, at int32 }

const (
	coverStates = 1 << 12 // partial covers to look at for an instance
	coverSplits = 2
	takenKept   = 32 // items remembered of each cover
	// A placement takes the time in which so many leavers are looked at, and more for each instance.
	placementWork, workPerInstance = 100, 4
)

// newOutflow sets up the knapsacks under prices. It returns nil if some key fits
// nowhere.
func (x *relaxation) newOutflow(y *prices, work int) *outflow {
	p, s := x.p, x.p.s
	o := &outflow{
		x: x, y: y.clone(), market: x.market(y), known: map[string]covered{}, work: work,
		need: make([]int64, len(x.excess)), leavers: make([][]coverItem, len(x.excess)),
	}
	o.covers = coverer{states: coverStates, splits: coverSplits, canonical: o.canonical}
	for _, d := range p.live {
		o.need[d] = x.load[d] - p.limit[d]
		o.leavers[d] = make([]coverItem, 0, p.namedOn[d])
	}
	free := x.base(&o.y)
	for i := range s.Cost {
		if p.isHot(i) {
			continue
		}
		k := x.choiceOf(i)
		r := o.toLeave(&k)
		cost, units := p.cost.of(s.Cost[i]), s.count(i)
		switch {
		case k.must && math.IsInf(r, 1):
			return nil
		case k.must:
			free.add(k.units*r, k.units*math.Abs(r))
			if !s.Instances[k.from].Drained {
				o.need[k.from] -= cost * units
			}
			if s.Count == nil && cost > 0 {
				o.forced = append(o.forced, k.item)
			}
		case cost == 0 && r < 0:
			free.add(k.units*r, k.units*-r)
		case cost > 0 && !math.IsInf(r, 1):
			o.addLeaver(&k, cost, r)
		}
	}
	o.fixed = free.floor()
	return o
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
	return r - 0x1p-48*(math.Abs(r)+k.weight+o.y.table+float64(o.y.load[k.from]*k.cost))
}

// addLeaver adds the units of an item in chunks of 1, 2, 4, … and a rest, which
// sum to every number of them.
func (o *outflow) addLeaver(k *choice, cost int64, r float64) {
	p := o.x.p
	tie := uint32(p.s.Keys.hashes[k.item] >> 32)
	if p.s.Count == nil {
		o.leavers[k.from] = append(o.leavers[k.from], coverItem{cost, r, tie, k.item})
		return
	}
	left := p.s.Count[k.item]
	for n := int64(1); left > 0; n *= 2 {
		n = min(n, left)
		left -= n
		weight := float64(n) * r
		if n&(n-1) != 0 {
			weight -= 0x1p-52 * math.Abs(weight)
		}
		o.leavers[k.from] = append(o.leavers[k.from], coverItem{cost * n, weight, tie, int32(len(o.item))})
		o.item = append(o.item, k.item)
	}
}

// itemOf is the item that a leaver is, or is a part of.
func (o *outflow) itemOf(id int32) int32 {
	if o.item != nil {
		return o.item[id]
	}
	return id
}

func (o *outflow) canonical(a, b int32) int {
	return o.x.p.s.Keys.compare(o.itemOf(a), o.itemOf(b))
}

// root is the whole problem.
func (o *outflow) root() outflowNode {
	n := outflowNode{need: o.need, covered: make([]covered, len(o.need)), fixed: o.fixed}
	for _, d := range o.x.p.live {
		n.covered[d] = o.cover(d, &n)
	}
	o.sumUp(&n)
	return n
}

// sumUp sets the bound of a node.
func (o *outflow) sumUp(n *outflowNode) {
	sum := n.fixed
	for _, d := range o.x.p.live {
		sum = addDown(sum, n.covered[d].bound)
	}
	n.bound = max(n.bound, sum)
}

// cover solves the knapsack of an instance.
func (o *outflow) cover(d int32, n *outflowNode) covered {
	left := o.decided(d, n)
	name := make([]byte, 0, 64)
	name = binary.LittleEndian.AppendUint32(name, uint32(d))
	name = binary.LittleEndian.AppendUint64(name, uint64(n.need[d]))
	for _, i := range left {
		name = binary.LittleEndian.AppendUint32(name, uint32(i))
	}
	if c, ok := o.known[string(name)]; ok {
		return c
	}
	got := o.covers.cover(o.without(d, left), n.need[d])
	o.work -= len(o.leavers[d]) + o.covers.used
	c := covered{bound: got.bound}
	if o.item == nil {
		c.taken = o.costliest(got.taken)
	}
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
func (o *outflow) decided(d int32, n *outflowNode) []int32 {
	var items []int32
	for _, x := range n.placed {
		if o.x.p.s.Current[x.item] == d {
			items = append(items, x.item)
		}
	}
	slices.Sort(items)
	return items
}

func (o *outflow) heavierFirst(a, b int32) int {
	s := o.x.p.s
	return cmp.Or(cmp.Compare(s.Cost[b], s.Cost[a]), s.Keys.compare(a, b))
}

// assemble makes the assignment that a node stands for: what is placed, and what
// the covers take sent home, if that is cheaper, or to market.
func (o *outflow) assemble(n *outflowNode) *assignment {
	p := o.x.p
	a := newAssignment(p)
	for _, x := range n.placed {
		if x.at != p.s.Current[x.item] {
			a.move(x.item, x.at)
		}
	}
	leaving := o.leaving(n)
	var queue []pending
	for piece := range int32(len(a.at)) {
		item := a.item(piece)
		k := o.x.choiceOf(int(item))
		units := leaving[item]
		switch {
		case p.isHot(int(item)) || a.at[piece] != k.from:
			continue
		case k.must:
			units = a.count(piece)
		case units == 0:
			continue
		}
		part := piece
		if units < a.count(piece) {
			part = a.split(piece, units)
		}
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

// leaving returns how many units of which items the covers take.
func (o *outflow) leaving(n *outflowNode) map[int32]int64 {
	units := map[int32]int64{}
	for _, d := range o.x.p.live {
		for _, x := range o.covers.cover(o.without(d, o.decided(d, n)), n.need[d]).taken {
			if item := o.itemOf(x.id); o.item == nil {
				units[item] = 1
			} else {
				units[item] += x.cost / o.x.p.cost.of(o.x.p.s.Cost[item])
			}
		}
	}
	return units
}

// search divides the part of least bound until that has no heavy key left that
// leaves, or the work is used up. It returns it.
func (o *outflow) search(root outflowNode) outflowNode {
	open := minHeap[outflowNode]{before: func(a, b outflowNode) bool {
		return a.bound < b.bound || a.bound == b.bound && len(a.placed) > len(b.placed)
	}}
	open.push(root)
	for {
		n := open.e[0]
		item, ok := o.divisor(&n)
		if !ok || math.IsInf(n.bound, 1) || o.work <= 0 || o.x.p.stopped() {
			return n
		}
		children := o.divide(&n, item)
		o.work -= len(children) * (placementWork + workPerInstance*len(n.need))
		open.e[0] = children[0]
		open.sink(0)
		for _, c := range children[1:] {
			open.push(c)
		}
	}
}

// costliest returns the ids of the costliest items.
func (o *outflow) costliest(e []coverItem) []int32 {
	if len(e) > takenKept {
		slices.SortFunc(e, func(a, b coverItem) int {
			return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(a.tie, b.tie), o.canonical(a.id, b.id))
		})
		e = e[:takenKept]
	}
	ids := make([]int32, len(e))
	for i, x := range e {
		ids[i] = x.id
	}
	return ids
}

// divisor is the costliest key that leaves and is not placed yet, if the keys
// that leave do not all find room as they come, the costliest first.
func (o *outflow) divisor(n *outflowNode) (int32, bool) {
	s, cost := o.x.p.s, o.x.p.cost
	var leaving []int32
	for _, item := range o.forced {
		if !slices.ContainsFunc(n.placed, func(x placement) bool { return x.item == item }) {
			leaving = append(leaving, item)
		}
	}
	rooms := make([]int64, len(n.need))
	for _, d := range o.x.p.live {
		rooms[d] = -n.need[d]
		for _, item := range n.covered[d].taken {
			leaving = append(leaving, item)
			rooms[d] += cost.of(s.Cost[item])
		}
	}
	slices.SortFunc(leaving, o.heavierFirst)
	for _, item := range leaving {
		k := o.x.choiceOf(int(item))
		r, best := o.toLeave(&k), none
		for _, d := range o.x.p.live {
			if d != k.from && (best == none || rooms[d] > rooms[best]) && o.at(&k, d) <= r+1e-9*math.Abs(r) {
				best = d
			}
		}
		if best == none || rooms[best] < cost.of(s.Cost[item]) {
			return leaving[0], true
		}
		rooms[best] -= cost.of(s.Cost[item])
	}
	return none, false
}

// divide places a key: where it is, or on each other instance.
func (o *outflow) divide(n *outflowNode, item int32) []outflowNode {
	k := o.x.choiceOf(int(item))
	cost := o.x.p.cost.of(o.x.p.s.Cost[item])
	var children []outflowNode
	for _, d := range o.x.p.live {
		if cost > o.x.room[d] || d == k.from && k.must {
			continue
		}
		c := outflowNode{
			placed: append(slices.Clone(n.placed), placement{item, d}),
			need:   slices.Clone(n.need), covered: slices.Clone(n.covered), fixed: n.fixed, bound: n.bound,
		}
		if d != k.from {
			c.need[d] += cost
			r := o.at(&k, d)
			if k.must {
				r -= o.toLeave(&k)
				r -= 0x1p-50 * math.Abs(r)
			} else {
				c.need[k.from] -= cost
			}
			c.fixed = addDown(c.fixed, r)
			c.covered[d] = o.cover(d, &c)
		}
		if !k.must {
			c.covered[k.from] = o.cover(k.from, &c)
		}
		o.sumUp(&c)
		children = append(children, c)
	}
	return children
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
