package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"plannerd/compact"
	"plannerd/internal/input/lists"
	"plannerd/internal/lab/streams"
	"plannerd/planner"
	"plannerd/planner/partitioner"
	"plannerd/sdk/go/wire"
)

// balanced is the configuration of instances with the paper's two limits.
func balanced(instances wire.Instances, thetaMax float64, tableLimit int64) wire.OperatorConfiguration {
	return wire.OperatorConfiguration{Instances: instances, ThetaMax: &thetaMax, TableLimit: &tableLimit}
}

// functions has four instances of twice the speed of the others, and functions
// that are called more often than any instance can serve.
func (f *filler) functions(ctx context.Context) error {
	instances := wire.Numbered(24)
	for i := range instances {
		instances[i].Capacity = float64(1 + i/20)
	}
	c := balanced(instances, 0.1, 300)
	c.Strategy = new(wire.Strategy(planner.Optimal))
	if err := f.put(ctx, Functions, c); err != nil {
		return err
	}
	intervals, err := first(streams.Generated(streams.Phases), 6)
	if err != nil {
		return err
	}
	// No other strategy would do: there is no balance to be had.
	p, err := f.drive(ctx, Functions, intervals)
	if err != nil {
		return err
	}
	if len(p.HotKeys) == 0 {
		return errors.New("no function is hot")
	}
	f.plans.HotKeys = p.Id
	return nil
}

// byMixed is the configuration of instances whose plans are the paper's.
func byMixed(instances wire.Instances) wire.OperatorConfiguration {
	c := balanced(instances, 0.05, 2000)
	c.Strategy = new(wire.Strategy(planner.Mixed))
	return c
}

// pages loses an instance and gets three.
func (f *filler) pages(ctx context.Context) error {
	if err := f.put(ctx, Pages, byMixed(wire.Numbered(8))); err != nil {
		return err
	}
	intervals, err := first(streams.Generated(streams.Fluctuation), 6)
	if err != nil {
		return err
	}
	last := len(intervals) - 1
	if _, err := f.drive(ctx, Pages, intervals[:last]); err != nil {
		return err
	}
	if err := f.put(ctx, Pages, byMixed(slices.Delete(wire.Numbered(11), 3, 4))); err != nil {
		return err
	}
	p, err := f.planAs(ctx, Pages, wire.PlanStatusApproved, intervals[last])
	if err != nil {
		return err
	}
	f.plans.Rescaled = p.Id
	return nil
}

// volume is in the middle of a migration. Its instances have names.
func (f *filler) volume(ctx context.Context) error {
	workers := make([]string, 12)
	for i := range workers {
		workers[i] = "worker-" + string(rune('a'+i))
	}
	if err := f.put(ctx, Volume, balanced(wire.Named(workers...), 0.02, 200)); err != nil {
		return err
	}
	intervals, err := first(streams.Generated(streams.Bursts), 4)
	if err != nil {
		return err
	}
	last := len(intervals) - 1
	if _, err := f.drive(ctx, Volume, intervals[:last]); err != nil {
		return err
	}
	p, err := f.planAs(ctx, Volume, wire.PlanStatusApproved, intervals[last])
	if err != nil {
		return err
	}
	if p, err = f.api.StartPlan(ctx, p.Id, wire.StartRequest{Executor: "job-manager-1"}); err != nil {
		return err
	}
	if len(p.Awaits) < 2 {
		return fmt.Errorf("plan %s awaits %d instances only", p.Id, len(p.Awaits))
	}
	for _, instance := range p.Awaits[:len(p.Awaits)/2] {
		ack := wire.AckRequest{Instances: []wire.InstanceRef{wire.InstanceRef(workers[instance])}, Actor: &workers[instance]}
		if p, err = f.api.AckPlan(ctx, p.Id, ack); err != nil {
			return err
		}
	}
	f.plans.Applying = p.Id
	return is(p, wire.PlanStatusApplying)
}

// products are spread by the tokens of a ring.
func (f *filler) products(ctx context.Context) error {
	intervals, err := first(streams.Generated(streams.Bursts), 4)
	if err != nil {
		return err
	}
	f.plans.Ring, err = f.shifting(ctx, Products, intervals, wire.OperatorConfiguration{
		Instances: wire.Numbered(8), Scheme: new(wire.SchemeRing), ThetaMax: new(0.05),
		Hash: &wire.Hash{TokensPerInstance: new(int32(16))}, Ring: &wire.RingOptions{Method: new(wire.RingMethodFitted)},
	})
	return err
}

// files are spread by ranges of their paths. The history begins with its second
// stretch: in the first, where all is new, no path is too hot for an instance.
func (f *filler) files(ctx context.Context) error {
	const commits, stretches = 24, 11
	intervals, err := first(streams.History(commits), stretches)
	if err != nil {
		return err
	}
	f.plans.Ranges, err = f.shifting(ctx, Files, intervals[1:], wire.OperatorConfiguration{
		Instances: wire.Numbered(8), Scheme: new(wire.SchemeRanges), ThetaMax: new(0.05),
	})
	return err
}

// shifting drives an operator without a routing table and leaves the last plan
// to be carried out.
func (f *filler) shifting(
	ctx context.Context, operator string, intervals []wire.PlanRequest, configuration wire.OperatorConfiguration,
) (string, error) {
	if err := f.put(ctx, operator, configuration); err != nil {
		return "", err
	}
	last := len(intervals) - 1
	if _, err := f.drive(ctx, operator, intervals[:last]); err != nil {
		return "", err
	}
	p, err := f.planAs(ctx, operator, wire.PlanStatusApproved, intervals[last])
	if err != nil {
		return "", err
	}
	return p.Id, nil
}

const namesInstances = 8

// names sends compact statistics.
func (f *filler) names(ctx context.Context) error {
	if err := f.put(ctx, Names, byMixed(wire.Numbered(namesInstances))); err != nil {
		return err
	}
	intervals, err := streams.Generated(streams.Fluctuation).First(1)
	if err != nil {
		return err
	}
	in, err := compressed(intervals[0].Number, intervals[0].Statistics)
	if err != nil {
		return err
	}
	p, err := f.planAs(ctx, Names, wire.PlanStatusApproved, in)
	if err != nil {
		return err
	}
	f.plans.Classes = p.Id
	return nil
}

// compressed has the compact form of statistics planned, whose keys are where the default
// hash puts them.
func compressed(number int64, s *planner.Statistics) (in wire.PlanRequest, err error) {
	var on [namesInstances]partitioner.Instance
	var target planner.Configuration
	for i := range on {
		on[i].ID = int32(i)
		target.Instances = append(target.Instances, planner.Instance{ID: int32(i), Capacity: 1})
	}
	if target.Hash, err = partitioner.New(partitioner.Config{}, on[:]); err != nil {
		return in, err
	}
	snapshot, err := planner.NewSnapshot(s, target, planner.Base{Configuration: target})
	if err != nil {
		return in, err
	}
	c, err := compact.Compress(snapshot, compact.Options{Degree: 8, Scales: compact.Scales{Cost: 1, State: 1}})
	if err != nil {
		return in, err
	}
	var text bytes.Buffer
	records := &compact.Statistics{Records: c.Records, Scales: c.Scales, Degree: c.Degree}
	if err := lists.WriteCompactJSON(&text, number, records, false); err != nil {
		return in, err
	}
	err = json.Unmarshal(text.Bytes(), &in)
	return in, err
}

// edits has a channel that makes more than a quarter of all edits.
func (f *filler) edits(ctx context.Context) error {
	if err := f.put(ctx, Edits, balanced(wire.Numbered(8), 0.08, 20)); err != nil {
		return err
	}
	intervals, err := first(streams.Generated(streams.Hot), 1)
	if err != nil {
		return err
	}
	p, err := f.drive(ctx, Edits, intervals)
	if err != nil {
		return err
	}
	if p.Balanced == nil || *p.Balanced || len(p.HotKeys) == 0 {
		return fmt.Errorf("plan %s is balanced", p.Id)
	}
	f.plans.Unbalanced = p.Id
	return nil
}

// channels has the stream of edits, and may split its hottest key.
func (f *filler) channels(ctx context.Context) error {
	c := balanced(wire.Numbered(8), 0.08, 200)
	c.Splitting = &wire.Splitting{MaxParts: 8, MergeCost: new(1.0)}
	c.Batches = &wire.BatchBounds{Keys: new(int64(12))}
	if err := f.put(ctx, Channels, c); err != nil {
		return err
	}
	intervals, err := first(streams.Generated(streams.Hot), 1)
	if err != nil {
		return err
	}
	p, err := f.planAs(ctx, Channels, wire.PlanStatusApproved, intervals[0])
	if err != nil {
		return err
	}
	if p, err = f.api.StartPlan(ctx, p.Id, wire.StartRequest{Executor: "job-manager-1"}); err != nil {
		return err
	}
	ack := wire.AckRequest{Instances: wire.IDs(p.Awaits...), Batch: new(int64(1))}
	if p, err = f.api.AckPlan(ctx, p.Id, ack); err != nil {
		return err
	}
	if len(p.Splits) == 0 {
		return errors.New("no channel is split")
	}
	f.plans.Split = p.Id
	return is(p, wire.PlanStatusApplying)
}

// A modulus that grows from eight to nine moves eight keys of nine.
const (
	bigKeys       = 120_000
	bigMigrations = 100_000
)

// big has a plan that moves nearly everything.
func (f *filler) big(ctx context.Context) error {
	keys, cost, state := make([]string, bigKeys), make([]float64, bigKeys), make([]float64, bigKeys)
	for i := range bigKeys {
		keys[i], cost[i], state[i] = fmt.Sprintf("session:%06d", i), float64(1+i%7), float64(64+i%1000)
	}
	in := wire.PlanRequest{Columns: &wire.Columns{Key: keys, Cost: &cost, State: &state}}
	for _, instances := range []int{8, 9} {
		c := balanced(wire.Numbered(instances), 0.2, 0)
		c.Hash = &wire.Hash{Function: new(wire.HashFunctionModulo)}
		c.Certificate = new(wire.CertificateLevelOff)
		c.RequireApproval, c.Approval = new(true), &wire.ApprovalOptions{Ttl: new("12h")}
		if err := f.put(ctx, Big, c); err != nil {
			return err
		}
	}
	p, err := f.planAs(ctx, Big, wire.PlanStatusProposed, in)
	if err != nil {
		return err
	}
	if p.Migration.Keys < bigMigrations {
		return fmt.Errorf("plan %s migrates %d keys only", p.Id, p.Migration.Keys)
	}
	f.plans.Big = p.Id
	return nil
}

// idle has not said anything yet.
func (f *filler) idle(ctx context.Context) error {
	return f.put(ctx, Idle, wire.OperatorConfiguration{Instances: wire.Numbered(4)})
}
