package covering

import (
	"encoding/binary"
	"math"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/knapsack"
	"plannerd/planner/internal/relaxation"
)

// Relaxation strengthens the Lagrangian relaxation by constraints that follow from the priced
// ones and stay demanded: from each instance, whole keys have to leave whose
// costs make up for what it has too much. Under given prices every instance is a
// covering knapsack of its own. The bound is
//
//	base(u,λ) + Σ_d min { Σ r_k z_k : Σ c_k z_k ≥ need_d, z binary },
//
// r_k being what the key's best way to leave costs beyond staying. A key that does best
// by going home, as where its entry is dear, counts as being there: it is its home that
// others have to leave then, or it does not return, at what that costs beyond returning.
// As long as the keys that leave do not find room, the costliest of them is branched on:
// it stays, or it goes to one of the instances, from which others may have to leave then.
type Relaxation struct {
	X         *relaxation.Relaxation
	y         relaxation.Prices
	receivers relaxation.CheapestReceiver
	fixed     float64           // the part that no cover changes, rounded down
	need      []int64           // by instance, in fixed point: what has to leave; negative: what has room
	leavers   [][]knapsack.Item // by instance
	looked    []bool            // by instance: whether its leavers are known
	ratio     []float64         // by instance: none of its leavers has a lesser one; 0: some do
	forced    []int32           // keys that cannot stay, the costliest
	Gone      []int32           // items that leave in any case, those of the covers aside
	Item      []int32           // by the id of a leaver, if items have counts

	Covers  knapsack.Solver
	scratch []knapsack.Item
	known   map[string]covered
	initial []covered // of the root
	view    coveringView
	Work    int // leavers that may still be looked at
	granted int // those that a search may look at
}

const (
	coverStates = 1 << 12 // partial covers to look at for an instance
	coverSplits = 2
	mostTaken   = 32 // costliest items of a cover that may be branched on
	mostForced  = 64 // costliest ones of the keys that cannot stay
	// To look at a node takes the time of so many leavers, and some for each instance; to make one less.
	nodeWork, workPerInstance, childWork = 400, 4, 40
)

// New sets up the knapsacks under prices, to be searched with that much
// work. The keys of instances from which none has to leave are looked at later.
// It returns nil if some key fits nowhere.
func New(x *relaxation.Relaxation, y *relaxation.Prices, work int) *Relaxation {
	p := x.Problem
	o := &Relaxation{
		X: x, y: y.Clone(), receivers: x.CheapestReceivers(y), known: map[string]covered{}, Work: work, granted: work,
		need: make([]int64, len(x.Excess)), leavers: make([][]knapsack.Item, len(x.Excess)),
	}
	o.Covers = knapsack.Solver{States: coverStates, Splits: coverSplits, Canonical: o.canonical}
	o.looked, o.ratio = make([]bool, len(x.Excess)), slices.Repeat([]float64{math.MaxFloat64}, len(x.Excess))
	for _, d := range p.Live {
		o.need[d] = x.Load[d] - p.Limit[d]
	}
	o.sendBack()
	for _, d := range p.Live {
		o.looked[d] = o.need[d] > 0
	}
	free := x.Base(&o.y)
	if p.Items.Units != nil {
		o.Item = []int32{}
	}
	parts := make([]coveringPart, assign.MostParts)
	assign.InParts(p.Items.Len(), func(part, from, to int) { parts[part] = o.part(from, to) })
	for i := range parts {
		switch {
		case parts[i].barred:
			return nil
		case parts[i].leaving == nil:
			continue
		}
		free.Merge(&parts[i].free)
		o.take(&parts[i])
		for _, d := range p.Live {
			o.need[d] -= parts[i].leaving[d]
			o.ratio[d] = min(o.ratio[d], parts[i].ratio[d])
		}
	}
	slices.SortFunc(o.forced, p.Items.HeavierFirst)
	o.forced = o.forced[:min(len(o.forced), mostForced)]
	o.fixed = free.Floor()
	return o
}

// basis is the instance on which a key counts as being, in whose cover it is: its home if it returns there, else where
// it is; none where it has to leave and does not return. cost is what being there costs beyond staying where it is, and
// weight the least that being anywhere else adds to that, both scaled and rounded down.
type basis struct {
	at           int32
	returns      bool
	cost, weight float64
}

func (o *Relaxation) basisOf(k *relaxation.Choice) basis {
	_, home, away := k.Costs(&o.y, o.receivers)
	switch {
	case home < away && (home < 0 || k.MustLeave):
		b := basis{at: k.Home, returns: true, cost: o.below(k, home)}
		if away = o.below(k, away); !k.MustLeave {
			away = min(away, 0)
		}
		b.weight = knapsack.AddDown(away, -b.cost)
		return b
	case k.MustLeave:
		return basis{at: assign.None, cost: o.below(k, away)}
	}
	return basis{at: k.From, weight: o.below(k, min(home, away))}
}

// Returns reports whether a key that is elsewhere counts as being at home.
func (o *Relaxation) Returns(item int32) bool {
	k := o.X.ChoiceOf(int(item))
	return o.basisOf(&k).returns
}

// sendBack has the keys that return be at home, not where they are.
func (o *Relaxation) sendBack() {
	p, s := o.X.Problem, o.X.Problem.Items
	parts := make([][]int64, assign.MostParts)
	assign.InParts(s.Len(), func(part, from, to int) {
		change := make([]int64, len(o.need))
		for i := from; i < to; i++ {
			if s.Current[i] == s.Home[i] || s.Cost[i] == 0 || p.IsHot(i) {
				continue
			}
			k := o.X.ChoiceOf(i)
			if b := o.basisOf(&k); b.returns {
				load := p.Cost.Fixed(s.Cost[i]) * s.UnitsOf(i)
				change[k.From] -= load
				change[b.at] += load
			}
		}
		parts[part] = change
	})
	for _, change := range parts {
		for d, load := range change {
			o.need[d] += load
		}
	}
}

// coveringPart is what some of the items add to a covering relaxation.
type coveringPart struct {
	free    relaxation.Sum
	leaving []int64   // by instance: what goes in any case
	ratio   []float64 // by instance: the least of its leavers, 0 if one is negative
	leavers [][]knapsack.Item
	forced  []int32
	gone    []int32
	barred  bool // some key fits nowhere
}

// part goes through a range of items.
func (o *Relaxation) part(first, end int) coveringPart {
	p, s := o.X.Problem, o.X.Problem.Items
	n := len(o.need)
	q := coveringPart{leaving: make([]int64, n), ratio: slices.Repeat([]float64{math.MaxFloat64}, n),
		leavers: make([][]knapsack.Item, n)}
	for i := first; i < end; i++ {
		cost, units, d := p.Cost.Fixed(s.Cost[i]), s.UnitsOf(i), s.Current[i]
		if !o.looked[d] && d == s.Home[i] && p.IsLive[d] && cost <= o.X.Least && o.y.Load[d] == 0 {
			if cost > 0 && !p.IsHot(i) { // then leaving costs at least what it weighs
				q.ratio[d] = min(q.ratio[d], o.X.UnitWeight*p.WeightBelow(int32(i))/float64(cost))
			}
			continue
		}
		if p.IsHot(i) {
			continue
		}
		k := o.X.ChoiceOf(i)
		o.sort(&q, &k, cost, units)
	}
	return q
}

// sort notes whether a key leaves in any case, or is one that may.
func (o *Relaxation) sort(q *coveringPart, k *relaxation.Choice, cost, units int64) {
	b := o.basisOf(k)
	r := b.weight
	switch {
	case b.at == assign.None && math.IsInf(b.cost, 1):
		q.barred = true
	case b.returns:
		q.free.Add(k.Units*b.cost, k.Units*math.Abs(b.cost))
		q.gone = append(q.gone, k.Item)
		if cost > 0 && !math.IsInf(r, 1) {
			q.ratio[b.at] = min(q.ratio[b.at], max(0, r/float64(cost)))
			if o.looked[b.at] {
				q.leavers[b.at] = o.appendLeaver(q.leavers[b.at], k, cost, r)
			}
		}
	case k.MustLeave || r < 0 && (cost == 0 || !o.looked[k.From]): // it leaves in any case
		if k.MustLeave {
			r = b.cost
		}
		q.free.Add(k.Units*r, k.Units*math.Abs(r))
		q.leaving[k.From] += cost * units
		q.gone = append(q.gone, k.Item)
		if k.MustLeave && o.Item == nil && cost > 0 {
			q.forced = append(q.forced, k.Item)
		}
	case cost > 0 && !math.IsInf(r, 1):
		q.ratio[k.From] = min(q.ratio[k.From], max(0, r/float64(cost)))
		if o.looked[k.From] {
			q.leavers[k.From] = o.appendLeaver(q.leavers[k.From], k, cost, r)
		}
	}
}

// take adds a part. Leavers of items with counts get their ids here.
func (o *Relaxation) take(q *coveringPart) {
	o.forced, o.Gone = append(o.forced, q.forced...), append(o.Gone, q.gone...)
	for d, list := range q.leavers {
		if o.Item != nil {
			for i := range list {
				o.Item = append(o.Item, list[i].ID)
				list[i].ID = int32(len(o.Item) - 1)
			}
		}
		if o.leavers[d] == nil {
			o.leavers[d] = list
		} else {
			o.leavers[d] = append(o.leavers[d], list...)
		}
	}
}

// below is less than r, which k costs somewhere, by more than rounding can have
// added to it.
func (o *Relaxation) below(k *relaxation.Choice, r float64) float64 {
	if math.IsInf(r, 1) || r == k.Weight && o.y.Table == 0 && o.y.Load[k.From] == 0 {
		return r
	}
	return r - float64(0x1p-48*(math.Abs(r)+k.Weight+o.y.Table+float64(o.y.Load[k.From]*k.Cost)))
}

// appendLeaver appends the units of an item in chunks of 1, 2, 4, … and a rest,
// which sum to every number of them. Their id is the item.
func (o *Relaxation) appendLeaver(e []knapsack.Item, k *relaxation.Choice, cost int64, r float64) []knapsack.Item {
	s := o.X.Problem.Items
	tie := uint32(s.Hashes[k.Item] >> 32)
	if s.Units == nil {
		return append(e, knapsack.Item{Cost: cost, Weight: r, Tie: tie, ID: k.Item})
	}
	left := s.Units[k.Item]
	for n := int64(1); left > 0; n *= 2 {
		n = min(n, left)
		left -= n
		weight := float64(float64(n) * r)
		if n&(n-1) != 0 {
			weight -= float64(0x1p-52 * math.Abs(weight))
		}
		e = append(e, knapsack.Item{Cost: cost * n, Weight: weight, Tie: tie, ID: k.Item})
	}
	return e
}

// itemOf is the item that a leaver is, or is a part of.
func (o *Relaxation) itemOf(id int32) int32 {
	if o.Item != nil {
		return o.Item[id]
	}
	return id
}

func (o *Relaxation) canonical(a, b int32) int {
	return o.X.Problem.Items.Compare(o.itemOf(a), o.itemOf(b))
}

// cover solves the knapsack of an instance in the node on view.
func (o *Relaxation) cover(d int32) covered {
	left := o.Decided(d)
	name := o.nameOf(make([]byte, 0, 64), d, left)
	if c, ok := o.known[string(name)]; ok {
		return c
	}
	o.Look(d)
	c := solve(&o.Covers, o.Without(d, left), o.view.need[d])
	o.keep(name, d, c)
	return c
}

// nameOf appends what tells covers in the node on view apart: the instance, what has to leave it, and the items
// that are decided.
func (o *Relaxation) nameOf(name []byte, d int32, decided []int32) []byte {
	name = binary.LittleEndian.AppendUint32(name, uint32(d))
	name = binary.LittleEndian.AppendUint64(name, uint64(o.view.need[d]))
	for _, i := range decided {
		name = binary.LittleEndian.AppendUint32(name, uint32(i))
	}
	return name
}

// keep notes the cover of an instance by its name, and the work that it took.
func (o *Relaxation) keep(name []byte, d int32, c covered) {
	o.Work -= len(o.leavers[d]) + c.used
	o.known[string(name)] = c
}

// solve finds the cheapest items whose costs make up for need. It reorders the items.
func solve(by *knapsack.Solver, items []knapsack.Item, need int64) covered {
	got := by.Solve(items, need)
	return covered{Bound: got.Bound, taken: slices.Clone(got.Taken), used: by.Used}
}

// Without copies the leavers of an instance but for some.
func (o *Relaxation) Without(d int32, items []int32) []knapsack.Item {
	o.scratch = o.scratch[:0]
	for _, x := range o.leavers[d] {
		if len(items) == 0 || !slices.Contains(items, o.itemOf(x.ID)) {
			o.scratch = append(o.scratch, x)
		}
	}
	return o.scratch
}

// Decided returns the placed items of an instance.
func (o *Relaxation) Decided(d int32) []int32 {
	var items []int32
	for _, x := range o.view.placed {
		if k := o.X.ChoiceOf(int(x.Item)); o.basisOf(&k).at == d {
			items = append(items, x.Item)
		}
	}
	slices.Sort(items)
	return items
}

// Decisions are what a node stands for: the keys that were placed, and by item how many units of the others go
// home, and how many elsewhere: those that leave in any case, and what the covers take.
func (o *Relaxation) Decisions(n *Node) (placed []Placement, home, elsewhere []int64) {
	o.Show(n)
	p := o.X.Problem
	home, elsewhere = make([]int64, p.Items.Len()), make([]int64, p.Items.Len())
	leave := func(k *relaxation.Choice, units int64) {
		if _, there, away := k.Costs(&o.y, o.receivers); there < away {
			home[k.Item] += units
		} else {
			elsewhere[k.Item] += units
		}
	}
	for _, i := range o.Gone {
		k := o.X.ChoiceOf(int(i))
		leave(&k, p.Items.UnitsOf(int(i)))
	}
	for _, d := range p.Live {
		for _, x := range o.view.covered[d].taken {
			item, n := o.itemOf(x.ID), int64(1)
			if o.Item != nil {
				n = x.Cost / p.Cost.Fixed(p.Items.Cost[item])
			}
			k := o.X.ChoiceOf(int(item))
			if !o.Returns(item) {
				leave(&k, n)
				continue
			}
			home[item] -= n
			if k.MustLeave {
				elsewhere[item] += n
			}
		}
	}
	for _, x := range o.view.placed {
		home[x.Item], elsewhere[x.Item] = 0, 0
	}
	return o.view.placed, home, elsewhere
}

// Look makes sure that the leavers of an instance are known.
func (o *Relaxation) Look(d int32) {
	if o.looked[d] {
		return
	}
	s := o.X.Problem.Items
	o.looked[d] = true
	list := assign.Collect(s.Len(), func(from, to int) (e []knapsack.Item) {
		for i, at := range s.Current[from:to] {
			if i += from; at != d && s.Home[i] != d || s.Cost[i] == 0 || o.X.Problem.IsHot(i) {
				continue
			}
			k := o.X.ChoiceOf(i)
			if b := o.basisOf(&k); b.at == d && b.weight >= 0 && !math.IsInf(b.weight, 1) { // others are dealt with
				e = o.appendLeaver(e, &k, o.X.Problem.Cost.Fixed(s.Cost[i]), b.weight)
			}
		}
		return e
	})
	q := coveringPart{leavers: make([][]knapsack.Item, d+1)}
	q.leavers[d] = list
	o.take(&q)
}

// at is what being on an instance costs a key beyond staying where it is, rounded down.
func (o *Relaxation) at(k *relaxation.Choice, d int32) float64 {
	if d == k.From {
		return 0
	}
	r := k.Weight - float64(o.y.Load[k.From]*k.Cost) + float64(o.y.Load[d]*k.Cost)
	if k.HasEntry {
		r -= o.y.Table
	}
	if d != k.Home {
		r += o.y.Table
	}
	return o.below(k, r)
}
