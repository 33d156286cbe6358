// Package knapsack solves covering knapsacks: which items to take, of least weight in
// all, so that their costs reach a need. It also solves their continuous relaxation.
package knapsack
