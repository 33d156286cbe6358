package stats

import (
	"container/heap"
	"slices"
	"sync"

	"plannerd/sdk/go/client"
	"plannerd/sdk/go/wire"
)

// Heavy keeps the costliest keys of an interval in bounded memory. With m keys and a cost
// C of all together, every key that costs more than C/m is kept, and of no key more than
// C/m of its cost goes into the residual. Its methods may be called at the same time.
type Heavy struct {
	mu    sync.Mutex
	most  int
	keys  map[string]*kept
	heap  byBound
	total float64
}

// kept is a key that is kept: it costs at most bound, and at least bound − missed.
type kept struct {
	key           string
	bound, missed float64
	place         int // in the heap
}

// NewHeavy keeps up to most keys, at least one.
func NewHeavy(most int) *Heavy {
	return &Heavy{most: max(most, 1), keys: make(map[string]*kept, most)}
}

// Add adds to the cost of a key in this interval, which must not be negative. It does not
// allocate for a key that is kept.
func (h *Heavy) Add(key []byte, cost float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total += cost
	k := h.keys[string(key)]
	switch {
	case k != nil:
	case len(h.heap) < h.most:
		k = &kept{key: string(key)}
		h.keys[k.key] = k
		heap.Push(&h.heap, k)
	default: // it takes the place of the key of least bound, and may have cost as much so far
		k = h.heap[0]
		delete(h.keys, k.key)
		k.key, k.missed = string(key), k.bound
		h.keys[k.key] = k
	}
	k.bound += cost
	heap.Fix(&h.heap, k.place)
}

// Close ends the interval: it returns the keys that were kept, in ascending order, each
// with what it cost at least, and the residual of the instance: what else there is. State
// tells how large the state of a key is; states and keys are those of the whole instance.
// Together they are partial statistics. The next interval begins.
func (h *Heavy) Close(instance int32, state func(key []byte) float64, states float64, keys int64) (
	[]client.Row, wire.Residual,
) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var rows []client.Row
	cost := h.total
	for _, k := range h.heap {
		row := client.Row{Key: []byte(k.key), Cost: k.bound - k.missed, Instance: instance}
		row.State = state(row.Key)
		cost, states = cost-row.Cost, states-row.State
		rows = append(rows, row)
	}
	slices.SortFunc(rows, compare)
	clear(h.keys)
	h.heap, h.total = nil, 0
	return rows, wire.Residual{Instance: wire.ID(instance), Cost: new(max(0, cost)), State: new(max(0, states)),
		Keys: new(max(0, keys-int64(len(rows))))}
}

// byBound is a heap whose first key has the least bound.
type byBound []*kept

func (b byBound) Len() int           { return len(b) }
func (b byBound) Less(i, j int) bool { return b[i].bound < b[j].bound }

func (b byBound) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].place, b[j].place = i, j
}

// Push is for package heap.
func (b *byBound) Push(x any) {
	k := x.(*kept)
	k.place = len(*b)
	*b = append(*b, k)
}

// Pop is for package heap.
func (b *byBound) Pop() any {
	last := len(*b) - 1
	k := (*b)[last]
	*b = (*b)[:last]
	return k
}
