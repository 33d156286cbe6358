package planner

import (
	"cmp"
	"slices"
)

// LocalSearch is a run of the local search alone.
type LocalSearch struct {
	// Start is the assignment to improve: "F", all drained keys sent home; "home",
	// the hash assignment; "greedy", the keys of least state per cost moved off
	// overloaded instances to the most room; "round", the prices rounded; or the
	// plan of "mixed".
	Start  string
	Priced bool    // with the prices of the relaxation
	Core   []int32 // nil: all
	Effort int64
}

// Run returns the plans before and after, which are the same where there is
// nothing to do. Work is counted in between only.
func (l LocalSearch) Run(s *Snapshot, o Options) (before, after *Plan, err error) {
	p, err := newProblem(s, o)
	if err != nil {
		return nil, nil, err
	}
	p.o.Certificate = CertificateOff
	if p.settled() {
		before = p.finish("start", p.unmoved())
		return before, before, nil
	}
	p.meter = meter{}
	var a *assignment
	var y *prices
	if f := p.prove(CertificateFast); !f.infeasible() {
		if l.Priced {
			y = &f.nodes[0].y
		}
		if l.Start == "round" {
			a = p.round(f.x, &f.nodes[0])
		}
	}
	if a == nil {
		a = p.searchStart(l.Start)
	}
	before = p.finish("start", a)
	p.meter = meter{budget: o.WorkBudget, stop: o.Stop}
	p.improve(a, l.Core, y, l.Effort)
	return before, p.finish("search", a), nil
}

func (p *problem) searchStart(name string) *assignment {
	if name == "mixed" {
		return mixed(p)
	}
	a := newAssignment(p)
	list, _ := a.movable()
	slices.SortFunc(list, func(x, y int32) int {
		wx, wy := p.weight(a.item(x)), p.weight(a.item(y))
		cx, cy := float64(a.unitCost(x)), float64(a.unitCost(y))
		return cmp.Or(cmp.Compare(wx*cy, wy*cx), p.s.Keys.Compare(a.item(x), a.item(y)))
	})
	for _, k := range list {
		switch d := a.at[k]; {
		case !p.isLive[d] && !p.isLive[a.hash(k)]:
			a.move(k, p.live[0])
		case (name == "home" || !p.isLive[d]) && p.isLive[a.hash(k)]:
			a.move(k, a.hash(k))
		case name == "greedy" && a.load[d] > p.limit[d]:
			a.move(k, slices.MaxFunc(p.live, func(x, y int32) int {
				return cmp.Or(cmp.Compare(p.limit[x]-a.load[x], p.limit[y]-a.load[y]), cmp.Compare(y, x))
			}))
		}
	}
	return a
}
