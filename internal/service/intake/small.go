package intake

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"plannerd/internal/refusal"
	"plannerd/internal/service/figures"
	"plannerd/internal/service/scheme"
	"plannerd/store"
)

// TooSmall tells whether statistics are too small to be acted upon, and for how many
// intervals in a row others were: so is what a pipeline reports that broke.
func (s *History) TooSmall(ctx context.Context, b *scheme.Base, st *scheme.Statistics) (small bool, others int,
	err error) {
	if st.Queues { // empty ones are as good as any
		return false, 0, nil
	}
	least, is := b.Newest.Approval.MinStatistics, st.Size()
	few := is.Keys < least.Keys
	b.Before, others, err = s.LastAccepted(ctx, b, st)
	switch {
	case !few && least.CostShare == 0:
		return false, 0, err
	case few || b.Before == nil || err != nil:
		return few || others == mostSmall, others, err
	}
	before, err := s.costOf(ctx, b.Before.ID)
	return is.Cost < least.CostShare*before, others, err
}

// mostSmall is how many intervals are looked back for one that was accepted: after so many
// that were not, the next ones are too small as well.
const mostSmall = 1000

// LastAccepted returns the newest plan of another interval whose statistics were not too
// small, and how many intervals there were since; nil: there is none, or they are too many.
func (s *History) LastAccepted(ctx context.Context, b *scheme.Base, st *scheme.Statistics) (p *store.Plan, since int,
	err error) {
	small := map[[2]int64]bool{}
	filter := store.PlanFilter{Operator: b.Op.Name, Limit: scheme.PlansBefore}
	for {
		plans, next, err := s.Store.Plans(ctx, filter)
		if err != nil {
			return nil, 0, refusal.AboutOperator(b.Op.Name, err)
		}
		for _, p := range plans {
			at := [2]int64{p.Epoch, p.Interval}
			switch {
			case at == [2]int64{st.Epoch, st.Interval}, figures.MadeOfQueues(p):
			case !IsSmall(p):
				return &p, len(small), nil
			case len(small) < mostSmall:
				small[at] = true
			}
		}
		if next == 0 || len(small) == mostSmall {
			return nil, len(small), nil
		}
		filter.Before, filter.Limit = next, scheme.PlansAtATime
	}
}

// IsSmall tells whether a plan was made of statistics that are too small to be acted upon,
// and nobody has accepted them by approving it.
func IsSmall(p store.Plan) bool {
	switch p.Status {
	case store.StatusNoAction:
		return p.LeavesOpen
	case store.StatusProposed, store.StatusRejected, store.StatusSuperseded, store.StatusExpired:
		return slices.Contains(p.WaitsFor, string(figures.WaitSmall))
	}
	return false
}

// costOf is what the statistics of a stored plan cost.
func (s *History) costOf(ctx context.Context, id string) (cost float64, err error) {
	p, err := s.Plan(ctx, id)
	if err != nil {
		return 0, err
	}
	var loads []figures.Load
	if err := json.Unmarshal(p.Instances, &loads); err != nil {
		return 0, store.Unreadable("stored loads", err)
	}
	before, after := 0.0, 0.0 // nothing carries anything before the first layout
	for _, l := range loads {
		before, after = before+l.LoadBefore, after+l.LoadAfter
	}
	return max(before, after), nil
}
