package live

import (
	"context"
	"errors"
	"time"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/wire"
)

// driver carries plans out.
type driver struct {
	api      *client.Client
	operator string
	exchange Exchange
	epoch    int64
	machine  *handoff.Driver
	view     *router.View
	acked    map[int32]bool // of the hand-over of that version
	version  int64
	looked   time.Time // for routers that are lost
}

// ErrSucceeded is returned by [Drive] once another process carries plans out.
var ErrSucceeded = errors.New("live: another process carries plans out")

// lasting are refusals that asking again does not change.
var lasting = []wire.Code{
	wire.CodeUnauthenticated, wire.CodeRoleForbidden, wire.CodeOperatorForbidden, wire.CodeOperatorNotFound,
}

// Drive starts the plans of an operator that are approved, and sees each to its end, until
// the context ends. One process does it at a time. Another that begins takes over what it
// finds under way, and the one before ends with [ErrSucceeded]. Where the service does not let
// it, or has no such operator, its error says that; other errors pass, and it asks again.
func Drive(ctx context.Context, api *client.Client, operator string, by Exchange) error {
	epoch := time.Now().UnixMilli()
	d := &driver{api: api, operator: operator, exchange: by, epoch: epoch, machine: handoff.NewDriver(epoch)}
	follower, err := router.Open(router.Config{Source: api, Operator: operator})
	if err != nil {
		return err
	}
	within, end := context.WithCancel(ctx)
	followed := make(chan struct{})
	go func() { _ = follower.Run(within); close(followed) }()
	defer func() { end(); <-followed }()
	for plan, err := range api.PlansToCarryOut(ctx, operator) {
		if err == nil {
			_, err = api.StartPlan(ctx, plan.Id, wire.StartRequest{Executor: "live", ExecutorEpoch: &d.epoch})
		}
		if err == nil {
			err = d.carryOut(ctx, follower, plan.Id)
		}
		if errors.Is(err, wire.CodeFenced) {
			return ErrSucceeded
		}
		for _, refused := range lasting {
			if errors.Is(err, refused) {
				return err
			}
		}
	}
	return ctx.Err()
}

// carryOut asks the instances how far they are until the plan has ended. An error of the
// service passes: the plan is there to be carried out still.
func (d *driver) carryOut(ctx context.Context, follower *router.Follower, plan string) error {
	for ; ; _ = sleep(ctx, 20*time.Millisecond) {
		p, err := d.api.GetPlan(ctx, plan, client.GetPlanOptions{})
		if err != nil {
			return err
		}
		if p.Status != wire.PlanStatusApplying && p.Status != wire.PlanStatusAborting {
			return nil
		}
		d.view = follower.View()
		if d.view == nil || d.view.Pending == nil || d.view.Pending.Plan != plan {
			continue
		}
		calls, stopped := d.machine.See(d.view.Handover().Pending)
		if stopped {
			return ErrSucceeded
		}
		if err := errors.Join(d.call(ctx, calls), d.listen(ctx), d.watch(ctx)); err != nil {
			return err
		}
	}
}

// listen asks the instances of the hand-over for acknowledgements and votes.
func (d *driver) listen(ctx context.Context) error {
	p := d.view.Pending
	if d.version != p.Version {
		d.version, d.acked = p.Version, map[int32]bool{}
	}
	for _, id := range p.Awaits {
		a, err := ask(ctx, d.exchange, id, request{Status: true})
		if err != nil || a.Version != p.Version {
			continue // it is asked again
		}
		var calls []handoff.Call
		if a.Acked {
			calls = d.machine.Acked(id, a.Version)
		}
		if a.Voted {
			calls = append(calls, d.machine.Voted(id, a.Version)...)
		}
		if err := d.call(ctx, calls); err != nil {
			return err
		}
	}
	return nil
}

// call does what the machine says.
func (d *driver) call(ctx context.Context, calls []handoff.Call) error {
	p := d.view.Pending
	for _, c := range calls {
		var err error
		switch c.Do {
		case handoff.PostAck:
			if d.acked[c.Instance] {
				continue
			}
			_, err = d.api.AckPlan(ctx, p.Plan, wire.AckRequest{
				Instances: wire.IDs(c.Instance), ExecutorEpoch: &d.epoch, Batch: &p.Batch,
			})
			d.acked[c.Instance] = err == nil
		case handoff.PostAbort:
			_, err = d.api.AbortPlan(ctx, p.Plan, wire.AbortRequest{ExecutorEpoch: &d.epoch})
		case handoff.PostRolledBack:
			_, err = d.api.AbortPlan(ctx, p.Plan, wire.AbortRequest{ExecutorEpoch: &d.epoch, RolledBack: new(true)})
		case handoff.Fence:
			for _, to := range c.To { // a marker that is lost is sent again, under a higher epoch
				part := channelPart{Router: c.Router, Epoch: c.RouterEpoch, First: 1,
					Frames: []frame{{Version: d.view.Table.Version(), Marker: c.Version}}}
				_, err = ask(ctx, d.exchange, to, request{Channel: &part})
				if err != nil {
					return err
				}
			}
		}
		if err != nil && !errors.Is(err, wire.CodeTransitionNotAllowed) { // else it has ended meanwhile
			return err
		}
	}
	return nil
}

// watch looks for routers of the hand-over whose leases have run out: the hand-over goes on
// without them.
func (d *driver) watch(ctx context.Context) error {
	if time.Since(d.looked) < time.Second {
		return nil
	}
	d.looked = time.Now()
	list, err := d.api.ListRouters(ctx, d.operator)
	if err != nil {
		return err
	}
	for _, r := range list.Routers {
		if d.view.Pending.Routers[r.Router] == 0 || !r.Expired {
			continue
		}
		own, err := d.api.PutRouter(ctx, d.operator, r.Router, wire.RouterRequest{Lease: "1s"})
		if err != nil {
			return err
		}
		if err := d.call(ctx, d.machine.Lost(r.Router, own.Epoch)); err != nil {
			return err
		}
	}
	return nil
}
