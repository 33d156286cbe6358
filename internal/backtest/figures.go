package backtest

import (
	"slices"

	"plannerd/internal/exact"
)

// Figures are realised: of the loads that came under the tables that were in effect.
type Figures struct {
	Intervals int `json:"intervals"`
	// Above is the part of the intervals in which some instance was above θ_max.
	Above float64 `json:"above"`
	// Median and P95 are of θ, Excess is the mean of what it was above θ_max.
	Median float64 `json:"theta_median"`
	P95    float64 `json:"theta_p95"`
	Excess float64 `json:"excess"`
	// Moved is M: the state that moved before these intervals, each time as a part of all
	// state. Returned is what of it went back to an instance that it had left lately.
	Moved    float64 `json:"moved"`
	Returned float64 `json:"returned"`
	// Plans counts those that moved anything, Table is the greatest size of the table.
	Plans int   `json:"plans"`
	Table int64 `json:"table"`
}

// Figures are those of the intervals from one to another, and of what moved to get there
// from the interval before them on.
func (t *Track) Figures(from, to int) Figures {
	f := Figures{Intervals: to - from}
	if f.Intervals <= 0 {
		return Figures{}
	}
	var thetas []float64
	n := float64(f.Intervals)
	for _, s := range t.Steps[from:to] {
		thetas = append(thetas, s.Theta)
		if s.Theta > t.ThetaMax+exact.Tolerance*(1+t.ThetaMax) {
			f.Above += 1 / n
			f.Excess += (s.Theta - t.ThetaMax) / n
		}
	}
	slices.Sort(thetas)
	f.Median, f.P95 = median(thetas), quantile(thetas, 0.95)
	for _, s := range t.Steps[max(0, from-1) : to-1] {
		f.Moved += s.Moved
		f.Returned += s.Returned
		f.Table = max(f.Table, s.Table)
		if s.Moved > 0 {
			f.Plans++
		}
	}
	return f
}

// median is that of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// quantile interpolates between sorted values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + float64((at-float64(i))*(sorted[i+1]-sorted[i]))
}
