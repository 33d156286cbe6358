package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"
	"sync/atomic"
	"time"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

const operator = "slots"

// slotOverhead is what moving a slot takes beside its content, in bytes that would take as
// long: every node is told of it.
const slotOverhead = 1000

// operator is what plannerd is told of the cluster.
func (c config) operator() wire.OperatorConfiguration {
	out := wire.OperatorConfiguration{ThetaMax: &c.theta, Hash: &wire.Hash{Function: new(wire.HashFunctionReported)},
		KeyOverhead: new(wire.KeyOverhead(slotOverhead)),
		// Nobody is here to approve of plans.
		Approval: &wire.ApprovalOptions{Auto: new(wire.ApprovalAutoAlways), OnPending: new(wire.OnPendingReplace)}}
	names := make([]string, c.nodes) // which get the ids from 0 on, as the operator has had no others
	for i := range names {
		names[i] = "node-" + strconv.Itoa(i)
	}
	out.Instances = wire.Named(names...)
	return out
}

// history is what the drivers have done so far.
type history struct {
	plans, slots, keys, broken atomic.Int64
	bytes                      atomic.Int64
	last                       atomic.Int64 // how long the last plan took, in nanoseconds
}

// errBroken says that a driver breaks off where it is told to.
var errBroken = errors.New("broken off")

// driver sends what slots cost, and moves them as plannerd says. All that it has to
// remember is in plannerd and in the nodes: a driver that ends anywhere has a successor that
// goes on there.
type driver struct {
	config
	cluster  *cluster
	load     *load
	api      *client.Client
	epoch    int64
	known    *wire.Operator // the operator, as plannerd has it
	interval int64
	content  content
	history  *history
	// breakAt is the step at which this driver ends; empty: none.
	breakAt string
}

// steps are those at which drivers are broken off in turn: before a mark is set at a node,
// before keys move, and before the slot is given over at the receiver, the giver and others.
var steps = []string{"started", "importing", "migrating", "migrate", "node 1", "node 2", "node 3", "acknowledge"}

// drive runs drivers, one after the other, until the context ends. Of those, the first are
// broken off, each at another step.
func drive(ctx context.Context, c config, on *cluster, l *load, h *history) error {
	begun := time.Now().UnixMilli() // above the epoch of any driver before
	for n := int64(0); ; n++ {
		api, err := client.New(c.plannerd, client.Config{})
		if err != nil {
			return err
		}
		d := &driver{config: c, cluster: on, load: l, api: api, epoch: begun + n, history: h}
		if int(n) < c.breaks {
			d.breakAt = steps[int(n)%len(steps)]
		}
		if err := d.run(ctx); !errors.Is(err, errBroken) {
			if ctx.Err() != nil {
				err = nil
			}
			return err
		}
		h.broken.Add(1)
	}
}

func (d *driver) run(ctx context.Context) error {
	if err := d.takeOver(ctx); err != nil {
		return err
	}
	for tick := time.NewTicker(d.config.interval); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return ctx.Err()
		case <-tick.C:
		}
		if err := d.plan(ctx); err != nil {
			tick.Stop()
			return err
		}
	}
}

// takeOver finishes what a driver before has left: slots that are half moved, as the nodes
// know, then the rest of its plan, as plannerd knows.
func (d *driver) takeOver(ctx context.Context) (err error) {
	if d.known, err = d.api.GetOperator(ctx, operator, client.GetOperatorOptions{}); err != nil {
		return err
	}
	if d.known.LastInterval != nil {
		d.interval = *d.known.LastInterval + 1
	}
	at, err := d.cluster.look(ctx)
	if err != nil {
		return err
	}
	for _, slot := range at.openSlots() {
		if err := d.move(ctx, slot, at.owner[slot], at.open[slot]); err != nil {
			return err
		}
		log.Printf("slot %d was half moved, and is at node %d now", slot, at.open[slot].instance)
	}
	if d.known.CurrentPlan == nil || d.known.CurrentPlanStatus == nil ||
		*d.known.CurrentPlanStatus != string(wire.PlanStatusApplying) {
		return nil
	}
	err = d.carryOut(ctx, *d.known.CurrentPlan)
	if errors.Is(err, wire.CodeTransitionNotAllowed) { // the last that the driver before did was to acknowledge it
		return nil
	}
	return err
}

// plan ends an interval: it sends what slots cost in it, where they are and what they hold,
// and carries out the plan that comes of it.
func (d *driver) plan(ctx context.Context) error {
	at, err := d.cluster.look(ctx)
	if err != nil {
		return err
	}
	if err := d.cluster.measure(ctx, at, &d.content); err != nil {
		return err
	}
	for slot := range slots {
		d.load.counters.SetState(strconv.AppendInt(nil, int64(slot), 10), d.content.bytes[slot])
	}
	rows := d.load.counters.Close()
	for i := range rows {
		slot, err := strconv.Atoi(string(rows[i].Key))
		if err != nil {
			return err
		}
		rows[i].Instance, rows[i].HashInstance = at.owner[slot].instance, home(slot, d.nodes)
	}
	_, err = d.api.CreatePlanFrom(ctx, operator,
		wire.PlanRequest{Interval: d.interval, ConfigVersion: &d.known.ConfigVersion},
		client.Statistics{Rows: client.Rows(rows), Count: len(rows), Located: true, Hashed: true})
	d.interval++
	if err != nil {
		return err
	}
	// It may be one that a person has approved since, of an interval before.
	next, err := d.api.NextPlan(ctx, operator, client.NextPlanOptions{})
	if err != nil || next.Plan == nil || next.Plan.Status != wire.PlanStatusApproved {
		return err
	}
	return d.carryOut(ctx, next.Plan.Id)
}

// carryOut starts a plan, or takes it over, moves its slots and says so. It may have been
// begun: slots that are where they should be stay.
func (d *driver) carryOut(ctx context.Context, id string) error {
	begin := time.Now()
	p, err := d.api.StartPlan(ctx, id, wire.StartRequest{Executor: "driver", ExecutorEpoch: &d.epoch})
	if err != nil {
		return err
	}
	if err := d.at("started"); err != nil {
		return err
	}
	at, err := d.cluster.look(ctx)
	if err != nil {
		return err
	}
	for m, err := range d.api.Migrations(ctx, id, client.ListMigrationsOptions{}) {
		if err != nil {
			return err
		}
		slot, err := strconv.Atoi(m.Key)
		if err != nil {
			return err
		}
		if to := d.cluster.nodes[m.To]; at.owner[slot] != to {
			if err := d.move(ctx, slot, at.owner[slot], to); err != nil {
				return err
			}
		}
	}
	if err := d.at("acknowledge"); err != nil {
		return err
	}
	ack := wire.AckRequest{Instances: wire.IDs(p.Awaits...), ExecutorEpoch: &d.epoch}
	if _, err = d.api.AckPlan(ctx, id, ack); err != nil {
		return err
	}
	d.history.plans.Add(1)
	d.history.last.Store(int64(time.Since(begin)))
	return nil
}

func (d *driver) move(ctx context.Context, slot int, from, to *node) error {
	told := 0
	keys, err := d.cluster.move(ctx, slot, from, to, func(step string) error {
		if step == "node" {
			told++
			step += " " + strconv.Itoa(told)
		}
		return d.at(step)
	})
	d.history.keys.Add(int64(keys))
	if err != nil {
		return err
	}
	d.history.slots.Add(1)
	d.history.bytes.Add(int64(d.content.bytes[slot]))
	return nil
}

// at breaks off at the step where the driver is to end.
func (d *driver) at(step string) error {
	if d.breakAt == step {
		return fmt.Errorf("%w before %q", errBroken, step)
	}
	return nil
}

// checkRoutes holds where slots are against where plannerd routes them: by the entry of its
// table, else where the slot was at first.
func checkRoutes(ctx context.Context, c config, on *cluster) error {
	api, err := client.New(c.plannerd, client.Config{})
	if err != nil {
		return err
	}
	table, err := api.GetRoutingTable(ctx, operator, client.GetRoutingTableOptions{})
	if err != nil {
		return err
	}
	at, err := on.look(ctx)
	if err != nil {
		return err
	}
	if len(at.open) > 0 {
		return fmt.Errorf("moves of the slots %v are not over", at.openSlots())
	}
	entries := map[string]int32{}
	for _, e := range table.Entries {
		entries[e.Key] = e.Instance
	}
	for slot, n := range at.owner {
		want, found := entries[strconv.Itoa(slot)]
		if !found {
			want = home(slot, c.nodes)
		}
		if n.instance != want {
			return fmt.Errorf("slot %d is at node %d, and its route is %d", slot, n.instance, want)
		}
	}
	return nil
}
