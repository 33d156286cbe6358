// Package drive plans a stream of intervals, each on the routing table that the
// plan before it left, as an engine that applies every plan would.
//
// It is what the commands and the simulations in tests share. A key that complete
// statistics do not name has neither cost nor state. Its table entry stays for a
// while; then a plan that does something else drops it, and the key starts afresh at
// its hash when it comes back.
package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plannerd/internal/absence"
	"plannerd/planner"
)

// Operator is what is planned for, and how.
type Operator struct {
	// Target is the configuration of every plan.
	Target planner.Configuration
	// Base is what the first interval runs on. Its zero value is Target without
	// a table: keys are where the rows say, else where the hash puts them.
	Base planner.Base
	// Strategy is the name of a registered strategy.
	Strategy string
	// Plan makes the plans in its place. Nil: the strategy itself does.
	Plan planner.Strategy
	// Options are its parameters. Stop is set by the driver.
	Options planner.Options
	// EntryGrace is for how many intervals in a row a key must be absent before its table
	// entry may be dropped.
	EntryGrace int
	// PlanTimeout bounds the time of each plan, TotalTimeout that of all plans
	// together. 0: no bound.
	PlanTimeout, TotalTimeout time.Duration
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// Driver carries one operator through a stream. It is not safe for concurrent use.
type Driver struct {
	op     Operator
	base   planner.Base
	absent absence.Counts // of entries of the table of base
	spent  time.Duration
	done   bool
}

// Step is what became of one interval.
type Step struct {
	Interval int64
	// Plan is nil when time ran out before any plan was complete.
	Plan *planner.Plan
	// Snapshot is what was planned on; nil when time had run out before.
	Snapshot *planner.Snapshot
	// Compaction is the compact form that was planned on. Nil: keys were, or there is no plan.
	Compaction *Compaction
	// Elapsed is the time that the strategy took.
	Elapsed time.Duration
	// Dropped are the absent keys that the plan moves: those whose table entries it drops.
	Dropped []Dropped
	// Whole has the state of all keys, as a [Window] tells it. Nil: it is as planned on.
	Whole *planner.Statistics
}

// Dropped is an absent key that follows its hash from now on. Instances are indices; To is
// below 0 where nobody knows the hash of absent keys.
type Dropped struct {
	Key      []byte
	From, To int32
}

// New returns a driver at the beginning of a stream.
func New(op Operator) *Driver {
	if op.Now == nil {
		op.Now = time.Now
	}
	base := op.Base
	if base.Configuration.Instances == nil {
		base.Configuration = op.Target
	}
	base.Filling = added(base.Configuration, op.Target)
	return &Driver{op: op, base: base}
}

// added lists the instances that one configuration has and another has not: they are to be
// filled.
func added(before, after planner.Configuration) (ids []int32) {
	for _, d := range after.Instances {
		if !slices.ContainsFunc(before.Instances, func(x planner.Instance) bool { return x.ID == d.ID }) {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// Operator returns what New was given.
func (d *Driver) Operator() Operator { return d.op }

// Exhausted reports that Operator.TotalTimeout is used up: no interval will be
// planned any more.
func (d *Driver) Exhausted() bool { return d.done }

// Table is the routing table after the last step. Nil: none is known yet.
func (d *Driver) Table() *planner.RoutingTable { return d.base.Table }

// Step plans one interval and applies the plan. The error is a
// [planner.InputError], ctx's, or one of the strategy; running out of time is
// none. After a step without a plan the table is the one before it.
func (d *Driver) Step(ctx context.Context, interval int64, stats *planner.Statistics) (Step, error) {
	if d.done {
		return Step{Interval: interval}, nil
	}
	absent := absence.Interval{Before: d.absent, Table: d.base.Table, Statistics: stats}
	base := d.base
	base.Kept = absent.Kept(d.op.EntryGrace)
	snapshot, err := planner.NewSnapshot(stats, d.op.Target, base)
	if err != nil {
		return Step{Interval: interval}, err
	}
	d.absent = absent.After(snapshot.Entry)
	step, err := d.On(ctx, interval, snapshot)
	if err != nil || step.Plan == nil {
		return step, err
	}
	if onlyDrops(step.Plan) {
		step.Plan.LeaveTable()
	}
	step.Dropped = d.dropped(step.Plan)
	return step, d.apply(step.Plan)
}

// onlyDrops reports whether all that a plan does is to drop entries of absent keys, which is
// no reason for another table.
func onlyDrops(p *planner.Plan) bool {
	return !p.Acts() && len(p.Set) == 0 &&
		!slices.ContainsFunc(p.Unset, func(u planner.Removal) bool { return u.Item >= 0 })
}

// dropped finds the absent keys that a plan moves.
func (d *Driver) dropped(p *planner.Plan) (out []Dropped) {
	instance := func(id int32) int32 {
		i, ok := slices.BinarySearchFunc(p.Snapshot.Instances, id,
			func(in planner.Instance, id int32) int { return cmp.Compare(in.ID, id) })
		if !ok {
			return planner.NoInstance
		}
		return int32(i)
	}
	for i, u := range p.Unset {
		if u.Item >= 0 {
			continue
		}
		e := p.Snapshot.Table.At(int(u.Entry))
		x := Dropped{Key: p.UnsetKey(i), From: instance(e.Instance), To: planner.NoInstance}
		if hash := d.op.Target.Hash; hash != nil {
			if id, err := hash.Instance(x.Key, planner.KeyHash(x.Key)); err == nil {
				x.To = instance(id)
			}
		}
		if x.From != x.To {
			out = append(out, x)
		}
	}
	return out
}

// On plans on a snapshot and leaves the routing table as it is. Its errors are
// those of Step.
func (d *Driver) On(ctx context.Context, interval int64, snapshot *planner.Snapshot) (Step, error) {
	step := Step{Interval: interval, Snapshot: snapshot}
	if d.done {
		return step, nil
	}
	options := d.op.Options
	start := d.op.Now()
	options.Stop = d.stop(ctx, start)
	var err error
	if d.op.Plan != nil {
		step.Plan, err = d.op.Plan(snapshot, options)
	} else {
		step.Plan, err = planner.Run(d.op.Strategy, snapshot, options)
	}
	step.Elapsed = d.op.Now().Sub(start)
	d.spent += step.Elapsed
	d.done = d.op.TotalTimeout > 0 && d.spent >= d.op.TotalTimeout
	switch {
	case ctx.Err() != nil:
		return step, ctx.Err()
	case errors.Is(err, planner.ErrStopped):
		step.Plan = nil
		return step, nil
	}
	return step, err
}

// stop ends planning when ctx is done or the time of this plan is up.
func (d *Driver) stop(ctx context.Context, start time.Time) func() bool {
	var deadline time.Time
	if d.op.PlanTimeout > 0 {
		deadline = start.Add(d.op.PlanTimeout)
	}
	if d.op.TotalTimeout > 0 {
		if end := start.Add(d.op.TotalTimeout - d.spent); deadline.IsZero() || end.Before(deadline) {
			deadline = end
		}
	}
	return func() bool {
		return ctx.Err() != nil || !deadline.IsZero() && d.op.Now().After(deadline)
	}
}

// apply makes the planned table the one of the next interval. From then on the
// table and the hash say where keys are: rows describe the engine that was
// recorded, not the one that applied this plan.
func (d *Driver) apply(p *planner.Plan) error {
	table, err := p.Table()
	if err != nil {
		return fmt.Errorf("the table after strategy %s: %w", d.op.Strategy, err)
	}
	d.base = planner.Base{Configuration: d.op.Target, Table: table, IgnoreInstances: true, Filling: toFill(p)}
	return nil
}

// toFill lists the instances that a plan was to fill and did not, without a proof that none
// does.
func toFill(p *planner.Plan) (ids []int32) {
	for _, y := range p.Unfilled {
		if d := p.Snapshot.Instances[y.Instance]; d.Filling && !y.Proven {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// StepError says at which interval of a stream a run failed.
type StepError struct {
	Interval int64
	Err      error
}

func (e *StepError) Error() string { return fmt.Sprintf("interval %d: %v", e.Interval, e.Err) }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }
