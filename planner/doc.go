// Package planner decides which keys of a partitioned stream operator to route
// explicitly instead of by hash.
//
// It takes a [Snapshot] (the items of one interval: cost, state, where each is
// now, where the hash would put it) and [Options], and answers with a [Plan]:
// the migrations, the routing-table diff and every figure an operator needs to
// judge them. An item is a key, or a class of Count equal keys.
//
// The model is that of mixed-routing §II ("Parallel Stream Processing Against
// Workload Skewness and Variance"), extended by capacities, drained and frozen
// instances, hot keys, which may be split, partial statistics and an overhead per
// migrated key. The strategies are in [Strategies]: those of the paper are in files of their own,
// Algorithm 1 in llfd.go, and package plannertest holds a second implementation of
// each, word for word.
//
// The package is pure: no clock, no input or output, no randomness. The same
// input gives the same plan, byte for byte, whatever the order of its rows.
package planner

// Revision names the decisions of this package. It changes whenever the same
// input may lead to another plan, and is stored with every plan.
const Revision = "12"
