package milp

import (
	"math"
	"slices"
	"testing"
	"time"
)

// Of a knapsack, and of counts, the best values are found, and what is impossible is told.
func TestSolve(t *testing.T) {
	Require(t)
	p := new(Program)
	a, b, c := p.Variable(3), p.Count(1, 5), p.Fraction(10)
	p.AtMost(-7, map[int]float64{a: -4, b: -1, c: -4}) // 4a + b + 4c ≥ 7
	p.Exactly(0, map[int]float64{c: 1})
	got, err := p.Solve(t.Context(), 10*time.Second)
	if err != nil || got.Status != Optimal || math.Abs(got.Objective-6) > 1e-6 ||
		!slices.Equal(got.Values, []int64{1, 3, 0}) {
		t.Errorf("%+v, %v", got, err)
	}
	p.AtMost(2, map[int]float64{b: 1})
	if got, err = p.Solve(t.Context(), 10*time.Second); err != nil || got.Status != Infeasible {
		t.Errorf("%+v, %v", got, err)
	}
}
