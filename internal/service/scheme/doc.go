// Package scheme says what a scheme is: a way to say where every key belongs. It has the statistics
// and the base that a plan starts from, the result that comes out, the engine that computes it in
// turn and in time, and the interfaces that a scheme implements. It never asks which schemes there
// are, nor what becomes of a plan.
package scheme
