package assign

import (
	"math"
	"slices"

	"plannerd/internal/exact"
)

// Resource is something beside cost that items take on instances.
type Resource struct {
	Amount   []float64 // of each item
	Limited  bool      // what an instance has of it is absolute; else it divides fair loads
	ThetaMax float64   // the tolerance over these
	Whole    bool      // each part of a key that is divided takes all that the key takes; else its share of that
	Unplaced float64   // as Items.Unplaced is of cost
}

// Stock is what an instance has of a resource, and what those keys take that no item stands for. Repeated is what
// parts of divided keys take besides: it is no part of all that is taken.
type Stock struct{ Capacity, Taken, Repeated float64 }

// setByResource makes a problem of each resource alone, cost first. They share the hot keys, which
// stand where the whole problem has placed them, and know nothing of the other resources.
func (p *Problem) setByResource() {
	if len(p.Items.Resources) == 0 {
		return
	}
	s := *p.Items
	s.Resources = nil
	cost := *p
	cost.Items, cost.fixed = &s, true
	p.ByResource = []*Problem{&cost}
	for r, of := range p.Items.Resources {
		items, sites, goal := s, slices.Clone(p.Instances), p.Goal
		items.Cost, items.Unplaced, goal.ThetaMax, goal.ThetaMin = of.Amount, of.Unplaced, of.ThetaMax, nil
		for d := range sites {
			x := &sites[d]
			stock := Stock{Capacity: 1}
			if x.Resources != nil {
				stock = x.Resources[r]
			}
			x.Capacity, x.Cost, x.Merging = stock.Capacity, stock.Taken, stock.Repeated
			x.Resources, x.Filling = nil, false
		}
		q := &Problem{Items: &items, Instances: sites, Retained: p.Retained, Goal: goal, Meter: p.Meter, fixed: true}
		items.State = nil // what there is of it is known
		q.measure()
		q.sumUp()
		items.State, q.State, q.TotalState = s.State, p.State, p.TotalState
		q.UnitState, q.mostState = p.UnitState, p.mostState
		q.setOpen()
		q.setBounds()
		if of.Limited {
			q.limitTo()
		}
		p.ByResource = append(p.ByResource, q)
	}
	p.setSizes()
	p.placeHotOfAll()
	p.setOverload()
}

// overloadRises is more than there are kinds of constraints.
const overloadRises = 4

// Rank sets what comes first in a score where there are several resources; others are the constraints but those of
// loads that are not met.
func (p *Problem) Rank(x *Score, others int) {
	switch {
	case p.ByResource == nil:
	case compareExcess(x.Excess, p.overload) > 0:
		x.Broken, x.Worst = overloadRises, float32(1+x.Excess)
	case x.Excess > 0:
		x.Broken, x.Worst = 1+others, float32(1+x.Excess)
	default:
		x.Broken, x.Worst = others, 0
	}
}

// setOverload finds the largest relative excess if nothing but hot keys moves; +∞ if keys have to leave.
func (p *Problem) setOverload() {
	loads := make([][]int64, len(p.ByResource))
	for r, q := range p.ByResource {
		loads[r] = slices.Clone(q.Before)
		for _, h := range p.Hot {
			loads[r][p.Items.Current[h.Item]] -= q.AmountOf(h.Item)
			loads[r][h.To] += q.AmountOf(h.Item)
		}
	}
	p.overload = p.excessOf(loads)
	for d, live := range p.IsLive {
		if !live && p.NamedOn[d] > 0 {
			p.overload = math.Inf(1)
		}
	}
}

// excessOf is the largest relative excess of loads over b_d in any resource that has bounds.
func (p *Problem) excessOf(loads [][]int64) (excess float64) {
	for r, q := range p.ByResource {
		for _, d := range p.Live {
			if loads[r][d] > q.Limit[d] && (r > 0 || !p.Goal.Imbalance) {
				excess = max(excess, Relative(float64(loads[r][d]), q.Bound[d]))
			}
		}
	}
	return excess
}

// Standing moves nothing but hot keys. Nil: others have to leave where they are.
func (p *Problem) Standing() *Assignment {
	if math.IsInf(p.overload, 1) {
		return nil
	}
	return NewAssignment(p)
}

// NoWorse is the assignment, or where of several resources the greatest overload would rise, the standing one.
func (a *Assignment) NoWorse() *Assignment {
	if p := a.Problem; p.ByResource != nil && compareExcess(p.excessOf(a.Loads), p.overload) > 0 {
		return p.Standing()
	}
	return a
}

// with is a problem of one resource with other items of the same amounts, under the same bounds.
func (p *Problem) with(s *Items, sites []Instance, g Goal) *Problem {
	q := &Problem{Items: s, Instances: sites, Retained: p.Retained, Goal: g, Meter: p.Meter, fixed: true}
	q.measure()
	q.sumUp()
	q.setOpen()
	q.Fair, q.Maximum, q.Bound, q.Limit = p.Fair, p.Maximum, p.Bound, p.Limit
	q.Hot, q.hot, q.Pinned = p.Hot, p.hot, p.Pinned
	return q
}

// limitTo has capacities be bounds.
func (p *Problem) limitTo() {
	p.Goal.ThetaMax = 0
	for _, d := range p.Live {
		capacity := p.Cost.Scaled(p.Instances[d].Capacity)
		p.Fair[d], p.Bound[d], p.Maximum[d] = capacity, capacity, exact.AtMost(capacity)
	}
}

// Without is the problem as if a set of resources had no bounds, and the table no limit unless it counts. It spends no
// budget.
func (p *Problem) Without(resources uint8, table bool) *Problem {
	s, sites, g := *p.Items, slices.Clone(p.Instances), p.Goal
	g.Effort, g.ThetaMin = Fast, nil
	if !table {
		g.TableLimit = nil
	}
	if resources&1 == 1 {
		for _, d := range p.Live {
			if p.Fair[d] > 0 {
				g.ThetaMax = max(g.ThetaMax, 2*float64(p.Total)/p.Fair[d])
			}
		}
		g.AnyCost = true
	}
	s.Resources = remaining(s.Resources, resources)
	for d := range sites {
		sites[d].Resources = remaining(sites[d].Resources, resources)
	}
	return NewProblem(&s, sites, p.Retained, g, &Meter{Stop: p.Meter.Stop})
}

// WithoutTable is a problem of one resource as if the table had no limit.
func (p *Problem) WithoutTable() *Problem {
	q := *p
	q.Goal.TableLimit, q.Meter = nil, &Meter{Stop: p.Meter.Stop}
	return &q
}

// remaining are those of a list, the first of which is of the second resource, that a set does not have.
func remaining[T any](list []T, resources uint8) (left []T) {
	for i, x := range list {
		if resources>>(i+1)&1 == 0 {
			left = append(left, x)
		}
	}
	return left
}

// setSizes sets by item its greatest share of all of a resource.
func (p *Problem) setSizes() {
	p.Size = make([]float64, p.Items.Len())
	InParts(len(p.Size), func(_, from, to int) {
		for i := from; i < to; i++ {
			p.Size[i] = p.SizeIn(int32(i), math.MaxUint8)
		}
	})
}

// SizeIn is the greatest share of an item of all of one of a set of resources.
func (p *Problem) SizeIn(item int32, resources uint8) (size float64) {
	for r, q := range p.ByResource {
		if resources>>r&1 == 1 && q.Total > 0 {
			size = max(size, float64(q.AmountOf(item))/float64(q.Total))
		}
	}
	return size
}

// AmountOf is what a unit of an item takes, in fixed point, of what the problem is about: cost, or
// a resource.
func (p *Problem) AmountOf(item int32) int64 { return p.Cost.Fixed(p.Items.Cost[item]) }

// placeHotOfAll is placeHot where there are several resources: an item is hot if no instance that is
// open to it carries it alone within all bounds.
func (p *Problem) placeHotOfAll() {
	background := make([][]int64, len(p.ByResource))
	for r, q := range p.ByResource {
		background[r] = slices.Clone(q.Residual)
	}
	p.hot, p.Hot, p.Pinned = make([]bool, p.Items.Len()), nil, 0
	copy(p.hot, p.Items.Divided)
	place := func(i, to int32) {
		p.hot[i] = true
		p.Hot = append(p.Hot, share{i, to, 1})
		for r, q := range p.ByResource {
			background[r][to] += q.AmountOf(i)
		}
	}
	var hot []int32
	for _, i := range p.pinnedOrHot() {
		if p.Items.Rules != nil && p.Items.Rules.isPinned(int(i)) {
			place(i, p.Items.Current[i])
		} else {
			hot = append(hot, i)
		}
	}
	p.Pinned = len(p.Hot)
	slices.SortFunc(hot, p.Larger)
	for _, i := range hot {
		place(i, p.leastFilledBy(i, background))
	}
	for r, q := range p.ByResource {
		q.Hot, q.hot, q.Pinned = p.Hot, p.hot, p.Pinned
		q.raiseBounds(background[r])
	}
}

// pinnedOrHot are the items that are placed before all others. Most fit on any instance.
func (p *Problem) pinnedOrHot() []int32 {
	least := make([]int64, len(p.ByResource))
	for r, q := range p.ByResource {
		least[r] = math.MaxInt64
		for _, d := range p.Live {
			least[r] = min(least[r], q.Maximum[d]-q.Residual[d])
		}
	}
	return Collect(p.Items.Len(), func(from, to int) (list []int32) {
		for i := int32(from); i < int32(to); i++ {
			anywhere := true
			for r, q := range p.ByResource {
				anywhere = anywhere && q.AmountOf(i) <= least[r]
			}
			if p.Items.Rules != nil && p.Items.Rules.isPinned(int(i)) || !anywhere && p.fitsNowhere(i) {
				list = append(list, i)
			}
		}
		return list
	})
}

// leastFilledBy is the instance whose fullest resource is emptiest with a hot item on it. Ties: its current one, its
// hash instance, the lower id.
func (p *Problem) leastFilledBy(item int32, background [][]int64) int32 {
	rate := func(d int32) (x float64) {
		for r, q := range p.ByResource {
			if r > 0 || !p.anyCost() {
				x = max(x, q.Filling(d, background[r][d]+q.AmountOf(item)))
			}
		}
		return x
	}
	to, least := None, math.Inf(1)
	for _, d := range p.OpenTo(item) {
		if x := rate(d); to == None || x < least {
			to, least = d, x
		}
	}
	for _, d := range [2]int32{p.Items.Current[item], p.Items.Home[item]} {
		if p.IsOpen(item, d) && rate(d) <= least {
			return d
		}
	}
	return to
}

func (p *Problem) anyCost() bool { return p.Goal.Imbalance || p.Goal.AnyCost }

// fitsNowhere reports whether no instance that is open to an item has room for it alone. Where
// the goal is the least θ of cost, only other resources decide that.
func (p *Problem) fitsNowhere(i int32) bool {
	on := p.OpenTo(i)
	return len(on) > 0 && !slices.ContainsFunc(on, func(d int32) bool {
		for r, q := range p.ByResource {
			if (r > 0 || !p.anyCost()) && !q.HasRoom(i, d) {
				return false
			}
		}
		return true
	})
}

// Each are the problems of one resource each, that of cost first: where there are no others, that is p.
func (p *Problem) Each() []*Problem {
	if p.ByResource == nil {
		return []*Problem{p}
	}
	return p.ByResource
}

// HasRoom reports whether an instance carries an item beside what no item stands for, within its share. What
// takes nothing has room everywhere.
func (p *Problem) HasRoom(item, d int32) bool {
	amount := p.AmountOf(item)
	return amount == 0 || amount <= p.Maximum[d]-p.Residual[d]
}

// Larger orders items by descending size.
func (p *Problem) Larger(a, b int32) int {
	switch x, y := p.Size[a], p.Size[b]; {
	case x > y:
		return -1
	case x < y:
		return 1
	}
	return p.Items.Compare(a, b)
}

// Filling is a load relative to its bound.
func (p *Problem) Filling(d int32, load int64) float64 {
	if load == 0 {
		return 0
	}
	return float64(load) / p.Bound[d]
}

// Filling is the greatest part of its bounds that an instance carries.
func (a *Assignment) Filling(d int32) float64 {
	x := 0.0
	for r, q := range a.Problem.ByResource {
		x = max(x, q.Filling(d, a.Loads[r][d]))
	}
	return x
}

// FillingWith is the greatest part of its bounds that an instance carries with an item that is not there.
func (a *Assignment) FillingWith(item, d int32) float64 {
	x := 0.0
	for r, q := range a.Problem.ByResource {
		x = max(x, q.Filling(d, a.Loads[r][d]+q.AmountOf(item)))
	}
	return x
}

// Fits reports whether an instance has room for an item in all resources but cost, beside what it
// carries less what another item takes that leaves it, unless that is None.
func (a *Assignment) Fits(item, d, without int32) bool {
	if a.Loads == nil {
		return true
	}
	for r, q := range a.Problem.ByResource[1:] {
		load := a.Loads[r+1][d] + q.AmountOf(item)
		if without != None {
			load -= q.AmountOf(without)
		}
		if load > q.Limit[d] {
			return false
		}
	}
	return true
}

// Needs are, by resource and instance, the least that has to leave the instance before one of some items can be there
// that are elsewhere now. Nil: there is cost alone.
type Needs [][]int64

// NoNeeds are those of no items.
func (a *Assignment) NoNeeds() Needs {
	var n Needs
	for _, q := range a.Problem.ByResource {
		n = append(n, slices.Clone(q.Limit))
	}
	return n
}

// Add takes an item into account that could be on an instance.
func (n Needs) Add(a *Assignment, item, d int32) {
	for r := range n {
		q := a.Problem.ByResource[r]
		n[r][d] = min(n[r][d], a.Loads[r][d]+q.AmountOf(item)-q.Limit[d])
	}
}

// Covered reports whether enough leaves an instance with an item.
func (n Needs) Covered(p *Problem, item, d int32) bool {
	for r := range n {
		if n[r][d] > 0 && p.ByResource[r].AmountOf(item) < n[r][d] {
			return false
		}
	}
	return true
}

// Exceeded calls note for each resource, cost included, in which an instance carries more than its limit, and says
// by how much.
func (a *Assignment) Exceeded(d int32, note func(resource int, by int64)) {
	for r, q := range a.Problem.ByResource {
		if by := a.Loads[r][d] - q.Limit[d]; by > 0 {
			note(r, by)
		}
	}
}

// Relieves reports whether some resource of an instance lacks as much as an item takes of it, or more.
func (a *Assignment) Relieves(item, d int32) (some bool) {
	a.Exceeded(d, func(r int, by int64) {
		amount := a.Problem.ByResource[r].AmountOf(item)
		some = some || amount > 0 && amount <= by
	})
	return some
}

// setLoads has an assignment count the other resources, too.
func (a *Assignment) setLoads() {
	p := a.Problem
	if p.ByResource == nil {
		return
	}
	a.Loads = make([][]int64, len(p.ByResource))
	a.Loads[0] = a.Load
	for r, q := range p.ByResource[1:] {
		a.Loads[r+1] = slices.Clone(q.Before)
	}
}

// shiftLoads moves what an item takes beside cost.
func (a *Assignment) shiftLoads(item, from, to int32) {
	for r, q := range a.Problem.ByResource[1:] {
		amount := q.AmountOf(item)
		if from != Nowhere {
			a.Loads[r+1][from] -= amount
		}
		if to != Nowhere {
			a.Loads[r+1][to] += amount
		}
	}
}
