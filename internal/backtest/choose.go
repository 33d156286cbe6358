package backtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"plannerd/internal/drive"
	"plannerd/planner"
	"plannerd/planner/forecast"
	"plannerd/planner/policy"
)

const (
	// Warmup is how many intervals are not judged: forecasts begin with nothing.
	Warmup = 3
	// LeastIntervals is how many a history must have before a policy is chosen by it.
	LeastIntervals = 12
	// ChooseEvery is after how many more it is chosen anew.
	ChooseEvery = 4
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

// Result is what became of a candidate.
type Result struct {
	Candidate
	// Tuning are its figures on the intervals by which the recommended policy was chosen,
	// Judged those on the rest, which say how good it is.
	Tuning Figures `json:"tuning"`
	Judged Figures `json:"judged"`
	// Cost is that of the judged intervals, see [Track.Cost].
	Cost float64 `json:"cost"`
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
	// BalanceWorth is what balance is worth, see [policy.Price].
	BalanceWorth float64 `json:"balance_worth"`
	// Baseline is not a candidate; see [Baseline].
	Baseline Result   `json:"baseline"`
	Results  []Result `json:"results"`
	// Recommended is the index of the result that was chosen. Nil: there are too few
	// intervals, as Reason says.
	Recommended *int   `json:"recommended"`
	Reason      string `json:"reason"`
	// Auto is what came of choosing again and again. Nil: there are too few intervals.
	Auto *Auto `json:"auto"`
	// Floor is the noise floor under the forecast of the recommended policy, or the
	// first one: the θ that remains if the expected loads are even. Nil: not known.
	Floor *forecast.Floor `json:"noise_floor"`
}

// Auto is what became of a history under the policies that were in effect one after the other: from the
// recommended one on, chosen again after every [ChooseEvery] intervals.
type Auto struct {
	Judged Figures `json:"judged"`
	Cost   float64 `json:"cost"`
	// Switches is how often another policy was chosen in the judged intervals.
	Switches int `json:"switches"`
	// Next is the index of the result whose policy would be in effect next, by all intervals.
	Next int `json:"next"`
}

// Search runs candidates over a history, recommends one by what they cost over the
// first half of the intervals, and judges all of them on the rest. done is told how many
// intervals were planned, of h.Len() for each candidate and as many for the baseline.
func Search(ctx context.Context, h *History, op Operator, candidates []Candidate, done func(intervals int)) (
	*Report, error,
) {
	all, err := Run(ctx, h, op, append([]Candidate{Baseline()}, candidates...), done)
	if err != nil {
		return nil, err
	}
	tracks := all[1:]
	r := &Report{Intervals: h.Len(), ThetaMax: op.Options.ThetaMax,
		BalanceWorth: cmp.Or(op.BalanceWorth, policy.DefaultBalanceWorth)}
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
		r.Results = append(r.Results, Result{Candidate: t.Candidate, Tuning: t.Figures(from, split),
			Judged: t.Figures(split, to), Cost: t.Cost(split, to, op.BalanceWorth), Hindsight: brackets[i]})
	}
	r.Baseline, r.Results = r.Results[0], r.Results[1:]
	markFront(r.Results)
	chosen := 0
	if to >= LeastIntervals && len(tracks) > 0 {
		by, next, then := follow(tracks, op.BalanceWorth, split)
		chosen = by[0]
		r.Recommended = &chosen
		r.Reason = reason(r, &then)
		if r.Auto, err = auto(ctx, h, op, candidates, by, split); err != nil {
			return nil, err
		}
		r.Auto.Next = next
	}
	if len(tracks) > 0 {
		r.Floor = tracks[chosen].Floor
	}
	return r, nil
}

// follow tells by which of the policies the plan of each interval is made, and that of the one that comes, and
// what they had cost when the first one was chosen: by the intervals before a given one. The plans before are made
// by it, too.
func follow(tracks []Track, worth float64, first int) (by []int, next int, then policy.Ledger) {
	n, held := len(tracks[0].Steps), -1
	ledger := policy.Ledger{Price: policy.Price(worth)}
	for t := range n {
		if t >= Warmup {
			ledger.Add(costsOf(tracks, t))
		}
		if sinceFirst := t - (first - 1); sinceFirst >= 0 && sinceFirst%ChooseEvery == 0 {
			if held = ledger.Choose(held); sinceFirst == 0 {
				then = ledger.Clone()
				by = slices.Repeat([]int{held}, t)
			}
		}
		by = append(by, held)
	}
	return by[len(by)-n:], ledger.Choose(held), then
}

// costsOf is by policy what θ was above θ_max in an interval, and what the plan that led there moved. The first
// depends much on chance, so half of it is what was expected of it.
func costsOf(tracks []Track, interval int) (excess, moved []float64) {
	for i := range tracks {
		t := &tracks[i]
		before := t.Steps[interval-1]
		above := 0.0
		if theta := t.Steps[interval].Theta; drive.Above(theta, t.ThetaMax) {
			above = theta - t.ThetaMax
		}
		if before.Expected != nil {
			above = (above + before.Expected.Excess) / 2
		}
		excess, moved = append(excess, above), append(moved, before.Moved)
	}
	return excess, moved
}

// Cost is what the intervals from one to another cost on the average, in θ: the mean excess over θ_max, and what
// moved by the price of moving it; see [policy.Price].
func (t *Track) Cost(from, to int, worth float64) float64 {
	if to <= from {
		return 0
	}
	f := t.Figures(from, to)
	return f.Excess + float64(policy.Price(worth)*f.Moved)/float64(f.Intervals)
}

// auto runs the policies that are in effect one after the other.
func auto(ctx context.Context, h *History, op Operator, candidates []Candidate, by []int, split int) (*Auto, error) {
	t, err := run(ctx, h, op, candidates, by, func() {})
	if err != nil {
		return nil, err
	}
	a := &Auto{Judged: t.Figures(split, h.Len()), Cost: t.Cost(split, h.Len(), op.BalanceWorth)}
	for i := split; i < h.Len(); i++ {
		if by[i] != by[i-1] {
			a.Switches++
		}
	}
	return a, nil
}

// Pick runs candidates over a history, adds to the ledger what they cost in the intervals after the one with the
// number through, and returns which one to plan by next, and why. Held is the one in effect; below 0: none.
func Pick(ctx context.Context, h *History, op Operator, candidates []Candidate, ledger *policy.Ledger,
	through int64, held int) (chosen int, reason string, err error) {
	tracks, err := Run(ctx, h, op, candidates, nil)
	if err != nil {
		return 0, "", err
	}
	ledger.Price = policy.Price(op.BalanceWorth)
	from := Warmup
	for t := h.Len() - 1; t >= Warmup && ledger.Weight > 0; t-- {
		if h.Number(t) == through { // numbers begin again with an epoch
			from = t + 1
			break
		}
	}
	for t := from; t < h.Len(); t++ {
		ledger.Add(costsOf(tracks, t))
	}
	var policies []policy.Policy
	for i := range tracks {
		policies = append(policies, tracks[i].Policy)
	}
	chosen = ledger.Choose(held)
	return chosen, why(policies, chosen, ledger), nil
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

// reason says why a policy is recommended, and how it did on the intervals by which it was not chosen.
func reason(r *Report, ledger *policy.Ledger) string {
	var policies []policy.Policy
	for _, x := range r.Results {
		policies = append(policies, x.Policy)
	}
	x := r.Results[*r.Recommended]
	few := ""
	if x.Tuning.Intervals < fewIntervals {
		few = fmt.Sprintf(" These were as few as %d intervals.", x.Tuning.Intervals)
	}
	return fmt.Sprintf("%s.%s Over the other %d it had a median θ of %s and a p95 of %s, and moved %s of all state, "+
		"where mixed on the last interval had %s and %s, and moved %s", why(policies, *r.Recommended, ledger), few,
		x.Judged.Intervals, percent(x.Judged.Median), percent(x.Judged.P95), percent(x.Judged.Moved),
		percent(r.Baseline.Judged.Median), percent(r.Baseline.Judged.P95), percent(r.Baseline.Judged.Moved))
}

// why says why a policy was chosen, and what another one would have cost.
func why(policies []policy.Policy, chosen int, l *policy.Ledger) string {
	text := fmt.Sprintf("it cost %s of θ an interval, of which %s for what moved, the least of %d policies",
		points(l.Cost[chosen]), points(l.Price*l.Moved[chosen]), len(policies))
	other := -1
	for i := range policies {
		if i != chosen && (other < 0 || l.Cost[i] < l.Cost[other]) {
			other = i
		}
	}
	switch {
	case other < 0:
		return fmt.Sprintf("it is the only policy, and cost %s of θ an interval", points(l.Cost[chosen]))
	case l.Cost[other] < l.Cost[chosen]:
		text = fmt.Sprintf("it cost %s of θ an interval, of which %s for what moved, and none of %d policies cost "+
			"clearly less", points(l.Cost[chosen]), points(l.Price*l.Moved[chosen]), len(policies))
	}
	return fmt.Sprintf("%s. The best of the others, %s, would have cost %s, of which %s for what moved", text,
		words(policies[other]), points(l.Cost[other]), points(l.Price*l.Moved[other]))
}

// words name a policy.
func words(p policy.Policy) string {
	text := string(p.Forecast.Method)
	if p.Forecast.Alpha > 0 {
		text += fmt.Sprintf(":%g", p.Forecast.Alpha)
	}
	if p.TargetTheta != nil {
		text += " planned to θ " + percent(*p.TargetTheta)
	}
	if p.MinimumBenefit > 0 {
		text += fmt.Sprintf(" for a benefit of %.3g", p.MinimumBenefit)
	}
	return text
}

func percent(x float64) string { return fmt.Sprintf("%.3g %%", 100*x) }

func points(x float64) string { return fmt.Sprintf("%.3g points", 100*x) }
