package demo

import (
	"context"
	"errors"
	"net/http"
	"time"

	"plannerd/planner"
	"plannerd/sdk/go/wire"
)

// The stream of Clicks has so many intervals. The first are driven, the others
// make plans that wait for approval.
const (
	clicksIntervals = 26
	clicksDriven    = 21
)

// clicksConfiguration is that of Clicks while its plans are committed.
func clicksConfiguration() object {
	return object{
		"instances": 8, "strategy": planner.Mixed, "theta_max": 0.08, "table_limit": 400,
		"trigger": object{"theta": 0.15}, "retention": object{"inputs": 0},
	}
}

// clicksApproved is the configuration with plans that wait so long for approval.
func clicksApproved(ttl, onPending string) object {
	c := clicksConfiguration()
	c["strategy"], c["theta_max"], c["trigger"] = planner.Optimal, 0.02, object{}
	c["require_approval"], c["approval"] = true, object{"ttl": ttl, "on_pending": onPending}
	return c
}

// clicks makes the history of Clicks, and a plan that is about to expire.
func (f *filler) clicks(ctx context.Context, intervals []*interval) error {
	if err := f.put(ctx, Clicks, clicksConfiguration()); err != nil {
		return err
	}
	driven, next := intervals[:clicksDriven], intervals[clicksDriven]
	for _, in := range driven {
		p, err := f.drive(ctx, Clicks, []*interval{in})
		switch {
		case err != nil:
			return err
		case p.Status == committed && p.Migration.Keys > 0:
			f.plans.Committed = p.Id
		case p.Status == noAction:
			f.plans.NoAction = p.Id
		}
	}
	if f.plans.Committed == "" || f.plans.NoAction == "" {
		return errors.New("the stream of clicks no longer leads to plans that are committed and to some without action")
	}
	if err := f.put(ctx, Clicks, clicksApproved("1s", "keep")); err != nil {
		return err
	}
	p, err := f.planAs(ctx, Clicks, proposed, next)
	if err != nil {
		return err
	}
	f.plans.Expired = p.Id
	return nil
}

// approvals lets plans of Clicks be rejected and superseded, and the last one wait.
func (f *filler) approvals(ctx context.Context, intervals []*interval) error {
	if err := f.await(ctx, f.plans.Expired, expired); err != nil {
		return err
	}
	if err := f.put(ctx, Clicks, clicksApproved("12h", "replace")); err != nil {
		return err
	}
	p, err := f.planAs(ctx, Clicks, proposed, intervals[0])
	if err != nil {
		return err
	}
	f.plans.Rejected = p.Id
	if _, err := f.step(ctx, p.Id, "reject", object{"actor": "ann", "reason": "not during the sale"}); err != nil {
		return err
	}
	for _, id := range []*string{&f.plans.Superseded, &f.plans.Proposed} {
		intervals = intervals[1:]
		if p, err = f.planAs(ctx, Clicks, proposed, intervals[0]); err != nil {
			return err
		}
		*id = p.Id
	}
	if err := f.await(ctx, f.plans.Superseded, superseded); err != nil {
		return err
	}
	if err := f.put(ctx, Clicks, clicksApproved("12h", "keep")); err != nil {
		return err
	}
	if p, err = f.planAs(ctx, Clicks, noAction, intervals[1]); err != nil {
		return err
	}
	f.plans.Pending = p.Id
	return f.await(ctx, f.plans.Proposed, proposed)
}

// await returns when a plan is of the status, or an error when it does not become
// so.
func (f *filler) await(ctx context.Context, id string, status wire.PlanStatus) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		p := new(plan)
		if err := f.call(ctx, http.MethodGet, "/v1/plans/"+id, nil, p); err != nil {
			return err
		}
		err := p.is(status)
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
