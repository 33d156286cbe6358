package propose

import (
	"fmt"
	"slices"
	"strings"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/planner"
	"plannerd/store"
)

// waitsFor tells why a plan that is to be carried out waits for approval; nil: it is
// approved.
func waitsFor(c operator.ApprovalRule, o outcome) []figures.WaitReason {
	var out []figures.WaitReason
	if o.small {
		out = append(out, figures.WaitSmall)
	}
	switch c.Approval.Auto {
	case operator.AutoAlways:
		return out
	case operator.AutoNever:
		out = append(out, figures.WaitApproval)
	}
	if !o.TableWithinLimit && o.TableAfter >= o.TableBefore {
		out = append(out, figures.WaitTableLimit)
	}
	out = append(out, breaks(c, o.Plan)...)
	if c.Approval.MaxMigration != nil && slices.Contains(o.Causes, figures.CauseQueues) { // nobody knows what it moves
		out = append(out, figures.WaitMaxMigration)
	}
	return out
}

// breaks tells which limits a plan breaks, as far as its statistics tell.
func breaks(c operator.ApprovalRule, p *planner.Plan) []figures.WaitReason {
	out := []figures.WaitReason{}
	// Where nobody carried anything before there is nothing that could get worse.
	carried := slices.ContainsFunc(p.Instances, func(l planner.Load) bool { return l.Before > 0 })
	if !p.Balanced && carried && worse(p) {
		out = append(out, figures.WaitThetaWorse)
	}
	if m := c.Approval.MaxMigration; m != nil && moreThan(*m, p.Migration) {
		out = append(out, figures.WaitMaxMigration)
	}
	return out
}

// worse tells whether a plan that is not balanced is further above a bound than before, and than hot keys
// force.
func worse(p *planner.Plan) bool {
	allowed := func(level planner.Comparison, resource string) float64 {
		most := level.Before
		for _, h := range p.HotKeys {
			if h.Resource == resource {
				most = max(most, h.ForcedTheta)
			}
		}
		return most
	}
	for i, r := range p.Resources {
		if !r.Balanced && r.Level.After > allowed(r.Level, p.Snapshot.Resources[i].Name) {
			return true
		}
	}
	within := p.Resources != nil && p.Theta.After <= p.Options.ThetaMax // another bound is broken
	return !within && p.Theta.After > allowed(p.Theta, "")
}

// moreThan tells whether a plan moves more than a limit.
func moreThan(limit parameters.MigrationLimit, m planner.Migration) bool {
	return limit.State != nil && m.State > *limit.State || limit.Fraction != nil && m.Fraction > *limit.Fraction ||
		limit.Keys != nil && m.Keys > *limit.Keys
}

// LimitsHaveChanged tells whether a plan is approved, and newer statistics say that it
// breaks limits which nobody has agreed to.
func LimitsHaveChanged(p store.Plan) bool { return p.Status == store.StatusApproved && p.LimitsChanged }

// LimitsHold refuses to carry such a plan out.
func LimitsHold(p store.Plan) error {
	if !LimitsHaveChanged(p) {
		return nil
	}
	latest, err := figures.LatestOf(p)
	if err != nil {
		return err
	}
	return refusal.New(refusal.LimitsChanged,
		fmt.Sprintf("Under the statistics of interval %d the plan breaks limits: %s. "+
			"An approver can approve it again, or the next statistics may lead to another plan.",
			latest.Interval, strings.Join(latest.Breaks, ", ")))
}

// breaksBeyond tells which limits a plan breaks by more than somebody agreed to, as far as
// its statistics tell.
func breaksBeyond(c operator.ApprovalRule, a figures.Agreement, p *planner.Plan) []figures.WaitReason {
	return slices.DeleteFunc(breaks(c, p), func(r figures.WaitReason) bool {
		if r == figures.WaitThetaWorse {
			return a.Theta != nil && p.Theta.After <= *a.Theta
		}
		limit, m := *c.Approval.MaxMigration, a.Migration
		if m == nil {
			return false
		}
		switch {
		case limit.Keys != nil:
			limit.Keys = &m.Keys
		case limit.State != nil:
			limit.State = &m.State
		default:
			limit.Fraction = &m.Fraction
		}
		return !moreThan(limit, p.Migration)
	})
}
