package backtest

import (
	"context"
	"fmt"
	"slices"

	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/policy"
)

const (
	// Warmup is how many intervals are not judged: forecasts begin with nothing.
	Warmup = 3
	// LeastIntervals is how many a history must have before a policy is chosen by it.
	LeastIntervals = 12
	// fewIntervals: chosen by less, a policy may owe that to chance.
	fewIntervals = 10
)

// Baseline is how the paper plans: with strategy mixed on the last interval, to θ_max.
func Baseline() Candidate {
	return Candidate{Strategy: planner.Mixed, Policy: policy.Policy{Forecast: forecast.Config{Method: forecast.Last}}}
}

// Candidates are the policies under strategy optimal with little effort: what comes in
// the next interval differs from any forecast by more than what better plans gain.
func Candidates(policies []policy.Policy) []Candidate {
	out := make([]Candidate, len(policies))
	for i, p := range policies {
		out[i] = Candidate{planner.Optimal, planner.EffortFast, p}
	}
	return out
}

// Cost is what a policy comes to beside the baseline, 1 each: the mean excess over θ_max and
// over what the heaviest key forces, half the median of θ, a quarter of its p95, and the moved
// state. Differences that are nothing in practice count for little.
func Cost(f, baseline Figures) float64 {
	beside := func(x, base, nothing float64) float64 { return (x + nothing) / (base + nothing) }
	return beside(f.Avoidable, baseline.Avoidable, 0.002) + float64(0.5*beside(f.Median, baseline.Median, 0.005)) +
		float64(0.25*beside(f.P95, baseline.P95, 0.005)) + beside(f.Moved, baseline.Moved, 0.001)
}

// Result is what became of a candidate.
type Result struct {
	Candidate
	// Tuning are its figures on the intervals by which the recommended policy was chosen,
	// Judged those on the rest, which say how good it is.
	Tuning Figures `json:"tuning"`
	Judged Figures `json:"judged"`
	// Hindsight is what the judged intervals needed at least. Nil: not known.
	Hindsight *Bracket `json:"hindsight"`
	// Pareto: no other one moves less at no higher mean excess over θ_max, or has a lower
	// excess and moves no more, on the judged intervals.
	Pareto bool `json:"pareto"`
}

// Report is the outcome of a backtest.
type Report struct {
	Intervals int     `json:"intervals"`
	ThetaMax  float64 `json:"theta_max"`
	// Baseline is not a candidate; see [Baseline].
	Baseline Result   `json:"baseline"`
	Results  []Result `json:"results"`
	// Recommended is the index of the result that was chosen. Nil: there are too few
	// intervals, as Reason says.
	Recommended *int   `json:"recommended"`
	Reason      string `json:"reason"`
	// Floor is the noise floor under the forecast of the recommended policy, or the
	// first one: the θ that remains if the expected loads are even. Nil: not known.
	Floor *forecast.Floor `json:"noise_floor"`
}

// Choose returns the index of the track with the least [Cost] beside the baseline over
// some intervals. Of equal ones it is the first.
func Choose(tracks []Track, baseline *Track, from, to int) int {
	base := baseline.Figures(from, to)
	best, least := 0, 0.0
	for i := range tracks {
		if cost := Cost(tracks[i].Figures(from, to), base); i == 0 || cost < least {
			best, least = i, cost
		}
	}
	return best
}

// Search runs the candidates and the baseline over a history. By the first half of it one
// is chosen, and all are judged on the other half. done is as in [Run].
func Search(ctx context.Context, h *History, op Operator, candidates []Candidate, done func(intervals int)) (
	*Report, error,
) {
	all, err := Run(ctx, h, op, append([]Candidate{Baseline()}, candidates...), done)
	if err != nil {
		return nil, err
	}
	baseline, tracks := &all[0], all[1:]
	r := &Report{Intervals: h.Len(), ThetaMax: op.Options.ThetaMax}
	from, to := min(Warmup, h.Len()), h.Len()
	split := max(from, to/2)
	if to < LeastIntervals {
		split = from
		r.Reason = fmt.Sprintf("there are %d intervals: a policy is chosen by %d at least", to, LeastIntervals)
	}
	brackets, err := h.Brackets(ctx, op, all, split)
	if err != nil {
		return nil, err
	}
	for i := range all {
		t := &all[i]
		r.Results = append(r.Results, Result{
			Candidate: t.Candidate, Tuning: t.Figures(from, split), Judged: t.Figures(split, to), Hindsight: brackets[i],
		})
	}
	r.Baseline, r.Results = r.Results[0], r.Results[1:]
	markFront(r.Results)
	chosen := 0
	if to >= LeastIntervals && len(tracks) > 0 {
		chosen = Choose(tracks, baseline, from, split)
		r.Recommended = &chosen
		r.Reason = reason(&r.Results[chosen], &r.Baseline)
	}
	if len(tracks) > 0 {
		r.Floor = tracks[chosen].Floor
	}
	return r, nil
}

// Pick chooses one of the candidates' policies by all intervals of a history, and says in
// words what it came to there.
func Pick(ctx context.Context, h *History, op Operator, candidates []Candidate) (policy.Policy, string, error) {
	all, err := Run(ctx, h, op, append([]Candidate{Baseline()}, candidates...), nil)
	if err != nil {
		return policy.Policy{}, "", err
	}
	from, to := min(Warmup, h.Len()), h.Len()
	i := Choose(all[1:], &all[0], from, to)
	f, base := all[1+i].Figures(from, to), all[0].Figures(from, to)
	return all[1+i].Policy, fmt.Sprintf("it cost the least of %d policies over %d intervals, by what θ exceeded θ_max "+
		"and by what moved: a median θ of %s and a p95 of %s, and moved %s of all state, where mixed on the last "+
		"interval had %s and %s, and moved %s", len(candidates), to-from, percent(f.Median), percent(f.P95),
		percent(f.Moved), percent(base.Median), percent(base.P95), percent(base.Moved)), nil
}

// markFront marks the results that no other one beats on the judged intervals.
func markFront(results []Result) {
	for i := range results {
		a := results[i].Judged
		results[i].Pareto = !slices.ContainsFunc(results, func(r Result) bool {
			b := r.Judged
			return b.Moved <= a.Moved && b.Excess <= a.Excess && (b.Moved < a.Moved || b.Excess < a.Excess)
		})
	}
}

// reason says in words why a policy was chosen, and what it came to where it was not.
func reason(r, baseline *Result) string {
	over := fmt.Sprintf("the %d intervals of the first half", r.Tuning.Intervals)
	if r.Tuning.Intervals < fewIntervals {
		over = fmt.Sprintf("the first half, as few as %d intervals", r.Tuning.Intervals)
	}
	return fmt.Sprintf("it cost the least over %s, by what θ exceeded θ_max and by "+
		"what moved; over the other %d it had a median θ of %s and a p95 of %s, and moved %s of all state, "+
		"where mixed on the last interval had %s and %s, and moved %s",
		over, r.Judged.Intervals, percent(r.Judged.Median), percent(r.Judged.P95), percent(r.Judged.Moved),
		percent(baseline.Judged.Median), percent(baseline.Judged.P95), percent(baseline.Judged.Moved))
}

func percent(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }
