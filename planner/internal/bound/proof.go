package bound

import (
	"cmp"
	"math"
	"slices"

	"plannerd/planner/internal/ablation"
	"plannerd/planner/internal/assign"
)

// Proof is what the relaxation tells about a problem.
type Proof struct {
	Relaxation *Relaxation
	Level      Level
	core       []Choice
	member     []bool
	Divided    bool    // a branch and bound went over it
	Bound      float64 // scaled; a lower bound on the objective of every plan that meets all constraints
	Root       Node
	Open       []Node // the open ones of the branching, those of least bound first

	Entries  float64    // no plan has fewer; 0 where that was not looked at
	integral bool       // every objective is a whole number
	Whole    *WholeKeys // of the greatest cost; nil where whole keys were not looked at
	// Starts are worth to be made plans of, the most promising first.
	Starts []*WholeKeys
}

// Level says how much work goes into a proof.
type Level uint8

// The levels: a fast certificate, what plans of effort fast rest on, and a tight certificate.
const (
	Quick Level = iota
	Planned
	Tight
)

// Evidence is what a strategy proved on its way.
type Evidence struct {
	Proof      *Proof  // of the bound on the migration; nil: none was tried
	LeastTheta float64 // no plan within the limits has a smaller θ
}

// Node is a part of the problem: some heavy keys are told to stay or to leave.
type Node struct {
	Fixed []Fixing
	Y     Prices
	bound float64
}

// Divided reports whether it is less than the whole problem.
func (n *Node) Divided() bool { return len(n.Fixed) > 0 }

// Fixing tells a key to leave its instance, or to stay.
type Fixing struct {
	Item  int32
	leave bool
}

// Infeasible reports whether no plan meets all constraints.
func (f *Proof) Infeasible() bool { return len(f.Open) == 0 }

const (
	// They bound the rounds in which the core takes in what it missed.
	corePasses, childPasses = 4, 2
	// mostSplits bounds the branching; on large inputs the work does, in members
	// of the core times splits.
	mostSplits     = 16
	branchWork     = 300_000
	itemsPerMember = 2 // items that are gone through in the time of a member of the core
)

// Prove bounds the objective as well as the level allows.
func Prove(p *assign.Problem, level Level) *Proof {
	p, _ = p.Busy()
	f := NewProof(p, level)
	if level > Quick || p.Items.Len() <= quickWhole {
		f.DemandWhole()
	}
	if level > Quick {
		f.Branch()
	}
	return f
}

// quickWhole is up to how many items a fast certificate of a plan that does not rest on a
// proof looks at whole keys.
const quickWhole = 20_000

// NewProof finds good prices and evaluates them over all items. It starts with a
// core of the items that are likely to move, and adds those that turn out to.
func NewProof(p *assign.Problem, level Level) *Proof {
	x := newRelaxation(p)
	f := &Proof{Relaxation: x, Level: level, member: make([]bool, p.Items.Len()), integral: wholeWeights(p)}
	f.firstCore()
	f.solve(&f.Root, nil, corePasses)
	if f.Root.bound <= x.Surely() {
		f.Open, f.Bound = []Node{f.Root}, f.Root.bound
	}
	return f
}

// DemandWhole raises the bound by what whole keys cost that leave overloaded
// instances.
func (f *Proof) DemandWhole() {
	x := f.Relaxation
	if f.Whole != nil || f.Infeasible() || x.Problem.Stopped() || ablation.Off(ablation.WholeKeyCovers) {
		return
	}
	if x.Limited && f.Root.Y.Table > 0 {
		if f.Entries = leastEntries(x.Problem, f.Level); f.Entries > float64(*x.Problem.Goal.TableLimit) {
			f.disprove()
			return
		}
	}
	free := make([]float64, len(x.excess))
	candidates := []Prices{{free, f.Root.Y.Table}}
	if f.Root.Y.Table > 0 && f.wholeWork() > 2*x.Problem.Items.Len() {
		candidates = append(candidates, f.Root.Y, Prices{free, 0})
	}
	var best *CoveringRelaxation
	var start *CoveringNode
	for _, y := range candidates {
		o := x.NewCovering(&y, f.wholeWork())
		if o == nil {
			f.disprove()
			return
		}
		if root := o.Root(); best == nil || root.bound > start.bound {
			best, start = o, root
		}
	}
	first := best.search(start)
	f.keep(first)
	lean := f.priceEntries()
	f.Starts = []*WholeKeys{f.Whole}
	for _, w := range []*WholeKeys{lean, first} {
		if w != nil && !slices.Contains(f.Starts, w) {
			f.Starts = append(f.Starts, w)
		}
	}
	if f.Whole.value > x.Surely() {
		f.disprove()
		return
	}
	f.Bound = max(f.Bound, f.Whole.value)
}

// disprove notes that no plan meets all constraints.
func (f *Proof) disprove() { f.Open, f.Bound = nil, 0 }

// wholeWork is how much the search for whole keys may look at; see CoveringRelaxation.work.
func (f *Proof) wholeWork() int {
	items := f.Relaxation.Problem.Items.Len()
	switch f.Level {
	case Quick:
		return max(items, min(50_000+30*items, plannedWork/(items+1)))
	case Planned:
		return max(items, min(1_000_000+600*items, plannedWork/(items+1)))
	}
	return max(items, min(1_000_000+600*items, 20_000_000))
}

// plannedWork bounds the work at level Planned, times items: each search looks at all of them.
const plannedWork = 100_000_000_000

// Surely is what no plan's objective exceeds.
func (x *Relaxation) Surely() float64 { return float64(x.Everything * (1 + 1e-9)) }

// solve finds prices for a node, beginning with the given ones, if any, and the
// node's bound. It adds to the core the items that it missed and tries again, as
// often as it may and as it is worth while.
func (f *Proof) solve(n *Node, start *Prices, passes int) {
	for pass := range passes {
		if pass > 0 && f.Relaxation.Problem.Stopped() {
			return
		}
		added, reached := f.ascend(n, start)
		if added == 0 || n.bound >= reached*(1-1e-4) || n.bound > f.Relaxation.Surely() {
			return
		}
		if start = &n.Y; n.bound < reached/2 {
			start = nil // they rest on what the core lacked
		}
	}
}

// ascend is one pass of solve. It returns how many items it added to the core
// and the value over the core alone.
func (f *Proof) ascend(n *Node, start *Prices) (added int, reached float64) {
	d := f.Relaxation.newDual(f.applied(n.Fixed))
	if start == nil {
		d.start()
	} else {
		d.resume(start)
	}
	d.maximize()
	var missed []Choice
	value := f.Relaxation.evaluate(&d.best, n.Fixed, f.member, func(k Choice) { missed = append(missed, k) })
	f.extend(missed)
	if n.Y.Load == nil || value > n.bound {
		n.bound, n.Y = value, d.best
	}
	return len(missed), d.bestValue
}

// applied returns the core as the fixings leave it.
func (f *Proof) applied(fixed []Fixing) []Choice {
	if len(fixed) == 0 {
		return f.core
	}
	core := slices.Clone(f.core)
	for i := range core {
		core[i].Apply(fixed)
	}
	return core
}

// Apply takes away the options that a fixing forbids.
func (k *Choice) Apply(fixed []Fixing) {
	for _, x := range fixed {
		switch {
		case x.Item != k.item:
		case x.leave:
			k.must = true
		default:
			k.Home, k.fitting = -1, 0
		}
	}
}

// Branch splits the node of least bound in two, by a heavy key that stays or
// leaves, as often as it is worth while. The least bound of the nodes that are
// left holds for all plans.
func (f *Proof) Branch() {
	for range min(mostSplits, branchWork/(len(f.core)+f.Relaxation.Problem.Items.Len()/itemsPerMember+1)) {
		if len(f.Open) == 0 || f.Relaxation.Problem.Stopped() || ablation.Off(ablation.LagrangianBranching) {
			break
		}
		parent := f.Open[0]
		k, ok := f.branchingKey(&parent)
		if !ok {
			break
		}
		f.Open = f.Open[1:]
		for _, leave := range []bool{false, true} {
			child := Node{Fixed: append(slices.Clone(parent.Fixed), Fixing{k.item, leave})}
			f.solve(&child, &parent.Y, childPasses)
			child.bound = max(child.bound, parent.bound)
			if child.bound <= f.Relaxation.Surely() {
				f.Open = append(f.Open, child)
			}
		}
		slices.SortStableFunc(f.Open, func(a, b Node) int { return cmp.Compare(a.bound, b.bound) })
	}
	if len(f.Open) == 0 {
		f.disprove()
		return
	}
	f.Bound = max(f.Bound, f.Open[0].bound)
}

const (
	tied  = 1e-2 // options that differ by less, of what is at stake, count as tied
	heavy = 2e-3 // of the bound: a key of less weight is not worth branching
)

// branchingKey is the heaviest key whose staying and leaving cost about the same.
func (f *Proof) branchingKey(n *Node) (heaviest Choice, ok bool) {
	m := f.Relaxation.CheapestReceivers(&n.Y)
	for _, k := range f.applied(n.Fixed) {
		if k.must || k.units > 1 || k.Weight <= max(heaviest.Weight, heavy*n.bound) {
			continue
		}
		stays, home, away := k.Costs(&n.Y, m)
		stake := k.Weight + n.Y.Table + float64(n.Y.Load[k.from]*k.Cost)
		if math.Abs(stays-min(home, away)) <= tied*stake {
			heaviest, ok = k, true
		}
	}
	return heaviest, ok
}

// Tightened is a proof of the level that is asked for, which rests on one that
// exists, if any does.
func Tightened(p *assign.Problem, f *Proof, level Level) *Proof {
	if f == nil {
		return Prove(p, level)
	}
	if level <= f.Level || f.Infeasible() {
		return f
	}
	g := Prove(p, level)
	if !g.Infeasible() {
		g.Bound = max(g.Bound, f.Bound)
	}
	return g
}

// Meter makes what is proven from now on count on a meter of its own.
func (f *Proof) Meter(m *assign.Meter) {
	q := *f.Relaxation.Problem
	q.Meter = m
	f.Relaxation.Problem = &q
}

// LowerBound is in units of the objective.
func (f *Proof) LowerBound() float64 {
	b := max(0, f.Bound/f.Relaxation.UnitWeight)
	if b < 1<<53 && f.integral {
		return math.Ceil(b)
	}
	return b
}

// wholeWeights reports whether every objective is a whole number.
func wholeWeights(p *assign.Problem) bool {
	if p.Goal.KeyOverhead != math.Trunc(p.Goal.KeyOverhead) {
		return false
	}
	return !slices.ContainsFunc(p.Items.State, func(v float64) bool { return v != math.Trunc(v) })
}

// ray scales prices until the weights hardly count beside them.
const ray = 1 << 20

// LeastTable returns, for a problem that is infeasible, a number of entries that no plan
// stays below which keeps to the load limits; +∞ if none keeps to them. Every plan's
// objective, at most that of moving everything, is at least g − λ·(entries above the
// limit).
func (f *Proof) LeastTable() float64 {
	x, p := f.Relaxation, f.Relaxation.Problem
	limit := float64(*p.Goal.TableLimit)
	if f.Entries == 0 {
		f.Entries = leastEntries(p, f.Level)
	}
	least := max(limit+1, f.Entries)
	y := f.dear()
	if over := x.evaluate(y, nil, f.member, ignore) - x.Surely(); over > 0 && y.Table > 0 && !math.IsInf(over, 1) {
		least = max(least, math.Ceil(limit+float64(over/y.Table*(1-1e-9))))
	}
	if least > float64(p.Retained+p.Named()) {
		return math.Inf(1)
	}
	return least
}

// LeastTheta returns, for a problem that is infeasible and in which no key is hot, a θ
// that no plan stays below which keeps to the table limit. Every plan's objective is at
// least g − Σ u_d·(load above the limit) where no key is barred.
func (f *Proof) LeastTheta() float64 {
	x, p := f.Relaxation, f.Relaxation.Problem
	y, free, priced := f.dear(), *x, 0.0
	for d, u := range y.Load {
		priced += float64(u * (x.UnitCost * p.Fair[d]))
	}
	free.least = math.MaxInt64
	if over := free.evaluate(y, nil, f.member, ignore) - x.Surely(); over > 0 && priced > 0 && !math.IsInf(over, 1) {
		return p.Goal.ThetaMax + float64(over/priced*(1-1e-9))
	}
	return p.Goal.ThetaMax
}

// dear are the prices of the root, so high that weights hardly count beside them.
func (f *Proof) dear() *Prices {
	y := f.Root.Y.Times(ray)
	y.Table *= ray
	return y
}

func ignore(Choice) {}
