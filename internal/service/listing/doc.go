// Package listing lists what is long in a plan: migrations of keys, classes, arcs and ranges, and
// changes of a table. It filters, sorts, pages and sums them up where they are. It never asks
// where lists come from or in which form they are sent.
package listing
