package assign

import (
	"testing"

	"plannerd/internal/exact"
)

// TestCompareExcess: excesses are the same up to a tolerance relative to loads, which are
// 1 + excess of what is fair.
func TestCompareExcess(t *testing.T) {
	for _, x := range []float64{0, 0.1, 1, 3, 1e6} {
		near, far := x+exact.Tolerance*(1+x)/2, x+exact.Tolerance*(1+x)*2
		if a, b := compareExcess(x, near), compareExcess(near, x); a != 0 || b != 0 {
			t.Errorf("%v and %v: %d, %d", x, near, a, b)
		}
		if a, b := compareExcess(x, far), compareExcess(far, x); a != -1 || b != 1 {
			t.Errorf("%v and %v: %d, %d", x, far, a, b)
		}
	}
}

// TestSpendAsks: whether to stop is asked once in askEvery units of work, not each time.
func TestSpendAsks(t *testing.T) {
	asked := 0
	m := Meter{Stop: func() bool { asked++; return false }}
	for range 10 * askEvery {
		if !m.Spend(1) {
			t.Fatal("it ends")
		}
	}
	if asked < 9 || asked > 10 {
		t.Errorf("asked %d times in %d units of work, of which each %d ask", asked, 10*askEvery, askEvery)
	}
}
