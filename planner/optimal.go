package planner

import (
	"cmp"
	"math"
	"slices"
)

// optimal rounds the prices that maximise the Lagrangian to an assignment,
// repairs and improves it by local search, and compares with the strategies
// that it must never be worse than.
func optimal(p *problem) *assignment {
	if p.o.Objective == MinImbalance {
		return minImbalance(p)
	}
	if p.s.Len() <= fewItems {
		return minMigration(p, CertificateTight)
	}
	return minMigration(p, CertificateFast)
}

// minMigration rests on a proof of the given level, which branches only if that
// is needed.
func minMigration(p *problem, level CertificateLevel) *assignment {
	p.proof = p.newProof(level)
	var best *assignment
	var bestScore score
	offer := func(a *assignment) {
		if a == nil {
			return
		}
		if sc := a.score(); best == nil || a.better(sc, best, bestScore) {
			best, bestScore = a, sc
		}
	}
	effort := p.effort()
	closed := func() bool {
		return best != nil && bestScore.violated == 0 && bestScore.objective <= p.closeEnough()
	}
	try := func(a *assignment, y *prices) {
		if a == nil {
			return
		}
		if sc := a.score(); sc.violated > 0 || sc.objective > p.closeEnough() {
			p.improve(a, a.searchCore(p.proof.x, y), y, effort.evaluations)
		}
		offer(a)
	}
	if !p.proof.infeasible() {
		try(p.proof.whole(), &p.proof.root.y)
	}
	for i := range effort.roundings {
		if i == 1 && level == CertificateTight && !closed() {
			p.proof.branch()
		}
		at := max(0, i-1) // the root first, then its parts
		if at >= len(p.proof.nodes) || closed() {
			break
		}
		n := &p.proof.nodes[at]
		try(p.round(p.proof.x, n), &n.y)
	}
	if best != nil && bestScore.violated == 1 && bestScore.tableExcess > 0 {
		offer(p.undershoot(bestScore.tableExcess, effort.evaluations))
	}
	for _, algorithm := range []func(*problem) *assignment{mixed, minTable} {
		offer(algorithm(p))
	}
	if best != nil && bestScore.violated > 0 {
		offer(minMig(p)) // else mixed began with it, or it is worse than a plan that meets the limits
	}
	if p.proof.root.y.table > 0 && (bestScore.violated > 0 || bestScore.objective > wideGap*p.proof.lowerBound()) {
		offer(p.smallTable(p.proof, effort.evaluations))
	}
	if best != nil && bestScore.violated == 0 {
		best.saveEntries()
	}
	return best
}

// undershoot plans for a table limit that is lower by a few entries more than a
// plan had too many, and improves that plan under the true one.
func (p *problem) undershoot(excess, evaluations int64) *assignment {
	o := p.o
	o.TableLimit = new(max(0, *p.o.TableLimit-2*excess))
	q := *p
	q.o = o
	f := q.newProof(CertificateFast)
	if f.infeasible() {
		return nil
	}
	y := &f.root.y
	a := q.round(f.x, &f.root)
	if a == nil {
		return nil
	}
	q.improve(a, a.searchCore(f.x, y), y, evaluations)
	p.meter = q.meter
	a = p.adopt(a)
	p.improve(a, a.searchCore(p.proof.x, &p.proof.root.y), &p.proof.root.y, evaluations)
	return a
}

// saveEntries sends pieces that move anyway to their hash instances, if there is
// room, the lightest first.
func (a *assignment) saveEntries() {
	var guests []ranked
	for piece, d := range a.at {
		piece := int32(piece)
		h := a.hash(piece)
		if d == h || d == a.p.s.Current[a.item(piece)] || a.p.s.Instances[h].Drained || a.p.isHot(int(a.item(piece))) {
			continue
		}
		guests = append(guests, a.rankedPiece(piece, uint64(a.unitCost(piece)*a.count(piece))))
	}
	slices.SortFunc(guests, a.compareChunks)
	for _, x := range guests {
		if h := a.hash(x.piece); a.load[h]+int64(x.rank) <= a.p.limit[h] {
			a.move(x.piece, h)
		}
	}
}

const (
	searchSize = 4096 // pieces that the local search looks at
	// gapClosed and smallGapClosed are gaps that end the search, the latter on inputs of fewItems.
	gapClosed, smallGapClosed = 1e-4, 1e-7
	fewItems                  = 20_000
	wideGap                   = 1.1 // times the bound: worth another start
)

// closeEnough is an objective that is not worth improving.
func (p *problem) closeEnough() float64 {
	switch {
	case p.proof == nil:
		return 0
	case p.s.Len() <= fewItems:
		return p.proof.lowerBound() * (1 + smallGapClosed)
	}
	return p.proof.lowerBound() * (1 + gapClosed)
}

// effort is how much work goes into the primal: nodes whose prices are rounded,
// and evaluations of the local search after each.
type effort struct {
	roundings   int
	evaluations int64
}

// effort falls with the number of items, as the gap of the first rounding does.
func (p *problem) effort() effort {
	switch {
	case p.s.Len() <= fewItems:
		return effort{4, min(1_000_000, 5_000+200*int64(p.s.Len()))}
	case p.s.Len() <= 200_000:
		return effort{2, 500_000}
	}
	return effort{1, 100_000}
}

// pending is a piece that goes to market.
type pending struct {
	piece int32
	cost  int64
}

// round gives every key its best option under the prices and sends those that
// go to market, the costliest first, to where there is most room. Nil when the
// meter ran out.
func (p *problem) round(x *relaxation, n *node) *assignment {
	if !p.meter.spend(int64(p.s.Len()/itemsPerUnit) + 1) {
		return nil
	}
	a, m := newAssignment(p), x.market(&n.y)
	var queue []pending
	for i, from := range p.s.Current {
		if len(n.fixed) == 0 && from == p.s.Hash[i] && n.y.load[from] == 0 && !p.s.Instances[from].Drained && x.room[from] >= p.costliest {
			continue
		}
		if p.isHot(i) {
			continue
		}
		k := x.choiceOf(i)
		k.apply(n.fixed)
		switch o, _ := k.best(&n.y, m); {
		case o == goHome:
			a.move(int32(i), k.home)
		case o == goToMarket:
			a.move(int32(i), nowhere)
			queue = append(queue, pending{int32(i), a.unitCost(int32(i))})
		}
	}
	a.toMarket(queue)
	return a
}

// toMarket sends pieces, the costliest first, to where there is most room.
func (a *assignment) toMarket(queue []pending) {
	p := a.p
	slices.SortFunc(queue, func(x, y pending) int {
		return cmp.Or(cmp.Compare(y.cost, x.cost), p.s.Keys.compare(a.item(x.piece), a.item(y.piece)))
	})
	rooms := minHeap[int32]{before: func(x, y int32) bool {
		rx, ry := p.limit[x]-a.load[x], p.limit[y]-a.load[y]
		return rx > ry || rx == ry && x < y
	}}
	for _, d := range p.live {
		rooms.push(d)
	}
	for _, q := range queue {
		a.send(q, &rooms)
	}
}

// searchCore gathers the pieces whose best option is least certain: half by how
// much worse the second best is, half by that relative to what is at stake.
func (a *assignment) searchCore(x *relaxation, y *prices) []int32 {
	p, m, typical := a.p, x.market(y), x.typicalPrice(y)
	var e []uncertain
	for piece := range a.at {
		item := a.item(int32(piece))
		from := p.s.Current[item]
		if a.at[piece] == from && from == p.s.Hash[item] && a.load[from] <= p.limit[from] && y.load[from] == 0 {
			continue
		}
		if p.isHot(int(item)) || a.count(int32(piece)) == 0 {
			continue
		}
		k := x.choiceOf(int(item))
		stays, home, away := k.costs(y, m)
		second := max(min(stays, home), min(max(stays, home), away))
		regret := second - min(stays, home, away)
		if math.IsInf(regret, 1) || math.IsNaN(regret) {
			regret = 0
		}
		e = append(e, uncertain{int32(piece), regret, regret / (k.weight + y.table + float64(typical*k.cost) + 1e-300)})
	}
	if len(e) > searchSize {
		slices.SortFunc(e, func(v, w uncertain) int {
			return cmp.Or(cmp.Compare(v.regret, w.regret), p.s.Keys.compare(a.item(v.piece), a.item(w.piece)), cmp.Compare(v.piece, w.piece))
		})
		slices.SortFunc(e[searchSize/2:], func(v, w uncertain) int {
			return cmp.Or(cmp.Compare(v.relative, w.relative), p.s.Keys.compare(a.item(v.piece), a.item(w.piece)), cmp.Compare(v.piece, w.piece))
		})
		e = e[:searchSize]
	}
	core := make([]int32, len(e))
	for i, v := range e {
		core[i] = v.piece
	}
	return core
}

// uncertain is a piece with what its second best option costs more.
type uncertain struct {
	piece            int32
	regret, relative float64
}

// typicalPrice is the mean price of load where it has one, else what there is to
// move per cost.
func (x *relaxation) typicalPrice(y *prices) float64 {
	sum, n := 0.0, 0.0
	for _, u := range y.load {
		if u > 0 {
			sum, n = sum+u, n+1
		}
	}
	if n == 0 {
		return x.everything / (x.unitCost*float64(x.p.total) + 1e-300)
	}
	return sum / n
}

// send places all units of a piece, each where there is most room.
func (a *assignment) send(q pending, rooms *minHeap[int32]) {
	for piece := q.piece; ; {
		to, units := rooms.e[0], a.count(piece)
		if room := a.p.limit[to] - a.load[to]; units > 1 && q.cost > 0 {
			units = min(units, max(1, room/q.cost))
		}
		part := piece
		if units < a.count(piece) {
			part = a.split(piece, units)
		}
		a.move(part, to)
		rooms.sink(0)
		if part == piece {
			return
		}
	}
}
