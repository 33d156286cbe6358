package propose

import (
	"context"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/store"
)

// blocking returns the plan that forbids to make another one now, if there is one: that
// which is being carried out, or waits for approval and is to be kept.
func (s *Proposer) blocking(ctx context.Context, b *scheme.Base) (*store.Plan, error) {
	id := b.Op.CurrentPlan
	switch {
	case id == "":
		return nil, nil
	case b.Op.CurrentStatus.InFlight():
	case b.Newest.OnPending() == store.PendingReplace:
		return nil, nil
	case b.Op.CurrentStatus == store.StatusApproved: // an older one may wait beside it
		waiting, _, err := s.Store.Plans(ctx, store.PlanFilter{Operator: b.Op.Name, Status: store.StatusProposed, Limit: 1})
		if err != nil || len(waiting) == 0 {
			return nil, refusal.AboutOperator(b.Op.Name, err)
		}
		id = waiting[0].ID
	}
	p, err := s.Plan(ctx, id)
	if err != nil {
		return nil, err
	}
	if !p.Status.InFlight() && p.Status != store.StatusProposed {
		return nil, nil // since the operator was read
	}
	return &p, nil
}

// computePlan plans by the operator's scheme, unless the statistics are too small for it or
// another plan is in the way. It tells what would come of a plan that waits or is carried
// out.
func (s *Proposer) computePlan(ctx context.Context, b *scheme.Base, st *scheme.Statistics, memory *admission.Lease) (
	out outcome, err error,
) {
	small, others, err := s.TooSmall(ctx, b, st)
	if err != nil {
		return out, err
	}
	small = small && !b.TakesOver // that rests on no statistics
	b.Absences.Counted = small    // they do not tell which keys are absent
	if err := s.AddUp(ctx, b, st, memory); err != nil {
		return out, err
	}
	if small && others < b.Newest.Approval.SmallIntervals {
		if out.Result, err = schemes.Named(b.Newest.Scheme).NoAction(ctx, s.Engine, b, st, figures.CauseSmall); err == nil {
			out.small = true
		}
		return out, err
	}
	if !small { // what is too small says nothing of the next interval
		if err := s.Foresee(ctx, b, st, memory); err != nil {
			return out, err
		}
	}
	out, err = s.computeOrWait(ctx, b, st)
	if err == nil && st.Queues {
		out.OfQueues()
	}
	if err == nil && small {
		if out.small = true; out.Status() == store.StatusNoAction {
			out.Causes = append(out.Causes, figures.CauseSmall)
		}
	}
	return out, err
}

// computeOrWait plans by the operator's scheme, unless another plan is in the way.
func (s *Proposer) computeOrWait(ctx context.Context, b *scheme.Base, st *scheme.Statistics) (out outcome, err error) {
	other, err := s.blocking(ctx, b)
	switch {
	case err != nil:
		return out, err
	case other == nil && b.Op.Freeze != nil:
		out.Result, err = schemes.Named(b.Newest.Scheme).NoAction(ctx, s.Engine, b, st, figures.CauseFrozen)
	case other == nil:
		out.Result, err = schemes.Named(b.Newest.Scheme).Plan(ctx, s.Engine, b, st)
	case other.Status.InFlight():
		out.Result, err = schemes.Named(b.Newest.Scheme).NoAction(ctx, s.Engine, b, st, figures.CausePlanInFlight)
	default:
		out.Result, err = schemes.Named(b.Newest.Scheme).NoAction(ctx, s.Engine, b, st, figures.CausePendingApproval)
	}
	if err != nil {
		return out, err
	}
	waiting := other
	if waiting == nil {
		if waiting, err = s.waiting(ctx, b, out.Result); waiting == nil || err != nil {
			return out, err
		}
	}
	then, err := schemes.Named(b.Newest.Scheme).Evaluate(ctx, s.Engine, b, st, out.Result, *waiting)
	if err != nil {
		return out, err
	}
	out.evaluated = &evaluatedPlan{id: waiting.ID}
	if out.evaluated.agreed, err = figures.AgreedTo(*waiting); then != nil && err == nil {
		if out.evaluated.figures, err = evaluatedFiguresOf(*waiting, then); err != nil {
			return out, err
		}
		out.evaluated.breaks = breaksBeyond(b.Newest.ApprovalRule, out.evaluated.agreed, then)
		out.evaluated.changed = b.Newest.Approval.Auto != operator.AutoAlways && len(out.evaluated.breaks) > 0
	}
	if other != nil {
		out.blocking = &figures.BlockingPlan{Plan: other.ID, Status: string(other.Status), Figures: out.evaluated.figures}
	}
	return out, err
}

// waiting returns the current plan if it can be carried out though another one was made.
func (s *Proposer) waiting(ctx context.Context, b *scheme.Base, made *scheme.Result) (*store.Plan, error) {
	switch b.Op.CurrentStatus {
	case store.StatusApproved:
		if b.Newest.Approval.Auto == operator.AutoAlways { // nobody asks how it does
			return nil, nil
		}
	case store.StatusProposed:
		if made.Status() != store.StatusNoAction { // it replaces the other
			return nil, nil
		}
	default:
		return nil, nil
	}
	p, err := s.Plan(ctx, b.Op.CurrentPlan)
	return &p, err
}

// evaluatedFiguresOf are those of a waiting plan under newer statistics.
func evaluatedFiguresOf(waiting store.Plan, p *planner.Plan) (*figures.EvaluatedFigures, error) {
	waiting.Balanced, waiting.Causes = p.Balanced, nil
	balanced, err := reading.BalancedOf(waiting)
	between := func(c planner.Comparison) figures.Comparison {
		return figures.Comparison{Before: c.Before, After: c.After}
	}
	return &figures.EvaluatedFigures{
		Balanced: balanced, Theta: between(p.Theta), Underload: between(p.Underload), Skewness: between(p.Skewness),
		Migration: figures.MigrationFigures{
			Keys: p.Migration.Keys, State: p.Migration.State, Fraction: p.Migration.Fraction, Objective: p.Migration.Objective,
		},
	}, err
}
