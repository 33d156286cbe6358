package planning

import (
	"context"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/store"
)

// blocking returns the plan that forbids to make another one now, if there is one: that
// which is being carried out, or waits for approval and is to be kept.
func (s *Proposer) blocking(ctx context.Context, b *base) (*store.Plan, error) {
	id := b.op.CurrentPlan
	switch {
	case id == "":
		return nil, nil
	case b.op.CurrentStatus.InFlight():
	case b.newest.OnPending() == store.PendingReplace:
		return nil, nil
	case b.op.CurrentStatus == store.StatusApproved: // an older one may wait beside it
		waiting, _, err := s.Store.Plans(ctx, store.PlanFilter{Operator: b.op.Name, Status: store.StatusProposed, Limit: 1})
		if err != nil || len(waiting) == 0 {
			return nil, refusal.AboutOperator(b.op.Name, err)
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
func (s *Proposer) computePlan(ctx context.Context, b *base, st *Statistics, memory *admission.Lease) (
	out *PlanResult, err error,
) {
	small, others, err := s.tooSmall(ctx, b, st)
	if err != nil {
		return nil, err
	}
	small = small && !b.takesOver // that rests on no statistics
	b.absences.counted = small    // they do not tell which keys are absent
	if err := s.addUp(ctx, b, st, memory); err != nil {
		return nil, err
	}
	if small && others < b.newest.Approval.SmallIntervals {
		if out, err = schemeNamed(b.newest.Scheme).noAction(ctx, s.engine, b, st, figures.CauseSmall); err == nil {
			out.small = true
		}
		return out, err
	}
	if !small { // what is too small says nothing of the next interval
		if err := s.foresee(ctx, b, st, memory); err != nil {
			return nil, err
		}
	}
	out, err = s.computeOrWait(ctx, b, st)
	if err == nil && st.Queues {
		out.ofQueues()
	}
	if err == nil && small {
		if out.small = true; out.status() == store.StatusNoAction {
			out.Causes = append(out.Causes, figures.CauseSmall)
		}
	}
	return out, err
}

// computeOrWait plans by the operator's scheme, unless another plan is in the way.
func (s *Proposer) computeOrWait(ctx context.Context, b *base, st *Statistics) (out *PlanResult, err error) {
	other, err := s.blocking(ctx, b)
	switch {
	case err != nil:
		return nil, err
	case other == nil:
		out, err = schemeNamed(b.newest.Scheme).plan(ctx, s.engine, b, st)
	case other.Status.InFlight():
		out, err = schemeNamed(b.newest.Scheme).noAction(ctx, s.engine, b, st, figures.CausePlanInFlight)
	default:
		out, err = schemeNamed(b.newest.Scheme).noAction(ctx, s.engine, b, st, figures.CausePendingApproval)
	}
	if err != nil {
		return nil, err
	}
	waiting := other
	if waiting == nil {
		if waiting, err = s.waiting(ctx, b, out); waiting == nil || err != nil {
			return out, err
		}
	}
	then, err := schemeNamed(b.newest.Scheme).evaluate(ctx, s.engine, b, st, out, *waiting)
	if err != nil {
		return nil, err
	}
	out.evaluated = &evaluatedPlan{id: waiting.ID}
	if out.evaluated.agreed, err = figures.AgreedTo(*waiting); then != nil && err == nil {
		if out.evaluated.figures, err = evaluatedFiguresOf(*waiting, then); err != nil {
			return nil, err
		}
		out.evaluated.breaks = breaksBeyond(b.newest.ApprovalRule, out.evaluated.agreed, then)
		out.evaluated.changed = b.newest.Approval.Auto != operator.AutoAlways && len(out.evaluated.breaks) > 0
	}
	if other != nil {
		out.blocking = &figures.BlockingPlan{Plan: other.ID, Status: string(other.Status), Figures: out.evaluated.figures}
	}
	return out, err
}

// waiting returns the current plan if it can be carried out though another one was made.
func (s *Proposer) waiting(ctx context.Context, b *base, made *PlanResult) (*store.Plan, error) {
	switch b.op.CurrentStatus {
	case store.StatusApproved:
		if b.newest.Approval.Auto == operator.AutoAlways { // nobody asks how it does
			return nil, nil
		}
	case store.StatusProposed:
		if made.status() != store.StatusNoAction { // it replaces the other
			return nil, nil
		}
	default:
		return nil, nil
	}
	p, err := s.Plan(ctx, b.op.CurrentPlan)
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
