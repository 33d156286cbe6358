// Package table is the scheme of routing tables: a hash function places keys, and a table has the
// exceptions. It knows which statistics fit a committed table, what a strategy's plan changes in
// it, and how a stored plan does under newer statistics. It never asks whether a plan is carried
// out.
package table
