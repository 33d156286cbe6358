// Package search improves an assignment by local search with ejection chains and
// adaptive penalties, after Yagiura, Ibaraki and Glover ("An ejection chain approach for
// the generalized assignment problem", 2004).
package search
