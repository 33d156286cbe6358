package grouping

import (
	"cmp"
	"slices"

	"plannerd/planner"
)

// spaceSaving is the stream summary of Metwally, Agrawal and El Abbadi
// ("Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT
// 2005) in a heap: a key without a counter takes over the least one, ties by
// lower slot, and its count. A count is never below the true one, and above it by
// at most messages/counters; all counts together are the number of messages.
type spaceSaving struct {
	slotOf map[int32]int32 // of the keys that have a counter
	key    []int32         // of each slot
	count  []int64         // of each slot
	heap   []int32         // of slots, the least count first
	at     []int32         // of each slot in heap
	n      int64
}

func newSpaceSaving(counters int) *spaceSaving {
	return &spaceSaving{
		slotOf: make(map[int32]int32, counters),
		key:    make([]int32, 0, counters), count: make([]int64, 0, counters),
		heap: make([]int32, 0, counters), at: make([]int32, 0, counters),
	}
}

// add counts a message and returns the slot of its key, and whether another key
// has just lost it.
func (s *spaceSaving) add(key int32) (slot int32, took bool) {
	s.n++
	slot, known := s.slotOf[key]
	switch {
	case known:
	case len(s.key) < cap(s.key):
		slot = int32(len(s.key))
		s.key, s.count = append(s.key, key), append(s.count, 0)
		s.heap, s.at = append(s.heap, slot), append(s.at, slot)
		s.slotOf[key] = slot
		s.up(int(slot))
	default:
		slot, took = s.heap[0], true
		delete(s.slotOf, s.key[slot])
		s.key[slot], s.slotOf[key] = key, slot
	}
	s.count[slot]++
	s.down(int(s.at[slot]))
	return slot, took
}

func (s *spaceSaving) before(a, b int32) bool {
	return s.count[a] < s.count[b] || s.count[a] == s.count[b] && a < b
}

func (s *spaceSaving) up(i int) {
	for i > 0 && s.before(s.heap[i], s.heap[(i-1)/2]) {
		s.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (s *spaceSaving) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			return
		}
		if child+1 < len(s.heap) && s.before(s.heap[child+1], s.heap[child]) {
			child++
		}
		if !s.before(s.heap[child], s.heap[i]) {
			return
		}
		s.swap(i, child)
		i = child
	}
}

func (s *spaceSaving) swap(i, j int) {
	s.heap[i], s.heap[j] = s.heap[j], s.heap[i]
	s.at[s.heap[i]], s.at[s.heap[j]] = int32(i), int32(j)
}

// above lists the slots with a count above least, highest first, ties by slot.
func (s *spaceSaving) above(least int64) (slots []int32) {
	for slot, n := range s.count {
		if n > least {
			slots = append(slots, int32(slot))
		}
	}
	slices.SortFunc(slots, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.count[b], s.count[a]), cmp.Compare(a, b))
	})
	return slots
}

// sketched is DChoices or WChoices whose sources find the head out.
type sketched struct {
	estimates
	o       *Options
	keys    *planner.Keys
	tail    candidates
	hash    *hasher
	sources []headOf
	// offered is the most choices that a message of each key had in the head, 0
	// meaning all workers; −1 when none was in the head.
	offered []int32
}

// headOf is what a source knows of the head.
type headOf struct {
	sketch  *spaceSaving
	choices int32    // of the keys in the head; 0: all workers
	inHead  []bool   // by slot
	start   []uint32 // by slot, the candidates of a key in the head: of workers,
	end     []uint32 // empty for all
	rows    []int32
}

func newSketched(s *Stream, o *Options, tail candidates) *sketched {
	r := &sketched{
		estimates: newEstimates(o), o: o, keys: s.keys, tail: tail, hash: newHasher(o),
		sources: make([]headOf, o.Sources), offered: make([]int32, s.keys.Len()),
	}
	counters := min(o.SketchCounters, s.keys.Len())
	for j := range r.sources {
		r.sources[j] = headOf{
			sketch: newSpaceSaving(counters), inHead: make([]bool, counters),
			start: make([]uint32, counters), end: make([]uint32, counters),
		}
	}
	for k := range r.offered {
		r.offered[k] = -1
	}
	return r
}

func (r *sketched) route(keys, sources, to []int32) {
	look := int64(100 * r.o.Workers)
	for i, k := range keys {
		h := &r.sources[sources[i]]
		slot, took := h.sketch.add(k)
		if took {
			h.inHead[slot] = false
		}
		if h.sketch.n%look == 0 {
			r.look(h)
		}
		row := r.tail.row(k)
		if h.inHead[slot] {
			row = h.rows[h.start[slot]:h.end[slot]]
			if most := r.offered[k]; most != 0 && (h.choices == 0 || h.choices > most) {
				r.offered[k] = h.choices
			}
		}
		to[i] = r.choose(row, sources[i])
	}
}

// look finds out which keys are in the head now, and gives them candidates.
func (r *sketched) look(h *headOf) {
	clear(h.inHead)
	h.rows = h.rows[:0]
	slots := h.sketch.above(h.sketch.n / int64(5*r.o.Workers))
	d := r.o.Workers
	if r.o.Scheme == DChoices {
		counts := make([]int64, len(slots))
		for i, slot := range slots {
			counts[i] = h.sketch.count[slot]
		}
		d = headChoices(counts, h.sketch.n, r.o.Workers, r.o.Choices, *r.o.Epsilon, r.o.Stop)
	}
	if d >= r.o.Workers {
		d = 0
	}
	h.choices = int32(d)
	for _, slot := range slots {
		k := h.sketch.key[slot]
		h.inHead[slot] = true
		h.start[slot] = uint32(len(h.rows))
		h.rows = r.hash.append(h.rows, r.keys.At(int(k)), d)
		h.end[slot] = uint32(len(h.rows))
	}
}
