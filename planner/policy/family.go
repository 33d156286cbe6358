package policy

import (
	"strconv"

	"plannerd/planner"
	"plannerd/planner/forecast"
)

// Grid is a family of policies: every forecast with every target.
type Grid struct {
	Forecasts []forecast.Config
	// Targets are parts of θ_max.
	Targets []float64
}

// DefaultGrid is small on purpose: among many policies the best one of few intervals is
// the luckiest.
func DefaultGrid() Grid {
	return Grid{
		Forecasts: []forecast.Config{
			{Method: forecast.Last},
			{Method: forecast.EWMA, Alpha: 0.7},
			{Method: forecast.EWMA, Alpha: 0.5},
			{Method: forecast.EWMA, Alpha: 0.35},
			{Method: forecast.EWMA, Alpha: 0.2},
			{Method: forecast.Seasonal, Alpha: 0.35},
		},
		Targets: []float64{0.6, 0.2},
	}
}

// likely is the probability of breaking θ_max from which on the policies of a grid plan:
// where loads only fluctuate within θ_max nothing moves.
const likely = 0.1

// Policies are those of the grid for an operator with a θ_max.
func (g Grid) Policies(thetaMax float64) []Policy {
	var out []Policy
	for _, f := range g.Forecasts {
		for _, part := range g.Targets {
			out = append(out, of(f, part*thetaMax))
		}
	}
	return out
}

// Default is the policy of an operator with a θ_max of whose stream too little is known
// to choose one.
func Default(thetaMax float64) Policy {
	return of(forecast.Config{Method: forecast.EWMA, Alpha: 0.35}, 0.6*thetaMax)
}

// of is the policy of a forecast and a target.
func of(f forecast.Config, target float64) Policy {
	probability := likely
	target = readable(min(target, planner.MaxAmount))
	return Policy{Forecast: f, TargetTheta: &target, Trigger: Trigger{Probability: &probability}}
}

// readable rounds to as many digits as a person reads.
func readable(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64)
	if err != nil {
		return x // impossible: the text is a number
	}
	return rounded
}
