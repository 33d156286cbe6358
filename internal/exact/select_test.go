package exact

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSelectLeast: the least elements come first, however they lay before.
func TestSelectLeast(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		e := make([]int, r.IntN(400))
		for i := range e {
			e[i] = i
		}
		switch r.IntN(3) {
		case 0:
			r.Shuffle(len(e), func(i, j int) { e[i], e[j] = e[j], e[i] })
		case 1:
			slices.Reverse(e)
		}
		n := r.IntN(len(e) + 1)
		SelectLeast(e, n, cmp.Compare[int])
		first := slices.Sorted(slices.Values(e[:n]))
		for i, v := range first {
			if v != i {
				t.Fatalf("the %d least of %d are %v", n, len(e), first)
			}
		}
	}
}

// TestHeap: what is popped is in order, also after elements changed.
func TestHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		h := Heap[int]{Before: func(a, b int) bool { return a < b }}
		for range r.IntN(60) {
			h.Push(r.IntN(50))
		}
		if second, ok := h.Second(); ok != (len(h.E) > 1) || ok && second != slices.Sorted(slices.Values(h.E))[1] {
			t.Fatalf("second of %v: %v", h.E, second)
		}
		for i := range h.E {
			h.E[i] = r.IntN(50)
		}
		h.Heapify()
		want := slices.Sorted(slices.Values(h.E))
		for _, v := range want {
			if got := h.Pop(); got != v {
				t.Fatalf("popped %d, want %d", got, v)
			}
		}
	}
}
