package policy_test

import (
	"math"
	"testing"

	"plannerd/planner/policy"
)

// TestLedger: means of which newer intervals count more, and what is chosen by them.
func TestLedger(t *testing.T) {
	l := policy.Ledger{Price: 2}
	l.Add([]float64{0.1, 0.3}, []float64{0.1, 0})
	l.Add([]float64{0.5, 0.1}, []float64{0, 0.2})
	want := []float64{(0.95*0.3 + 0.5) / 1.95, (0.95*0.3 + 0.5) / 1.95}
	for i, c := range l.Cost {
		if math.Abs(c-want[i]) > 1e-12 {
			t.Errorf("costs %v, want %v", l.Cost, want)
		}
	}
	if l.Weight != 1.95 || math.Abs(l.Moved[0]-0.095/1.95) > 1e-12 {
		t.Errorf("%+v", l)
	}
	other := l.Clone()
	if other.Add([]float64{1, 1}, []float64{0, 0}); l.Cost[0] == other.Cost[0] {
		t.Error("a clone is not its own")
	}
	for name, c := range map[string]struct {
		cost, moved []float64
		held, want  int
	}{
		"the least":                     {[]float64{3, 1, 2}, []float64{0, 9, 0}, -1, 1},
		"as little, and moves less":     {[]float64{1.04, 1, 1.06}, []float64{1, 2, 0}, -1, 0},
		"held, as little":               {[]float64{1.04, 1, 1.06}, []float64{3, 2, 0}, 0, 0},
		"held, clearly more":            {[]float64{1.04, 1, 1.06}, []float64{1, 2, 0}, 2, 0},
		"nothing costs":                 {[]float64{0, 0}, []float64{0, 0}, -1, 0},
		"held, where the other is free": {[]float64{0.001, 0}, []float64{0, 0}, 0, 1},
	} {
		l := policy.Ledger{Weight: 9, Cost: c.cost, Moved: c.moved}
		if got := l.Choose(c.held); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if policy.Price(0) != policy.Price(policy.DefaultBalanceWorth) || policy.Price(0.01) != 1 {
		t.Errorf("prices %v and %v", policy.Price(0), policy.Price(0.01))
	}
}
