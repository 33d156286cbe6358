package exact

// Heap is a binary heap: its first element is before all others.
type Heap[T any] struct {
	E      []T // the elements; after changing them call Heapify or Sink
	Before func(a, b T) bool
}

// Push adds an element.
func (h *Heap[T]) Push(x T) {
	h.E = append(h.E, x)
	for i := len(h.E) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.Before(h.E[i], h.E[parent]) {
			break
		}
		h.E[i], h.E[parent] = h.E[parent], h.E[i]
		i = parent
	}
}

// Pop takes the first element out of a heap that is not empty.
func (h *Heap[T]) Pop() T {
	top, last := h.E[0], len(h.E)-1
	h.E[0] = h.E[last]
	h.E = h.E[:last]
	h.Sink(0)
	return top
}

// Sink restores the order after element i came to belong further back.
func (h *Heap[T]) Sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(h.E) {
			return
		}
		if child+1 < len(h.E) && h.Before(h.E[child+1], h.E[child]) {
			child++
		}
		if !h.Before(h.E[child], h.E[i]) {
			return
		}
		h.E[i], h.E[child] = h.E[child], h.E[i]
		i = child
	}
}

// Heapify restores the order after any elements changed.
func (h *Heap[T]) Heapify() {
	for i := len(h.E)/2 - 1; i >= 0; i-- {
		h.Sink(i)
	}
}

// Second returns the element that follows the first, if there is one.
func (h *Heap[T]) Second() (x T, ok bool) {
	switch len(h.E) {
	case 0, 1:
		return x, false
	case 2:
		return h.E[1], true
	}
	if h.Before(h.E[2], h.E[1]) {
		return h.E[2], true
	}
	return h.E[1], true
}
