package covering

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/knapsack"
	"plannerd/planner/internal/relaxation"
)

// covered is what is known about one instance.
type covered struct {
	Bound float64
	taken []knapsack.Item // nil when rough
	rough bool            // it was not solved: the bound is one by the least ratio
	used  int             // partial covers that were looked at
}

// Node is a part of the problem: one more key is placed than in its parent.
type Node struct {
	parent   *Node // nil for the root
	placed   Placement
	Adjusted [2]adjustment // against the parent: where the key was, and where it is
	sum      float64       // of the fixed part and what the instances cost at least, rounded down
	bound    float64
	Depth    int
}

// adjustment is what placing a key changes about an instance; none if at is none.
type adjustment struct {
	At   int32
	Need int64
	covered
}

// coveringView is a node spelled out by instance.
type coveringView struct {
	need    []int64
	covered []covered
	placed  []Placement
}

// Placement puts an item on an instance, maybe the one it is on.
type Placement struct{ Item, At int32 }

// Root is the whole problem.
func (o *Relaxation) Root() *Node {
	n := &Node{placed: Placement{assign.None, assign.None}, sum: o.fixed}
	o.view = coveringView{need: slices.Clone(o.need), covered: make([]covered, len(o.need))}
	if o.initial == nil {
		o.solveInitial()
	}
	for _, d := range o.X.Problem.Live {
		n.sum = knapsack.AddDown(n.sum, o.initial[d].Bound)
	}
	n.bound = max(0, n.sum)
	return n
}

// solveInitial solves the covers of the instances whose leavers are known, side by side.
func (o *Relaxation) solveInitial() {
	o.initial = make([]covered, len(o.need))
	p := o.X.Problem
	assign.Each(len(p.Live), p.Items.Len(), func() func(int) {
		solver := o.Covers
		return func(i int) {
			if d := p.Live[i]; o.looked[d] {
				o.initial[d] = solve(&solver, slices.Clone(o.leavers[d]), o.need[d])
			}
		}
	})
	for _, d := range p.Live {
		if o.looked[d] {
			o.keep(o.nameOf(nil, d, nil), d, o.initial[d])
		}
	}
}

// Show spells a node out in o.view.
func (o *Relaxation) Show(n *Node) {
	v := &o.view
	copy(v.need, o.need)
	copy(v.covered, o.initial)
	v.placed = v.placed[:0]
	chain := make([]*Node, n.Depth)
	for ; n.parent != nil; n = n.parent {
		chain[n.Depth-1] = n
	}
	for _, n := range chain {
		v.placed = append(v.placed, n.placed)
		for _, c := range n.Adjusted {
			if c.At != assign.None {
				v.need[c.At], v.covered[c.At] = c.Need, c.covered
			}
		}
	}
}

// Search divides the part of least bound until the keys that leave there find
// room, or the work is used up. It returns that part, and a bound on the whole.
func (o *Relaxation) Search(root *Node) (leaf *Node, bound float64) {
	open := exact.Heap[*Node]{Before: func(a, b *Node) bool {
		return a.bound < b.bound || a.bound == b.bound && a.Depth > b.Depth
	}}
	open.Push(root)
	for {
		n := open.E[0]
		bound = n.bound
		o.Show(n)
		o.Work -= nodeWork + workPerInstance*len(o.X.Problem.Live)
		refined := o.refine(n)
		switch {
		case math.IsInf(bound, 1) || o.Work <= 0 || o.X.Problem.Stopped():
			return n, bound
		case refined:
			open.Sink(0)
			continue
		}
		item, ok := o.branchingKey()
		if !ok {
			return n, bound
		}
		open.Pop()
		for _, d := range o.X.Problem.Live {
			if c := o.Place(n, item, d); c != nil {
				o.Work -= childWork
				open.Push(c)
			}
		}
	}
}

// Dive goes on from a node to the best part of it, as it seems at each key, until the keys that leave find room, or as
// much work is used up as the search was granted. It returns the last part that is possible.
func (o *Relaxation) Dive(n *Node) *Node {
	for o.Work = o.granted; o.Work > 0 && !o.X.Problem.Stopped(); {
		o.Show(n)
		o.Work -= nodeWork + (workPerInstance+childWork)*len(o.X.Problem.Live)
		item, ok := o.branchingKey()
		if !ok {
			break
		}
		parts := exact.Heap[*Node]{Before: func(a, b *Node) bool { return a.bound < b.bound }}
		for _, d := range o.X.Problem.Live {
			if c := o.Place(n, item, d); c != nil {
				parts.Push(c)
			}
		}
		for len(parts.E) > 0 {
			if o.Show(parts.E[0]); !o.refine(parts.E[0]) {
				break
			}
			parts.Sink(0)
		}
		if len(parts.E) == 0 || math.IsInf(parts.E[0].bound, 1) {
			break
		}
		n = parts.E[0]
	}
	return n
}

// refine solves what is rough about the node on view. It reports whether there
// was anything.
func (o *Relaxation) refine(n *Node) bool {
	refined := false
	for i := range n.Adjusted {
		if c := &n.Adjusted[i]; n.parent != nil && c.At != assign.None && c.rough {
			solved := o.cover(c.At)
			solved.Bound = max(solved.Bound, c.Bound)
			n.replace(c.Bound, solved.Bound)
			c.covered, refined = solved, true
		}
	}
	n.bound = max(n.bound, n.sum)
	return refined
}

// replace changes a term of the sum.
func (n *Node) replace(old, bound float64) {
	if math.IsInf(bound, 1) {
		n.sum = bound
		return
	}
	n.sum = knapsack.AddDown(knapsack.AddDown(n.sum, -old), bound)
}

// Place makes a child of the node on view, in which an item is on an instance;
// nil if it cannot be there.
func (o *Relaxation) Place(n *Node, item, d int32) *Node {
	p := o.X.Problem
	k, cost := o.X.ChoiceOf(int(item)), p.Cost.Fixed(p.Items.Cost[item])
	if cost > o.X.Room[d] || d == k.From && k.MustLeave || !p.IsOpen(item, d) {
		return nil
	}
	c := &Node{parent: n, placed: Placement{item, d}, sum: n.sum, Depth: n.Depth + 1}
	b := o.basisOf(&k)
	c.Adjusted = [2]adjustment{{At: assign.None}, {At: assign.None}}
	here := 0.0
	if b.at != assign.None {
		here = o.view.covered[b.at].Bound
		c.Adjusted[0] = adjustment{b.at, o.view.need[b.at], covered{Bound: here, rough: true}}
	}
	if d != b.at {
		there := o.view.covered[d].Bound
		x := adjustment{d, o.view.need[d] + cost, covered{Bound: there, rough: true}}
		if o.ratio[d] > 0 { // else keys that leave for less than nothing are on it
			x.Bound = max(there, o.roughly(d, x.Need))
		}
		c.Adjusted[1] = x
		c.replace(there, x.Bound)
		if b.at != assign.None {
			// Together with the key, what covers the rest covers all.
			c.Adjusted[0].Need -= cost
			c.Adjusted[0].Bound = knapsack.AddDown(here, -b.weight)
			c.replace(here, c.Adjusted[0].Bound)
		}
		c.sum = knapsack.AddDown(knapsack.AddDown(c.sum, o.at(&k, d)), -b.cost)
	}
	c.bound = max(n.bound, c.sum)
	return c
}

// roughly is a bound on what it costs, scaled, to reach a need. It holds where
// no key leaves for less than nothing.
func (o *Relaxation) roughly(d int32, need int64) float64 {
	return float64(float64(max(0, need))*o.ratio[d]) * (1 - 0x1p-40)
}

// branchingKey is the key to branch on in the node on view: the costliest one that
// leaves and is not placed yet. There is none if all keys that leave find room when they
// are placed one after the other, the costliest first.
func (o *Relaxation) branchingKey() (int32, bool) {
	s, cost, v := o.X.Problem.Items, o.X.Problem.Cost, &o.view
	if o.Item != nil {
		return assign.None, false
	}
	var leaving []int32
	for _, item := range o.forced {
		if !slices.ContainsFunc(v.placed, func(x Placement) bool { return x.Item == item }) {
			leaving = append(leaving, item)
		}
	}
	rooms := make([]int64, len(v.need))
	for _, d := range o.X.Problem.Live {
		rooms[d] = -v.need[d]
		for _, x := range o.costliest(v.covered[d].taken) {
			leaving = append(leaving, x.ID)
			rooms[d] += x.Cost
		}
	}
	slices.SortFunc(leaving, s.HeavierFirst)
	for _, item := range leaving {
		k := o.X.ChoiceOf(int(item))
		b, best := o.basisOf(&k), assign.None
		r := knapsack.AddDown(b.cost, b.weight)
		for _, d := range o.X.Problem.Live {
			if d != b.at && !(d == k.From && k.MustLeave) && o.X.Problem.IsOpen(item, d) &&
				(best == assign.None || rooms[d] > rooms[best]) && o.at(&k, d) <= r+float64(1e-9*math.Abs(r)) {
				best = d
			}
		}
		if best == assign.None || rooms[best] < cost.Fixed(s.Cost[item]) {
			return leaving[0], true
		}
		rooms[best] -= cost.Fixed(s.Cost[item])
	}
	return assign.None, false
}

// costliest are the first of the costliest items.
func (o *Relaxation) costliest(e []knapsack.Item) []knapsack.Item {
	if len(e) > mostTaken {
		slices.SortFunc(e, func(a, b knapsack.Item) int {
			return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Tie, b.Tie), o.canonical(a.ID, b.ID))
		})
		e = e[:mostTaken]
	}
	return e
}

// WholeKeys is a covering relaxation that was searched: the part of the problem that
// costs least when whole keys leave, under one price of a table entry. That cost is
// concave in the price, and this line supports it there.
type WholeKeys struct {
	Relaxation *Relaxation
	Leaf       *Node
	Price      float64
	Value      float64 // no plan costs less, scaled
	// Slope is by how many entries the table exceeds its limit; 0 until it is asked for.
	Slope float64
}

// WholeKeys searches the covering relaxation from its root.
func (o *Relaxation) WholeKeys() *WholeKeys {
	leaf, value := o.Search(o.Root())
	return &WholeKeys{Relaxation: o, Leaf: leaf, Price: o.y.Table, Value: value}
}

// Cut reports whether the work ended a search.
func (w *WholeKeys) Cut() bool { return w != nil && w.Relaxation.Work <= 0 }

// SetSlope finds the slope.
func (w *WholeKeys) SetSlope() { w.Slope = w.Relaxation.entriesOver(w.Leaf) }

// entriesOver is by how many entries the table exceeds its limit in a node.
func (o *Relaxation) entriesOver(n *Node) float64 {
	placed, home, elsewhere := o.Decisions(n)
	over, s := o.X.TableExcess, o.X.Problem.Items
	for _, x := range placed {
		over -= relaxation.Indicator(s.Current[x.Item] != s.Home[x.Item])
		over += relaxation.Indicator(x.At != s.Home[x.Item])
	}
	for i, units := range home {
		if s.Current[i] != s.Home[i] { // else it is elsewhere that they go
			over -= float64(units)
		} else {
			over += float64(elsewhere[i])
		}
	}
	return over
}
