// Package plannertest is a second, deliberately dumb implementation of package
// planner, for tests: a checker that recounts every figure of a plan, the
// strategies spelled out key by key with quadratic scans, exhaustive searches
// for the true optimum of tiny cases, the Lagrangian relaxation in exact numbers,
// and generators of random cases.
//
// It shares no code with package planner but its types. Where the two disagree,
// one of them is wrong. All costs and loads are plain float64 sums, which are
// exact for the whole numbers that the generators make, but for [Varied].
package plannertest
