package optimal

import (
	"math"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/covering"
	"plannerd/planner/internal/relaxation"
	"plannerd/planner/internal/search"
)

// Rivals are the strategies that optimal compares with; each returns nil when the
// meter ran out.
type Rivals struct {
	Mixed, MinTable, MinMig func(*assign.Problem) *assign.Assignment
	// Fit makes an assignment keep to the loads, by Phases II and III of MinMig; nil when the meter ran out.
	Fit func(*assign.Assignment) *assign.Assignment
	// Others are tried where, of several resources, no plan is found that meets all constraints.
	Others []func(*assign.Problem) *assign.Assignment
}

// Optimal makes assignments of what the proof of the bound came to, of the keys
// that have to leave and of the prices that maximise the Lagrangian, and improves
// them by local search until there is hardly a gap. It compares with the
// strategies that it must never be worse than.
func Optimal(p *assign.Problem, r Rivals) (*assign.Assignment, bound.Evidence) {
	q, rows := p.Busy()
	a, known := plan(q, r)
	if a != nil {
		a = a.Within(p, rows)
	}
	return a, known
}

func plan(p *assign.Problem, r Rivals) (*assign.Assignment, bound.Evidence) {
	if p.Goal.Imbalance {
		return minImbalance(p, r)
	}
	if p.ByResource != nil {
		b := planResources(p, r, p.Goal.Effort, 0)
		return b.Best, bound.Evidence{Resources: b.proof}
	}
	b := minMigration(p, r, assign.Fast, 0, bound.Planned)
	for b.effort < p.Goal.Effort && b.Best != nil && !b.closed() && p.Meter.End == assign.Running {
		b.deepen(b.effort+1, r)
	}
	return b.Best, bound.Evidence{Proof: b.proof}
}

// minMigration looks for a plan with one effort. The proof that it rests on branches only if
// the level allows it and that is needed. An objective of enough or less will do; 0: the least
// is asked for.
func minMigration(p *assign.Problem, r Rivals, effort assign.Effort, enough float64, level bound.Level) *primal {
	b := &primal{p: p, enough: enough, effort: effort}
	many := p.Items.Len() >= assign.PartItems
	if !many {
		b.compete(start(p, r.Mixed, r.MinTable), r.MinMig) // so that there is a plan when time runs out
	}
	b.proof = bound.NewProof(p, level)
	b.offerRounded()
	// Of many keys a plan of the proof is close enough as a rule. Others are looked for meanwhile where it hardly can
	// be, else afterwards, where it is not.
	var found func() []rival
	if many && !b.closed() && (b.proof.Infeasible() || b.proof.Y.Table > 0) {
		found = start(p, r.Mixed, r.MinTable)
	}
	b.follow()
	if many && !b.closed() && found == nil {
		found = start(p, r.Mixed, r.MinTable)
	}
	if found != nil {
		b.compete(found, r.MinMig)
	}
	if b.Best == nil {
		return b
	}
	b.search(r)
	return b
}

// deepen goes on with a greater effort from what the lesser one came to, so that more effort
// makes no plan worse.
func (b *primal) deepen(effort assign.Effort, r Rivals) {
	b.effort = effort
	if f := b.proof; f.Level < bound.Tight {
		b.proof, b.fresh, b.pool = bound.NewProof(b.p, bound.Tight), nil, []*assign.Assignment{b.Best}
		b.offerRounded()
		b.follow()
		b.proof = b.proof.Or(f)
	}
	b.search(r)
}

// search tries a small table, divides the problem and searches on, each as far as the effort
// goes and while there is a gap, and takes what was found to a local optimum.
func (b *primal) search(r Rivals) {
	if f := b.proof; !b.closed() && f.Y.Table > 0 &&
		(b.Score.Violated > 0 || b.Score.Objective > wideGap*f.LowerBound()) {
		b.trySmallTable(r)
	}
	if b.enough == 0 && b.worthwhile() {
		b.branchAndBound()
	}
	if b.worthwhile() {
		b.searchOn()
	}
	b.finish(b.Best)
	for _, a := range b.rivals {
		if a != b.Best && !b.closed() {
			b.finish(a)
		}
	}
}

// offerRounded rounds the prices of the proof where entries have one. On many items that is often close enough.
func (b *primal) offerRounded() {
	if f := b.proof; f.Y.Table > 0 && !f.Infeasible() {
		b.Offer(Round(b.p, f.Relaxation, &f.Y))
	}
}

// follow makes assignments of what the proof came to: of whole keys and of the prices.
func (b *primal) follow() {
	f := b.proof
	if !b.closed() {
		f.DemandWhole()
		b.tryWhole()
	}
	if !f.Infeasible() && !b.closed() {
		b.try(Round(b.p, f.Relaxation, &f.Y), &f.Y)
	}
}

// finish takes an assignment, the best or another one, to a local optimum and offers it.
func (b *primal) finish(a *assign.Assignment) {
	switch {
	case a == b.Best && b.good(b.Score): // one look is enough
		undoMoves(a)
		saveEntries(a)
	case a.Score().Violated == 0:
		finish(a, b.closeEnough())
		b.Offer(a)
	}
}

// worthwhile reports whether the gap is wide enough for more than is done at least.
func (b *primal) worthwhile() bool {
	gap := b.Score.Objective - b.proof.LowerBound()
	return !b.proof.Infeasible() && (b.Score.Violated > 0 || gap > worthClosing[b.effort]*b.Score.Objective)
}

// worthClosing are gaps, relative to the objective, that are worth closing, by effort.
var worthClosing = [...]float64{assign.Fast: 1e-2, assign.Normal: 1e-2, assign.Thorough: 1e-3}

// branchAndBound closes the gap from both sides.
func (b *primal) branchAndBound() {
	best := func() float64 {
		if b.Score.Violated > 0 {
			return math.Inf(1)
		}
		return b.Score.Objective
	}
	work := branchingWork[b.effort]
	if b.effort == assign.Fast && b.proof.Y.Table > 0 {
		work += work / 2 // the price of an entry takes many steps
	}
	b.proof.BranchAndBound(work, best, func(moved []covering.Placement) {
		if b.p.Items.Units != nil {
			return // the relaxation does not tell what becomes of each unit
		}
		a := assign.NewAssignment(b.p)
		var queue []leavingPiece
		for _, x := range moved {
			a.Move(x.Item, x.At)
			if x.At == assign.None {
				queue = append(queue, leavingPiece{x.Item, a.UnitCost(x.Item)})
			}
		}
		placeByRoom(a, queue)
		b.try(a, &b.proof.Y)
	})
}

// primal looks for assignments, led by a proof.
type primal struct {
	assign.Incumbent
	p         *assign.Problem
	enough    float64       // an objective of that or less will do; 0: the least is asked for
	effort    assign.Effort // that is looked with
	rounds    int           // of the search that were made, and what these evaluated
	evaluated int64
	proof     *bound.Proof         // nil at first
	pool      []*assign.Assignment // what was made of the proof, and what rounds of the search made of that
	fresh     []*assign.Assignment // those of the pool that no round has started from
	rivals    []*assign.Assignment
}

// closed reports whether there is hardly a gap left, or what is asked for is
// decided.
func (b *primal) closed() bool {
	return b.Best != nil && (b.good(b.Score) ||
		b.enough > 0 && b.proof != nil && b.proof.LowerBound() > b.enough*(1+2*exact.Tolerance))
}

func (b *primal) good(sc assign.Score) bool {
	return sc.Violated == 0 && sc.Objective <= b.closeEnough()
}

// try improves an assignment by local search, if that is needed.
func (b *primal) try(a *assign.Assignment, y *relaxation.Prices) {
	if a == nil {
		return
	}
	if !b.good(a.Score()) {
		b.improve(a, b.proof.Relaxation, y)
	}
	b.Offer(a)
	b.pool, b.fresh = append(b.pool, a), append(b.fresh, a)
}

// tryWhole improves what whole keys come to, and, where that takes too many entries, what
// they come to when entries are dearer: from where the search of covers ended, and from all of the problem, which
// leads elsewhere.
func (b *primal) tryWhole() {
	f := b.proof
	for _, w := range f.Starts {
		if !b.closed() {
			b.try(whole(f, w, w.Leaf), &f.Y)
		}
		if b.worthwhile() && b.p.Items.Len() <= mostTwice {
			b.try(whole(f, w, w.Relaxation.Root()), &f.Y)
		}
	}
}

// improve searches around an assignment.
func (b *primal) improve(a *assign.Assignment, x *relaxation.Relaxation, y *relaxation.Prices) {
	search.Improve(a.Problem, a, searchCore(a, x, y), y, search.Effort{
		Evaluations: evaluations(b.p), Enough: b.closeEnough(),
	})
}

// compete compares with what mixed and mintable find, and with minmig.
func (b *primal) compete(wait func() []rival, minMig func(*assign.Problem) *assign.Assignment) {
	found := wait()
	for _, r := range found {
		b.Keep(r.a, r.score)
		if r.a != nil {
			b.rivals = append(b.rivals, r.a)
		}
	}
	if p := b.p; b.Best != nil && b.Score.Violated > 0 && found[0].score.TableExcess == 0 && p.Entries > p.Retained {
		// Else minmig is worse than a plan that meets the limits, or mixed compared with it.
		r := start(p, minMig)()[0]
		b.Keep(r.a, r.score)
	}
}

// rival is what another algorithm came to; a is nil when the meter ran out.
type rival struct {
	a     *assign.Assignment
	score assign.Score
}

// start starts other algorithms; the function that it returns waits for them.
func start(p *assign.Problem, algorithms ...func(*assign.Problem) *assign.Assignment) func() []rival {
	found, waits := make([]rival, len(algorithms)), make([]func() *assign.Problem, len(algorithms))
	for i, algorithm := range algorithms {
		waits[i] = p.Fork(func(q *assign.Problem) {
			if a := algorithm(q); a != nil {
				found[i] = rival{a, a.Score()}
				a.Problem = p
			}
		})
	}
	return func() []rival {
		for _, wait := range waits {
			if q := wait(); q != p {
				p.Meter.Include(q.Meter)
			}
		}
		return found
	}
}

const (
	certainly  = 2       // times the price of its load is no reason for a key to leave, then it stays
	searchSize = 4096    // pieces that the local search looks at
	mostTwice  = 1 << 18 // up to so many items plans begin from covers twice: beyond that it takes much of the time
	wideGap    = 1.1     // times the bound: worth another start
	// gapClosed is a gap that ends the search, and gapPerItem one that does on many items, up to gapOfMany.
	gapClosed, gapPerItem, gapOfMany = 1e-7, 1e-10, 1e-4
)

// closeEnough is an objective that is not worth improving.
func (b *primal) closeEnough() float64 {
	if b.proof == nil {
		return b.enough
	}
	gap := max(gapClosed, min(gapOfMany, float64(gapPerItem*float64(b.p.Items.Len()))))
	return max(b.enough, b.proof.LowerBound()*(1+gap))
}

// branchingWork is how much work the branch and bound may do, by effort: some hundredths of a
// second, some tenths, some seconds.
var branchingWork = [...]int{assign.Fast: 2_000_000, assign.Normal: 12_000_000, assign.Thorough: 60_000_000}

// evaluations are those of the local search after each rounding. They rise with the number of
// items, and fall again as the gap of the first rounding does.
func evaluations(p *assign.Problem) int64 {
	n := int64(p.Items.Len())
	return min(1_000_000, 5_000+200*n, max(100_000, 50_000_000_000/(n+1)))
}

// trySmallTable improves an assignment of about the fewest table entries, if there is one.
func (b *primal) trySmallTable(r Rivals) {
	q := b.p.CountingEntries()
	if q == nil || b.p.Meter.End != assign.Running {
		return
	}
	a := minMigration(q, r, b.effort, 0, bound.Quick).Best
	switch {
	case a == nil:
	case b.proof.Infeasible():
		b.Offer(adopt(b.p, a))
	default:
		b.try(adopt(b.p, a), &b.proof.Y)
	}
}
