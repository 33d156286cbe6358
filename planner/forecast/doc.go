// Package forecast says what the keys of a stream are going to cost in the interval
// that comes.
//
// A plan that is made of one interval takes effect in the next one. θ is relative to
// the mean load, so only the shares of keys matter: x_t(k) = c_t(k) / Σ c_t. A [State]
// takes the statistics of one interval after the other and answers with statistics to
// plan on. What it remembers of the errors of its forecasts says how sure a plan is:
// [Forecast.Predict] has the θ to expect, and [State.Floor] the θ that would remain if
// the expected loads were even.
//
// The package is pure: it has no clock, no input or output, and no chance but from a
// generator with a fixed seed. The order of rows never matters.
package forecast
