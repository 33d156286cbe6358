package plannertest

import (
	"cmp"
	"math"
	"slices"

	"plannerd/planner"
)

// Optimum is the best assignment of a tiny case, found by trying all but those
// that cannot be the best. Hot keys stay where the rules put them, as in every
// plan. Its effort is at worst the number of live instances to the power of the
// number of units.
func Optimum(s *planner.Snapshot, o planner.Options) (Assignment, Score) {
	m := newModel(s, o)
	var best Assignment
	var bestScore Score
	m.enumerate(func(p *partial) bool {
		return best != nil && p.worse(bestScore)
	}, func(p *partial) {
		if sc := m.score(p.a); best == nil || sc.Compare(bestScore) < 0 {
			best, bestScore = p.a.clone(), sc
		}
	})
	return best, bestScore
}

// LeastTheta is the least θ of any assignment within the table limit and the bounds of resources,
// whatever it moves; +∞ if there is none. Keys that are hot may be
// anywhere: under that θ they would not be hot.
func LeastTheta(s *planner.Snapshot, o planner.Options) float64 {
	theta, ok := Least(s, o, 0, 0)
	if !ok {
		return math.Inf(1)
	}
	return theta
}

// anywhere are options under which no key is hot, with the same bounds and table limit.
func anywhere(o planner.Options) planner.Options {
	return planner.Options{
		Objective: planner.MinImbalance, MigrationLimit: &planner.MigrationLimit{}, TableLimit: o.TableLimit,
		ThetaMax: o.ThetaMax,
	}
}

// FewestEntries is the size of the smallest table of any assignment, whatever else.
func FewestEntries(s *planner.Snapshot) int64 {
	m := newModel(s, anywhere(planner.Options{}))
	n := m.retained
	for i, d := range s.Hash {
		if !m.may(i, int(d)) || m.pinned(i) && d != s.Current[i] {
			n += count(s, i)
		}
	}
	return n
}

// LeastTable is the size of the smallest table of any assignment that meets all
// constraints but the table limit, if there is one.
func LeastTable(s *planner.Snapshot, o planner.Options) (int64, bool) {
	m := newModel(s, o)
	best := int64(math.MaxInt64)
	m.enumerate(func(p *partial) bool {
		if o.Objective == planner.MinImbalance {
			return p.movesTooMuch() || p.table >= best
		}
		violated, _ := p.overloads()
		return violated > 0 || p.table >= best
	}, func(p *partial) {
		feasible := m.score(p.a).Excess == 0
		if o.Objective == planner.MinImbalance {
			feasible = WithinMigrationLimit(s, o, p.a)
		}
		if feasible {
			best = p.table
		}
	})
	return best, best < math.MaxInt64
}

// LeastMigration is the least that any assignment within the table limit moves,
// in the unit of [Migrated]; +∞ if there is none.
func LeastMigration(s *planner.Snapshot, o planner.Options) float64 {
	m := newModel(s, o)
	best := math.Inf(1)
	m.enumerate(func(p *partial) bool {
		return p.tableExcess() > 0 || p.migrated() > best*(1+slack)
	}, func(p *partial) { best = min(best, Migrated(s, o, p.a)) })
	return best
}

// Balance holds what decides which of two assignments balances better, in the
// order of its fields; less is better.
type Balance struct {
	Theta     float64
	Objective float64
	Table     int64
}

// Compare is negative when a is better than b.
func (a Balance) Compare(b Balance) int {
	return cmp.Or(cmp.Compare(a.Theta, b.Theta), cmp.Compare(a.Objective, b.Objective), cmp.Compare(a.Table, b.Table))
}

// OptimalTheta is the assignment of a tiny case that balances best within the
// migration limit, the table limit and the bounds of resources beside cost, under [planner.MinImbalance], if one is
// within them.
func OptimalTheta(s *planner.Snapshot, o planner.Options) (Assignment, Balance, bool) {
	m := newModel(s, o)
	var best Assignment
	var bestBalance Balance
	m.enumerate(func(p *partial) bool {
		return p.tableExcess() > 0 || p.movesTooMuch() || p.takesTooMuch(slack) ||
			best != nil && p.theta() > bestBalance.Theta+slack
	}, func(p *partial) {
		sc := m.score(p.a)
		b := Balance{sc.Theta, sc.Objective, sc.Table}
		if WithinMigrationLimit(s, o, p.a) && !p.takesTooMuch(0) && (best == nil || b.Compare(bestBalance) < 0) {
			best, bestBalance = p.a.clone(), b
		}
	})
	return best, bestBalance, best != nil
}

// slack is more than the last bits that a partial sum may differ from one in
// another order, of numbers ≥ 0, and far less than the tolerance of bounds.
const slack = 1e-12

// partial is an assignment some units of which have no place yet. All of its
// figures grow when they get one.
type partial struct {
	m                *model
	a                Assignment
	load             [][]float64 // by dimension
	table            int64
	objective, state float64 // what has to leave drained instances included
	moves            int64
	allowance        float64 // of MinImbalance
}

// enumerate visits every assignment, but for those that a cut says to leave out
// with all that complete the partial one. Costly units are placed first, and on
// their own instance first.
func (m *model) enumerate(cut func(*partial) bool, visit func(*partial)) {
	p, units := m.start()
	var place func(n, from int)
	place = func(n, from int) {
		if cut(p) {
			return
		}
		if n == len(units) {
			visit(p)
			return
		}
		u := units[n]
		if n == 0 || units[n-1].item != u.item {
			from = 0 // equal units need only be tried in the order of places
		}
		before := *p
		for at := from; at < len(u.places); at++ {
			d := u.places[at]
			var load [planner.MaxResources]float64
			for r := range m.dims {
				load[r] = p.load[r][d]
			}
			p.put(u, d)
			place(n+1, at)
			p.a[u.item][d]--
			for r := range m.dims {
				p.load[r][d] = load[r]
			}
			p.table, p.objective, p.state, p.moves = before.table, before.objective, before.state, before.moves
		}
	}
	place(0, 0)
}

// loose is a unit to be placed, and where it may go.
type loose struct {
	item          int
	size          float64
	state, weight float64
	places        []int
	must          bool // it has to leave, which is counted already
	hot           bool // backgrounds have it already
}

// start is the assignment of hot units alone, and the other units.
func (m *model) start() (*partial, []loose) {
	p := &partial{m: m, a: make(Assignment, m.s.Len()), table: m.retained}
	for _, x := range m.dims {
		p.load = append(p.load, slices.Clone(x.background))
	}
	if m.o.Objective == planner.MinImbalance {
		p.allowance = MigrationAllowance(m.s, m.o)
	}
	var units []loose
	for i := range p.a {
		live := m.openTo(i)
		p.a[i] = make([]int64, len(m.s.Instances))
		u := loose{item: i, size: m.size(i), state: state(m.s, i), must: m.leaves(i), hot: m.isHot(i)}
		u.weight = u.state + m.o.KeyOverhead
		n := count(m.s, i) - int64(len(m.hotUnits[i]))
		if u.must {
			p.move(u, count(m.s, i))
		}
		for _, d := range m.hotUnits[i] {
			p.put(u, d)
		}
		if at := slices.Index(live, int(m.s.Current[i])); at >= 0 {
			u.places = slices.Concat(live[at:], live[:at])
		} else {
			u.places = live
		}
		for range n {
			units = append(units, u)
		}
	}
	slices.SortStableFunc(units, func(x, y loose) int { return cmp.Compare(y.size, x.size) })
	return p, units
}

func (p *partial) put(u loose, d int) {
	p.a[u.item][d]++
	for r, x := range p.m.dims {
		if !u.hot {
			p.load[r][d] += x.amount[u.item]
		}
	}
	if d != int(p.m.s.Hash[u.item]) {
		p.table++
	}
	if d != int(p.m.s.Current[u.item]) && !u.must {
		p.move(u, 1)
	}
}

func (p *partial) move(u loose, units int64) {
	p.objective += float64(units) * u.weight
	p.state += float64(units) * u.state
	p.moves += units
}

// worse reports whether every completion of p has a greater score.
func (p *partial) worse(than Score) bool {
	violated, excess := p.overloads()
	tableExcess := p.tableExcess()
	if tableExcess > 0 {
		violated++
	}
	least := Score{Excess: excess, TableExcess: tableExcess}
	p.m.breach(&least)
	switch {
	case least.Broken != than.Broken:
		return least.Broken > than.Broken
	case least.Worst != than.Worst:
		return least.Worst > than.Worst
	case violated != than.Violated:
		return violated > than.Violated
	case than.Excess > 0 || excess > 0:
		return excess > than.Excess+slack*(1+excess) && compareExcess(excess, than.Excess) != 0
	case tableExcess != than.TableExcess:
		return tableExcess > than.TableExcess
	}
	return p.objective > than.Objective*(1+slack)
}

// overloads counts the bounds that instances are clearly above, and says by
// how much at most, relative to it.
func (p *partial) overloads() (violated int, excess float64) {
	for r, x := range p.m.dims {
		for d, l := range p.load[r] {
			if p.m.s.Instances[d].Live() && !fits(l, x.bound[d]*(1+slack)) {
				violated++
				excess = max(excess, l/x.bound[d]-1)
			}
		}
	}
	return violated, excess
}

// takesTooMuch reports whether an instance is above its bound, or clearly, in a resource beside cost.
func (p *partial) takesTooMuch(slack float64) bool {
	for r, x := range p.m.dims[1:] {
		for _, d := range p.m.live() {
			if !fits(p.load[r+1][d], x.bound[d]*(1+slack)) {
				return true
			}
		}
	}
	return false
}

func (p *partial) tableExcess() int64 {
	if p.m.o.TableLimit == nil {
		return 0
	}
	return max(0, p.table-*p.m.o.TableLimit)
}

// level is the greatest of a dimension, from 0 up.
func (p *partial) level(r int) float64 {
	level := 0.0
	for d, l := range p.load[r] {
		if p.m.s.Instances[d].Live() {
			level = max(level, p.m.dims[r].level(d, l))
		}
	}
	return level
}

func (p *partial) theta() float64 { return p.level(0) }

func (p *partial) movesTooMuch() bool { return !fits(p.migrated(), p.allowance*(1+slack)) }

// migrated is in the unit of [Migrated].
func (p *partial) migrated() float64 {
	if p.m.o.MigrationLimit.Unit == planner.MigrationKeys {
		return float64(p.moves)
	}
	return p.state
}
