package counting

import (
	"cmp"
	"slices"
)

// counts are the keys of an interval, with what their events add up to. Once they would take more
// memory than they may, the median cost is taken off all of them, and those that have no more are
// forgotten (Anderson et al., "A High-Performance Algorithm for Identifying Frequent Items in Data
// Streams", IMC 2017): of no key more than missed is lost.
type counts struct {
	keys   map[string]*count
	bytes  int // that they take
	most   int // bytes that they may take
	missed float64
	events int64
	total  float64 // cost of all events
}

// count is what is known of a key.
type count struct{ cost, state float64 }

// keyBytes is what a key takes beside its text: its count, and its part of a map that may be
// half empty.
const keyBytes = 112

func newCounts(most int) *counts { return &counts{keys: map[string]*count{}, most: most} }

// add counts an event.
func (c *counts) add(key []byte, cost, state float64) {
	c.events++
	c.total += cost
	of := c.keys[string(key)]
	if of == nil {
		if c.bytes += keyBytes + len(key); c.bytes > c.most {
			c.shrink()
		}
		of = &count{}
		c.keys[string(key)] = of
	}
	of.cost += cost
	of.state += state
}

// shrink forgets about half of the keys, those of least cost.
func (c *counts) shrink() {
	costs := make([]float64, 0, len(c.keys))
	for _, of := range c.keys {
		costs = append(costs, of.cost)
	}
	slices.Sort(costs)
	if len(costs) == 0 {
		return
	}
	median := costs[len(costs)/2]
	kept := make(map[string]*count, len(costs)/2)
	c.missed += median
	c.bytes = 0
	for key, of := range c.keys {
		if of.cost -= median; of.cost > 0 {
			kept[key] = of
			c.bytes += keyBytes + len(key)
		}
	}
	c.keys = kept
}

// row is a key and what its events add up to.
type row struct {
	key string
	count
}

// rows are the keys in descending order of cost, at most so many, 0: all.
func (c *counts) rows(top int) []row {
	rows := make([]row, 0, len(c.keys))
	for key, of := range c.keys {
		rows = append(rows, row{key, *of})
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.cost, a.cost), cmp.Compare(a.key, b.key))
	})
	if top > 0 && top < len(rows) {
		rows = rows[:top]
	}
	return rows
}
