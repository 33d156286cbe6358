package intake

import (
	"context"

	"plannerd/internal/absence"
	"plannerd/internal/refusal"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/store"
)

// AbsencesBefore reads how long keys were absent before an interval.
func (s *History) AbsencesBefore(ctx context.Context, b *scheme.Base, st *scheme.Statistics) (absence.Counts, error) {
	if b.Table.Len() == 0 {
		return nil, nil
	}
	filter := store.PlanFilter{Operator: b.Op.Name, Limit: scheme.PlansBefore}
	for {
		plans, next, err := s.Store.Plans(ctx, filter)
		if err != nil {
			return nil, refusal.AboutOperator(b.Op.Name, err)
		}
		for _, p := range plans {
			if p.Epoch < st.Epoch || p.Epoch == st.Epoch && p.Interval < st.Interval {
				return schemes.AbsencesAfter(ctx, s.Reader, p)
			}
		}
		if next == 0 {
			return nil, nil
		}
		filter.Before = next
	}
}
