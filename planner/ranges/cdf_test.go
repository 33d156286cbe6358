package ranges

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"plannerd/planner"
)

// drawStream draws few keys of few letters, zero bytes among them, so that many
// are prefixes of others and some are there twice.
func drawStream(t *rapid.T) stream {
	n := rapid.IntRange(0, 30).Draw(t, "keys")
	s := stream{keys: planner.NewKeys(n)}
	for range n {
		s.keys.Append(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 'b', 255}), 0, 10).Draw(t, "key"))
		s.weights = append(s.weights, rapid.Int64Range(0, 20).Draw(t, "weight"))
	}
	return s
}

func TestCDFAgreesWithNaiveSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t)
		c, err := NewCDF(s.keys, s.weights)
		if err != nil {
			t.Fatal(err)
		}
		if c.Total() != s.total() || c.Error() != 0 || c.Confidence() != 1 {
			t.Fatalf("total %d, want %d; error %g", c.Total(), s.total(), c.Error())
		}
		for i := range c.Len() {
			if i > 0 && bytes.Compare(c.Key(i-1), c.Key(i)) >= 0 {
				t.Fatalf("keys %d and %d are out of order", i-1, i)
			}
			if c.Weight(i) <= 0 || c.Rank(c.Key(i))+c.Weight(i) != s.naiveRank(append(bytes.Clone(c.Key(i)), 0)) {
				t.Fatalf("weight of %q is %d", c.Key(i), c.Weight(i))
			}
		}
		key := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 'b', 255}), 0, 10).Draw(t, "at")
		if got, want := c.Rank(key), s.naiveRank(key); got != want {
			t.Fatalf("Rank(%q) = %d, want %d", key, got, want)
		}
	})
}

// The border of a quantile is where the weight below comes nearest to it; of two
// as near it is the lower.
func TestQuantileIsTheNearestBorder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t)
		c, err := NewCDF(s.keys, s.weights)
		if err != nil {
			t.Fatal(err)
		}
		q := float64(rapid.IntRange(0, 64).Draw(t, "q")) / 64
		got := c.quantile(q)
		want, nearest := []byte{}, q*float64(c.Total()) // the lowest end
		for i := range c.Len() + 1 {
			var key []byte
			rank := c.Total()
			if i < c.Len() {
				key, rank = c.Key(i), s.naiveRank(c.Key(i))
			}
			if d := math.Abs(float64(rank) - q*float64(c.Total())); d < nearest {
				want, nearest = key, d
			}
		}
		if !bytes.Equal(got, want) || (got == nil) != (want == nil) {
			t.Fatalf("quantile(%g) = %q, want %q", q, got, want)
		}
	})
}

func TestCDFDoesNotDependOnTheOrderOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := stream{keys: planner.NewKeys(0)}
	for i := range 500 {
		s.keys.Append([]byte(strconv.Itoa(rng.IntN(300))))
		s.weights = append(s.weights, int64(i))
	}
	a, b := s.cdf(t), s.permuted(rng).cdf(t)
	if a.Len() != b.Len() {
		t.Fatalf("%d keys, then %d", a.Len(), b.Len())
	}
	for i := range a.Len() {
		if !bytes.Equal(a.Key(i), b.Key(i)) || a.Weight(i) != b.Weight(i) {
			t.Fatalf("key %d: %q weighs %d, then %q %d", i, a.Key(i), a.Weight(i), b.Key(i), b.Weight(i))
		}
	}
}

func TestCDFRefuses(t *testing.T) {
	keys := planner.KeysOf("a", "b")
	for name, try := range map[string]func() (*CDF, error){
		"too few weights": func() (*CDF, error) { return NewCDF(keys, []int64{1}) },
		"negative":        func() (*CDF, error) { return NewCDF(keys, []int64{1, -1}) },
		"too heavy":       func() (*CDF, error) { return NewCDF(keys, []int64{MaxWeight, 1}) },
		"error":           func() (*CDF, error) { return NewApproximateCDF(keys, []int64{1, 1}, -1, 1) },
		"confidence":      func() (*CDF, error) { return NewApproximateCDF(keys, []int64{1, 1}, 1, math.NaN()) },
	} {
		var input *planner.InputError
		if _, err := try(); !errors.As(err, &input) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// quantile returns the key below which the share q of the weight lies, as nearly
// as the known keys allow: the empty one, one of them, or nil for the end of the
// key space. Of two that are as near it is the lower.
func (c *CDF) quantile(q float64) []byte {
	switch i := c.nearest(q * float64(c.Total())); i {
	case 0:
		return []byte{}
	case c.Len():
		return nil
	default:
		return c.Key(i)
	}
}
