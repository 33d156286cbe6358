package planner

// minHeap is a binary heap: its first element is before all others.
type minHeap[T any] struct {
	e      []T
	before func(a, b T) bool
}

func (h *minHeap[T]) push(x T) {
	h.e = append(h.e, x)
	for i := len(h.e) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.before(h.e[i], h.e[parent]) {
			break
		}
		h.e[i], h.e[parent] = h.e[parent], h.e[i]
		i = parent
	}
}

func (h *minHeap[T]) pop() T {
	top, last := h.e[0], len(h.e)-1
	h.e[0] = h.e[last]
	h.e = h.e[:last]
	h.sink(0)
	return top
}

// sink restores the order after element i came to belong further back.
func (h *minHeap[T]) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.e) {
			return
		}
		if child+1 < len(h.e) && h.before(h.e[child+1], h.e[child]) {
			child++
		}
		if !h.before(h.e[child], h.e[i]) {
			return
		}
		h.e[i], h.e[child] = h.e[child], h.e[i]
		i = child
	}
}

// heapify restores the order after any elements changed.
func (h *minHeap[T]) heapify() {
	for i := len(h.e)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

// second is the element that follows the first, if there is one.
func (h *minHeap[T]) second() (x T, ok bool) {
	switch len(h.e) {
	case 0, 1:
		return x, false
	case 2:
		return h.e[1], true
	}
	if h.before(h.e[2], h.e[1]) {
		return h.e[2], true
	}
	return h.e[1], true
}
