package search

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/relaxation"
)

// search is a local search by shifts, pairs of them and adaptive penalties, after
// Yagiura, Ibaraki and Glover's for the generalised assignment problem (2004).
// It walks through assignments that may violate limits. What it lowers is the
// objective plus a penalty per unit of load above a limit and per entry above
// the table limit; penalties grow where a limit stays violated, else they decay.
//
// Its keys are those of the core in ascending order of cost, ties in canonical
// key order; they are named by their position in it. An item with a count has a
// key for each chunk of its units. Weights are scaled as in the relaxation.
type search struct {
	p *assign.Problem
	a *assign.Assignment

	// By key.
	piece      []int32
	cost       []int64
	weight     []float64
	state      []int64
	units      []int64
	from, home []int32
	at         []int32
	bestAt     []int32
	changed    []bool  // at may differ from bestAt
	changes    []int32 // the keys that are changed

	load      []int64 // by instance, that of a
	over      []int32 // instances above their limit
	overIndex []int32 // by instance: where it is in over, or −1
	now, best assign.Tally
	distance  float64 // of best from the limits, while it violates any

	penalties
	resources
	neighbourhood
	Effort        // of which Evaluations are left
	shifts []step // that are being tried
	random *rand.Rand
	owed   int64 // evaluations that the meter has not been told of

	evaluated int64 // shifts so far; Evaluations is also set to 0 to end the search
}

// Effort bounds a search.
type Effort struct {
	// Evaluations is the number of shifts that it looks at.
	Evaluations int64
	// Patience is how often it perturbs the best assignment in vain until it gives up.
	// Defaults to [Patience].
	Patience int
	// Seed makes searches from the same assignment differ.
	Seed uint64
	// Enough is an objective that ends it.
	Enough float64
}

// Patience is the default of [Effort.Patience].
const Patience = 120

// step is the shift of a key from an instance to another.
type step struct{ key, at, to int32 }

// Improve searches the neighbourhood of a complete assignment, which may violate
// limits, and changes it into the best one that it meets. It moves no other
// pieces than those of the core; nil stands for all that are not hot. y are
// prices of the relaxation; without them it estimates some. It returns how many shifts it
// evaluated.
func Improve(p *assign.Problem, a *assign.Assignment, core []int32, y *relaxation.Prices, effort Effort) int64 {
	if len(p.Live) < 2 {
		return 0
	}
	s := newSearch(a, core, effort)
	if len(s.piece) == 0 {
		return 0
	}
	s.tallyUp()
	s.setPenalties(y)
	s.distance = s.violation()
	s.leaveClosed()
	given, score := slices.Clone(s.at), s.best
	s.run()
	s.restore()
	if s.best.Compare(score.Score) > 0 { // less is above limits, but above more limits
		s.bestAt, s.changes = given, assign.UpTo(len(given))
		s.restore()
	}
	for k, d := range s.at {
		a.At[s.piece[k]] = d
	}
	return s.evaluated
}

const evaluationsPerUnit = 64 // evaluations of a shift that count as one work unit

// spend counts evaluations. It reports false when the search is to end.
func (s *search) spend(n int64) bool {
	s.Evaluations -= n
	s.evaluated += n
	s.owed += n
	if s.owed >= evaluationsPerUnit {
		units := s.owed / evaluationsPerUnit
		s.owed %= evaluationsPerUnit
		if !s.p.Meter.Spend(units) {
			s.Evaluations = 0
		}
	}
	return s.Evaluations > 0
}

// newSearch lays out the core in columns.
func newSearch(a *assign.Assignment, core []int32, effort Effort) *search {
	p := a.Problem
	s := &search{p: p, a: a, load: a.Load, Effort: effort, random: rand.New(rand.NewPCG(1, 1+effort.Seed))}
	s.Patience = cmp.Or(effort.Patience, Patience)
	if core == nil {
		core, _ = a.Movable()
	}
	if a.Units != nil {
		core = chunks(a, core)
	}
	e := make([]assign.Ranked, len(core))
	for i, piece := range core {
		size := a.UnitCost(piece) * a.Count(piece)
		if a.Loads != nil {
			size = sizeOf(p.Size[piece])
		}
		e[i] = a.RankedPiece(piece, uint64(size))
	}
	slices.SortFunc(e, a.CompareChunks)
	n := len(e)
	s.piece, s.cost, s.weight = make([]int32, n), make([]int64, n), make([]float64, n)
	s.state, s.units = make([]int64, n), make([]int64, n)
	s.from, s.home, s.at = make([]int32, n), make([]int32, n), make([]int32, n)
	s.changed = make([]bool, n)
	scale := p.UnitWeight()
	for k, x := range e {
		item := a.Item(x.Piece)
		s.piece[k], s.cost[k], s.units[k] = x.Piece, int64(x.Rank), a.Count(x.Piece)
		s.weight[k] = scale * float64(p.Weight(item)*float64(s.units[k]))
		s.state[k] = p.State.Fixed(p.Items.StateOf(int(item))) * s.units[k]
		s.from[k], s.home[k], s.at[k] = p.Items.Current[item], p.Items.Home[item], a.At[x.Piece]
	}
	s.bestAt = slices.Clone(s.at)
	s.takeResources()
	return s
}

const chunksOfSize = 4 // so that the units of an item can go to several instances

// chunks splits pieces into units, pairs, fours, …, a few of each, and a rest.
func chunks(a *assign.Assignment, pieces []int32) []int32 {
	out := make([]int32, 0, 2*len(pieces))
	for _, piece := range pieces {
		for n := int64(1); n < a.Units[piece]; n *= 2 {
			for i := 0; i < chunksOfSize && n < a.Units[piece]; i++ {
				out = append(out, a.Split(piece, n))
			}
		}
		if a.Units[piece] > 0 {
			out = append(out, piece)
		}
	}
	return out
}

// tallyUp counts the given assignment.
func (s *search) tallyUp() {
	a, p := s.a, s.p
	s.now.Score, s.now.State = a.Score(), a.Tally().State
	s.overIndex = slices.Repeat([]int32{assign.None}, len(s.load))
	for _, d := range p.Live {
		s.watch(d)
	}
	s.best = s.now
	s.best.Theta = s.theta()
}

// leaveClosed sends home what is still on an instance that is not live, or, where
// that is not live either, to the least loaded one. That is part of the assignment
// to improve.
func (s *search) leaveClosed() {
	left := false
	for k, d := range s.at {
		if s.p.IsLive[d] {
			continue
		}
		to := s.home[k]
		if !s.p.IsLive[to] {
			to = s.a.LeastLoadedWith(s.a.Item(s.piece[k]), s.cost[k])
		}
		s.shift(int32(k), to)
		left = true
	}
	if left {
		s.note()
		s.shifts = s.shifts[:0]
		s.surpasses()
		s.settle()
	}
}

// shift puts a key somewhere else, for a try.
func (s *search) shift(k, to int32) {
	at := s.at[k]
	s.shifts = append(s.shifts, step{k, at, to})
	s.displace(k, at, to)
}

// unshift takes the last shift back.
func (s *search) unshift() {
	last := len(s.shifts) - 1
	x := s.shifts[last]
	s.shifts = s.shifts[:last]
	s.displace(x.key, x.to, x.at)
}

func (s *search) displace(k, at, to int32) {
	if s.amounts == nil {
		s.load[at] -= s.cost[k]
		s.load[to] += s.cost[k]
	} else {
		s.displaceAmounts(k, at, to)
	}
	switch s.home[k] {
	case at:
		s.now.Table += s.units[k]
	case to:
		s.now.Table -= s.units[k]
	}
	s.at[k] = to
}

// commit makes the shifts that are being tried last.
func (s *search) commit() {
	s.note()
	s.relist()
	s.shifts = s.shifts[:0]
	if s.surpasses() {
		s.settle()
	}
}

// note counts the shifts that are being tried.
func (s *search) note() {
	for _, x := range s.shifts {
		k := x.key
		if !s.changed[k] {
			s.changed[k] = true
			s.changes = append(s.changes, k)
		}
		switch s.from[k] {
		case x.to:
			s.now.State -= s.state[k]
			s.now.Moves -= s.units[k]
		case x.at:
			s.now.State += s.state[k]
			s.now.Moves += s.units[k]
		}
		s.watch(x.at)
		s.watch(x.to)
	}
}

// watch keeps the list of instances above their limit.
func (s *search) watch(d int32) {
	i, above := s.overIndex[d], s.exceeds(d) > 0
	switch {
	case above && i < 0:
		s.overIndex[d] = int32(len(s.over))
		s.over = append(s.over, d)
	case !above && i >= 0:
		last := len(s.over) - 1
		s.over[i] = s.over[last]
		s.overIndex[s.over[i]] = i
		s.over = s.over[:last]
		s.overIndex[d] = -1
	}
}

// surpasses completes the tally, as far as it takes to know whether the present
// assignment is better than the best.
func (s *search) surpasses() bool {
	x, best := &s.now, &s.best
	x.TableExcess = s.p.TableExcess(x.Table)
	x.Violated = len(s.over)
	if s.amounts != nil {
		x.Violated = 0
		for _, d := range s.over {
			x.Violated += s.exceeds(d)
		}
	}
	if x.TableExcess > 0 {
		x.Violated++
	}
	x.Objective = s.p.Objective(x.State, x.Moves)
	switch {
	case x.Violated > 0 && best.Violated > 0:
		return cmp.Or(cmp.Compare(s.violation(), s.distance), cmp.Compare(x.Objective, best.Objective)) < 0
	case x.Violated > 0 || best.Violated > 0:
		return best.Violated > 0
	}
	x.Excess = 0
	s.p.Rank(&x.Score, 0)
	x.Theta = best.Theta
	if c := x.Compare(best.Score); c != 0 {
		return c < 0
	}
	return s.theta() < best.Theta
}

// violation is what the present assignment has above limits, at the prices that the
// penalties started from. As long as no assignment within the limits is known, it
// decides: the number of violated limits hardly tells how far one is off.
func (s *search) violation() float64 {
	sum := float64(s.basicEntry * float64(s.now.TableExcess))
	for _, d := range s.over {
		sum += s.violationOn(d)
	}
	return sum
}

// settle makes the present assignment the best.
func (s *search) settle() {
	s.now.Excess = 0
	for _, d := range s.over {
		s.now.Excess = max(s.now.Excess, s.excessOn(d))
	}
	s.p.Rank(&s.now.Score, int(min(1, s.now.TableExcess)))
	s.best, s.distance = s.now, s.violation()
	s.best.Theta = s.theta()
	for _, k := range s.changes {
		s.bestAt[k] = s.at[k]
		s.changed[k] = false
	}
	s.changes = s.changes[:0]
	if s.best.Violated == 0 && s.best.Objective <= s.Enough {
		s.Evaluations = 0
	}
}

// restore returns to the best assignment.
func (s *search) restore() {
	for _, k := range s.changes {
		if s.at[k] != s.bestAt[k] {
			s.shift(k, s.bestAt[k])
		}
	}
	s.note()
	s.relist()
	s.shifts = s.shifts[:0]
	for _, k := range s.changes {
		s.changed[k] = false
	}
	s.changes = s.changes[:0]
}

const fewInstances = 1024 // up to here, θ decides between plans that are otherwise equal

func (s *search) theta() float64 {
	theta := 0.0
	if len(s.p.Live) <= fewInstances {
		for _, d := range s.p.Live {
			theta = max(theta, assign.Relative(float64(s.load[d]), s.p.Fair[d]))
		}
	}
	return theta
}
