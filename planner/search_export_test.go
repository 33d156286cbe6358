package planner

import (
	"cmp"
	"slices"
)

// Improve runs the local search on a start of the given name and returns the
// plans before and after.
func Improve(s *Snapshot, o Options, start string, priced bool, effort int64) (before, after *Plan, err error) {
	budget := o.WorkBudget
	o.WorkBudget = 0
	p, err := newProblem(s, o)
	if err != nil {
		return nil, nil, err
	}
	var y *prices
	var a *assignment
	if f := p.prove(CertificateFast); priced && !f.infeasible() {
		y = &f.nodes[0].y
		if start == "round" {
			a = p.round(f.x, &f.nodes[0])
		}
	}
	if a == nil {
		a = searchStart(p, start)
	}
	p.o.Certificate = CertificateOff
	before = p.finish(start, a)
	p.meter = meter{budget: budget, stop: o.Stop}
	p.improve(a, nil, y, effort)
	return before, p.finish("search", a), nil
}

// searchStart makes an assignment to improve: F with all drained keys sent home,
// the hash assignment, the plan of a strategy, or on each overloaded instance
// the keys of least state per cost moved to the most room.
func searchStart(p *problem, name string) *assignment {
	switch name {
	case "mixed":
		return mixed(p)
	case "mintable":
		return minTable(p)
	}
	a := newAssignment(p)
	list, _ := a.movable()
	slices.SortFunc(list, func(x, y int32) int {
		wx, wy := p.weight(a.item(x)), p.weight(a.item(y))
		cx, cy := float64(a.unitCost(x)), float64(a.unitCost(y))
		return cmp.Or(cmp.Compare(wx*cy, wy*cx), p.s.Keys.compare(a.item(x), a.item(y)))
	})
	for _, k := range list {
		d := a.at[k]
		switch {
		case name == "home" || p.s.Instances[d].Drained:
			a.move(k, a.hash(k))
		case name == "greedy" && a.load[d] > p.limit[d]:
			a.move(k, slices.MaxFunc(p.live, func(x, y int32) int {
				return cmp.Or(cmp.Compare(p.limit[x]-a.load[x], p.limit[y]-a.load[y]), cmp.Compare(y, x))
			}))
		}
	}
	return a
}
