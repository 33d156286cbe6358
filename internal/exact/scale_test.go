package exact

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// Sums in fixed point are those of want arithmetic, up to half a unit a value, and
// neither overflow nor lose whole numbers, from the smallest numbers to the largest.
func TestFixedPoint(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for _, scale := range []float64{5e-324, 1e-300, 1e-9, 1, 1e12, 1e290} {
		for range 200 {
			values := make([]float64, 1+rng.IntN(2000))
			for i := range values {
				values[i] = scale * math.Pow(rng.Float64(), float64(1+rng.IntN(30)))
			}
			f, want, sum := ScaleOf(values, nil), new(big.Float).SetPrec(3000), int64(0)
			for _, v := range values {
				want.Add(want, big.NewFloat(v))
				if sum += f.Fixed(v); sum < 0 {
					t.Fatalf("overflow at scale %v", scale)
				}
			}
			amount, _ := want.Float64()
			if got := f.Float(sum); math.Abs(got-amount) > amount*1e-15*8 {
				t.Fatalf("sum %v, want %v", got, amount)
			}
		}
	}
	whole := []float64{1 << 59, 1, 3, 1 << 40}
	f := ScaleOf(whole, nil)
	for _, v := range whole {
		if got := f.Float(f.Fixed(v)); got != v {
			t.Errorf("%v becomes %v", v, got)
		}
	}
	if f := ScaleOf(nil, nil); f.Fixed(1) != 1 {
		t.Error("states of 1 each are not counted wantly")
	}
}
