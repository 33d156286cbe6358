// Package relaxation prices the loads of instances and the table limit instead of demanding that they are
// kept (Lagrangian relaxation; Held and Karp, "The traveling-salesman problem and minimum spanning trees",
// 1971). What is left is one choice for each key. The value under any prices is a lower bound on what a plan
// moves that keeps all limits, and [Relaxation.Maximize] finds prices under which it is great.
package relaxation
