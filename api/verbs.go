package api

import (
	"context"
	"net/http"

	"plannerd/api/wire"
	"plannerd/internal/planning"
)

// step takes a plan one step on and answers with it.
func (s plans) step(
	w http.ResponseWriter, c *call, actor *wire.Actor, reason *wire.TransitionReason,
	do func(context.Context, planning.Step) (planning.Plan, error),
) error {
	claim, err := begin(s.shared, c, stepReply)
	if err != nil {
		return err
	}
	by := attributed(c.Context(), planning.Transition{Actor: or(actor, ""), Reason: or(reason, "")})
	p, err := do(c.Context(), planning.Step{Plan: c.param("id"), By: by, Guard: planGuard(c), Claim: claim})
	if err != nil {
		return err
	}
	return finish(w, c, p, stepReply)
}

// simple is the handler of a verb that asks for nothing but who and why.
func (s plans) simple(do func(context.Context, planning.Step) (planning.Plan, error)) handler {
	return func(w http.ResponseWriter, c *call) error {
		var in wire.Transition
		if _, err := c.op.Read(w, c.Request, &in); err != nil {
			return err
		}
		return s.step(w, c, in.Actor, in.Reason, do)
	}
}

func (s plans) start(w http.ResponseWriter, c *call) error {
	var in wire.StartRequest
	if _, err := c.op.Read(w, c.Request, &in); err != nil {
		return err
	}
	return s.step(w, c, in.Actor, in.Reason, func(ctx context.Context, step planning.Step) (planning.Plan, error) {
		if step.By.Actor == "" {
			step.By.Actor = in.Executor
		}
		return s.service.Start(ctx, step, planning.Executor{Name: in.Executor, Epoch: or(in.ExecutorEpoch, 0)})
	})
}

func (s plans) acknowledge(w http.ResponseWriter, c *call) error {
	var in wire.AckRequest
	if _, err := c.op.Read(w, c.Request, &in); err != nil {
		return err
	}
	return s.step(w, c, in.Actor, in.Reason, func(ctx context.Context, step planning.Step) (planning.Plan, error) {
		return s.service.Acknowledge(ctx, step, or(in.ExecutorEpoch, 0), in.Instances)
	})
}

func (s plans) commit(w http.ResponseWriter, c *call) error {
	var in wire.CommitRequest
	if _, err := c.op.Read(w, c.Request, &in); err != nil {
		return err
	}
	return s.step(w, c, in.Actor, in.Reason, func(ctx context.Context, step planning.Step) (planning.Plan, error) {
		return s.service.Commit(ctx, step, or(in.Stopped, false))
	})
}

func (s plans) abort(w http.ResponseWriter, c *call) error {
	var in wire.AbortRequest
	if _, err := c.op.Read(w, c.Request, &in); err != nil {
		return err
	}
	return s.step(w, c, in.Actor, in.Reason, func(ctx context.Context, step planning.Step) (planning.Plan, error) {
		return s.service.Abort(ctx, step, or(in.ExecutorEpoch, 0), or(in.RolledBack, false))
	})
}
