package planning

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"plannerd/store"
)

// UnfilledInstance is an instance that a plan leaves below its least load.
type UnfilledInstance struct {
	Instance int32 `json:"instance"`
	Shortage
}

// UnfilledOf lists the instances that a plan leaves below their least load, ascending; nil
// where no load has a lower bound.
func UnfilledOf(f Figures) ([]UnfilledInstance, error) {
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
func loadsWith(f Figures, member string) (loads []Load, err error) {
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
// committed one, and those that the last committed plan was to fill and left below their
// least load without a proof that no plan fills them.
func (r *reader) toFill(ctx context.Context, b *base) ([]int32, error) {
	ids := added(b.pinned, b.newest)
	plans, _, err := r.store.Plans(ctx, store.PlanFilter{Operator: b.op.Name, Status: store.StatusCommitted, Limit: 1})
	if err != nil || len(plans) == 0 {
		return ids, aboutOperator(b.op.Name, err)
	}
	last, err := r.Plan(ctx, plans[0].ID)
	if err != nil {
		return nil, err
	}
	loads, err := loadsWith(last.Figures, "filling")
	for _, l := range loads {
		if l.Filling != nil && l.Unfilled != nil && !l.Unfilled.Proven {
			ids = append(ids, l.ID)
		}
	}
	return ids, err
}

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
