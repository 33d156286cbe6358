package planner

import (
	"cmp"
	"slices"
)

// optimal rounds the prices that maximise the Lagrangian to an assignment,
// repairs and improves it by local search, and compares with the strategies
// that it must never be worse than.
func optimal(p *problem) *assignment {
	p.proof = p.prove(p.o.Certificate)
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
	if a := p.round(p.proof); a != nil {
		offer(p.refine(a, p.proof))
	}
	for _, algorithm := range []func(*problem) *assignment{mixed, minTable} {
		offer(algorithm(p))
	}
	if best != nil && bestScore.violated > 0 {
		offer(p.refine(best, p.proof))
	}
	return best
}

// pending is a piece that goes to market.
type pending struct {
	piece int32
	cost  int64
}

// round gives every key its best option under the prices and sends those that
// go to market, the costliest first, to where there is most room. Nil when the
// meter ran out.
func (p *problem) round(f *proof) *assignment {
	if !p.meter.spend(int64(p.s.Len()/itemsPerUnit) + 1) {
		return nil
	}
	a, x := newAssignment(p), f.x
	m := x.market(&f.y)
	var queue []pending
	for i, from := range p.s.Current {
		if from == p.s.Hash[i] && f.y.load[from] == 0 && !p.s.Instances[from].Drained && x.room[from] >= p.costliest {
			continue
		}
		if p.isHot(i) {
			continue
		}
		k := x.choiceOf(i)
		switch o, _ := k.best(&f.y, m); {
		case o == goHome:
			a.move(int32(i), k.home)
		case o == goToMarket:
			a.move(int32(i), nowhere)
			queue = append(queue, pending{int32(i), a.unitCost(int32(i))})
		}
	}
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
	return a
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
