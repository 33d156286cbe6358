// Package bound proves how little any plan can move. It prices the loads and the table
// limit instead of demanding them (Lagrangian relaxation; Held and Karp, "The
// traveling-salesman problem and minimum spanning trees", 1971), maximises the dual
// function, and strengthens it by what whole keys cost that must leave an overloaded
// instance. A [Proof] is a value: the bound, and the prices that give it.
package bound
