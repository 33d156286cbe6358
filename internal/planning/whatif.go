package planning

import (
	"cmp"
	"context"
	"slices"

	"plannerd/internal/admission"
	"plannerd/planner"
)

// Trial is one thing that a what-if plans.
type Trial struct {
	Strategy string
	Parameters
}

// WhatIf asks what strategies and parameters would come to.
type WhatIf struct {
	*Statistics
	Configuration Configuration
	Table         *planner.RoutingTable // nil: the statistics say where keys are
	Trials        []Trial
	Lists         bool // of the plans are asked for, too
	Memory        *admission.Lease
}

// WhatIf plans all that is to be tried. The results are in the order of the trials;
// front tells which of them no other one beats in every respect.
func (s *Service) WhatIf(ctx context.Context, in WhatIf) (results []*PlanResult, front []bool, err error) {
	return s.tryAll(ctx, in, func() (*planInput, error) {
		text, err := in.Configuration.Encode()
		if err != nil {
			return nil, err
		}
		p, err := s.placements.get(ctx, text)
		if err != nil {
			return nil, err
		}
		// How long keys have been absent is not known: their entries stay.
		return newPlanInput(in.Statistics, p.planner, planner.Base{
			Configuration: p.planner, Table: in.Table, Kept: slices.Repeat([]bool{true}, in.Table.Len()), Stop: ended(ctx),
		})
	}, func(*PlanResult) {})
}

// tryAll plans all that is to be tried, on what prepare makes of the statistics, and
// finishes each plan.
func (s *Service) tryAll(
	ctx context.Context, in WhatIf, prepare func() (*planInput, error), finish func(*PlanResult),
) (results []*PlanResult, front []bool, err error) {
	loads := int64(len(in.Trials)*len(in.Configuration.Instances)) * loadBytes
	if err := in.Memory.Settle(in.Memory.Used() + in.planBytes() + loads); err != nil {
		return nil, nil, err
	}
	prepared, err := prepare()
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil:
		return nil, nil, err
	}
	results = make([]*PlanResult, len(in.Trials))
	for _, i := range byDegree(in.Trials) {
		begin := s.now()
		out, err := s.trials.run(ctx, in.Trials[i].Strategy, prepared, in.Trials[i].Parameters)
		if err != nil {
			return nil, nil, err
		}
		out.Took = s.now().Sub(begin)
		finish(out)
		if err := in.Memory.Reserve(out.trialBytes(in.Lists)); err != nil {
			return nil, nil, err
		}
		results[i] = out
	}
	plans := make([]*planner.Plan, len(results))
	for i, p := range results {
		plans[i] = p.Plan
	}
	return results, planner.ParetoFront(plans), nil
}

// byDegree is an order of the trials in which those of one degree are together, so that
// no more than one compact form is in memory.
func byDegree(trials []Trial) []int {
	order := make([]int, len(trials))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order,
		func(a, b int) int { return cmp.Compare(trials[a].Compact.Degree, trials[b].Compact.Degree) })
	return order
}
