package job

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/handoff"
	"plannerd/sdk/go/router"
	"plannerd/sdk/go/stats"
	"plannerd/sdk/go/wire"
)

const operator = "counts"

// driver sends statistics, starts plans, and sees them to their end.
type driver struct {
	config
	bus        Bus
	api        *client.Client
	epoch      int64
	machine    *handoff.Driver
	view       *router.View
	interval   int64
	latest     map[int32]statistics
	asked      int
	began      time.Time // of the plan that is pending
	history    *history
	failpoints []*failpoint // its own, and plannerd's
	// The instances that have acknowledged the pending version.
	acked        []int32
	ackedVersion int64
}

// history is what the drivers have done so far.
type history struct {
	plans atomic.Int64
	last  atomic.Int64 // how long the last plan took, in nanoseconds
}

// runDriver runs until the context ends, or another driver takes over.
func runDriver(ctx context.Context, c config, h *history, failpoints []*failpoint) error {
	b, err := c.transport.Connect(ctx, c.address)
	if err != nil {
		return err
	}
	defer b.Close()
	api, err := client.New(c.plannerd, client.Config{})
	if err != nil {
		return err
	}
	epoch := time.Now().UnixMilli() // higher than that of any driver before
	d := &driver{config: c, bus: b, api: api, epoch: epoch, machine: handoff.NewDriver(epoch),
		latest: map[int32]statistics{}, history: h, failpoints: failpoints}
	return d.run(ctx)
}

func (d *driver) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard, err := inbox(d.bus, 1024, ackSubject, statsSubject)
	if err != nil {
		return err
	}
	if err := patiently(ctx, func() error { return d.takeOver(ctx) }); err != nil {
		return err
	}
	d.at("takes over")
	views, err := follow(ctx, d.api, "")
	if err != nil {
		return err
	}
	plan, watch := time.NewTicker(d.config.interval), time.NewTicker(time.Second)
	defer plan.Stop()
	defer watch.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case v := <-views:
			err = d.see(ctx, v)
		case m := <-heard:
			err = d.hear(ctx, m)
		case <-plan.C:
			err = d.ask()
		case <-watch.C:
			err = d.watch(ctx)
		}
		switch {
		case errors.Is(err, ErrFenced):
			return err
		case err != nil && ctx.Err() == nil:
			log.Printf("driver: %v", err) // the service may be away; what is owed is asked for again
		}
	}
}

// takeOver takes over what a driver before has started.
func (d *driver) takeOver(ctx context.Context) error {
	o, err := d.api.GetOperator(ctx, operator, client.GetOperatorOptions{})
	if err != nil {
		return err
	}
	if o.LastInterval != nil {
		d.interval = *o.LastInterval + 1
	}
	if o.CurrentPlan == nil || o.CurrentPlanStatus == nil || *o.CurrentPlanStatus == "proposed" {
		return nil
	}
	return d.start(ctx, *o.CurrentPlan)
}

func (d *driver) at(step string) {
	for _, x := range d.failpoints {
		x.at(step)
	}
}

func (d *driver) start(ctx context.Context, plan string) error {
	_, err := d.api.StartPlan(ctx, plan, wire.StartRequest{Executor: "driver", ExecutorEpoch: &d.epoch})
	return err
}

func (d *driver) see(ctx context.Context, v *router.View) error {
	old := d.view
	d.view = v
	if v.Pending != nil && (old == nil || old.Pending == nil) {
		d.began = time.Now()
	}
	if v.Pending == nil && old != nil && old.Pending != nil {
		d.history.plans.Add(1)
		d.history.last.Store(int64(time.Since(d.began)))
	}
	calls, stopped := d.machine.See(v.Handover().Pending)
	if stopped && v.Pending != nil {
		return ErrFenced
	}
	return d.call(ctx, calls)
}

// hear takes what instances say.
func (d *driver) hear(ctx context.Context, m Message) error {
	if m.Subject == statsSubject {
		var s statistics
		if err := json.Unmarshal(m.Content, &s); err != nil {
			return err
		}
		if s.Asked != d.asked {
			return nil
		}
		d.latest[s.Instance] = s
		return d.plan(ctx)
	}
	var r reply
	if err := json.Unmarshal(m.Content, &r); err != nil {
		return err
	}
	if r.Vote {
		return d.call(ctx, d.machine.Voted(r.Instance, r.Version))
	}
	return d.call(ctx, d.machine.Acked(r.Instance, r.Version))
}

// call does what the machine says.
func (d *driver) call(ctx context.Context, calls []handoff.Call) error {
	for _, c := range calls {
		p := d.view.Pending
		if p == nil || p.Version != c.Version {
			continue
		}
		var err error
		switch c.Do {
		case handoff.PostAck:
			err = d.ack(ctx, p, c.Instance)
		case handoff.PostAbort:
			_, err = d.api.AbortPlan(ctx, p.Plan, wire.AbortRequest{ExecutorEpoch: &d.epoch})
		case handoff.PostRolledBack:
			_, err = d.api.AbortPlan(ctx, p.Plan, wire.AbortRequest{ExecutorEpoch: &d.epoch, RolledBack: new(true)})
		case handoff.Fence:
			err = d.fence(ctx, c)
		}
		switch {
		case errors.Is(err, wire.CodeFenced):
			return ErrFenced
		case errors.Is(err, wire.CodeTransitionNotAllowed): // it has ended meanwhile
		case err != nil:
			return err
		}
	}
	return nil
}

// ack acknowledges for all instances at once, when all have: each request takes the service
// a transaction, while keys wait. What a driver forgets that ends, instances say again.
func (d *driver) ack(ctx context.Context, p *wire.PendingTable, instance int32) error {
	if d.ackedVersion != p.Version {
		d.ackedVersion, d.acked = p.Version, nil
	}
	if !slices.Contains(d.acked, instance) {
		d.acked = append(d.acked, instance)
	}
	if len(d.acked) < len(p.Awaits) {
		return nil
	}
	d.at("before acknowledgement")
	_, err := d.api.AckPlan(ctx, p.Plan, wire.AckRequest{
		Instances: wire.IDs(d.acked...), ExecutorEpoch: &d.epoch, Batch: &p.Batch,
	})
	d.at("acknowledged")
	return err
}

// fence announces the plan for a router that is lost. One that is not, and has registered
// again meanwhile, announces it itself.
func (d *driver) fence(ctx context.Context, c handoff.Call) error {
	channels, err := open(ctx, d.bus, d.api, c.Router, c.RouterEpoch)
	if err == nil {
		defer channels.Close()
		err = d.announce(ctx, channels, c)
	}
	if errors.Is(err, ErrFenced) {
		return nil
	}
	return err
}

// announce appends the markers of a router.
func (d *driver) announce(ctx context.Context, channels Appender, c handoff.Call) error {
	floor, err := d.bus.Floor(ctx, c.Router) // the router looks there how far it came
	if err != nil {
		return err
	}
	var list []*Outgoing
	for _, to := range c.To {
		list = append(list, &Outgoing{Frame: Frame{Epoch: c.RouterEpoch, Marker: c.Version, Floor: floor}, To: to})
	}
	return channels.Append(ctx, list, func() {})
}

// watch looks after a plan that takes long: routers may be lost, and answers.
func (d *driver) watch(ctx context.Context) error {
	if d.view == nil || d.view.Pending == nil || time.Since(d.began) < time.Second {
		return nil
	}
	if err := d.bus.Publish(askSubject, nil); err != nil {
		return err
	}
	list, err := d.api.ListRouters(ctx, operator)
	if err != nil {
		return err
	}
	for _, r := range list.Routers {
		if _, awaited := d.view.Pending.Routers[r.Router]; !awaited || !r.Expired {
			continue
		}
		own, err := d.api.PutRouter(ctx, operator, r.Router, wire.RouterRequest{Lease: lease})
		if err != nil {
			return err
		}
		if err := d.call(ctx, d.machine.Lost(r.Router, own.Epoch)); err != nil {
			return err
		}
	}
	return nil
}

// ask asks all instances for the statistics of the interval that is over.
func (d *driver) ask() error {
	if d.view == nil || d.view.Pending != nil {
		return nil
	}
	clear(d.latest)
	d.asked++
	return d.bus.Publish(reportSubject, []byte(strconv.Itoa(d.asked)))
}

// plan sends the statistics, once all instances have answered, and starts the plan that is
// made of them. Keys are where the table says.
func (d *driver) plan(ctx context.Context) error {
	if len(d.latest) < d.instances || d.view.Pending != nil {
		return nil
	}
	counted := map[int32][]client.Row{}
	for id, s := range d.latest {
		counted[id] = s.Keys
	}
	clear(d.latest)
	rows := stats.Merge(counted)
	if len(rows) == 0 {
		return nil
	}
	request := wire.PlanRequest{Interval: d.interval, TableVersion: new(d.view.Table.Version())}
	if d.view.Origin != "" {
		request.TableOrigin = &d.view.Origin
	}
	_, err := d.api.CreatePlanFrom(ctx, operator, request, client.Statistics{Rows: client.Rows(rows)})
	d.interval++
	if err != nil {
		return err
	}
	// It may be one that a person has approved since, of an interval before.
	next, err := d.api.NextPlan(ctx, operator, client.NextPlanOptions{})
	if err != nil || next.Plan == nil || next.Plan.Status != wire.PlanStatusApproved {
		return err
	}
	d.at("plan made")
	err = d.start(ctx, next.Plan.Id)
	d.at("started")
	return err
}
