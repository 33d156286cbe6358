package planner

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
)

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
		return cmp.Or(cmp.Compare(y.cost, x.cost), p.s.Keys.Compare(a.item(x.piece), a.item(y.piece)))
	})
	rooms := exact.Heap[int32]{Before: func(x, y int32) bool {
		rx, ry := p.limit[x]-a.load[x], p.limit[y]-a.load[y]
		return rx > ry || rx == ry && x < y
	}}
	for _, d := range p.live {
		rooms.Push(d)
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
	ranked           // all alike
}

// leastCertain cuts a list down to those that belong to the search core.
func (a *assignment) leastCertain(e []uncertain) []uncertain {
	if len(e) <= searchSize {
		return e
	}
	order := pieceOrder{a.p.s.Keys, a.items}
	exact.SelectLeast(e, searchSize/2, func(v, w uncertain) int {
		return cmp.Or(cmp.Compare(v.regret, w.regret), order.compare(v.ranked, w.ranked))
	})
	exact.SelectLeast(e[searchSize/2:], searchSize/2, func(v, w uncertain) int {
		return cmp.Or(cmp.Compare(v.relative, w.relative), order.compare(v.ranked, w.ranked))
	})
	return e[:searchSize]
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
		e = append(e, uncertain{regret, relative, a.rankedPiece(int32(piece), 0)})
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
	if mean := y.mean(); mean > 0 {
		return mean
	}
	return x.everything / (float64(x.unitCost*float64(x.p.total)) + 1e-300)
}

// send places all units of a piece, each where there is most room.
func (a *assignment) send(q pending, rooms *exact.Heap[int32]) {
	pourable := true
	for piece := q.piece; ; {
		to, units := rooms.E[0], a.count(piece)
		room := a.p.limit[to] - a.load[to]
		if pourable && room < q.cost { // nowhere is room
			pourable = false
			if a.pourInto(a.p.live, piece, unlimited, 1, func(d int32, units int64) { a.moveUnits(piece, units, d) }) {
				rooms.Heapify()
				continue
			}
		}
		if units > 1 && q.cost > 0 {
			units = min(units, max(1, room/q.cost))
		}
		left := a.moveUnits(piece, units, to)
		rooms.Sink(0)
		if !left {
			return
		}
	}
}
