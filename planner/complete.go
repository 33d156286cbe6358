package planner

import (
	"cmp"
	"slices"
)

// Complete makes a plan of moves that were decided on elsewhere, on a likeness
// of s: they are carried out, but for those of hot keys, which go where every
// strategy puts them. met are the constraints that the moves meet there. Where
// they do not meet one here, or leave keys on instances that are not live, the plan is
// mended, as far as least-load fit and a local search around the moves and the
// instances above their limits can. Only Item, To and Count of a move matter.
// name is what the plan says about its strategy. The error is an [InputError] or
// [ErrStopped].
func Complete(name string, s *Snapshot, o Options, moves []Move, met ...Constraint) (*Plan, error) {
	p, err := newProblem(s, o)
	if err != nil {
		return nil, err
	}
	if p.settled() {
		return p.finish(name, p.unmoved()), nil
	}
	algorithm := func(p *problem) *assignment {
		a := newAssignment(p)
		a.carryOut(moves)
		return a.mend(met)
	}
	var a *assignment
	if o.Objective == MinImbalance {
		a = algorithm(p)
	} else {
		a = p.run(Info{algorithm: algorithm})
	}
	if a == nil {
		return nil, ErrStopped
	}
	if o.Objective == MinImbalance && o.Certificate != CertificateOff {
		p.leastTheta = p.proveTheta(a.score().theta)
	}
	return p.finish(name, a), nil
}

// carryOut makes moves of items that are not hot.
func (a *assignment) carryOut(moves []Move) {
	for _, m := range moves {
		if !a.p.isHot(int(m.Item)) {
			a.moveUnits(m.Item, m.Count, m.To)
		}
	}
}

// mend returns the assignment, changed where it does not meet what it has to, or
// nil when the meter ran out before every key was on a live instance.
func (a *assignment) mend(met []Constraint) *assignment {
	p, has := a.p, func(c Constraint) bool { return slices.Contains(met, c) }
	imbalance := p.o.Objective == MinImbalance
	if imbalance && has(ConstraintMigration) {
		a.takeBack()
	}
	unmet := has(ConstraintTable) && p.tableExcess(a.tally().table) > 0 ||
		!imbalance && has(ConstraintTheta) && !a.withinLimits()
	if !unmet && !a.onClosed() {
		return a
	}
	if !has(ConstraintTable) && p.o.TableLimit != nil { // it does not count
		q := *p
		q.o.TableLimit = nil
		b := q.adopt(a).mended()
		p.meter = q.meter
		if b == nil {
			return nil
		}
		return p.adopt(b)
	}
	return a.mended()
}

// mended is the best that mending comes to, which may be the assignment itself.
func (a *assignment) mended() *assignment {
	found := incumbent{best: a.clone().complete(largestGamma, false)}
	if found.best == nil {
		if a.onClosed() {
			return nil
		}
		return a
	}
	found.score = found.best.score()
	for _, start := range []*assignment{a, found.best} {
		if !start.onClosed() {
			b := start.clone()
			a.p.improve(b, b.mendingCore(), nil, mendingEffort)
			found.offer(b)
		}
	}
	if !a.onClosed() {
		found.offer(a)
	}
	return found.best
}

// mendingEffort is how many shifts the search for what mends a plan evaluates.
const mendingEffort = 100_000

// onClosed reports whether some key is on an instance that is not live.
func (a *assignment) onClosed() bool {
	if len(a.p.live) == len(a.load) {
		return false
	}
	return slices.ContainsFunc(a.at, func(d int32) bool { return !a.p.isLive[d] })
}

// takeBack takes moves back until the migration limit holds, the heaviest first.
func (a *assignment) takeBack() {
	p := a.p
	total := a.tally()
	if p.affordable(total.state, total.moves) {
		return
	}
	var moved []ranked
	for piece, d := range a.at {
		item := int(a.item(int32(piece)))
		from := p.s.Current[item]
		if d != from && p.isLive[from] && !p.isHot(item) {
			moved = append(moved, a.rankedPiece(int32(piece), descending(p.s.state(item))))
		}
	}
	order := newLazyOrder(moved, p.s.Keys, a.items)
	for e := range order.all() {
		if p.affordable(total.state, total.moves) {
			return
		}
		item, units := a.item(e.piece), a.count(e.piece)
		a.move(e.piece, p.s.Current[item])
		total.moves -= units
		total.state -= p.state.Fixed(p.s.state(int(item))) * units
	}
}

// mendingCore are the pieces among which the search for what mends a plan
// chooses: on every instance above its limit those of most cost per state and
// those whose cost is close to what is too much, and of what moves the heaviest.
func (a *assignment) mendingCore() []int32 {
	p, gamma := a.p, largestGamma(a.p)
	type near struct {
		off int64 // how far the cost is from what is too much
		ranked
	}
	guests, above := []ranked{}, make([][]near, len(a.load))
	excess, over := make([]int64, len(a.load)), 0
	for _, d := range p.live {
		if excess[d] = a.load[d] - p.limit[d]; excess[d] > 0 {
			over++
		}
	}
	for piece, d := range a.at {
		piece := int32(piece)
		item := a.item(piece)
		if a.count(piece) == 0 || p.isHot(int(item)) {
			continue
		}
		if d != p.s.Current[item] {
			guests = append(guests, a.rankedPiece(piece, descending(p.s.state(int(item)))))
		}
		if excess[d] > 0 {
			off := a.unitCost(piece) - excess[d]
			above[d] = append(above[d], near{max(off, -off), a.rankedPiece(piece, gamma(item))})
		}
	}
	in := make(map[int32]bool)
	var core []int32
	take := func(piece int32) {
		if !in[piece] {
			in[piece] = true
			core = append(core, piece)
		}
	}
	slices.SortFunc(guests, a.compareChunks)
	for _, x := range guests[:min(len(guests), searchSize/2)] {
		take(x.piece)
	}
	for _, list := range above {
		n := min(len(list), max(1, searchSize/4/max(1, over)))
		slices.SortFunc(list, func(x, y near) int { return a.compareChunks(x.ranked, y.ranked) })
		for _, x := range list[:n] {
			take(x.piece)
		}
		slices.SortFunc(list, func(x, y near) int {
			return cmp.Or(cmp.Compare(x.off, y.off), a.compareChunks(x.ranked, y.ranked))
		})
		for _, x := range list[:n] {
			take(x.piece)
		}
	}
	return core
}
