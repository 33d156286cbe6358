package planning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plannerd/compact"
	"plannerd/internal/operator"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/planner/policy"
)

// engine computes plans: so many at the same time, each within its time, which begins
// when it is asked for.
type engine struct {
	*reading.Reader
	slots    *admission.Slots
	longest  time.Duration // that a plan or an analysis may take
	now      func() time.Time
	observer reading.Observer
}

// run computes one plan of a routing table when a slot is free.
func (e *engine) run(ctx context.Context, strategy string, in *planInput, p operator.Parameters) (*PlanResult, error) {
	if _, ok := planner.Lookup(strategy); !ok {
		return nil, fmt.Errorf("there is no strategy %q", strategy) // what is stored was checked
	}
	begin := time.Now()
	var compacted *compact.KeyPlan
	run := func(strategy string, snapshot *planner.Snapshot, o planner.Options) (*planner.Plan, error) {
		if p.Compact.Degree == 0 {
			return planner.Run(strategy, snapshot, o)
		}
		var err error
		if compacted, err = in.planCompact(strategy, p.Compact, o); err != nil {
			return nil, err
		}
		return compacted.Plan, nil
	}
	d := policy.Decision{}
	ctx, end := e.observer.Start(ctx, "plan", "plannerd.strategy", strategy)
	plan, err := e.compute(ctx, func(snapshot *planner.Snapshot, o planner.Options) (_ *planner.Plan, err error) {
		if in.foreseen == nil {
			return run(strategy, snapshot, o)
		}
		situation := policy.Situation{Snapshot: snapshot, Forecast: in.foreseen.forecast, Since: in.since}
		d, err = in.policy.Decide(run, strategy, situation, o)
		return d.Plan, err
	}, in.Snapshot, p)
	end(err)
	if err != nil {
		return nil, err
	}
	plan.Strategy = strategy
	e.observer.Planned(strategy, time.Since(begin))
	out := in.result(plan)
	if compacted != nil && (d.Reason == policy.Planned || d.Reason == policy.Balanced) {
		out.compacted(in.compression, compacted)
	}
	out.decided(d.Reason)
	out.foresight = in.foreseen.told(plan, d.Without, d.With)
	return out, nil
}

// decided says why a policy leaves everything where it is, if it does.
func (o *PlanResult) decided(why policy.Reason) {
	cause, ok := map[policy.Reason]planner.Cause{
		policy.Balanced: planner.CauseBalanced, policy.Cooldown: figures.CauseCooldown, policy.Improbable: figures.CauseImprobable,
		policy.LittleWorth: figures.CauseLittleGain,
	}[why]
	if ok && !slices.Contains(o.Causes, cause) {
		o.Causes = []planner.Cause{cause}
	}
}

// compute runs a strategy when a slot is free, within the time that the parameters
// and the service allow.
func (e *engine) compute(ctx context.Context, strategy planner.Strategy, snapshot *planner.Snapshot,
	p operator.Parameters) (*planner.Plan, error) {
	w, options := e.watch(ctx, p), p.Planner()
	release, err := e.slots.Take(ctx, p.Time(e.longest))
	if err != nil {
		return nil, err
	}
	defer release()
	options.Stop = w.stop
	plan, err := strategy(snapshot, options)
	switch {
	case ctx.Err() != nil: // nobody waits for it any more
		return nil, ctx.Err()
	case errors.Is(err, planner.ErrStopped):
		return unfinished(snapshot, p.Planner(), w.late)
	}
	return plan, err
}

// watch tells a plan when it has to stop.
type watch struct {
	late bool // its time is up
	stop func() bool
}

// watch starts the time that the parameters and the service allow for a plan.
func (e *engine) watch(ctx context.Context, p operator.Parameters) *watch {
	w, end := &watch{}, e.now().Add(p.Time(e.longest))
	w.stop = func() bool {
		w.late = w.late || !e.now().Before(end)
		return w.late || ctx.Err() != nil
	}
	return w
}

// unfinished is the plan of a strategy that had none when its time or its work budget
// was up: everything stays as it is.
func unfinished(snapshot *planner.Snapshot, options planner.Options, late bool) (*planner.Plan, error) {
	options.Certificate = planner.CertificateOff
	plan, err := planner.Inspect(snapshot, options)
	if err != nil {
		return nil, err
	}
	plan.Causes, plan.EndReason = []planner.Cause{figures.CauseUnfinished}, planner.EndWorkBudget
	if late {
		plan.EndReason = planner.EndStopped
	}
	plan.LeaveTable()
	return plan, nil
}

// turn waits for a slot as long as a plan may take.
func (e *engine) turn(ctx context.Context) (release func(), err error) {
	return e.slots.Take(ctx, e.longest)
}
