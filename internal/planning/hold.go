package planning

import (
	"context"

	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/planner/policy"
	"plannerd/store"
)

// sinceMoved is how many intervals of this epoch ago a plan that moved keys was committed;
// 0: none was, or the policy does not ask.
func sinceMoved(ctx context.Context, r *reading.Reader, b *base, st *Statistics) (int, error) {
	cooldown := int64(b.policy().CooldownIntervals)
	if cooldown == 0 {
		return 0, nil
	}
	filter := store.PlanFilter{Operator: b.op.Name, Status: store.StatusCommitted, Limit: plansAtATime}
	for {
		plans, next, err := r.Store.Plans(ctx, filter)
		if err != nil {
			return 0, refusal.AboutOperator(b.op.Name, err)
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

// policy is the one that plans are made by.
func (b *base) policy() policy.Policy {
	if b.foreseen != nil {
		return b.foreseen.policy
	}
	return b.newest.Policy.Policy
}

// plansAtATime is how many plans are read at once where as many as needed are.
const plansAtATime = 100

// plansBefore is how many plans are read at once to find that of the interval before: it
// is mostly the newest.
const plansBefore = 2
