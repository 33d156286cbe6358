// Package ranges divides an ordered key space among followers, as the Shuffler
// proposal does, and says what every change of the division moves.
//
// Followers count what they receive in a [sketch.Sketch], a mergeable quantile summary,
// and send it to the leader as the difference to their last report. The leader
// merges the reports and takes the [CDF] of all keys from them; where all keys
// are known, [NewCDF] makes an exact one. [Divide] cuts the key space by it: by
// quantiles, one interval for each follower, or so that as little as possible
// moves, several intervals for each. [DivideKeys] does the same for keys with cost
// and state. [JoinShare] and [LeaveShare] are the proposal's formulas of what moves.
//
// Keys are ordered as bytes. The key space begins with the empty key and has no
// end. Weights are integers of any unit; shares are parts of their sum.
//
// The package is pure: no clock, no input or output, and no randomness but that
// of the seeds of sketches.
package ranges
