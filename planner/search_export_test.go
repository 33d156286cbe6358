package planner

import (
	"cmp"
	"slices"

	"plannerd/planner/internal/assign"
	"plannerd/planner/internal/bound"
	"plannerd/planner/internal/optimal"
	"plannerd/planner/internal/relaxation"
	"plannerd/planner/internal/search"
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
	o.Certificate = CertificateOff
	x, err := prepare(s, o)
	if err != nil {
		return nil, nil, err
	}
	p := x.p
	if p.Settled() {
		before = x.unmoved("start")
		return before, before, nil
	}
	*p.Meter = assign.Meter{}
	var a *assign.Assignment
	var y *relaxation.Prices
	if f := bound.NewProof(p, bound.Quick); !f.Infeasible() {
		if l.Priced {
			y = &f.Y
		}
		if l.Start == "round" {
			a = optimal.Round(p, f.Relaxation, &f.Y)
		}
	}
	if a == nil {
		a = searchStart(p, o, l.Start)
	}
	before = x.finish("start", a, bound.Evidence{})
	*p.Meter = assign.Meter{Budget: o.WorkBudget, Stop: o.Stop}
	search.Improve(p, a, l.Core, y, search.Effort{Evaluations: l.Effort})
	return before, x.finish("search", a, bound.Evidence{}), nil
}

func searchStart(p *assign.Problem, o Options, name string) *assign.Assignment {
	if name == "mixed" {
		return mixed(p, o)
	}
	a := assign.NewAssignment(p)
	list, _ := a.Movable()
	slices.SortFunc(list, func(x, y int32) int {
		wx, wy := p.Weight(a.Item(x)), p.Weight(a.Item(y))
		cx, cy := float64(a.UnitCost(x)), float64(a.UnitCost(y))
		return cmp.Or(cmp.Compare(wx*cy, wy*cx), p.Items.Compare(a.Item(x), a.Item(y)))
	})
	for _, k := range list {
		switch d := a.At[k]; {
		case !p.IsLive[d] && !p.IsLive[a.Hash(k)]:
			a.Move(k, p.Live[0])
		case (name == "home" || !p.IsLive[d]) && p.IsLive[a.Hash(k)]:
			a.Move(k, a.Hash(k))
		case name == "greedy" && a.Load[d] > p.Limit[d]:
			a.Move(k, slices.MaxFunc(p.Live, func(x, y int32) int {
				return cmp.Or(cmp.Compare(p.Limit[x]-a.Load[x], p.Limit[y]-a.Load[y]), cmp.Compare(y, x))
			}))
		}
	}
	return a
}
