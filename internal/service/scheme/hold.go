package scheme

import (
	"context"

	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/planner/policy"
	"plannerd/store"
)

// SinceMoved is how many intervals of this epoch ago a plan that moved keys was committed;
// 0: none was, or the policy does not ask.
func SinceMoved(ctx context.Context, r *reading.Reader, b *Base, st *Statistics) (int, error) {
	cooldown := int64(b.Policy().CooldownIntervals)
	if cooldown == 0 {
		return 0, nil
	}
	filter := store.PlanFilter{Operator: b.Op.Name, Status: store.StatusCommitted, Limit: PlansAtATime}
	for {
		plans, next, err := r.Store.Plans(ctx, filter)
		if err != nil {
			return 0, refusal.AboutOperator(b.Op.Name, err)
		}
		for _, p := range plans {
			since := st.Interval - p.Interval
			if p.Epoch != st.Epoch || since > cooldown {
				return 0, nil
			}
			if p.MigrationKeys > 0 || figures.MadeOfQueues(p) {
				return int(since), nil
			}
		}
		if next == 0 {
			return 0, nil
		}
		filter.Before = next
	}
}

// Policy is the one that plans are made by.
func (b *Base) Policy() policy.Policy {
	if b.Foreseen != nil {
		return b.Foreseen.Policy
	}
	return b.Newest.Policy.Policy
}

// PlansAtATime is how many plans are read at once where as many as needed are.
const PlansAtATime = 100

// PlansBefore is how many plans are read at once to find that of the interval before: it
// is mostly the newest.
const PlansBefore = 2
