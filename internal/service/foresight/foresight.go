package foresight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"plannerd/internal/operator"
	"plannerd/internal/refusal"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/web/admission"
	"plannerd/planner/forecast"
	"plannerd/store"
)

// Foresee observes an interval after those before it, into memory that the lease holds.
func (s *Forecaster) Foresee(ctx context.Context, b *scheme.Base, st *scheme.Statistics,
	memory *admission.Lease) error {
	f := &scheme.Foreseen{Policy: b.Newest.Policy.Policy}
	if b.Newest.Policy.Auto {
		f.Policy = operator.OnLast
	}
	if b.Foreseen = f; b.Newest.Scheme != operator.SchemeTable {
		return nil
	}
	if st.Records != nil {
		if m := f.Policy.Forecast.Method; m != forecast.Last {
			return refusal.New(refusal.KeysNotKnown, fmt.Sprintf(
				"Statistics in compact form name no keys, and the operator's policy forecasts these by %s.", m))
		}
		return nil
	}
	before, told, err := s.foresightBefore(ctx, b, st)
	if err != nil {
		return err
	}
	if b.Newest.Policy.Auto {
		f.Policy, f.Chosen = s.chooser.inEffect(b, told)
	}
	if err := memory.Reserve(reading.ForecastBytes(st.Len(), len(b.Newest.Model.Resources))); err != nil {
		return err
	}
	if f.State, err = s.stateBefore(ctx, b, before, f.Policy.Forecast, st, memory); err != nil {
		return err
	}
	if f.Forecast, err = f.State.Observe(st.Statistics); err != nil {
		return err
	}
	b.ForeseeOf(st, f)
	return nil
}

// remembering is over how many plans a forecast goes back to one that has what it
// remembers, and as many it begins anew with.
const remembering = 32

// foresightBefore returns the newest plan of an earlier interval that has a forecast, and
// what it tells; nil: there is none.
func (s *Forecaster) foresightBefore(ctx context.Context, b *scheme.Base, st *scheme.Statistics) (*store.Plan,
	*scheme.Foresight, error) {
	for p, err := range s.EarlierPlans(ctx, b, st, remembering) {
		if err != nil {
			return nil, nil, err
		}
		if told, err := scheme.ForesightOf(p); told != nil || err != nil {
			return &p, told, err
		}
	}
	return nil, nil, nil
}

// stateBefore is what a forecast remembers of the intervals before the statistics: as it
// was stored with a plan before them, or else by the intervals that are stored.
func (s *Forecaster) stateBefore(
	ctx context.Context, b *scheme.Base, before *store.Plan, c forecast.Config, st *scheme.Statistics,
	memory *admission.Lease,
) (*forecast.State, error) {
	begin, err := forecast.New(c)
	if err != nil {
		return nil, err
	}
	begin.Track(b.Newest.Model.Resources)
	if before == nil {
		return begin, nil
	}
	state, err := s.StateAfter(ctx, *before, memory)
	if err != nil {
		return nil, err
	}
	if state != nil && state.Config() == begin.Config() {
		state.Track(b.Newest.Model.Resources)
		return state, nil
	}
	var plans []store.Plan // newest first
	for p, err := range s.EarlierPlans(ctx, b, st, remembering) {
		if err != nil {
			return nil, err
		}
		if n := len(plans); intake.IsSmall(p) || n > 0 && plans[n-1].Epoch == p.Epoch && plans[n-1].Interval == p.Interval {
			continue
		}
		plans = append(plans, p)
	}
	held := memory.Used()
	for _, p := range slices.Backward(plans) {
		in, err := s.InputOf(ctx, p, memory)
		switch {
		case intake.IsPurged(err) || err == nil && in.Records != nil:
			continue
		case err == nil:
			_, err = begin.Observe(in.Statistics)
		}
		if err := cmp.Or(err, memory.Settle(held)); err != nil {
			return nil, err
		}
	}
	return begin, nil
}

// StateAfter is what a forecast remembered when a plan was made, its own interval included;
// nil: it was not stored, or is too old.
func (s *Forecaster) StateAfter(ctx context.Context, p store.Plan, memory *admission.Lease) (*forecast.State, error) {
	data, err := s.Store.ForecastState(ctx, p.ID)
	switch {
	case errors.Is(err, store.ErrPurged):
		return nil, nil
	case err != nil:
		return nil, refusal.AboutPlan(p.ID, err)
	case data == nil:
		return nil, nil
	}
	if err := memory.Reserve(int64(2 * len(data))); err != nil {
		return nil, err
	}
	state, err := forecast.Decode(data)
	if errors.Is(err, forecast.ErrEncoding) { // of another version of the program
		return nil, nil
	}
	return state, err
}

// Forecaster says what the intervals so far let expect of the next, and which policy to plan by.
type Forecaster struct {
	*Backtester
	memory  *admission.Budget
	log     *slog.Logger
	chooser *chooser
}

// NewForecaster returns a forecaster. Its calls hold memory of the budget when they choose policies.
func NewForecaster(in *intake.Intake, memory *admission.Budget, log *slog.Logger) *Forecaster {
	return &Forecaster{Backtester: &Backtester{Intake: in}, memory: memory, log: log, chooser: newChooser()}
}

// Planned notes that a plan was stored, so that a policy for the next ones may become due.
func (s *Forecaster) Planned(b *scheme.Base) { s.chooser.planned(b) }
