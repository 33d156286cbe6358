package compact

import (
	"cmp"
	"math"
	"math/bits"
	"runtime"
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
