package policy

import (
	"strconv"

	"plannerd/planner"
	"plannerd/planner/forecast"
)

// Grid is a family of policies: every forecast with every target and every payback.
type Grid struct {
	Forecasts []forecast.Config
	// Targets are parts of θ_max.
	Targets []float64
	// Paybacks are within how many intervals a plan has to be worth what it moves.
	Paybacks []float64
}

// DefaultGrid is small on purpose: among many policies the best one of few intervals is
// the luckiest.
func DefaultGrid() Grid {
	return Grid{
		Forecasts: []forecast.Config{{Method: forecast.Combined}},
		Targets:   []float64{0.3, 0.1},
		Paybacks:  []float64{4},
	}
}

// likely is the probability of breaking θ_max from which on the policies of a grid plan:
// where loads only fluctuate within θ_max nothing moves.
const likely = 0.1

// Policies are those of the grid for an operator with a θ_max, to which balance is worth that; see
// [Price].
func (g Grid) Policies(thetaMax, worth float64) []Policy {
	var out []Policy
	for _, f := range g.Forecasts {
		for _, part := range g.Targets {
			for _, payback := range g.Paybacks {
				out = append(out, of(f, float64(part*thetaMax), Price(worth)/payback))
			}
		}
	}
	return out
}

// Default is the policy of an operator with a θ_max, to which balance is worth that, of whose stream
// too little is known to choose one.
func Default(thetaMax, worth float64) Policy {
	return DefaultGrid().Policies(thetaMax, worth)[0]
}

// of is the policy of a forecast, a target and a least benefit.
func of(f forecast.Config, target, benefit float64) Policy {
	probability := likely
	target = readable(min(target, planner.MaxAmount))
	return Policy{Forecast: f, TargetTheta: &target, Trigger: Trigger{Probability: &probability},
		MinimumBenefit: readable(min(benefit, planner.MaxAmount))}
}

// readable rounds to as many digits as a person reads.
func readable(x float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64)
	if err != nil {
		return x // impossible: the text is a number
	}
	return rounded
}
