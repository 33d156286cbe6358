package propose

import (
	"cmp"
	"context"
	"slices"

	"plannerd/internal/operator"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/scheme/table"
	"plannerd/internal/web/admission"
	"plannerd/planner"
)

// Trial is one thing that a what-if plans.
type Trial struct {
	Strategy string
	operator.Parameters
	operator.Target
}

// Retargets reports whether it plans for something else than the configuration's own.
func (t Trial) Retargets() bool { return t.Instances > 0 || t.Placement != nil || t.Resources != nil }

// WhatIf asks what strategies and parameters would come to.
type WhatIf struct {
	*scheme.Statistics
	Configuration operator.Configuration
	Table         *planner.RoutingTable // nil: the statistics say where keys are
	Trials        []Trial
	Lists         bool // of the plans are asked for, too
	Memory        *admission.Lease
}

// Targets are the numbers of instances that are to be planned for, but for that of the
// configuration, each once.
func (in *WhatIf) Targets() []int {
	var numbers []int
	for _, t := range in.Trials {
		if t.Instances > 0 && !slices.Contains(numbers, t.Instances) {
			numbers = append(numbers, t.Instances)
		}
	}
	return numbers
}

// WhatIf plans all that is to be tried. The results are in the order of the trials;
// front tells which of them no other one for as many instances beats in every respect.
func (s *Proposer) WhatIf(ctx context.Context, in WhatIf) (results []*scheme.Result, front []bool, err error) {
	own, err := s.Placements.Of(ctx, in.Configuration)
	if err != nil {
		return nil, nil, err
	}
	affinity := in.Configuration.Hash.Affinity // where rows say so, keys that are to stay together are apart now
	apart := !affinity.IsZero() && in.Instance != nil && !slices.Contains(in.Instance, planner.NoInstance)
	if err := in.Memory.Reserve(in.GroupBytes(affinity)); err != nil {
		return nil, nil, err
	}
	if in.Statistics, err = in.Grouped(affinity, apart); err != nil {
		return nil, nil, err
	}
	results, front, err = s.tryAll(ctx, in, func(t Trial) (*scheme.Input, error) {
		target, err := s.retargeted(ctx, own, t)
		if err != nil {
			return nil, err
		}
		// How long keys have been absent is not known: their entries stay.
		return scheme.NewInput(in.Statistics, target, planner.Base{PinHomeless: true,
			Configuration: own.Model, Table: in.Table, Kept: slices.Repeat([]bool{true},
				in.Table.Len()), Stop: scheme.Ended(ctx),
			HashChanged: !operator.SamePlacement(own.Configuration, target.Configuration), Filling: table.Added(own, target),
		})
	}, func(*scheme.Result) {})
	return results, front, in.InRows(err)
}

// retargeted is what a trial plans for.
func (s *Proposer) retargeted(ctx context.Context, own *reading.Placement, t Trial) (*reading.Placement, error) {
	if !t.Retargets() {
		return own, nil
	}
	c, err := operator.Retargeted(own.Configuration, t.Target)
	if err != nil {
		return nil, err
	}
	return s.Placements.Of(ctx, c)
}

// tryAll plans all that is to be tried, on what prepare makes of the statistics for the number of
// instances and the rules of a trial, and finishes each plan.
func (s *Proposer) tryAll(
	ctx context.Context, in WhatIf, prepare func(Trial) (*scheme.Input, error), finish func(*scheme.Result),
) (results []*scheme.Result, front []bool, err error) {
	loads := int64(0)
	for _, t := range in.Trials {
		loads += int64(max(t.Instances, len(in.Configuration.Instances))) * reading.LoadBytes
	}
	resources := in.Configuration.Resources
	if len(in.Trials) > 0 && in.Trials[0].Resources != nil { // all trials are on the same
		resources = in.Trials[0].Resources
	}
	need := in.PlanBytes() + in.ResourceBytes(resources) + loads
	if err := in.Memory.Settle(in.Memory.Used() + need); err != nil {
		return nil, nil, err
	}
	results, front = make([]*scheme.Result, len(in.Trials)), make([]bool, len(in.Trials))
	for _, group := range byInstances(in.Trials) {
		if err := s.tryGroup(ctx, in, group, prepare, finish, results); err != nil {
			return nil, nil, err
		}
		plans := make([]*planner.Plan, len(group))
		for i, at := range group {
			plans[i] = results[at].Plan
		}
		for i, best := range planner.ParetoFront(plans) {
			front[group[i]] = best
		}
	}
	return results, front, nil
}

// tryGroup plans trials of one number of instances.
func (s *Proposer) tryGroup(ctx context.Context, in WhatIf, group []int, prepare func(Trial) (*scheme.Input, error),
	finish func(*scheme.Result), results []*scheme.Result) error {
	prepared, err := prepare(in.Trials[group[0]])
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	}
	for _, i := range byDegree(in.Trials, group) {
		begin := s.Now()
		out, err := s.Trials.Run(ctx, in.Trials[i].Strategy, prepared, in.Trials[i].Parameters)
		if err != nil {
			return err
		}
		out.Took = s.Now().Sub(begin)
		finish(out)
		if err := in.Memory.Reserve(out.TrialBytes(in.Lists)); err != nil {
			return err
		}
		results[i] = out
	}
	return nil
}

// byInstances groups the trials by the number of instances, in their order.
func byInstances(trials []Trial) (groups [][]int) {
	group := map[int]int{}
	for i, t := range trials {
		at, known := group[t.Instances]
		if !known {
			at, group[t.Instances] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}

// byDegree is an order of a group of trials in which those of one degree are together, so
// that no more than one compact form is in memory.
func byDegree(trials []Trial, group []int) []int {
	order := slices.Clone(group)
	slices.SortStableFunc(order,
		func(a, b int) int { return cmp.Compare(trials[a].Compact.Degree, trials[b].Compact.Degree) })
	return order
}
