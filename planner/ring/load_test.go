package ring

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"plannerd/planner"
)

// Sums in fixed point are those of exact arithmetic, up to half a unit a value, and
// neither overflow nor lose whole numbers, from the smallest numbers to the largest.
func TestFixedPoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for _, scale := range []float64{5e-324, 1e-300, 1e-9, 1, 1e12, planner.MaxAmount} {
		for range 200 {
			values := make([]float64, 1+rng.IntN(2000))
			for i := range values {
				values[i] = scale * math.Pow(rng.Float64(), float64(1+rng.IntN(30)))
			}
			f, exact, sum := newFixed(values), new(big.Float).SetPrec(3000), int64(0)
			for _, v := range values {
				exact.Add(exact, big.NewFloat(v))
				if sum += f.of(v); sum < 0 {
					t.Fatalf("overflow at scale %v", scale)
				}
			}
			want, _ := exact.Float64()
			if got := f.float(sum); math.Abs(got-want) > want*1e-15*8 {
				t.Fatalf("sum %v, want %v", got, want)
			}
		}
	}
	whole := []float64{1 << 59, 1, 3, 1 << 40}
	f := newFixed(whole)
	for _, v := range whole {
		if got := f.float(f.of(v)); got != v {
			t.Errorf("%v becomes %v", v, got)
		}
	}
	if f := newFixed(nil); f.of(1) != 1 {
		t.Error("states of 1 each are not counted exactly")
	}
}
