package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"plannerd/internal/drive"
	"plannerd/internal/lab/streams"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// runner plans a stream, interval by interval.
type runner struct {
	list      []streams.Interval
	instances int
	strategy  string
	options   planner.Options
	least     time.Duration
}

// track is what the plans of a stream came to. Amounts of state are percent of all state of
// their interval, summed up over the intervals.
type track struct {
	planned, realised, merges, pairs []float64 // by interval
	moved, parts                     float64   // state; of removed parts alone
	hot                              int       // intervals with keys that cost more than L_max
	missed                           int       // plans that leave an instance above L_max
	tooMany                          int       // plans with more merges than Σ (⌈c/L_max⌉ − 1) + 1
	least                            float64   // what a solver proves of all steps together
	proven                           bool
}

func (t track) leastText() string {
	if !t.proven {
		return ""
	}
	return fmt.Sprintf("%.1f %%", t.least)
}

// target are so many instances, and the ring that says where keys are that have no entry.
func target(instances int, hash bool) (planner.Configuration, error) {
	var c planner.Configuration
	var ids []partitioner.Instance
	for d := range int32(instances) {
		c.Instances = append(c.Instances, planner.Instance{ID: d, Capacity: 1})
		ids = append(ids, partitioner.Instance{ID: d})
	}
	if !hash {
		return c, nil
	}
	var err error
	c.Hash, err = partitioner.New(partitioner.Config{Function: "ring"}, ids)
	return c, err
}

func (r runner) run() (t track, err error) {
	op := drive.Operator{Strategy: r.strategy, Options: r.options, EntryGrace: 2}
	if op.Target, err = target(r.instances, r.list[0].HashInstance == nil); err != nil {
		return t, err
	}
	driver := drive.New(op)
	t.proven = r.least > 0
	for i, in := range r.list {
		step, err := driver.Step(context.Background(), in.Number, in.Statistics)
		if err != nil {
			return t, err
		}
		t.add(step.Plan, 100/allState(in.Statistics), i > 0)
		if r.least > 0 {
			least, err := leastOf(step.Plan, 100/allState(in.Statistics), r.least)
			if err != nil {
				return t, err
			}
			t.least += least
		}
	}
	return t, nil
}

// add counts a plan, state in percent. The θ before it is what the tables of the plans before
// have come to.
func (t *track) add(p *planner.Plan, percent float64, planned bool) {
	t.planned = append(t.planned, p.Theta.After)
	if planned {
		t.realised = append(t.realised, p.Theta.Before)
	}
	t.merges = append(t.merges, float64(p.Merges()))
	t.pairs = append(t.pairs, float64(int64(p.Snapshot.Len())+p.Merges()))
	if p.Theta.After > p.Options.ThetaMax*(1+1e-9) {
		t.missed++
	}
	hot, enough := mergesFor(p)
	if hot {
		t.hot++
	}
	if p.Merges() > enough {
		t.tooMany++
	}
	t.moved += percent * p.Migration.State
	for _, m := range p.Moves {
		if m.Reason == planner.ReasonGather || isSplit(p, m.Item) {
			t.parts += percent * p.Snapshot.StateOf(m)
		}
	}
}

func isSplit(p *planner.Plan, item int32) bool {
	for _, x := range p.Splits {
		if x.Item == item {
			return true
		}
	}
	return false
}

// allState is the state of all keys; 1 each where none is reported.
func allState(stats *planner.Statistics) float64 {
	if stats.State == nil {
		return float64(stats.Len())
	}
	all := 0.0
	for _, state := range stats.State {
		all += state
	}
	return max(all, math.SmallestNonzeroFloat64)
}

// mergesFor tells whether there are hot keys, and how many merges are enough: those without
// which one of them does not fit, and one.
func mergesFor(p *planner.Plan) (hot bool, merges int64) {
	most := p.Instances[0].Max // all instances are alike
	merges = 1
	for _, c := range p.Snapshot.Cost {
		if parts := math.Ceil(c / most * (1 - 1e-9)); parts > 1 {
			hot, merges = true, merges+int64(parts)-1
		}
	}
	return hot, merges
}
