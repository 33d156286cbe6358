package foresight

import (
	"cmp"
	"context"
	"slices"

	"plannerd/internal/drive"
	"plannerd/internal/input/lists"
	"plannerd/internal/refusal"
	"plannerd/internal/service/intake"
	"plannerd/internal/service/listing"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/schemes"
	"plannerd/internal/web/admission"
	"plannerd/store"
)

// Realised tells how intervals went under the tables that were in effect, whatever became
// of the plans that were made of their statistics.
type Realised struct {
	// Intervals is their number.
	Intervals int `json:"intervals"`
	// Theta is nil where there is no interval.
	Theta *ThetaSpread `json:"theta"`
	// Planned are the θ that the tables were planned to have: those after the plans made of
	// the intervals before, but of plans that had changed nothing when they were to. nil:
	// there are none.
	Planned *ThetaSpread `json:"theta_planned"`
	// Above is the part of the intervals above θ_max, nil without any interval.
	Above *float64 `json:"above"`
	// Moved is M: the state that committed plans moved, each time as a part of all state.
	Moved float64 `json:"moved"`
	// Returned is what of it went back to an instance that it had left lately: thrashing.
	Returned float64 `json:"returned"`
	// Plans counts the committed plans that moved anything.
	Plans int `json:"plans"`

	thetas []float64
}

// Thetas are the θ realised in the intervals, oldest first.
func (r Realised) Thetas() []float64 { return append([]float64{}, r.thetas...) }

// ThetaSpread are figures of several θ; Last is the newest.
type ThetaSpread struct {
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	Last   float64 `json:"last"`
}

// realisedOf tells how the intervals of plans went; they are all those of these intervals,
// oldest first.
func realisedOf(plans []store.BriefPlan, thetaMax float64) (r Realised) {
	var planned []float64
	above := 0
	for i, p := range plans {
		if p.Status == store.StatusCommitted && p.MigrationKeys > 0 {
			r.Moved += p.MigrationFraction
			r.Returned += p.MigrationFraction * p.Returned
			r.Plans++
		}
		if i+1 < len(plans) && plans[i+1].Epoch == p.Epoch && plans[i+1].Interval == p.Interval {
			continue // the last plan of an interval speaks for it
		}
		r.thetas = append(r.thetas, p.ThetaRealised)
		if drive.Above(p.ThetaRealised, thetaMax) {
			above++
		}
		if tookEffect(p.Status) && i+1 < len(plans) {
			planned = append(planned, p.ThetaAfter)
		}
	}
	r.Intervals, r.Theta, r.Planned = len(r.thetas), spreadOf(r.thetas), spreadOf(planned)
	if r.Intervals > 0 {
		share := float64(above) / float64(r.Intervals)
		r.Above = &share
	}
	return r
}

// tookEffect reports whether the next interval ran under what a plan had planned.
func tookEffect(s store.Status) bool { return s == store.StatusCommitted || s == store.StatusNoAction }

// ThetaPlanned is the θ that the plan before had planned for the interval that is planned on
// now; nil: none had.
func ThetaPlanned(b *scheme.Base) *float64 {
	if b.Before == nil || !tookEffect(b.Before.Status) {
		return nil
	}
	return &b.Before.ThetaAfter
}

// Returned is what of the state that a plan of keys moves goes back to an instance that it
// left within the last [drive.ReturnWindow] intervals.
func (s *Forecaster) Returned(ctx context.Context, b *scheme.Base, st *scheme.Statistics, p *scheme.Result,
	memory *admission.Lease) (
	state float64, err error,
) {
	if p.Diff != nil || p.Classes != nil || len(p.Moves) == 0 {
		return 0, nil
	}
	var left drive.Departures
	intervals := 0
	last := store.Plan{Epoch: -1}
	for q, err := range s.EarlierPlans(ctx, b, st, remembering) {
		if err != nil {
			return 0, err
		}
		if q.Epoch != last.Epoch || q.Interval != last.Interval {
			intervals++
		}
		if last = q; intervals > drive.ReturnWindow {
			break
		}
		if q.Status != store.StatusCommitted || q.MigrationKeys == 0 || q.Classes {
			continue
		}
		if err := s.departed(ctx, q, &left, memory); err != nil {
			return 0, err
		}
	}
	for m := range lists.MigrationsOf(p.Plan) {
		if left.Returns(m.Key, m.To) {
			state += m.State
		}
	}
	return state, nil
}

// departed notes where the keys of a committed plan moved away from.
func (s *Forecaster) departed(ctx context.Context, p store.Plan, left *drive.Departures,
	memory *admission.Lease) error {
	if err := memory.Reserve(p.MigrationKeys * reading.ListedBytes); err != nil {
		return err
	}
	m, err := schemes.Of(p).Migrations(ctx, s.Reader, p)
	if intake.IsPurged(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for move := range m.(listing.KeyMigrations).All() {
		left.Leave(move.Key, move.From)
	}
	return nil
}

// spreadOf are the figures of values, oldest first; nil: there are none.
func spreadOf(values []float64) *ThetaSpread {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	return &ThetaSpread{drive.Quantile(sorted, 0.5), drive.Quantile(sorted, 0.95), values[len(values)-1]}
}

// RecentPlans is how many of an operator's newest plans tell how it went, unless somebody
// says.
const RecentPlans = 40

// Recent is how an operator went lately.
type Recent struct {
	store.Recent
	Realised Realised // over the intervals of these plans
}

// Recent tells how operators went lately, in their order, by so many of the newest plans of
// each.
func (s *Forecaster) Recent(ctx context.Context, operators []reading.Operator, most int) ([]Recent, error) {
	stored := make([]store.Operator, len(operators))
	for i, op := range operators {
		stored[i] = op.Operator
	}
	recent, err := s.Store.RecentPlans(ctx, stored, most)
	out := make([]Recent, len(recent))
	for i, r := range recent {
		out[i] = Recent{r, realisedOf(r.Brief, operators[i].Configuration.ThetaMax)}
		for _, p := range r.Plans {
			err = cmp.Or(err, reading.SchemeOf(p).Check())
		}
	}
	return out, refusal.AboutStore(err)
}
