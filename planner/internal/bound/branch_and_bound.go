package bound

import (
	"math"
	"slices"

	"plannerd/internal/exact"
	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/covering"
	"plannerd/planner/internal/relaxation"
)

// branching is a branch and bound over the keys that may move. It divides the part of least
// bound by a key of which the AssignmentRelaxation does not tell whether it stays, whether it
// goes home, or where it goes.
type branching struct {
	*AssignmentRelaxation
	f      *Proof
	parts  exact.Heap[*part]
	closed float64 // no plan of the parts that need not be divided costs less, scaled
	most   int     // work, from which on nothing more is done
	best   func() float64
	offer  func([]covering.Placement)
	last   []covering.Placement // that were offered
}

// part is a part of the problem: some keys are restricted.
type part struct {
	restrictions []restriction
	y            assignmentPrices // the best known
	bound        float64          // scaled; no plan that keeps to the restrictions costs less
	split        [2]restriction   // that divide it, of no key if nothing does
}

const (
	mostPriced = 8192 // keys that have prices of their own, of those that may stay
	rootSteps  = 10_000
	coarsePart = 4  // of the work: for coming near the maximum
	startPart  = 16 // of the work: for each start
	childSteps = 40
	// throughKeys is the work of choosing the keys that have prices, for each key.
	throughKeys = 4
	// undecided is a share of solutions from which on it is open what a key does.
	undecided = 0.05
	// closedGap is the gap of a part, relative to its bound, that is not worth closing.
	closedGap = 1e-6
	// WorkPerUnit is so much work, in keys and partial covers looked at, that it counts as one
	// work unit.
	WorkPerUnit = 64
)

// BranchAndBound raises the bound by dividing the problem, with so much work at most. best
// tells the objective of the best plan that is known, +∞ if there is none. offer takes what
// the relaxation comes to: the keys that do not stay and where they go, none standing for
// wherever there is room. Where going through the keys is much of the work it does nothing.
func (f *Proof) BranchAndBound(work int, best func() float64, offer func([]covering.Placement)) {
	x := f.Relaxation
	if work/throughKeys < x.Problem.Items.Len() || f.Infeasible() || x.Problem.Meter.End != assign.Running {
		return
	}
	f.Divided = true
	enough := min(float64(best()*x.UnitWeight), 2*x.Surely()+1)
	s := &branching{f: f, closed: math.Inf(1), most: work, best: best, offer: offer}
	s.AssignmentRelaxation = f.newAssignmentRelaxation(enough, mostPriced)
	s.parts.Before = func(a, b *part) bool {
		return a.bound < b.bound || a.bound == b.bound && len(a.restrictions) > len(b.restrictions)
	}
	root := s.whole()
	x.Problem.Meter.Spend(int64(s.work / WorkPerUnit))
	if s.work < s.most {
		s.climb(root, childSteps)
	} else {
		s.parts.Push(root)
		if root.bound < s.reached() {
			s.offer(s.decisions())
		}
	}
	for len(s.parts.E) > 0 && s.work < s.most && x.Problem.Meter.End == assign.Running {
		n := s.parts.E[0]
		if n.bound >= s.reached() || n.split[0].key == assign.None {
			break
		}
		s.parts.Pop()
		for _, r := range n.split {
			child := &part{restrictions: append(slices.Clone(n.restrictions), r), bound: n.bound}
			child.y.set(&n.y)
			s.climb(child, childSteps)
		}
	}
	bound := min(s.closed, s.others)
	if len(s.parts.E) > 0 {
		bound = min(bound, s.parts.E[0].bound)
	}
	if bound > x.Surely() {
		f.disprove()
		return
	}
	f.Bound = max(f.Bound, bound)
}

// reached is a bound, scaled, from which on a part need not be divided: no plan is better
// there than the best, but for a trifle, or there is none at all.
func (s *branching) reached() float64 {
	best := s.best()
	if math.IsInf(best, 1) {
		return 2*s.x.Surely() + 1
	}
	if s.f.integral && best < 1<<53 {
		best = max(best-1, best*closedGap) // the next better plan has that objective
		return float64(best*s.x.UnitWeight) * (1 + 0x1p-40)
	}
	return float64(best*s.x.UnitWeight) * (1 - closedGap)
}

// whole is the whole problem, at good prices.
func (s *branching) whole() *part {
	n := s.start()
	for _, by := range [...]method{coarse, fine} {
		if s.work >= s.most {
			break
		}
		most := s.most
		if !by.mean {
			most /= coarsePart
		}
		c := s.newAscent(by, &n.y)
		c.climb(rootSteps, s.reached(), most)
		n.bound = max(n.bound, c.best)
		n.y.set(&c.at)
	}
	s.f.prices = s.known(&n.y)
	return n
}

// start is the problem at prices as in a covering problem, where only entries have one. Of those of the relaxation and
// of whole keys, the better one after some steps: with whole keys an entry can be worth much more than where all keys
// find room by parts, or just as much.
func (s *branching) start() (n *part) {
	prices := []float64{s.f.Y.Table}
	switch w := s.f.Whole; {
	case s.f.prices != nil:
		prices[0] = s.f.prices.table
	case w != nil && w.Price != prices[0]:
		prices = append(prices, w.Price)
	}
	for _, price := range prices {
		free := relaxation.Prices{Load: make([]float64, len(s.x.Excess)), Table: price}
		m := &part{bound: math.Inf(-1), y: *s.leaving(&free)}
		if s.f.prices != nil {
			s.f.prices.recall(s.keys[:s.priced], &m.y)
		}
		if len(prices) > 1 {
			c := s.newAscent(coarse, &m.y)
			c.climb(rootSteps, s.reached(), s.work+s.most/startPart)
			m.bound = c.best
			m.y.set(&c.at)
		}
		if n == nil || m.bound > n.bound {
			n = m
		}
	}
	return n
}

// knownPrices are those that an ascent came to.
type knownPrices struct {
	ofItem map[int32]float64
	table  float64
}

func (s *branching) known(y *assignmentPrices) *knownPrices {
	known := &knownPrices{make(map[int32]float64, len(y.key)), y.table}
	for i, v := range y.key {
		known.ofItem[s.keys[i].item] = v
	}
	return known
}

// recall sets the prices that are known.
func (known *knownPrices) recall(keys []assignedKey, y *assignmentPrices) {
	for i := range keys {
		if v, ok := known.ofItem[keys[i].item]; ok {
			y.key[i] = v
		}
	}
}

// leaving are prices at which each key pays just what leaving costs it.
func (s *branching) leaving(y *relaxation.Prices) *assignmentPrices {
	p, m := &assignmentPrices{make([]float64, s.priced), y.Table}, s.x.CheapestReceivers(y)
	for i := range p.key {
		k := s.x.ChoiceOf(int(s.keys[i].item))
		if _, home, away := k.Costs(y, m); !math.IsInf(min(home, away), 1) {
			p.key[i] = min(home, away) + float64(y.Load[k.From]*k.Cost)
		}
	}
	return p
}

// climb raises the bound of a part, offers what the relaxation comes to there, and keeps the
// part for being divided, or closes it.
func (s *branching) climb(n *part, steps int) {
	s.restrict(n.restrictions)
	c := s.newAscent(brief, &n.y)
	met := c.climb(steps, s.reached(), s.most)
	n.bound = max(n.bound, c.best)
	n.y.set(&c.at)
	if n.bound < s.reached() {
		if !met {
			s.y.set(&n.y)
			s.solve()
			s.send()
		}
		if moved := s.decisions(); !slices.Equal(moved, s.last) {
			s.last = moved
			s.offer(moved)
		}
	}
	if met || n.bound >= s.reached() {
		s.closed = min(s.closed, n.bound)
		return
	}
	n.split = s.divide(c)
	s.parts.Push(n)
}

// divide chooses how to divide the part that was looked at last: by a key of which it is open
// whether it stays or leaves, or goes home or elsewhere; else by the costliest one that does not
// find room. Where entries have a price, that is the costliest, for which others have to make
// room; else the one for which most is at stake. Equal units are not divided.
func (s *branching) divide(c *ascent) (split [2]restriction) {
	split[0].key = assign.None
	most := 0.0
	for _, i := range s.open {
		k, o := &s.keys[i], s.options[i]
		share, option := c.share[i].stay, mayStay
		if o&mayStay == 0 {
			share, option = c.share[i].home, o&mayGoHome
		}
		doubt := min(share, 1-share)
		stake := doubt * k.weight
		if c.at.table > 0 {
			stake = float64(k.cost)
		}
		if option != 0 && k.units == 1 && doubt >= undecided && stake > most {
			most = stake
			split = [2]restriction{{i, option, assign.None, assign.None}, {i, ^option, assign.None, assign.None}}
		}
	}
	if most > 0 {
		return split
	}
	costliest := int64(-1)
	for _, i := range s.open {
		k := &s.keys[i]
		if d := s.roomiest(i); k.units == 1 && s.units[i].all != 1 && k.cost > costliest && d != assign.None {
			costliest = k.cost
			split = [2]restriction{{i, ^options(0), d, assign.None}, {i, ^options(0), assign.None, d}}
		}
	}
	return split
}

// roomiest is the instance with most room left of those, neither its home nor where it is, to
// which a key may go; none if it fits on none.
func (s *branching) roomiest(i int32) int32 {
	best := assign.None
	if s.options[i]&mayGoElsewhere == 0 {
		return best
	}
	for _, d := range s.x.Problem.Live {
		if s.isElsewhere(i, d) && s.keys[i].cost <= s.room[d] && (best == assign.None || s.left[d] > s.left[best]) {
			best = d
		}
	}
	return best
}
