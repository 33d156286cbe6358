package counting

import (
	"cmp"
	"slices"
)

// Counts are the keys of an interval, with what their events add up to. Once they would take more
// memory than they may, the median cost is taken off all of them, and those that have no more are
// forgotten (Anderson et al., "A High-Performance Algorithm for Identifying Frequent Items in Data
// Streams", IMC 2017): of no key more than Missed is lost.
type Counts struct {
	Missed float64 // cost of which no key lacks more
	Total  float64 // cost of all events
	keys   map[string]*count
	bytes  int // that they take
	most   int // bytes that they may take
}

// count is what is known of a key.
type count struct{ Cost, State float64 }

// keyBytes is what a key takes beside its text: its count, and its part of a map that may be
// half empty.
const keyBytes = 112

// NewCounts returns counts that may take so many bytes of memory. While they forget keys there is a
// copy of those that are kept.
func NewCounts(most int) *Counts { return &Counts{keys: map[string]*count{}, most: most} }

// Add counts an event.
func (c *Counts) Add(key []byte, cost, state float64) {
	c.Total += cost
	of := c.keys[string(key)]
	if of == nil {
		if c.bytes += keyBytes + len(key); c.bytes > c.most {
			c.shrink()
		}
		of = &count{}
		c.keys[string(key)] = of
	}
	of.Cost += cost
	of.State += state
}

// Limit changes how many bytes of memory they may take.
func (c *Counts) Limit(most int) {
	for c.most = most; c.bytes > c.most; {
		c.shrink()
	}
}

// shrink forgets about half of the keys, those of least cost.
func (c *Counts) shrink() {
	costs := make([]float64, 0, len(c.keys))
	for _, of := range c.keys {
		costs = append(costs, of.Cost)
	}
	slices.Sort(costs)
	if len(costs) == 0 {
		return
	}
	median := costs[len(costs)/2]
	kept := make(map[string]*count, len(costs)/2)
	c.Missed += median
	c.bytes = 0
	for key, of := range c.keys {
		if of.Cost -= median; of.Cost > 0 {
			kept[key] = of
			c.bytes += keyBytes + len(key)
		}
	}
	c.keys = kept
}

// Row is a key and what its events add up to.
type Row struct {
	Key string
	count
}

// Rows are the keys in descending order of cost, at most so many, 0: all.
func (c *Counts) Rows(top int) []Row {
	rows := make([]Row, 0, len(c.keys))
	for key, of := range c.keys {
		rows = append(rows, Row{key, *of})
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Key, b.Key))
	})
	if top > 0 && top < len(rows) {
		rows = rows[:top]
	}
	return rows
}
