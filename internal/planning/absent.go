package planning

import (
	"context"

	"plannerd/internal/absence"
	"plannerd/internal/refusal"
	"plannerd/planner"
	"plannerd/store"
)

// absentKeys are the absences that a plan starts from. counted: they include those of its
// interval.
type absentKeys struct {
	before  absence.Counts
	counted bool
}

// absencesBefore reads how long keys were absent before an interval.
func (s *Intake) absencesBefore(ctx context.Context, b *base, st *Statistics) (absence.Counts, error) {
	if b.table.Len() == 0 {
		return nil, nil
	}
	filter := store.PlanFilter{Operator: b.op.Name, Limit: plansBefore}
	for {
		plans, next, err := s.store.Plans(ctx, filter)
		if err != nil {
			return nil, refusal.AboutOperator(b.op.Name, err)
		}
		for _, p := range plans {
			if p.Epoch < st.Epoch || p.Epoch == st.Epoch && p.Interval < st.Interval {
				return absencesAfter(ctx, s.reader, p)
			}
		}
		if next == 0 {
			return nil, nil
		}
		filter.Before = next
	}
}

// absent is what the statistics say about the keys of the table that they do not name.
func (b *base) absent(st *Statistics) absence.Interval {
	i := absence.Interval{Before: b.absences.before, Table: b.table}
	if !b.absences.counted && st.Records == nil && !st.outdated(b.op.TableVersion) {
		i.Statistics = st.Statistics
	}
	return i
}

// absencesIn counts those of an interval for the next one. Records name no keys.
func (b *base) absencesIn(st *Statistics, s *planner.Snapshot) absence.Counts {
	if st.Records != nil {
		return b.absent(st).After(nil)
	}
	return b.absent(st).After(s.Entry[:min(st.Len(), len(s.Entry))])
}
