package intake

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/go-json-experiment/json"

	"plannerd/internal/input/stored"
	"plannerd/internal/refusal"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/web/admission"
	"plannerd/planner/partitioner"
	"plannerd/store"
)

// InputOf reads the statistics that a stored plan was made of.
func (s *History) InputOf(ctx context.Context, p store.Plan, memory *admission.Lease) (*scheme.Statistics, error) {
	blob, err := s.Store.Input(ctx, p.ID)
	if err != nil {
		return nil, refusal.AboutPlan(p.ID, err)
	}
	if blob == nil {
		return nil, refusal.New(refusal.Purged, "The input of the plan was not stored: store_inputs was false.")
	}
	st := &scheme.Statistics{Interval: p.Interval, Epoch: p.Epoch, Older: p.Outdated}
	if p.Affinity != nil {
		if err := json.Unmarshal(p.Affinity, &st.Affinity); err != nil {
			return nil, store.Unreadable("how many routed keys plan "+p.ID+" has", err)
		}
	}
	if stored.IsCompact(blob) {
		if st.Records, err = stored.DecodeCompact(blob); err != nil {
			return nil, fmt.Errorf("reading the stored input of plan %s: %w", p.ID, err)
		}
		st.Statistics = scheme.NamedOf(st.Records)
		return st, memory.Reserve(int64(len(blob)) + int64(st.Rows())*reading.StoredRowBytes)
	}
	if err := memory.Reserve(reading.StoredBytes(blob)); err != nil {
		return nil, err
	}
	if st.Statistics, st.Added, err = stored.DecodeInput(blob); err != nil {
		return nil, fmt.Errorf("reading the stored input of plan %s: %w", p.ID, err)
	}
	return st, nil
}

// AffinityOf says which part of a key is its routed key in the statistics of a stored plan.
func (s *History) AffinityOf(ctx context.Context, p store.Plan) (none partitioner.Affinity, err error) {
	if p.Affinity == nil {
		return none, nil
	}
	c, err := s.Placement(ctx, p.Operator, p.ConfigVersion)
	if err != nil {
		return none, err
	}
	return c.Hash.Affinity, nil
}

// EarlierPlans yields the newest plans of earlier intervals, newest first, up to the first
// error, or to one whose statistics have other routed keys. It looks at so many plans, and the rest of those that
// it read with them.
func (s *History) EarlierPlans(ctx context.Context, b *scheme.Base, st *scheme.Statistics,
	most int) iter.Seq2[store.Plan, error] {
	return func(yield func(store.Plan, error) bool) {
		filter := store.PlanFilter{Operator: b.Op.Name, Limit: scheme.PlansBefore}
		for left := most; left > 0; {
			plans, next, err := s.Store.Plans(ctx, filter)
			if err != nil {
				yield(store.Plan{}, refusal.AboutOperator(b.Op.Name, err))
				return
			}
			for _, p := range plans {
				earlier := p.Epoch < st.Epoch || p.Epoch == st.Epoch && p.Interval < st.Interval
				if left--; !earlier {
					continue
				}
				by, err := s.AffinityOf(ctx, p)
				if err == nil && by != b.Newest.Hash.Affinity || !yield(p, err) {
					return
				}
			}
			if next == 0 {
				return
			}
			filter.Before, filter.Limit = next, scheme.PlansAtATime
		}
	}
}

// IsPurged reports whether what was asked for is no longer kept.
func IsPurged(err error) bool {
	var refused *refusal.Error
	return errors.As(err, &refused) && refused.Reason == refusal.Purged
}

// History reads what is kept of earlier intervals.
type History struct{ *scheme.Engine }
