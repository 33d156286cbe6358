package table

import (
	"cmp"
	"context"
	"slices"

	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/store"
)

// Added lists the instances that one configuration has and another has not.
func Added(before, after *reading.Placement) (ids []int32) {
	for _, d := range after.Instances {
		if !before.Has(d.ID) {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// toFill lists the instances that plans are to fill: those that the configuration adds to the
// committed one, and those that the last plan in force was to fill and left below their
// least load without a proof that no plan fills them. One that ended before its last batch
// proves nothing.
func toFill(ctx context.Context, r *reading.Reader, b *scheme.Base) ([]int32, error) {
	ids := Added(b.Pinned, b.Newest)
	last, err := LastInForce(ctx, r, b.Op)
	if last == nil || err != nil {
		return ids, err
	}
	if figures.CutShort(*last) {
		left, err := figures.FilledBy(*last)
		return append(ids, left...), err
	}
	loads, err := figures.LoadsWith(last.Figures, "filling")
	for _, l := range loads {
		if l.Filling != nil && l.Unfilled != nil && !l.Unfilled.Proven {
			ids = append(ids, l.ID)
		}
	}
	return ids, err
}

// mostAborted is how many plans that were given up are looked through for one of which
// batches are in force.
const mostAborted = 20

// LastInForce is the newest plan of which all or some batches are in force; nil: there is none.
func LastInForce(ctx context.Context, r *reading.Reader, op store.Operator) (*store.Plan, error) {
	if op.CurrentStatus.InFlight() {
		if p, err := r.Plan(ctx, op.CurrentPlan); err != nil || p.BatchesDone > 0 {
			return &p, err
		}
	}
	committed, _, err := r.Store.Plans(ctx, store.PlanFilter{
		Operator: op.Name, Status: store.StatusCommitted, Limit: 1,
	})
	if err != nil {
		return nil, refusal.AboutOperator(op.Name, err)
	}
	aborted, _, err := r.Store.Plans(ctx, store.PlanFilter{
		Operator: op.Name, Status: store.StatusAborted, Limit: mostAborted,
	})
	if err != nil {
		return nil, refusal.AboutOperator(op.Name, err)
	}
	for _, p := range aborted {
		if p.BatchesDone > 0 {
			committed = append(committed, p)
			break
		}
	}
	if len(committed) == 0 {
		return nil, nil
	}
	newest := slices.MaxFunc(committed, func(a, b store.Plan) int { return cmp.Compare(a.BaseVersion, b.BaseVersion) })
	p, err := r.Plan(ctx, newest.ID)
	return &p, err
}
