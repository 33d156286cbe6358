// Package resources tells what plans do in each resource of an operator, as the service stores it and
// commands print it.
package resources

import "plannerd/planner"

// Figures are what a plan does in each resource, in JSON as the HTTP API has it.
type Figures struct {
	Resources []Resource `json:"resources,omitzero"`
	// Decides is the resource whose bound was broken most before the plan; "": none was.
	Decides string `json:"decides,omitzero"`
}

// Resource is what a plan does in one resource.
type Resource struct {
	Name     string               `json:"name"`
	From     planner.AmountSource `json:"from,omitzero"` // "": rows tell the amounts
	Limit    bool                 `json:"limit"`
	ThetaMax *float64             `json:"theta_max,omitzero"` // nil: there is a limit
	Level    planner.Comparison   `json:"level"`
	Balanced bool                 `json:"balanced"`
	Worst    Instance             `json:"worst"`
	// Instances are parallel to those of the plan.
	Instances []Load `json:"instances"`
}

// Instance is one as people call it.
type Instance struct {
	ID   int32  `json:"id"`
	Name string `json:"name,omitzero"` // "": it has none
}

// Load is what keys take of a resource on an instance, in its unit.
type Load struct {
	Instance
	Fair *float64           `json:"fair_load,omitzero"` // nil: there is a limit, or the instance was removed
	Max  float64            `json:"max_load"`
	Load planner.Comparison `json:"load"`
}

// tolerance is what loads may be above their bounds by rounding, as a part of them.
const tolerance = 1e-9

// Of are the figures of a plan. cost is what the operator calls cost; "": it has no resources, and the
// figures are nil.
func Of(p *planner.Plan, cost string) *Figures {
	if cost == "" {
		return nil
	}
	out := &Figures{Resources: []Resource{ofCost(p, cost)}}
	for i, f := range p.Resources {
		out.Resources = append(out.Resources, of(p.Snapshot, p.Snapshot.Resources[i], f))
	}
	most := 1 + tolerance
	for _, r := range out.Resources {
		if broken := r.broken(); broken > most {
			most, out.Decides = broken, r.Name
		}
	}
	return out
}

// broken is the greatest load before the plan as a part of its bound.
func (r Resource) broken() float64 {
	if r.Limit {
		return r.Level.Before
	}
	return (1 + r.Level.Before) / (1 + *r.ThetaMax)
}

// ofCost are the figures of cost, which the plan has as its own.
func ofCost(p *planner.Plan, name string) Resource {
	loads, worst, most := make([]planner.ResourceLoad, len(p.Instances)), 0, -1.0
	balanced := true
	for d, l := range p.Instances {
		loads[d] = planner.ResourceLoad{Fair: l.Fair, Max: l.Max, Before: l.Before, After: l.After}
		if l.Fair > 0 && l.After/l.Fair > most {
			worst, most = d, l.After/l.Fair
		}
		balanced = balanced && (!p.Snapshot.Instances[d].Live() || l.After <= l.Max*(1+tolerance))
	}
	return of(p.Snapshot, planner.Resource{Name: name, ThetaMax: p.Options.ThetaMax}, planner.ResourceFigures{
		Level: p.Theta, Balanced: balanced, Worst: int32(worst), Instances: loads,
	})
}

func of(s *planner.Snapshot, r planner.Resource, f planner.ResourceFigures) Resource {
	out := Resource{
		Name: r.Name, From: r.From, Limit: r.Limited,
		Level: planner.Comparison{Before: Finite(f.Level.Before), After: Finite(f.Level.After)}, Balanced: f.Balanced,
		Worst: Called(s.Instances[f.Worst]), Instances: make([]Load, len(f.Instances)),
	}
	if !r.Limited {
		out.ThetaMax = &r.ThetaMax
	}
	for d, l := range f.Instances {
		x := &out.Instances[d]
		*x = Load{Instance: Called(s.Instances[d]), Max: l.Max, Load: planner.Comparison{Before: l.Before, After: l.After}}
		if !r.Limited && s.Instances[d].Live() {
			x.Fair = &l.Fair
		}
	}
	return out
}

// Called is an instance as people call it.
func Called(d planner.Instance) Instance { return Instance{d.ID, d.Name} }

// Finite is a number as JSON can have it: [planner.MaxAmount] stands for infinitely much.
func Finite(x float64) float64 { return min(x, planner.MaxAmount) }
