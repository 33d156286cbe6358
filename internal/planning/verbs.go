package planning

import (
	"context"
	"slices"

	"plannerd/store"
)

// PlanGuard refuses a step on a plan as it stands.
type PlanGuard func(Plan) error

// Step is a step of a plan's life that is asked for.
type Step struct {
	Plan string // its id
	By   Transition
	// Guard is asked whether the plan may take the step, unless it is where the step
	// would bring it.
	Guard PlanGuard
	Claim *Claim[Plan]
}

// act takes the step in the store. Its guard must be given to the method that does it.
type act func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error)

// take takes a step and counts what came of it. happened tells whether there is nothing
// left to do.
func (s *Service) take(ctx context.Context, step Step, happened func(store.Plan) bool, do act) (Plan, error) {
	step.By.At = s.now()
	var from store.Status
	ctx = step.Claim.completing(ctx, func(out store.Outcome) (Plan, error) { return out.Plan, nil })
	p, err := do(ctx, step.Plan, step.By, func(p store.Plan) error {
		from = p.Status
		if happened(p) {
			return nil
		}
		return step.Guard(p)
	})
	if err != nil {
		return p, aboutPlan(step.Plan, err)
	}
	if p.Status != from {
		s.observer.Moved(p, from)
	}
	return p, nil
}

func is(status store.Status) func(store.Plan) bool {
	return func(p store.Plan) bool { return p.Status == status }
}

// Approve approves a proposed plan.
func (s *Service) Approve(ctx context.Context, step Step) (Plan, error) {
	return s.take(ctx, step, is(store.StatusApproved), func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error) {
		return s.store.ApprovePlan(ctx, id, by, guard)
	})
}

// Reject ends a proposed plan.
func (s *Service) Reject(ctx context.Context, step Step) (Plan, error) {
	return s.take(ctx, step, is(store.StatusRejected), func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error) {
		return s.store.RejectPlan(ctx, id, by, guard)
	})
}

// Start says that an executor carries an approved plan out.
func (s *Service) Start(ctx context.Context, step Step, executor string) (Plan, error) {
	started := func(p store.Plan) bool { return p.Status == store.StatusApplying && p.Executor == executor }
	onlyBy := func(p store.Plan) error {
		if p.Status == store.StatusApplying && !started(p) {
			return refuse(OtherExecutor, "Another executor carries the plan out since it was started.")
		}
		return nil
	}
	return s.take(ctx, step, started, func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error) {
		return s.store.StartPlan(ctx, id, executor, by, guard, onlyBy)
	})
}

// Acknowledge notes that instances have finished their migrations. Once all have the
// plan is committed.
func (s *Service) Acknowledge(ctx context.Context, step Step, instances []int32) (Plan, error) {
	acknowledged := func(p store.Plan) bool {
		return p.Status == store.StatusCommitted || !slices.ContainsFunc(instances, func(id int32) bool {
			return !slices.ContainsFunc(p.Acked, func(a store.Ack) bool { return a.Instance == id })
		})
	}
	return s.take(ctx, step, acknowledged, s.committing(func(
		ctx context.Context, id string, by store.Transition, keep store.Retention, guard store.PlanGuard,
	) (store.Plan, bool, error) {
		return s.store.AckPlan(ctx, id, instances, by, keep, guard)
	}))
}

// Commit makes the table of a plan the operator's.
func (s *Service) Commit(ctx context.Context, step Step) (Plan, error) {
	return s.take(ctx, step, is(store.StatusCommitted), s.committing(func(
		ctx context.Context, id string, by store.Transition, keep store.Retention, guard store.PlanGuard,
	) (store.Plan, bool, error) {
		return s.store.CommitPlan(ctx, id, by, keep, guard)
	}))
}

// committing is a step that may commit the plan, under the retention of its operator.
func (s *Service) committing(
	do func(context.Context, string, store.Transition, store.Retention, store.PlanGuard) (store.Plan, bool, error),
) act {
	return func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error) {
		p, err := s.store.Plan(ctx, id)
		if err != nil {
			return p, err
		}
		op, err := s.operator(ctx, p.Operator)
		if err != nil {
			return p, err
		}
		config, err := decodeConfiguration(op.Config)
		if err != nil {
			return p, err
		}
		p, committed, err := do(ctx, id, by, config.retention(), guard)
		if committed {
			s.observeCommit(p)
		}
		return p, err
	}
}

// observeCommit tells that a plan became the operator's table just now.
func (s *Service) observeCommit(p store.Plan) {
	s.observer.Committed(p)
	if !p.EngineTable && schemeOf(p).countsEntries() {
		s.observer.TableSize(p.Operator, p.TableAfter)
	}
}

// Abort gives a plan up. rolledBack: its engine has taken the state back.
func (s *Service) Abort(ctx context.Context, step Step, rolledBack bool) (Plan, error) {
	return s.take(ctx, step, is(store.StatusAborted), func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error) {
		return s.store.AbortPlan(ctx, id, rolledBack, by, guard)
	})
}
