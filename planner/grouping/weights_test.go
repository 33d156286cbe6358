package grouping

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"plannerd/planner"
)

func TestWeights(t *testing.T) {
	for _, c := range []struct {
		cost []float64
		want []int64
	}{
		{[]float64{3, 0, 7}, []int64{3, 0, 7}},
		{[]float64{MaxMessages}, []int64{MaxMessages}},
		{[]float64{0, 0}, []int64{0, 0}},
		{nil, []int64{}},
	} {
		if got, err := Weights(c.cost); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("Weights(%v) = %v, %v", c.cost, got, err)
		}
	}
	for _, cost := range []float64{-1, math.NaN(), math.Inf(1)} {
		var input *planner.InputError
		if _, err := Weights([]float64{1, cost}); !errors.As(err, &input) || input.Row != 1 {
			t.Errorf("%v: %v", cost, err)
		}
	}
}

func TestWeightsAreInProportion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cost := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1), rapid.Float64Range(0, planner.MaxAmount),
			rapid.Just(0.), rapid.Just(planner.MaxAmount)), 1, 40).Draw(t, "cost")
		weights, err := Weights(cost)
		if err != nil {
			t.Fatal(err)
		}
		greatest := slices.Max(cost)
		if greatest == 0 {
			return
		}
		top := float64(slices.Max(weights))
		for k, c := range cost {
			if (c > 0) != (weights[k] > 0) || math.Abs(float64(weights[k])/top-c/greatest) > 2/top+1e-15 {
				t.Fatalf("cost %v of %v has weight %d of %v", c, greatest, weights[k], top)
			}
		}
		f := Frequencies{Keys: numbered(len(cost)), Count: weights, Order: Independent, Messages: 1}
		if _, err := Generate(f); err != nil {
			t.Fatal(err)
		}
		if top > MaxMessages && top < 1<<48 {
			t.Fatalf("the greatest weight is only %v", top)
		}
	})
}
