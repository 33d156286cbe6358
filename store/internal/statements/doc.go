// Package statements has the SQL that both databases share, by what it is about: operators, plans,
// tables, batches, reports, routers, claims. A [Session] of each database runs it. The package
// never asks what a statement is for.
package statements
