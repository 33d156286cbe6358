package intake

import (
	"context"
	"fmt"
	"math"
	"slices"

	"plannerd/internal/drive"
	"plannerd/internal/refusal"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/store"
)

// AddUp has the rows' states, which are what the interval added, be what the last intervals
// of the operator's window have added, and adds rows without cost for the keys that only
// earlier ones name. Intervals that were too small to be acted upon do not count, nor do
// those before the window was set, or whose statistics are no longer kept.
func (s *History) AddUp(ctx context.Context, b *scheme.Base, st *scheme.Statistics, memory *admission.Lease) error {
	if b.Newest.Window <= 1 {
		return nil
	}
	switch {
	case st.Records != nil:
		return refusal.New(refusal.KeysNotKnown,
			"The operator adds up the states of keys over several intervals, and statistics in "+
				"compact form do not say which keys these are.")
	case st.Partial || len(st.PartialOn) > 0 || len(st.Frozen) > 0:
		return refusal.New(refusal.CompleteCoverageRequired,
			"The operator adds up the states of keys over several intervals: only complete statistics say what was added.")
	}
	window := drive.NewSums(b.Newest.Window)
	window.Reserve = memory.Reserve
	before, err := s.windowBefore(ctx, b, st)
	if err != nil {
		return err
	}
	for _, p := range before {
		if err := s.addInterval(ctx, window, p, memory); err != nil {
			return err
		}
	}
	own := st.Statistics
	if st.Statistics, err = window.Add(own); err != nil {
		return err
	}
	if err := memory.Reserve(int64(st.Len()-own.Len()) * reading.PlanRowBytes); err != nil {
		return err
	}
	for i := own.Len(); i < st.Len(); i++ { // errors point at rows of the request, and this is none
		if _, err := b.Newest.Model.Hash.Instance(st.Keys.At(i), st.Keys.Hash(i)); err != nil {
			return planner.Invalid("interval",
				fmt.Sprintf("key %q, which has state of intervals before, %v", st.Keys.At(i), err))
		}
	}
	st.Added = append(slices.Clone(own.State), make([]float64, st.Len()-own.Len())...)
	st.Shares = sharesOf(own, st.State)
	return nil
}

// sharesOf are the shares of rows once their states are others: what earlier intervals
// added is where the key is.
func sharesOf(own *planner.Statistics, state []float64) []planner.Share {
	out := slices.Clone(own.Shares)
	for i, x := range out {
		if own.Instance != nil && x.Instance == own.Instance[x.Row] {
			out[i].State += state[x.Row] - own.State[x.Row]
		}
	}
	return out
}

// addInterval has a window know what a stored interval added.
func (s *History) addInterval(ctx context.Context, window *drive.Window, p store.Plan, memory *admission.Lease) error {
	held := memory.Used()
	in, err := s.InputOf(ctx, p, memory)
	if IsPurged(err) || err == nil && in.Added == nil {
		return nil
	}
	if err != nil {
		return err
	}
	input := memory.Used() - held
	_, err = window.Add(&planner.Statistics{Keys: in.Keys, Cost: in.Cost, State: in.Added})
	if err != nil {
		return err
	}
	return memory.Settle(memory.Used() - input)
}

// windowBefore are the newest plans of the intervals whose states the statistics add to,
// oldest first.
func (s *History) windowBefore(ctx context.Context, b *scheme.Base, st *scheme.Statistics) (plans []store.Plan,
	err error) {
	for p, err := range s.EarlierPlans(ctx, b, st, math.MaxInt) {
		if err != nil {
			return nil, err
		}
		n := len(plans)
		switch {
		case n == b.Newest.Window-1:
		case IsSmall(p) || n > 0 && plans[n-1].Epoch == p.Epoch && plans[n-1].Interval == p.Interval:
			continue
		default:
			c, err := s.Placement(ctx, p.Operator, p.ConfigVersion)
			if err != nil {
				return nil, err
			}
			if c.Window > 1 {
				plans = append(plans, p)
				continue
			}
		}
		break
	}
	slices.Reverse(plans)
	return plans, nil
}
