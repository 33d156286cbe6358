// Package exact holds the arithmetic and the selection that every planning package
// shares, so that a plan does not depend on the order of its rows: fixed-point sums
// of non-negative amounts, the one tolerance by which loads are compared to bounds, a
// binary heap, and selection of the least elements in linear time.
//
// The package is pure: it has no clock, no randomness and no input or output.
package exact
