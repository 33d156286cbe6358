package offline

import (
	"fmt"
	"strings"

	"plannerd/internal/cli"
	"plannerd/planner"
)

// certificateText says in sentences what is proven of a plan; "" when nothing is.
func certificateText(p *planner.Plan) string {
	c := p.Certificate
	if c == nil {
		return ""
	}
	var s []string
	switch {
	case c.Infeasible:
		s = append(s, "Proven: no plan meets all limits.")
	case c.LowerBound == 0 && c.Gap == nil:
		s = append(s, "No lower bound above 0 is proven.")
	default:
		s = append(s, "Proven: "+boundText(p))
	}
	for i, u := range c.Unmet {
		begin := "With the other limits kept, "
		if i > 0 {
			begin = "Likewise, "
		}
		s = append(s, begin+unmetText(p.Options, u)+".")
	}
	return strings.Join(s, " ")
}

// boundText says how far the plan is from the best there can be.
func boundText(p *planner.Plan) string {
	c := p.Certificate
	var all, this string
	switch {
	case p.Options.Objective == planner.MinImbalance:
		all, this = "has a θ of at least "+cli.Theta(c.LowerBound), "this one has "+cli.Theta(p.Theta.After)
	case p.Options.KeyOverhead > 0:
		all, this = "costs at least "+cli.SI(c.LowerBound)+", state and overhead",
			"this one costs "+cli.SI(p.Migration.Objective)
	default:
		all, this = "moves at least "+cli.SI(c.LowerBound)+" of state", "this one moves "+cli.SI(p.Migration.State)
	}
	switch {
	case c.Gap == nil:
		return "any plan within all limits " + all + "."
	case *c.Gap <= 0:
		return "no plan within all limits does better than this one."
	case *c.Gap > 1:
		return "any plan within all limits " + all + "; " + this + ", " + cli.SI(1+*c.Gap) + " times that."
	}
	return "any plan within all limits " + all + "; " + this + ", " + cli.Percent(*c.Gap) + " more."
}

// unmetText says what cannot be met, and by how much.
func unmetText(o planner.Options, u planner.Unmet) string {
	switch u.Constraint {
	case planner.ConstraintCapacity:
		return fmt.Sprintf("some instance takes %s of its %s", least(u), u.Resource)
	case planner.ConstraintTheta:
		if u.Resource != "" {
			return fmt.Sprintf("some instance is %s above its fair load in %s (%s is allowed)", least(u), u.Resource,
				level(u.Limit))
		}
		return fmt.Sprintf("θ is at least %s (θ_max is %v)", cli.Theta(u.AtLeast), u.Limit)
	case planner.ConstraintTable:
		return fmt.Sprintf("the routing table has at least %s (its limit is %s)", cli.Plural(int64(u.AtLeast), "entry"),
			cli.Integer(int64(u.Limit)))
	}
	unit := planner.MigrationState
	if o.MigrationLimit != nil {
		unit = o.MigrationLimit.Unit
	}
	return fmt.Sprintf("at least %s must migrate (the limit is %s)", amountText(unit, u.AtLeast, 4),
		amountText(unit, u.Limit, limitDigits))
}
