package forecast

import (
	"cmp"
	"slices"

	"plannerd/planner"
)

// Method is how the share of a key is forecast.
type Method string

// The methods.
const (
	// Last: the share of the last interval.
	Last Method = "last"
	// EWMA: the exponentially weighted moving average of the shares. Where many keys change
	// at once, by far more than they fluctuate, it follows at once.
	EWMA Method = "ewma"
	// Level: a moving average whose gain is that of a Kalman filter for each key. The
	// errors of all forecasts say how noise and change grow with the share.
	Level Method = "level"
	// Seasonal: an EWMA, and what its error was one period earlier.
	Seasonal Method = "seasonal"
	// Combined: the mean of several moving averages, from the last interval to a long past, each
	// weighted by how small its errors were lately, and a season as long as it makes them smaller.
	Combined Method = "combined"
)

// DefaultAlpha is that of [EWMA] and [Seasonal] where none is given.
const DefaultAlpha = 0.5

// Config says how costs are forecast.
type Config struct {
	Method Method `json:"method"`
	// Alpha is the weight of the newest interval, above 0 and at most 1, of ewma and
	// seasonal. 0: [DefaultAlpha].
	Alpha float64 `json:"alpha,omitzero"`
	// Period is the length of the season in intervals, from 2 to [MaxPeriod]. 0: it is found.
	Period int `json:"period,omitzero"`
}

// Validate reports the first field that is out of range as an InputError.
func (c Config) Validate() error {
	averages := c.Method == EWMA || c.Method == Seasonal
	return cmp.Or(
		planner.RequireOneOf("Forecast.Method", c.Method, Last, EWMA, Level, Seasonal, Combined),
		planner.Require(c.Alpha >= 0 && c.Alpha <= 1, "Forecast.Alpha", "must be above 0 and at most 1"),
		planner.Require(averages || c.Alpha == 0, "Forecast.Alpha", "belongs to the methods ewma and seasonal"),
		planner.Require(c.Period == 0 || c.Period >= 2 && c.Period <= MaxPeriod, "Forecast.Period", "must be from 2 to 48"),
		planner.Require(c.Method == Seasonal || c.Period == 0, "Forecast.Period", "belongs to the method seasonal"),
	)
}

// Forecast is what is expected of the next interval.
type Forecast struct {
	// Statistics are those of the last interval with expected costs: its rows in their
	// order, then the keys that it lacks and that still have a cost to expect. State and
	// instances are as they were reported. Expected is what keys are to take of resources.
	Statistics *planner.Statistics
	// Observed is the statistics of the last interval: its rows are the first ones of
	// Statistics.
	Observed *planner.Statistics

	state *State
	ids   []int32 // in the state, of each row. Nil: row i is key i
}

// id is the number of the key of a row in the state.
func (f *Forecast) id(row int) int32 {
	if f.ids == nil {
		return int32(row)
	}
	return f.ids[row]
}

// Named is the forecast of the keys that the last interval named, without the others.
func (f *Forecast) Named() *Forecast {
	n := f.Observed.Len()
	if f.Statistics.Len() == n {
		return f
	}
	out, stats := *f, *f.Observed
	stats.Cost = f.Statistics.Cost[:n]
	stats.Expected = slices.Clone(f.Statistics.Expected)
	for i, x := range stats.Expected {
		stats.Expected[i].Rows = x.Rows[:n]
	}
	out.Statistics, out.ids = &stats, f.ids[:n]
	return &out
}
