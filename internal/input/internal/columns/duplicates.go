package columns

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"plannerd/internal/input/internal/problem"
	"plannerd/planner"
)

// duplicate says that the key of row later stands in row earlier too.
type duplicate struct{ later, earlier int }

// sieveRounds and sieveBits: each round leaves less than one of sieveBits rows
// that have no twin, looking at other bits of the hash.
const (
	sieveRounds = 4
	sieveBits   = 8 // places per row
	// sieveFewerMarks: there is one mark for 2^sieveFewerMarks places.
	sieveFewerMarks = 2
	// sieveParallel rows are worth a second goroutine.
	sieveParallel = 1 << 16
)

// claim is what looking for duplicates takes of a meter, for as long as it lasts. Both
// halves of the rows may ask for more.
type claim struct {
	meter *Meter
	mu    sync.Mutex
	bytes int
}

// rows returns rows with room for one more, false when the meter refuses that.
func (c *claim) rows(rows []int32) ([]int32, bool) {
	const fewest = 1 << 10
	if len(rows) < cap(rows) {
		return rows, true
	}
	more := max(fewest, len(rows))
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(rows) >= fewest { // so many mostly mean that there are twins, then of any number
		if !c.meter.Take(SizeOf[int32](2 * more)) {
			return rows, false
		}
		c.bytes += SizeOf[int32](2 * more)
	}
	return slices.Grow(rows, more), true
}

// release gives back what was taken.
func (c *claim) release() { c.meter.Give(c.bytes) }

// duplicates returns the first rows whose key stands in an earlier row, in ascending
// order, each with the first row of its key: problem.Most of them, if there are as many.
// There are none when the meter refuses memory.
//
// Rows are sieved by tables of bits over their hashes, which leave next to
// none of those that are alone; the rest is sorted and compared byte by byte.
// No table of all keys is built, and colliding hashes cost no more than a sort.
func duplicates(keys *planner.Keys, m *Meter) []duplicate {
	claimed := &claim{meter: m}
	defer claimed.release()
	rows := sieve(keys, nil, 0, claimed)
	for round := 1; round < sieveRounds && len(rows) > 0; round++ {
		rows = sieve(keys, rows, round, claimed)
	}
	if m.Refused() != nil {
		return nil
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
	byRow := func(a, b duplicate) int { return cmp.Compare(a.later, b.later) }
	for i, first := 1, 0; i < len(rows); i++ {
		a, b := int(rows[first]), int(rows[i])
		if keys.Hash(a) == keys.Hash(b) && bytes.Equal(keys.At(a), keys.At(b)) {
			if found = append(found, duplicate{later: b, earlier: a}); len(found) == 8*problem.Most {
				slices.SortFunc(found, byRow)
				found = found[:problem.Most]
			}
		} else {
			first = i
		}
	}
	slices.SortFunc(found, byRow)
	return found[:min(len(found), problem.Most)]
}

// sieve returns those of the rows (all, when nil) that may have a twin among them:
// all that have, and next to none of the others; none when the meter refuses memory for them.
func sieve(keys *planner.Keys, rows []int32, round int, claimed *claim) []int32 {
	s := sieving{keys: keys, rows: rows, n: len(rows), shift: round * 64 / sieveRounds, claim: claimed}
	if rows == nil {
		s.n = keys.Len()
	}
	if s.n < 2 {
		return nil
	}
	s.width = max(6, bits.Len(uint(s.n*sieveBits-1)))
	var halves [2]sieved
	s.inHalves(func(half, from, to int) { halves[half] = s.take(from, to) })
	for i, word := range halves[1].marks {
		halves[0].marks[i] |= word
	}
	var left [2][]int32
	s.inHalves(func(half, from, to int) { left[half] = s.twins(from, to, halves[0].marks, halves[1-half].taken) })
	return append(left[0], left[1]...)
}

// sieving is one round of the sieve.
type sieving struct {
	keys  *planner.Keys
	rows  []int32 // nil: all
	n     int     // rows
	shift int     // of hashes
	width int     // bits of a hash that tell its place
	claim *claim
}

// sieved is what one half of the rows left behind.
type sieved struct {
	taken []uint64 // a bit for each place
	marks []uint64 // a bit for each mark
}

// inHalves does the work for both halves of the rows, at the same time when there
// are many.
func (s *sieving) inHalves(work func(half, from, to int)) {
	if s.n < sieveParallel {
		work(0, 0, s.n/2)
		work(1, s.n/2, s.n)
		return
	}
	var other sync.WaitGroup
	other.Go(func() { work(1, s.n/2, s.n) })
	work(0, 0, s.n/2)
	other.Wait()
}

// hash returns row i and its hash.
func (s *sieving) hash(i int) (row int32, h uint64) {
	row = int32(i)
	if s.rows != nil {
		row = s.rows[i]
	}
	return row, bits.RotateLeft64(s.keys.Hash(int(row)), s.shift)
}

// markWidth is the number of a hash's highest bits that tell its mark.
func (s *sieving) markWidth() int { return max(6, s.width-sieveFewerMarks) }

// take goes through a range of rows and marks those whose place one before has
// taken. A place is told by the lowest bits of a hash, a mark by the highest: a row
// and its twin share both, others one of them at most, mostly.
func (s *sieving) take(from, to int) sieved {
	x := sieved{taken: make([]uint64, 1<<s.width/64), marks: make([]uint64, 1<<s.markWidth()/64)}
	places, beyond := uint64(len(x.taken)-1), 64-s.markWidth()
	for i := from; i < to; i++ {
		_, h := s.hash(i)
		word, bit := &x.taken[h>>6&places], uint64(1)<<(h&63)
		if *word&bit != 0 {
			x.marks[h>>beyond>>6] |= 1 << (h >> beyond & 63)
		}
		*word |= bit
	}
	return x
}

// twins returns the rows of a range that have a mark, or whose place is taken by
// one of the other half.
func (s *sieving) twins(from, to int, marks, taken []uint64) (rows []int32) {
	places, beyond := uint64(len(taken)-1), 64-s.markWidth()
	for i := from; i < to; i++ {
		row, h := s.hash(i)
		if (marks[h>>beyond>>6]>>(h>>beyond&63)|taken[h>>6&places]>>(h&63))&1 != 0 {
			more, ok := s.claim.rows(rows)
			if !ok {
				return nil
			}
			rows = append(more, row)
		}
	}
	return rows
}
