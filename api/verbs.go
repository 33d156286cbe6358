package api

import (
	"cmp"
	"context"
	"net/http"

	"plannerd/internal/service"
	"plannerd/internal/service/claim"
	"plannerd/internal/service/life"
	"plannerd/sdk/go/wire"
)

// verbRequest is the body of any verb. The contract says which verb has which members.
type verbRequest struct {
	Actor      string             `json:"actor"`
	Reason     string             `json:"reason"`
	Comment    string             `json:"comment"`
	Executor   string             `json:"executor"`
	Epoch      int64              `json:"executor_epoch"`
	Instances  []wire.InstanceRef `json:"instances"`
	Batch      int64              `json:"batch"`
	Stopped    bool               `json:"stopped"`
	RolledBack bool               `json:"rolled_back"`
}

// verb is the handler of what takes a plan one step on.
func (s plans) verb(do func(context.Context, life.Step, verbRequest) (service.Plan, error)) handler {
	return func(w http.ResponseWriter, c *call) error {
		var in verbRequest
		if err := c.readJSON(w, &in); err != nil {
			return err
		}
		by := attributed(c.Context(), service.Transition{Actor: in.Actor, Reason: cmp.Or(in.Reason, in.Comment)})
		by.Actor = cmp.Or(by.Actor, in.Executor)
		return once(s.shared, w, c, stepReply, func(held *claim.Claim[service.Plan]) (service.Plan, error) {
			return do(c.Context(), life.Step{
				Plan: c.param("id"), By: by, Named: callerOf(c.Context()) != nil, Guard: planGuard(c), Claim: held}, in)
		})
	}
}

// simple is the handler of a verb that asks for nothing but who and why.
func (s plans) simple(do func(context.Context, life.Step) (service.Plan, error)) handler {
	return s.verb(func(ctx context.Context, step life.Step, _ verbRequest) (service.Plan, error) {
		return do(ctx, step)
	})
}

func (s plans) start(ctx context.Context, step life.Step, in verbRequest) (service.Plan, error) {
	return s.service.Start(ctx, step, service.Executor{Name: in.Executor, Epoch: in.Epoch})
}

func (s plans) acknowledge(ctx context.Context, step life.Step, in verbRequest) (service.Plan, error) {
	ids, err := s.namesOfPlan(ctx, step.Plan).list(in.Instances, "/instances/")
	if err != nil {
		return service.Plan{}, err
	}
	return s.service.Acknowledge(ctx, step, in.Epoch, in.Batch, ids)
}

func (s plans) commit(ctx context.Context, step life.Step, in verbRequest) (service.Plan, error) {
	return s.service.Commit(ctx, step, in.Stopped)
}

func (s plans) abort(ctx context.Context, step life.Step, in verbRequest) (service.Plan, error) {
	return s.service.Abort(ctx, step, in.Epoch, in.RolledBack)
}

func (s plans) stop(ctx context.Context, step life.Step, in verbRequest) (service.Plan, error) {
	return s.service.Stop(ctx, step, in.Epoch)
}
