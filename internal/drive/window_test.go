package drive

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plannerd/planner"
)

// The state of a key that is not reported is what it cost in the window; one that is
// reported stays for the window.
func TestWindow(t *testing.T) {
	of := func(state []float64, pairs ...any) *planner.Statistics {
		s := &planner.Statistics{Keys: planner.NewKeys(0), State: state}
		for i := 0; i < len(pairs); i += 2 {
			s.Keys.Append([]byte(pairs[i].(string)))
			s.Cost = append(s.Cost, float64(pairs[i+1].(int)))
		}
		return s
	}
	for name, c := range map[string]struct {
		intervals []*planner.Statistics
		want      []string
	}{
		"costs": {
			[]*planner.Statistics{of(nil, "a", 1, "b", 2), of(nil, "b", 3), of(nil, "b", 4)},
			[]string{"a 1 1, b 2 2", "b 3 5, a 0 1", "b 4 7"}},
		"reported": {
			[]*planner.Statistics{of([]float64{10, 20}, "a", 1, "b", 2), of([]float64{30}, "b", 3), of([]float64{40}, "b", 4)},
			[]string{"a 1 10, b 2 20", "b 3 30, a 0 10", "b 4 40"}},
		"added": {
			[]*planner.Statistics{of([]float64{10, 20}, "a", 1, "b", 2), of([]float64{30}, "b", 3), of([]float64{0}, "b", 4),
				of([]float64{1}, "a", 4)},
			[]string{"a 1 10, b 2 20", "b 3 50, a 0 10", "b 4 30", "a 4 1"}},
	} {
		w := NewWindow(2)
		if name == "added" {
			w = NewSums(2)
		}
		for i, in := range c.intervals {
			s, err := w.Add(in)
			if err != nil {
				t.Fatal(err)
			}
			var rows []string
			sum := 0.0
			for row := range s.Len() {
				rows = append(rows, fmt.Sprintf("%s %v %v", s.Keys.At(row), s.Cost[row], s.State[row]))
				sum += s.State[row]
			}
			if got := strings.Join(rows, ", "); got != c.want[i] || StateOf(s) != sum {
				t.Errorf("%s, interval %d: %s with state %v, want %s", name, i, got, StateOf(s), c.want[i])
			}
		}
	}
	for _, state := range [][]float64{nil, {7}} { // shares of it are in it already
		shared := of(state, "a", 1)
		shared.Shares = []planner.Share{{Row: 0, Instance: 0, State: 3}, {Row: 0, Instance: 1, State: 4}}
		if s, err := NewWindow(2).Add(shared); err != nil || StateOf(s) != append(state, 1)[0] {
			t.Errorf("of state %v there is %v: %v", state, StateOf(s), err)
		}
	}
	var input *planner.InputError
	if _, err := NewSums(2).Add(of(nil, "a", 1)); !errors.As(err, &input) || input.Field != "State" {
		t.Errorf("without states that add up: %v", err)
	}
	counted := of(nil, "a", 1)
	counted.Count = []int64{2}
	if _, err := NewWindow(1).Add(counted); !errors.As(err, &input) {
		t.Errorf("classes of keys: %v", err)
	}
}

// Memory is reserved before it is taken: for keys that are remembered, for states, and for
// the rows of absent keys; whoever has none gets no statistics.
func TestWindowReserves(t *testing.T) {
	first, second := &planner.Statistics{Keys: planner.KeysOf("a", "b"), Cost: []float64{1, 2}},
		&planner.Statistics{Keys: planner.KeysOf("b", "c"), Cost: []float64{1, 2}}
	full := errors.New("full")
	w := NewWindow(2)
	reserved := int64(0)
	var left int64 = 1 << 20
	w.Reserve = func(bytes int64) error {
		if reserved += bytes; reserved > left {
			return full
		}
		return nil
	}
	if _, err := w.Add(first); err != nil || reserved != 2*(stateBytes+rememberedBytes+16+2) || w.Bytes() != reserved {
		t.Errorf("%d bytes reserved: %v", reserved, err)
	}
	was := reserved
	if _, err := w.Add(second); err != nil || reserved < was+2*stateBytes+rememberedBytes+3*copiedBytes {
		t.Errorf("%d bytes reserved, %d before: %v", reserved, was, err)
	}
	left = reserved
	if _, err := w.Add(second); !errors.Is(err, full) || w.intervals != 2 {
		t.Errorf("without memory there are %d intervals: %v", w.intervals, err)
	}
}
