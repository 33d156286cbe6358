package life

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/propose"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/planner"
	"plannerd/store"
)

// PlanGuard refuses a step on a plan as it stands.
type PlanGuard func(store.Plan) error

// Step is a step of a plan's life that is asked for.
type Step struct {
	Plan string // its id
	By   store.Transition
	// Named: the actor is who a token names, and nobody else.
	Named bool
	// Guard is asked whether the plan may take the step, unless it is where the step
	// would bring it.
	Guard PlanGuard
	Claim *claim.Claim[store.Plan]
}

// act takes the step in the store, whose method that does it must be given the guards.
type act = func(ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard) (store.Plan, error)

// take takes a step and counts what came of it. happened tells whether there is nothing
// left to do, held whether the plan is another executor's.
func (s *Life) take(
	ctx context.Context, step Step, happened func(store.Plan) bool, do act, held ...store.PlanGuard,
) (store.Plan, error) {
	var err error
	if step.By.At, err = s.Store.Now(ctx); err != nil {
		return store.Plan{}, refusal.AboutStore(err)
	}
	var from store.Status
	ctx = step.Claim.Completing(ctx, func(out store.Outcome) (store.Plan, error) { return out.Plan, nil })
	guard := func(p store.Plan) error {
		from = p.Status
		if err := reading.SchemeOf(p).Check(); err != nil || happened(p) {
			return err
		}
		return step.Guard(p)
	}
	p, err := do(ctx, step.Plan, step.By, append([]store.PlanGuard{guard}, held...)...)
	if errors.Is(err, store.ErrTransition) {
		return p, &refusal.Error{Reason: refusal.TransitionNotAllowed,
			Detail: "The plan is " + string(from) + ": " + allowed(from), Err: err}
	}
	if err != nil {
		return p, refusal.AboutPlan(step.Plan, err)
	}
	if p.Status != from {
		s.Observer.Moved(p, from)
	}
	return p, nil
}

// allowed says what can be done with a plan in a status.
func allowed(status store.Status) string {
	switch status {
	case store.StatusProposed:
		return "approve or reject it."
	case store.StatusApproved:
		return "start, commit or abort it."
	case store.StatusApplying:
		return "acknowledge its migrations, or abort it. It can be rolled back only once it is aborting."
	case store.StatusAborting:
		return `no acknowledgement counts any more. Take the state back, then abort it with "rolled_back": true.`
	}
	return "nothing can be done with it any more."
}

func is(status store.Status) func(store.Plan) bool {
	return func(p store.Plan) bool { return p.Status == status }
}

// Approve approves a proposed plan, or agrees to limits of an approved one that have
// changed. From then on it has the time to be started that it had to be approved.
func (s *Life) Approve(ctx context.Context, step Step) (store.Plan, error) {
	agreed := func(p store.Plan) bool { return p.Status == store.StatusApproved && !p.LimitsChanged }
	unnamed := func(p store.Plan) error {
		if p.Approvers > 1 && !step.Named {
			return store.ErrUnnamed
		}
		return nil
	}
	return s.take(ctx, step, agreed, func(
		ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard,
	) (store.Plan, error) {
		config, err := s.configurationNow(ctx, id)
		if err != nil {
			return store.Plan{}, err
		}
		return s.Store.ApprovePlan(ctx, id, func(p store.Plan) (terms store.Approval, err error) {
			terms.ExpiresAt = config.Expiry(config.StartsFrom(by.At))
			terms.Latest, err = figures.AgreeToLatest(p)
			return terms, err
		}, by, guards...)
	}, unnamed)
}

// Comment notes what somebody says of a plan.
func (s *Life) Comment(ctx context.Context, step Step) (store.Plan, error) {
	return s.take(ctx, step, func(store.Plan) bool { return false }, s.Store.CommentPlan)
}

// Reject ends a proposed plan.
func (s *Life) Reject(ctx context.Context, step Step) (store.Plan, error) {
	return s.take(ctx, step, is(store.StatusRejected), s.Store.RejectPlan)
}

// Start says that an executor carries an approved plan out, or takes it over from one
// with a lower epoch.
func (s *Life) Start(ctx context.Context, step Step, executor store.Executor) (store.Plan, error) {
	started := func(p store.Plan) bool { return p.Status.InFlight() && p.Executor == executor }
	takesOver := func(p store.Plan) error {
		switch {
		case !p.Status.InFlight() || p.Executor == executor || executor.Epoch > p.Executor.Epoch:
			return nil
		case executor.Epoch < p.Executor.Epoch:
			return fenced(p)
		}
		return refusal.New(refusal.OtherExecutor, holder(p)+" A successor takes it over with a higher executor_epoch.")
	}
	return s.take(ctx, step, started, func(
		ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard,
	) (store.Plan, error) {
		if err := s.settleAwaited(ctx, id); err != nil {
			return store.Plan{}, err
		}
		config, err := s.configurationNow(ctx, id)
		if err != nil {
			return store.Plan{}, err
		}
		return s.Store.StartPlan(ctx, id, executor, by, append(guards, inWindow(config, by.At))...)
	}, takesOver, propose.LimitsHold)
}

// inWindow refuses to begin with a plan outside of the windows of its operator.
func inWindow(c operator.Configuration, at time.Time) store.PlanGuard {
	return func(p store.Plan) error {
		from := c.StartsFrom(at)
		if p.Status != store.StatusApproved || !from.After(at) {
			return nil
		}
		return refusal.New(refusal.OutsideWindow, fmt.Sprintf(
			"Plans of the operator are started only in its windows: the next one begins at %s.",
			from.UTC().Format(time.RFC3339)))
	}
}

// settleAwaited works out whom an approved plan awaits, where the program that stored it did not
// store that. These are the instances between which its keys move. They are all instances of the
// plan if one of those is not known, or if the plan changes the hash.
func (s *Life) settleAwaited(ctx context.Context, id string) error {
	p, err := s.Plan(ctx, id)
	if err != nil || p.Status != store.StatusApproved || len(p.Awaited) > 0 {
		return err
	}
	op, err := s.StoredOperator(ctx, p.Operator)
	if err != nil {
		return err
	}
	changes, err := s.StoredChanges(ctx, p)
	if err != nil {
		return err
	}
	moves, err := schemes.Of(p).Migrations(ctx, s.Reader, p)
	if err != nil {
		return err
	}
	var awaited []int32
	for _, f := range moves.Index().Flows() {
		awaited = append(awaited, f.From, f.To)
	}
	moved := len(awaited) > 0
	for _, c := range changes {
		if c.Old == store.NoInstance && moved {
			continue // its hash instance has state of it, and so a migration
		}
		awaited = append(awaited, c.Old, c.New)
	}
	if slices.Contains(awaited, store.NoInstance) || len(awaited) > 0 && p.ConfigVersion != op.TableConfigVersion {
		awaited = nil
		loads, err := figures.LoadsWith(p.Figures, "id")
		if err != nil {
			return err
		}
		for _, l := range loads {
			awaited = append(awaited, l.ID)
		}
	}
	if len(awaited) == 0 {
		return nil
	}
	return s.Store.AwaitInstances(ctx, id, awaited)
}

// holder says who carries a plan out.
func holder(p store.Plan) string {
	text := fmt.Sprintf("Executor %q with the executor_epoch %d carries the plan out", p.Executor.Name, p.Executor.Epoch)
	if p.ExecutorSince != nil {
		text += " since " + p.ExecutorSince.Format(time.RFC3339)
	}
	return text + "."
}

func fenced(p store.Plan) error {
	return refusal.New(refusal.Fenced, holder(p)+" It took over from an older one.")
}

// heldWith refuses a step of an executor that does not have the plan which is in flight.
func heldWith(epoch int64) store.PlanGuard {
	return func(p store.Plan) error {
		switch {
		case !p.Status.InFlight() || epoch == p.Executor.Epoch:
			return nil
		case epoch < p.Executor.Epoch:
			return fenced(p)
		}
		return refusal.New(refusal.OtherExecutor, holder(p)+" Start it first to take it over.")
	}
}

// Acknowledge notes that instances have finished their migrations of a batch, from 1, as the
// executor with that epoch says; 0 stands for the only one. Once all have it is committed, and
// the plan with its last batch.
func (s *Life) Acknowledge(ctx context.Context, step Step, epoch, batch int64, instances []int32) (store.Plan, error) {
	ofBatch := func(p store.Plan) error {
		switch pending := p.BatchesDone + 1; {
		case batch == 0 && p.BatchCount > 1:
			return planner.Invalid("batch", fmt.Sprintf("is needed: the plan is handed over in %d batches", p.BatchCount))
		case batch > pending:
			return refusal.New(refusal.TransitionNotAllowed, fmt.Sprintf("Batch %d has not begun: batch %d is handed over.",
				batch, pending))
		}
		return nil
	}
	acknowledged := func(p store.Plan) bool {
		if p.Status == store.StatusCommitted || batch != 0 && batch <= p.BatchesDone {
			return true
		}
		return !slices.ContainsFunc(instances, func(id int32) bool {
			return !slices.ContainsFunc(p.Acked, func(a store.Ack) bool { return a.Instance == id })
		})
	}
	return s.take(ctx, step, acknowledged, s.committing(func(
		ctx context.Context, id string, by store.Transition, keep store.Retention, guards ...store.PlanGuard,
	) (store.Plan, bool, error) {
		return s.Store.AckPlan(ctx, id, max(batch, 1), instances, by, keep, guards...)
	}), heldWith(epoch), ofBatch)
}

// Stop has a plan that is being carried out end with the batch that is handed over, as the
// executor with that epoch says.
func (s *Life) Stop(ctx context.Context, step Step, epoch int64) (store.Plan, error) {
	stopping := func(p store.Plan) bool {
		return p.Status == store.StatusCommitted || p.Status == store.StatusApplying && p.Stopping
	}
	return s.take(ctx, step, stopping, s.Store.StopPlan, heldWith(epoch))
}

// Commit makes the table of a plan the operator's. One that was not started is committed
// if its engine has stopped, and has moved what the plan routes elsewhere.
func (s *Life) Commit(ctx context.Context, step Step, stopped bool) (store.Plan, error) {
	handedOver := func(p store.Plan) error {
		if p.Status != store.StatusApproved || stopped {
			return nil
		}
		under, err := reading.ParametersOf(p)
		if err != nil {
			return err
		}
		// else nobody answers, so that nothing has to wait
		if under.Ranges == nil || under.Ranges.Phase != operator.PhasePut {
			return refusal.New(refusal.TransitionNotAllowed,
				"The plan is approved: start it, and acknowledge its migrations; or stop the engine, "+
					`move all state that the plan routes elsewhere, and commit it with "stopped": true.`)
		}
		return nil
	}
	return s.take(ctx, step, is(store.StatusCommitted), s.committing(s.Store.CommitPlan), handedOver, propose.LimitsHold)
}

// committing is a step that may commit the plan, under the retention of its operator.
func (s *Life) committing(
	do func(context.Context, string, store.Transition, store.Retention, ...store.PlanGuard) (store.Plan, bool, error),
) act {
	return func(ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard) (store.Plan, error) {
		config, err := s.configurationNow(ctx, id)
		if err != nil {
			return store.Plan{}, err
		}
		p, committed, err := do(ctx, id, by, config.StoreRetention(), append(guards, inWindow(config, by.At))...)
		if committed {
			s.observeCommit(p)
		}
		return p, err
	}
}

// configurationNow is the newest configuration of the operator of a plan.
func (s *Life) configurationNow(ctx context.Context, plan string) (operator.Configuration, error) {
	p, err := s.Plan(ctx, plan)
	if err != nil {
		return operator.Configuration{}, err
	}
	op, err := s.StoredOperator(ctx, p.Operator)
	if err != nil {
		return operator.Configuration{}, err
	}
	return operator.DecodeConfiguration(op.Config)
}

// observeCommit tells that a plan, or a batch of it, became the operator's table just now.
func (s *Life) observeCommit(p store.Plan) {
	size := p.TableAfter
	if p.BatchCount > 0 {
		size = p.Batches[p.BatchesDone-1].TableAfter
	}
	if p.Status == store.StatusCommitted {
		s.Observer.Committed(p)
	}
	if !p.EngineTable && schemes.Of(p).CountsEntries() {
		s.Observer.TableSize(p.Operator, size)
	}
}

// Abort gives a plan up. One that is being carried out is given up in two steps, by the
// executor with that epoch: the first stops its acknowledgements, and with the second,
// rolledBack, its engine says that the state is back.
func (s *Life) Abort(ctx context.Context, step Step, epoch int64, rolledBack bool) (store.Plan, error) {
	happened := func(p store.Plan) bool {
		return p.Status == store.StatusAborted || p.Status == store.StatusAborting && !rolledBack
	}
	return s.take(ctx, step, happened, func(
		ctx context.Context, id string, by store.Transition, guards ...store.PlanGuard,
	) (store.Plan, error) {
		return s.Store.AbortPlan(ctx, id, rolledBack, by, guards...)
	}, heldWith(epoch))
}

// Life carries plans from a proposal to a committed table.
type Life struct{ *scheme.Engine }
