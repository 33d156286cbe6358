// Package intake takes in what is known of an interval: the reports of instances, rows or compact
// records, sketches, queue lengths. It merges reports, adds up the states of a window, counts for
// how long keys are absent, says which statistics are too small to be acted upon, and reads those
// that are stored. It never asks which plan is made of them.
package intake
