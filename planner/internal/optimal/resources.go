package optimal

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/relaxation"
	"plannerd/planner/internal/search"
)

// resourced looks for assignments of problems with several resources as primal does for one.
type resourced struct {
	assign.Incumbent
	p      *assign.Problem
	proof  *bound.ResourceProof
	enough float64
	// rounded is what the prices come to, and pool what was found.
	rounded  *assign.Assignment
	pool     []*assign.Assignment
	finished *assign.Assignment // at a local optimum
}

// planResources is plan where there are several resources.
func planResources(p *assign.Problem, r Rivals, effort assign.Effort, enough float64) *resourced {
	b := &resourced{p: p, enough: enough}
	found := start(p, r.Mixed, r.MinTable)
	if p.Concurrent() { // meanwhile
		b.proof = bound.ProveResources(p, math.Inf(1), bound.Planned)
	}
	for _, rival := range found() {
		b.offer(rival.a)
	}
	if b.Best != nil && b.Score.Violated > 0 {
		b.offer(start(p, r.MinMig)()[0].a)
	}
	if b.Best == nil {
		return b
	}
	if math.IsInf(enough, 1) && b.Score.Violated == 0 {
		return b
	}
	if b.proof == nil {
		b.proof = bound.ProveResources(p, b.reached(), bound.Planned)
	}
	if math.IsInf(enough, 1) && b.proof.Infeasible() {
		return b
	}
	if p.Items.Len() >= assign.PartItems { // so many fit together nearly as well as if they were divisible
		b.finishBest()
	}
	if !b.proof.Infeasible() && !b.closed() {
		b.followPrices(r)
	}
	b.finishBest()
	b.mend(r)
	if b.small() {
		b.searchAll(nodesByEffort[effort])
	}
	if math.IsInf(enough, 1) && b.proof.Infeasible() {
		return b
	}
	for e := assign.Fast; e <= effort; e++ {
		b.searchOn(e)
	}
	b.finishBest()
	return b
}

// Feasible reports whether a plan is found that meets all constraints of a problem with several resources, or with one.
func Feasible(p *assign.Problem, r Rivals) bool {
	if p.Settled() {
		return true
	}
	var a *assign.Assignment
	if p.ByResource != nil {
		a = planResources(p, r, assign.Fast, math.Inf(1)).Best
	} else {
		a = minMigration(p, r, assign.Fast, math.MaxFloat64, bound.Quick).Best
	}
	return a != nil && a.Score().Violated == 0
}

// mend looks further where no plan meets all constraints.
func (b *resourced) mend(r Rivals) {
	if b.Score.Violated == 0 {
		return
	}
	b.offer(b.p.Standing())
	for _, rival := range start(b.p, r.Others...)() {
		b.offer(rival.a)
	}
}

// reached is the objective of the best assignment; +∞ if that violates limits.
func (b *resourced) reached() float64 {
	if b.Score.Violated > 0 {
		return math.Inf(1)
	}
	return b.Score.Objective
}

func (b *resourced) closed() bool {
	return b.Score.Violated == 0 && b.Score.Objective <= b.closeEnough()
}

func (b *resourced) offer(a *assign.Assignment) {
	if a != nil {
		b.pool = append(b.pool, a)
		b.Offer(a)
	}
}

// followPrices makes assignments of what the prices of the relaxation come to.
func (b *resourced) followPrices(r Rivals) {
	a := b.round()
	if a == nil {
		return
	}
	b.rounded = a.Clone()
	if r.Fit != nil {
		b.offer(r.Fit(a.Clone()))
	}
	b.improve(a, &b.proof.Y, search.Effort{Evaluations: longer * evaluations(b.p), Enough: b.closeEnough()})
	b.offer(a)
}

func (b *resourced) closeEnough() float64 {
	gap := max(gapClosed, float64(10*gapPerItem*float64(b.p.Items.Len())))
	return max(b.enough, b.proof.LowerBound()*(1+gap))
}

// departure is a key that the prices have go somewhere.
type departure struct {
	item, to int32
	tied     bool // it could as well stay
}

// departures are the keys that leave under the prices, and those that could as well.
func (b *resourced) departures() []departure {
	p, m := b.p, b.proof.Receivers()
	return assign.Collect(p.Items.Len(), func(from, to int) (list []departure) {
		amount := make([]float64, len(p.ByResource))
		unit := p.UnitWeight()
		for i := int32(from); i < int32(to); i++ {
			if d := p.Items.Current[i]; p.IsHot(int(i)) || m.Quiet[d] && p.Goal.TableLimit == nil && d == p.Items.Home[i] {
				continue
			}
			d, regret := b.proof.Option(i, amount, &m)
			if tied := p.IsLive[p.Items.Current[i]] && regret <= tie*unit*p.Weight(i); tied || d != assign.None {
				list = append(list, departure{i, d, tied})
			}
		}
		return list
	})
}

// tie is up to which part of its weight the prices tell nothing of a key, and mostVain how many such keys in a row are
// looked at that need not leave.
const tie, mostVain = 1e-6, 10_000

// round gives each key its best option under the prices; those that leave for elsewhere than home go, the
// largest first, to where the fullest resource is emptiest. Of keys that could as well stay the largest leave, as long
// as more has to: the fewest.
func (b *resourced) round() *assign.Assignment {
	p := b.p
	if !p.Meter.Spend(int64(p.Items.Len()/assign.ItemsPerWorkUnit) + 1) {
		return nil
	}
	a := assign.NewAssignment(p)
	var queue []int32
	var tied []assign.Ranked
	for _, x := range b.departures() {
		switch {
		case x.tied:
			tied = append(tied, a.RankedPiece(x.item, assign.Descending(p.Size[x.item])))
		case x.to == p.Items.Home[x.item]:
			a.Move(x.item, x.to)
		default:
			a.Move(x.item, assign.Nowhere)
			queue = append(queue, x.item)
		}
	}
	queue = append(queue, takeTied(a, tied)...)
	slices.SortFunc(queue, p.Larger)
	for _, i := range queue {
		a.Move(i, a.LeastLoadedWith(i, 0))
	}
	return a
}

// takeTied takes keys off instances that are above limits: the largest that are no larger than what is too much.
func takeTied(a *assign.Assignment, tied []assign.Ranked) (taken []int32) {
	order, vain := assign.NewLazyOrder(tied, a.Problem.Items, nil), 0
	for x := range order.All() {
		if a.Relieves(x.Piece, a.At[x.Piece]) {
			a.Move(x.Piece, assign.Nowhere)
			taken = append(taken, x.Piece)
			vain = 0
		} else if vain++; vain > mostVain {
			break // smaller ones hardly matter
		}
	}
	return taken
}

// improve searches around an assignment, among the keys of which it is least certain where they should be.
func (b *resourced) improve(a *assign.Assignment, y *relaxation.Prices, effort search.Effort) int64 {
	m := b.proof.Receivers()
	e := leastCertain(a, assign.Collect(len(a.At), func(from, to int) []uncertain {
		amount, e := make([]float64, len(b.p.ByResource)), leastRegrets{a: a, regretted: math.Inf(1), related: math.Inf(1)}
		for i := from; i < to; i++ {
			d := b.p.Items.Current[i]
			if b.p.IsHot(i) || a.At[i] == d && d == b.p.Items.Home[i] && m.Quiet[d] && len(a.At) > 4*searchSize {
				continue
			}
			if _, regret := b.proof.Option(int32(i), amount, &m); !math.IsInf(regret, 1) {
				e.add(i, regret, regret/max(b.p.Size[i], math.SmallestNonzeroFloat64))
			}
		}
		return leastCertain(a, e.list)
	}))
	core := make([]int32, len(e))
	for i, v := range e {
		core[i] = v.Piece
	}
	return search.Improve(b.p, a, core, y, effort)
}

// longer is how many times as long a search is as with one resource: it takes more to meet several limits at once.
const longer = 4

// searchOn searches on in rounds, from the best, from what the prices come to, and from crosses of the best with
// others.
func (b *resourced) searchOn(effort assign.Effort) {
	random := rand.New(rand.NewPCG(3, uint64(effort)))
	n := int64(b.p.Items.Len())
	most := effort.RoundEvaluations() * min(n*n, fewKeys*fewKeys) / (fewKeys * fewKeys)
	for round, evaluated := 0, int64(0); evaluated < most && b.worthwhile(effort); round++ {
		a := b.Best.Clone()
		switch {
		case round%3 == 1 && b.rounded != nil:
			a = b.rounded.Clone()
		case round%3 == 2:
			cross(b.p, a, b.pool[random.IntN(len(b.pool))], random)
		}
		y := &b.proof.Y
		if round%2 == 1 {
			y = nil
		}
		evaluated += coreEvaluations*n + b.improve(a, y, search.Effort{
			Evaluations: longer * min(roundMost, roundLonger*evaluations(b.p)), Seed: uint64(round + 1), Enough: b.closeEnough(),
		})
		b.Offer(a)
		if b.pool = append(b.pool, a); len(b.pool) > mostPooled {
			b.pool = slices.Delete(b.pool, 0, 1)
		}
	}
}

// worthwhile reports whether the gap is wide enough for an effort.
func (b *resourced) worthwhile(effort assign.Effort) bool {
	gap := b.Score.Objective - b.proof.LowerBound()
	open := b.Score.Violated > 0 || gap > worthClosing[effort]*b.Score.Objective
	return open && !b.closed() && b.p.Meter.End == assign.Running
}

// finishBest takes the best assignment to a local optimum.
func (b *resourced) finishBest() {
	if b.Best != nil && b.Score.Violated == 0 && b.Best != b.finished {
		a := b.Best.Clone()
		finish(a, b.closeEnough())
		b.Offer(a)
		b.finished = b.Best
	}
}

// nodesByEffort is how many nodes a complete search looks at, on no more than fewItems items.
var nodesByEffort = [...]int{assign.Fast: 30_000, assign.Normal: 300_000, assign.Thorough: 3_000_000}

const fewItems = 200

// rounding is more than what it does to a sum, and trifling what is not worth a look, relative to what is there.
const rounding, trifling = 1e-12, 1e-9

func (b *resourced) small() bool {
	return b.p.Items.Len() <= fewItems && !b.closed() && b.p.Meter.End == assign.Running
}

// enumeration is a complete search: the largest items first, each to where it is cheapest under the prices
// first. What is left costs no less than its cheapest option under them.
type enumeration struct {
	*assign.Assignment
	b        *resourced
	items    []int32
	options  [][]place
	rest     []float64 // by depth: the least value of the items from there on
	base     float64   // what is paid whatever the items do
	hot      float64   // what hot keys weigh that move, a part of that
	table    int64
	work     int
	least    float64 // that of the best, scaled
	best     []int32
	original *assign.Assignment
}

type place struct {
	value  float64 // under the prices
	weight float64 // what a move there weighs, scaled
	to     int32
	entry  int64
}

// searchAll searches all assignments, up to some work. If it comes to its end the best one is optimal.
func (b *resourced) searchAll(nodes int) {
	x := b.enumerate(nodes)
	x.descend(0, 0, x.hot)
	if x.best != nil {
		a := x.original.Clone()
		for at, i := range x.items {
			a.Move(i, x.best[at])
		}
		b.offer(a)
	}
	switch {
	case x.work <= 0:
	case b.Score.Violated > 0:
		b.proof.Conclude(math.Inf(1))
	default:
		b.proof.Conclude(b.Score.Objective * (1 - 2*trifling))
	}
}

func (b *resourced) enumerate(nodes int) *enumeration {
	p, y := b.p, &b.proof.Y
	x := &enumeration{Assignment: assign.NewAssignment(p), b: b, work: nodes, least: math.Inf(1), table: p.Retained}
	x.original = x.Clone()
	unit := p.UnitWeight()
	if b.Score.Violated == 0 {
		x.least = unit * b.Score.Objective
	}
	for i := range int32(p.Items.Len()) {
		if !p.IsHot(int(i)) {
			x.items = append(x.items, i)
			x.Move(i, assign.Nowhere)
			continue
		}
		x.table += entry(p, i, x.At[i])
		if x.At[i] != p.Items.Current[i] {
			x.hot += float64(unit * p.Weight(i))
		}
	}
	slices.SortFunc(x.items, p.Larger)
	x.rest = make([]float64, len(x.items)+1)
	for at := len(x.items) - 1; at >= 0; at-- {
		i := x.items[at]
		var list []place
		for _, d := range p.OpenTo(i) {
			v := place{to: d, entry: entry(p, i, d)}
			if d != p.Items.Current[i] {
				v.weight = unit * p.Weight(i)
			}
			v.value = v.weight + float64(y.Table*float64(v.entry))
			for r, q := range p.ByResource {
				v.value += float64(y.ByResource[r][d] * float64(q.AmountOf(i)))
			}
			list = append(list, v)
		}
		slices.SortStableFunc(list, func(a, b place) int { return cmp.Compare(a.value, b.value) })
		x.options = append(x.options, list)
		x.rest[at] = x.rest[at+1] + list[0].value
	}
	slices.Reverse(x.options)
	x.base = x.hot
	for r, q := range p.ByResource {
		for _, d := range p.Live {
			x.base -= float64(y.ByResource[r][d] * float64(q.Limit[d]-x.Loads[r][d]))
		}
	}
	if p.Goal.TableLimit != nil {
		x.base -= float64(y.Table * float64(*p.Goal.TableLimit-x.table))
	}
	return x
}

// descend tries the options of the item at a depth; value is that of the items before under the prices, and
// weight what they weigh.
func (x *enumeration) descend(depth int, value, weight float64) {
	if depth == len(x.items) {
		if x.original.Problem.TableExcess(x.table) == 0 && weight < x.least {
			x.least, x.best = weight, make([]int32, len(x.items))
			for at, i := range x.items {
				x.best[at] = x.At[i]
			}
		}
		return
	}
	i := x.items[depth]
	for _, v := range x.options[depth] {
		if x.work--; x.work <= 0 {
			return
		}
		below := x.base + value + v.value + x.rest[depth+1]
		below -= float64(rounding * math.Abs(x.base))
		if below >= x.least*(1-trifling) || weight+v.weight >= x.least {
			continue
		}
		if !x.fitsAll(i, v.to) || x.Problem.TableExcess(x.table+v.entry) > 0 {
			continue
		}
		x.Move(i, v.to)
		x.table += v.entry
		x.descend(depth+1, value+v.value, weight+v.weight)
		x.table -= v.entry
		x.Move(i, assign.Nowhere)
	}
}

// fitsAll reports whether an instance has room for an item in all resources.
func (x *enumeration) fitsAll(i, d int32) bool {
	return x.Load[d]+x.UnitCost(i) <= x.Problem.Limit[d] && x.Fits(i, d, assign.None)
}
