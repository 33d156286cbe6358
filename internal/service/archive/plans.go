package archive

import (
	"cmp"
	"context"
	"fmt"

	"plannerd/internal/analyses"
	"plannerd/internal/input/lists"
	"plannerd/internal/input/stored"
	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/internal/web/admission"
	"plannerd/store"
)

// Plans lists plans of an operator, newest first; next is where the list goes on, 0
// after its end.
func (s *Archive) Plans(ctx context.Context, f store.PlanFilter) (plans []store.Plan, next int64, err error) {
	if err := s.CheckOperator(ctx, f.Operator); err != nil {
		return nil, 0, err
	}
	plans, next, err = s.Store.Plans(ctx, f)
	for _, p := range plans {
		err = cmp.Or(err, reading.SchemeOf(p).Check())
	}
	return plans, next, refusal.AboutOperator(f.Operator, err)
}

// Transitions are the life of a plan so far, oldest first.
func (s *Archive) Transitions(ctx context.Context, id string) ([]store.Transition, error) {
	all, err := s.Store.Transitions(ctx, id)
	return all, refusal.AboutPlan(id, err)
}

// Lists reads what a plan does to the table and what it migrates, so far as they are
// asked for.
func (s *Archive) Lists(ctx context.Context, p store.Plan, change, moves bool,
	memory *admission.Lease) (listing.Lists, error) {
	if change || moves {
		if err := reading.HoldLists(memory, p); err != nil {
			return listing.Lists{}, err
		}
	}
	return s.ListsHeld(ctx, p, change, moves)
}

// ListsHeld is Lists where the memory is reserved already.
func (s *Archive) ListsHeld(ctx context.Context, p store.Plan, change, moves bool) (l listing.Lists, err error) {
	if change {
		l.Change, err = schemes.Of(p).Change(ctx, s.Reader, p)
	}
	if moves && err == nil {
		var m listing.Migrations
		if m, err = schemes.Of(p).Migrations(ctx, s.Reader, p); err == nil {
			l.Migrations = m.List()
		}
	}
	return l, err
}

// index returns the migrations of a plan. As they never change, they are kept: decoding
// them takes longer than all else about a page.
func (s *Archive) index(ctx context.Context, p store.Plan, memory *admission.Lease) (listing.MoveIndex, error) {
	if found, ok := s.Moves.Get(p.ID); ok {
		return found, nil
	}
	if err := reading.HoldLists(memory, p); err != nil {
		return nil, err
	}
	m, err := schemes.Of(p).Migrations(ctx, s.Reader, p)
	if err != nil {
		return nil, err
	}
	read := m.Index()
	if read.Bytes() <= s.Moves.Limit {
		s.Moves.Put(p.ID, read)
	}
	return read, nil
}

// Migrations lists what a plan moves.
func (s *Archive) Migrations(ctx context.Context, p store.Plan, filter listing.MoveFilter, order listing.Sorting,
	memory *admission.Lease) (listing.Listing, error) {
	all, err := s.index(ctx, p, memory)
	if err != nil {
		return nil, err
	}
	return all.Listing(filter, order), nil
}

// Flows sums up what a plan moves by where it comes from and where it goes.
func (s *Archive) Flows(ctx context.Context, p store.Plan, memory *admission.Lease) (listing.Listing, error) {
	all, err := s.index(ctx, p, memory)
	if err != nil {
		return nil, err
	}
	if err := memory.Reserve(int64(all.Len()) * reading.SummedBytes); err != nil {
		return nil, err
	}
	flows := all.Flows()
	if err := memory.Reserve(int64(len(flows)) * reading.FlowBytes); err != nil {
		return nil, err
	}
	return listing.Selection[lists.Flow]{Count: len(flows), At: func(i int) lists.Flow { return flows[i] }}, nil
}

// PlanDiff compares what two plans move.
func (s *Archive) PlanDiff(ctx context.Context, p, other store.Plan, memory *admission.Lease) (
	listing.PlanDiff, error,
) {
	var all [2]listing.MoveIndex
	for i, one := range [2]store.Plan{p, other} {
		if kind := schemes.MigratesOf(one); kind != scheme.MigratesKeys {
			return listing.PlanDiff{}, refusal.New(refusal.KeysNotKnown,
				fmt.Sprintf("Plan %s moves %s, not keys: only keys can be compared.", one.ID, kind))
		}
		var err error
		if all[i], err = s.index(ctx, one, memory); err != nil {
			return listing.PlanDiff{}, err
		}
	}
	if err := memory.Reserve(int64(all[0].Len()+all[1].Len()) * reading.SummedBytes); err != nil {
		return listing.PlanDiff{}, err
	}
	return listing.Diff(all[0], all[1]), nil
}

// TableChanges lists what a plan does to the entries of the routing table.
func (s *Archive) TableChanges(ctx context.Context, p store.Plan, filter listing.KeyFilter,
	memory *admission.Lease) (listing.Listing, error) {
	if err := schemes.Of(p).RefuseTable(); err != nil {
		return nil, err
	}
	if err := refuseUnresolved(p); err != nil {
		return nil, err
	}
	if err := reading.HoldLists(memory, p); err != nil {
		return nil, err
	}
	changes, err := s.StoredChanges(ctx, p)
	if err != nil {
		return nil, err
	}
	list := listing.Selection[lists.TableChange]{Count: len(changes), At: func(i int) lists.TableChange {
		x := changes[i]
		return lists.TableChange{
			Key: x.Key, Instance: x.New, Previous: x.Old, Parts: figures.PartsOf(x.NewParts), PreviousParts: figures.PartsOf(
				x.OldParts),
		}
	}}
	if !filter.TakesAll() {
		list.Takes = func(i int) bool {
			x := changes[i]
			return filter.Takes(x.Key, x.New, x.Old) || x.HasParts() && filter.TakesParts(x)
		}
	}
	return list, nil
}

// refuseUnresolved refuses to tell what a plan does to the table when only the engine
// knows.
func refuseUnresolved(p store.Plan) error {
	switch {
	case !p.Classes || p.ResolvedKeys != nil:
		return nil
	case p.EngineTable:
		return refusal.New(refusal.TableNotHeld, "The plan moves classes of keys, and the engine holds the routing table.")
	}
	return refusal.AboutPlan(p.ID, store.ErrUnresolved)
}

// AnalysisInput reads the stored statistics of an interval as analyses take them; epoch
// nil is the newest that has the interval.
func (s *Archive) AnalysisInput(
	ctx context.Context, operator string, interval int64, epoch *int64, memory *admission.Lease,
) (*analyses.Input, error) {
	plan, err := s.newestPlan(ctx, operator, interval, epoch)
	if err != nil {
		return nil, err
	}
	blob, err := s.Store.Input(ctx, plan)
	if err != nil {
		return nil, refusal.AboutInterval(operator, interval, err)
	}
	if blob == nil {
		return nil, refusal.New(refusal.Purged,
			fmt.Sprintf("The input of interval %d of operator %q was not stored: store_inputs was false.", interval, operator))
	}
	if err := memory.Reserve(reading.StoredBytes(blob)); err != nil {
		return nil, err
	}
	if stored.IsCompact(blob) {
		return nil, refusal.New(refusal.KeysNotKnown,
			"The statistics of that interval are in compact form, which names no keys.")
	}
	stats, _, err := stored.DecodeInput(blob)
	if err != nil {
		return nil, fmt.Errorf("reading the stored input of plan %s: %w", plan, err)
	}
	if stats.Partial {
		return nil, refusal.New(refusal.KeysNotKnown,
			"The statistics of that interval are partial: they do not name all keys.")
	}
	in, err := analyses.FromStatistics(stats)
	if err != nil {
		return nil, err
	}
	return in, memory.Settle(in.Bytes())
}

// newestPlan returns the newest plan of an interval.
func (s *Archive) newestPlan(ctx context.Context, operator string, interval int64,
	epoch *int64) (id string, err error) {
	filter := store.PlanFilter{Operator: operator, Interval: &interval, Limit: scheme.PlansAtATime}
	for {
		plans, next, err := s.Store.Plans(ctx, filter)
		if err != nil {
			return "", refusal.AboutOperator(operator, err)
		}
		for _, p := range plans {
			if epoch == nil || p.Epoch == *epoch {
				return p.ID, nil
			}
		}
		if next == 0 {
			return "", refusal.AboutInterval(operator, interval, store.ErrNotFound)
		}
		filter.Before = next
	}
}

// Archive reads what is kept of plans.
type Archive struct{ *intake.Intake }
