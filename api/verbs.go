package api

import (
	"context"
	"net/http"
	"time"

	"plannerd/api/wire"
	"plannerd/store"
)

// step takes a plan one step on in the store. Its guard must be given to the
// method that does it.
type step func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error)

// step makes a step, counts what came of it and answers with the plan. happened
// tells whether there is nothing left to do.
func (s *server) step(w http.ResponseWriter, c *call, by store.Transition, happened func(store.Plan) bool, do step) error {
	if err := s.begin(c, stepReply); err != nil {
		return err
	}
	id := c.param("id")
	by = attributed(c.Context(), by)
	by.At = s.now()
	var from store.Status
	demanded := c.planGuard(happened)
	p, err := do(c.Context(), id, by, func(p store.Plan) error {
		from = p.Status
		return demanded(p)
	})
	if err != nil {
		return aboutPlan(id, err)
	}
	if p.Status != from {
		s.metrics.moved(p, from)
	}
	return s.finish(w, c, func() (*reply, error) { return stepReply(store.Outcome{Plan: p}) })
}

// readVerb reads the body of a verb, if there is one, and checks it.
func (s *server) readVerb(w http.ResponseWriter, c *call, into any) error {
	present, err := readSmall(w, c.Request, c.route, into)
	if err != nil || !present {
		return err
	}
	return checkRules(into, "")
}

// said is the transition that a request asks for.
func said(actor *wire.Actor, reason *wire.TransitionReason) store.Transition {
	return store.Transition{Actor: or(actor, ""), Reason: or(reason, "")}
}

func (s *server) approvePlan(w http.ResponseWriter, c *call) error {
	var in wire.Transition
	if err := s.readVerb(w, c, &in); err != nil {
		return err
	}
	return s.step(w, c, said(in.Actor, in.Reason), is(store.StatusApproved), func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error) {
		return s.store.ApprovePlan(ctx, id, by, guard)
	})
}

func (s *server) rejectPlan(w http.ResponseWriter, c *call) error {
	var in wire.Transition
	if err := s.readVerb(w, c, &in); err != nil {
		return err
	}
	return s.step(w, c, said(in.Actor, in.Reason), is(store.StatusRejected), func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error) {
		return s.store.RejectPlan(ctx, id, by, guard)
	})
}

func (s *server) startPlan(w http.ResponseWriter, c *call) error {
	var in wire.StartRequest
	if err := s.readVerb(w, c, &in); err != nil {
		return err
	}
	by := attributed(c.Context(), said(in.Actor, in.Reason))
	if by.Actor == "" {
		by.Actor = in.Executor
	}
	return s.step(w, c, by, appliedBy(in.Executor), func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error) {
		return s.store.StartPlan(ctx, id, in.Executor, by, guard, onlyBy(in.Executor))
	})
}

// onlyBy refuses to start a plan that another executor carries out.
func onlyBy(executor string) store.PlanGuard {
	return func(p store.Plan) error {
		if p.Status != store.StatusApplying || appliedBy(executor)(p) {
			return nil
		}
		return conflict(wire.CodeOtherExecutor, "Another executor carries the plan out since it was started.")
	}
}

func (s *server) ackPlan(w http.ResponseWriter, c *call) error {
	var in wire.AckRequest
	if err := s.readVerb(w, c, &in); err != nil {
		return err
	}
	return s.step(w, c, said(in.Actor, in.Reason), ackedBy(in.Instances), s.committing(func(
		ctx context.Context, id string, by store.Transition, keep store.Retention, guard store.PlanGuard,
	) (store.Plan, bool, error) {
		return s.store.AckPlan(ctx, id, in.Instances, by, keep, guard)
	}))
}

func (s *server) commitPlan(w http.ResponseWriter, c *call) error {
	var in wire.Transition
	if err := s.readVerb(w, c, &in); err != nil {
		return err
	}
	return s.step(w, c, said(in.Actor, in.Reason), is(store.StatusCommitted), s.committing(func(
		ctx context.Context, id string, by store.Transition, keep store.Retention, guard store.PlanGuard,
	) (store.Plan, bool, error) {
		return s.store.CommitPlan(ctx, id, by, keep, guard)
	}))
}

// committing is a step that may commit the plan, under the retention of its
// operator.
func (s *server) committing(
	do func(context.Context, string, store.Transition, store.Retention, store.PlanGuard) (store.Plan, bool, error),
) step {
	return func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error) {
		p, err := s.store.Plan(ctx, id)
		if err != nil {
			return p, err
		}
		op, err := s.store.Operator(ctx, p.Operator)
		if err != nil {
			return p, aboutOperator(p.Operator, err)
		}
		config, err := decodeConfiguration(op.Config)
		if err != nil {
			return p, err
		}
		p, committed, err := do(ctx, id, by, config.keep(), guard)
		if committed {
			s.metrics.committed(p)
		}
		return p, err
	}
}

func (s *server) abortPlan(w http.ResponseWriter, c *call) error {
	var in wire.AbortRequest
	if err := s.readVerb(w, c, &in); err != nil {
		return err
	}
	return s.step(w, c, said(in.Actor, in.Reason), is(store.StatusAborted), func(ctx context.Context, id string, by store.Transition, guard store.PlanGuard) (store.Plan, error) {
		return s.store.AbortPlan(ctx, id, or(in.RolledBack, false), by, guard)
	})
}

// transition is a step of a plan's life as the contract shows it.
type transition struct {
	From   *store.Status `json:"from"`
	To     store.Status  `json:"to"`
	Actor  string        `json:"actor"`
	Reason string        `json:"reason"`
	At     time.Time     `json:"at"`
}

func (s *server) listTransitions(w http.ResponseWriter, c *call) error {
	id := c.param("id")
	all, err := s.store.Transitions(c.Context(), id)
	if err != nil {
		return aboutPlan(id, err)
	}
	out := struct {
		Transitions []transition `json:"transitions"`
	}{make([]transition, len(all))}
	for i, t := range all {
		out.Transitions[i] = transition{To: t.To, Actor: t.Actor, Reason: t.Reason, At: t.At.UTC()}
		if t.From != "" {
			out.Transitions[i].From = &all[i].From
		}
	}
	return writeTaggedJSON(w, c.Request, out)
}
