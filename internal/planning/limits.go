package planning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"plannerd/internal/exact"
	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/refusal"
	"plannerd/planner"
	"plannerd/store"
)

// WaitReason is why a plan waits for a person's approval.
type WaitReason string

// The reasons. Those of limits stand for a limit that the plan breaks.
const (
	WaitApproval     WaitReason = "approval_required" // every plan of its operator waits
	WaitTableLimit   WaitReason = "table_limit"       // the table is over its limit, and no smaller than before
	WaitThetaWorse   WaitReason = "theta_worse"       // θ gets worse, and is above θ_max
	WaitMaxMigration WaitReason = "max_migration"     // it moves more than needs no approval
	WaitSmall        WaitReason = "statistics_too_small"
)

// waitsFor tells why a plan that is to be carried out waits for approval; nil: it is
// approved.
func waitsFor(c operator.ApprovalRule, o *PlanResult) []WaitReason {
	var out []WaitReason
	if o.small {
		out = append(out, WaitSmall)
	}
	switch c.Approval.Auto {
	case operator.AutoAlways:
		return out
	case operator.AutoNever:
		out = append(out, WaitApproval)
	}
	if !o.TableWithinLimit && o.TableAfter >= o.TableBefore {
		out = append(out, WaitTableLimit)
	}
	out = append(out, breaks(c, o.Plan)...)
	if c.Approval.MaxMigration != nil && slices.Contains(o.Causes, causeQueues) { // nobody knows what it moves
		out = append(out, WaitMaxMigration)
	}
	return out
}

// breaks tells which limits a plan breaks, as far as its statistics tell.
func breaks(c operator.ApprovalRule, p *planner.Plan) []WaitReason {
	out := []WaitReason{}
	allowed := p.Theta.Before
	for _, h := range p.HotKeys {
		allowed = max(allowed, h.ForcedTheta)
	}
	// Where nobody carried anything before there is nothing that could get worse.
	carried := slices.ContainsFunc(p.Instances, func(l planner.Load) bool { return l.Before > 0 })
	if !p.Balanced && carried && p.Theta.After > allowed {
		out = append(out, WaitThetaWorse)
	}
	if m := c.Approval.MaxMigration; m != nil && moreThan(*m, p.Migration) {
		out = append(out, WaitMaxMigration)
	}
	return out
}

// moreThan tells whether a plan moves more than a limit.
func moreThan(limit parameters.MigrationLimit, m planner.Migration) bool {
	return limit.State != nil && m.State > *limit.State || limit.Fraction != nil && m.Fraction > *limit.Fraction ||
		limit.Keys != nil && m.Keys > *limit.Keys
}

// forced sums up what a plan has to move: off instances that were removed, after a
// changed hash, and where the state of a key is on several instances.
func (o *PlanResult) forced() (keys int64, state float64) {
	var states []float64
	var times []int64
	add := func(reason planner.Reason, n int64, amount float64, count int64) {
		switch reason {
		case planner.ReasonDrain, planner.ReasonRehash, planner.ReasonGather, planner.ReasonTakeover:
			keys, states, times = keys+n, append(states, amount), append(times, count)
		}
	}
	switch d := o.diff.(type) {
	case ringDiff:
		for _, m := range d.Arcs {
			add(m.Reason, m.Keys, m.State, 1)
		}
	case rangesDiff:
		for _, m := range d.Moves {
			add(m.Reason, m.Keys, m.State, 1)
		}
	default:
		for _, m := range o.Moves {
			add(m.Reason, m.Count, o.Snapshot.StateOf(m), m.Count)
		}
	}
	if keys == 0 {
		return 0, 0
	}
	return keys, exact.SumsBy(1, make([]int32, len(states)), states, times)[0]
}

// LimitsHaveChanged tells whether a plan is approved, and newer statistics say that it
// breaks limits which nobody has agreed to.
func LimitsHaveChanged(p store.Plan) bool { return p.Status == store.StatusApproved && p.LimitsChanged }

// limitsHold refuses to carry such a plan out.
func limitsHold(p store.Plan) error {
	if !LimitsHaveChanged(p) {
		return nil
	}
	latest, err := latestOf(p)
	if err != nil {
		return err
	}
	return refusal.New(refusal.LimitsChanged, fmt.Sprintf("Under the statistics of interval %d the plan breaks limits: %s. "+
		"Somebody who may approve it can approve it again; the next statistics may lead to another plan.",
		latest.Interval, strings.Join(latest.Breaks, ", ")))
}

// reasons are waiting reasons as the store keeps them.
func reasons(all []WaitReason) []string {
	out := make([]string, len(all))
	for i, r := range all {
		out[i] = string(r)
	}
	return out
}

// evaluatedPlan is another plan, and how it does under the statistics of a new one.
type evaluatedPlan struct {
	id      string
	figures *evaluatedFigures // nil: they cannot be told
	breaks  []WaitReason      // that nobody has agreed to
	agreed  agreement
	changed bool // it must be approved again
}

// evaluation is what the store keeps of how another plan does under the statistics of p.
func (o *PlanResult) evaluation(p store.Plan) (*store.Evaluation, error) {
	e := o.evaluated
	if e == nil {
		return nil, nil
	}
	text, err := json.Marshal(latestFigures{
		Plan: p.ID, Epoch: p.Epoch, Interval: p.Interval, Figures: e.figures, Breaks: reasons(e.breaks),
		Agreed: e.agreed,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding how plan %s does: %w", e.id, err)
	}
	return &store.Evaluation{Plan: e.id, Latest: text, LimitsChanged: e.changed}, nil
}
