package planning

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"plannerd/internal/exact"
	"plannerd/store"
)

// size is how much statistics tell of.
type size struct {
	keys int64
	cost float64
}

// size counts the keys of the statistics, those that residuals stand for included, and
// sums up what they cost.
func (st *Statistics) size() size {
	costs, counts, residual := st.Cost, []int64(nil), st.Residual
	if r := st.Records; r != nil {
		costs, counts, residual = make([]float64, len(r.Records)), make([]int64, len(r.Records)), r.Residual
		for i, one := range r.Records {
			costs[i], counts[i] = one.Cost*r.Scales.Cost, one.Count
		}
	}
	out, scale, sum := size{}, exact.ScaleOf(costs, counts), int64(0)
	for i, cost := range costs {
		n := int64(1)
		if counts != nil {
			n = counts[i]
		}
		out.keys, sum = out.keys+n, sum+scale.Fixed(cost)*n
	}
	out.cost = scale.Float(sum)
	for _, r := range residual {
		out.keys, out.cost = out.keys+r.Keys, out.cost+r.Cost
	}
	return out
}

// tooSmall tells whether statistics are too small to be acted upon, and for how many
// intervals in a row others were: so is what a pipeline reports that broke.
func (s *Service) tooSmall(ctx context.Context, b *base, st *Statistics) (small bool, others int, err error) {
	least, is := b.newest.Approval.MinStatistics, st.size()
	if is.keys >= least.Keys && least.CostShare == 0 {
		return false, 0, nil
	}
	intervals := map[[2]int64]bool{}
	var accepted *store.Plan
	filter := store.PlanFilter{Operator: b.op.Name, Limit: plansBefore}
	for first := true; accepted == nil && (first || filter.Before != 0); first = false {
		plans, next, err := s.store.Plans(ctx, filter)
		if err != nil {
			return false, 0, aboutOperator(b.op.Name, err)
		}
		filter.Before, filter.Limit = next, plansAtATime
		for _, p := range plans {
			switch {
			case p.Epoch == st.Epoch && p.Interval == st.Interval:
			case isSmall(p):
				intervals[[2]int64{p.Epoch, p.Interval}] = true
			default:
				accepted = &p
			}
			if accepted != nil {
				break
			}
		}
	}
	small = is.keys < least.Keys
	if accepted != nil && !small {
		before, err := s.costOf(ctx, accepted.ID)
		if err != nil {
			return false, 0, err
		}
		small = is.cost < least.CostShare*before
	}
	return small, len(intervals), nil
}

// isSmall tells whether a plan was made of statistics that are too small to be acted upon,
// and nobody has accepted them by approving it.
func isSmall(p store.Plan) bool {
	switch p.Status {
	case store.StatusNoAction:
		return p.LeavesOpen
	case store.StatusProposed, store.StatusRejected, store.StatusSuperseded, store.StatusExpired:
		return slices.Contains(p.WaitsFor, string(WaitSmall))
	}
	return false
}

// costOf is what the statistics of a stored plan cost.
func (s *Service) costOf(ctx context.Context, id string) (cost float64, err error) {
	p, err := s.Plan(ctx, id)
	if err != nil {
		return 0, err
	}
	var loads []Load
	if err := json.Unmarshal(p.Instances, &loads); err != nil {
		return 0, err
	}
	before, after := 0.0, 0.0 // nothing carries anything before the first layout
	for _, l := range loads {
		before, after = before+l.LoadBefore, after+l.LoadAfter
	}
	return max(before, after), nil
}
