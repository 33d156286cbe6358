package planner

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
)

// covered is what is known about one instance.
type covered struct {
	bound float64
	taken []coverItem // nil when rough
	rough bool        // it was not solved: the bound is one by the least ratio
}

// outflowNode is a part of the problem: one more key is placed than in its parent.
type outflowNode struct {
	parent   *outflowNode // nil for the root
	placed   placement
	adjusted [2]adjustment // against the parent: where the key was, and where it is
	sum      float64       // of the fixed part and what the instances cost at least, rounded down
	bound    float64
	depth    int
}

// adjustment is what placing a key changes about an instance; none if at is none.
type adjustment struct {
	at   int32
	need int64
	covered
}

// outflowView is a node spelled out by instance.
type outflowView struct {
	need    []int64
	covered []covered
	placed  []placement
}

// placement puts an item on an instance, maybe the one it is on.
type placement struct{ item, at int32 }

// root is the whole problem.
func (o *outflow) root() *outflowNode {
	n := &outflowNode{placed: placement{none, none}, sum: o.fixed}
	o.view = outflowView{need: slices.Clone(o.need), covered: make([]covered, len(o.need))}
	o.initial = make([]covered, len(o.need))
	for _, d := range o.x.p.live {
		if o.looked[d] {
			o.initial[d] = o.cover(d)
			n.sum = addDown(n.sum, o.initial[d].bound)
		}
	}
	n.bound = max(0, n.sum)
	return n
}

// show spells a node out in o.view.
func (o *outflow) show(n *outflowNode) {
	v := &o.view
	copy(v.need, o.need)
	copy(v.covered, o.initial)
	v.placed = v.placed[:0]
	chain := make([]*outflowNode, n.depth)
	for ; n.parent != nil; n = n.parent {
		chain[n.depth-1] = n
	}
	for _, n := range chain {
		v.placed = append(v.placed, n.placed)
		for _, c := range n.adjusted {
			if c.at != none {
				v.need[c.at], v.covered[c.at] = c.need, c.covered
			}
		}
	}
}

// search divides the part of least bound until the keys that leave there find
// room, or the work is used up. It returns that part, and a bound on the whole.
func (o *outflow) search(root *outflowNode) (leaf *outflowNode, bound float64) {
	open := exact.Heap[*outflowNode]{Before: func(a, b *outflowNode) bool {
		return a.bound < b.bound || a.bound == b.bound && a.depth > b.depth
	}}
	open.Push(root)
	for {
		n := open.E[0]
		bound = n.bound
		o.show(n)
		o.work -= nodeWork + workPerInstance*len(o.need)
		refined := o.refine(n)
		switch {
		case math.IsInf(bound, 1) || o.work <= 0 || o.x.p.stopped():
			return n, bound
		case refined:
			open.Sink(0)
			continue
		}
		item, ok := o.divisor()
		if !ok {
			return n, bound
		}
		open.Pop()
		for _, d := range o.x.p.live {
			if c := o.place(n, item, d); c != nil {
				o.work -= childWork
				open.Push(c)
			}
		}
	}
}

// refine solves what is rough about the node on view. It reports whether there
// was anything.
func (o *outflow) refine(n *outflowNode) bool {
	refined := false
	for i := range n.adjusted {
		if c := &n.adjusted[i]; n.parent != nil && c.at != none && c.rough {
			solved := o.cover(c.at)
			solved.bound = max(solved.bound, c.bound)
			n.replace(c.bound, solved.bound)
			c.covered, refined = solved, true
		}
	}
	n.bound = max(n.bound, n.sum)
	return refined
}

// replace changes a term of the sum.
func (n *outflowNode) replace(old, bound float64) {
	if math.IsInf(bound, 1) {
		n.sum = bound
		return
	}
	n.sum = addDown(addDown(n.sum, -old), bound)
}

// place makes a child of the node on view, in which an item is on an instance;
// nil if it cannot be there.
func (o *outflow) place(n *outflowNode, item, d int32) *outflowNode {
	p := o.x.p
	k, cost := o.x.choiceOf(int(item)), p.cost.Fixed(p.s.Cost[item])
	if cost > o.x.room[d] || d == k.from && k.must {
		return nil
	}
	c := &outflowNode{parent: n, placed: placement{item, d}, sum: n.sum, depth: n.depth + 1}
	was := adjustment{at: none}
	c.adjusted = [2]adjustment{was, was}
	here := o.view.covered[k.from].bound
	if !k.must {
		c.adjusted[0] = adjustment{k.from, o.view.need[k.from], covered{bound: here, rough: true}}
	}
	if d != k.from {
		r, least := o.at(&k, d), o.toLeave(&k)
		there := o.view.covered[d].bound
		x := adjustment{d, o.view.need[d] + cost, covered{bound: there, rough: true}}
		if o.ratio[d] > 0 { // else keys that leave for less than nothing are on it
			x.bound = max(there, o.roughly(d, x.need))
		}
		c.adjusted[1] = x
		c.replace(there, x.bound)
		if k.must {
			c.sum = addDown(addDown(c.sum, r), -least)
		} else {
			// Together with the key, what covers the rest covers all.
			c.adjusted[0].need -= cost
			c.adjusted[0].bound = addDown(here, -least)
			c.replace(here, c.adjusted[0].bound)
			c.sum = addDown(c.sum, r)
		}
	}
	c.bound = max(n.bound, c.sum)
	return c
}

// roughly is a bound on what it costs, scaled, to reach a need. It holds where
// no key leaves for less than nothing.
func (o *outflow) roughly(d int32, need int64) float64 {
	return float64(float64(max(0, need))*o.ratio[d]) * (1 - 0x1p-40)
}

// divisor is, in the node on view, the costliest key that leaves and is not
// placed yet, if the keys that leave do not all find room as they come, the
// costliest first.
func (o *outflow) divisor() (int32, bool) {
	s, cost, v := o.x.p.s, o.x.p.cost, &o.view
	if o.item != nil {
		return none, false
	}
	var leaving []int32
	for _, item := range o.forced {
		if !slices.ContainsFunc(v.placed, func(x placement) bool { return x.item == item }) {
			leaving = append(leaving, item)
		}
	}
	rooms := make([]int64, len(v.need))
	for _, d := range o.x.p.live {
		rooms[d] = -v.need[d]
		for _, x := range o.costliest(v.covered[d].taken) {
			leaving = append(leaving, x.id)
			rooms[d] += x.cost
		}
	}
	slices.SortFunc(leaving, s.heavierFirst)
	for _, item := range leaving {
		k := o.x.choiceOf(int(item))
		r, best := o.toLeave(&k), none
		for _, d := range o.x.p.live {
			if d != k.from && (best == none || rooms[d] > rooms[best]) && o.at(&k, d) <= r+float64(1e-9*math.Abs(r)) {
				best = d
			}
		}
		if best == none || rooms[best] < cost.Fixed(s.Cost[item]) {
			return leaving[0], true
		}
		rooms[best] -= cost.Fixed(s.Cost[item])
	}
	return none, false
}

// costliest are the first of the costliest items.
func (o *outflow) costliest(e []coverItem) []coverItem {
	if len(e) > mostTaken {
		slices.SortFunc(e, func(a, b coverItem) int {
			return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(a.tie, b.tie), o.canonical(a.id, b.id))
		})
		e = e[:mostTaken]
	}
	return e
}
