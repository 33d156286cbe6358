// Package nearest finds the name that somebody who mistyped one may have meant.
package nearest

import "slices"

// To returns the known name that is nearest to a mistyped one by edit distance
// (Levenshtein 1966), if they have most of their letters in common; "" when none is.
// Of several that are as near it is the first.
func To(name string, known []string) string {
	best, least := "", 1+len(name)/3
	for _, k := range known {
		if len(name)-len(k) > least {
			continue // at least as many letters have to go
		}
		if d := distance(name, k); d < least || d == least && best == "" {
			best, least = k, d
		}
	}
	return best
}

// distance is how many bytes have to be inserted, removed or replaced to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal, row[j+1] = row[j+1], slices.Min([]int{cost, row[j] + 1, row[j+1] + 1})
		}
	}
	return row[len(b)]
}

// Suffix is the end of a sentence that refuses a name: what may have been meant, or
// nothing.
func Suffix(name string, known []string) string {
	if best := To(name, known); best != "" {
		return "; " + best + " is"
	}
	return ""
}
