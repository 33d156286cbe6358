package foresight

import (
	"cmp"
	"context"
	"slices"

	"plannerd/internal/drive"
	"plannerd/internal/input/lists"
	"plannerd/internal/operator"
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
	// Resources are the operator's, cost first; nil: cost is all that counts.
	Resources []RealisedResource `json:"resources,omitzero"`

	thetas []float64
}

// RealisedResource tells how a resource went. Its levels are θ, or with a limit the greatest part of a capacity.
type RealisedResource struct {
	Name string `json:"name"`
	// Intervals is the number of those that it is known of.
	Intervals int `json:"intervals"`
	// Level is what came and Planned what the tables were planned to have; nil as in [Realised].
	Level   *ThetaSpread `json:"level"`
	Planned *ThetaSpread `json:"planned"`
	// Greatest is the highest level that came, and Broken the number of intervals in which the bound was broken.
	Greatest *float64 `json:"greatest"`
	Broken   int      `json:"broken"`
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
func realisedOf(plans []store.BriefPlan, c operator.Configuration) (r Realised, err error) {
	var planned []float64
	above := 0
	all := make(courses, len(c.Resources))
	var came []scheme.Level // as the newest plan of the interval tells that has a forecast: one that undoes has none
	for i, p := range plans {
		told, leaves, damage := scheme.LevelsOf(p)
		if err = cmp.Or(err, damage); told != nil {
			came = told
		}
		if p.Status == store.StatusCommitted && p.MigrationKeys > 0 {
			r.Moved += p.MigrationFraction
			r.Returned += p.MigrationFraction * p.Returned
			r.Plans++
		}
		if i+1 < len(plans) && plans[i+1].Epoch == p.Epoch && plans[i+1].Interval == p.Interval {
			continue // the last plan of an interval speaks for it
		}
		r.thetas = append(r.thetas, p.ThetaRealised)
		if drive.Above(p.ThetaRealised, c.ThetaMax) {
			above++
		}
		all.note(c.Resources, came, func(x *course) *[]float64 { return &x.came })
		came = nil
		if tookEffect(p.Status) && i+1 < len(plans) {
			planned = append(planned, p.ThetaAfter)
			all.note(c.Resources, leaves, func(x *course) *[]float64 { return &x.planned })
		}
	}
	r.Intervals, r.Theta, r.Planned = len(r.thetas), spreadOf(r.thetas), spreadOf(planned)
	if r.Intervals > 0 {
		share := float64(above) / float64(r.Intervals)
		r.Above = &share
	}
	r.Resources = all.realised(c)
	return r, err
}

// courses are how resources went, in the order of the configuration.
type courses []course

// course are the levels of a resource, oldest first: those that came, and those that were planned for them.
type course struct{ came, planned []float64 }

// note adds the levels that a plan tells to those of the resources.
func (all courses) note(of operator.Resources, levels []scheme.Level, into func(*course) *[]float64) {
	for r := range all {
		if x := scheme.LevelOf(levels, of[r].Name, of[r].Limit); x != nil {
			to := into(&all[r])
			*to = append(*to, x.Level)
		}
	}
}

func (all courses) realised(c operator.Configuration) (told []RealisedResource) {
	for i, x := range all {
		out := RealisedResource{Name: c.Resources[i].Name, Intervals: len(x.came), Level: spreadOf(x.came),
			Planned: spreadOf(x.planned)}
		if len(x.came) > 0 {
			out.Greatest = new(slices.Max(x.came))
		}
		for _, level := range x.came {
			if drive.Above(level, c.BoundOf(i)) {
				out.Broken++
			}
		}
		told = append(told, out)
	}
	return told
}

// tookEffect reports whether the next interval ran under what a plan had planned.
func tookEffect(s store.Status) bool { return s == store.StatusCommitted || s == store.StatusNoAction }

// LevelsOf are the levels of a plan, cost first: those that came in its interval, those that it leaves, and those that
// the plan before had planned for the interval, if it was carried out or had nothing to do.
func LevelsOf(b *scheme.Base, o *scheme.Result) ([]reading.Levels, error) {
	before, acted := b.Before, b.Before != nil && tookEffect(b.Before.Status)
	cost := reading.Levels{Came: o.Theta.Before, After: o.Theta.After, Bound: o.Options.ThetaMax}
	if o.Foresight != nil {
		cost.Came = o.Foresight.RealisedTheta
	}
	if acted {
		cost.Planned = &before.ThetaAfter
	}
	out := []reading.Levels{cost}
	var planned []scheme.Level
	if acted && len(o.Resources) > 0 {
		told, err := scheme.ForesightOf(*before)
		if err != nil {
			return nil, err
		}
		if told != nil {
			planned = told.Planned
		}
	}
	for i, f := range o.Resources {
		of := o.Snapshot.Resources[i]
		x := reading.Levels{Resource: of.Name, Came: f.Level.Before, After: f.Level.After, Bound: of.ThetaMax}
		if leaves := scheme.LevelOf(planned, of.Name, of.Limited); leaves != nil {
			x.Planned = &leaves.Level
		}
		if of.Limited {
			x.Bound = 1
		}
		if o.Foresight != nil {
			x.Came = o.Foresight.Realised[i+1].Level
		}
		out = append(out, x)
	}
	return out, nil
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
		realised, damage := realisedOf(r.Brief, operators[i].Configuration)
		out[i], err = Recent{r, realised}, cmp.Or(err, damage)
		for _, p := range r.Plans {
			err = cmp.Or(err, reading.SchemeOf(p).Check())
		}
	}
	return out, refusal.AboutStore(err)
}
