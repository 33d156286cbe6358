package statsio

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"

	"plannerd/planner"
)

// duplicate says that the key of row later stands in row earlier too.
type duplicate struct{ later, earlier int }

// sieveRounds and sieveBits: each round leaves about one of sieveBits rows that
// have no twin, looking at other bits of the hash.
const (
	sieveRounds = 4
	sieveBits   = 8 // bits of the table per row
)

// duplicates returns the rows whose key stands in an earlier row, in ascending
// order, each with the first row of its key.
//
// Rows are sieved by a table of bits over their hashes, which leaves next to
// none of those that are alone; the rest is sorted and compared byte by byte.
// No table of all keys is built, and colliding hashes cost no more than a sort.
func duplicates(keys *planner.Keys) []duplicate {
	rows := sieve(keys, nil, 0)
	for round := 1; round < sieveRounds && len(rows) > 0; round++ {
		rows = sieve(keys, rows, round)
	}
	slices.SortFunc(rows, func(a, b int32) int {
		if c := cmp.Compare(keys.Hash(int(a)), keys.Hash(int(b))); c != 0 {
			return c
		}
		if c := bytes.Compare(keys.At(int(a)), keys.At(int(b))); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	var found []duplicate
	for i, first := 1, 0; i < len(rows); i++ {
		a, b := int(rows[first]), int(rows[i])
		if keys.Hash(a) == keys.Hash(b) && bytes.Equal(keys.At(a), keys.At(b)) {
			found = append(found, duplicate{later: b, earlier: a})
		} else {
			first = i
		}
	}
	slices.SortFunc(found, func(a, b duplicate) int { return cmp.Compare(a.later, b.later) })
	return found
}

// sieve returns those of the rows (all, when nil and round is 0) that share
// their bit of the table with another row.
func sieve(keys *planner.Keys, rows []int32, round int) []int32 {
	n := len(rows)
	if round == 0 {
		n = keys.Len()
	}
	if n < 2 {
		return nil
	}
	width := bits.Len(uint(n*sieveBits - 1))
	once, twice := make([]uint64, 1<<width/64+1), make([]uint64, 1<<width/64+1)
	mask := uint64(1)<<width - 1
	at := func(i int) int {
		if round == 0 {
			return i
		}
		return int(rows[i])
	}
	shift := round * 64 / sieveRounds
	for i := range n {
		h := bits.RotateLeft64(keys.Hash(at(i)), shift) & mask
		bit := uint64(1) << (h & 63)
		twice[h>>6] |= once[h>>6] & bit
		once[h>>6] |= bit
	}
	var left []int32
	for i := range n {
		h := bits.RotateLeft64(keys.Hash(at(i)), shift) & mask
		if twice[h>>6]>>(h&63)&1 != 0 {
			left = append(left, int32(at(i)))
		}
	}
	return left
}
