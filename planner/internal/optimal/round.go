package optimal

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/covering"
	"plannerd/planner/internal/relaxation"
)

// leavingPiece is a piece that leaves for wherever there is room.
type leavingPiece struct {
	piece int32
	cost  int64
}

// Round gives every key its best option under the prices and sends those that
// leave for the cheapest instance, the costliest first, to where there is most room. Nil when the
// meter ran out.
func Round(p *assign.Problem, x *relaxation.Relaxation, y *relaxation.Prices) *assign.Assignment {
	if !p.Meter.Spend(int64(p.Items.Len()/assign.ItemsPerWorkUnit) + 1) {
		return nil
	}
	a, m, at := assign.NewAssignment(p), x.CheapestReceivers(y), x.FilterAt(y)
	leaving := assign.Collect(p.Items.Len(), func(from, to int) (leaving []int32) {
		for i := range at.Candidates(from, to) {
			leaving = append(leaving, int32(i))
		}
		return leaving
	})
	var queue []leavingPiece
	for _, i := range leaving {
		if p.IsHot(int(i)) {
			continue
		}
		k := x.ChoiceOf(int(i))
		switch o, _ := k.Best(y, m); {
		case o == relaxation.GoHome:
			a.Move(i, k.Home)
		case o == relaxation.GoToCheapest:
			a.Move(i, assign.Nowhere)
			queue = append(queue, leavingPiece{i, a.UnitCost(i)})
		}
	}
	placeByRoom(a, queue)
	return a
}

// placeByRoom sends pieces, the costliest first, to where there is most room.
func placeByRoom(a *assign.Assignment, queue []leavingPiece) {
	p := a.Problem
	slices.SortFunc(queue, func(x, y leavingPiece) int {
		return cmp.Or(cmp.Compare(y.cost, x.cost), p.Items.Compare(a.Item(x.piece), a.Item(y.piece)))
	})
	rooms := exact.Heap[int32]{Before: func(x, y int32) bool {
		rx, ry := p.Limit[x]-a.Load[x], p.Limit[y]-a.Load[y]
		return rx > ry || rx == ry && x < y
	}}
	for _, d := range p.Live {
		rooms.Push(d)
	}
	for _, q := range queue {
		send(a, q, &rooms)
	}
}

// whole is an assignment of the bound that whole keys make, nearly a plan, that lies in a part of the problem; nil if
// there is none or the meter ran out.
func whole(f *bound.Proof, w *covering.WholeKeys, n *covering.Node) *assign.Assignment {
	p := f.Relaxation.Problem
	if w == nil || f.Infeasible() || !p.Meter.Spend(int64(p.Items.Len()/assign.ItemsPerWorkUnit)+1) {
		return nil
	}
	return Assemble(p, w.Relaxation, w.Relaxation.Dive(n))
}

// Assemble makes the assignment that a node stands for: what is placed, and what
// the covers take: they go home if that is cheaper, else to where there is room.
func Assemble(p *assign.Problem, o *covering.Relaxation, n *covering.Node) *assign.Assignment {
	a := assign.NewAssignment(p)
	placed, home, elsewhere := o.Decisions(n)
	for _, x := range placed {
		if x.At != p.Items.Current[x.Item] {
			a.Move(x.Item, x.At)
		}
	}
	var queue []leavingPiece
	for piece := range int32(len(a.At)) {
		item := a.Item(piece)
		if a.At[piece] != p.Items.Current[item] || p.IsHot(int(item)) {
			continue
		}
		take := func(units int64) int32 {
			if units < a.Count(piece) {
				return a.Split(piece, units)
			}
			return piece
		}
		if units := elsewhere[item]; units > 0 {
			part := take(units)
			a.Move(part, assign.Nowhere)
			queue = append(queue, leavingPiece{part, a.UnitCost(part)})
		}
		if units := home[item]; units > 0 {
			a.Move(take(units), p.Items.Home[item])
		}
	}
	placeByRoom(a, queue)
	return a
}

// searchCore gathers the pieces whose best option is least certain: half by how
// much worse the second best is, half by that relative to what is at stake.
func searchCore(a *assign.Assignment, x *relaxation.Relaxation, y *relaxation.Prices) []int32 {
	at := x.FilterAt(y.Times(certainly))
	e := leastCertain(a, assign.Collect(len(a.At), func(from, to int) []uncertain {
		return uncertainOf(a, x, y, at, from, to)
	}))
	core := make([]int32, len(e))
	for i, v := range e {
		core[i] = v.Piece
	}
	return core
}

// uncertain is a piece with what its second best option costs more.
type uncertain struct {
	regret, relative float64
	assign.Ranked    // all alike
}

// leastCertain cuts a list down to those that belong to the search core.
func leastCertain(a *assign.Assignment, e []uncertain) []uncertain {
	if len(e) <= searchSize {
		return e
	}
	order := assign.PieceOrder{Items: a.Problem.Items, ItemOf: a.ItemOf}
	exact.SelectLeast(e, searchSize/2, func(v, w uncertain) int {
		return cmp.Or(cmp.Compare(v.regret, w.regret), order.Compare(v.Ranked, w.Ranked))
	})
	exact.SelectLeast(e[searchSize/2:], searchSize/2, func(v, w uncertain) int {
		return cmp.Or(cmp.Compare(v.relative, w.relative), order.Compare(v.Ranked, w.Ranked))
	})
	return e[:searchSize]
}

// uncertainOf looks at a range of pieces, but not at what surely stays by its reduced cost. It
// returns at least those that belong to the search core.
func uncertainOf(
	a *assign.Assignment, x *relaxation.Relaxation, y *relaxation.Prices, at *relaxation.ReducedCostFilter, begin, end int,
) []uncertain {
	p, m, typical := a.Problem, x.CheapestReceivers(y), typicalPrice(x, y)
	e := leastRegrets{a: a, regretted: math.Inf(1), related: math.Inf(1)}
	for piece := begin; piece < end; piece++ {
		item := a.Item(int32(piece))
		from := p.Items.Current[item]
		if a.At[piece] == from && from == p.Items.Home[item] && a.Load[from] <= p.Limit[from] &&
			(y.Load[from] == 0 || at.Stays(int(item))) {
			continue
		}
		if p.IsHot(int(item)) || a.Count(int32(piece)) == 0 {
			continue
		}
		k := x.ChoiceOf(int(item))
		stays, home, away := k.Costs(y, m)
		second := max(min(stays, home), min(max(stays, home), away))
		regret := second - min(stays, home, away)
		if math.IsInf(regret, 1) || math.IsNaN(regret) {
			regret = 0
		}
		e.add(piece, regret, regret/(k.Weight+y.Table+float64(typical*k.Cost)+1e-300))
	}
	return leastCertain(a, e.list)
}

// leastRegrets are pieces of which those that belong to the search core are among.
type leastRegrets struct {
	a                  *assign.Assignment
	list               []uncertain
	regretted, related float64 // what is above both does not belong to it
}

func (e *leastRegrets) add(piece int, regret, relative float64) {
	if regret > e.regretted && relative > e.related {
		return
	}
	e.list = append(e.list, uncertain{regret, relative, e.a.RankedPiece(int32(piece), 0)})
	if len(e.list) < 4*searchSize {
		return
	}
	e.list = leastCertain(e.a, e.list)
	e.regretted, e.related = 0, 0
	for _, v := range e.list[:searchSize/2] {
		e.regretted = max(e.regretted, v.regret)
	}
	for _, v := range e.list[searchSize/2:] {
		e.related = max(e.related, v.relative)
	}
}

// typicalPrice is the mean price of load where it has one, else what there is to
// move per cost.
func typicalPrice(x *relaxation.Relaxation, y *relaxation.Prices) float64 {
	if mean := y.Mean(); mean > 0 {
		return mean
	}
	return x.Everything / (float64(x.UnitCost*float64(x.Problem.Total)) + 1e-300)
}

// roomiest is the instance with most room of those open to an item.
func roomiest(a *assign.Assignment, item int32, rooms *exact.Heap[int32]) int32 {
	first := rooms.E[0]
	if a.Problem.IsOpen(item, first) {
		return first
	}
	return slices.MaxFunc(a.Problem.OpenTo(item), func(d, e int32) int {
		if rooms.Before(d, e) {
			return 1
		}
		return -1
	})
}

// send places all units of a piece, each where there is most room.
func send(a *assign.Assignment, q leavingPiece, rooms *exact.Heap[int32]) {
	divisible := true
	for piece := q.piece; ; {
		to, units := roomiest(a, a.Item(piece), rooms), a.Count(piece)
		room := a.Problem.Limit[to] - a.Load[to]
		if divisible && room < q.cost { // nowhere is room
			divisible = false
			put := func(d int32, units int64) { a.MoveUnits(piece, units, d) }
			if a.FillBins(a.Problem.Live, piece, assign.Unlimited, 1, put) {
				rooms.Heapify()
				continue
			}
		}
		if units > 1 && q.cost > 0 {
			units = min(units, max(1, room/q.cost))
		}
		left := a.MoveUnits(piece, units, to)
		rooms.Sink(max(0, slices.Index(rooms.E, to)))
		if !left {
			return
		}
	}
}
