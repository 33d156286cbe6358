package planning

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"plannerd/planner"
	"plannerd/store"
)

// absence tells for how many intervals in a row no statistics named the key of a table
// entry.
type absence struct {
	store.Entry
	intervals uint64
}

// absences are in ascending order of the keys. A key that comes back for an interval and
// goes again would be migrated each time if its entry were dropped at once: an entry is
// dropped only after the grace that the operator gives it.
type absences []absence

func (a absences) encode() []byte {
	var out []byte
	for _, x := range a {
		out = binary.AppendUvarint(out, uint64(len(x.Key)))
		out = append(out, x.Key...)
		out = binary.AppendUvarint(out, uint64(x.Instance))
		out = binary.AppendUvarint(out, x.intervals)
	}
	return out
}

var errAbsences = errors.New("stored absences are damaged")

func decodeAbsences(data []byte) (absences, error) {
	var out absences
	damaged := false
	number := func() uint64 {
		x, n := binary.Uvarint(data)
		damaged = damaged || n <= 0
		data = data[max(n, 0):]
		return x
	}
	for len(data) > 0 {
		n := number()
		if damaged || n > uint64(len(data)) {
			return nil, errAbsences
		}
		x := absence{Entry: store.Entry{Key: data[:n:n]}}
		data = data[n:]
		x.Instance, x.intervals = int32(number()), number()
		if damaged {
			return nil, errAbsences
		}
		out = append(out, x)
	}
	return out, nil
}

// absentKeys are the absences that a plan starts from. counted: they include those of its
// interval.
type absentKeys struct {
	before  absences
	counted bool
}

// of returns the count of an entry: another instance in it begins anew.
func (a absences) of(e store.Entry) uint64 {
	i, found := slices.BinarySearchFunc(a, e.Key, func(x absence, key []byte) int { return bytes.Compare(x.Key, key) })
	if !found || a[i].Instance != e.Instance {
		return 0
	}
	return a[i].intervals
}

// plansBefore is how many plans are read at once to find that of the interval before: it
// is mostly the newest.
const plansBefore = 2

// absencesBefore reads how long keys were absent before an interval.
func (s *Service) absencesBefore(ctx context.Context, b *base, st *Statistics) (absences, error) {
	if b.table.Len() == 0 {
		return nil, nil
	}
	filter := store.PlanFilter{Operator: b.op.Name, Limit: plansBefore}
	for {
		plans, next, err := s.store.Plans(ctx, filter)
		if err != nil {
			return nil, aboutOperator(b.op.Name, err)
		}
		for _, p := range plans {
			if p.Epoch < st.Epoch || p.Epoch == st.Epoch && p.Interval < st.Interval {
				return s.absencesAfter(ctx, p)
			}
		}
		if next == 0 {
			return nil, nil
		}
		filter.Before = next
	}
}

// absencesAfter reads how long keys were absent when a plan was made, its own interval
// included.
func (r *reader) absencesAfter(ctx context.Context, p store.Plan) (absences, error) {
	data, err := r.store.Absences(ctx, p.ID)
	if errors.Is(err, store.ErrPurged) {
		return nil, nil // it begins anew
	}
	if err != nil {
		return nil, aboutPlan(p.ID, err)
	}
	a, err := decodeAbsences(data)
	if err != nil {
		return nil, fmt.Errorf("reading what plan %s keeps: %w", p.ID, err)
	}
	return a, nil
}

// absentFor is the count of the absences of an entry after the interval of the statistics,
// provided that they do not name its key. Only a complete report of the instance where
// the key is routed says that it is absent.
func (b *base) absentFor(st *Statistics, e store.Entry) uint64 {
	n := b.absent.before.of(e)
	_, partial := slices.BinarySearch(st.PartialOn, e.Instance)
	_, frozen := slices.BinarySearch(st.Frozen, e.Instance)
	if b.absent.counted || st.Records != nil || st.Partial || partial || frozen || st.outdated(b.op.TableVersion) {
		return n
	}
	return n + 1
}

// keptEntries tells which entries of the table stay though no row names their keys.
func (b *base) keptEntries(st *Statistics) []bool {
	grace := uint64(b.newest.EntryGrace)
	if grace == 0 || b.table.Len() == 0 {
		return nil
	}
	kept := make([]bool, b.table.Len())
	for i := range kept {
		kept[i] = b.absentFor(st, store.Entry(b.table.At(i))) < grace
	}
	return kept
}

// absences counts those of an interval for the next one.
func (b *base) absences(st *Statistics, s *planner.Snapshot) absences {
	if b.table.Len() == 0 {
		return nil
	}
	var out absences
	named := make([]bool, b.table.Len())
	if st.Records == nil {
		for _, e := range s.Entry {
			if e >= 0 {
				named[e] = true
			}
		}
	}
	for i := range named {
		if e := store.Entry(b.table.At(i)); !named[i] {
			if n := b.absentFor(st, e); n > 0 {
				out = append(out, absence{e, n})
			}
		}
	}
	slices.SortFunc(out, func(x, y absence) int { return bytes.Compare(x.Key, y.Key) })
	return out
}
