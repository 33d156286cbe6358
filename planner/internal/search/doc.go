// Package search improves an assignment by local search with adaptive penalties, after
// Yagiura, Ibaraki and Glover ("An ejection chain approach for the generalized assignment
// problem", 2004), with chains of at most two shifts.
package search
