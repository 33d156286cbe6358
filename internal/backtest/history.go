// Package backtest runs policies over recorded intervals, exactly as a service would
// have: what a plan is made of is over when the plan takes effect, in the next interval.
//
// What comes of it are realised figures: those of loads that came, not of loads that
// were planned on. A policy that was chosen for its figures on some intervals is judged
// on others.
package backtest

import (
	"slices"

	"plannerd/planner"
)

// DefaultWindow is for how many intervals keys keep state where nobody says otherwise.
const DefaultWindow = 5

// History is the intervals to run over, in their order.
type History struct {
	// Reserve is told of memory, in bytes, before it is taken. Nil: nobody asks.
	Reserve func(bytes int64) error

	window    int
	intervals []interval
	numbers   map[string]int
	keys      []remembered
	held      int64
}

// What a history takes in bytes, and what runs over it do besides; by
// BenchmarkMemory of this package, rounded up.
const (
	// rememberedBytes is for a key that was named, beside its text, which is kept twice.
	rememberedBytes = 240
	// stateBytes is for the state of a row where none is reported.
	stateBytes = 8
	// copiedBytes is for a row of an interval that has rows of absent keys, beside its key.
	copiedBytes = 24
	// runBytes is for a row of the longest interval, in each run at the same time.
	runBytes = 240
	// hindsightBytes is for a row of any interval, bracketBytes for one in each search for
	// a bracket at the same time.
	hindsightBytes = 32
	bracketBytes   = 104
)

// Bytes is what the history holds, beside the statistics that were added.
func (h *History) Bytes() int64 { return h.held }

// SearchBytes is what [Search] takes besides, on so many processors. With a table limit
// each key counts in every interval.
func (h *History) SearchBytes(processors int, tableLimit bool) int64 {
	most, rows := 0, 0
	for _, in := range h.intervals {
		most, rows = max(most, in.stats.Len()), rows+in.stats.Len()
	}
	steps := rows
	if tableLimit {
		steps = max(rows, len(h.keys)*len(h.intervals))
	}
	each := int64(most)*runBytes + int64(steps)*bracketBytes
	return int64(rows)*hindsightBytes + int64(processors)*each
}

// hold reserves memory.
func (h *History) hold(bytes int64) error {
	h.held += bytes
	if h.Reserve == nil {
		return nil
	}
	return h.Reserve(bytes)
}

type interval struct {
	number int64
	stats  *planner.Statistics
	state  float64 // of all keys
	silent bool    // of some instance nothing is known
}

// remembered is what an interval needs to know of a key that it does not name.
type remembered struct {
	key   []byte
	costs []float64 // of the last intervals of the window, a ring
	state float64   // as reported last
	home  int32     // its hash instance, likewise
	until int       // the interval from which on it has no state
}

// NewHistory returns a history without intervals. A key keeps its state for so many
// intervals after the last one that named it. Where no state is reported it is the cost
// of the key in the last intervals of the window.
func NewHistory(window int) *History {
	return &History{window: max(1, window), numbers: map[string]int{}}
}

// Len is the number of intervals.
func (h *History) Len() int { return len(h.intervals) }

// Rows is the number of rows of all intervals together.
func (h *History) Rows() (n int) {
	for _, in := range h.intervals {
		n += in.stats.Len()
	}
	return n
}

// Number is that of an interval, as Add was told.
func (h *History) Number(i int) int64 { return h.intervals[i].number }

// Add appends the next interval. Rows that stand for several keys are refused by an
// InputError. Statistics that are known to lack keys are taken for what they name.
func (h *History) Add(number int64, stats *planner.Statistics) error {
	if stats.Count != nil {
		return planner.Invalid("Count", "a backtest needs keys, not classes of keys")
	}
	if err := stats.ValidateAmounts(); err != nil {
		return err
	}
	now := len(h.intervals)
	out := *stats
	// Under other tables other keys are on the instances that told too little.
	out.Partial = stats.Partial || len(stats.PartialOn) > 0 || len(stats.Frozen) > 0
	out.PartialOn, out.Frozen = nil, nil
	out.Shares = nil // the state of a key is their sum already
	reported := out.State != nil
	if !reported {
		if err := h.hold(int64(stats.Len()) * stateBytes); err != nil {
			return err
		}
		out.State = make([]float64, stats.Len())
	}
	named := make([]bool, len(h.keys), len(h.keys)+stats.Len())
	for row := range stats.Len() {
		k, id, err := h.key(stats.Keys.At(row))
		if err != nil {
			return err
		}
		if id < len(named) {
			named[id] = true
		} else {
			named = append(named, true)
		}
		if stats.HashInstance != nil {
			k.home = stats.HashInstance[row]
		}
		k.until, k.costs[now%h.window] = now+h.window, stats.Cost[row]
		if reported {
			k.state = out.State[row]
			continue
		}
		out.State[row] = k.total()
	}
	if err := h.addAbsent(&out, named, now, reported); err != nil {
		return err
	}
	in := interval{number: number, stats: &out, silent: len(stats.Frozen) > 0}
	for _, s := range out.State {
		in.state += s
	}
	for _, r := range out.Residual {
		in.state += r.State
	}
	h.intervals = append(h.intervals, in)
	return nil
}

// key finds what is remembered of a key.
func (h *History) key(key []byte) (k *remembered, id int, err error) {
	id, known := h.numbers[string(key)]
	if !known {
		if err := h.hold(rememberedBytes + int64(8*h.window+2*len(key))); err != nil {
			return nil, 0, err
		}
		id = len(h.keys)
		h.numbers[string(key)] = id
		h.keys = append(h.keys, remembered{key: slices.Clone(key), costs: make([]float64, h.window),
			home: planner.NoInstance})
	}
	return &h.keys[id], id, nil
}

// total is what the key cost in the window.
func (k *remembered) total() (sum float64) {
	for _, c := range k.costs {
		sum += c
	}
	return sum
}

// stateIf is the state of the key when it is absent, if states are reported or not.
func (k *remembered) stateIf(reported bool) float64 {
	if reported {
		return k.state
	}
	return k.total()
}

// addAbsent gives keys that are not named but still have state a row without cost.
func (h *History) addAbsent(out *planner.Statistics, named []bool, now int, reported bool) error {
	var absent []int
	text := 0
	for id := range named {
		k := &h.keys[id]
		if named[id] {
			continue
		}
		k.costs[now%h.window] = 0
		homeless := out.HashInstance != nil && k.home == planner.NoInstance
		if k.until > now && !out.Partial && !homeless && k.stateIf(reported) != 0 {
			absent = append(absent, id)
			text += len(k.key)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	rows := len(out.Cost) + len(absent)
	if err := h.hold(int64(out.Keys.Bytes()) + int64(text) + int64(rows)*copiedBytes); err != nil {
		return err
	}
	out.Keys, out.Cost, out.State = out.Keys.Clone(), slices.Clone(out.Cost), slices.Clone(out.State)
	out.Instance, out.HashInstance = slices.Clone(out.Instance), slices.Clone(out.HashInstance)
	for _, id := range absent {
		k := &h.keys[id]
		out.Keys.Append(k.key)
		out.Cost, out.State = append(out.Cost, 0), append(out.State, k.stateIf(reported))
		if out.Instance != nil {
			out.Instance = append(out.Instance, planner.NoInstance)
		}
		if out.HashInstance != nil {
			out.HashInstance = append(out.HashInstance, k.home)
		}
	}
	return nil
}
