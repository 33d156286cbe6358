package bound

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/covering"
	"plannerd/planner/internal/knapsack"
	"plannerd/planner/internal/relaxation"
)

// AssignmentRelaxation is the problem with other constraints priced than in Relaxation:
// that each key is on exactly one instance, and the table limit. The load limits stay
// demanded, of whole keys. Under given prices every instance is a knapsack of its own,
// which takes the keys that pay it best. This is the Lagrangian relaxation of the
// generalised assignment problem by Ross and Soland (1975), whose bound is above that of
// the linear relaxation (Fisher, Jaikumar and Van Wassenhove 1986). It is
//
//	g(v,λ) = λ·entries + Σ_k v_k + Σ_d min { Σ_k (r_kd − v_k) x_kd : Σ_k c_k x_kd ≤ free_d, x binary },
//
// v_k being the price that is paid for key k to be somewhere, and r_kd what it costs that
// it is on instance d: its weight if that is not where it is now, and λ for its entry.
//
// Only some keys have prices of their own. Of the unpriced ones, which are less likely to move,
// each pays just what leaving costs it, so that no instance but its own takes it. Others
// stay: a plan in which they do not has an objective of at least the bound of Relaxation
// plus the least reduced cost among them.
type AssignmentRelaxation struct {
	x       *relaxation.Relaxation
	keys    []assignedKey // the priced ones, then the unpriced ones
	priced  int
	free    []int64 // by instance: how much load the keys may put on it
	entries float64 // above the table limit, without those of the keys
	others  float64 // what a plan costs at least, scaled, in which another key moves

	// Of the part of the problem that is looked at.
	options []options            // by priced key
	only    []int32              // by priced key: the instance on which it is; none: that is open
	never   []covering.Placement // that are ruled out
	open    []int32              // the priced keys of which it is open where they are
	room    []int64              // by instance: how much load they, and the unpriced ones, may put on it
	fixed   fixed                // what the other ones come to

	// Of the prices under which it was solved last.
	y      assignmentPrices
	offers [][]knapsack.Item    // by instance: the keys that pay it
	left   []int64              // by instance: the room that is left
	units  []unitsTaken         // by key; of those that are open
	sent   []int32              // by key that is taken elsewhere: the last instance that took it
	shed   []covering.Placement // keys that instances elsewhere did not take in the end
	over   float64              // by how many entries the table exceeds its limit

	work   int // keys and partial covers that were looked at
	covers knapsack.Solver
	rooms  exact.Heap[int32]
}

// assignedKey is a key that may move, or the equal units of an item.
type assignedKey struct {
	cost       int64   // of a unit, in fixed point
	weight     float64 // of a unit, scaled
	units      int64
	item       int32
	from, home int32
	tie        uint32
	entry      bool // it has an entry where it is
	options    options
}

// options is a set of what may become of a key.
type options uint8

const (
	mayStay options = 1 << iota
	mayGoHome
	mayGoElsewhere
)

// assignmentPrices are the multipliers of the relaxation.
type assignmentPrices struct {
	key   []float64 // v_k, of a unit, scaled
	table float64   // λ
}

func (y *assignmentPrices) set(z *assignmentPrices) {
	y.key = append(y.key[:0], z.key...)
	y.table = z.table
}

// fixed is what keys come to whose places are known.
type fixed struct {
	weight  float64 // that moves
	added   float64 // entries, beyond those that they have
	entries float64
}

// unitsTaken is how many units of a key the instances take: where they are, at home, in all.
type unitsTaken struct{ stay, home, all int64 }

// knapsackStates are partial covers to look at for an instance, and how often it is divided.
// More prove hardly more.
const knapsackStates, knapsackSplits = 1 << 12, 2

// newAssignmentRelaxation prices at most so many keys, not counting those that have to leave.
// Plans of an objective of enough or more, scaled, do not matter.
func (f *Proof) newAssignmentRelaxation(enough float64, size int) *AssignmentRelaxation {
	x, p := f.Relaxation, f.Relaxation.Problem
	priced, unpriced, others := f.reducedCore(enough, size)
	n, m := len(priced)+len(unpriced), len(p.Before)
	r := &AssignmentRelaxation{
		x: x, priced: len(priced), entries: x.TableExcess, others: others,
		free: make([]int64, m), room: make([]int64, m), left: make([]int64, m), offers: make([][]knapsack.Item, m),
		keys: make([]assignedKey, 0, n), options: make([]options, len(priced)), only: make([]int32, len(priced)),
		y: assignmentPrices{key: make([]float64, len(priced))}, units: make([]unitsTaken, n), sent: make([]int32, n),
	}
	for _, d := range p.Live {
		r.free[d] = p.Limit[d] - x.Load[d]
	}
	for _, list := range [2][]relaxation.Choice{priced, unpriced} {
		for i := range list {
			r.keys = append(r.keys, r.keyOf(&list[i]))
		}
	}
	r.restrict(nil)
	r.covers = knapsack.Solver{
		States: knapsackStates, Splits: knapsackSplits, Canonical: cmp.Compare[int32],
	}
	r.rooms.Before = func(a, b int32) bool { return r.left[a] > r.left[b] || r.left[a] == r.left[b] && a < b }
	return r
}

// keyOf makes room for a key, which may move from now on.
func (r *AssignmentRelaxation) keyOf(k *relaxation.Choice) assignedKey {
	p := r.x.Problem
	q := assignedKey{
		cost: p.Cost.Fixed(p.Items.Cost[k.Item]), weight: k.Weight, units: p.Items.UnitsOf(int(k.Item)),
		item: k.Item, from: k.From, home: p.Items.Home[k.Item], tie: uint32(p.Items.Hashes[k.Item] >> 32), entry: k.HasEntry,
	}
	r.free[k.From] += q.cost * q.units
	r.entries -= float64(relaxation.Indicator(k.HasEntry) * float64(q.units))
	if !k.MustLeave {
		q.options |= mayStay
	}
	if k.Home >= 0 {
		q.options |= mayGoHome
	}
	if k.Fitting > 0 {
		q.options |= mayGoElsewhere
	}
	return q
}

// mostUnpriced bounds the memory for keys without prices of their own.
const mostUnpriced = 200_000

// reduced is a key that may move, with its reduced cost.
type reduced struct {
	relaxation.Choice
	cost float64
}

// reducedCore are the keys of least reduced cost under the best prices, in canonical order,
// the next ones after them, and what plans cost at least in which others move.
func (f *Proof) reducedCore(enough float64, size int) (core, unpriced []relaxation.Choice, others float64) {
	x, y, others := f.Relaxation, &f.Y, enough
	m, gap, may := x.CheapestReceivers(y), enough-f.root, []reduced{}
	s := x.Problem.Items
	first := func(n int) { // the n first ones, the others after them
		exact.SelectLeast(may, n, func(a, b reduced) int {
			return cmp.Or(cmp.Compare(a.cost, b.cost), s.Compare(a.Item, b.Item))
		})
	}
	cut := func() {
		n := min(len(may), size+mostUnpriced)
		first(n)
		for _, k := range may[n:] {
			others = min(others, f.root+k.cost-float64(1e-9*math.Abs(k.cost)))
		}
		may = may[:n]
	}
	for i := range s.Len() {
		if x.Problem.IsHot(i) {
			continue
		}
		k := x.ChoiceOf(i)
		stay, home, away := k.Costs(y, m)
		if c := min(home, away) - stay; k.MustLeave {
			core = append(core, k)
		} else if c < gap {
			may = append(may, reduced{k, c})
		}
		if len(may) == 2*(size+mostUnpriced) {
			cut()
		}
	}
	cut()
	first(size)
	for i, k := range may {
		if i < size {
			core = append(core, k.Choice)
		} else {
			unpriced = append(unpriced, k.Choice)
		}
	}
	return x.InOrder(core), x.InOrder(unpriced), others
}

// restriction tells a key what it may do.
type restriction struct {
	key     int32
	options options
	only    int32 // the instance to which it goes; none: wherever it may
	never   int32 // an instance to which it does not go; none
}

// restrict restricts keys, and no others.
func (r *AssignmentRelaxation) restrict(to []restriction) {
	for i := range r.options {
		r.options[i], r.only[i] = r.keys[i].options, assign.None
	}
	r.never = r.never[:0]
	for _, x := range to {
		r.options[x.key] &= x.options
		if x.only != assign.None {
			r.only[x.key] = x.only
		}
		if x.never != assign.None {
			r.never = append(r.never, covering.Placement{Item: x.key, At: x.never})
		}
	}
	copy(r.room, r.free)
	r.open, r.fixed = r.open[:0], fixed{}
	for i := range r.options {
		switch {
		case r.only[i] != assign.None:
		case r.options[i] == mayStay:
			r.only[i] = r.keys[i].from
		case r.options[i] == mayGoHome:
			r.only[i] = r.keys[i].home
		}
		if r.only[i] == assign.None {
			r.open = append(r.open, int32(i))
		} else {
			r.fix(&r.keys[i], r.only[i])
		}
	}
}

// fix puts a key on an instance.
func (r *AssignmentRelaxation) fix(k *assignedKey, d int32) {
	units := float64(k.units)
	r.room[d] -= k.cost * k.units
	if d != k.home {
		r.fixed.entries += units
	}
	if d != k.from {
		r.fixed.weight += float64(k.weight * units)
		r.fixed.added += float64(units * (relaxation.Indicator(d != k.home) - relaxation.Indicator(k.entry)))
	}
}

// leave is what the cheapest way to leave costs a unit of a key, apart from its load, and how
// that changes with the price of an entry.
func (k *assignedKey) leave(table float64) (cost, perPrice float64) {
	if k.entry {
		perPrice = -1
	}
	if k.options&mayGoHome == 0 {
		perPrice++
	}
	return k.weight + float64(perPrice*table), perPrice
}

// at is what it costs a unit of a key to be on an instance.
func (k *assignedKey) at(d int32, table float64) float64 {
	if d == k.from {
		return 0
	}
	cost := k.weight
	if k.entry {
		cost -= table
	}
	if d != k.home {
		cost += table
	}
	return cost
}

// elsewhere is what going to an instance that is not its home costs a unit of a key.
func (k *assignedKey) elsewhere(table float64) float64 {
	if k.entry {
		return k.weight
	}
	return k.weight + table
}

// coverWork is what a cover takes besides the keys that it looks at, in these.
const coverWork = 256

// solve computes the relaxation under r.y, rounded down. +∞: there is no solution.
func (r *AssignmentRelaxation) solve() float64 {
	p := r.x.Problem
	for d := range r.offers {
		r.offers[d], r.left[d] = r.offers[d][:0], r.room[d]
	}
	clear(r.units)
	r.shed = r.shed[:0]
	r.over = r.entries + r.fixed.entries
	r.work += len(r.open) + len(r.keys) - r.priced
	total := tally{}
	total.add(r.x.Hot + r.fixed.weight)
	total.add(float64(r.y.table * (r.x.TableExcess + r.fixed.added)))
	for _, i := range r.open {
		r.offer(i, &total)
	}
	for i := r.priced; i < len(r.keys); i++ {
		v, _ := r.keys[i].leave(r.y.table)
		total.add(float64(v * float64(r.keys[i].units)))
		r.pay(int32(i), r.keys[i].from, v, &total)
	}
	for _, d := range p.Live {
		if r.left[d] >= 0 {
			continue
		}
		c := r.covers.Solve(r.offers[d], -r.left[d])
		r.work += coverWork + len(r.offers[d]) + r.covers.Used
		if !c.Feasible {
			return math.Inf(1)
		}
		total.add(c.Bound)
		for _, x := range c.Taken {
			r.take(x.ID, d, -x.Cost/r.keys[x.ID].cost)
		}
	}
	return total.floor(len(r.keys))
}

// offer offers a key to the instances that take it under its price.
func (r *AssignmentRelaxation) offer(i int32, total *tally) {
	k, v, o := &r.keys[i], r.y.key[i], r.options[i]
	total.add(float64(v * float64(k.units)))
	total.magnitude += float64(float64(k.units) * (math.Abs(v) + k.weight + float64(2*r.y.table)))
	if o&mayStay != 0 {
		r.pay(i, k.from, v, total)
	}
	if o&mayGoHome != 0 {
		r.pay(i, k.home, v-k.at(k.home, r.y.table), total)
	}
	more := v - k.elsewhere(r.y.table)
	if o&mayGoElsewhere == 0 || more <= 0 {
		return
	}
	for _, d := range r.x.Problem.Live {
		if r.isElsewhere(i, d) {
			r.pay(i, d, more, total)
		}
	}
}

// isElsewhere reports whether an instance is neither where a key is nor its home, and not
// one to which it may not go.
func (r *AssignmentRelaxation) isElsewhere(i, d int32) bool {
	k := &r.keys[i]
	return d != k.from && d != k.home && r.x.Problem.IsOpen(k.item, d) &&
		(len(r.never) == 0 || !slices.Contains(r.never, covering.Placement{Item: i, At: d}))
}

// pay makes an instance take a key that pays it something and fits there, though it may take
// too much with it.
func (r *AssignmentRelaxation) pay(i, d int32, surplus float64, total *tally) {
	k := &r.keys[i]
	if surplus <= 0 || k.cost > r.room[d] {
		return
	}
	total.add(-float64(surplus * float64(k.units)))
	for left, n := k.units, int64(1); left > 0 && k.cost > 0; n *= 2 { // chunks that sum to every number of units
		n = min(n, left)
		left -= n
		r.offers[d] = append(r.offers[d],
			knapsack.Item{Cost: k.cost * n, Weight: float64(surplus * float64(n)), Tie: k.tie, ID: i})
	}
	r.take(i, d, k.units)
}

// take puts units of a key on an instance, or takes them off.
func (r *AssignmentRelaxation) take(i, d int32, units int64) {
	k, u := &r.keys[i], &r.units[i]
	r.left[d] -= k.cost * units
	u.all += units
	switch d {
	case k.from:
		u.stay += units
	case k.home:
		u.home += units
	}
	if d != k.home {
		r.over += float64(units)
	}
	switch {
	case d == k.from || d == k.home:
	case units > 0:
		r.sent[i] = d
		sent := covering.Placement{Item: i, At: d} // it was sent after all
		r.shed = slices.DeleteFunc(r.shed, func(x covering.Placement) bool { return x == sent })
	default:
		r.shed = append(r.shed, covering.Placement{Item: i, At: d})
	}
}

// takenElsewhere is an instance that takes a key, neither its home nor where it was; none if no
// such one does.
func (r *AssignmentRelaxation) takenElsewhere(i int32) int32 {
	u := &r.units[i]
	if u.all == u.stay+u.home {
		return assign.None
	}
	if d := r.sent[i]; !slices.Contains(r.shed, covering.Placement{Item: i, At: d}) {
		return d
	}
	for _, d := range r.x.Problem.Live {
		if r.isElsewhere(i, d) && r.keys[i].cost <= r.room[d] &&
			!slices.Contains(r.shed, covering.Placement{Item: i, At: d}) {
			return d
		}
	}
	return assign.None
}

// send sends keys that no instance takes, though they would go elsewhere for their price, to
// where there is most room, the costliest first. At that price, where the relaxation has a
// kink, it is as good a solution that one of the instances with room takes such a key as that
// all do or that none does.
func (r *AssignmentRelaxation) send() {
	var waiting []int32
	for _, i := range r.open {
		if k := &r.keys[i]; r.units[i].all == 0 && r.options[i]&mayGoElsewhere != 0 &&
			r.y.key[i] >= k.elsewhere(r.y.table)*(1-atKink) {
			waiting = append(waiting, i)
		}
	}
	for i := r.priced; i < len(r.keys); i++ {
		if r.units[i].all == 0 {
			waiting = append(waiting, int32(i))
		}
	}
	if len(waiting) == 0 {
		return
	}
	slices.SortFunc(waiting, func(i, j int32) int {
		return cmp.Or(cmp.Compare(r.keys[j].cost*r.keys[j].units, r.keys[i].cost*r.keys[i].units), cmp.Compare(i, j))
	})
	r.rooms.E = append(r.rooms.E[:0], r.x.Problem.Live...)
	r.rooms.Heapify()
	for _, i := range waiting {
		d, ok := r.rooms.E[0], true
		if !r.isElsewhere(i, d) {
			d, ok = r.rooms.Second()
		}
		k := &r.keys[i]
		if int(i) >= r.priced && k.options&mayGoHome != 0 {
			d, ok = k.home, false
			if r.left[d] >= k.cost*k.units {
				r.take(i, d, k.units)
				r.rooms.Heapify()
			}
		}
		if ok && r.isElsewhere(i, d) && r.left[d] >= k.cost*k.units {
			r.take(i, d, k.units)
			r.rooms.Heapify()
		}
	}
}

// atKink is by how much a price may be off a kink, relative to it.
const atKink = 1e-9

// decisions are where the keys go that do not stay; none stands for wherever there is room. A
// key that several instances take stays if it may, else it goes home.
func (r *AssignmentRelaxation) decisions() []covering.Placement {
	var moved []covering.Placement
	for i := range r.keys {
		k, u := &r.keys[i], &r.units[i]
		var d int32
		switch {
		case i < r.priced && r.only[i] != assign.None:
			d = r.only[i]
		case u.stay > 0:
			d = k.from
		case u.home > 0:
			d = k.home
		default:
			d = r.takenElsewhere(int32(i))
		}
		if d != k.from {
			moved = append(moved, covering.Placement{Item: k.item, At: d})
		}
	}
	return moved
}

// tally is a sum with an error bound: it carries what rounding takes off (Neumaier 1974).
type tally struct{ sum, carry, magnitude float64 }

func (t *tally) add(v float64) {
	s := t.sum + v
	if math.Abs(t.sum) >= math.Abs(v) {
		t.carry += (t.sum - s) + v
	} else {
		t.carry += (v - s) + t.sum
	}
	t.sum = s
	t.magnitude += math.Abs(v)
}

// floor is not above the exact sum, nor above that of the terms before they were rounded, of
// which one may be a plain sum of so many.
func (t *tally) floor(terms int) float64 {
	return t.sum + t.carry - float64((0x1p-48+float64(float64(terms)*0x1p-52))*t.magnitude)
}
