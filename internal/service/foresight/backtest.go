package foresight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"plannerd/internal/backtest"
	"plannerd/internal/drive"
	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/internal/web/admission"
	"plannerd/planner"
	"plannerd/planner/policy"
	"plannerd/store"
)

// Backtest asks what policies would have come to over the stored intervals of an operator.
type Backtest struct {
	// From and To bound the intervals by their numbers. Nil: no bound.
	From, To *int64
	// ThetaMax is the tolerance. Nil: that of the operator.
	ThetaMax *float64
	// BalanceWorth is what balance is worth, see [policy.Price]. 0: as to the operator.
	BalanceWorth float64
	// Policies are those to run. None: a family of them for that tolerance.
	Policies []policy.Policy
	Memory   *admission.Lease
	// Progress is told how many intervals were planned, under all policies.
	Progress func(done, total int64)

	resources []planner.Resource // beside cost, that rows have to tell
}

// BacktestReport is what became of them.
type BacktestReport struct {
	Operator string `json:"operator"`
	*backtest.Report
}

// Backtest runs policies over the newest stored intervals of an operator, up to the first
// one whose statistics are not kept. The configuration is the newest one.
func (s *Backtester) Backtest(ctx context.Context, name string, in Backtest) (*BacktestReport, error) {
	op, err := s.Operator(ctx, name)
	if err != nil {
		return nil, err
	}
	if op.Configuration.Scheme != operator.SchemeTable {
		return nil, refusal.New(refusal.NoRoutingTable, "A backtest plans routing tables.")
	}
	h, first, _, err := s.history(ctx, op, in)
	if err != nil {
		return nil, err
	}
	run, err := s.outset(ctx, op, first, in.Memory)
	if err != nil {
		return nil, err
	}
	if in.ThetaMax != nil {
		run.Options.ThetaMax = *in.ThetaMax
	}
	if in.BalanceWorth > 0 {
		run.BalanceWorth = in.BalanceWorth
	}
	out := &BacktestReport{Operator: name}
	out.Report, err = in.search(ctx, h, run)
	return out, unfit(err)
}

// search runs the policies over a history.
func (in Backtest) search(ctx context.Context, h *backtest.History, op backtest.Operator) (*backtest.Report, error) {
	limited := op.Options.TableLimit != nil || op.Target.Restricts()
	if err := in.Memory.Reserve(h.SearchBytes(runtime.GOMAXPROCS(0), limited, len(op.Target.Resources))); err != nil {
		return nil, err
	}
	policies := in.Policies
	if len(policies) == 0 {
		policies = policy.DefaultGrid().Policies(op.Options.ThetaMax, op.BalanceWorth)
	}
	candidates := backtest.Candidates(policies)
	total := int64(h.Len() * (len(candidates) + 1))
	return backtest.Search(ctx, h, op, candidates, func(done int) { in.Progress(int64(done), total) })
}

// BacktestRows runs policies over intervals that are not stored, for an operator of that
// configuration.
func (s *Backtester) BacktestRows(ctx context.Context, c operator.Configuration, h *backtest.History, in Backtest) (
	*backtest.Report, error,
) {
	text, err := c.Encode()
	if err != nil {
		return nil, err
	}
	p, err := s.Placements.Get(ctx, text)
	if err != nil {
		return nil, err
	}
	return in.search(ctx, h, backtest.Operator{
		Target: p.Model, Base: planner.Base{Configuration: p.Model, PinHomeless: true}, Options: c.Planner(),
		EntryGrace: c.EntryGrace, BalanceWorth: c.BalanceWorth,
	})
}

// unfit tells of statistics that are no longer possible under the newest configuration.
func unfit(err error) error {
	if input, ok := errors.AsType[*planner.InputError](err); ok {
		return refusal.New(refusal.ConfigurationChanged, fmt.Sprintf(
			"The stored statistics do not fit the newest configuration: %v. Begin at a later interval.", input))
	}
	return err
}

// outset is what the plan of the first interval ran on, and the newest configuration.
func (s *Backtester) outset(ctx context.Context, op reading.Operator, first string, memory *admission.Lease) (
	run backtest.Operator, err error,
) {
	newest, err := s.Placement(ctx, op.Name, op.ConfigVersion)
	if err != nil {
		return run, err
	}
	run = backtest.Operator{
		Target: newest.Model, Base: planner.Base{Configuration: newest.Model, PinHomeless: true},
		Options: op.Configuration.Planner(), EntryGrace: op.Configuration.EntryGrace,
		BalanceWorth: op.Configuration.BalanceWorth,
	}
	p, err := s.Plan(ctx, first)
	if err != nil {
		return run, err
	}
	before, err := schemes.LoadAgain(ctx, s.Reader, p, memory)
	switch {
	case intake.IsPurged(err): // the table is: rows say where keys are, or the hash
		err = nil
	case err == nil:
		run.Base = planner.Base{
			Configuration: before.Pinned.Model, Table: before.Table, PinHomeless: true,
			PartsExpire: newest.Splitting.Expires(),
			HashChanged: !operator.SamePlacement(before.Pinned.Configuration, newest.Configuration),
		}
	}
	return run, err
}

// stored is an interval with its statistics.
type stored struct {
	store.Plan
	*scheme.Statistics
}

// needKeys refuses statistics that name no keys.
func (x stored) needKeys() error {
	if x.Records == nil {
		return nil
	}
	return refusal.New(refusal.KeysNotKnown, fmt.Sprintf(
		"The statistics of interval %d are in compact form, which names no keys.", x.Plan.Interval))
}

// history reads the stored intervals, oldest first. It returns the plans of the first one and of the newest, too.
func (s *Backtester) history(ctx context.Context, op reading.Operator, in Backtest) (
	h *backtest.History, first string, newest store.Plan, err error,
) {
	in.resources = op.Configuration.Resources.Beside()
	intervals, err := s.storedIntervals(ctx, op.Name, in, math.MaxInt)
	if err != nil {
		return nil, "", newest, err
	}
	window := drive.DefaultWindow
	if intervals[len(intervals)-1].Added != nil { // the states are those of all keys that have any
		window = 1
	}
	h = backtest.NewHistory(window)
	h.Reserve = in.Memory.Reserve
	for _, x := range intervals {
		if err := x.needKeys(); err != nil {
			return nil, "", newest, err
		}
		if err := h.Add(x.Plan.Interval, x.Statistics.Statistics); err != nil {
			return nil, "", newest, unfit(err)
		}
	}
	return h, intervals[0].ID, intervals[len(intervals)-1].Plan, nil
}

// storedIntervals are the newest plans of the intervals whose statistics are kept, oldest
// first, so many at most. One that is not kept ends them, as does one of other routed keys, or one without amounts of a
// resource: those before it are not followed by the next.
func (s *Backtester) storedIntervals(ctx context.Context, name string, in Backtest, most int) ([]stored, error) {
	var out []stored
	filter := store.PlanFilter{Operator: name, Limit: scheme.PlansAtATime}
	for more := true; more; more = more && filter.Before > 0 {
		plans, next, err := s.Store.Plans(ctx, filter)
		if err != nil {
			return nil, refusal.AboutOperator(name, err)
		}
		if filter.Before == 0 && len(plans) == 0 {
			return nil, refusal.New(refusal.IntervalNotFound, fmt.Sprintf("Operator %q has no statistics yet.", name))
		}
		filter.Before = next
		for _, p := range plans {
			if n := len(out); in.To != nil && p.Interval > *in.To ||
				n > 0 && out[n-1].Plan.Epoch == p.Epoch && out[n-1].Plan.Interval == p.Interval {
				continue // a newer plan of the same interval is there
			}
			if more = len(out) < most && (in.From == nil || p.Interval >= *in.From); !more {
				break
			}
			stats, err := s.inputBefore(ctx, out, p, in)
			if more = !intake.IsPurged(err); !more {
				break
			} else if err != nil {
				return nil, err
			}
			out = append(out, stored{p, stats})
		}
	}
	if len(out) == 0 {
		return nil, refusal.New(refusal.Purged, fmt.Sprintf("No statistics of operator %q are kept for these intervals.",
			name))
	}
	slices.Reverse(out)
	return out, nil
}

// inputBefore reads the statistics of a plan before others, newest first. Those of other routed keys count as not
// kept, and so do those from before a resource was there whose amounts rows tell.
func (s *Backtester) inputBefore(ctx context.Context, others []stored, p store.Plan, in Backtest) (
	*scheme.Statistics, error,
) {
	if len(others) == 0 {
		return s.InputOf(ctx, p, in.Memory)
	}
	now, err := s.AffinityOf(ctx, others[0].Plan)
	if err != nil {
		return nil, err
	}
	if then, err := s.AffinityOf(ctx, p); err != nil || then != now {
		return nil, cmp.Or(err, refusal.New(refusal.Purged, "They are of other routed keys."))
	}
	st, err := s.InputOf(ctx, p, in.Memory)
	if err == nil && slices.ContainsFunc(in.resources, func(r planner.Resource) bool { return !st.Tells(r) }) {
		err = refusal.New(refusal.Purged, "They do not tell all resources.")
	}
	return st, err
}

// Backtester runs policies over intervals, stored ones or others.
type Backtester struct{ *intake.Intake }
