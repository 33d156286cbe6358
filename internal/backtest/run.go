package backtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"plannerd/internal/drive"
	"plannerd/internal/exact"
	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/hindsight"
	"plannerd/planner/policy"
)

// Operator is what plans are made for.
type Operator struct {
	Target planner.Configuration
	// Base is what the first interval runs on; see [drive.Operator].
	Base planner.Base
	// Options are those of all plans. ThetaMax is what loads are held against.
	Options    planner.Options
	EntryGrace int
	// BalanceWorth is what balance is worth beside what moves, see [policy.Price]. 0: its default.
	BalanceWorth float64
	// Rest is called after each interval of each candidate, if there is one, so that processors
	// are left to others: then one candidate runs after the other.
	Rest func()
}

// Candidate is one way to plan.
type Candidate struct {
	Strategy string         `json:"strategy"`
	Effort   planner.Effort `json:"effort,omitzero"`
	Policy   policy.Policy  `json:"policy"`
}

// Step is what became of one interval under a candidate. Where there are several resources θ is that of the
// one that takes the most of its bound, see [forecast.Joint].
type Step struct {
	drive.Effect
	// Expected is what the plan expects of the next interval. Nil: too little is known.
	Expected *forecast.Prediction
}

// Track is what became of a history under a candidate.
type Track struct {
	Candidate
	ThetaMax float64
	Steps    []Step
	tables   hindsight.Tables // under which the intervals ran
	fair     [][]float64      // by interval and instance: the fair part of all cost under rules. Nil: there are none
	// Floor is the noise floor at the end. Nil: too little is known.
	Floor *forecast.Floor
}

// Run carries each candidate through the history, several at the same time. done is
// called, from one goroutine at a time, with the number of intervals that were planned,
// over all candidates. The error is an InputError, ctx's, or one of a strategy.
func Run(ctx context.Context, h *History, op Operator, candidates []Candidate, done func(intervals int)) (
	[]Track, error,
) {
	tracks := make([]Track, len(candidates))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var planned atomic.Int64
	var telling sync.Mutex
	tell := func() {
		telling.Lock()
		defer telling.Unlock()
		if n := int(planned.Add(1)); done != nil {
			done(n)
		}
	}
	workers := runtime.GOMAXPROCS(0)
	if op.Rest != nil {
		workers = 1
	}
	each(len(candidates), workers, func(i int) {
		var err error
		if tracks[i], err = run(ctx, h, op, candidates[i:i+1], nil, tell); err != nil {
			cancel(fmt.Errorf("%s: %w", candidates[i].Strategy, err))
		}
	})
	if err := context.Cause(ctx); err != nil {
		if input, ok := errors.AsType[*planner.InputError](err); ok {
			return nil, input
		}
		return nil, err
	}
	return tracks, nil
}

// each calls work for 0 to n−1, so many at the same time.
func each(n, most int, work func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(most, n) {
		workers.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				work(i - 1)
			}
		})
	}
	workers.Wait()
}

// runner carries one candidate through a history.
type runner struct {
	track    Track
	driver   *drive.Driver
	forecast *forecast.Forecast // of the interval at hand
	since    int                // intervals since a plan that moved; 0: there was none
	left     drive.Departures
}

// run plans each interval by one of the candidates; by says which, nil: the only one. The track is said to be of
// the last.
func run(ctx context.Context, h *History, op Operator, candidates []Candidate, by []int, tell func()) (Track, error) {
	states := map[forecast.Config]*forecast.State{}
	for _, c := range candidates {
		if _, ok := planner.Lookup(c.Strategy); !ok {
			return Track{}, planner.Invalid("Strategy", fmt.Sprintf("there is no strategy %q", c.Strategy))
		}
		var err error
		if states[c.Policy.Forecast], err = forecast.New(c.Policy.Forecast); err != nil {
			return Track{}, err
		}
		states[c.Policy.Forecast].Track(op.Target.Resources)
	}
	r := &runner{track: Track{ThetaMax: op.Options.ThetaMax}}
	options := op.Options
	options.Certificate = planner.CertificateOff
	r.driver = drive.New(drive.Operator{Target: op.Target, Base: op.Base, Plan: r.plan, Options: options,
		EntryGrace: op.EntryGrace})
	for i, in := range h.intervals {
		r.track.Candidate = candidates[0]
		if by != nil {
			r.track.Candidate = candidates[by[i]]
		}
		if err := r.observe(states, in.stats); err != nil {
			return Track{}, err
		}
		r.track.tables = append(r.track.tables, r.driver.Table())
		r.track.Steps = append(r.track.Steps, Step{})
		step, err := r.driver.Step(ctx, in.number, r.forecast.Statistics)
		if err != nil {
			return Track{}, &drive.StepError{Interval: in.number, Err: err}
		}
		r.moved(&step)
		if tell(); op.Rest != nil {
			op.Rest()
		}
	}
	state := states[r.track.Policy.Forecast]
	r.track.Floor = state.Floor(len(op.Target.Instances))
	if fair := r.track.fair; len(fair) > 0 {
		r.track.Floor = state.FloorUnder(fair[len(fair)-1])
	}
	return r.track, nil
}

// observe has all forecasts take in an interval; the one of the policy at hand is planned on.
func (r *runner) observe(states map[forecast.Config]*forecast.State, stats *planner.Statistics) error {
	for c, state := range states {
		f, err := state.Observe(stats)
		if err != nil {
			return err
		}
		if c == r.track.Policy.Forecast {
			r.forecast = f
		}
	}
	return nil
}

// last is the step of the interval at hand.
func (r *runner) last() *Step { return &r.track.Steps[len(r.track.Steps)-1] }

// plan looks at what came, then decides.
func (r *runner) plan(s *planner.Snapshot, o planner.Options) (*planner.Plan, error) {
	in := policy.Situation{Snapshot: s, Forecast: r.forecast, Since: r.since}
	o.Effort = r.track.Effort
	d, err := r.track.Policy.Decide(planner.Run, r.track.Strategy, in, o)
	if err != nil {
		return nil, err
	}
	step := r.last()
	var shares []float64
	if step.Theta, _, shares = realised(s, s.Current, r.forecast.Observed.Cost); shares != nil {
		r.track.fair = append(r.track.fair, shares)
	}
	beside, _ := r.forecast.Realised(s, s.Current)
	levels := append([]float64{step.Theta}, beside...)
	step.Theta = forecast.Joint(s, r.track.ThetaMax, levels)
	step.Expected = d.With
	return d.Plan, nil
}

// Theta is the greatest overload of a live instance, of the first rows of a snapshot at
// the given instances, with these costs, and of what remains on each instance; and which instance it is of.
func Theta(s *planner.Snapshot, at []int32, cost []float64) (theta float64, worst int32) {
	theta, worst, _ = realised(s, at, cost)
	return theta, worst
}

// realised is Theta, and under rules the fair part of all cost of each live instance.
func realised(s *planner.Snapshot, at []int32, cost []float64) (most float64, worst int32, fair []float64) {
	load := exact.SumsBy(len(s.Instances), at[:len(cost)], cost, nil)
	total, capacity := 0.0, 0.0
	for d, in := range s.Instances {
		load[d] += in.ResidualCost
		if !in.Frozen {
			total += load[d]
		}
		if in.Live() {
			capacity += in.Capacity
		}
	}
	if s.Eligibility != nil {
		for d, share := range s.FairShares(cost) {
			if share > 0 && load[d]/(share*total)-1 > most {
				most, worst = load[d]/(share*total)-1, int32(d)
			}
			if s.Instances[d].Live() {
				fair = append(fair, share)
			}
		}
		return most, worst, fair
	}
	for d, in := range s.Instances {
		if over := load[d]*capacity/(in.Capacity*total) - 1; in.Live() && total > 0 && over > most {
			most, worst = over, int32(d)
		}
	}
	return most, worst, nil
}

// moved counts what the plan of the interval at hand moves: by the state that the
// interval has, whatever the plan was made on.
func (r *runner) moved(made *drive.Step) {
	step, p := r.last(), made.Plan
	if r.since > 0 {
		r.since++
	}
	if len(p.Moves) > 0 {
		r.since = 1
	}
	step.Table = p.TableAfter
	step.Moved, step.Returned = r.left.Add(made, r.forecast.Observed)
}
