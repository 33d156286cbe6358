package scheme

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

// Engine computes plans: so many at the same time, each within its time, which begins
// when it is asked for.
type Engine struct {
	*reading.Reader
	Slots    *admission.Slots
	Longest  time.Duration // that a plan or an analysis may take
	Now      func() time.Time
	Observer reading.Observer
}

// Run computes one plan of a routing table when a slot is free.
func (e *Engine) Run(ctx context.Context, strategy string, in *Input, p operator.Parameters) (*Result, error) {
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
	ctx, end := e.Observer.Start(ctx, "plan", "plannerd.strategy", strategy)
	plan, err := e.Compute(ctx, func(snapshot *planner.Snapshot, o planner.Options) (_ *planner.Plan, err error) {
		if in.Foreseen == nil {
			return run(strategy, snapshot, o)
		}
		situation := policy.Situation{Snapshot: snapshot, Forecast: in.Foreseen.Forecast, Since: in.Since}
		d, err = in.Policy.Decide(run, strategy, situation, o)
		return d.Plan, err
	}, in.Snapshot, p)
	end(err)
	if err != nil {
		return nil, err
	}
	plan.Strategy = strategy
	e.Observer.Planned(strategy, time.Since(begin))
	out := in.Result(plan)
	if compacted != nil && (d.Reason == policy.Planned || d.Reason == policy.Balanced) {
		out.compacted(in.compression, compacted)
	}
	out.decided(d.Reason)
	out.Foresight = in.Foreseen.Told(out, d.Without, d.With)
	return out, nil
}

// decided says why a policy leaves everything where it is, if it does.
func (o *Result) decided(why policy.Reason) {
	cause, ok := map[policy.Reason]planner.Cause{
		policy.Balanced: planner.CauseBalanced, policy.Cooldown: figures.CauseCooldown,
		policy.Improbable:  figures.CauseImprobable,
		policy.LittleWorth: figures.CauseLittleGain,
	}[why]
	if ok && !slices.Contains(o.Causes, cause) {
		o.Causes = []planner.Cause{cause}
	}
}

// Compute runs a strategy when a slot is free, within the time that the parameters
// and the service allow.
func (e *Engine) Compute(ctx context.Context, strategy planner.Strategy, snapshot *planner.Snapshot,
	p operator.Parameters) (*planner.Plan, error) {
	w, options := e.Watch(ctx, p), p.Planner()
	release, err := e.Slots.Take(ctx, p.Time(e.Longest))
	if err != nil {
		return nil, err
	}
	defer release()
	options.Stop = w.Stop
	plan, err := strategy(snapshot, options)
	switch {
	case ctx.Err() != nil: // nobody waits for it any more
		return nil, ctx.Err()
	case errors.Is(err, planner.ErrStopped):
		return unfinished(snapshot, p.Planner(), w.late)
	}
	return plan, err
}

// Watch tells a plan when it has to stop.
type Watch struct {
	late bool // its time is up
	Stop func() bool
}

// Watch starts the time that the parameters and the service allow for a plan.
func (e *Engine) Watch(ctx context.Context, p operator.Parameters) *Watch {
	w, end := &Watch{}, e.Now().Add(p.Time(e.Longest))
	w.Stop = func() bool {
		w.late = w.late || !e.Now().Before(end)
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

// Turn waits for a slot as long as a plan may take.
func (e *Engine) Turn(ctx context.Context) (release func(), err error) {
	return e.Slots.Take(ctx, e.Longest)
}
