// Package plannertest is a second, deliberately dumb implementation of package
// planner, for tests: a checker that recounts every figure of a plan, the
// strategies spelled out key by key with quadratic scans, an exhaustive search
// for the true optimum of tiny cases, and generators of random cases.
//
// It shares no code with package planner but its types. Where the two disagree,
// one of them is wrong. All costs and loads are plain float64 sums, which are
// exact for the whole numbers that the generators make.
package plannertest
