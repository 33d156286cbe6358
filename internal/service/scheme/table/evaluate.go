package table

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"plannerd/internal/operator"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/planner"
	"plannerd/store"
)

// Evaluate implements [scheme.Planning].
func (Scheme) Evaluate(ctx context.Context, e *scheme.Engine, b *scheme.Base, st *scheme.Statistics, now *scheme.Result,
	other store.Plan) (*planner.Plan, error) {
	if other.Classes || now.Classes != nil {
		return nil, nil
	}
	config, p, err := scheme.TermsOf(ctx, e.Reader, other)
	if err != nil {
		return nil, err
	}
	changes, err := e.StoredChanges(ctx, other)
	if err != nil {
		return nil, err
	}
	f := &projection{Snapshot: now.Snapshot, stats: st.Planned(), config: config,
		changed: !operator.SamePlacement(b.Pinned.Configuration, config.Configuration)}
	if f.routed, err = routes(changes); err != nil {
		return nil, fmt.Errorf("reading the stored changes of plan %s: %w", other.ID, err)
	}
	moved, err := f.statistics(ctx)
	if err != nil {
		return nil, scheme.Unevaluated(err)
	}
	snapshot, err := planner.NewSnapshot(moved, planner.Configuration{Instances: config.Model.Instances,
		Resources: config.Model.Resources},
		planner.Base{Configuration: planner.Configuration{Instances: b.Pinned.Model.Instances}, HashChanged: true,
			Stop: b.Stop})
	if err != nil {
		return nil, scheme.Unevaluated(err)
	}
	splits, known := f.divide(snapshot)
	if !known {
		return nil, nil
	}
	return e.Compute(ctx, func(s *planner.Snapshot, o planner.Options) (*planner.Plan, error) {
		return planner.Rehash(s, o, splits)
	}, snapshot, p)
}

// routes are changes by their keys.
func routes(changes []store.Change) (*planner.RoutingTable, error) {
	entries := make([]planner.Entry, len(changes))
	for i, c := range changes {
		entries[i] = planner.Entry{Key: c.Key, Instance: c.New, Parts: figures.PartsOf(c.NewParts)}
	}
	return planner.NewRoutingTable(entries)
}

// projection brings statistics where a plan would have their keys go.
type projection struct {
	*planner.Snapshot
	stats   *planner.Statistics   // that are planned on
	config  *reading.Placement    // of the plan
	routed  *planner.RoutingTable // what it changes; NoInstance: to the hash instance
	changed bool                  // the plan follows a change of the hash
	split   []planner.Split       // the keys that are split then, on ids
}

// statistics returns the statistics with each key where it is, and where it would be
// in place of its hash instance.
func (f *projection) statistics(ctx context.Context) (*planner.Statistics, error) {
	n := f.stats.Len()
	out := *f.stats
	out.Shares = nil // of whole keys the plan may know nothing of them
	out.Instance, out.HashInstance = make([]int32, n), make([]int32, n)
	for i := range n {
		if i%(1<<16) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var err error
		out.Instance[i] = f.Instances[f.Current[i]].ID
		if out.HashInstance[i], err = f.goes(i, out.Instance[i]); err != nil {
			return nil, err
		}
	}
	for _, x := range f.Splits {
		out.Shares = append(out.Shares, f.sharesOf(x.Item)...)
	}
	return &out, nil
}

// sharesOf are where the state of a key is, by ascending ids.
func (f *projection) sharesOf(row int32) []planner.Share {
	own := planner.Share{Row: row, Instance: f.Instances[f.Current[row]].ID, State: 1}
	if f.State != nil {
		own.State = f.State[row]
	}
	all := []planner.Share{own}
	for _, x := range f.Shares {
		if x.Row == row {
			all = append(all, planner.Share{Row: row, Instance: f.Instances[x.Instance].ID, State: x.State})
		}
	}
	slices.SortFunc(all, func(a, b planner.Share) int { return cmp.Compare(a.Instance, b.Instance) })
	return all
}

// divide has a snapshot of these statistics split the keys that are split now, and returns
// those that are split then. False: a part is on an instance that the plan does not know.
func (f *projection) divide(s *planner.Snapshot) (then []planner.Split, known bool) {
	at := make(map[int32]int32, len(s.Instances)) // index by id
	for i, x := range s.Instances {
		at[x.ID] = int32(i)
	}
	known = true
	indexed := func(row int32, parts []planner.Part) planner.Split {
		x := planner.Split{Item: row, Parts: slices.Clone(parts)}
		for i := range x.Parts {
			d, ok := at[x.Parts[i].Instance]
			x.Parts[i].Instance, known = d, known && ok
		}
		return x
	}
	for _, x := range f.Splits {
		s.Splits = append(s.Splits, indexed(x.Item, x.OnIDs(f.Snapshot)))
	}
	for _, x := range f.split {
		then = append(then, indexed(x.Item, x.Parts))
	}
	return then, known
}

// goes is where a key would be that is at an instance.
func (f *projection) goes(row int, at int32) (int32, error) {
	if e := f.routed.Find(f.stats.Keys.At(row), f.stats.Keys.Hash(row)); e >= 0 {
		to := f.routed.At(e)
		switch {
		case to.Parts != nil:
			f.split = append(f.split, planner.Split{Item: int32(row), Parts: to.Parts})
			return at, nil
		case to.Instance != planner.NoInstance:
			return to.Instance, nil
		}
		return f.home(row)
	}
	if i, found := slices.BinarySearchFunc(f.Splits, int32(row), func(x planner.Split, row int32) int {
		return cmp.Compare(x.Item, row)
	}); found {
		f.split = append(f.split, planner.Split{Item: int32(row), Parts: f.Splits[i].OnIDs(f.Snapshot)})
		return at, nil
	}
	switch {
	case !f.changed:
		return at, nil
	case f.Entry != nil && f.Entry[row] >= 0:
		return f.Table.At(int(f.Entry[row])).Instance, nil
	}
	return f.home(row)
}

// home is the hash instance of a key under the plan's configuration.
func (f *projection) home(row int) (int32, error) {
	if h := f.config.Model.Hash; h != nil {
		return h.Instance(f.stats.Keys.At(row), f.stats.Keys.Hash(row))
	}
	if f.stats.HashInstance == nil {
		return 0, planner.InvalidRow(row, "hash_instance", "is needed")
	}
	return f.stats.HashInstance[row], nil
}
