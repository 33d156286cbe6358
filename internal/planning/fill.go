package planning

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"plannerd/internal/refusal"
	"plannerd/store"
)

// UnfilledInstance is an instance that a plan leaves below its least load.
type UnfilledInstance struct {
	Instance int32 `json:"instance"`
	Shortage
}

// UnfilledOf lists the instances that a plan leaves below their least load, ascending; nil
// where no load has a lower bound.
func UnfilledOf(f store.Figures) ([]UnfilledInstance, error) {
	loads, err := loadsWith(f, "least_load")
	if loads == nil || err != nil {
		return nil, err
	}
	list := []UnfilledInstance{}
	for _, l := range loads {
		if l.Unfilled != nil {
			list = append(list, UnfilledInstance{l.ID, *l.Unfilled})
		}
	}
	return list, nil
}

// loadsWith reads the loads of a plan; nil where none has that member.
func loadsWith(f store.Figures, member string) (loads []Load, err error) {
	if !bytes.Contains(f.Instances, []byte(`"`+member+`"`)) {
		return nil, nil
	}
	if err := json.Unmarshal(f.Instances, &loads); err != nil {
		return nil, fmt.Errorf("reading stored loads: %w", err)
	}
	return loads, nil
}

// added lists the instances that one configuration has and another has not.
func added(before, after *placement) (ids []int32) {
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
func toFill(ctx context.Context, r *reader, b *base) ([]int32, error) {
	ids := added(b.pinned, b.newest)
	last, err := lastInForce(ctx, r, b.op)
	if last == nil || err != nil {
		return ids, err
	}
	if cutShort(*last) {
		left, err := filledBy(*last)
		return append(ids, left...), err
	}
	loads, err := loadsWith(last.Figures, "filling")
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

// lastInForce is the newest plan of which all or some batches are in force; nil: there is none.
func lastInForce(ctx context.Context, r *reader, op store.Operator) (*store.Plan, error) {
	if op.CurrentStatus.InFlight() {
		if p, err := r.Plan(ctx, op.CurrentPlan); err != nil || p.BatchesDone > 0 {
			return &p, err
		}
	}
	committed, _, err := r.store.Plans(ctx, store.PlanFilter{
		Operator: op.Name, Status: store.StatusCommitted, Limit: 1,
	})
	if err != nil {
		return nil, refusal.AboutOperator(op.Name, err)
	}
	aborted, _, err := r.store.Plans(ctx, store.PlanFilter{
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

// cutShort reports whether some batches of a plan are in force, and others are not.
func cutShort(p store.Plan) bool { return p.BatchesDone > 0 && p.BatchesDone < p.BatchCount }

// filledBy lists the instances that a stored plan was to fill.
func filledBy(p store.Plan) (ids []int32, err error) {
	loads, err := loadsWith(p.Figures, "filling")
	for _, l := range loads {
		if l.Filling != nil {
			ids = append(ids, l.ID)
		}
	}
	return ids, err
}
