package planning

import (
	"context"
	"math"
	"slices"

	"plannerd/planner"
	"plannerd/store"
)

// held returns the cause that forbids to act on mere imbalance: the trigger's theta is
// not exceeded, or the last plan is too recent. Drained instances, a changed hash and
// a table over its limit are never held back.
func held(ctx context.Context, r *reader, b *base, snapshot *planner.Snapshot, st *Statistics) (planner.Cause, error) {
	c := b.newest.Configuration
	if b.changed || c.Trigger.Theta <= c.ThetaMax && c.Trigger.CooldownIntervals == 0 {
		return "", nil
	}
	balanced := func(theta float64) (bool, error) {
		options := c.Planner()
		options.ThetaMax, options.Certificate = theta, planner.CertificateOff
		probe, err := planner.Inspect(snapshot, options)
		return err == nil && slices.Contains(probe.Causes, planner.CauseBalanced), err
	}
	if yes, err := balanced(max(c.Trigger.Theta, c.ThetaMax)); yes || err != nil {
		return planner.CauseBalanced, err
	}
	if yes, err := balanced(anyTheta(c.Instances)); !yes || err != nil {
		return "", err
	}
	if yes, err := coolingDown(ctx, r, b.op.Name, c.Trigger, st); !yes || err != nil {
		return "", err
	}
	return causeCooldown, nil
}

// anyTheta is a tolerance that no placement exceeds: one instance may carry all.
func anyTheta(instances []Instance) float64 {
	least, sum := math.Inf(1), 0.0
	for _, d := range instances {
		least, sum = min(least, d.Capacity), sum+d.Capacity
	}
	return min(sum/least, math.MaxFloat64)
}

// plansAtATime is how many plans are read at once where as many as needed are.
const plansAtATime = 100

// coolingDown reports whether a plan that migrated keys was committed within the last
// intervals of this epoch.
func coolingDown(ctx context.Context, r *reader, operator string, t Trigger, st *Statistics) (bool, error) {
	if t.CooldownIntervals == 0 {
		return false, nil
	}
	filter := store.PlanFilter{Operator: operator, Status: store.StatusCommitted, Limit: plansAtATime}
	for {
		plans, next, err := r.store.Plans(ctx, filter)
		if err != nil {
			return false, aboutOperator(operator, err)
		}
		for _, p := range plans {
			if p.Epoch != st.Epoch || st.Interval-p.Interval > t.CooldownIntervals {
				return false, nil
			}
			if p.MigrationKeys > 0 {
				return true, nil
			}
		}
		if next == 0 {
			return false, nil
		}
		filter.Before = next
	}
}
