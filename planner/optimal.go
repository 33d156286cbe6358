package planner

import (
	"slices"

	"plannerd/internal/exact"
)

// optimal makes assignments of what the proof of the bound came to, of the keys
// that have to leave and of the prices that maximise the Lagrangian, and improves
// them by local search until there is hardly a gap. It compares with the
// strategies that it must never be worse than.
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
	if !b.closed() && b.best != nil && b.score.violated == 1 && 0 < b.score.tableExcess && b.score.tableExcess < 1+
		*p.o.TableLimit/justAbove {
		b.offer(p.undershoot(b.score.tableExcess, b.effort.evaluations))
	}
	if p.concurrent() {
		b.compete(rivals())
	}
	if b.best == nil {
		return nil
	}
	if !b.closed() && p.proof.root.y.table > 0 &&
		(b.score.violated > 0 || b.score.objective > wideGap*p.proof.lowerBound()) {
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
	if b.best != nil && p.enough > 0 && p.proof != nil && p.proof.lowerBound() > p.enough*(1+2*exact.Tolerance) {
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
		if d == h || d == a.p.s.Current[a.item(piece)] || !a.p.isLive[h] || a.p.isHot(int(a.item(piece))) {
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
	// Gaps that end the search, the latter on inputs of few keys.
	gapClosed, smallGapClosed = 1e-4, 1e-7
)

// closeEnough is an objective that is not worth improving.
func (p *problem) closeEnough() float64 {
	switch {
	case p.proof == nil:
		return p.enough
	case p.named() <= fewItems:
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
