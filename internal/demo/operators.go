package demo

import (
	"bytes"
	"encoding/json"
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
func functions(f *filler) {
	instances := wire.Numbered(24)
	for i := range instances {
		instances[i].Capacity = float64(1 + i/20)
	}
	c := balanced(instances, 0.1, 300)
	c.Strategy = new(wire.Strategy(planner.Optimal)) // no other would do: there is no balance to be had
	f.put(Functions, c)
	p := f.drive(Functions, f.first(streams.Generated(streams.Phases), 6))
	if len(p.HotKeys) == 0 {
		f.fail("no function is hot")
	}
	f.plans.HotKeys = p.Id
}

// byMixed is the configuration of instances whose plans are the paper's.
func byMixed(instances wire.Instances) wire.OperatorConfiguration {
	c := balanced(instances, 0.05, 2000)
	c.Strategy = new(wire.Strategy(planner.Mixed))
	return c
}

// pages loses an instance and gets three.
func pages(f *filler) {
	f.put(Pages, byMixed(wire.Numbered(8)))
	intervals := f.first(streams.Generated(streams.Fluctuation), 6)
	f.drive(Pages, intervals[:5])
	f.put(Pages, byMixed(slices.Delete(wire.Numbered(11), 3, 4)))
	f.plans.Rescaled = f.planAs(Pages, wire.PlanStatusApproved, intervals[5]).Id
}

// volume is in the middle of a migration. Its instances have names.
func volume(f *filler) {
	workers := make([]string, 12)
	for i := range workers {
		workers[i] = "worker-" + string(rune('a'+i))
	}
	f.put(Volume, balanced(wire.Named(workers...), 0.02, 200))
	p := f.start(f.lastOf(Volume, f.first(streams.Generated(streams.Bursts), 4)).Id)
	if len(p.Awaits) < 2 {
		f.fail("plan %s awaits %d instances only", p.Id, len(p.Awaits))
	}
	for _, instance := range p.Awaits[:len(p.Awaits)/2] {
		name := workers[instance]
		p = f.ack(p.Id, wire.AckRequest{Instances: []wire.InstanceRef{wire.InstanceRef(name)}, Actor: &name})
	}
	f.plans.Applying = p.Id
	f.is(p, wire.PlanStatusApplying)
}

// products are spread by the tokens of a ring.
func products(f *filler) {
	f.put(Products, wire.OperatorConfiguration{
		Instances: wire.Numbered(8), Scheme: new(wire.SchemeRing), ThetaMax: new(0.05),
		Hash: &wire.Hash{TokensPerInstance: new(int32(16))}, Ring: &wire.RingOptions{Method: new(wire.RingMethodFitted)},
	})
	f.plans.Ring = f.lastOf(Products, f.first(streams.Generated(streams.Bursts), 4)).Id
}

// files are spread by ranges of their paths. The history begins with its second
// stretch: in the first, where all is new, no path is too hot for an instance.
func files(f *filler) {
	const commits, stretches = 24, 11
	f.put(Files, wire.OperatorConfiguration{
		Instances: wire.Numbered(8), Scheme: new(wire.SchemeRanges), ThetaMax: new(0.05),
	})
	f.plans.Ranges = f.lastOf(Files, f.first(streams.History(commits), stretches)[1:]).Id
}

const namesInstances = 8

// names sends compact statistics.
func names(f *filler) {
	f.put(Names, byMixed(wire.Numbered(namesInstances)))
	intervals, err := streams.Generated(streams.Fluctuation).First(1)
	if err != nil {
		f.fail("%w", err)
		return
	}
	in, err := compressed(intervals[0].Number, intervals[0].Statistics)
	if err != nil {
		f.fail("%w", err)
	}
	f.plans.Classes = f.planAs(Names, wire.PlanStatusApproved, in).Id
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
func edits(f *filler) {
	f.put(Edits, balanced(wire.Numbered(8), 0.08, 20))
	p := f.drive(Edits, f.first(streams.Generated(streams.Hot), 1))
	if p.Balanced == nil || *p.Balanced || len(p.HotKeys) == 0 {
		f.fail("plan %s is balanced", p.Id)
	}
	f.plans.Unbalanced = p.Id
}

// channels has the stream of edits, and may split its hottest key.
func channels(f *filler) {
	c := balanced(wire.Numbered(8), 0.08, 200)
	c.Splitting = &wire.Splitting{MaxParts: 8, MergeCost: new(1.0)}
	c.Batches = &wire.BatchBounds{Keys: new(int64(12))}
	f.put(Channels, c)
	p := f.start(f.planAs(Channels, wire.PlanStatusApproved, f.first(streams.Generated(streams.Hot), 1)[0]).Id)
	p = f.ack(p.Id, wire.AckRequest{Instances: wire.IDs(p.Awaits...), Batch: new(int64(1))})
	if len(p.Splits) == 0 {
		f.fail("no channel is split")
	}
	f.plans.Split = p.Id
	f.is(p, wire.PlanStatusApplying)
}

// A modulus that grows from eight to nine moves eight keys of nine.
const (
	bigKeys       = 120_000
	bigMigrations = 100_000
)

// big has a plan that moves nearly everything.
func big(f *filler) {
	keys, cost, state := make([]string, bigKeys), make([]float64, bigKeys), make([]float64, bigKeys)
	for i := range bigKeys {
		keys[i], cost[i], state[i] = fmt.Sprintf("session:%06d", i), float64(1+i%7), float64(64+i%1000)
	}
	for _, instances := range []int{8, 9} {
		c := balanced(wire.Numbered(instances), 0.2, 0)
		c.Hash = &wire.Hash{Function: new(wire.HashFunctionModulo)}
		c.Certificate = new(wire.CertificateLevelOff)
		c.RequireApproval, c.Approval = new(true), &wire.ApprovalOptions{Ttl: new("12h")}
		f.put(Big, c)
	}
	p := f.planAs(Big, wire.PlanStatusProposed,
		wire.PlanRequest{Columns: &wire.Columns{Key: keys, Cost: &cost, State: &state}})
	if p.Migration.Keys < bigMigrations {
		f.fail("plan %s migrates %d keys only", p.Id, p.Migration.Keys)
	}
	f.plans.Big = p.Id
}

// idle has not said anything yet.
func idle(f *filler) { f.put(Idle, wire.OperatorConfiguration{Instances: wire.Numbered(4)}) }
