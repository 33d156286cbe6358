package demo

import (
	"context"
	"errors"
	"time"

	"plannerd/planner"
	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// The stream of Clicks has so many intervals. The first are driven, the others
// make plans that wait for approval.
const (
	clicksIntervals = 26
	clicksDriven    = 21
)

// clicksConfiguration is that of Clicks while its plans are committed.
func clicksConfiguration() wire.OperatorConfiguration {
	c := balanced(wire.Numbered(8), 0.08, 400)
	c.Strategy = new(wire.Strategy(planner.Mixed))
	c.Trigger = &wire.Trigger{Theta: new(0.15)}
	c.Retention = &wire.Retention{Inputs: new(int32(0))}
	return c
}

// clicksApproved is the configuration with plans that wait so long for approval.
func clicksApproved(ttl string, onPending wire.OnPending) wire.OperatorConfiguration {
	c := clicksConfiguration()
	c.Strategy, c.ThetaMax, c.Trigger = new(wire.Strategy(planner.Optimal)), new(0.02), &wire.Trigger{}
	c.RequireApproval, c.Approval = new(true), &wire.ApprovalOptions{Ttl: &ttl, OnPending: &onPending}
	return c
}

// clicks makes the history of Clicks, and a plan that is about to expire.
func (f *filler) clicks(ctx context.Context, intervals []wire.PlanRequest) error {
	if err := f.put(ctx, Clicks, clicksConfiguration()); err != nil {
		return err
	}
	driven, next := intervals[:clicksDriven], intervals[clicksDriven]
	for _, in := range driven {
		p, err := f.drive(ctx, Clicks, []wire.PlanRequest{in})
		switch {
		case err != nil:
			return err
		case p.Status == wire.PlanStatusCommitted && p.Migration.Keys > 0:
			f.plans.Committed = p.Id
		case p.Status == wire.PlanStatusNoAction:
			f.plans.NoAction = p.Id
		}
	}
	if f.plans.Committed == "" || f.plans.NoAction == "" {
		return errors.New("the stream of clicks no longer leads to plans that are committed and to some without action")
	}
	if err := f.put(ctx, Clicks, clicksApproved("1s", "keep")); err != nil {
		return err
	}
	p, err := f.planAs(ctx, Clicks, wire.PlanStatusProposed, next)
	if err != nil {
		return err
	}
	f.plans.Expired = p.Id
	return nil
}

// approvals lets plans of Clicks be rejected and superseded, and the last one wait.
func (f *filler) approvals(ctx context.Context, intervals []wire.PlanRequest) error {
	if err := f.await(ctx, f.plans.Expired, wire.PlanStatusExpired); err != nil {
		return err
	}
	if err := f.put(ctx, Clicks, clicksApproved("12h", "replace")); err != nil {
		return err
	}
	p, err := f.planAs(ctx, Clicks, wire.PlanStatusProposed, intervals[0])
	if err != nil {
		return err
	}
	f.plans.Rejected = p.Id
	if _, err := f.api.RejectPlan(ctx, p.Id,
		wire.Transition{Actor: new("ann"), Reason: new("not during the sale")}); err != nil {
		return err
	}
	for _, id := range []*string{&f.plans.Superseded, &f.plans.Proposed} {
		intervals = intervals[1:]
		if p, err = f.planAs(ctx, Clicks, wire.PlanStatusProposed, intervals[0]); err != nil {
			return err
		}
		*id = p.Id
	}
	if err := f.await(ctx, f.plans.Superseded, wire.PlanStatusSuperseded); err != nil {
		return err
	}
	if err := f.put(ctx, Clicks, clicksApproved("12h", "keep")); err != nil {
		return err
	}
	if p, err = f.planAs(ctx, Clicks, wire.PlanStatusNoAction, intervals[1]); err != nil {
		return err
	}
	f.plans.Pending = p.Id
	return f.await(ctx, f.plans.Proposed, wire.PlanStatusProposed)
}

// await returns when a plan is of the status, or an error when it does not become
// so.
func (f *filler) await(ctx context.Context, id string, status wire.PlanStatus) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		p, err := f.api.GetPlan(ctx, id, client.GetPlanOptions{})
		if err != nil {
			return err
		}
		err = is(p, status)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
