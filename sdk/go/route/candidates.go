package route

import (
	"slices"

	"github.com/twmb/murmur3"
)

// Candidates appends to row the ids of the instances to which partial key grouping, the scheme
// pkg of the service, may send a key, the first candidate first: as many as there are choices,
// at most all. Instances are ids in ascending order. Candidate j is the hash of the key with
// the seed j modulo their number; where that is a candidate already, it is the next that is
// none. Keys of the head have choices of their own.
func Candidates(row []int32, key []byte, instances []int32, choices int) []int32 {
	n, from := uint64(len(instances)), len(row)
	for j := range min(choices, len(instances)) {
		at := murmur3.SeedSum64(uint64(j), key) % n
		for slices.Contains(row[from:], instances[at]) {
			at = (at + 1) % n
		}
		row = append(row, instances[at])
	}
	return row
}
