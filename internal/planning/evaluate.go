package planning

import (
	"context"
	"fmt"
	"slices"

	"plannerd/planner"
	"plannerd/store"
)

func (tableScheme) evaluate(ctx context.Context, e *engine, b *base, st *Statistics, now *PlanResult,
	other store.Plan) (*planner.Plan, error) {
	if other.Classes || now.classes != nil {
		return nil, nil
	}
	config, p, err := termsOf(ctx, e.reader, other)
	if err != nil {
		return nil, err
	}
	changes, err := e.changes(ctx, other)
	if err != nil {
		return nil, err
	}
	if len(now.Snapshot.Splits) > 0 || slices.ContainsFunc(changes, store.Change.HasParts) {
		return nil, nil // the projection takes keys for whole
	}
	f := &projection{Snapshot: now.Snapshot, stats: st.planned(), config: config,
		changed: !samePlacement(b.pinned.Configuration, config.Configuration)}
	if f.routed, err = routes(changes); err != nil {
		return nil, fmt.Errorf("reading the stored changes of plan %s: %w", other.ID, err)
	}
	moved, err := f.statistics(ctx)
	if err != nil {
		return nil, unevaluated(err)
	}
	snapshot, err := planner.NewSnapshot(moved, planner.Configuration{Instances: config.planner.Instances},
		planner.Base{Configuration: planner.Configuration{Instances: b.pinned.planner.Instances}, HashChanged: true,
			Stop: b.stop})
	if err != nil {
		return nil, unevaluated(err)
	}
	return e.compute(ctx, planner.Rehash, snapshot, p)
}

// routes are changes by their keys.
func routes(changes []store.Change) (*planner.RoutingTable, error) {
	entries := make([]planner.Entry, len(changes))
	for i, c := range changes {
		entries[i] = planner.Entry{Key: c.Key, Instance: c.New}
	}
	return planner.NewRoutingTable(entries)
}

// projection brings statistics where a plan would have their keys go.
type projection struct {
	*planner.Snapshot
	stats   *planner.Statistics   // that are planned on
	config  *placement            // of the plan
	routed  *planner.RoutingTable // what it changes; NoInstance: to the hash instance
	changed bool                  // the plan follows a change of the hash
}

// statistics returns the statistics with each key where it is, and where it would be
// in place of its hash instance.
func (f *projection) statistics(ctx context.Context) (*planner.Statistics, error) {
	n := f.stats.Len()
	out := *f.stats
	out.Shares = nil // the plan may know nothing of them
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
	return &out, nil
}

// goes is where a key would be that is at an instance.
func (f *projection) goes(row int, at int32) (int32, error) {
	if e := f.routed.Find(f.stats.Keys.At(row), f.stats.Keys.Hash(row)); e >= 0 {
		if to := f.routed.At(e).Instance; to != planner.NoInstance {
			return to, nil
		}
		return f.home(row)
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
	if h := f.config.planner.Hash; h != nil {
		return h.Instance(f.stats.Keys.At(row), f.stats.Keys.Hash(row))
	}
	if f.stats.HashInstance == nil {
		return 0, planner.InvalidRow(row, "hash_instance", "is needed")
	}
	return f.stats.HashInstance[row], nil
}
