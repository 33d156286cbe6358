package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"time"

	"plannerd/internal/lab/quality/cases"
	"plannerd/internal/lab/streams"
	"plannerd/planner"
	"plannerd/planner/partitioner"
)

// reference is the name under which strategy optimal runs with the tightest certificate.
const reference = planner.Optimal + "/tight"

// drive is a stream that is planned interval by interval under the same parameters. Keys are
// placed by the service's default hash, a ring.
type drive struct {
	stream    streams.Stream
	instances int
	table     int64
}

// drivesOf are those of a stream.
func drivesOf(s streams.Stream) (all []drive) {
	for _, n := range driveInstances {
		for _, table := range driveTables {
			all = append(all, drive{s, n, table})
		}
	}
	return all
}

func (d drive) name() string {
	return fmt.Sprintf("stream=%s/instances=%d/theta=%v/table=%d", d.stream.Name, d.instances,
		planner.DefaultThetaMax, d.table)
}

// question is a case that all strategies plan.
type question struct {
	name     string
	snapshot *planner.Snapshot
	options  planner.Options
}

// suite runs the cases and keeps what came out.
type suite struct {
	*config
	ctx     context.Context
	records []record
}

// assess runs everything and writes the report.
func assess(ctx context.Context, c *config, stdout, stderr io.Writer) (*suite, error) {
	s := &suite{config: c, ctx: ctx}
	yardstick := sortTime(c.yardsticks)
	start := time.Now()
	progress := func(name string, err error) bool {
		fmt.Fprintf(stderr, "%s: %d cases, %s in all\n", name, len(s.records), time.Since(start).Round(time.Second))
		return err == nil
	}
	var err error
	for _, d := range c.drives {
		if err = s.drive(d); !progress(d.name(), err) {
			break
		}
	}
	for _, d := range c.drawn {
		if err != nil {
			break
		}
		var x *cases.Case
		if x, err = cases.Draw(d.family, d.seed, s.familyKeys); err == nil {
			_, err = s.measure(question{x.Name(), x.Snapshot, x.Options}, record{family: d.family})
			progress(x.Name(), err)
		}
	}
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	r := report{suite: s, yardstick: yardstick, elapsed: time.Since(start), w: stdout}
	return s, r.write()
}

// drive measures the intervals of a stream, from an empty table on.
func (s *suite) drive(d drive) error {
	nodes, target := make([]partitioner.Instance, d.instances), planner.Configuration{}
	for i := range nodes {
		nodes[i].ID = int32(i)
		target.Instances = append(target.Instances, planner.Instance{ID: int32(i), Capacity: 1})
	}
	var err error
	if target.Hash, err = partitioner.New(partitioner.Config{}, nodes); err != nil {
		return err
	}
	if s.zones > 0 {
		z, err := drawZones(s.zones, s.seed, nodes)
		if err != nil {
			return err
		}
		target.Hash, target.Placement = z, z
	}
	var table *planner.RoutingTable
	n := 0
	for in, err := range d.stream.Intervals {
		if err != nil || n == s.intervals {
			return err
		}
		n++
		if s.memory > 0 {
			limitState(&target, in.Statistics, s.memory)
		}
		snapshot, err := planner.NewSnapshot(in.Statistics, target, planner.Base{Configuration: target, Table: table})
		if err != nil {
			return err
		}
		plan, err := s.measure(question{d.name() + "#" + strconv.FormatInt(in.Number, 10), snapshot,
			planner.Options{ThetaMax: planner.DefaultThetaMax, TableLimit: &d.table}}, record{drive: d})
		if err == nil && plan != nil { // else the routing table stays as it is
			table, err = plan.Table()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// limitState has each instance take no more than an even share of so many times all state.
func limitState(target *planner.Configuration, stats *planner.Statistics, times float64) {
	all := float64(stats.Len())
	if stats.State != nil {
		all = 0
		for _, v := range stats.State {
			all += v
		}
	}
	target.Resources = []planner.Resource{{Name: "memory", From: planner.FromState, Limited: true}}
	target.Instances = slices.Clone(target.Instances)
	for d := range target.Instances {
		target.Instances[d].Capacities = []float64{times * all / float64(len(target.Instances))}
	}
}

// contradictions is how many cases have a plan that refutes a certificate.
func (s *suite) contradictions() (n int) {
	for i := range s.records {
		if s.records[i].contradicted {
			n++
		}
	}
	return n
}

// measure puts a case to every strategy. It returns the plan that is carried on, nil if there
// is none.
func (s *suite) measure(q question, r record) (*planner.Plan, error) {
	options := q.options
	options.Certificate = planner.CertificateOff
	still, err := planner.Inspect(q.snapshot, options)
	if err != nil {
		return nil, err
	}
	r.name, r.keys, r.hot, r.thetaBefore = q.name, q.snapshot.Len(), len(still.HotKeys), still.Theta.Before
	r.settled = slices.Contains(still.Causes, planner.CauseBalanced)
	tight := s.last()
	tight.label, tight.level = reference, planner.CertificateTight
	carried, chosen := s.last(), (*planner.Plan)(nil)
	for _, name := range append(slices.Clone(s.strategies), reference) {
		attempts := []attempt{tight}
		if name != reference {
			attempts = s.attempts(name)
		}
		for _, a := range attempts {
			if most, ok := maxKeys[name]; ok && r.keys > most {
				r.results = append(r.results, result{strategy: a.label, status: statusSkipped})
				continue
			}
			x, plan, err := s.time(a, q)
			if err != nil {
				return nil, err
			}
			if a == carried || a == tight && chosen == nil {
				chosen = plan
			}
			r.results = append(r.results, x)
		}
	}
	r.judge()
	s.records = append(s.records, r)
	return chosen, nil
}

// time runs a strategy under the time limit. The plan is nil when time ran out before there
// was any.
func (s *suite) time(a attempt, q question) (result, *planner.Plan, error) {
	options := q.options
	options.Certificate, options.Effort = a.level, a.effort
	runtime.GC() // so that this plan does not pay for what others left behind
	start := time.Now()
	deadline := start.Add(s.limit)
	options.Stop = func() bool { return s.ctx.Err() != nil || time.Now().After(deadline) }
	plan, err := planner.Run(a.strategy, q.snapshot, options)
	elapsed := time.Since(start)
	switch {
	case s.ctx.Err() != nil:
		return result{}, nil, s.ctx.Err()
	case errors.Is(err, planner.ErrStopped):
		return result{strategy: a.label, status: statusNoPlan, elapsed: elapsed}, nil, nil
	case err != nil:
		return result{}, nil, fmt.Errorf("%s: %s: %w", q.name, a.label, err)
	}
	return resultOf(a.label, plan, elapsed), plan, nil
}
