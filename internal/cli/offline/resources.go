package offline

import (
	"cmp"
	"fmt"
	"strings"

	"plannerd/internal/cli"
	"plannerd/internal/resources"
	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// resourcesOf are the figures of a plan in each resource; nil: cost is all that counts.
func resourcesOf(p *planner.Plan) *resources.Figures {
	if len(p.Snapshot.Resources) == 0 {
		return nil
	}
	return resources.Of(p, "cost")
}

// withResources adds them to a result.
func withResources(out *Result, p *planner.Plan) {
	if f := resourcesOf(p); f != nil {
		out.Resources = new(recast[wire.PlanResources](f.Resources))
		if f.Decides != "" {
			out.Decides = &f.Decides
		}
	}
}

// resourceText says in which resources beside cost instances stay above their bounds.
func resourceText(p *planner.Plan) string {
	var b strings.Builder
	for i, f := range p.Resources {
		r, at := p.Snapshot.Resources[i], instanceText(p.Snapshot, f.Worst)
		switch {
		case f.Balanced:
		case r.Limited:
			fmt.Fprintf(&b, " %s takes %s of its %s.", at, level(f.Level.After), r.Name)
		default:
			fmt.Fprintf(&b, " In %s, %s is %s above its fair load, and %s is allowed.", r.Name, at, level(f.Level.After),
				level(r.ThetaMax))
		}
	}
	return b.String()
}

// level writes a part of a capacity, or of a fair load.
func level(x float64) string {
	if x >= planner.MaxAmount {
		return "∞"
	}
	return cli.Percent(x)
}

// least writes what a resource comes to at least, which may be hardly more than its limit.
func least(u planner.Unmet) string {
	if text := level(u.AtLeast); text != level(u.Limit) {
		return "at least " + text
	}
	return "more than " + level(u.Limit)
}

// writeResources prints a line for each resource.
func writeResources(w *cli.Page, p *planner.Plan) {
	f := resourcesOf(p)
	if f == nil {
		return
	}
	fmt.Fprint(w, "\nResources: how much of a capacity is taken, or how far an instance is above its fair load\n\n")
	cli.WriteList(w, f.Resources, "resource = name | at most = bound right | before right | after right"+
		" | busiest after = at",
		func(i int) cli.More {
			r, bound := f.Resources[i], 1.0
			if r.ThetaMax != nil {
				bound = *r.ThetaMax
			}
			return cli.More{"bound": level(bound), "before": level(r.Level.Before), "after": level(r.Level.After),
				"at": cmp.Or(r.Worst.Name, cli.ID(r.Worst.ID))}
		})
}
