package planning

import (
	"context"

	"plannerd/internal/admission"
	"plannerd/planner"
	"plannerd/store"
)

// loadBase reads what a plan of the operator starts from, into memory that the lease
// holds.
func (s *Service) loadBase(ctx context.Context, operator string, memory *admission.Lease) (*base, error) {
	op, err := s.operator(ctx, operator)
	if err != nil {
		return nil, err
	}
	if err := holdTable(memory, op); err != nil {
		return nil, err
	}
	b := &base{op: op, stop: ended(ctx)}
	if b.newest, err = s.newest(ctx, op); err != nil {
		return nil, err
	}
	if b.pinned, err = s.pinned(ctx, op); err != nil {
		return nil, err
	}
	return b, b.newest.scheme().read(ctx, s.reader, b)
}

// admit refuses statistics that do not fit the table and the configuration.
func (b *base) admit(st *Statistics) error {
	if st.ahead(b.op.TableVersion) {
		return tableAhead(*st.TableVersion, b.op.TableVersion)
	}
	return b.newest.scheme().admit(b, st)
}

// blocking returns the plan that forbids to make another one now, if there is one: that
// which is being carried out, or waits for approval and is to be kept.
func (s *Service) blocking(ctx context.Context, b *base) (*store.Plan, error) {
	id := b.op.CurrentPlan
	switch {
	case id == "":
		return nil, nil
	case b.op.CurrentStatus.InFlight():
	case b.newest.onPending() == store.PendingReplace:
		return nil, nil
	case b.op.CurrentStatus == store.StatusApproved: // an older one may wait beside it
		waiting, _, err := s.store.Plans(ctx, store.PlanFilter{Operator: b.op.Name, Status: store.StatusProposed, Limit: 1})
		if err != nil || len(waiting) == 0 {
			return nil, aboutOperator(b.op.Name, err)
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

// computePlan plans by the operator's scheme, unless another plan is in the way.
func (s *Service) computePlan(ctx context.Context, b *base, st *Statistics) (*PlanResult, error) {
	other, err := s.blocking(ctx, b)
	switch {
	case err != nil:
		return nil, err
	case other != nil:
		return s.noActionPlan(ctx, b, st, *other)
	}
	return b.newest.scheme().plan(ctx, s.engine, b, st)
}

// noActionPlan is the plan that leaves everything where it is because another one is in
// the way. It tells what would come of that one.
func (s *Service) noActionPlan(ctx context.Context, b *base, st *Statistics, other store.Plan) (*PlanResult, error) {
	cause := causePendingApproval
	if other.Status.InFlight() {
		cause = causePlanInFlight
	}
	out, evaluated, err := b.newest.scheme().noAction(ctx, s.engine, b, st, other, cause)
	if err != nil {
		return nil, err
	}
	out.blocking = &blockingPlan{Plan: other.ID, Status: string(other.Status)}
	if evaluated != nil {
		out.blocking.Figures = blockingFiguresOf(evaluated)
	}
	return out, nil
}

func blockingFiguresOf(p *planner.Plan) *blockingFigures {
	between := func(c planner.Comparison) Comparison { return Comparison{Before: c.Before, After: c.After} }
	return &blockingFigures{
		Balanced: p.Balanced, Theta: between(p.Theta), Underload: between(p.Underload), Skewness: between(p.Skewness),
		Migration: MigrationFigures{
			Keys: p.Migration.Keys, State: p.Migration.State, Fraction: p.Migration.Fraction, Objective: p.Migration.Objective,
		},
	}
}
