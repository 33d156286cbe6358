package exact

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSumsBy: whole numbers add up exactly, and fractions to the same whatever their
// order.
func TestSumsBy(t *testing.T) {
	if got := SumsBy(3, []int32{0, 2, 0}, []float64{1, 0.5, 3}, []int64{2, 3, 1}); !slices.Equal(got,
		[]float64{5, 0, 1.5}) {
		t.Errorf("%v", got)
	}
	if got := SumsBy(2, nil, nil, nil); !slices.Equal(got, []float64{0, 0}) {
		t.Errorf("of nothing: %v", got)
	}
	r := rand.New(rand.NewPCG(1, 1))
	group, amounts, times := make([]int32, 1000), make([]float64, 1000), make([]int64, 1000)
	for i := range group {
		group[i], amounts[i], times[i] = r.Int32N(7), r.ExpFloat64()*1e6, 1+r.Int64N(5)
	}
	want := SumsBy(7, group, amounts, times)
	for range 20 {
		r.Shuffle(len(group), func(i, j int) {
			group[i], group[j] = group[j], group[i]
			amounts[i], amounts[j] = amounts[j], amounts[i]
			times[i], times[j] = times[j], times[i]
		})
		if got := SumsBy(7, group, amounts, times); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
