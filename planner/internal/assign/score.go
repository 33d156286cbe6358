package assign

import (
	"cmp"
	"math"
	"slices"

	"plannerd/internal/exact"
)

// Score is what decides which of two plans is better, most important first.
type Score struct {
	// Where there are several resources: how many kinds of constraints are not met, or overloadRises, and the greatest
	// part of a bound that is taken, if one is broken: to break few bounds is worth less then than to break none by
	// far. In 24 bits, so that rounding decides nothing.
	Broken      int
	Worst       float32
	Violated    int     // constraints that are not met
	Excess      float64 // largest relative excess over b_d
	TableExcess int64
	Unfilled    int // instances below their least load; algorithms leave it to what fills them
	Objective   float64
	Table       int64
	Moves       int64
	Theta       float64
}

// Compare is negative where x is better than y.
func (x Score) Compare(y Score) int {
	return cmp.Or(
		cmp.Compare(x.Broken, y.Broken),
		cmp.Compare(x.Worst, y.Worst),
		cmp.Compare(x.Violated, y.Violated),
		compareExcess(x.Excess, y.Excess),
		cmp.Compare(x.TableExcess, y.TableExcess),
		cmp.Compare(x.Unfilled, y.Unfilled),
		cmp.Compare(x.Objective, y.Objective),
		cmp.Compare(x.Table, y.Table),
		cmp.Compare(x.Moves, y.Moves),
		cmp.Compare(x.Theta, y.Theta),
	)
}

// compareExcess compares relative excesses under the tolerance that decides whether a
// load is within its bound: what rounding makes of one and the same load decides nothing.
func compareExcess(x, y float64) int {
	if max(x, y) <= min(x, y)+float64(exact.Tolerance*(1+min(x, y))) {
		return 0
	}
	return cmp.Compare(x, y)
}

// Tally is what the score of an assignment is made of. The score's first part is
// up to date only where surpasses has compared it.
type Tally struct {
	Score
	State int64
}

// Score judges a complete assignment.
func (a *Assignment) Score() Score {
	p := a.Problem
	total := a.Tally()
	x, state := total.Score, total.State
	x.Objective = p.Objective(state, x.Moves)
	x.TableExcess = p.TableExcess(x.Table)
	if x.TableExcess > 0 {
		x.Violated++
	}
	if p.Goal.Imbalance && !p.Affordable(state, x.Moves) {
		x.Violated++
	}
	others := x.Violated
	for _, d := range p.Live {
		if a.Load[d] > p.Limit[d] && !p.Goal.Imbalance {
			x.Violated++
			x.Excess = max(x.Excess, Relative(float64(a.Load[d]), p.Bound[d]))
		}
		x.Theta = max(x.Theta, Relative(float64(a.Load[d]), p.Fair[d]))
	}
	for r := 1; r < len(p.ByResource); r++ {
		for _, d := range p.Live {
			if q := p.ByResource[r]; a.Loads[r][d] > q.Limit[d] {
				x.Violated++
				x.Excess = max(x.Excess, Relative(float64(a.Loads[r][d]), q.Bound[d]))
			}
		}
	}
	p.Rank(&x, others)
	return x
}

// Tally counts moves, moved state and table entries.
func (a *Assignment) Tally() Tally {
	var parts [MostParts]Tally
	InParts(len(a.At), func(part, from, to int) { parts[part] = a.tallyOf(from, to) })
	total := Tally{Score: Score{Table: a.Problem.Retained}}
	for _, x := range &parts {
		total.Moves += x.Moves
		total.State += x.State
		total.Table += x.Table
	}
	return total
}

// tallyOf is the tally of a range of pieces.
func (a *Assignment) tallyOf(from, to int) (x Tally) {
	s := a.Problem.Items
	for piece := from; piece < to; piece++ {
		d, i := a.At[piece], piece
		if a.ItemOf != nil {
			i = int(a.ItemOf[piece])
		}
		if d != s.Current[i] {
			units := a.Count(int32(piece))
			x.Moves += units
			x.State += a.Problem.State.Fixed(s.StateOf(i)) * units
		}
		if d != s.Home[i] {
			x.Table += a.Count(int32(piece))
		}
	}
	return x
}

// Objective is Σ (S(k)+o) over the moved keys.
func (p *Problem) Objective(state, keys int64) float64 {
	return p.State.Float(state) + float64(p.Goal.KeyOverhead*float64(keys))
}

// Relative is x/base − 1; 0 when both are 0.
func Relative(x, base float64) float64 {
	if base == 0 {
		if x == 0 {
			return 0
		}
		return math.Inf(1)
	}
	return x/base - 1
}

// compareMoves orders lists of moves canonically.
func (s *Items) compareMoves(a, b []Move) int {
	return slices.CompareFunc(a, b, func(x, y Move) int {
		if x.Item != y.Item {
			return s.Compare(x.Item, y.Item)
		}
		return cmp.Or(cmp.Compare(x.To, y.To), cmp.Compare(y.Units, x.Units)) // as if unit by unit
	})
}

// Incumbent is the best assignment so far; nil at first.
type Incumbent struct {
	Best  *Assignment
	Score Score
}

// Offer takes an assignment, or nil, if it is better than the best.
func (b *Incumbent) Offer(a *Assignment) {
	if a != nil {
		b.Keep(a, a.Score())
	}
}

// Keep is Offer of an assignment whose score is known.
func (b *Incumbent) Keep(a *Assignment, sc Score) {
	if a != nil && (b.Best == nil || a.better(sc, b.Best, b.Score)) {
		b.Best, b.Score = a, sc
	}
}

// better reports whether a is a better assignment than b, whose scores are x and y:
// the score decides, then the canonical order of what moves.
func (a *Assignment) better(x Score, b *Assignment, y Score) bool {
	if c := x.Compare(y); c != 0 {
		return c < 0
	}
	if a.Units == nil && slices.Equal(a.At, b.At) {
		return false
	}
	return a.Problem.Items.compareMoves(a.Moves(), b.Moves()) < 0
}

// MigrationBudget is the migration limit in units of state or keys. The states may
// have grown by a unit each when they became fixed-point numbers.
func (p *Problem) MigrationBudget() float64 {
	m := p.Goal.Allowance
	switch unseen := p.State.Float(int64(p.Items.Len())); m.Unit {
	case OfKeys:
		return m.Amount
	case OfFraction:
		return float64(m.Amount*p.State.Float(p.TotalState)) + unseen
	default:
		return m.Amount + unseen
	}
}

// Affordable reports whether so much state and so many keys are within the
// migration limit.
func (p *Problem) Affordable(state, keys int64) bool {
	moved := p.State.Float(state)
	if p.Goal.Allowance.Unit == OfKeys {
		moved = float64(keys)
	}
	return moved <= p.MigrationBudget()*(1+exact.Tolerance)
}

// Weight is what moving one unit of the item adds to the objective: S(k)+o.
func (p *Problem) Weight(item int32) float64 {
	return p.State.Float(p.State.Fixed(p.Items.StateOf(int(item)))) + p.Goal.KeyOverhead
}

// WeightBelow is at most what moving one unit of the item adds to the objective, to which
// [Problem.Weight] may add what rounding to fixed point does.
func (p *Problem) WeightBelow(item int32) float64 {
	state := p.Items.StateOf(int(item))
	return min(state, p.State.FloatBelow(p.State.Floor(state))) + p.Goal.KeyOverhead
}

// UnitWeight is the scale of weights: a power of two that brings them all below 1,
// but not by much.
func (p *Problem) UnitWeight() float64 {
	_, e := math.Frexp(p.mostState + p.Goal.KeyOverhead)
	return 1 / math.Ldexp(1, max(min(e, 1000), -1000))
}
