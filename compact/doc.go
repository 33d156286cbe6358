// Package compact plans on classes of keys instead of keys (mixed-routing §IV).
//
// Keys with the same current instance d and hash instance d_h, and the same cost
// v_c and state v_S after discretisation, make one [Record] with their number.
// Costs and states are discretised by HLHE, half linear and half exponential,
// walked instance by instance so that errors cancel. The strategies of package
// planner take records as items with counts; what they decide about records is
// brought back to keys here, where keys are known.
//
// # Error
//
// Let R be the degree and u the scale, the real value of a discretised 1. The
// discretised values of an instance differ in sum from the real ones by at most
// R·u/2, whatever the values are, and by nothing at R = 1 if all values are
// multiples of u. So the estimated load of an instance has a relative error of at
// most R·u/(2·L(d)). A single value of at least u is off by a factor of at most
// two, and by less than R·u.
//
// Like planner, the package is pure: it reads no clock, no file and no network.
package compact
