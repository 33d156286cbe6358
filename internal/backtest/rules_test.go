package backtest

import (
	"math"
	"testing"

	"plannerd/planner"
)

// TestThetaUnderRules: fair loads under rules are those of the costs that came, not of the forecast that was
// planned on.
func TestThetaUnderRules(t *testing.T) {
	s := &planner.Snapshot{
		Instances: []planner.Instance{{ID: 0, Capacity: 1}, {ID: 1, Capacity: 1}, {ID: 2, Capacity: 1}},
		Keys:      planner.KeysOf("a", "b", "c"), Cost: []float64{90, 1, 1}, // as it was foreseen
		Current: []int32{0, 1, 2}, Hash: []int32{0, 1, 2},
		Eligibility: &planner.Eligibility{
			Class: []int32{0, 1, 1}, Open: [][]bool{{true, false, false}, {false, true, true}},
		},
	}
	// b and c should carry 6 each, and b carries 8; a is alone on its instance.
	if got, worst := Theta(s, s.Current, []float64{2, 8, 4}); math.Abs(got-1./3) > 1e-12 || worst != 1 {
		t.Errorf("θ is %v of instance %d, want 1/3 of 1", got, worst)
	}
}
