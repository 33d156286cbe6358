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
	fixed   float64       // the part that no cover changes, rounded down
	need    []int64       // by instance, in fixed point: what has to leave; negative: what has room
	leavers [][]coverItem // by instance
	looked  []bool        // by instance: whether its leavers are known
	forced  []int32       // keys that cannot stay
	item    []int32       // by the id of a leaver, if items have counts

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
	deepest     = 64 // keys that a dive places
	// A placement takes the time in which so many leavers are looked at, and more for each instance.
	placementWork, workPerInstance = 100, 4
)

// newOutflow sets up the knapsacks under prices, to be searched with that much
// work. Without work it leaves out the keys of instances from which none has to
// leave. It returns nil if some key fits nowhere.
func (x *relaxation) newOutflow(y *prices, work int) *outflow {
	p := x.p
	o := &outflow{
		x: x, y: y.clone(), market: x.market(y), known: map[string]covered{}, work: work,
		need: make([]int64, len(x.excess)), leavers: make([][]coverItem, len(x.excess)),
	}
	o.covers = coverer{states: coverStates, splits: coverSplits, canonical: o.canonical}
	o.looked = make([]bool, len(x.excess))
	for _, d := range p.live {
		o.need[d] = x.load[d] - p.limit[d]
		o.looked[d] = o.need[d] > 0 || work > 0
	}
	free := x.base(&o.y)
	if p.s.Count != nil {
		o.item = []int32{}
	}
	parts := make([]outflowPart, mostParts)
	inParts(p.s.Len(), func(part, from, to int) { parts[part] = o.part(from, to) })
	for i := range parts {
		if parts[i].barred {
			return nil
		}
		free.merge(&parts[i].free)
		o.take(&parts[i])
	}
	o.fixed = free.floor()
	return o
}

// outflowPart is what some of the items add to an outflow.
type outflowPart struct {
	free    sum
	leaving []int64 // by instance: what has to go whatever it costs
	leavers [][]coverItem
	forced  []int32
	barred  bool // some key fits nowhere
}

// part goes through a range of items.
func (o *outflow) part(first, end int) outflowPart {
	p, s := o.x.p, o.x.p.s
	q := outflowPart{leaving: make([]int64, len(o.need)), leavers: make([][]coverItem, len(o.need))}
	for i := first; i < end; i++ {
		if p.isHot(i) {
			continue
		}
		k := o.x.choiceOf(i)
		r := o.toLeave(&k)
		cost, units := p.cost.of(s.Cost[i]), s.count(i)
		switch {
		case k.must && math.IsInf(r, 1):
			q.barred = true
		case k.must:
			q.free.add(k.units*r, k.units*math.Abs(r))
			q.leaving[k.from] += cost * units
			if s.Count == nil && cost > 0 {
				q.forced = append(q.forced, k.item)
			}
		case cost == 0 || !o.looked[k.from]:
			if r < 0 {
				q.free.add(k.units*r, k.units*-r)
			}
		case !math.IsInf(r, 1):
			q.leavers[k.from] = o.appendLeaver(q.leavers[k.from], &k, cost, r)
		}
	}
	return q
}

// take adds a part. Leavers of items with counts get their ids here.
func (o *outflow) take(q *outflowPart) {
	o.forced = append(o.forced, q.forced...)
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
	for _, d := range o.x.p.live {
		if q.leaving != nil {
			o.need[d] -= q.leaving[d]
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
	return r - 0x1p-48*(math.Abs(r)+k.weight+o.y.table+float64(o.y.load[k.from]*k.cost))
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
		weight := float64(n) * r
		if n&(n-1) != 0 {
			weight -= 0x1p-52 * math.Abs(weight)
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

// leaving returns by item how many units leave: those that cannot stay, and what
// the covers take.
func (o *outflow) leaving(n *outflowNode) []int64 {
	s, cost := o.x.p.s, o.x.p.cost
	units := make([]int64, s.Len())
	for _, i := range o.stranded() {
		units[i] = s.count(int(i))
	}
	for _, d := range o.x.p.live {
		for _, x := range o.covers.cover(o.without(d, o.decided(d, n)), n.need[d]).taken {
			if item := o.itemOf(x.id); o.item == nil {
				units[item] = 1
			} else {
				units[item] += x.cost / cost.of(s.Cost[item])
			}
		}
	}
	return units
}

// stranded are the items that cannot stay.
func (o *outflow) stranded() []int32 {
	p, s := o.x.p, o.x.p.s
	return collect(s.Len(), func(from, to int) (items []int32) {
		for i := from; i < to; i++ {
			d := s.Current[i]
			if s.Instances[d].Drained || p.cost.of(s.Cost[i]) > max(o.x.least, o.x.room[d]) {
				items = append(items, int32(i))
			}
		}
		return items
	})
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

// dive follows one way down: it places the costliest key that leaves and has no
// room where there is most, again and again. Its node is no bound.
func (o *outflow) dive(n outflowNode) outflowNode {
	n.need, n.covered = slices.Clone(n.need), slices.Clone(n.covered)
	for range deepest {
		item, ok := o.divisor(&n)
		if !ok || o.x.p.stopped() {
			break
		}
		k := o.x.choiceOf(int(item))
		to, cost := none, o.x.p.cost.of(o.x.p.s.Cost[item])
		for _, d := range o.x.p.live {
			if d != k.from && cost <= o.x.room[d] && (to == none || n.need[d] < n.need[to]) {
				to = d
			}
		}
		if to == none {
			break
		}
		n.placed = append(n.placed, placement{item, to})
		n.need[to] += cost
		if !k.must {
			n.need[k.from] -= cost
			n.covered[k.from] = o.cover(k.from, &n)
		}
		o.look(to)
		n.covered[to] = o.cover(to, &n)
	}
	return n
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
				e = o.appendLeaver(e, &k, o.x.p.cost.of(s.Cost[i]), r)
			}
		}
		return e
	})
	q := outflowPart{leavers: make([][]coverItem, d+1)}
	q.leavers[d] = list
	o.take(&q)
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
