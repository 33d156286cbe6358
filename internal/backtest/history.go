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
	window    int
	intervals []interval
	numbers   map[string]int
	keys      []remembered
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
		out.State = make([]float64, stats.Len())
	}
	named := make([]bool, len(h.keys), len(h.keys)+stats.Len())
	for row := range stats.Len() {
		k, id := h.key(stats.Keys.At(row))
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
	h.addAbsent(&out, named, now, reported)
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
func (h *History) key(key []byte) (k *remembered, id int) {
	id, known := h.numbers[string(key)]
	if !known {
		id = len(h.keys)
		h.numbers[string(key)] = id
		h.keys = append(h.keys, remembered{key: slices.Clone(key), costs: make([]float64, h.window),
			home: planner.NoInstance})
	}
	return &h.keys[id], id
}

// total is what the key cost in the window.
func (k *remembered) total() (sum float64) {
	for _, c := range k.costs {
		sum += c
	}
	return sum
}

// addAbsent gives keys that are not named but still have state a row without cost.
func (h *History) addAbsent(out *planner.Statistics, named []bool, now int, reported bool) {
	own := false
	for id := range named {
		k := &h.keys[id]
		if named[id] {
			continue
		}
		k.costs[now%h.window] = 0
		state := k.state
		if !reported {
			state = k.total()
		}
		homeless := out.HashInstance != nil && k.home == planner.NoInstance
		if k.until <= now || out.Partial || homeless || state == 0 {
			continue
		}
		if !own {
			out.Keys, out.Cost, out.State, own = out.Keys.Clone(), slices.Clone(out.Cost), slices.Clone(out.State), true
			out.Instance, out.HashInstance = slices.Clone(out.Instance), slices.Clone(out.HashInstance)
		}
		out.Keys.Append(k.key)
		out.Cost, out.State = append(out.Cost, 0), append(out.State, state)
		if out.Instance != nil {
			out.Instance = append(out.Instance, planner.NoInstance)
		}
		if out.HashInstance != nil {
			out.HashInstance = append(out.HashInstance, k.home)
		}
	}
}
