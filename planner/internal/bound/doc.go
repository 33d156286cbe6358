// Package bound proves how little any plan can move. A [Proof] is a value: the bound, and the prices that give
// it. It begins with the relaxation that prices loads and the table limit, goes on to what whole keys cost that
// must leave an overloaded instance, under several prices of a table entry, and ends with a branch and bound
// over a relaxation of the generalised assignment problem. A [ResourceProof] is the same of several resources.
package bound
