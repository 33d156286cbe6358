package demo

import (
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
func clicks(f *filler, intervals []wire.PlanRequest) {
	f.put(Clicks, clicksConfiguration())
	for _, in := range intervals[:clicksDriven] {
		switch p := f.drive(Clicks, []wire.PlanRequest{in}); {
		case p.Status == wire.PlanStatusCommitted && p.Migration.Keys > 0:
			f.plans.Committed = p.Id
		case p.Status == wire.PlanStatusNoAction:
			f.plans.NoAction = p.Id
		}
	}
	if f.plans.Committed == "" || f.plans.NoAction == "" {
		f.fail("the stream of clicks no longer leads to plans that are committed and to some without action")
	}
	f.put(Clicks, clicksApproved("1s", "keep"))
	f.plans.Expired = f.planAs(Clicks, wire.PlanStatusProposed, intervals[clicksDriven]).Id
}

// approvals lets plans of Clicks be rejected and superseded, and the last one wait.
func approvals(f *filler, intervals []wire.PlanRequest) {
	f.await(f.plans.Expired, wire.PlanStatusExpired)
	f.put(Clicks, clicksApproved("12h", "replace"))
	f.plans.Rejected = f.planAs(Clicks, wire.PlanStatusProposed, intervals[0]).Id
	f.ask(func() (*wire.Plan, error) {
		return f.api.RejectPlan(f.ctx, f.plans.Rejected,
			wire.Transition{Actor: new("ann"), Reason: new("not during the sale")})
	})
	f.plans.Superseded = f.planAs(Clicks, wire.PlanStatusProposed, intervals[1]).Id
	f.plans.Proposed = f.planAs(Clicks, wire.PlanStatusProposed, intervals[2]).Id
	f.await(f.plans.Superseded, wire.PlanStatusSuperseded)
	f.put(Clicks, clicksApproved("12h", "keep"))
	f.plans.Pending = f.planAs(Clicks, wire.PlanStatusNoAction, intervals[3]).Id
	f.await(f.plans.Proposed, wire.PlanStatusProposed)
}

// await returns when a plan is of the status, and fails when it does not become so.
func (f *filler) await(id string, status wire.PlanStatus) {
	for deadline := time.Now().Add(10 * time.Second); f.err == nil; time.Sleep(20 * time.Millisecond) {
		p := f.ask(func() (*wire.Plan, error) { return f.api.GetPlan(f.ctx, id, client.GetPlanOptions{}) })
		if p.Status == status || time.Now().After(deadline) {
			f.is(p, status)
			return
		}
	}
}
