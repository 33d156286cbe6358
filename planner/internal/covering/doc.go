// Package covering strengthens the Lagrangian relaxation by what whole keys cost that have to leave each
// overloaded instance: a covering knapsack for each instance, and a branch and bound over where the costliest
// of these keys go.
package covering
