package statsio

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"plannerd/planner"
)

// duplicate says that the key of row later stands in row earlier too.
type duplicate struct{ later, earlier int }

// sieveRounds and sieveBits: each round leaves about one of sieveBits rows that
// have no twin, looking at other bits of the hash.
const (
	sieveRounds = 4
	sieveBits   = 8 // bits of the table per row
	// sieveParallel rows are worth a second goroutine.
	sieveParallel = 1 << 16
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
	t := newSieveTable(n, round*64/sieveRounds)
	row := func(i int) int32 {
		if round == 0 {
			return int32(i)
		}
		return rows[i]
	}
	t.inHalves(n, func(half uint64) {
		for i := range n {
			if h := t.place(keys.Hash(int(row(i)))); h>>t.top == half {
				t.add(h)
			}
		}
	})
	var left [2][]int32
	t.inHalves(n, func(half uint64) {
		for i := int(half) * n / 2; i < (int(half)+1)*n/2; i++ {
			if t.shared(t.place(keys.Hash(int(row(i))))) {
				left[half] = append(left[half], row(i))
			}
		}
	})
	return append(left[0], left[1]...)
}

// sieveTable tells which places were taken once, and which more often.
type sieveTable struct {
	once, twice []uint64
	shift       int // of hashes
	mask        uint64
	top         int // the highest bit of a place tells its half
}

// newSieveTable makes a table for n rows.
func newSieveTable(n, shift int) *sieveTable {
	width := max(7, bits.Len(uint(n*sieveBits-1))) // halves share no word
	return &sieveTable{
		once: make([]uint64, 1<<width/64), twice: make([]uint64, 1<<width/64),
		shift: shift, mask: uint64(1)<<width - 1, top: width - 1,
	}
}

// inHalves does the work for each half of the table, at the same time when there
// are many rows.
func (t *sieveTable) inHalves(rows int, work func(half uint64)) {
	if rows < sieveParallel {
		work(0)
		work(1)
		return
	}
	var other sync.WaitGroup
	other.Go(func() { work(1) })
	work(0)
	other.Wait()
}

func (t *sieveTable) place(hash uint64) uint64 { return bits.RotateLeft64(hash, t.shift) & t.mask }

func (t *sieveTable) add(place uint64) {
	bit := uint64(1) << (place & 63)
	t.twice[place>>6] |= t.once[place>>6] & bit
	t.once[place>>6] |= bit
}

func (t *sieveTable) shared(place uint64) bool { return t.twice[place>>6]>>(place&63)&1 != 0 }
