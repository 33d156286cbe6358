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
	b := incumbent{p: p, effort: p.effort()}
	rivals := p.rivals(mixed, minTable)
	if !p.concurrent() {
		b.compete(rivals()) // so that there is a plan when time runs out
	}
	p.proof = p.newProof(level)
	if p.proof.root.y.table == 0 {
		p.proof.demandWhole() // the instances are knapsacks of their own
	}
	if !b.closed() {
		b.try(p.proof.whole(), &p.proof.root.y)
	}
	for i := range b.effort.roundings {
		if i == 0 && p.proof.outflow != nil && p.s.Len() > manyItems {
			continue // without a price of entries it could only do worse
		}
		if i == 1 && level == CertificateTight && !b.closed() {
			p.proof.branch()
		}
		at := max(0, i-1) // the root first, then its parts
		if at >= len(p.proof.nodes) || b.closed() {
			break
		}
		n := &p.proof.nodes[at]
		b.try(p.round(p.proof.x, n), &n.y)
	}
	if p.proof.outflow == nil && !b.closed() {
		p.proof.demandWhole()
		b.try(p.proof.whole(), &p.proof.root.y)
	}
	if !b.closed() && b.best != nil && b.score.violated == 1 && 0 < b.score.tableExcess && b.score.tableExcess < 1+*p.o.TableLimit/justAbove {
		b.offer(p.undershoot(b.score.tableExcess, b.effort.evaluations))
	}
	if p.concurrent() {
		b.compete(rivals())
	}
	if b.best == nil {
		return nil
	}
	if !b.closed() && p.proof.root.y.table > 0 && (b.score.violated > 0 || b.score.objective > wideGap*p.proof.lowerBound()) {
		b.offer(p.smallTable(p.proof, b.effort.evaluations))
	}
	if b.score.violated == 0 {
		b.best.saveEntries()
	}
	return b.best
}

// incumbent is the best assignment so far; nil at first.
type incumbent struct {
	p      *problem
	effort effort
	best   *assignment
	score  score
}

func (b *incumbent) offer(a *assignment) {
	if a != nil {
		b.keep(a, a.score())
	}
}

func (b *incumbent) keep(a *assignment, sc score) {
	if a != nil && (b.best == nil || a.better(sc, b.best, b.score)) {
		b.best, b.score = a, sc
	}
}

// closed reports whether there is hardly a gap left, or what is asked for is
// decided.
func (b *incumbent) closed() bool {
	p := b.p
	if b.best != nil && p.enough > 0 && p.proof != nil && p.proof.lowerBound() > p.enough*(1+2*tolerance) {
		return true
	}
	return b.best != nil && b.good(b.score)
}

func (b *incumbent) good(sc score) bool {
	return sc.violated == 0 && sc.objective <= b.p.closeEnough()
}

// try improves an assignment by local search, if that is needed.
func (b *incumbent) try(a *assignment, y *prices) {
	if a == nil {
		return
	}
	if !b.good(a.score()) {
		b.p.improve(a, a.searchCore(b.p.proof.x, y), y, b.effort.evaluations)
	}
	b.offer(a)
}

// compete compares with what mixed and mintable found, and with minmig.
func (b *incumbent) compete(found []rival) {
	for _, r := range found {
		b.keep(r.a, r.score)
	}
	if p := b.p; b.best != nil && b.score.violated > 0 && found[0].score.tableExcess == 0 && p.entries > p.retained {
		// Else minmig is worse than a plan that meets the limits, or mixed compared with it.
		r := p.rivals(minMig)()[0]
		b.keep(r.a, r.score)
	}
}

// rival is what another algorithm came to; a is nil when the meter ran out.
type rival struct {
	a     *assignment
	score score
}

// rivals starts other algorithms; the function that it returns waits for them.
func (p *problem) rivals(algorithms ...func(*problem) *assignment) func() []rival {
	found, waits := make([]rival, len(algorithms)), make([]func() *problem, len(algorithms))
	for i, algorithm := range algorithms {
		waits[i] = p.aside(func(q *problem) {
			if a := algorithm(q); a != nil {
				found[i] = rival{a, a.score()}
				a.p = p
			}
		})
	}
	return func() []rival {
		for _, wait := range waits {
			if q := wait(); q != p {
				p.meter.include(&q.meter)
			}
		}
		return found
	}
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
		p.meter = q.meter
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
	wholeSearch = fewItems // items up to which it looks at all that may move
	certainly   = 2        // times the price of its load is no reason for a key to leave, then it stays
	searchSize  = 4096     // pieces that the local search looks at
	fewItems    = 20_000
	manyItems   = 200_000
	wideGap     = 1.1 // times the bound: worth another start
	justAbove   = 50  // a table that is above its limit by less than such a part of it is worth another start
	// Gaps that end the search, the latter on inputs of few items.
	gapClosed, smallGapClosed = 1e-4, 1e-7
)

// closeEnough is an objective that is not worth improving.
func (p *problem) closeEnough() float64 {
	switch {
	case p.proof == nil:
		return p.enough
	case p.s.Len() <= fewItems:
		return max(p.enough, p.proof.lowerBound()*(1+smallGapClosed))
	}
	return max(p.enough, p.proof.lowerBound()*(1+gapClosed))
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
	case p.s.Len() <= manyItems:
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
	a, m, at := newAssignment(p), x.market(&n.y), x.glanceAt(&n.y)
	leaving := collect(p.s.Len(), func(from, to int) (leaving []int32) {
		for i := range at.restless(from, to) {
			leaving = append(leaving, int32(i))
		}
		return leaving
	})
	for _, f := range n.fixed {
		if at.stays(int(f.item)) {
			leaving = append(leaving, f.item)
		}
	}
	var queue []pending
	for _, i := range leaving {
		if p.isHot(int(i)) {
			continue
		}
		k := x.choiceOf(int(i))
		k.apply(n.fixed)
		switch o, _ := k.best(&n.y, m); {
		case o == goHome:
			a.move(i, k.home)
		case o == goToMarket:
			a.move(i, nowhere)
			queue = append(queue, pending{i, a.unitCost(i)})
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
	at := x.glanceAt(y.times(certainly))
	if x.p.s.Len() <= wholeSearch {
		at = nil
	}
	e := a.leastCertain(collect(len(a.at), func(from, to int) []uncertain { return a.uncertain(x, y, at, from, to) }))
	core := make([]int32, len(e))
	for i, v := range e {
		core[i] = v.piece
	}
	return core
}

// uncertain is a piece with what its second best option costs more.
type uncertain struct {
	regret, relative float64
	piece            int32
	tie              uint32 // upper half of the key's hash
}

// leastCertain cuts a list down to those that belong to the search core.
func (a *assignment) leastCertain(e []uncertain) []uncertain {
	if len(e) <= searchSize {
		return e
	}
	leastFirst(e, searchSize/2, func(v, w *uncertain) bool {
		return v.regret < w.regret || v.regret == w.regret && a.before(v, w)
	})
	leastFirst(e[searchSize/2:], searchSize/2, func(v, w *uncertain) bool {
		return v.relative < w.relative || v.relative == w.relative && a.before(v, w)
	})
	return e[:searchSize]
}

// before breaks ties so that the order of the rows makes no difference.
func (a *assignment) before(v, w *uncertain) bool {
	if v.tie != w.tie {
		return v.tie < w.tie
	}
	if i, j := a.item(v.piece), a.item(w.piece); i != j {
		return a.p.s.Keys.compare(i, j) < 0
	}
	return v.piece < w.piece
}

// uncertain looks at a range of pieces, but not at what stays at a glance. It
// returns at least those that belong to the search core.
func (a *assignment) uncertain(x *relaxation, y *prices, at *glance, begin, end int) []uncertain {
	p, m, typical := a.p, x.market(y), x.typicalPrice(y)
	var e []uncertain
	regretted, related := math.Inf(1), math.Inf(1) // what is above both does not belong to it
	for piece := begin; piece < end; piece++ {
		item := a.item(int32(piece))
		from := p.s.Current[item]
		if a.at[piece] == from && from == p.s.Hash[item] && a.load[from] <= p.limit[from] &&
			(y.load[from] == 0 || at != nil && at.stays(int(item))) {
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
		relative := regret / (k.weight + y.table + float64(typical*k.cost) + 1e-300)
		if regret > regretted && relative > related {
			continue
		}
		e = append(e, uncertain{regret, relative, int32(piece), uint32(p.s.Keys.hashes[item] >> 32)})
		if len(e) == 4*searchSize {
			e = a.leastCertain(e)
			regretted, related = 0, 0
			for _, v := range e[:searchSize/2] {
				regretted = max(regretted, v.regret)
			}
			for _, v := range e[searchSize/2:] {
				related = max(related, v.relative)
			}
		}
	}
	return a.leastCertain(e)
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
		return x.everything / (float64(x.unitCost*float64(x.p.total)) + 1e-300)
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
