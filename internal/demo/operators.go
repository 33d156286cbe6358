package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"plannerd/compact"
	"plannerd/internal/statsio"
	"plannerd/internal/streams"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// functions has four instances of twice the speed of the others, and functions
// that are called more often than any instance can serve.
func (f *filler) functions(ctx context.Context) error {
	instances := make([]object, 24)
	for id := range instances {
		instances[id] = object{"id": id, "capacity": 1 + id/20}
	}
	if err := f.put(ctx, Functions, object{"instances": instances, "theta_max": 0.1, "table_limit": 300,
		"strategy": planner.Optimal}); err != nil {
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
func byMixed(instances any) object {
	return object{"instances": instances, "strategy": planner.Mixed, "theta_max": 0.05, "table_limit": 2000}
}

// pages loses an instance and gets three.
func (f *filler) pages(ctx context.Context) error {
	if err := f.put(ctx, Pages, byMixed(8)); err != nil {
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
	var instances []object
	for _, id := range []int{0, 1, 2, 4, 5, 6, 7, 8, 9, 10} {
		instances = append(instances, object{"id": id})
	}
	if err := f.put(ctx, Pages, byMixed(instances)); err != nil {
		return err
	}
	p, err := f.planAs(ctx, Pages, approved, intervals[last])
	if err != nil {
		return err
	}
	f.plans.Rescaled = p.Id
	return nil
}

// volume is in the middle of a migration.
func (f *filler) volume(ctx context.Context) error {
	if err := f.put(ctx, Volume, object{"instances": 12, "theta_max": 0.02, "table_limit": 200}); err != nil {
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
	p, err := f.planAs(ctx, Volume, approved, intervals[last])
	if err != nil {
		return err
	}
	if p, err = f.step(ctx, p.Id, "start", object{"executor": "job-manager-1"}); err != nil {
		return err
	}
	if len(p.Awaits) < 2 {
		return fmt.Errorf("plan %s awaits %d instances only", p.Id, len(p.Awaits))
	}
	for _, instance := range p.Awaits[:len(p.Awaits)/2] {
		ack := object{"instances": []int32{instance}, "actor": fmt.Sprintf("task-%d", instance)}
		if p, err = f.step(ctx, p.Id, "acks", ack); err != nil {
			return err
		}
	}
	f.plans.Applying = p.Id
	return p.is(applying)
}

// products are spread by the tokens of a ring.
func (f *filler) products(ctx context.Context) error {
	intervals, err := first(streams.Generated(streams.Bursts), 4)
	if err != nil {
		return err
	}
	f.plans.Ring, err = f.shifting(ctx, Products, intervals, object{
		"instances": 8, "scheme": "ring", "theta_max": 0.05,
		"hash": object{"tokens_per_instance": 16}, "ring": object{"method": "fitted"},
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
	f.plans.Ranges, err = f.shifting(ctx, Files, intervals[1:], object{
		"instances": 8, "scheme": "ranges", "theta_max": 0.05,
	})
	return err
}

// shifting drives an operator without a routing table and leaves the last plan
// to be carried out.
func (f *filler) shifting(
	ctx context.Context, operator string, intervals []*interval, configuration object,
) (string, error) {
	if err := f.put(ctx, operator, configuration); err != nil {
		return "", err
	}
	last := len(intervals) - 1
	if _, err := f.drive(ctx, operator, intervals[:last]); err != nil {
		return "", err
	}
	p, err := f.planAs(ctx, operator, approved, intervals[last])
	if err != nil {
		return "", err
	}
	return p.Id, nil
}

const namesInstances = 8

// names sends compact statistics.
func (f *filler) names(ctx context.Context) error {
	if err := f.put(ctx, Names, byMixed(namesInstances)); err != nil {
		return err
	}
	intervals, err := streams.Generated(streams.Fluctuation).First(1)
	if err != nil {
		return err
	}
	body, err := compressed(intervals[0].Number, intervals[0].Statistics)
	if err != nil {
		return err
	}
	p := new(plan)
	if err := f.send(ctx, http.MethodPost, "/v1/operators/"+Names+"/plans", body, p); err != nil {
		return err
	}
	f.plans.Classes = p.Id
	return p.is(approved)
}

// compressed is the compact form of statistics whose keys are where the default
// hash puts them.
func compressed(number int64, s *planner.Statistics) (*bytes.Buffer, error) {
	var on [namesInstances]partitioner.Instance
	var target planner.Configuration
	for i := range on {
		on[i].ID = int32(i)
		target.Instances = append(target.Instances, planner.Instance{ID: int32(i), Capacity: 1})
	}
	var err error
	if target.Hash, err = partitioner.New(partitioner.Config{}, on[:]); err != nil {
		return nil, err
	}
	snapshot, err := planner.NewSnapshot(s, target, planner.Base{Configuration: target})
	if err != nil {
		return nil, err
	}
	c, err := compact.Compress(snapshot, compact.Options{Degree: 8, Scales: compact.Scales{Cost: 1, State: 1}})
	if err != nil {
		return nil, err
	}
	body := new(bytes.Buffer)
	return body, statsio.WriteCompactJSON(body, number,
		&compact.Statistics{Records: c.Records, Scales: c.Scales, Degree: c.Degree})
}

// edits has a channel that makes more than a quarter of all edits.
func (f *filler) edits(ctx context.Context) error {
	if err := f.put(ctx, Edits, object{"instances": 8, "theta_max": 0.08, "table_limit": 20}); err != nil {
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
	if p.Balanced || len(p.HotKeys) == 0 {
		return fmt.Errorf("plan %s is balanced", p.Id)
	}
	f.plans.Unbalanced = p.Id
	return nil
}

// A modulus that grows from eight to nine moves eight keys of nine.
const (
	bigKeys       = 120_000
	bigMigrations = 100_000
)

// big has a plan that moves nearly everything.
func (f *filler) big(ctx context.Context) error {
	configuration := func(instances int) object {
		return object{
			"instances": instances, "hash": object{"function": "modulo"}, "theta_max": 0.2, "table_limit": 0,
			"certificate":      "off",
			"require_approval": true, "approval": object{"ttl": "12h"},
		}
	}
	in := &interval{Columns: columns{
		Key: make([]string, bigKeys), Cost: make([]float64, bigKeys), State: make([]float64, bigKeys),
	}}
	for i := range bigKeys {
		in.Columns.Key[i] = fmt.Sprintf("session:%06d", i)
		in.Columns.Cost[i], in.Columns.State[i] = float64(1+i%7), float64(64+i%1000)
	}
	for _, instances := range []int{8, 9} {
		if err := f.put(ctx, Big, configuration(instances)); err != nil {
			return err
		}
	}
	p, err := f.planAs(ctx, Big, proposed, in)
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
func (f *filler) idle(ctx context.Context) error { return f.put(ctx, Idle, object{"instances": 4}) }
