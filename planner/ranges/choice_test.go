package ranges

import (
	"math/rand/v2"
	"testing"
)

// Of followers that would carry as much with a heavy key, the one that has it keeps it.
func TestHeavyKeyStaysWhereItIs(t *testing.T) {
	c := streamOf("heavy", map[string]int64{"a": 100, "m": 1, "n": 1}).cdf(t)
	owners := Owners{{nil, 1}, {[]byte("m"), 0}} // quantiles would turn them round
	p, err := Divide(c, owners, []Follower{{ID: 0}, {ID: 1}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.HeavyKeys) != 1 || p.HeavyKeys[0].Follower != 1 || p.Moved != 0 {
		t.Errorf("heavy keys %+v, moved %v", p.HeavyKeys, p.Moved)
	}
}

// Where keys are few and heavy, quantiles may balance as well and move less: then the
// plan of least movement is that one.
func TestLeastMovementIsNotBeatenByQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 3000 {
		weights := map[string]int64{}
		for i := range 2 + r.IntN(8) {
			weights[string(rune('a'+i))] = 1 + r.Int64N(20)
		}
		c := streamOf("few", weights).cdf(t)
		followers := followersOf(2 + r.IntN(3))
		first, err := Divide(c, nil, followers, Options{Method: Quantile})
		if err != nil {
			t.Fatal(err)
		}
		followers[r.IntN(len(followers))].Capacity = 1 + float64(r.IntN(3))
		o := Options{ThetaMax: float64(r.IntN(3)) / 10, MaxIntervals: 1 + r.IntN(3)}
		least, err := Divide(c, first.After, followers, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Method = Quantile
		quantile, err := Divide(c, first.After, followers, o)
		if err != nil {
			t.Fatal(err)
		}
		excess := func(p *Division) float64 { return max(p.Theta.After, o.ThetaMax) }
		if excess(quantile) <= excess(least) && quantile.Moved < least.Moved-1e-9 {
			t.Fatalf("%v: quantiles come to θ = %v and move %v, least movement to %v and %v", weights,
				quantile.Theta.After, quantile.Moved, least.Theta.After, least.Moved)
		}
	}
}
