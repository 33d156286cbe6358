package planner

import (
	"cmp"
	"math"
	"slices"
)

// proof is what the relaxation tells about a problem.
type proof struct {
	x      *relaxation
	level  CertificateLevel
	core   []choice
	member []bool
	bound  float64 // scaled; a lower bound on the objective of every plan that meets all constraints
	root   node
	nodes  []node // the open ones of the branching, those of least bound first

	entries  float64      // no plan has fewer; 0 where that was not looked at
	integral bool         // every objective is a whole number
	outflow  *outflow     // nil where whole keys were not looked at
	leaf     *outflowNode // of its search: the part of least bound
}

// node is a part of the problem: some heavy keys are told to stay or to leave.
type node struct {
	fixed []fixing
	y     prices
	bound float64
}

// fixing tells a key to leave its instance, or to stay.
type fixing struct {
	item  int32
	leave bool
}

// infeasible reports whether no plan meets all constraints.
func (f *proof) infeasible() bool { return len(f.nodes) == 0 }

const (
	// They bound the rounds in which the core takes in what it missed.
	corePasses, childPasses = 4, 2
	// mostSplits bounds the branching; on large inputs the work does, in members
	// of the core times splits.
	mostSplits     = 16
	branchWork     = 300_000
	itemsPerMember = 16 // items that are gone through in the time of a member of the core
)

// prove bounds the objective as well as the level allows.
func (p *problem) prove(level CertificateLevel) *proof {
	f := p.newProof(level)
	if level == CertificateTight {
		f.branch()
	}
	return f
}

// newProof finds good prices and evaluates them over all items. It starts with a
// core of the items that are likely to move, and adds those that turn out to.
// Then it looks at what whole keys cost.
func (p *problem) newProof(level CertificateLevel) *proof {
	x := newRelaxation(p)
	f := &proof{x: x, level: level, member: make([]bool, p.s.Len()), integral: p.wholeWeights()}
	f.firstCore()
	f.solve(&f.root, nil, corePasses)
	if f.root.bound <= x.surely() {
		f.nodes, f.bound = []node{f.root}, f.root.bound
	}
	if p.s.Len() <= fewItems || level == CertificateTight {
		f.demandWhole()
	}
	return f
}

// demandWhole raises the bound by what whole keys cost that leave overloaded
// instances.
func (f *proof) demandWhole() {
	x, items := f.x, f.x.p.s.Len()
	if f.outflow != nil || f.infeasible() || x.p.stopped() {
		return
	}
	if x.limited && f.root.y.table > 0 && items <= manyItems {
		if f.entries = x.p.leastEntries(f.level); f.entries > float64(*x.p.o.TableLimit) {
			f.disprove()
			return
		}
	}
	free := make([]float64, len(x.excess))
	candidates := []prices{{free, f.root.y.table}}
	if items <= fewItems {
		candidates = append(candidates, f.root.y)
		if f.root.y.table > 0 {
			candidates = append(candidates, prices{free, 0})
		}
	}
	for _, y := range candidates {
		o := x.newOutflow(&y, f.wholeWork())
		if o == nil {
			f.disprove()
			return
		}
		if root := o.root(); f.outflow == nil || root.bound > f.leaf.bound {
			f.outflow, f.leaf = o, root
		}
	}
	leaf, bound := f.outflow.search(f.leaf)
	if bound > x.surely() {
		f.disprove()
		return
	}
	f.leaf, f.bound = leaf, max(f.bound, bound)
}

// disprove notes that no plan meets all constraints.
func (f *proof) disprove() { f.nodes, f.bound = nil, 0 }

// wholeWork is how much the search for whole keys may look at; see outflow.work.
func (f *proof) wholeWork() int {
	items := f.x.p.s.Len()
	switch {
	case items > manyItems:
		return items
	case f.level == CertificateTight:
		return min(1_000_000+600*items, 20_000_000)
	}
	return 50_000 + 30*items
}

// whole is an assignment of that bound, nearly a plan; nil if there is none or
// the meter ran out.
func (f *proof) whole() *assignment {
	p := f.x.p
	if f.outflow == nil || f.infeasible() || !p.meter.spend(int64(p.s.Len()/itemsPerUnit)+1) {
		return nil
	}
	return f.outflow.assemble(f.leaf)
}

// surely is what no plan's objective exceeds.
func (x *relaxation) surely() float64 { return float64(x.everything * (1 + 1e-9)) }

// solve finds prices for a node, beginning with the given ones, if any, and the
// node's bound. It adds to the core the items that it missed and tries again, as
// often as it may and as it is worth while.
func (f *proof) solve(n *node, start *prices, passes int) {
	for pass := range passes {
		if pass > 0 && f.x.p.stopped() {
			return
		}
		added, reached := f.ascend(n, start)
		if added == 0 || n.bound >= reached*(1-1e-4) || n.bound > f.x.surely() {
			return
		}
		if start = &n.y; n.bound < reached/2 {
			start = nil // they rest on what the core lacked
		}
	}
}

// ascend is one pass of solve. It returns how many items it added to the core
// and the value over the core alone.
func (f *proof) ascend(n *node, start *prices) (added int, reached float64) {
	d := f.x.newDual(f.applied(n.fixed))
	if start == nil {
		d.start()
	} else {
		d.resume(start)
	}
	d.climb()
	var missed []choice
	value := f.x.evaluate(&d.best, n.fixed, f.member, func(k choice) { missed = append(missed, k) })
	f.extend(missed)
	if n.y.load == nil || value > n.bound {
		n.bound, n.y = value, d.best
	}
	return len(missed), d.bestValue
}

// applied returns the core as the fixings leave it.
func (f *proof) applied(fixed []fixing) []choice {
	if len(fixed) == 0 {
		return f.core
	}
	core := slices.Clone(f.core)
	for i := range core {
		core[i].apply(fixed)
	}
	return core
}

// apply takes away the options that a fixing forbids.
func (k *choice) apply(fixed []fixing) {
	for _, x := range fixed {
		switch {
		case x.item != k.item:
		case x.leave:
			k.must = true
		default:
			k.home, k.fitting = -1, 0
		}
	}
}

// branch splits the node of least bound in two, by a heavy key that stays or
// leaves, as often as it is worth while. The least bound of the nodes that are
// left holds for all plans.
func (f *proof) branch() {
	for range min(mostSplits, branchWork/(len(f.core)+f.x.p.s.Len()/itemsPerMember+1)) {
		if len(f.nodes) == 0 || f.x.p.stopped() {
			break
		}
		parent := f.nodes[0]
		k, ok := f.divided(&parent)
		if !ok {
			break
		}
		f.nodes = f.nodes[1:]
		for _, leave := range []bool{false, true} {
			child := node{fixed: append(slices.Clone(parent.fixed), fixing{k.item, leave})}
			f.solve(&child, &parent.y, childPasses)
			child.bound = max(child.bound, parent.bound)
			if child.bound <= f.x.surely() {
				f.nodes = append(f.nodes, child)
			}
		}
		slices.SortStableFunc(f.nodes, func(a, b node) int { return cmp.Compare(a.bound, b.bound) })
	}
	if len(f.nodes) == 0 {
		f.disprove()
		return
	}
	f.bound = max(f.bound, f.nodes[0].bound)
}

const (
	tied  = 1e-2 // options that differ by less, of what is at stake, count as tied
	heavy = 2e-3 // of the bound: a key of less weight is not worth branching
)

// divided is the heaviest key whose staying and leaving cost about the same.
func (f *proof) divided(n *node) (heaviest choice, ok bool) {
	m := f.x.market(&n.y)
	for _, k := range f.applied(n.fixed) {
		if k.must || k.units > 1 || k.weight <= max(heaviest.weight, heavy*n.bound) {
			continue
		}
		stays, home, away := k.costs(&n.y, m)
		stake := k.weight + n.y.table + float64(n.y.load[k.from]*k.cost)
		if math.Abs(stays-min(home, away)) <= tied*stake {
			heaviest, ok = k, true
		}
	}
	return heaviest, ok
}

// certify proves how good any plan of p can be.
func (p *problem) certify(plan *Plan) {
	if p.o.Certificate == CertificateOff {
		return
	}
	c := &Certificate{}
	plan.Certificate = c
	reached := plan.Migration.Objective
	if p.o.Objective == MinImbalance {
		reached = plan.Theta.After
		c.LowerBound = p.leastTheta
	} else {
		p.certifyMigration(c)
	}
	if plan.score.violated == 0 {
		c.LowerBound = min(c.LowerBound, reached) // which sums up in another order
	}
	switch {
	case plan.score.violated > 0 || c.Infeasible:
	case c.LowerBound > 0:
		gap := (reached - c.LowerBound) / c.LowerBound
		c.Gap = &gap
	case reached == 0:
		c.Gap = new(float64)
	}
}

func (p *problem) certifyMigration(c *Certificate) {
	forced := 0.0
	for _, k := range p.hotKeys() {
		forced = max(forced, k.ForcedTheta)
	}
	if forced > 0 {
		c.Unmet = append(c.Unmet, Unmet{ConstraintTheta, p.o.ThetaMax, forced})
	}
	if p.settled() {
		return
	}
	if p.proof == nil {
		p.proof = p.prove(p.o.Certificate)
	}
	if f := p.proof; p.o.Certificate == CertificateTight && f.level != CertificateTight && !f.infeasible() {
		if p.proof = p.prove(CertificateTight); !p.proof.infeasible() {
			p.proof.bound = max(p.proof.bound, f.bound)
		}
	}
	if c.Infeasible = p.proof.infeasible(); !c.Infeasible {
		c.LowerBound = p.proof.lowerBound()
		return
	}
	table, theta := p.proof.shortfall()
	c.Unmet = append(c.Unmet[:0], Unmet{ConstraintTheta, p.o.ThetaMax, max(theta, forced)})
	if p.o.TableLimit != nil && !math.IsInf(p.proof.entries, 1) {
		c.Unmet = append(c.Unmet, Unmet{ConstraintTable, float64(*p.o.TableLimit), table})
	}
}

// lowerBound is in units of the objective.
func (f *proof) lowerBound() float64 {
	b := max(0, f.bound/f.x.unitWeight)
	if b < 1<<53 && f.integral {
		return math.Ceil(b)
	}
	return b
}

// wholeWeights reports whether every objective is a whole number.
func (p *problem) wholeWeights() bool {
	if p.o.KeyOverhead != math.Trunc(p.o.KeyOverhead) {
		return false
	}
	return !slices.ContainsFunc(p.s.State, func(v float64) bool { return v != math.Trunc(v) })
}

// ray scales prices until the weights hardly count beside them.
const ray = 1 << 20

// shortfall returns, for a problem that is infeasible, a table size and a θ that
// no plan stays below which meets the other constraint: every plan's objective,
// at most that of moving everything, is at least g − λ·(entries above the limit),
// and at least g − Σ u_d·(load above the limit) where no key is barred.
func (f *proof) shortfall() (table, theta float64) {
	x, p := f.x, f.x.p
	y := f.root.y.clone()
	y.table *= ray
	priced := 0.0
	for d := range y.load {
		y.load[d] *= ray
		priced += float64(y.load[d] * (x.unitCost * p.fair[d]))
	}
	ignore := func(choice) {}
	theta = p.o.ThetaMax
	if p.o.TableLimit != nil {
		table = float64(*p.o.TableLimit) + 1
		table = max(table, f.entries)
		if over := x.evaluate(&y, nil, f.member, ignore) - x.surely(); over > 0 && y.table > 0 && !math.IsInf(over, 1) {
			table = max(table, math.Ceil(float64(*p.o.TableLimit)+float64(over/y.table*(1-1e-9))))
		}
	}
	free := *x
	free.least = math.MaxInt64
	if over := free.evaluate(&y, nil, f.member, ignore) - x.surely(); over > 0 && priced > 0 {
		theta = max(theta, p.o.ThetaMax+float64(over/priced*(1-1e-9)))
	}
	return table, theta
}
