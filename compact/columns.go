package compact

import (
	"cmp"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// inParallel calls work for 0 … n−1, on all processors. What it makes must not
// depend on the order.
func inParallel(n int, work func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				work(int(i))
			}
		})
	}
	all.Wait()
}

// entry is a value ≥ 0, in the bits of a float64, of the key at a position.
type entry struct {
	bits uint64
	tie  uint32
	at   int32
}

const (
	digitBits   = 11
	digitValues = 1 << digitBits
	bitsDigits  = (64 + digitBits - 1) / digitBits
	tieDigits   = (32 + digitBits - 1) / digitBits
	fewToSort   = 512 // elements that are compared rather than counted
)

// sortDescending sorts by value, the greatest first, and returns the result, which
// is in e or in spare; both are overwritten.
func sortDescending(e, spare []entry) []entry {
	if len(e) <= fewToSort {
		slices.SortFunc(e, func(a, b entry) int { return cmp.Compare(b.bits, a.bits) })
		return e
	}
	return radixSort(e, spare, bitsDigits, func(x *entry) uint64 { return ^x.bits })
}

// sortByTie sorts by tie and returns the result, which is in e or in spare.
func sortByTie(e, spare []entry) []entry {
	return radixSort(e, spare, tieDigits, func(x *entry) uint64 { return uint64(x.tie) })
}

// radixSort sorts by that many digits of a number. It skips the digits in which
// all agree.
func radixSort(e, spare []entry, digits int, number func(*entry) uint64) []entry {
	counts := make([][digitValues]int32, digits)
	for i := range e {
		v := number(&e[i])
		for d := range counts {
			counts[d][v>>(d*digitBits)&(digitValues-1)]++
		}
	}
	for d := range counts {
		shift, count := d*digitBits, &counts[d]
		if count[number(&e[0])>>shift&(digitValues-1)] == int32(len(e)) {
			continue
		}
		at := int32(0)
		for v, n := range count {
			count[v] = at
			at += n
		}
		for i := range e {
			v := number(&e[i]) >> shift & (digitValues - 1)
			spare[count[v]] = e[i]
			count[v]++
		}
		e, spare = spare[:len(e)], e
	}
	return e
}

// selectLeast puts the n least of e first, in any order, 0 < n < len(e). It is
// quickselect; no two of e may be equal.
func selectLeast[T any](e []T, n int, compare func(a, b T) int) {
	for len(e) > fewToSort {
		pivot := e[len(e)/2]
		i, j := 0, len(e)-1
		for i <= j {
			for compare(e[i], pivot) < 0 {
				i++
			}
			for compare(pivot, e[j]) < 0 {
				j--
			}
			if i <= j {
				e[i], e[j] = e[j], e[i]
				i++
				j--
			}
		}
		switch {
		case n <= j+1:
			e = e[:j+1]
		case n >= i:
			e, n = e[i:], n-i
		default:
			return
		}
	}
	slices.SortFunc(e, compare)
}

// classTable numbers the classes of one instance's keys: a hash table with open
// addressing.
type classTable struct {
	classes []class
	slots   []int32 // 1 + index into classes; 0: free
}

func newClassTable() *classTable { return &classTable{slots: make([]int32, 1024)} }

// add counts a key of a class and returns its number.
func (t *classTable) add(hash int32, cost, state float64) int32 {
	mask := uint64(len(t.slots) - 1)
	for at := hashOf(hash, cost, state) & mask; ; at = (at + 1) & mask {
		i := t.slots[at]
		if i == 0 {
			t.classes = append(t.classes, class{hash, cost, state, 1})
			t.slots[at] = int32(len(t.classes))
			i = int32(len(t.classes))
			if 2*len(t.classes) > len(t.slots) {
				t.grow()
			}
			return i - 1
		}
		if c := &t.classes[i-1]; c.hash == hash && c.cost == cost && c.state == state {
			c.count++
			return i - 1
		}
	}
}

func (t *classTable) grow() {
	t.slots = make([]int32, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for i, c := range t.classes {
		at := hashOf(c.hash, c.cost, c.state) & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = int32(i + 1)
	}
}

func hashOf(hash int32, cost, state float64) uint64 {
	hi, lo := bits.Mul64(math.Float64bits(cost)^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	x := hi ^ lo ^ uint64(hash)<<32
	hi, lo = bits.Mul64(x^math.Float64bits(state), 0xa0761d6478bd642f)
	return hi ^ lo
}

func (c class) compare(o class) int {
	return cmp.Or(cmp.Compare(c.hash, o.hash), cmp.Compare(c.cost, o.cost), cmp.Compare(c.state, o.state))
}
