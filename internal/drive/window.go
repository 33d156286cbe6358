package drive

import (
	"slices"

	"plannerd/planner"
)

// DefaultWindow is for how many intervals keys keep state where nobody says otherwise.
const DefaultWindow = 5

// What a window takes in bytes; by BenchmarkMemory of package backtest, rounded up.
const (
	// rememberedBytes is for a key that was named, beside its text, which is kept twice.
	rememberedBytes = 240
	// stateBytes is for the state of a row where none is reported.
	stateBytes = 8
	// copiedBytes is for a row of an interval that has rows of absent keys, beside its key.
	copiedBytes = 24
	// amountBytes is for what such a row takes of a resource.
	amountBytes = 8
)

// Window knows the state of all keys, those that an interval does not name included: it is
// what movement is counted by, whatever plans are made on. A key keeps its state for some
// intervals after the last one that named it. Where no state is reported it is the cost of
// the key in these intervals.
type Window struct {
	// Reserve is told of memory, in bytes, before it is taken. Nil: nobody asks.
	Reserve func(bytes int64) error

	sums      bool // rows tell the state that their interval added
	size      int
	intervals int
	numbers   map[string]int
	keys      []remembered
	held      int64
}

// remembered is what an interval needs to know of a key that it does not name.
type remembered struct {
	key   []byte
	added []float64 // cost, or added state, in the last intervals of the window, a ring
	state float64   // as reported last
	home  int32     // its hash instance, likewise
	until int       // the interval from which on it has no state
}

// NewWindow returns a window of so many intervals that has seen none.
func NewWindow(intervals int) *Window {
	return &Window{size: max(1, intervals), numbers: map[string]int{}}
}

// NewSums returns a window whose rows tell the state that their interval has added. A key's
// is S(k,w), the sum of what the last w intervals have added (mixed-routing Eq. 2).
func NewSums(w int) *Window {
	out := NewWindow(w)
	out.sums = true
	return out
}

// Bytes is what the window and what it returned hold, beside the statistics that it was
// given.
func (w *Window) Bytes() int64 { return w.held }

// Keys is the number of keys that were ever named.
func (w *Window) Keys() int { return len(w.keys) }

// hold reserves memory.
func (w *Window) hold(bytes int64) error {
	w.held += bytes
	if w.Reserve == nil {
		return nil
	}
	return w.Reserve(bytes)
}

// Add returns the statistics of the next interval with the state of each key. Rows without
// cost follow for the keys that are not named and have state. Rows that stand for several
// keys are refused by an InputError. Statistics that are known to lack keys are taken for
// what they name.
func (w *Window) Add(stats *planner.Statistics) (*planner.Statistics, error) {
	if stats.Count != nil {
		return nil, planner.Invalid("Count", "a history needs keys, not classes of keys")
	}
	if err := stats.ValidateAmounts(); err != nil {
		return nil, err
	}
	now := w.intervals
	out := *stats
	// Under other tables other keys are on the instances that told too little.
	out.Partial = stats.Partial || len(stats.PartialOn) > 0 || len(stats.Frozen) > 0
	out.PartialOn, out.Frozen = nil, nil
	out.Shares = nil // the state of a key is their sum already
	amounts, reported := stats.Cost, out.State != nil && !w.sums
	if w.sums {
		if amounts = stats.State; amounts == nil && stats.Len() > 0 {
			return nil, planner.InvalidRow(0, "State", "is needed: the states of several intervals are added up")
		}
	}
	if !reported {
		if err := w.hold(int64(stats.Len()) * stateBytes); err != nil {
			return nil, err
		}
		out.State = make([]float64, stats.Len())
	}
	named := make([]bool, len(w.keys), len(w.keys)+stats.Len())
	for row := range stats.Len() {
		k, id, err := w.key(stats.Keys.At(row))
		if err != nil {
			return nil, err
		}
		if id < len(named) {
			named[id] = true
		} else {
			named = append(named, true)
		}
		if stats.HashInstance != nil {
			k.home = stats.HashInstance[row]
		}
		k.until, k.added[now%w.size] = now+w.size, amounts[row]
		if reported {
			k.state = out.State[row]
			continue
		}
		out.State[row] = k.total(now)
	}
	if err := w.addAbsent(&out, named, reported); err != nil {
		return nil, err
	}
	w.intervals++
	return &out, nil
}

// key finds what is remembered of a key.
func (w *Window) key(key []byte) (k *remembered, id int, err error) {
	id, known := w.numbers[string(key)]
	if !known {
		if err := w.hold(rememberedBytes + int64(8*w.size+2*len(key))); err != nil {
			return nil, 0, err
		}
		id = len(w.keys)
		w.numbers[string(key)] = id
		w.keys = append(w.keys, remembered{key: slices.Clone(key), added: make([]float64, w.size),
			home: planner.NoInstance})
	}
	return &w.keys[id], id, nil
}

// total is the sum over the window that ends with an interval, its oldest first.
func (k *remembered) total(now int) (sum float64) {
	for i := range k.added {
		sum += k.added[(now+1+i)%len(k.added)]
	}
	return sum
}

// stateIf is the state of the key when it is absent, if states are reported or not.
func (k *remembered) stateIf(reported bool, now int) float64 {
	if reported {
		return k.state
	}
	return k.total(now)
}

// addAbsent gives keys that are not named but still have state a row without cost.
func (w *Window) addAbsent(out *planner.Statistics, named []bool, reported bool) error {
	now := w.intervals
	var absent []int
	text := 0
	for id := range named {
		k := &w.keys[id]
		if named[id] {
			continue
		}
		k.added[now%w.size] = 0
		homeless := out.HashInstance != nil && k.home == planner.NoInstance
		if k.until > now && !out.Partial && !homeless && k.stateIf(reported, now) != 0 {
			absent = append(absent, id)
			text += len(k.key)
		}
	}
	if len(absent) == 0 {
		return nil
	}
	rows := len(out.Cost) + len(absent)
	if err := w.hold(int64(out.Keys.Bytes()) + int64(text) +
		int64(rows)*int64(copiedBytes+amountBytes*len(out.Costs))); err != nil {
		return err
	}
	out.Keys, out.Cost, out.State = out.Keys.Clone(), slices.Clone(out.Cost), slices.Clone(out.State)
	out.Instance, out.HashInstance = slices.Clone(out.Instance), slices.Clone(out.HashInstance)
	for _, id := range absent {
		k := &w.keys[id]
		out.Keys.Append(k.key)
		out.Cost, out.State = append(out.Cost, 0), append(out.State, k.stateIf(reported, now))
		if out.Instance != nil {
			out.Instance = append(out.Instance, planner.NoInstance)
		}
		if out.HashInstance != nil {
			out.HashInstance = append(out.HashInstance, k.home)
		}
	}
	out.Costs = planner.WithRows(out.Costs, rows)
	return nil
}

// StateOf is the state of all keys of statistics that a window returned, and of all that
// they do not name.
func StateOf(s *planner.Statistics) (sum float64) {
	for _, x := range s.State {
		sum += x
	}
	for _, r := range s.Residual {
		sum += r.State
	}
	return sum
}
