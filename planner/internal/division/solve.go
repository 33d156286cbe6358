package division

import (
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
)

// Strategy plans whole keys. Both functions return a nil assignment where there was no time.
type Strategy struct {
	// Run plans the problem, and meanwhile proves of the division what certificates rest on.
	Run func(*assign.Problem, *Division) (*assign.Assignment, bound.Evidence)
	// Place plans the problem, and proves nothing.
	Place  func(*assign.Problem) *assign.Assignment
	Proves bool // it proves by itself, of the problem that it is given
}

// Planned is a division, and what a strategy has made of the keys that are whole.
type Planned struct {
	*Division
	Assignment *assign.Assignment // nil: there was no time
}

// OrBetter is w where it is better.
func (v Planned) OrBetter(w Planned) Planned {
	x, y := v.Assignment.Score(), w.Assignment.Score()
	if v.Problem.ByResource != nil { // what parts exceed bounds by counts, too
		x.Broken, x.Worst = v.broken(x)
		y.Broken, y.Worst = w.broken(y)
	}
	if y.Compare(x) < 0 {
		return w
	}
	return v
}

// broken is how many kinds of limits are not met, and the greatest part of a bound that is taken, if that is more than
// all.
func (v Planned) broken(x assign.Score) (kinds int, worst float32) {
	over := v.over()
	if x.TableExcess > 0 {
		kinds++
	}
	if over == 0 {
		return kinds, 0
	}
	return kinds + 1, float32(1 + over)
}

// over is the largest relative excess over L_max, parts included.
func (v Planned) over() (over float64) {
	for r, q := range v.Problem.Each() {
		for d, load := range v.Assignment.Each()[r] {
			if q.IsLive[d] && load > q.Maximum[d] && (r > 0 || !q.Goal.Imbalance) {
				over = max(over, assign.Relative(float64(load), float64(q.Maximum[d])))
			}
		}
	}
	return over
}

// Start is what planning starts with.
type Start struct {
	*Division
	Settled bool // nothing has to move: as before, or because keys that are split get other weights
}

// Settled reports whether there is nothing to do in the committed division.
func (x *Space) Settled() bool {
	return x.Committed.Problem.Settled() && (x.Splitting != nil || len(x.Splits) == 0)
}

// Start divides the keys that have to be.
func (x *Space) Start() Start {
	at := x.Committed
	switch {
	case x.Settled():
		return Start{Division: at, Settled: true}
	case x.Splitting == nil:
		if len(x.Splits) > 0 {
			at = x.Divided(nil, nil)
		}
		return Start{Division: at}
	case len(x.Splits) == 0 && len(at.Problem.Hot) == 0 && !x.Goal.Imbalance:
		return Start{Division: at}
	}
	if len(x.Splits) > 0 {
		at = at.reweighed(at.Problem.Unmoved())
		if at.Problem.Settled() && (x.Goal.Imbalance || !at.excessive()) {
			return Start{Division: at, Settled: true}
		}
	}
	p := at.Problem
	if kept := newDivider(x, p.Unmoved()); len(x.Splits) > 0 && !x.Goal.Imbalance && kept.keepParts() {
		at = x.Divided(kept.splits, nil)
		return Start{at, at.Problem.Settled()}
	}
	fresh := newDivider(x, p.Unmoved())
	fresh.divideHot()
	if len(fresh.splits) > 0 || len(at.Splits) > 0 {
		at = x.Divided(fresh.splits, fresh.crowded)
	}
	return Start{Division: at}
}

// Solve runs a strategy on the keys that are whole. Where that leaves some instance above
// its bound, keys are divided anew, over the room that is left.
func (start Start) Solve(s Strategy) (Planned, bound.Evidence) {
	if len(start.Splits) == 0 {
		a, known := s.Run(start.Problem, start.Division)
		return Planned{start.Division, a}, known
	}
	best, known := s.beside(start.Division)
	if best.misses() && best.Problem.ByResource != nil { // as pools do where there are none
		best = best.OrBetter(best.Levelled(best.Assignment))
	}
	if best.misses() {
		if v, ok := s.pour(best.Division); ok {
			best = best.OrBetter(v)
		}
	}
	if s.Proves {
		known = bound.Evidence{} // of this division alone
	}
	return best, known
}

// OrStanding is the plan, or the committed division with nothing moved where a plan of several resources would exceed
// bounds by more and no key has to leave. The evidence is of what it returns.
func (v Planned) OrStanding(known bound.Evidence) (Planned, bound.Evidence) {
	v.Assignment = v.Assignment.NoWorse()
	x, at := v.space, v.space.Committed
	if at.Problem.ByResource == nil || len(v.Splits)+len(x.Splits) == 0 || x.Splitting == nil ||
		at.Problem.Standing() == nil || slices.ContainsFunc(at.Splits, func(y Split) bool {
		return len(y.Parts) > x.MostParts()
	}) {
		return v, known
	}
	if stands := (Planned{at, at.Problem.Unmoved()}); stands.over() < v.over() {
		return stands, bound.Evidence{}
	}
	return v, known
}

// misses reports whether an assignment leaves some instance above its bound.
func (v Planned) misses() bool {
	return v.Assignment != nil && (!v.Assignment.WithinLimits() || v.Problem.ByResource != nil && v.over() > 0)
}

// beside runs a strategy on the keys beside the parts: on pools, and where that does not meet
// all limits, on instances.
func (s Strategy) beside(d *Division) (Planned, bound.Evidence) {
	pooled, known := s.pooled(d)
	if pooled.Assignment != nil && pooled.Assignment.Score().Violated == 0 {
		return pooled, known
	}
	a, known := s.Run(d.Problem, d)
	best := Planned{d, a}
	if a == nil {
		return best, known
	}
	if pooled.Assignment != nil {
		best = best.OrBetter(pooled)
	}
	return best, known
}

// reweighed has the keys on the same instances, with weights that level the loads of an assignment.
func (d *Division) reweighed(a *assign.Assignment) *Division {
	return d.space.Divided(newDivider(d.space, a).reweighed(d.Splits), d.Crowded)
}

// Levelled is the assignment under weights that level the loads that it makes.
func (d *Division) Levelled(a *assign.Assignment) Planned {
	level := d.reweighed(a)
	return Planned{level, level.counted(a)}
}

// counted is the assignment with the keys divided so.
func (d *Division) counted(a *assign.Assignment) *assign.Assignment {
	p, b := d.Problem, a.Clone()
	b.Problem = p
	for _, y := range d.Splits {
		b.At[y.Item] = p.Items.Home[y.Item]
	}
	for r, q := range p.Each() {
		load := b.Each()[r]
		copy(load, q.Residual)
		for piece, d := range b.At {
			load[d] += q.AmountOf(b.Item(int32(piece))) * b.Count(int32(piece))
		}
	}
	return b
}
