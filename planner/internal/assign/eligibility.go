package assign

import (
	"math"
	"slices"

	"plannerd/internal/exact"
)

// Eligibility tells on which instances items may be. An item that is elsewhere has to be on
// an instance that is not live, so that it leaves, and one whose home is closed to it has a
// home that is not live, so that it never goes there.
type Eligibility struct {
	Class  []int32  // by item
	Open   [][]bool // by class and instance: whether items of the class may be on it
	Pinned []bool   // by item: it stays where it is. Nil: none does.
}

// Of are the rules for some of the items.
func (e *Eligibility) Of(rows []int32) *Eligibility {
	if e == nil {
		return nil
	}
	f := &Eligibility{Class: make([]int32, len(rows)), Open: e.Open}
	if e.Pinned != nil {
		f.Pinned = make([]bool, len(rows))
	}
	for j, i := range rows {
		f.Class[j] = e.Class[i]
		if e.Pinned != nil {
			f.Pinned[j] = e.Pinned[i]
		}
	}
	return f
}

func (e *Eligibility) isPinned(item int) bool { return e.Pinned != nil && e.Pinned[item] }

// OpenTo are the live instances on which an item may be, ascending.
func (p *Problem) OpenTo(item int32) []int32 {
	if p.Items.Rules == nil {
		return p.Live
	}
	return p.open[p.Items.Rules.Class[item]]
}

// IsOpen reports whether an item may be on an instance.
func (p *Problem) IsOpen(item, d int32) bool {
	e := p.Items.Rules
	return p.IsLive[d] && (e == nil || e.Open[e.Class[item]][d])
}

// setOpen lists the live instances of each class.
func (p *Problem) setOpen() {
	e := p.Items.Rules
	if e == nil {
		return
	}
	p.open = make([][]int32, len(e.Open))
	for class, open := range e.Open {
		for _, d := range p.Live {
			if open[d] {
				p.open[class] = append(p.open[class], d)
			}
		}
	}
}

// placeHotByRule is placeHot under rules: an item is hot if no instance that is open to it can
// carry it, and a pinned one is placed where it is before all others.
func (p *Problem) placeHotByRule() []int64 {
	e, background := p.Items.Rules, slices.Clone(p.Residual)
	p.hot = make([]bool, p.Items.Len())
	most := make([]int64, len(p.open))
	for class, open := range p.open {
		for _, d := range open {
			most[class] = max(most[class], p.hotMost(d))
		}
	}
	var hot []int32
	for i, c := range p.Items.Cost {
		switch cost := p.Cost.Fixed(c); {
		case e.isPinned(i):
			p.hot[i] = true
			p.Hot = append(p.Hot, share{int32(i), p.Items.Current[i], 1})
			background[p.Items.Current[i]] += cost
		case cost > most[e.Class[i]] && len(p.open[e.Class[i]]) > 0:
			hot = append(hot, int32(i))
		}
	}
	p.Pinned = len(p.Hot)
	slices.SortFunc(hot, p.Items.HeavierFirst)
	for _, i := range hot {
		to, least, cost := None, math.Inf(1), p.Cost.Fixed(p.Items.Cost[i])
		for _, d := range p.OpenTo(i) {
			if x := p.Rate(d, background[d]+cost); x < least {
				to, least = d, x
			}
		}
		for _, d := range [2]int32{p.Items.Current[i], p.Items.Home[i]} {
			if p.IsOpen(i, d) && p.Rate(d, background[d]+cost) <= least {
				to = d
				break
			}
		}
		p.hot[i] = true
		p.Hot = append(p.Hot, share{i, to, 1})
		background[to] += cost
	}
	return background
}

// hotMost is the greatest cost of a key that an instance can carry within its share.
func (p *Problem) hotMost(d int32) int64 {
	if p.Goal.Imbalance {
		return math.MaxInt64
	}
	return p.Maximum[d] - p.Residual[d]
}

// evenLoads are the loads of the most even division that the rules allow if keys were
// divisible: the greatest load per capacity is as small as it can be, then the next one, and so
// on. Pinned keys and those that no item stands for stay where they are.
func (p *Problem) evenLoads() []float64 {
	e, n := p.Items.Rules, len(p.Instances)
	demand, on := make([]float64, len(e.Open)), make([]float64, n)
	loads := make([]int64, len(e.Open)+n) // of the classes, then what stays on instances
	for i, c := range p.Items.Cost {
		at := int(e.Class[i])
		if e.isPinned(i) {
			at = len(e.Open) + int(p.Items.Current[i])
		}
		loads[at] += p.Cost.Fixed(c)
	}
	for class := range e.Open {
		demand[class] = float64(loads[class])
	}
	for d := range on {
		on[d] = float64(loads[len(e.Open)+d] + p.Residual[d])
	}
	return leximin(p.flowClasses(demand, on), p.capacitiesOf(), n)
}

func (p *Problem) capacitiesOf() []float64 {
	list := make([]float64, len(p.Instances))
	for _, d := range p.Live {
		list[d] = p.Instances[d].Capacity
	}
	return list
}

// flowClasses are the classes that have any load; what stays on an instance is one.
func (p *Problem) flowClasses(demand, on []float64) []flowClass {
	var list []flowClass
	for class, x := range demand {
		if x > 0 && len(p.open[class]) > 0 {
			list = append(list, flowClass{x, p.open[class]})
		}
	}
	gone := 0.0 // what no item stands for on instances that are not live may go anywhere
	for d, x := range on {
		switch {
		case !p.IsLive[d]:
			gone += x
		case x > 0:
			list = append(list, flowClass{x, []int32{int32(d)}})
		}
	}
	if gone > 0 {
		list = append(list, flowClass{gone, p.Live})
	}
	return list
}

// setBoundsByRule sets fair loads and what follows from them.
func (p *Problem) setBoundsByRule() {
	even := p.evenLoads()
	for _, d := range p.Live {
		p.Fair[d] = even[d]
		p.Bound[d] = (1 + p.Goal.ThetaMax) * p.Fair[d]
		p.Maximum[d] = exact.AtMost(p.Bound[d])
	}
}
