package planner

import (
	"cmp"
	"math"
	"slices"
)

// score is what decides which of two plans is better, most important first.
type score struct {
	violated    int     // constraints that are not met
	excess      float64 // largest relative excess over b_d
	tableExcess int64
	objective   float64
	table       int64
	moves       int64
	theta       float64
}

func (x score) compare(y score) int {
	return cmp.Or(
		cmp.Compare(x.violated, y.violated),
		cmp.Compare(x.excess, y.excess),
		cmp.Compare(x.tableExcess, y.tableExcess),
		cmp.Compare(x.objective, y.objective),
		cmp.Compare(x.table, y.table),
		cmp.Compare(x.moves, y.moves),
		cmp.Compare(x.theta, y.theta),
	)
}

// score judges a complete assignment.
func (a *assignment) score() score {
	p := a.p
	total := a.tally()
	x, state := total.score, total.state
	x.objective = p.objective(state, x.moves)
	x.tableExcess = p.tableExcess(x.table)
	if x.tableExcess > 0 {
		x.violated++
	}
	if p.o.Objective == MinImbalance && !p.affordable(state, x.moves) {
		x.violated++
	}
	for _, d := range p.live {
		if a.load[d] > p.limit[d] && p.o.Objective != MinImbalance {
			x.violated++
			x.excess = max(x.excess, relative(float64(a.load[d]), p.bound[d]))
		}
		x.theta = max(x.theta, relative(float64(a.load[d]), p.fair[d]))
	}
	return x
}

// tally counts moves, moved state and table entries.
func (a *assignment) tally() tally {
	var parts [mostParts]tally
	inParts(len(a.at), func(part, from, to int) { parts[part] = a.tallyOf(from, to) })
	total := tally{score: score{table: a.p.retained}}
	for _, x := range &parts {
		total.moves += x.moves
		total.state += x.state
		total.table += x.table
	}
	return total
}

// tallyOf is the tally of a range of pieces.
func (a *assignment) tallyOf(from, to int) (x tally) {
	s := a.p.s
	for piece := from; piece < to; piece++ {
		d, i := a.at[piece], piece
		if a.items != nil {
			i = int(a.items[piece])
		}
		if d != s.Current[i] {
			units := a.count(int32(piece))
			x.moves += units
			x.state += a.p.state.Fixed(s.state(i)) * units
		}
		if d != s.Hash[i] {
			x.table += a.count(int32(piece))
		}
	}
	return x
}

// objective is Σ (S(k)+o) over the moved keys.
func (p *problem) objective(state, keys int64) float64 {
	return p.state.Float(state) + float64(p.o.KeyOverhead*float64(keys))
}

// relative is x/base − 1; 0 when both are 0.
func relative(x, base float64) float64 {
	if base == 0 {
		if x == 0 {
			return 0
		}
		return math.Inf(1)
	}
	return x/base - 1
}

// Better reports whether a is a better plan than b of the same snapshot and
// options: fewest violated constraints; least largest relative excess over b_d;
// least table excess; least objective; smallest table; fewest moves; least θ;
// canonical order of what moves.
func Better(a, b *Plan) bool {
	if c := a.score.compare(b.score); c != 0 {
		return c < 0
	}
	return compareMoves(a.Snapshot.Keys, a.Moves, b.Moves) < 0
}

// better is [Better] for assignments, whose scores are x and y.
func (a *assignment) better(x score, b *assignment, y score) bool {
	if c := x.compare(y); c != 0 {
		return c < 0
	}
	if a.units == nil && slices.Equal(a.at, b.at) {
		return false
	}
	return compareMoves(a.p.s.Keys, a.moves(), b.moves()) < 0
}

func compareMoves(keys *Keys, a, b []Move) int {
	return slices.CompareFunc(a, b, func(x, y Move) int {
		if x.Item != y.Item {
			return keys.Compare(x.Item, y.Item)
		}
		return cmp.Or(cmp.Compare(x.To, y.To), cmp.Compare(y.Count, x.Count)) // as if unit by unit
	})
}
